/*
 * The application's own ranges as their records come in: begins and ends matched by thread and id, whatever order the threads'
 * streams are read in, and whatever was lost on the way. Holds those that steps to come may still show.
 */
#ifndef CORE_RANGE_LOG_H
#define CORE_RANGE_LOG_H

#include "core/model/model.h"
#include "core/runtime/record.h"
#include "core/source/journal/dict.h"
#include "core/source/journal/timebase.h"
#include "core/util/vec.h"

/* Times in ticks; `end` RANGE_OPEN: it has not been seen to end. */
#define RANGE_OPEN UINT64_MAX

struct range_entry {
	uint64_t begin_ticks, end_ticks;
	uint64_t id;
	uint32_t slot;	       /* of the thread that began it */
	uint32_t name, domain; /* DICT_STRING */
	uint32_t color;
	uint8_t kind; /* enum model_range_kind */
};

struct range_end {
	uint64_t id, ticks;
};

struct range_log {
	VEC(struct range_entry) closed;
	VEC(struct range_entry) open;
	VEC(struct range_end)
	ends; /* whose begin stands in a stream that is read later, if it was written at all */
	uint64_t n_dropped; /* closed ones beyond those that are held */
};

void range_log_take(struct range_log *log, uint32_t slot, const struct rec_range *r);

/* Forgets what no step that begins at `ticks` or later can show. */
void range_log_drop(struct range_log *log, uint64_t ticks);
void range_log_free(struct range_log *log);

/* A step, in ticks. `thread_of_slot`: a thread's index in the step's model. */
struct range_log_cut {
	uint64_t begin_ticks, end_ticks;
	const struct timebase *time;
	struct dict *dict;
	const struct map *thread_of_slot;
};

/* Those that lie in the step in part at least, into m->ranges; what reaches beyond is cut at the step's edges and marked. */
void range_log_build(const struct range_log *log, const struct range_log_cut *cut,
		     struct model_step *m);

#endif
