/*
 * Collects the application's NVTX ranges: matches begins and ends by thread and id, in whatever
 * order the threads' streams are read, and copes with lost records. Holds the ranges that later
 * steps may show.
 */
#ifndef CORE_RANGE_LOG_H
#define CORE_RANGE_LOG_H

#include "core/model/model.h"
#include "core/runtime/record.h"
#include "core/source/journal/dict.h"
#include "core/source/journal/timebase.h"
#include "core/util/vec.h"

/* end_ticks of a range whose end has not been read. */
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
	/* whose begin is in a stream that is read later, or was lost */
	VEC(struct range_end) ends;
	uint64_t n_dropped; /* closed ones, for lack of room */
};

void range_log_take(struct range_log *log, uint32_t slot, const struct rec_range *r);

/* Removes what no step that begins at `ticks` or later can show. */
void range_log_drop(struct range_log *log, uint64_t ticks);
void range_log_free(struct range_log *log);

/* A step. `thread_of_slot` gives a thread's index in the step's model. */
struct range_log_cut {
	uint64_t begin_ticks, end_ticks;
	const struct timebase *time;
	struct dict *dict;
	const struct map *thread_of_slot;
};

/* Adds the ranges that overlap the step to m->ranges. Those that reach beyond it are cut at its
 * edges and marked as cut. */
void range_log_build(const struct range_log *log, const struct range_log_cut *cut,
		     struct model_step *m);

#endif
