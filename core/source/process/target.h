/*
 * Requests steps from a running process. The request and its answer pass through the process's
 * journal (struct journal_trigger in core/runtime/record.h). One thread.
 */
#ifndef CORE_TARGET_H
#define CORE_TARGET_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stdint.h>

struct target;

/*
 * Opens the journal of a process that may still be running. Returns 0, or -errno with one line in
 * `e`. Free `*to` with target_close().
 */
int target_open(struct target **to, const char *path, struct err *e);
void target_close(struct target *t);

uint32_t target_pid(const struct target *t);
bool target_is_alive(const struct target *t);

/* Reads the facts that the journal holds so far. Call it before the functions below. */
void target_read_facts(struct target *t);

/* Returns a fact about the process, such as "rank" or "command"; "": not known (yet). */
const char *target_fact(const struct target *t, const char *name);

/* Returns whether PROF_TRIGGER allows requests by file, or by signal. */
bool target_accepts_file(const struct target *t);
bool target_accepts_signal(const struct target *t);

/* Returns whether the process is still learning what its steps are. */
bool target_is_learning(const struct target *t);

/* Returns whether the process runs a flight recorder. */
bool target_has_flight(const struct target *t);

/*
 * Returns whether a collector reads the journal. In the first 3 s of profiling the collector may
 * not have found the process yet. So this function waits until it has, or until the 3 s are over.
 */
bool target_has_collector(const struct target *t);

/*
 * Returns whether the process is a rank whose step numbers agree with those of the other ranks.
 * They do not agree if a rank evaluated before it trained, because it then counts other steps.
 * Numbers of time slices do not agree either, because they depend on when the rank started.
 */
bool target_is_rank(const struct target *t);

/* Returns the number of the current step. */
uint64_t target_step(const struct target *t);

/*
 * Requests `n` steps (0: as many as the schedule records) from step `from` on (0: from the next
 * step).
 */
void target_request(struct target *t, unsigned n, uint64_t from);
bool target_was_requested(const struct target *t);
bool target_has_answered(const struct target *t);

/* How a process answers a request. */
enum target_answer { TARGET_STEPS, TARGET_SLICES, TARGET_KEPT /* the flight recorder's steps */ };

struct target_window {
	enum target_answer answer;
	uint64_t first, n;
	uint32_t n_warmup;
};

struct target_window target_window(const struct target *t);

#endif
