/*
 * The flight recorder (PROF_SCHEDULE=flight=K): keeps the last K recorded steps of a process in
 * memory, and passes them on when something requests them: a trigger, a crash, the end. Bounded in
 * steps and in bytes. One thread.
 */
#ifndef CORE_FLIGHT_H
#define CORE_FLIGHT_H

#include "core/model/model.h"

/* Why steps were kept: the causes of core/runtime/kinds.h, then the collector's own. */
enum flight_why {
	FLIGHT_TRIGGER = TRIGGER_FILE,
	FLIGHT_SIGNAL = TRIGGER_SIGNAL,
	FLIGHT_SLOW = TRIGGER_SLOW,
	FLIGHT_CRASH = TRIGGER_CAUSES,
	FLIGHT_EXIT,
	FLIGHT_EXPORT, /* the process still ran when its journal was exported */
	FLIGHT_WHYS
};

/* "trigger", "signal", "slow step", "crash", ... */
const char *flight_why_name(enum flight_why why);

/* Steps that were passed on together. */
struct flight_kept {
	enum flight_why why;
	uint64_t n, first, last; /* numbers of steps */
};

/*
 * Requests the kept steps, once all that began before `from_ns` were taken, and the next `n_more`
 * steps.
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
	uint64_t n_more; /* the next steps, which are passed on at once */
	enum flight_why why_more;
	bool is_short; /* fewer steps than wanted were kept, for lack of room */
	VEC(struct flight_kept) kept;
	uint64_t n_kept; /* in total; `kept` has the first ones */
};

void flight_free(struct flight *f);

/*
 * Takes a step that has closed, and keeps the last `most_steps`. `m` is empty afterwards if it was
 * kept.
 */
void flight_take(struct flight *f, struct model_step *m, uint64_t most_steps);

/* Adds a request. */
void flight_ask(struct flight *f, const struct flight_request *request);

/* Call when all steps that began before `until_ns` have been taken. */
void flight_poll(struct flight *f, uint64_t until_ns);

/* Passes on all kept steps. */
void flight_flush(struct flight *f, enum flight_why why);

#endif
