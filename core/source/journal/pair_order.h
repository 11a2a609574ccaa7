/* Pairing where CUPTI records no call: by the order in which calls were made, and by what each asked for. See pair_order.c. */
#ifndef CORE_PAIR_ORDER_H
#define CORE_PAIR_ORDER_H

#include "core/source/journal/pair.h"

/* Says which call each correlation id is, as CUPTI's external correlation would, so that all that closes steps need not know how
 * it was found. Ids whose call is not found are left out. `externals` has room for n_works; returns how many there are. */
size_t pair_by_order(const struct pair_input *in, struct rec_external *externals);

#endif
