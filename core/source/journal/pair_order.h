/*
 * Pairing if CUPTI does not record calls: by the order of the calls and by what each call asked
 * for. See pair_order.c.
 */
#ifndef CORE_PAIR_ORDER_H
#define CORE_PAIR_ORDER_H

#include "core/source/journal/pair.h"

/*
 * Finds the call of each correlation id. Writes the result as records of CUPTI's external
 * correlation, so that the code that closes steps handles both alike. Omits ids whose call is not
 * found. `externals` must have room for n_works entries. Returns the number of entries. Appends the
 * calls whose work is known to be dropped to `without`.
 */
size_t pair_by_order(const struct pair_input *in, struct rec_external *externals,
		     pair_withouts *without);

#endif
