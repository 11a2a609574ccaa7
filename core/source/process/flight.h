/*
 * The flight recorder (PROF_SCHEDULE=flight=K). Keeps the last K recorded steps of a process in
 * memory. Writes them when something requests them: a trigger, a crash, or the end of the process.
 * Limits both the number of steps and their bytes. One thread.
 */
#ifndef CORE_FLIGHT_H
#define CORE_FLIGHT_H

#include "core/model/model.h"

/*
 * Why kept steps were written: the causes of core/runtime/kinds.h, then those that only the tools
 * see.
 */
enum flight_why {
	FLIGHT_TRIGGER = TRIGGER_FILE,
	FLIGHT_SIGNAL = TRIGGER_SIGNAL,
	FLIGHT_SLOW = TRIGGER_SLOW,
	FLIGHT_CRASH = TRIGGER_CAUSES,
	FLIGHT_EXIT,
	FLIGHT_EXPORT, /* the process was still running when its journal was exported */
	FLIGHT_WHYS
};

/* Returns "trigger", "signal", "slow step", "crash", ... */
const char *flight_why_name(enum flight_why why);

/* Consecutive steps that were written for one cause. */
struct flight_kept {
	enum flight_why why;
	uint64_t n, first, last; /* number of steps, and the first and last step number */
};

/*
 * Requests all kept steps and the next `n_more` ones. It is answered once all steps that began
 * before `from_ns` (CLOCK_MONOTONIC) have been taken.
 */
struct flight_request {
	enum flight_why why;
	uint64_t from_ns, n_more;
};

struct flight_step {
	struct model_step model;
	size_t bytes;
};

enum { FLIGHT_KEPT_LISTED = 1024 };

struct flight {
	size_t most_bytes, bytes;
	void (*write)(void *context, struct model_step *m);
	void *context;
	VEC(struct flight_step) steps; /* oldest first */
	VEC(struct flight_request) requests;
	uint64_t n_more; /* how many of the next steps are written at once */
	enum flight_why why_more;
	bool is_short; /* fewer steps than requested were kept, because `most_bytes` was reached */
	VEC(struct flight_kept) kept;
	/* entries in total; `kept` has only the first FLIGHT_KEPT_LISTED of them */
	uint64_t n_kept;
};

void flight_free(struct flight *f);

/*
 * Takes a complete step. Writes it at once if a request still wants steps, else keeps it. Keeps at
 * most the last `most_steps` steps. Moves a kept step out of `m`, which is all zeros then;
 * otherwise the caller still owns it.
 */
void flight_take(struct flight *f, struct model_step *m, uint64_t most_steps);

/* Adds a request. flight_take() or flight_poll() answers it once it is due. */
void flight_ask(struct flight *f, const struct flight_request *request);

/*
 * Answers the requests that are due. Call when all steps that began before `until_ns` have been
 * taken.
 */
void flight_poll(struct flight *f, uint64_t until_ns);

/* Writes all kept steps, with `why` as their cause, and frees them. */
void flight_flush(struct flight *f, enum flight_why why);

#endif
