/* Shared by levels.c, levels_provisional.c and levels_begin.c only. */
#ifndef CORE_LEVELS_PARTS_H
#define CORE_LEVELS_PARTS_H

#include "core/runtime/step_state.h"
#include "core/steps/levels_believe.h"

/* Votes in a row that a level must win: while the program runs, and at its end. */
#define VOTES_WANTED	   2u
#define VOTES_WANTED_ENDED 1u
/* A loop that covers at least this share of the events is the main loop. */
#define COVERAGE_FILLS 0.8

struct levels {
	struct levels_store store;
	uint64_t next_vote_events; /* number of events, counted from the first one fed */
	/* Number of events fed up to the first graph launch, including it; 0: no graph yet. */
	uint64_t first_graph;
	/* Number of stored events at which the last vote's winner may be accepted; 0: unknown. */
	uint32_t expected;
	/* Factor on the number of iterations wanted. Doubles whenever an anchor fails. */
	uint32_t demand;
	uint64_t leader;      /* anchor of the level that won the last vote */
	unsigned leader_wins; /* number of votes that this level has won in a row */
	/*
	 * LEARNING, PROVISIONAL, CONFIRMED or WITHDRAWN. `choice` is the answer if it is
	 * PROVISIONAL or CONFIRMED.
	 */
	enum step_state state;
	bool is_refuted; /* the last vote showed that `choice` is only part of the step */
	/*
	 * The steps are settled, and their boundary is chosen again at this number of events. 0:
	 * the steps are not settled.
	 */
	uint64_t settled_until;
	/* When `choice` became provisional: number of events fed, and time. */
	uint64_t provisional_since_events, provisional_since_ns;
	bool wants_optimizer;
	struct level_choice choice;
};

/* ---- levels_provisional.c ---- */

/*
 * Counts one more vote that the level has won. After `votes` wins in a row, the choice becomes
 * final. In noisy loops only the steps are settled then, not their boundary: a trigram that is
 * missing in one of nine iterations is about as likely as not to occur in all of six. So the
 * boundary is chosen once more after more iterations.
 */
void levels_note_win(struct levels *l, const struct levels_level *level,
		     const struct level_choice *choice, uint32_t end, unsigned votes);

/*
 * Returns whether the vote found the provisional level again, and the iterations now show that this
 * level is only part of the step.
 */
bool levels_doubts(const struct levels *l, const struct levels_level *level,
		   const struct level_belief *belief);

/*
 * Returns whether the level may become the provisional answer. Provisional steps are replaced by
 * other provisional ones only once.
 */
bool levels_may_begin_provisional(const struct levels *l, const struct levels_level *level,
				  uint32_t end);

/*
 * Returns whether the level is accepted only because nothing more will come, and would replace
 * provisional steps with other steps that are not longer. Among requests of many lengths, some
 * share more launches with each other than all of them do, and can look like a loop.
 */
bool levels_is_last_resort(const struct levels *l, const struct levels_level *level,
			   const struct level_choice *choice, uint32_t end);

/* Returns whether the steps are settled, and `choice` counts other steps. */
bool levels_is_settled_otherwise(const struct levels *l, const struct level_choice *choice);

/* Makes `choice`, found in the first `end` events, the provisional answer. */
void levels_count_provisional(struct levels *l, const struct level_choice *choice, uint32_t end);

/* ---- levels_begin.c ---- */

/*
 * Returns where the level's second iteration begins if the first one is many times as long, else 0.
 * A long first iteration contains one-time work such as compilation. A search that includes it
 * finds only those trigrams of the loop that occur once in this work too. Returns 0 for a bare
 * loop, because it must begin with the stream.
 */
uint32_t levels_begin_of_second(const struct levels_index *x, const struct levels_level *level);

/*
 * Returns where the first step begins if an evaluation's batches precede it, else 0. The level must
 * have an optimizer. Lightning runs two batches of an evaluation first. Their launches equal the
 * first launches of a step, so batches and steps together look like one loop, in which some
 * iterations lack the optimizer. The last batch may be long, because its iteration includes
 * everything before the first step.
 */
uint32_t levels_begin_after_evaluation(const struct levels_store *s, const struct levels_index *x,
				       const struct levels_level *level);

#endif
