/* See levels_believe.h. Collector only. */
#include "core/steps/levels_believe.h"

/*
 * With fewer events, only a loop that launches graphs, or reads results and copies nothing to the
 * device, is accepted: making parameters and copying them looks like a loop.
 */
#define EVENTS_LEAST 48u
/* Iterations demanded once nothing more will come. A bare loop also needs events and coverage. */
#define NEVER		      UINT32_MAX
#define ITERATIONS_ENDED      3u
#define ITERATIONS_BARE_ENDED 20u
#define EVENTS_BARE	      400u
#define COVERAGE_BARE	      0.8
/*
 * If something outside this level talks to the host or works on another thread, there is an outer
 * loop. It would have shown itself within this many iterations.
 */
#define ITERATIONS_LACKING 2000u
/*
 * If some iterations are longer than most, there may be an outer loop, which shows itself as a
 * level once it has had UNUSUAL_ENOUGH iterations. After this many iterations of this one, there is
 * none.
 */
#define ITERATIONS_DESPITE 100u
/* One or two launches repeated alone are more often a loop within a step than a step. */
#define CALLS_SINGLE	    3u
#define ITERATIONS_FORESEEN 3u
/* Requests that differ may share fewer launches; each still reads input and returns a result. */
#define ALIKE_REQUESTS 0.5
/*
 * If frames would identify an optimizer, one may still occur: after an evaluation of twenty
 * batches, a game's forty moves, a series of sixty. The answer stays provisional for this many
 * iterations.
 */
#define ITERATIONS_FRAMED 128u
/*
 * This many steps of an optimizer outside a level's iterations form a loop of their own, which is
 * the step.
 */
#define OPTIMIZER_STEPS 2u
/*
 * Iterations with work of another kind: this many are no accident; with more than this share of
 * them, the iterations simply differ.
 */
#define OTHER_WORK_MIN	     3u
#define OTHER_WORK_MAX_SHARE 0.6
/* A level with less level_strength() would be a guess. */
#define MIN_STRENGTH 0.3
/*
 * The level must still continue. It may have missed one iteration at the end of the events, and one
 * more for each ITERATIONS_PER_STALE it has had, as when the program evaluates.
 */
#define ITERATIONS_PER_STALE 4u
#define MAX_STALE_ITERATIONS 3u

/*
 * Iterations demanded for a final and for a provisional answer. by_round: if neighbouring
 * iterations differ, rounds of them are counted in place of iterations, because the loop of whole
 * rounds must have had time to show itself as a level.
 */
static const struct {
	uint32_t iterations, early;
	bool by_round;
} demanded[LEVEL_EVIDENCES] = {
	/*
	 * An optimizer alone is not enough at once. A WGAN's critic steps five times before its
	 * generator does, and a step to be captured as a graph runs three or more times before.
	 */
	[EVIDENCE_OPTIMIZER] = { 7, 3, true },
	[EVIDENCE_TAIL] = { 6, 3, true },
	/*
	 * The program has an optimizer, and this level is not its step: it is within the step or
	 * outside it.
	 */
	[EVIDENCE_INNER] = { 400, NEVER },
	/*
	 * Launches from two threads, like backward passes, but no optimizer yet. If kernels have
	 * names, an optimizer may still follow after 32 micro-batches; if they have none, it cannot
	 * be recognized, and waiting does not help. The answer is provisional early: plain training
	 * is more common than micro-batches, and these show soon, unless the loop is noisy.
	 */
	[EVIDENCE_TRAINING] = { 72, 6 },
	[EVIDENCE_TRAINING_UNFED] = { 24, 6 },
	/*
	 * Input is copied, but nothing is waited for or read. If these are micro-batches on one
	 * thread, four iterations of the outer loop show what they belong to.
	 */
	[EVIDENCE_UNREAD] = { 36, 4 },
	/* A graph that gets input, or whose results are read, is all the work of a step. */
	[EVIDENCE_GRAPH] = { 5, 3, true },
	/*
	 * Each iteration reads a result and feeds what follows, or waits for all its work, whatever
	 * it launches. That ends it, however few iterations there are.
	 */
	[EVIDENCE_EXCHANGE] = { 16, 3, true },
	/*
	 * As long as a game's moves before training on them begins, as the optimizer follows only
	 * then. With three iterations for a provisional answer, more of the generated programs
	 * would be known in time (91.6 % within five steps, not 89.9 %), but speculative decoding's
	 * prompts would be taken for its rounds (56 of 126).
	 */
	[EVIDENCE_HOST] = { 16, 4, true },
	/*
	 * Each layer may wait or read something back, which looks like a loop's end too, and the
	 * first forward pass contains nothing else. If iterations are as small as a layer
	 * (CALLS_OF_LAYER), the step around them needs this many iterations, or EVENTS_BARE events,
	 * to show itself.
	 */
	[EVIDENCE_HOST_SMALL] = { 40, 4 },
	/*
	 * Layers are bare too; the second step corrects what the first one's were taken for. If
	 * frames would identify an optimizer, the answer waits for it.
	 */
	[EVIDENCE_BARE] = { 40, 7 },
	[EVIDENCE_SINGLE] = { 1000, NEVER },
};

/*
 * High for similar iterations that fill the stretch, with no other loop that explains nearly as
 * much. With an optimizer, iterations may differ: a game has as many moves as it takes.
 */
static double level_strength(const struct levels_level *level)
{
	double iterations = 1 - 1.0 / level->iterations;
	double least = level->optimizer ? 1 : ALIKE_REQUESTS;
	double alike = level->alike > least ? level->alike : least;
	return level->coverage * iterations * alike;
}

bool level_is_current(const struct levels_index *x, const struct levels_level *level)
{
	uint32_t last = levels_index_of(x, level->reference)[level->iterations];
	uint32_t stale = 1 + level->iterations / ITERATIONS_PER_STALE;
	stale = stale < MAX_STALE_ITERATIONS ? stale : MAX_STALE_ITERATIONS;
	return x->end - last <= stale * level->calls_per_iteration;
}

/* Returns the hints of all events in the latter half of the stretch. */
static uint32_t late_hints(const struct levels_store *s, const struct levels_index *x)
{
	uint32_t hints = 0;
	for (uint32_t i = x->start + (x->end - x->start) / 2; i < x->end; i++)
		hints |= s->events[i].hints;
	return hints;
}

/*
 * Whether an optimizer steps repeatedly in the latter half of the stretch, but not in most of the
 * level's iterations there.
 */
static bool optimizer_steps_outside(const struct levels_store *s, const struct levels_index *x,
				    const struct levels_level *level)
{
	const uint32_t *at = levels_index_of(x, level->reference);
	uint32_t middle = x->start + (x->end - x->start) / 2, first = 0, n_steps = 0;
	while (first < level->iterations && at[first] <= middle)
		first++;
	uint32_t iteration = first, last_iteration = UINT32_MAX;
	for (uint32_t i = middle; i < x->end; i++) {
		while (iteration <= level->iterations && at[iteration] <= i)
			iteration++;
		bool is_next = s->events[i].hints & LEVEL_OPTIMIZER && iteration != last_iteration;
		last_iteration = is_next ? iteration : last_iteration;
		n_steps += is_next;
	}
	return n_steps >= OPTIMIZER_STEPS && 2 * n_steps <= iteration - first;
}

/*
 * Whether a level with an optimizer's launches may be the optimizer's loop over parameters: hardly
 * any iteration has a backward pass, although another thread launches some, nor a graph that may
 * contain one.
 */
static bool is_within_optimizer(const struct levels_store *s, const struct levels_index *x,
				const struct levels_level *level)
{
	if (!level->rarely_threaded || level->graph || level->fed)
		return false;
	uint32_t home = s->events[levels_index_of(x, level->reference)[0]].thread, n_other = 0;
	for (uint32_t i = 0; i < x->end; i++)
		n_other += s->events[i].thread != home && !(s->events[i].hints & LEVEL_COPY);
	return n_other >= CALLS_OF_BACKWARD;
}

/* Whether an exchange with the host ends it: unlike a trigram, that cannot vary. */
static bool ends_by_exchange(const struct levels_level *level)
{
	for (uint32_t m = 0; m < level->n_members; m++)
		if (level->members[m] == LEVELS_EXCHANGE)
			return true;
	return false;
}

static enum level_evidence evidence_of(const struct levels_store *s, const struct levels_index *x,
				       const struct levels_level *level, bool ended)
{
	uint32_t hints = late_hints(s, x);
	bool is_whole = level->fed || x->end >= EVENTS_BARE ||
			level->calls_per_iteration >= CALLS_OF_LAYER;
	if (level->optimizer && !is_within_optimizer(s, x, level))
		return EVIDENCE_OPTIMIZER;
	if (!ended && hints & LEVEL_OPTIMIZER)
		return EVIDENCE_INNER;
	if (!ended && level->threads && !level->tail)
		return level->fed || hints & LEVEL_NAMED || level_is_noisy(level)
			       ? EVIDENCE_TRAINING
			       : EVIDENCE_TRAINING_UNFED;
	if (level->tail)
		return EVIDENCE_TAIL;
	if (!ended && level->fed && !level->read && !level->graph)
		return EVIDENCE_UNREAD;
	if (level->graph && (level->fed || level->read))
		return EVIDENCE_GRAPH;
	if (level->waited || (level->talks_to_host && is_whole && ends_by_exchange(level)))
		return EVIDENCE_EXCHANGE;
	if (level->talks_to_host)
		return ended || is_whole ? EVIDENCE_HOST : EVIDENCE_HOST_SMALL;
	return ended || level->calls_per_iteration >= CALLS_SINGLE ? EVIDENCE_BARE
								   : EVIDENCE_SINGLE;
}

static uint32_t iterations_wanted(enum level_evidence evidence, const struct levels_level *level,
				  const struct level_demands *d, bool may_have_optimizer)
{
	if (d->ended && evidence == EVIDENCE_OPTIMIZER)
		return ITERATIONS_ENDED * d->factor;
	if (d->ended && evidence == EVIDENCE_BARE)
		return ITERATIONS_BARE_ENDED * d->factor;
	uint32_t iterations =
		demanded[evidence].iterations * (demanded[evidence].by_round ? level->round : 1);
	if (may_have_optimizer && iterations < ITERATIONS_FRAMED)
		iterations = ITERATIONS_FRAMED;
	return iterations * d->factor;
}

static uint32_t iterations_wanted_early(enum level_evidence evidence,
					const struct levels_level *level,
					const struct level_demands *d, bool may_have_optimizer)
{
	uint32_t early = demanded[evidence].early;
	if (early == NEVER || d->ended || (evidence == EVIDENCE_BARE && may_have_optimizer))
		return NEVER;
	return early * (demanded[evidence].by_round ? level->round : 1) * d->factor;
}

/*
 * Whether the level cannot be set-up, which makes parameters by launches and by copies to the
 * device. Each of these may be waited for, but set-up launches no graphs and reads nothing.
 */
static bool cannot_be_setup(const struct levels_level *level)
{
	return level->graph || (level->read && (!level->fed || level->inside & LEVEL_D2H));
}

/*
 * Whether something that the level lacks surrounds it: then there is an outer loop, which is the
 * step.
 */
static bool shows_outer_loop(const struct levels_level *level)
{
	return !level->optimizer && !level->tail && !level->outer_is_log &&
	       ((!level->threads && level->inside & LEVEL_THREADS) ||
		(!level->talks_to_host && level->inside & ~LEVEL_THREADS));
}

/*
 * Whether several iterations, but not most, contain work of another kind, and no loop was found
 * that it belongs to. Either launches were lost or exchanged, or that loop has had too few
 * iterations.
 */
static bool has_unexplained_work(const struct levels_level *level)
{
	return !level->optimizer && !level->tail && !level->outer_rejected &&
	       !level->request_loop && level->alike >= ALIKE_REQUESTS &&
	       level->other_work >= OTHER_WORK_MIN &&
	       level->other_work <= OTHER_WORK_MAX_SHARE * level->iterations;
}

/*
 * Whether a kernel recurs every few iterations, and none of them reads anything: these are
 * micro-batches, and the kernel is an optimizer of one or two launches. If launches are lost or
 * exchanged, the outer loop may have no trigram left that occurs once in each iteration, and is not
 * found. An agent's updates, which get no input, are excluded: there are many of them per game.
 */
static bool may_hide_outer_loop(const struct levels_level *level)
{
	return level_is_noisy(level) && !level->optimizer && !level->tail && !level->read &&
	       (level->fed || !level->threads) && level->recurring >= UNUSUAL_ENOUGH;
}

/*
 * Whether many iterations are within one optimizer's step, which may evaluate its closure twenty
 * times. The loop around that step has not shown itself yet, or the loop contains nothing but that
 * step.
 */
static bool may_be_evaluation(const struct levels_level *level)
{
	return 2 * level->within_optimizer >= level->iterations;
}

/*
 * Whether some iterations are longer than most, so an outer loop may not have shown itself yet. If
 * all iterations differ, none is unusual.
 */
static bool may_be_inner(const struct levels_level *level)
{
	bool is_longer_at_times = !level->optimizer && !level->tail && !level->outer_is_log &&
				  !level->request_loop && level->alike >= ALIKE_REQUESTS &&
				  level->unusual && level->unusual < UNUSUAL_ENOUGH;
	bool has_other_steps = level->other_steps && level->other_steps < UNUSUAL_ENOUGH;
	return (is_longer_at_times || has_other_steps || may_be_evaluation(level)) &&
	       level->iterations < ITERATIONS_DESPITE;
}

/* Whether its iterations show that it is not the step. */
static bool is_part_of_more(const struct levels_level *level)
{
	return (has_unexplained_work(level) || may_hide_outer_loop(level) ||
		shows_outer_loop(level)) &&
	       level->iterations < ITERATIONS_LACKING;
}

/* Whether no number of iterations would be enough. */
static bool is_ruled_out(const struct levels_index *x, const struct levels_level *level,
			 const struct level_demands *d)
{
	if (!level_is_current(x, level) || (d->wants_optimizer && !level->optimizer))
		return true;
	if (!d->ended && x->end - x->start < EVENTS_LEAST && !cannot_be_setup(level))
		return true;
	if (is_part_of_more(level) || (!d->ended && may_be_inner(level)))
		return true;
	/*
	 * A bare loop must fill the whole stream: the latter part of any program is full of bare
	 * loops.
	 */
	return level_is_bare(level) && (x->start || level->coverage < COVERAGE_BARE);
}

/*
 * Returns the number of iterations, including those before the first anchor was complete: an anchor
 * is three calls, and iterations may have fewer.
 */
static uint32_t iterations_seen(const struct levels_level *level)
{
	return level->iterations + (TRIGRAM - 1) / level->calls_per_iteration;
}

struct level_belief levels_believe(const struct levels_store *s, const struct levels_index *x,
				   const struct levels_level *level,
				   const struct level_demands *demands)
{
	struct level_belief b = {
		.is_refuted = is_part_of_more(level) || (!demands->ended && may_be_inner(level)),
		.optimizer_outside = !level->optimizer && late_hints(s, x) & LEVEL_OPTIMIZER,
	};
	if (level_strength(level) < MIN_STRENGTH || is_ruled_out(x, level, demands))
		return b;
	if (!level->optimizer && optimizer_steps_outside(s, x, level))
		return b;
	enum level_evidence evidence = evidence_of(s, x, level, demands->ended);
	bool may_have_optimizer = !demands->ended && !level->optimizer &&
				  late_hints(s, x) & LEVEL_FRAMED;
	uint32_t wanted = iterations_wanted(evidence, level, demands, may_have_optimizer),
		 early = iterations_wanted_early(evidence, level, demands, may_have_optimizer);
	/* a final answer needs EVENTS_BARE, because the first step's layers are bare too */
	b.is_enough = level->iterations >= wanted &&
		      !(level_is_bare(level) && x->end < EVENTS_BARE);
	b.is_promising = iterations_seen(level) >= early;
	b.signs = (struct level_signs){
		.iterations = level->iterations,
		.coverage = level->coverage,
		.alike = level->alike,
		.unusual = (double)level->unusual / level->iterations,
		.is_read = level->read,
		.is_noisy = level_is_noisy(level),
		.is_latter = x->start > 0,
		.has_optimizer = evidence == EVIDENCE_OPTIMIZER || evidence == EVIDENCE_TAIL,
		.optimizer_unnamed = evidence == EVIDENCE_TAIL && late_hints(s, x) & LEVEL_NAMED,
		.is_enough = b.is_enough,
	};
	uint32_t next = level->iterations < early ? early : wanted;
	if (next > level->iterations && next - level->iterations <= ITERATIONS_FORESEEN)
		b.iterations_short = next - level->iterations;
	return b;
}
