/*
 * Graph launches whose correlation ids are wrong. Before CUDA 13.1 update 1, CUPTI gives them the
 * ids of earlier launches once its recording was stopped and started again.
 */
#ifndef CORE_SOURCE_JOURNAL_WRONG_IDS_H
#define CORE_SOURCE_JOURNAL_WRONG_IDS_H

#include "core/runtime/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sets GPU_WRONG_ID in the flags of work of graphs with such ids. A stream runs its work in launch
 * order, so an id is wrong if it is lower than that of work which ran before in the same stream,
 * and if another launch has it, too. `last_gone`: the highest id of work that is no longer held,
 * NULL: there is none. Returns how many flags were set. Idempotent.
 */
size_t wrong_ids_mark(struct rec_gpu *works, size_t n, const uint32_t *last_gone);

#endif
