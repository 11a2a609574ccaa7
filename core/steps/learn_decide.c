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
	int64_t match = wish->loop ? -1
				   : learn_loops_match(x, &(struct anchor_counts){ anchor, 0 });
	if (match < 0)
		return false;
	double unclear = x->has_choice ? x->choice.confidence : 0;
	uint32_t other = x->has_choice ? x->choice.loop : LOOP_NONE;
	bool is_rival = learn_loops_is_possible(x) &&
			learn_loops_contradict(x, &(struct anchor_counts){ anchor, 0 });
	loop_choice_free(&x->choice);
	x->has_choice = loop_choose_this(&x->tree, (uint32_t)match, &x->choice);
	if (loop_is_hidden(&x->tree, (uint32_t)match) && confidence > unclear)
		x->choice.confidence = unclear;
	else
		x->choice.confidence = confidence * (is_rival ? 1 - unclear : 1);
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

/* Counts the steps of the loop that was chosen, from now on. */
static void count_loop(struct learn *l, struct ingest *f, const struct learn_loops_anchor *a)
{
	const struct learn_loops *x = &l->loops;
	learn_forget_anchor(l);
	l->choice = (struct level_choice){
		.anchor = a->hash,
		.backup = a->backup,
		.backup_within = a->backup_within,
		.thread = a->thread,
		.every = a->every,
		.lead = a->lead,
		.count = a->count,
		.n_missed = a->n_missed,
		.calls_per_step = learn_loops_calls_per_step(x),
		.confidence = x->choice.confidence,
		.signs.has_optimizer = x->choice.by_optimizer,
		.boundary = LEVEL_BY_LOOP,
	};
	atomic_store(&f->reader.header->steps.opening_steps, (uint32_t)x->choice.begins.n);
	learn_publish(l, f);
}

/* Searches the loops, and notes whether they contradict the choice. Returns whether one is clear.
 */
static bool dispute(struct learn *l, struct ingest *f)
{
	const struct learn_loops_wish wish = learn_wish(l, f);
	struct learn_loops *x = &l->loops;
	const struct anchor_counts counted = { l->choice.anchor, l->choice.every };
	bool is_clear = learn_loops_search(x, &wish, false);
	bool is_other = (is_clear || learn_loops_is_possible(x)) &&
			learn_loops_contradict(x, &counted);
	f->opening.is_disputed = is_clear && is_other;
	l->is_doubted = is_other;
	return is_clear;
}

/*
 * Returns whether the anchor is at the step's end. A trigram that only the next step makes unique
 * is complete up to NEAR launches later. An anchor that is further away may split a pass in two.
 * Then launches that count the same steps show a better place, such as the optimizer's end.
 */
static bool is_in_place(const struct learn_loops_anchor *a)
{
	enum { NEAR = 3 };
	return a->distance <= NEAR;
}

/*
 * Returns whether launches that count the loop's iterations stay. An exchange with the host occurs
 * in each iteration, whatever else these launch, and a trigram perhaps only in those seen so far.
 */
static bool are_launches_better(const struct learn *l, const struct learn_loops_anchor *a)
{
	return l->choice.anchor == TOKEN_EXCHANGE || !is_in_place(a);
}

/*
 * The library takes no other anchor once steps are confirmed. So the answer of launches stays
 * provisional as long as a clear loop has too few iterations to show its anchor.
 */
bool learn_take_loop(struct learn *l, struct ingest *f)
{
	struct learn_loops_anchor a;
	if (learn_wants_function(f) || !f->opening.is_any || f->opening.end_ticks)
		return false;
	bool is_clear = dispute(l, f), is_open = l->choice.boundary != LEVEL_BY_LOOP &&
						 l->state != STEP_STATE_CONFIRMED &&
						 !l->continues_numbers;
	bool may_change_later = l->is_doubted && !l->loops.choice.by_optimizer;
	if (!is_open || !is_clear || may_change_later)
		return false;
	if (!learn_loops_anchor(&l->loops, &a)) {
		l->is_doubted |= learn_loops_is_young(&l->loops);
		return false;
	}
	if (!l->is_doubted && are_launches_better(l, &a))
		return false;
	l->is_doubted = f->opening.is_disputed = false;
	count_loop(l, f, &a);
	return true;
}

void learn_compare(struct learn *l, struct ingest *f)
{
	if (learn_has_choice(l) && learn_loops_is_due(&l->loops))
		learn_take_loop(l, f);
}

bool learn_adopt(struct learn *l, struct ingest *f)
{
	const struct learn_loops_wish wish = learn_wish(l, f);
	struct learn_loops *x = &l->loops;
	const struct anchor_counts counted = { l->choice.anchor, l->choice.every };
	struct learn_loops_anchor a;
	if (!f->opening.end_ticks)
		return false;
	l->is_doubted = f->opening.is_disputed = false;
	if (x->is_settled)
		return false;
	bool is_clear = learn_loops_search(x, &wish, false) || (wish.loop && x->has_choice) ||
			(learn_has_choice(l) &&
			 learn_loops_outweigh(x, counted.anchor, l->choice.confidence)),
	     may_change = !learn_wants_function(f) && !l->continues_numbers &&
			  l->state != STEP_STATE_CONFIRMED;
	bool is_found = learn_loops_anchor(x, &a);
	learn_loops_drop_after(x);
	if (!is_found || !is_clear || !may_change)
		return false;
	if (learn_has_choice(l) && are_launches_better(l, &a) &&
	    !learn_loops_contradict(x, &counted))
		return false;
	count_loop(l, f, &a);
	return true;
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
	if (learn_has_choice(l))
		return true;
	bool is_found = learn_wants_function(f)
				? learn_function_vote(&l->function, true, &l->choice)
				: conclude(l, f);
	if (is_found)
		l->state = STEP_STATE_CONFIRMED;
	return is_found;
}

bool learn_loops_decide(struct learn *l, const struct ingest *f, uint64_t anchor, double confidence)
{
	return !learn_wants_function(f) && loops_decide(l, f, anchor, confidence);
}

struct learn_named learn_loop(struct learn *l, const struct ingest *f,
			      const struct anchor_counts *counted)
{
	struct learn_loops *x = &l->loops;
	if (l->by_loops)
		return (struct learn_named){ .loop = x->has_choice ? &x->choice : NULL };
	const struct learn_loops_wish wish = learn_wish(l, f);
	bool is_clear = learn_loops_search(x, &wish, true);
	if (x->has_choice && !learn_loops_contradict(x, counted))
		return (struct learn_named){ .loop = &x->choice,
					     .is_inexact = learn_loops_is_inexact(x, counted) };
	int64_t match = learn_loops_match(x, counted);
	bool is_other = is_clear || learn_loops_has_enough(x);
	if (match < 0)
		return (struct learn_named){
			.loop = is_other ? &x->choice : NULL,
			.is_contradicted = is_other || learn_loops_see_none(x),
			.is_other = is_other,
		};
	uint32_t clear = is_clear ? x->choice.loop : LOOP_NONE;
	loop_choice_free(&x->choice);
	x->has_choice = loop_choose_this(&x->tree, (uint32_t)match, &x->choice);
	x->choice.other = clear;
	bool is_hidden = loop_is_hidden(&x->tree, (uint32_t)match);
	return (struct learn_named){ .loop = x->has_choice ? &x->choice : NULL,
				     .is_contradicted = is_clear || is_hidden,
				     .is_inexact = x->has_choice &&
						   learn_loops_is_inexact(x, counted) };
}
