/*
 * What recording costs, measured in the run itself: recorded steps against those beside them that were not. Each window of recorded
 * steps is compared with its own neighbours, so that a run that gets slower with time does not count as ours. Memory is
 * constant, however many windows there are. One thread.
 */
#ifndef CORE_COST_H
#define CORE_COST_H

#include "core/util/interval.h"

#include <stdint.h>

enum {
	COST_NEAR = 128,	 /* steps before and behind a window that it is compared with */
	COST_WINDOW_STEPS = 128, /* recorded steps of a window that count */
	COST_WHOLE = 7,	    /* windows that are kept step by step; of later ones their ratio is */
	COST_WINDOWS = 256, /* ratios kept, as an even sample */
	COST_LEFT =
		64, /* steps before the first window, and as many behind it, that tell what it left */
};

enum cost_kind {
	COST_PLAIN, /* nothing was recorded but where it begins */
	COST_RECORDED,
	COST_NEITHER, /* warm-up, learning: it costs something, and is not what is asked for */
};

struct cost_window {
	uint32_t n_before, n_after, n_recorded;
	float before[COST_NEAR], after[COST_NEAR],
		recorded[COST_WINDOW_STEPS]; /* logarithms of ms */
};

struct cost {
	float near[COST_NEAR]; /* newest plain steps since the last window, a ring */
	uint64_t n_near;
	struct cost_window whole[COST_WHOLE],
		newest; /* `newest` from the COST_WHOLE'th window on */
	uint64_t n_windows, n_ratios;
	float ratios[COST_WINDOWS]; /* logarithms */
	uint64_t random;
	uint32_t n_settling; /* plain steps to be left out */
	bool is_recording;
	uint64_t n_recorded, n_plain;
};

struct cost_found {
	bool is_known;
	bool is_doubtful; /* one window, and so different (pct) that it must be the machine: not known */
	double pct, low_pct, high_pct; /* a recorded step takes so much longer */
	double ms;		       /* the same of a step's median */
	double ratio_of_means;	       /* a recorded step's mean length over another's */
	uint64_t n_recorded, n_plain, n_windows;
	struct cost_left {
		bool is_known;
		double pct, low_pct, high_pct;
	} left; /* a step behind the first window takes so much longer than one before it, where CUPTI could not be taken down again; not known where steps before it got longer or shorter already */
};

/* A step is over; in order. */
void cost_add(struct cost *c, double ms, enum cost_kind kind);

struct cost_found cost_find(const struct cost *c);

/* How many times as long a recorded step takes, by what is certain of it: at least 1, and 1 where nothing can be seen. */
double cost_ratio(const struct cost_found *f);

/* How many times as long the steps of the only window took because the machine had something else to do: 1 where they did not. */
double cost_disturbed(const struct cost_found *f);

#endif
