/*
 * Decides between the steps that the launches have shown and the loops of the program
 * (learn_loops.h).
 */
#include "core/steps/learn.h"

#include "core/steps/learn_parts.h"

#include <string.h>

/* Returns what the user, or else PROF_STEP, asks of the loops. */
struct learn_loops_wish learn_wish(const struct learn *l, const struct ingest *f)
{
	static const char word[] = "loop:";
	const char *step = tables_fact(&f->dict.t, "PROF_STEP");
	bool is_loop = step && !strncmp(step, word, strlen(word));
	return (struct learn_loops_wish){ .loop = l->wanted_loop ? l->wanted_loop
						  : is_loop	 ? step + strlen(word)
								 : NULL,
					  .optimizer = f->reader.header->steps.wants_optimizer };
}

/*
 * Lets the loops decide against an anchor of launches. If the anchor stands, but counts the
 * iterations of a loop, then that loop decides: its boundaries are exact.
 */
static bool choose_loop(struct learn_loops *x, const struct learn_loops_wish *wish, uint64_t anchor,
			double confidence)
{
	bool is_wanted = x->has_choice && (x->choice.by_optimizer || !wish->optimizer);
	if (is_wanted && (wish->loop || learn_loops_outweigh(x, anchor, confidence)))
		return true;
	int64_t match = wish->loop ? -1 : learn_loops_match(x, anchor);
	if (match < 0)
		return false;
	uint32_t other = x->has_choice ? x->choice.loop : LOOP_NONE;
	loop_choice_free(&x->choice);
	x->has_choice = loop_choose_this(&x->tree, (uint32_t)match, &x->choice);
	x->choice.confidence = confidence;
	x->choice.other = other != (uint32_t)match ? other : LOOP_NONE;
	return x->has_choice;
}

/*
 * Searches the loops a last time. Returns whether they decide, rather than an anchor of launches.
 */
static bool loops_decide(struct learn *l, const struct ingest *f, uint64_t anchor,
			 double confidence)
{
	const struct learn_loops_wish wish = learn_wish(l, f);
	learn_loops_search(&l->loops, &wish, true);
	l->by_loops = choose_loop(&l->loops, &wish, anchor, confidence);
	if (l->by_loops)
		l->choice = (struct level_choice){
			.boundary = LEVEL_BY_LOOP,
			.confidence = l->loops.choice.confidence,
			.calls_per_step = learn_loops_calls_per_step(&l->loops),
		};
	return l->by_loops;
}

void learn_compare(struct learn *l, struct ingest *f)
{
	const struct learn_loops_wish wish = learn_wish(l, f);
	bool is_in_opening = f->opening.is_any && !f->opening.end_ticks;
	if (!learn_wants_function(f) && is_in_opening && learn_loops_is_due(&l->loops))
		f->opening.is_disputed = learn_loops_search(&l->loops, &wish, false) &&
					 l->has_choice &&
					 learn_loops_match(&l->loops, l->choice.anchor) < 0;
}

static bool conclude(struct learn *l, const struct ingest *f)
{
	struct level_choice launches = { 0 };
	bool is_known = l->levels && levels_conclude(l->levels, &launches);
	bool by_loops = !l->keeps_numbers &&
			loops_decide(l, f, launches.anchor, is_known ? launches.confidence : 0);
	if (by_loops)
		return true;
	l->choice = launches;
	return is_known && !learn_wish(l, f).loop;
}

bool learn_conclude(struct learn *l, const struct ingest *f)
{
	if (!l->has_choice)
		l->has_choice = learn_wants_function(f)
					? learn_function_vote(&l->function, true, &l->choice)
					: conclude(l, f);
	return l->has_choice;
}

bool learn_loops_decide(struct learn *l, const struct ingest *f, uint64_t anchor, double confidence)
{
	return !learn_wants_function(f) && loops_decide(l, f, anchor, confidence);
}

const struct loop_choice *learn_loop(struct learn *l, uint64_t anchor, bool *is_other)
{
	struct learn_loops *x = &l->loops;
	*is_other = false;
	if (l->by_loops)
		return x->has_choice ? &x->choice : NULL;
	const struct learn_loops_wish any = { 0 };
	bool is_clear = learn_loops_search(x, &any, true);
	int64_t match = learn_loops_match(x, anchor);
	uint32_t clear = is_clear ? x->choice.loop : LOOP_NONE;
	if (match < 0) {
		*is_other = is_clear;
		return is_clear ? &x->choice : NULL;
	}
	loop_choice_free(&x->choice);
	x->has_choice = loop_choose_this(&x->tree, (uint32_t)match, &x->choice);
	if (clear != (uint32_t)match)
		x->choice.other = clear;
	return x->has_choice ? &x->choice : NULL;
}
