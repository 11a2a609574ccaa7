/* The ledgers of a process's armed steps: what its timeline says, without what is known of the whole run (core/model/baseline.h and others). */
#ifndef CORE_LEDGER_H
#define CORE_LEDGER_H

#include "core/analysis/findings.h"

/* Fills gpus, idle, syncs, phases, operators, kernels, lines and copies; `f` must be zero or filled by others before. */
void ledger_fill(struct findings *f, struct timeline *t);

void findings_free(struct findings *f);

/* Says in `f` what could not be said. */
__attribute__((format(printf, 3, 4))) void findings_cannot_say(struct findings *f, const char *what,
							       const char *why, ...);

/* ---- ledger_work.c ---- */

struct waits;

void ledger_fill_kernels(struct findings *f);
void ledger_fill_copies(struct findings *f, const struct waits *waits);

/* ---- ledger_libraries.c; adds to lines, operators and kernels ---- */

void ledger_fill_libraries(struct findings *f);

/* ---- ledger_host.c ---- */

void ledger_fill_lines(struct findings *f);
void ledger_fill_operators(struct findings *f);
void ledger_fill_modules(struct findings *f);

/* ---- ledger_phases.c ---- */

void ledger_fill_phases(struct findings *f);
/* The same of some steps alone, `is_usual` by the timeline's steps. */
void ledger_fill_usual_phases(struct findings *f, const bool *is_usual);

/* ---- For all of them ---- */

struct ledger_steps {
	double all, with_gpu; /* never 0 */
};
struct ledger_steps ledger_count_steps(const struct timeline *t);

#endif
