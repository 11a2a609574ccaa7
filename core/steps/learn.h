/*
 * Learns the steps of PROF_STEP=auto, on the reading side. Feeds levels.h with the launches that
 * the library journals, and publishes the anchor and the base to the library (struct journal_steps
 * in core/runtime/record.h). One per process, in the collector or an offline tool.
 */
#ifndef CORE_LEARN_H
#define CORE_LEARN_H

#include "core/runtime/token.h"
#include "core/source/journal/ingest.h"
#include "core/steps/anchors.h"
#include "core/steps/learn_frames.h"
#include "core/steps/learn_function.h"
#include "core/steps/learn_midstep.h"
#include "core/steps/levels.h"

struct learn_thread {
	uint32_t slot;
	struct token_window window;
	uint32_t n; /* its launches and copies so far */
	uint64_t blocked_ticks;
	/* End of its newest call: everything it did before has been read. */
	uint64_t read_until_ticks;
	uint64_t optimizer; /* trigram of its last launch by an optimizer; 0: none */
	bool has_synced;
	/* Its newest launch or copy was a read that a module made for itself. */
	bool is_within;
	bool has_anchor; /* it has completed the anchor since the choice */
};

struct learn {
	struct levels *levels;
	VEC(struct learn_thread) threads;
	struct map thread_of_slot;
	struct learn_frames frames;
	struct learn_function function; /* PROF_STEP=python: used instead of `levels` */
	struct level_choice choice;
	bool has_choice;
	bool is_provisional; /* the choice may change, so learning continues */
	uint32_t generation; /* of the anchor published to the library; 0: none yet */
	/* The provisional generation that the library counts steps with; 0: none. */
	uint32_t provisional_generation;
	bool has_base;
	uint64_t n_ended_before; /* steps that had ended when the anchor was chosen */
	bool continues_numbers;	 /* an earlier anchor counted steps that stay valid */
	anchor_hits hits;	 /* of the anchor and its backup since the choice */
	/* STEP_COUNTED records whose step number is not known yet. */
	VEC(struct rec_step) counted;
	/* The library waits for another anchor, or for this one to occur again. */
	bool is_lost;
	uint32_t n_lost; /* the value of journal_steps.lost that was handled last */
	/*
	 * The anchor is overdue. Until it occurs, only steps that an optimizer ends are searched
	 * for.
	 */
	bool is_overdue;
	/* Last reported by the library, with the number of the step that was open then. */
	uint64_t overdue_ticks;
	uint64_t overdue_number;
	struct learn_midstep midstep;
	uint64_t n_since_anchor; /* launches and copies since the last anchor */
	/*
	 * Searches for steps that an optimizer ends, in parallel, if the library has never counted
	 * with the published anchor and the anchor no longer occurs.
	 */
	struct levels *seeker;
	uint64_t first_ticks; /* first launch of the current search; 0: none yet */
};

void learn_start(struct learn *l);
void learn_stop(struct learn *l);

/* Returns whether calls must be fed. */
bool learn_is_feeding(const struct learn *l);

/* Takes the next call of thread `slot`, in its thread's order. */
void learn_feed(struct learn *l, struct ingest *f, uint32_t slot, const struct rec_call *c);

/* Takes a STEP_COUNTED record. It becomes a step of `f` once its number is known. */
void learn_count(struct learn *l, struct ingest *f, const struct rec_step *step);

/*
 * Call before each pass, live. Restarts the search if the library has lost its anchor or waits for
 * it.
 */
void learn_watch(struct learn *l, struct ingest *f);

/*
 * Call after each pass, live. Searches for steps and publishes what it finds to the library.
 * Returns true if the base was published just now.
 */
bool learn_tell(struct learn *l, struct ingest *f);

/*
 * Call when the process has ended. Returns false if everything that was fed shows that the steps
 * counted with a provisional anchor are wrong; they are void then.
 */
bool learn_end_provisional(struct learn *l, struct ingest *f);

/* Call afterwards, when everything has been fed. Returns false if no steps were found. */
bool learn_conclude(struct learn *l, const struct ingest *f);

#endif
