/* Shared by learn.c, learn_feed.c, learn_decide.c and learn_publish.c only. */
#ifndef CORE_LEARN_PARTS_H
#define CORE_LEARN_PARTS_H

#include "core/steps/learn.h"

/* Returns whether the steps are calls of a function: PROF_STEP=python. */
static inline bool learn_wants_function(const struct ingest *f)
{
	return f->reader.header->steps.wants_function;
}

/* Returns what the user, or else PROF_STEP, asks of the loops. */
struct learn_loops_wish learn_wish(const struct learn *l, const struct ingest *f);

enum {
	/*
	 * After this time, the journal contains every launch that began before a step boundary,
	 * whichever thread made the launch.
	 */
	LEARN_SETTLE_NS = 20000000,
};

/* Drops the choice. The next choice replaces it. */
void learn_forget_anchor(struct learn *l);

/* Publishes `l->choice` to the library, and voids the steps of a provisional anchor before it. */
void learn_publish(struct learn *l, struct ingest *f);

/*
 * Publishes the base, which is the number of steps that ended before the step that STEP_COUNTED 1
 * ends. Returns false if some calls up to there have not been read yet.
 */
bool learn_publish_base(struct learn *l, struct ingest *f);

/*
 * Makes the last published anchor final. The library then stops journaling launches for learning.
 */
void learn_confirm(struct learn *l, struct ingest *f);

/*
 * Voids the steps that were counted with the provisional anchor. The ingest still holds these
 * steps, and never exports them.
 */
void learn_void_provisional(struct learn *l, struct ingest *f, uint32_t calls_per_step);

/*
 * Starts or ends the second search, `l->seeker`. The published anchor may be wrong: torch.compile
 * launches some kernels a hundred times to measure them, and that loop may have been taken for the
 * step. Or the anchor is right, and an evaluation runs before the next step. So the published
 * anchor stays valid: if it occurs again, the library counts with it.
 */
void learn_update_seeker(struct learn *l, const struct ingest *f);

/*
 * Sets whether only steps that an optimizer ends are accepted. Other steps are not accepted while
 * the anchor is overdue, because the program may just be evaluating between the training of one
 * model and the next.
 */
void learn_demand_optimizer(struct learn *l, const struct ingest *f);

/*
 * In the opening: compares `l->choice` with the loops. If it counts the iterations of a clear loop
 * that has an anchor, publishes that anchor in its place, and returns true.
 */
bool learn_take_loop(struct learn *l, struct ingest *f);

/*
 * Call after each pass over new records. Once the opening is over, lets a clear loop decide for the
 * rest of the run if the launches have shown other steps, or none. Returns whether it publishes the
 * loop's anchor.
 */
bool learn_adopt(struct learn *l, struct ingest *f);

#endif
