/*
 * Puts the traces of several ranks on one clock (docs/merge.md). merge_ranks.c lists the ranks,
 * merge_read.c reads one after the other, merge_align.c finds how their clocks differ, merge_meet.c
 * who came last to which collective, merge_write.c writes the result, merge_text.c prints it. Only
 * one rank is in memory at a time; of each rank its collectives remain.
 */
#ifndef EXPORT_MERGE_H
#define EXPORT_MERGE_H

#include "core/runtime/err.h"
#include "core/util/map.h"
#include "core/util/strtab.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* A collective on one rank. Times are those of the rank's trace. */
struct merge_arrival {
	uint64_t key; /* equal on all ranks: communicator and number of the collective */
	uint64_t begin_ns, end_ns;
	uint64_t step;	      /* its number */
	uint32_t name, place; /* in merge.texts: function, line of the call */
	/* In merge.texts: where this rank was longest between its collective before and this one.
	 * 0: not known. */
	uint32_t before;
};

enum merge_method {
	MERGE_REFERENCE,   /* the clock to which the others are compared */
	MERGE_COLLECTIVES, /* from the ends of collectives */
	MERGE_WALL,	   /* from the machines' wall clocks */
	MERGE_STEPS,	   /* unknown: the first steps are put at the same time */
};

/* A clock: that of one machine, or of one trace. */
struct merge_clock {
	const char *host; /* "": unknown */
	bool is_wall;	  /* traces of torch.profiler have wall-clock times */
	bool has_no_wall; /* the trace does not say when it was recorded */
	bool is_own;	  /* no other rank has it */
	int64_t wall_ns;  /* what to add to a time of this clock to get the wall clock's */
	/* What to add to a time t of this clock to get the reference's: shift_ns + drift * (t -
	 * at_ns). */
	int64_t shift_ns;
	double drift;
	uint64_t at_ns;
	uint8_t method;	    /* enum merge_method */
	uint64_t n_matched; /* collectives whose ends were compared */
	double error_ns;    /* 95 % of the ends that were compared are no further apart; NAN */
};

struct merge_rank {
	char *path;
	char name[60]; /* "rank 3" or "process 123"; unique */
	char file[80]; /* its name in an archive */
	bool is_trace; /* of torch.profiler */
	bool is_read;  /* its clock is known */
	int64_t rank;  /* -1: not known */
	uint32_t pid;
	size_t clock;
	int64_t to_clock_ns; /* what to add to a time of its trace to get the clock's */
	uint64_t first_ns, last_ns, n_steps, n_traced; /* n_traced: steps with a trace */
	VEC(struct merge_arrival) arrivals;
};

struct merge {
	VEC(struct merge_rank) ranks;
	VEC(struct merge_clock) clocks;
	struct strtab texts;
};

/* ---- merge_ranks.c ---- */

/* Adds the ranks at `path`: a run's folder, a journal, a trace of torch.profiler or a folder of
 * traces. Returns 0, or -errno with one line in `e`. */
int merge_add(struct merge *m, const char *path, struct err *e);

/* Sorts the ranks by their numbers, and gives each its own name. After all are read. */
void merge_sort(struct merge *m);

void merge_free(struct merge *m);

/* ---- merge_read.c ---- */

/* Receives the steps of a rank. */
struct analyzed_step;
struct merge_sink {
	void *context;
	void (*step)(void *context, const struct analyzed_step *step);
	void (*restart)(void *context); /* the steps so far are void */
};

/* Reads a rank, fills what is known about it, and passes its steps to `sink`. The sink may be NULL.
 * Returns 0, or -errno with one line in `e`. */
int merge_read(struct merge *m, size_t rank, const struct merge_sink *sink, struct err *e);

/* ---- merge_align.c ---- */

/* Fills the clocks. */
void merge_align(struct merge *m);

/* Returns what to add to the time `ns` of the rank's trace to get that of the reference clock. */
int64_t merge_shift(const struct merge *m, const struct merge_rank *r, uint64_t ns);

/* Returns the rank whose trace begins first, on the common clock. */
size_t merge_earliest(const struct merge *m);

/* ---- merge_meet.c ---- */

/* A collective that one line makes. Times are means per meeting. */
struct merge_row {
	uint32_t name, place; /* in merge.texts; the place is that of the rank that comes last */
	uint64_t n;	      /* meetings of at least two ranks */
	uint64_t n_steps;     /* steps with such meetings, of all rows */
	uint64_t n_ranks;     /* most ranks of a meeting */
	double wait_ns;	 /* sum over the meetings of how long the other ranks wait, on average */
	size_t last;	 /* the rank for which the others wait longest */
	double last_ns;	 /* its part of wait_ns */
	uint32_t before; /* in merge.texts: where it was before, for most of that time */
};

typedef VEC(struct merge_row) merge_rows;

/* Finds who comes last to which collective, longest wait first. Free with vec_free(). */
void merge_meet(merge_rows *to, const struct merge *m);

/* ---- merge_write.c ---- */

/*
 * Reads the ranks, aligns them, and writes an archive if the path ends with .zip, else a trace.
 * Passes a line for each rank that can't be read to `complain`, and leaves the rank out. Returns 0,
 * or -errno with one line in `e`.
 */
int merge_write(struct merge *m, const char *path, void (*complain)(const char *text),
		struct err *e);

/* Returns whether the name is that of a file that merge_write() can write. */
bool merge_is_name(const char *path);

/* ---- merge_text.c ---- */

struct textout;
void merge_text(struct textout *o, const struct merge *m, unsigned top);

#endif
