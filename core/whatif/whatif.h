/*
 * "How long would a step take if ...": changes to a program, played on its recorded steps (core/whatif/replay.h). For the command
 * `whatif`, for what waits and lines would win when they are gone, and for the verdict.
 */
#ifndef CORE_WHATIF_H
#define CORE_WHATIF_H

#include "core/analysis/findings.h"
#include "core/runtime/err.h"
#include "core/whatif/host_share.h"
#include "core/whatif/replay.h"

#include <stddef.h>

enum whatif_kind {
	/* The waits of a line are gone, the work is still done: a value that was read stays on the device, a synchronisation
	 * is deleted, a copy goes on by itself, a buffer is kept. With them goes their own host time. */
	WHATIF_WAIT,
	/* The line is gone: its calls, their work on the device and their host time. */
	WHATIF_LINE,
	/* Kernels whose name matches `pattern` take `factor` times as long. */
	WHATIF_KERNEL,
	/* Something costs nothing, everywhere: `what`. */
	WHATIF_FREE,
	/* The host's own work before the calls of `site` is gone, 0: before every call; making calls and input stay. */
	WHATIF_PAUSE,
	/* The host's own work before the calls of a line is gone, input or not. */
	WHATIF_BEFORE,
	/* Launches that follow each other are made as one: a CUDA graph. */
	WHATIF_ONE_LAUNCH,
};

/*        id          name on the command line, what it is */
#define WHATIF_FREES(X)                                                   \
	X(LAUNCH, "launch", "launches take the host no time")             \
	X(INPUT, "input", "the next batch is there when the step begins") \
	X(ALLOC, "alloc", "memory is kept, not allocated and freed")      \
	X(COPY, "copy", "copies take no time and nobody waits for them")  \
	X(COLLECTIVE, "collective", "other ranks are never waited for")   \
	X(SYNC, "sync", "the host waits for nothing but copies to the device and for memory")

enum whatif_free {
#define X(id, name, text) WHATIF_FREE_##id,
	WHATIF_FREES(X)
#undef X
		WHATIF_FREES_N
};

struct whatif_change {
	uint8_t kind;  /* enum whatif_kind */
	uint8_t what;  /* FREE: enum whatif_free */
	uint32_t site; /* WAIT, LINE, BEFORE: 0: by file and line */
	const struct frame *
		inner; /* WAIT, LINE with `site`: only what this line of a library makes under it; NULL: all */
	bool is_within;	 /* PAUSE with `site`: only what the line itself does between its calls */
	bool is_of_kind; /* WAIT: only those of `wait_kind` (enum sync_kind) */
	uint8_t wait_kind;
	char file
		[240]; /* "train.py" is any file of that name, "a/train.py" any whose path ends so */
	uint32_t line;
	char pattern
		[240]; /* KERNEL: an extended regular expression, any part of the readable name */
	double factor;
};

struct whatif_result {
	double measured_ms; /* a step, the mean of the recorded ones */
	double replayed_ms; /* the same by the replay with nothing changed */
	double error_pct;   /* replayed against measured */
	double recorded_ms; /* a usual one of them */
	double step_ms;	    /* the same without what recording costs: changes are held against it */
	double mean_ms;	    /* of all recorded ones without it */
	double steps;	    /* recorded steps that were played */
	/* What the change wins of a usual step; negative: it loses. Of a change in few steps, of the mean one. */
	double gain_ms, gain_pct;
	double low_ms,
		high_ms; /* of single usual steps, without one in ten at either end; both 0: not known */
	double typical_gain_ms; /* of a usual step in any case */
	double mean_gain_ms;	/* of the mean one in any case */
	uint32_t rare_steps;	/* the few that win; 0: it is usual ones */
	bool is_of_mean;	/* gain_ms is of the mean step */
	double changed_ms;	/* step_ms - gain_ms; is_of_mean: mean_ms - gain_ms */
	/* What the changes touched, per step. Both 0: they touched nothing. */
	double calls, works;
};

/* "FILE:LINE": kind WHATIF_WAIT; set it to WHATIF_LINE for the other figure. 0 or -EINVAL with a line for the user. */
int whatif_parse_without(const char *text, struct whatif_change *c, struct err *e);
/* "REGEX=FACTOR" */
int whatif_parse_kernel(const char *text, struct whatif_change *c, struct err *e);
/* "launch", "input", ... */
int whatif_parse_free(const char *text, struct whatif_change *c, struct err *e);

/* A model that several questions are put to. */
struct whatif {
	struct timeline *timeline;
	struct replay replay;
	struct host_share share;
	uint32_t *site,
		*before; /* by op: of its call; the one before it in its lane, REPLAY_NONE: none */
	uint32_t *iteration; /* by op: the step, as in is_typical */
	uint8_t *traits;     /* by op: what most changes need not look at its call for */
	struct replay_edit edit;
	bool is_scaled; /* not all of edit.scale is 1 */
	float pinned_rate[DEVICE_UNKNOWN +
			  1]; /* whatif_pinned.c: by device; 0: not looked up, -1: not known */
	double replayed_ns,
		mean_ns; /* a step, the mean: as recorded; without what recording costs */
	double recorded_ns, step_ns; /* a usual step: the same */
	double undisturbed_share; /* of a played step's length: a step's that is not disturbed; gains, step_ns and mean_ns are told of it */
	/* By step, usual ones are `n_typical`; gains are the last play's. */
	double *lengths_ns, *gains_ns;
	bool *is_typical;
	uint32_t n_typical;
	bool is_of_mean; /* the last play's gain is of all recorded steps */
};

/* -ENODATA: there is nothing to play: no whole step with GPU times. */
int whatif_open(struct whatif *w, struct timeline *t, struct err *e);
void whatif_close(struct whatif *w);

/* All changes at once. -ENOENT: a line or a kernel that a change names does not occur (the error says which lines are near). */
int whatif_play(struct whatif *w, const struct whatif_change *changes, size_t n,
		struct whatif_result *out, struct err *e);

/* The result told of the mean step, whatever it is of: beside another one that is. */
void whatif_use_mean(struct whatif_result *out);

/* The last play's gain is told of so many steps, and the op's is one of them. */
uint32_t whatif_gain_steps(const struct whatif *w);
bool whatif_gain_covers(const struct whatif *w, uint32_t op);

/* What the last play won: fills gain_ms and what depends on it but changed_ms and gain_pct. `is_of_calls`: the change takes away calls, not
 * the host's own work. */
void whatif_find_gain(struct whatif *w, bool is_of_calls, struct whatif_result *out);

/* The site whose time the pause before the op's call is: the call's, but where a loader was left and waited meanwhile that one's. */
uint32_t whatif_pause_site(const struct whatif *w, uint32_t op);

/* Between the op's call and the one before it nothing ran but their line: both are of one run of it, or of a library's that it called. */
bool whatif_is_within(const struct whatif *w, uint32_t op);

/* The three in one. */
int whatif_run(struct timeline *t, const struct whatif_change *changes, size_t n,
	       struct whatif_result *out, struct err *e);

#endif
