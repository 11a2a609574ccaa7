/*
 * Answers "how long would a step take if ...": changes to a program, replayed on its recorded steps
 * (core/whatif/replay.h). For the command `whatif`, for the savings of waits and lines, and for the
 * verdict.
 */
#ifndef CORE_WHATIF_H
#define CORE_WHATIF_H

#include "core/analysis/findings.h"
#include "core/runtime/err.h"
#include "core/whatif/host_share.h"
#include "core/whatif/replay.h"

#include <stddef.h>

enum whatif_kind {
	/*
	 * The waits of a line are removed, but its work is still done: a value that was read stays
	 * on the device, a synchronization is deleted, a copy becomes asynchronous, a buffer is
	 * kept. The waits' own host time goes, too.
	 */
	WHATIF_WAIT,
	/* The line is removed: its calls, their work on the device and their host time. */
	WHATIF_LINE,
	/* Kernels whose name matches `pattern` take `factor` times as long. */
	WHATIF_KERNEL,
	/* Everything of one sort costs nothing: `what`. */
	WHATIF_FREE,
	/* The host's own work before the calls of `site` is removed; 0: before every call. The cost
	 * of calls and of input stays. */
	WHATIF_PAUSE,
	/* The host's own work before the calls of a line is removed, input included. */
	WHATIF_BEFORE,
	/* Successive launches are made as one: a CUDA graph. */
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
	/* WAIT, LINE with `site`: only the calls of this library's line under it; NULL: all. */
	const struct frame *inner;
	bool is_within;	 /* PAUSE with `site`: only what the line itself does between its calls */
	bool is_of_kind; /* WAIT: only those of `wait_kind` (enum sync_kind) */
	uint8_t wait_kind;
	/* "train.py" is any file of that name, "a/train.py" any file whose path ends like that. */
	char file[240];
	uint32_t line;
	/* KERNEL: an extended regular expression that matches any part of the readable name. */
	char pattern[240];
	double factor;
};

struct whatif_result {
	double measured_ms; /* the mean recorded step */
	double replayed_ms; /* the same, replayed without changes */
	double error_pct;   /* replayed relative to measured */
	double recorded_ms; /* a typical recorded step */
	double step_ms;	    /* the same without recording overhead: changes are compared with it */
	double mean_ms;	    /* the mean recorded step without recording overhead */
	double steps;	    /* recorded steps that were played */
	/* What the change saves in a typical step; negative: it costs time. For a change that takes
	 * effect in few steps: in the mean step. */
	double gain_ms, gain_pct;
	/* Range over single typical steps, without a tenth of them at either end; both 0: not
	 * known. */
	double low_ms, high_ms;
	double typical_gain_ms; /* always of a typical step */
	double mean_gain_ms;	/* always of the mean step */
	uint32_t rare_steps;	/* how many steps save time, if few; 0: typical ones do */
	bool is_of_mean;	/* gain_ms refers to the mean step */
	double changed_ms;	/* step_ms - gain_ms; is_of_mean: mean_ms - gain_ms */
	/* How much the changes affect, per step. Both 0: nothing. */
	double calls, works;
};

/* Parses "FILE:LINE" to kind WHATIF_WAIT; the caller may change that to WHATIF_LINE. Returns 0, or
 * -EINVAL with a message for the user. */
int whatif_parse_without(const char *text, struct whatif_change *c, struct err *e);
/* Parses "REGEX=FACTOR". Returns likewise. */
int whatif_parse_kernel(const char *text, struct whatif_change *c, struct err *e);
/* Parses "launch", "input", ... Returns likewise. */
int whatif_parse_free(const char *text, struct whatif_change *c, struct err *e);

/* A model of which several questions can be asked. */
struct whatif {
	struct timeline *timeline;
	struct replay replay;
	struct host_share share;
	/* By op: the site of its call; the op before it in its lane, REPLAY_NONE: none. */
	uint32_t *site, *before;
	uint32_t *iteration; /* by op: its step, an index in is_typical */
	uint8_t *traits;     /* by op: enum whatif_trait, to avoid a look at the call */
	struct replay_edit edit;
	bool is_scaled; /* not all of edit.scale is 1 */
	/* whatif_pinned.c: bytes per ns by device; 0: not looked up, -1: not known. */
	float pinned_rate[DEVICE_UNKNOWN + 1];
	/* The mean step: as recorded; without recording overhead. */
	double replayed_ns, mean_ns;
	double recorded_ns, step_ns; /* a typical step, likewise */
	/* The length of an undisturbed step relative to a played one. Gains, step_ns and mean_ns
	 * are scaled by it. */
	double undisturbed_share;
	/* By step. n_typical of them are typical; gains are those of the last play. */
	double *lengths_ns, *gains_ns;
	bool *is_typical;
	uint32_t n_typical;
	bool is_of_mean; /* the last play's gain refers to all recorded steps */
};

/* Builds the model. Returns -ENODATA if there is no whole step with GPU times. */
int whatif_open(struct whatif *w, struct timeline *t, struct err *e);
void whatif_close(struct whatif *w);

/* Plays all changes at once. Returns -ENOENT if a line or kernel that a change names does not
 * occur; the error names the nearest line. */
int whatif_play(struct whatif *w, const struct whatif_change *changes, size_t n,
		struct whatif_result *out, struct err *e);

/* Makes the result refer to the mean step, to compare it with another one that does. */
void whatif_use_mean(struct whatif_result *out);

/* Returns to how many steps the last play's gain refers, and whether the op's step
 * is one of them. */
uint32_t whatif_gain_steps(const struct whatif *w);
bool whatif_gain_covers(const struct whatif *w, uint32_t op);

/* Fills the gains of the last play, without changed_ms and gain_pct. `is_of_calls`: the change
 * removes calls, not the host's own work. */
void whatif_find_gain(struct whatif *w, bool is_of_calls, struct whatif_result *out);

/* Returns the site responsible for the pause before the op's call: the call's, or the data loader's
 * if the host waited in one after its last call. */
uint32_t whatif_pause_site(const struct whatif *w, uint32_t op);

/* Returns true if only one line ran between the op's call and the one before it: both are in one
 * run of the line, or of a library that it called. */
bool whatif_is_within(const struct whatif *w, uint32_t op);

/* Opens a model, plays the changes and closes it. */
int whatif_run(struct timeline *t, const struct whatif_change *changes, size_t n,
	       struct whatif_result *out, struct err *e);

#endif
