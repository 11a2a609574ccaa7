/* See levels_believe.h. Collector only. */
#include "core/steps/levels_believe.h"

/* Before so many only a loop that launches graphs, or reads and copies nothing to the device, is believed: a parameter's making and copying looks like a loop. */
#define EVENTS_LEAST 48u
/* Turns of a level with unlike neighbours are demanded by rounds: what they alternate in must have shown itself as a level of its own. */
#define NEVER		      UINT32_MAX
#define ITERATIONS_ENDED      3u
#define ITERATIONS_BARE_ENDED 20u
#define EVENTS_BARE	      400u
#define COVERAGE_BARE	      0.8
/* Around this level something talks to the host, or works on another thread: an outer loop, which would have shown itself by now. */
#define ITERATIONS_LACKING 2000u
/* Some turns are longer than most (UNUSUAL_ENOUGH): there is a loop around this one, which shows itself as a level once it has come so often; or
 * there is none, which so many iterations tell. */
#define ITERATIONS_DESPITE 100u
/* One or two launches over and over, with nothing else: more often a loop inside a step than one. */
#define CALLS_SINGLE	    3u
#define ITERATIONS_FORESEEN 3u
/* Requests that differ may have less in common; each is fed and answered all the same. */
#define ALIKE_REQUESTS 0.5
/* Where frames would tell an optimizer, one may still come: behind an evaluation of twenty batches, a game's forty moves, a series of sixty.
 * Until so many iterations without one the answer is provisional only. */
#define ITERATIONS_FRAMED 128u
/* So many steps of an optimizer beside a level's turns are a loop of their own, which is the step. */
#define OPTIMIZER_STEPS 2u
/* Turns with work of another kind: again and again; more, as a share, and turns differ. */
#define OTHER_WORK_MIN	     3u
#define OTHER_WORK_MAX_SHARE 0.6
/* Below this, level_strength() is that of a guess. */
#define MIN_STRENGTH 0.3
/* The level must still be going on: it may have missed a iteration of its own at the end of what has come, and one more for each so
 * many that there were, as when the program evaluates. */
#define ITERATIONS_PER_STALE 4u
#define MAX_STALE_ITERATIONS 3u

/* Turns that must have come: for good, and to be counted provisional. */
static const struct {
	uint32_t iterations, early;
	bool by_round;
} demanded[LEVEL_EVIDENCES] = {
	/* An optimizer alone is not enough at once: a WGAN's critic steps five times before its generator does, and a step
	 * that is to be captured as a graph runs three or more times before. */
	[EVIDENCE_OPTIMIZER] = { 7, 3, true },
	[EVIDENCE_TAIL] = { 6, 3, true },
	/* The program has an optimizer, and this level is not its step: something inside, or beside it. */
	[EVIDENCE_INNER] = { 400, NEVER },
	/* Launches from two threads, as backward passes do, but no optimizer yet: where kernels have names, one may come after 32
	 * micro-batches; where they have none, it cannot be told, and waiting does not help. Plain training is commoner than micro-batches, and
	 * these show themselves soon, unless launches come and go: provisional it is counted early. */
	[EVIDENCE_TRAINING] = { 72, 6 },
	[EVIDENCE_TRAINING_UNFED] = { 24, 6 },
	/* Input is copied, and nothing is ever waited for or read: of micro-batches on one thread four outer turns show what they belong to. */
	[EVIDENCE_UNREAD] = { 36, 4 },
	/* A graph that is fed, or whose results are read, is all the work of a step. */
	[EVIDENCE_GRAPH] = { 5, 3, true },
	/* Each turn reads a result and feeds what follows, or waits for all it did, whatever launches it has: so it ends, of however few iterations. */
	[EVIDENCE_EXCHANGE] = { 16, 3, true },
	/* As long as a game's moves, before what was learned from them begins: its optimizer comes later. Three turns provisional would know more made
	 * programs in time (91.6 % within five steps, not 89.9), but take speculative decoding's prompts for its rounds: 56 of 126. */
	[EVIDENCE_HOST] = { 16, 4, true },
	/* A wait in each layer, or something that it reads back, marks a loop over layers too, and the first forward pass holds nothing else:
	 * of iterations as small as a layer's (CALLS_OF_LAYER) so many, or so many events (EVENTS_BARE), must have come for the step around them to have
	 * shown itself. */
	[EVIDENCE_HOST_SMALL] = { 40, 4 },
	/* Layers are bare, too: the second step corrects what the first one's were taken for. Frames would tell an optimizer, so there it is waited
	 * for. */
	[EVIDENCE_BARE] = { 40, 7 },
	[EVIDENCE_SINGLE] = { 1000, NEVER },
};

/* Alike turns that fill the stretch, with no other loop that explains nearly as much. An optimizer tells turns that differ: a game is of
 * as many moves as it takes. */
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

/* Hints of the latter half of the stretch. */
static uint32_t late_hints(const struct levels_store *s, const struct levels_index *x)
{
	uint32_t hints = 0;
	for (uint32_t i = x->start + (x->end - x->start) / 2; i < x->end; i++)
		hints |= s->events[i].hints;
	return hints;
}

/* Whether an optimizer steps again and again in the latter half of the stretch, while most of the level's turns there are without. */
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
 * Whether a level of optimizer's launches may be its loop over parameters: hardly a iteration has a backward pass, where another thread launches one,
 * nor a graph that may hold it.
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

/* Whether its end is not one of three launches, which may be others in some iterations. */
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

/* Parameters are made by launches and copies to the device, each of which may be waited for; never by graphs, nor read. */
static bool cannot_be_setup(const struct levels_level *level)
{
	return level->graph || (level->read && (!level->fed || level->inside & LEVEL_D2H));
}

/* What it lacks is around it: there is an outer loop, which is the step. */
static bool shows_outer_loop(const struct levels_level *level)
{
	return !level->optimizer && !level->tail && !level->outer_is_log &&
	       ((!level->threads && level->inside & LEVEL_THREADS) ||
		(!level->talks_to_host && level->inside & ~LEVEL_THREADS));
}

/* Again and again, but not in most of its iterations, there is work of another kind, and no loop was found that it belongs to: launches were lost or
 * exchanged, or that loop has not turned often enough. */
static bool has_unexplained_work(const struct levels_level *level)
{
	return !level->optimizer && !level->tail && !level->outer_rejected &&
	       !level->request_loop && level->alike >= ALIKE_REQUESTS &&
	       level->other_work >= OTHER_WORK_MIN &&
	       level->other_work <= OTHER_WORK_MAX_SHARE * level->iterations;
}

/*
 * A kernel comes in every so many of its iterations, and nothing is read in any: micro-batches, and an optimizer of a launch or two. Where launches
 * are lost or exchanged the loop around may have no three left that come once in each of its iterations, and is not found. An agent's updates, which
 * nothing feeds, come so many to a game.
 */
static bool may_hide_outer_loop(const struct levels_level *level)
{
	return level_is_noisy(level) && !level->optimizer && !level->tail && !level->read &&
	       (level->fed || !level->threads) && level->recurring >= UNUSUAL_ENOUGH;
}

/* Some of its iterations are no step from end to end: the loop around an optimizer's step, which may evaluate its closure twenty times, has not shown
 * itself yet, or there is nothing but that step in it. */
static bool may_be_evaluation(const struct levels_level *level)
{
	return 2 * level->within_optimizer >= level->iterations;
}

/* Some of its iterations are longer than most: a loop around it may not have shown itself yet. Where all iterations differ none is unusual. */
static bool may_be_inner(const struct levels_level *level)
{
	bool is_longer_at_times = !level->optimizer && !level->tail && !level->outer_is_log &&
				  !level->request_loop && level->alike >= ALIKE_REQUESTS &&
				  level->unusual && level->unusual < UNUSUAL_ENOUGH;
	bool has_other_steps = level->other_steps && level->other_steps < UNUSUAL_ENOUGH;
	return (is_longer_at_times || has_other_steps || may_be_evaluation(level)) &&
	       level->iterations < ITERATIONS_DESPITE;
}

/* What its iterations show speaks against its being the step. */
static bool is_part_of_more(const struct levels_level *level)
{
	return (has_unexplained_work(level) || may_hide_outer_loop(level) ||
		shows_outer_loop(level)) &&
	       level->iterations < ITERATIONS_LACKING;
}

/* Whether no number of iterations would do. */
static bool is_ruled_out(const struct levels_index *x, const struct levels_level *level,
			 const struct level_demands *d)
{
	if (!level_is_current(x, level) || (d->wants_optimizer && !level->optimizer))
		return true;
	if (!d->ended && x->end - x->start < EVENTS_LEAST && !cannot_be_setup(level))
		return true;
	if (is_part_of_more(level) || (!d->ended && may_be_inner(level)))
		return true;
	/* A bare one of the whole stream only: the latter part of any program is full of bare loops. */
	return level_is_bare(level) && (x->start || level->coverage < COVERAGE_BARE);
}

/* An anchor is three calls, so where a iteration has less its first one has come with turns of its own behind it. */
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
	/* so is a first step, for good */
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
