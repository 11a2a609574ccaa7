/*
 * Pairing where CUPTI records no calls: by the order of the calls and what each asked for. See
 * pair_order.c.
 */
#ifndef CORE_PAIR_ORDER_H
#define CORE_PAIR_ORDER_H

#include "core/source/journal/pair.h"

/*
 * Finds the call of each correlation id and writes it like CUPTI's external correlation, so that
 * the code that closes steps need not know how it was found. Leaves out ids whose call is not
 * found. `externals` has room for n_works entries; returns their number.
 */
size_t pair_by_order(const struct pair_input *in, struct rec_external *externals);

#endif
