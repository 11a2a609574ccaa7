/* struct driver, shared by the files of this folder. For this folder only. */
#ifndef CORE_DRIVER_PARTS_H
#define CORE_DRIVER_PARTS_H

#include "core/source/journal/ahead.h"
#include "core/source/journal/ingest.h"
#include "core/source/process/driver.h"
#include "core/source/process/flight.h"
#include "core/steps/learn.h"
#include "core/steps/loop_names.h"

#include <limits.h>

enum { TRIGGERS_LISTED = 1024 };

/* A request for steps that the library noted in the journal. */
struct driver_trigger {
	enum trigger_cause cause;
	/* the steps recorded for the request; flight recorder: the steps after the kept ones */
	uint64_t first, n;
};

struct driver {
	struct ingest *ingest; /* a new one replaces it when the journal is reread */
	struct learn learn;
	struct ahead ahead;
	struct driver_sink sink;
	char path[PATH_MAX], stem[64];
	bool is_live, is_finished;
	/* stays false if the process's pid namespace is not visible from ours */
	bool was_seen_alive;
	uint32_t pid_here; /* the process's pid in our pid namespace; 0: not found */
	bool was_recycled; /* chunks were freed for reuse, so the journal lacks its older records */
	enum process_state state;
	struct flight flight;
	/* the last request by file, and by signal, that was answered in place of the library */
	uint32_t asked_served, signals_served;
	/* when an unanswered request was first seen, ms of CLOCK_MONOTONIC; 0: none waits */
	uint64_t unanswered_ms;
	VEC(struct driver_trigger) triggers;
	uint64_t n_triggers;
	uint64_t n_shown;   /* recorded steps passed on, whether or not the sink could write them */
	uint64_t n_traced;  /* part of n_shown: steps of which traces are wanted */
	struct err trouble; /* the first error that prevented a trace */
	/* explains missing steps to the user; printed by the summary and the report */
	struct err diagnostic;
	bool has_steps;		   /* steps were detected */
	uint64_t n_function_calls; /* calls seen of the function of PROF_STEP=python */
	double confidence;
	uint32_t period;	      /* calls per step, median; 0: the steps were not learned */
	enum level_boundary boundary; /* where a learned step ends */
	/* The loop whose iterations are the steps. Its texts are in `names`. */
	struct loop_names loops;
	bool has_loops;
	struct arena names;
};

static inline struct journal_header *driver_header(const struct driver *d)
{
	return d->ingest->reader.header;
}

static inline struct journal_steps *driver_steps(const struct driver *d)
{
	return &driver_header(d)->steps;
}

static inline const char *driver_fact(const struct driver *d, const char *key)
{
	return tables_fact(&d->ingest->dict.t, key);
}

static inline bool driver_is_auto(const struct driver *d)
{
	return driver_steps(d)->mode == STEP_MODE_AUTO;
}

/* Returns whether the journal lacks the note of an orderly exit. */
static inline bool driver_was_killed(const struct driver *d)
{
	return !driver_has_ended(d);
}

/*
 * Returns whether somebody has asked for steps, and the process has not taken the request. The
 * collector may have answered in its place (driver_flight_serve()).
 */
static inline bool driver_has_request(const struct driver *d)
{
	const struct journal_trigger *t = &driver_header(d)->trigger;
	return atomic_load(&t->asked) != atomic_load(&t->taken) ||
	       atomic_load(&t->signals) != atomic_load(&t->signals_taken);
}

/*
 * Returns whether the process has made all its calls in the opening, and none was dropped, so that
 * the steps can be cut anew. Not if somebody asked for steps by their numbers.
 */
static inline bool driver_is_all_opening(const struct driver *d)
{
	const struct ingest *f = d->ingest;
	return f->opening.is_any && !f->opening.end_ticks && !d->was_recycled && !d->n_triggers &&
	       !driver_has_request(d);
}

/* ---- driver.c ---- */

/*
 * Passes a recorded step to the driver's sink, or to the flight recorder if it is on. Used by sinks
 * of ingest.
 */
void driver_take_step(struct driver *d, struct ingest *f, struct model_step *m);

/* Passes a step from the flight recorder to the driver's sink. `driver`: a struct driver. */
void driver_take_kept(void *driver, struct model_step *m);

/*
 * Numbers the steps that ended before the library began to count. Finds them by the anchor that the
 * journal's header contains.
 */
void driver_fix_backwards(struct driver *d);

void driver_describe_choice(struct driver *d, double confidence, uint32_t period,
			    enum level_boundary boundary);

/* Takes the names of the loop whose iterations `counted` counts, or that decided itself. */
void driver_describe_loops(struct driver *d, struct learn *learn,
			   const struct anchor_counts *counted);

/* Takes confidence, period and boundary of the newest anchor from the journal's header. */
void driver_describe_told(struct driver *d);

/* ---- reread.c ---- */

/*
 * Reads the journal from its start, and uses what is known about the steps at its end. `is_fresh`:
 * nothing was read since driver_open(). Returns 0, or -errno with one line in `e`.
 */
int driver_reread_all(struct driver *d, bool is_fresh, struct err *e);

#endif
