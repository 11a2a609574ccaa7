/*
 * The critical path of recorded steps: a chain of links that covers each moment of a run of steps
 * exactly once. It is found from the end: what ran last, what that waited for, and so on, back to
 * the begin of the first step. What waits for what is taken from the replay's model, and the times
 * are those that were recorded.
 */
#ifndef CORE_CRITICAL_H
#define CORE_CRITICAL_H

#include "core/whatif/replay.h"

/* X(id, name in report.json, noun) */
#define CRITICAL_KINDS(X)                                                                      \
	X(CPU, "cpu", "CPU code")    /* of a thread, between two CUDA calls */                 \
	X(CALL, "call", "CUDA call") /* the host's part of a call */                           \
	X(WAIT, "wait", "CPU wait")  /* the rest of a call whose awaited work is done */       \
	X(LAUNCH, "launch_delay", "launch delay") /* from a launch to the begin of its work */ \
	X(DELAY, "gpu_delay", "GPU delay")	  /* from awaited GPU work to the next work */ \
	X(KERNEL, "kernel", "kernel")                                                          \
	X(COLLECTIVE, "communication", "communication")                                        \
	X(COPY, "copy", "copy")		       /* or memset */                                 \
	X(EARLIER, "earlier", "earlier steps") /* GPU work of steps before the run */          \
	/* before GPU work whose launch, or what it waited for, is not recorded */             \
	X(UNKNOWN, "unknown", "unknown")

enum critical_kind {
#define X(id, ...) CRITICAL_##id,
	CRITICAL_KINDS(X)
#undef X
		CRITICAL_KINDS_N
};

struct critical_kind_row {
	const char *name, *noun;
};

extern const struct critical_kind_row critical_kinds[CRITICAL_KINDS_N];

/* CLOCK_MONOTONIC. A link ends where the next one begins. */
struct critical_link {
	uint64_t begin_ns, end_ns;
	/* Index in the timeline's calls: of the call or, for CPU code, of the call that follows.
	 * REPLAY_NONE: it is not about a call, or no call follows. */
	uint32_t call;
	uint32_t work; /* index in the timeline's works, of delays: the delayed work; REPLAY_NONE */
	uint8_t kind;  /* enum critical_kind */
};

struct critical_path {
	VEC(struct critical_link) links; /* in order of time */
};

/* GPU work before the steps of a path: when the work of each stream ended. */
struct critical_before {
	VEC(uint64_t) stream_end_ns; /* by stream of the timeline; 0: no work */
};

/*
 * Finds the path of run `run` of the model. It begins where the run begins, and ends where the
 * run's last GPU work has ended, but not before the run's end, as far as the CPU is known. `before`
 * may be NULL. Free the path with critical_free().
 */
void critical_find(struct critical_path *p, const struct replay *r, size_t run,
		   const struct critical_before *before);
void critical_free(struct critical_path *p);

#endif
