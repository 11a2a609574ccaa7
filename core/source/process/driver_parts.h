/* What the files of this folder share about a driver. Not for other folders. */
#ifndef CORE_DRIVER_PARTS_H
#define CORE_DRIVER_PARTS_H

#include "core/source/journal/ahead.h"
#include "core/source/journal/ingest.h"
#include "core/source/process/driver.h"
#include "core/source/process/flight.h"
#include "core/steps/learn.h"

#include <limits.h>

enum { TRIGGERS_LISTED = 1024 };

/* Something requested steps. */
struct driver_trigger {
	enum trigger_cause cause;
	uint64_t first, n; /* steps recorded for it; with a flight recorder, those that followed */
};

struct driver {
	struct ingest *ingest; /* replaced when the journal is reread */
	struct learn learn;
	struct ahead ahead;
	struct driver_sink sink;
	char path[PATH_MAX], stem[64];
	bool is_live, is_finished;
	bool was_seen_alive; /* never in a pid namespace that is not below ours */
	uint32_t pid_here;   /* its pid in our namespace; 0: not found */
	bool was_recycled;   /* the journal has lost its older records */
	enum process_state state;
	struct flight flight;
	uint32_t asked_served, signals_served; /* requests answered in place of the library */
	uint64_t unanswered_ms;		       /* since when a request waits; 0: none */
	VEC(struct driver_trigger) triggers;
	uint64_t n_triggers;
	uint64_t n_shown;	   /* recorded steps, whatever became of them */
	struct err trouble;	   /* the first thing that prevented a trace */
	struct err diagnostic;	   /* what the user should know about its steps */
	bool has_steps;		   /* steps were found */
	uint64_t n_function_calls; /* PROF_STEP=python: seen before its steps were known */
	double confidence;
	uint32_t period;	      /* calls of a learned step, 0: it was not learned */
	enum level_boundary boundary; /* of a learned step */
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

/* Returns whether it ended without a note of its end. */
static inline bool driver_was_killed(const struct driver *d)
{
	return !driver_has_ended(d);
}

/* ---- driver.c ---- */

/* For ingest's sink: passes a recorded step to the driver's sink or to the flight recorder. */
void driver_take_step(struct driver *d, struct ingest *f, struct model_step *m);

/* The flight recorder's sink, with the driver as context. */
void driver_take_kept(void *driver, struct model_step *m);

/* Numbers the steps before the library's first one, by the anchor in the journal. */
void driver_fix_backwards(struct driver *d);

void driver_describe_choice(struct driver *d, double confidence, uint32_t period,
			    enum level_boundary boundary);

/* Takes the description of the last anchor from the header. */
void driver_describe_told(struct driver *d);

/* ---- reread.c ---- */

/*
 * Reads the journal from its start, with what its end says about steps. `is_fresh`: nothing was
 * read since driver_open(). Returns 0 or -errno.
 */
int driver_reread_all(struct driver *d, bool is_fresh, struct err *e);

#endif
