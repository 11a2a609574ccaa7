/*
 * Requests steps from a running process through its journal: struct journal_trigger in
 * core/runtime/record.h. One thread.
 */
#ifndef CORE_TARGET_H
#define CORE_TARGET_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stdint.h>

struct target;

/* Opens the journal of a process that may be running. Returns 0, or -errno with one line in `e`. */
int target_open(struct target **to, const char *path, struct err *e);
void target_close(struct target *t);

uint32_t target_pid(const struct target *t);
bool target_is_alive(const struct target *t);

/* Reads what the journal says about the process so far; the functions below need it. */
void target_read_facts(struct target *t);

/* Returns whether PROF_TRIGGER lets requests in by file or by signal. */
bool target_accepts_file(const struct target *t);
bool target_accepts_signal(const struct target *t);

/* Returns whether it still learns what a step is. */
bool target_is_learning(const struct target *t);

/* Returns whether the flight recorder is on. */
bool target_has_flight(const struct target *t);

/*
 * Returns whether a collector reads the journal. Waits for the collector to find a process whose
 * profiling has just begun.
 */
bool target_has_collector(const struct target *t);

/*
 * Returns whether it is one of several ranks with common step numbers. A rank that evaluated before
 * it trained may count differently; numbers of time slices depend on when the rank started.
 */
bool target_is_rank(const struct target *t);

/* Returns the number of the current step. */
uint64_t target_step(const struct target *t);

/* Requests `n` steps (0: as many as in the schedule), from step `from` on (0: from the next). */
void target_request(struct target *t, unsigned n, uint64_t from);
bool target_was_requested(const struct target *t);
bool target_has_answered(const struct target *t);

/* What a process answers with. */
enum target_answer { TARGET_STEPS, TARGET_SLICES, TARGET_KEPT /* by the flight recorder */ };

struct target_window {
	enum target_answer answer;
	uint64_t first, n;
	uint32_t n_warmup;
};

struct target_window target_window(const struct target *t);

#endif
