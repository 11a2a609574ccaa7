/* Pairing where CUPTI records no call: by the order in which calls were made, and by what each asked for. See pair_order.c. */
#ifndef CORE_PAIR_ORDER_H
#define CORE_PAIR_ORDER_H

#include "core/pair.h"

/* As pair_match. */
void pair_by_order(const struct pair_input *in, uint32_t *call_of);

#endif
