/*
 * Collects the application's NVTX ranges. Matches their begins and ends by thread and id, in
 * whatever order the threads' records are read. Tolerates lost records. Keeps the ranges until no
 * open step can show them any more.
 */
#ifndef CORE_RANGE_LOG_H
#define CORE_RANGE_LOG_H

#include "core/model/model.h"
#include "core/runtime/record.h"
#include "core/source/journal/log_cut.h"
#include "core/util/vec.h"

/* Value of `end_ticks` if the range's end has not been read. */
#define RANGE_OPEN UINT64_MAX

struct range_entry {
	uint64_t begin_ticks, end_ticks;
	uint64_t id;
	uint32_t slot;	       /* slot of the thread that began the range */
	uint32_t name, domain; /* DICT_STRING ids */
	uint32_t color;
	uint8_t kind; /* enum model_range_kind */
};

struct range_end {
	uint64_t id, ticks;
};

struct range_log {
	VEC(struct range_entry) closed;
	VEC(struct range_entry) open;
	/*
	 * RANGE_END records without a begin: it was lost, or it is in a thread's records that are
	 * read later
	 */
	VEC(struct range_end) ends;
	uint64_t n_dropped; /* closed ranges dropped because MOST_CLOSED was reached */
};

void range_log_take(struct range_log *log, uint32_t slot, const struct rec_range *r);

/* Removes the ranges that no step beginning at `ticks` or later can show. */
void range_log_drop(struct range_log *log, uint64_t ticks);
void range_log_free(struct range_log *log);

/*
 * Adds the ranges that overlap the step to m->ranges. A range that extends beyond the step is cut
 * at the step's edges and marked as cut.
 */
void range_log_build(const struct range_log *log, const struct log_cut *cut, struct model_step *m);

#endif
