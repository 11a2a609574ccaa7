/*
 * Answers "how long would a step take if ...": makes changes to the recorded steps of a program and
 * replays them (core/whatif/replay.h). Used by the command `whatif`, for the estimated savings of
 * waits and lines, and by the verdict.
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
	 * The waits of a line are removed, but the line's work is still done. A value that was read
	 * stays on the device, a synchronization is deleted, a copy becomes asynchronous, and a
	 * buffer is kept instead of freed and allocated again. The host time of removed calls
	 * is removed, too.
	 */
	WHATIF_WAIT,
	/* The line is removed, with its calls, their GPU work and their host time. Of a graph, only
	 * the work that the line captured is removed. WAIT, LINE: of a line that makes no call, the
	 * CPU time that samples show is removed. */
	WHATIF_LINE,
	/* Kernels whose name matches `pattern` take `factor` times as long. */
	WHATIF_KERNEL,
	/* Everything of the kind `what` costs nothing. */
	WHATIF_FREE,
	/* The host's own work before the calls of `site` is removed; `site` 0: before every call.
	 * The cost of the calls stays, and so does the time for making input batches. */
	WHATIF_PAUSE,
	/* The host's own work before the calls of a line is removed. The time for making input
	 * batches goes, too. */
	WHATIF_BEFORE,
	/* Successive launches of `site` cost as little as one CUDA graph; `site` 0: of any line. */
	WHATIF_ONE_LAUNCH,
	/* The calls whose stacks have a bit of `about` are removed, with their GPU work and their
	 * host time. */
	WHATIF_ABOUT,
	/* A part of the machine, `what`, works twice as fast. */
	WHATIF_TWICE,
	/* The copies of `site` run alongside the other work of their stream, as on a stream of
	 * their own, and nobody waits for them. They take as long as before. The end of a graph
	 * waits for the copies from the device that were captured into it. */
	WHATIF_ASIDE,
	/* The host functions that `site` captured into graphs are removed; `site` 0: those of all
	 * lines. The nodes after them follow the nodes before them without a gap. */
	WHATIF_HOST_NODES,
	/* The launches of `site` into the legacy default stream go into the stream of the work
	 * before them, so that other streams do not wait for them. */
	WHATIF_OWN_STREAM,
};

/* What can work twice as fast. The three parts do not overlap. None of them contains copies, memory
 * calls, collectives, or the time for making input batches. */
enum whatif_twice {
	WHATIF_TWICE_GPU,    /* kernels and memsets */
	WHATIF_TWICE_LAUNCH, /* calls, and the host time to get from one call to the next */
	/* The host's own work before calls, as with WHATIF_PAUSE, and host functions in graphs.
	 * Stalls of the host, such as a sleep or a lock, are not work, so they are removed. */
	WHATIF_TWICE_HOST,
};

/* What can cost nothing: id, name on the command line, description. */
#define WHATIF_FREES(X)                                                   \
	X(LAUNCH, "launch", "launches take the host no time")             \
	X(HOST, "host", "the CPU does nothing between calls")             \
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

/* One change. A comment names the kinds of change that use the field. */
struct whatif_change {
	uint8_t kind; /* enum whatif_kind */
	uint8_t what; /* FREE: enum whatif_free; TWICE: enum whatif_twice */
	/* The changed line as a frames_site(). WAIT, LINE, BEFORE: 0 if `file` and `line` name the
	 * line instead. PAUSE, ONE_LAUNCH, HOST_NODES: 0 for all lines. */
	uint32_t site;
	/* WAIT, LINE, only together with `site`: changes only the calls that the line makes through
	 * this line of a library (inner_line_of()); NULL: all calls of the line. */
	const struct frame *inner;
	/* PAUSE, only together with `site`: removes only the host's work within one run of the
	 * line, between the line's calls. */
	bool is_within;
	/* PAUSE, only without `site`: removes only the host's work in gaps in which samples mostly
	 * show this line, as a frames_site(); 0: whatever samples show. */
	uint32_t sampled;
	bool is_of_kind;   /* WAIT: removes only waits of kind `wait_kind` */
	uint8_t wait_kind; /* enum sync_kind */
	/* WAIT, LINE, BEFORE: "train.py" is any file of that name, "a/train.py" any file whose path
	 * ends with "/a/train.py". */
	char file[240];
	uint32_t line;
	/* KERNEL: an extended regular expression that matches any part of the readable name. */
	char pattern[240];
	double factor;	/* KERNEL: factor of the kernels' duration */
	uint32_t about; /* ABOUT: bits of enum stack_about */
};

struct whatif_result {
	double measured_ms; /* the mean recorded step, as measured */
	double replayed_ms; /* the mean recorded step, replayed without changes */
	double error_pct;   /* how much longer replayed_ms is than measured_ms; negative: shorter */
	double recorded_ms; /* a typical recorded step */
	/* A typical step without recording overhead. The gain is relative to it, or to mean_ms if
	 * is_of_mean. */
	double step_ms;
	double mean_ms; /* the mean recorded step without recording overhead */
	double steps;	/* number of recorded steps that were played */
	/* What the change saves in a typical step; negative: the change costs time. If the change
	 * takes effect in few steps only (is_of_mean), what it saves in the mean step. */
	double gain_ms, gain_pct;
	/* Range of gain_ms over single typical steps, without the 10 % of them with the lowest gain
	 * and the 10 % with the highest gain. Both 0: not known. */
	double low_ms, high_ms;
	double typical_gain_ms; /* what a typical step saves, whatever gain_ms refers to */
	double mean_gain_ms;	/* what the mean step saves, whatever gain_ms refers to */
	bool is_sampled;	/* a changed line makes no call: its sampled CPU time was removed */
	uint32_t rare_steps;	/* number of steps that save time, if they are few; else 0 */
	bool is_of_mean;	/* gain_ms refers to the mean step, not to a typical step */
	double changed_ms;	/* step time with the change: step_ms or mean_ms, minus gain_ms */
	/* How many calls and how many pieces of GPU work the changes affect, per step. */
	double calls, works;
};

/* Parses "FILE:LINE". Sets the kind WHATIF_WAIT, which the caller may replace by another kind that
 * names a line. Returns 0, or -EINVAL with a message for the user in `e`. */
int whatif_parse_without(const char *text, struct whatif_change *c, struct err *e);
/* Parses "REGEX=FACTOR" to kind WHATIF_KERNEL. Returns 0 or -EINVAL like whatif_parse_without(). */
int whatif_parse_kernel(const char *text, struct whatif_change *c, struct err *e);
/* Parses a name in WHATIF_FREES, such as "launch", to kind WHATIF_FREE. Returns 0 or -EINVAL like
 * whatif_parse_without(). */
int whatif_parse_free(const char *text, struct whatif_change *c, struct err *e);

/* The model of a process's recorded steps, for any number of plays with different changes. */
struct whatif {
	struct timeline *timeline;
	struct replay replay;
	struct host_share share;
	/* By op. `site`: the frames_site() of the op's call; 0: an orphan, or not known. `before`:
	 * the previous op of the lane, or REPLAY_NONE. */
	uint32_t *site, *before;
	uint32_t *iteration; /* by op: the op's step, an index in is_typical */
	uint8_t *traits;     /* by op: enum whatif_trait */
	struct replay_edit edit;
	bool is_scaled; /* at least one factor in edit.scale differs from 1 */
	bool has_nodes; /* at least one flag in edit.node is set */
	/* by work: its stream, changed by WHATIF_OWN_STREAM. In edit.stream if any is changed. */
	uint16_t *streams;
	/* By device: the rate of a copy from pinned memory in bytes per ns; 0: not looked up, -1:
	 * not known. Only whatif_pinned.c uses it. */
	float pinned_rate[DEVICE_UNKNOWN + 1];
	/* Length of the mean step in the replay. `replayed_ns`: as recorded; `mean_ns`: without
	 * recording overhead and without waiting for a CPU. */
	double replayed_ns, mean_ns;
	/* How much shorter the mean step is if no thread waits for a CPU (contention.h). */
	double waited_ns;
	/* Length of a typical step in the replay, without waiting for a CPU. `step_ns`: without
	 * recording overhead, too. */
	double recorded_ns, step_ns;
	/* The length of a step without other load on the machine, relative to a recorded step.
	 * Gains, step_ns and mean_ns are multiplied by this factor. */
	double undisturbed_share;
	/* By step. `recorded_lengths_ns`: as recorded; `lengths_ns`: without changes; `gains_ns`:
	 * what the last play saved. */
	double *recorded_lengths_ns, *lengths_ns, *gains_ns;
	bool *is_typical; /* by step */
	uint32_t n_typical;
	double most_times; /* a step that takes more than this times the median is not typical */
	bool is_of_mean;   /* the last play's gain refers to the mean step, not to a typical step */
};

/* Builds the model. Returns 0, or -ENODATA with a message in `e` if there is no whole step with GPU
 * times. `t` must outlive the model. */
int whatif_open(struct whatif *w, struct timeline *t, struct err *e);
void whatif_close(struct whatif *w);

/* Plays the `n` changes together. Returns 0; -ENOENT if a line or kernel that a change names does
 * not occur; or -EINVAL if a change is not valid. Errors come with a message for the user in `e`,
 * which may name the nearest line that makes calls. Only one thread may use a model at a time. */
int whatif_play(struct whatif *w, const struct whatif_change *changes, size_t n,
		struct whatif_result *out, struct err *e);

/* Makes gain_ms and the values derived from it refer to the mean step. Use it to compare the result
 * with another result that refers to the mean step. */
void whatif_use_mean(struct whatif_result *out);

/* The last play's gain is a mean over the typical steps or, if is_of_mean, over all steps. Returns
 * the number of these steps, and whether the op's step is one of them. */
uint32_t whatif_gain_steps(const struct whatif *w);
bool whatif_gain_covers(const struct whatif *w, uint32_t op);

/* Fills the fields of `out` that describe the last play's gain, except for changed_ms and gain_pct.
 * `is_of_calls`: the changes affect calls or GPU work, not the host's own work between calls. */
void whatif_find_gain(struct whatif *w, bool is_of_calls, struct whatif_result *out);

/* Returns the site that is responsible for the gap before the op's call. This is the call's own
 * site, or the site of the previous call if that is a data loader's and the host then waited in the
 * data loader. */
uint32_t whatif_pause_site(const struct whatif *w, uint32_t op);

/* Returns whether the last play removed stalls of the host (WHATIF_TWICE_HOST). */
bool whatif_has_stalls(const struct whatif *w);

/* Returns true if the op's call and the previous call of its lane belong to the same line, and only
 * this line or a library that it called ran between them. */
bool whatif_is_within(const struct whatif *w, uint32_t op);

/* Builds a model, plays the `n` changes together and frees the model. Returns 0, or the errors of
 * whatif_open() and whatif_play(). */
int whatif_run(struct timeline *t, const struct whatif_change *changes, size_t n,
	       struct whatif_result *out, struct err *e);

#endif
