/*
 * Measures the overhead of recording in the run itself: each window of recorded steps is compared
 * with the unrecorded steps next to it, so that a run that slows down over time does not count as
 * overhead. Memory is constant for any number of windows. One thread.
 */
#ifndef CORE_COST_H
#define CORE_COST_H

#include "core/util/interval.h"

#include <stdint.h>

enum {
	COST_NEAR = 128,	 /* neighbours on each side that a window is compared with */
	COST_WINDOW_STEPS = 128, /* recorded steps of a window that count */
	COST_WHOLE = 7,	    /* windows kept step by step; of later ones only the ratio is kept */
	COST_WINDOWS = 256, /* ratios kept, as a random sample */
	COST_LEFT = 64,	    /* steps before and after the first window that `left` compares */
};

enum cost_kind {
	COST_PLAIN, /* only the step's begin was recorded */
	COST_RECORDED,
	COST_NEITHER, /* warm-up or learning: it has overhead, but not that of recording */
};

struct cost_window {
	uint32_t n_before, n_after, n_recorded;
	/* logarithms of ms */
	float before[COST_NEAR], after[COST_NEAR], recorded[COST_WINDOW_STEPS];
};

struct cost {
	float near[COST_NEAR]; /* newest plain steps since the last window, a ring */
	uint64_t n_near;
	struct cost_window whole[COST_WHOLE];
	struct cost_window newest; /* used after the first COST_WHOLE windows */
	uint64_t n_windows, n_ratios;
	float ratios[COST_WINDOWS]; /* logarithms */
	uint64_t random;
	uint32_t n_settling; /* plain steps still to be left out */
	bool is_recording;
	uint64_t n_recorded, n_plain;
};

struct cost_found {
	bool is_known;
	/* a single window that differs (by pct) more than recording explains: is_known is false */
	bool is_doubtful;
	double pct, low_pct, high_pct; /* slowdown of a recorded step */
	double ms;		       /* the same in ms of the median step */
	double ratio_of_means;	       /* mean time of recorded steps / of plain ones */
	uint64_t n_recorded, n_plain, n_windows;
	/* Slowdown of steps after the first window compared with steps before it, where CUPTI could
	 * not be removed. Unknown if the steps before it already got longer or shorter. */
	struct cost_left {
		bool is_known;
		double pct, low_pct, high_pct;
	} left;
};

/* Adds a step that is over. Steps must be added in order. */
void cost_add(struct cost *c, double ms, enum cost_kind kind);

struct cost_found cost_find(const struct cost *c);

/* Returns the factor by which recording slows a step; 1 if it is not certain that it does. */
double cost_ratio(const struct cost_found *f);

/* Returns by what factor other load slowed the steps of the only window; 1 if it did not. */
double cost_disturbed(const struct cost_found *f);

#endif
