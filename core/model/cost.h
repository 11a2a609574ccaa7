/*
 * Measures the overhead of recording during the run. Each window of recorded steps is compared with
 * the unrecorded steps just before and after it, called its neighbours. So a slowdown of the
 * program itself over time does not count as overhead. The memory used does not depend on the
 * number of windows. A struct cost is used by one thread at a time.
 */
#ifndef CORE_COST_H
#define CORE_COST_H

#include "core/util/interval.h"

#include <stdint.h>

enum {
	COST_NEAR = 128,	 /* most neighbours of a window before it, and most after it */
	COST_WINDOW_STEPS = 128, /* only the first 128 recorded steps of a window count */
	/* windows kept with all step times, besides the newest; of others only the ratio is kept */
	COST_WHOLE = 7,
	/* upper limit of the ratios kept; with more windows, a random sample of the ratios */
	COST_WINDOWS = 256,
	COST_LEFT = 64, /* most steps before, and after, the first window that `left` compares */
};

enum cost_kind {
	COST_PLAIN, /* an unrecorded step: the journal contains only its start */
	COST_RECORDED,
	/* a warm-up step, or a step while step boundaries are being learned: has overhead, but a
	 * different one from a recorded step's */
	COST_NEITHER,
};

/*
 * A window of recorded steps with its neighbours. Step times are logarithms of milliseconds.
 * `before` has the newest step first; the others have the oldest first.
 */
struct cost_window {
	uint32_t n_before, n_after, n_recorded;
	float before[COST_NEAR], after[COST_NEAR], recorded[COST_WINDOW_STEPS];
};

struct cost {
	/* ring of the newest plain steps since the last window, as logarithms of ms */
	float near[COST_NEAR];
	uint64_t n_near; /* plain steps since the last window; may exceed COST_NEAR */
	struct cost_window whole[COST_WHOLE];
	struct cost_window newest; /* the newest window, if it is not in `whole` */
	/* number of windows, and of windows whose ratio was added; both may exceed COST_WINDOWS */
	uint64_t n_windows, n_ratios;
	float ratios[COST_WINDOWS]; /* logarithms: time of a recorded step / of a plain step */
	uint64_t random;	    /* state of sample_next_random() */
	uint32_t n_settling;	    /* how many of the next plain steps are left out */
	bool is_recording;	    /* the newest step added was recorded */
	uint64_t n_recorded, n_plain;
};

/* The overhead of recording. The ranges from low_pct to high_pct are 95 % confidence intervals. */
struct cost_found {
	/* If false, the overhead is unknown. Then only `left`, the n_ fields, is_doubtful and, if
	 * is_doubtful is set, `pct` are valid. */
	bool is_known;
	/* There is only one window, and it is faster than its neighbours or slower than recording
	 * can explain. `pct` is the difference, and is_known is false. */
	bool is_doubtful;
	double pct, low_pct, high_pct; /* by how many percent recording slows a step */
	double ms;		       /* `pct` of the median plain step, in milliseconds */
	double ratio_of_means;	       /* mean time of recorded steps / mean time of plain steps */
	uint64_t n_recorded, n_plain, n_windows; /* steps and windows that were added */
	/* Slowdown of the steps after the first window compared with the steps before it. Such a
	 * slowdown remains where CUPTI could not be removed. Unknown if the steps before the window
	 * already got longer or shorter. */
	struct cost_left {
		bool is_known;
		double pct, low_pct, high_pct;
	} left;
};

/* Adds a step that has ended and took `ms`. Steps must be added in order. */
void cost_add(struct cost *c, double ms, enum cost_kind kind);

/* Returns the overhead found in the steps added so far. */
struct cost_found cost_find(const struct cost *c);

/* Returns the factor by which recording slows a step; 1 if a slowdown is not certain. */
double cost_ratio(const struct cost_found *f);

/* Returns the factor by which other load slowed the only window; 1 unless f->is_doubtful. */
double cost_disturbed(const struct cost_found *f);

#endif
