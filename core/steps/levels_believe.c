/* See levels_believe.h. Collector only. */
#include "core/steps/levels_believe.h"

/*
 * With fewer events, most loops are not accepted, because the set-up of a program looks like a
 * loop: it makes parameters and copies them. Accepted are loops that launch graphs, and loops that
 * read results and copy nothing to the device.
 */
#define EVENTS_LEAST 48u
/*
 * Iterations demanded when no more events will come. A bare loop must also have this many events
 * and cover this share of them. NEVER: no number of iterations suffices.
 */
#define NEVER		      UINT32_MAX
#define ITERATIONS_ENDED      3u
#define ITERATIONS_BARE_ENDED 20u
#define EVENTS_BARE	      400u
#define COVERAGE_BARE	      0.8
/*
 * If something outside the level talks to the host, or works on another thread, there is an outer
 * loop. After this many iterations of the level, the outer loop would have been found.
 */
#define ITERATIONS_LACKING 2000u
/*
 * If some iterations are longer than most, there may be an outer loop, which is found once it has
 * had UNUSUAL_ENOUGH iterations. If no outer loop is found after this many iterations of the
 * level, there is not any.
 */
#define ITERATIONS_DESPITE 100u
/*
 * A loop with fewer calls per iteration that does nothing else is more often a loop within a step
 * than a step.
 */
#define CALLS_SINGLE 3u
/* level_belief.iterations_short is set if at most this many more iterations may suffice. */
#define ITERATIONS_FORESEEN 3u
/*
 * Requests may differ and still be iterations of one loop, so a smaller share of launches in common
 * suffices: each request reads input and returns a result.
 */
#define ALIKE_REQUESTS 0.5
/*
 * If an optimizer makes this many steps outside the level's iterations, these steps form a loop of
 * their own, and that loop is the step.
 */
#define OPTIMIZER_STEPS 2u
/* A level with a smaller level_strength() is not accepted. */
#define MIN_STRENGTH 0.3
/*
 * A level that has ended is not accepted. It has ended if its last iteration lies too far back:
 * more than one iteration, plus one for every ITERATIONS_PER_STALE iterations. The allowance covers
 * pauses such as an evaluation.
 */
#define ITERATIONS_PER_STALE 4u
#define MAX_STALE_ITERATIONS 3u

/*
 * The number of iterations demanded for a final answer (`iterations`) and for a provisional one
 * (`early`). by_round: if neighbouring iterations differ but the difference repeats after several
 * iterations (a round), rounds are counted instead of iterations. A loop whose iteration is a round
 * needs that time to be found as a level.
 */
static const struct {
	uint32_t iterations, early;
	bool by_round;
} demanded[LEVEL_EVIDENCES] = {
	/*
	 * An optimizer alone is not enough for an answer at once. A WGAN's critic makes five steps
	 * before its generator makes one. A step that is to be captured as a graph runs three or
	 * more times before the capture.
	 */
	[EVIDENCE_OPTIMIZER] = { 7, 3, true },
	[EVIDENCE_TAIL] = { 6, 3, true },
	/*
	 * The program has an optimizer, but this level is not its step: the level is within the
	 * step or outside the step, as an evaluation is.
	 */
	[EVIDENCE_INNER] = { 400, NEVER },
	/*
	 * Two threads launch, as in backward passes, but no optimizer has been seen. If kernels
	 * have names, an optimizer may still follow after 32 micro-batches. If they have none, an
	 * optimizer cannot be recognized, so waiting does not help. A few iterations suffice for a
	 * provisional answer: plain training is more common than micro-batches, and micro-batches
	 * are found soon unless the loop is noisy.
	 */
	[EVIDENCE_TRAINING] = { 72, 6 },
	[EVIDENCE_TRAINING_UNFED] = { 24, 6 },
	/*
	 * Input is copied, but the host neither waits nor reads. If the iterations are
	 * micro-batches on one thread, four iterations of the outer loop show that loop.
	 */
	[EVIDENCE_UNREAD] = { 36, 4 },
	/* A graph that gets input, or whose results are read, is all the work of a step. */
	[EVIDENCE_GRAPH] = { 5, 3, true },
	/*
	 * Each iteration reads a result and copies the next input, or waits for all its work,
	 * whatever it launches. That ends the iteration, so few iterations suffice.
	 */
	[EVIDENCE_EXCHANGE] = { 16, 3, true },
	/*
	 * The host reads or waits. Such a loop may be the moves of a game whose optimizer follows
	 * later, so more iterations are demanded than such a game has moves. Four are demanded for
	 * a provisional answer. With three, more of the generated programs would be known in time
	 * (91.6 % within five steps, not 89.9 %), but the prompts of speculative decoding would be
	 * taken for its rounds (56 of 126).
	 */
	[EVIDENCE_HOST] = { 16, 4, true },
	/*
	 * Iterations as small as a layer (CALLS_OF_LAYER) in which the host reads or waits. Each
	 * layer may do so, which looks like the end of an iteration, and the first forward pass
	 * contains nothing else. So the step around the layers needs this many iterations, or
	 * EVENTS_BARE events, to be found.
	 */
	[EVIDENCE_HOST_SMALL] = { 40, 4 },
	/*
	 * Layers are bare loops, too. If the first step's layers were taken for steps, the second
	 * step corrects that.
	 */
	[EVIDENCE_BARE] = { 40, 7 },
	[EVIDENCE_SINGLE] = { 1000, NEVER },
};

/*
 * Returns a value from 0 to 1: high for many similar iterations that fill the searched events. If
 * the iterations have an optimizer, they need not be similar: a game has as many moves as it takes.
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

/* Returns the hints of all events in the latter half of the searched events. */
static uint32_t late_hints(const struct levels_store *s, const struct levels_index *x)
{
	uint32_t hints = 0;
	for (uint32_t i = x->start + (x->end - x->start) / 2; i < x->end; i++)
		hints |= s->events[i].hints;
	return hints;
}

/*
 * Returns whether an optimizer makes several steps in the latter half of the events, but not in
 * most of the level's iterations there.
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
 * Returns whether a level that contains an optimizer's launches may be the optimizer's loop over
 * parameters. It may be if another thread launches backward passes, but hardly any iteration
 * contains one, nor a graph that may contain one.
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

/*
 * Returns whether the level's iterations end with an exchange with the host. An exchange, unlike a
 * trigram, occurs whatever the launches are.
 */
static bool ends_by_exchange(const struct levels_level *level)
{
	for (uint32_t m = 0; m < level->n_members; m++)
		if (level->members[m] == LEVELS_EXCHANGE)
			return true;
	return false;
}

/*
 * Returns whether an optimizer has launched, however long ago. Then the program trains: a loop
 * without an optimizer may be an evaluation that follows the first step. A graph may hide an
 * optimizer.
 */
static bool is_beside_training(const struct levels_store *s, const struct levels_index *x,
			       const struct levels_level *level)
{
	for (uint32_t i = 0; i < x->end && !level->graph; i++)
		if (s->events[i].hints & LEVEL_OPTIMIZER)
			return true;
	return false;
}

/* Returns what suggests that the level is the step. */
static enum level_evidence evidence_of(const struct levels_store *s, const struct levels_index *x,
				       const struct levels_level *level, bool ended)
{
	uint32_t hints = late_hints(s, x);
	bool is_whole = level->fed || x->end >= EVENTS_BARE ||
			level->calls_per_iteration >= CALLS_OF_LAYER;
	if (level->optimizer && !is_within_optimizer(s, x, level))
		return EVIDENCE_OPTIMIZER;
	if (!ended && (hints & LEVEL_OPTIMIZER || is_beside_training(s, x, level)))
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
				  const struct level_demands *d)
{
	if (d->ended && evidence == EVIDENCE_OPTIMIZER)
		return ITERATIONS_ENDED * d->factor;
	if (d->ended && evidence == EVIDENCE_BARE)
		return ITERATIONS_BARE_ENDED * d->factor;
	return demanded[evidence].iterations * (demanded[evidence].by_round ? level->round : 1) *
	       d->factor;
}

static uint32_t iterations_wanted_early(enum level_evidence evidence,
					const struct levels_level *level,
					const struct level_demands *d)
{
	uint32_t early = demanded[evidence].early;
	if (early == NEVER || d->ended)
		return NEVER;
	return early * (demanded[evidence].by_round ? level->round : 1) * d->factor;
}

/*
 * Returns whether the level cannot be set-up. Set-up makes parameters by launches and by copies to
 * the device, and may wait for each of these. But it launches no graphs and copies nothing to the
 * host.
 */
static bool cannot_be_setup(const struct levels_level *level)
{
	return level->graph || (level->read && (!level->fed || level->inside & LEVEL_D2H));
}

/*
 * Returns whether something that the level lacks occurs between its iterations. Then there is an
 * outer loop, which is the step.
 */
static bool shows_outer_loop(const struct levels_level *level)
{
	return !level->optimizer && !level->tail && !level->outer_is_log &&
	       ((!level->threads && level->inside & LEVEL_THREADS) ||
		(!level->talks_to_host && level->inside & ~LEVEL_THREADS));
}

/*
 * Returns whether the iterations may be micro-batches of a step that was not found. They may be if
 * they read nothing and a kernel recurs in every few of them: this kernel is an optimizer of one or
 * two launches. If launches are lost or exchanged, the outer loop may have no trigram left that
 * occurs once per iteration, so it is not found. Excludes the updates of an agent, which get no
 * input and of which there are many per game.
 */
static bool may_hide_outer_loop(const struct levels_level *level)
{
	return level_is_noisy(level) && !level->optimizer && !level->tail && !level->read &&
	       (level->fed || !level->threads) && level->recurring >= UNUSUAL_ENOUGH;
}

/*
 * Returns whether there may be an outer loop that has not been found yet, because some iterations
 * are longer than most, or contain another network's step. If all iterations differ, no iteration
 * counts as longer.
 */
static bool may_be_inner(const struct levels_level *level)
{
	bool is_longer_at_times = !level->optimizer && !level->tail && !level->outer_is_log &&
				  !level->request_loop && level->alike >= ALIKE_REQUESTS &&
				  level->unusual && level->unusual < UNUSUAL_ENOUGH;
	bool has_other_steps = level->other_steps && level->other_steps < UNUSUAL_ENOUGH;
	return (is_longer_at_times || has_other_steps) && level->iterations < ITERATIONS_DESPITE;
}

/* Returns whether the iterations show that the level is not the step. */
static bool is_part_of_more(const struct levels_level *level)
{
	return (may_hide_outer_loop(level) || shows_outer_loop(level)) &&
	       level->iterations < ITERATIONS_LACKING;
}

/* Returns whether the level cannot be accepted, however many iterations it has. */
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
	 * A bare loop must fill the whole stream, because the latter part of any program is full of
	 * bare loops.
	 */
	return level_is_bare(level) && (x->start || level->coverage < COVERAGE_BARE);
}

/*
 * Returns the number of iterations, including those before the first anchor was complete. An anchor
 * consists of three calls, but an iteration may have fewer.
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
	uint32_t wanted = iterations_wanted(evidence, level, demands),
		 early = iterations_wanted_early(evidence, level, demands);
	/*
	 * A final answer of a bare loop needs EVENTS_BARE events: the first step's layers are bare
	 * too.
	 */
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
