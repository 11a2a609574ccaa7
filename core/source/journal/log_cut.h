/* What range_log.h and library_log.h need to add records to the model of a step. */
#ifndef CORE_LOG_CUT_H
#define CORE_LOG_CUT_H

#include "core/source/journal/dict.h"
#include "core/source/journal/timebase.h"

/*
 * A step that is being built. `thread_of_slot` maps a slot to the thread's index in the step's
 * model.
 */
struct log_cut {
	uint64_t begin_ticks, end_ticks;
	const struct timebase *time;
	struct dict *dict;
	const struct map *thread_of_slot;
};

#endif
