/*
 * Chooses which of a program's loops is the step (core/steps/levels_search.h). Loops are nested:
 * layers, micro-batches, steps, rounds of evaluation. From the innermost loop outwards, each is
 * checked for being only part of the next one. Runs in the collector.
 */
#include "core/steps/levels_search.h"

#include <math.h>
#include <stdlib.h>

/* Levels examined iteration by iteration, those with most trigrams first. */
#define MAX_WEIGHED 24u
/* Levels whose numbers of iterations differ by less than this factor belong to one loop. */
#define SAME_PERIOD 1.4
/* Fewer launches of its own are a log or a schedule, not an optimizer. */
#define MIN_OPTIMIZER_CALLS 3.0
/*
 * ...unless they occur every few iterations, like an optimizer of one or two launches after its
 * micro-batches.
 */
#define MIN_FUSED_CALLS 1.5
#define FEW_ITERATIONS	9u
/* This many iterations of a loop that talks to the host do not belong to one step. */
#define MANY_ITERATIONS 48.0

/*
 * Fewer networks than this are trained between two of an agent's exchanges with the host, such as
 * two critics, an actor and a temperature. At least one in this many of an agent's steps trains all
 * of them.
 */
#define MANY_NETWORKS 4.5

/* Launches of another network's step, as a share of this one's. */
#define OTHER_NETWORK 0.5

/* More copies to the host and waits than a step makes. */
#define MANY_READS 4.0

/*
 * An epoch has at least this many batches, and the last one has at least this share of launches
 * with other shapes.
 */
#define ITERATIONS_OF_EPOCH 3.0
#define OTHER_SHAPES	    0.1

/* A request loop has this many times the iterations of a loop that has only some of them. */
#define REQUEST_LOOP_MORE 1.1

/* More exchanges in one iteration are a loop within it. */
#define EXCHANGES_OF_ONE 4u
/*
 * Share of iterations with the usual number of exchanges, and share of an iteration that the next
 * one has too. Noise reduces both.
 */
#define SAME_EXCHANGES	0.66
#define ALIKE_EXCHANGES 0.75

struct ladder {
	struct levels_level levels[MAX_WEIGHED];
	uint32_t n;
};

static int by_iterations(const void *a, const void *b)
{
	const struct levels_level *x = a, *y = b;
	if (x->iterations != y->iterations)
		return x->iterations < y->iterations ? 1 : -1;
	return (x->reference > y->reference) - (x->reference < y->reference);
}

/* Describes the groups with most trigrams as levels, innermost first. */
static void weigh_most(struct search *q, struct ladder *l)
{
	bool *done = calloc(q->n_groups + 1, sizeof(*done));
	l->n = 0;
	for (uint32_t tried = 0; done && tried < MAX_WEIGHED && tried < q->n_groups; tried++) {
		uint32_t next = NO_GROUP;
		for (uint32_t g = 0; g < q->n_groups; g++)
			if (!done[g] && (next == NO_GROUP ||
					 q->groups[g].n_members > q->groups[next].n_members))
				next = g;
		done[next] = true;
		l->n += search_weigh(q, next, &l->levels[l->n]);
	}
	free(done);
	qsort(l->levels, l->n, sizeof(*l->levels), by_iterations);
}

/* Keeps the level with the highest score for each loop. */
static void keep_one_per_loop(struct ladder *l)
{
	uint32_t n = 0, most = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		bool same = n && l->levels[i].iterations * SAME_PERIOD > most;
		if (!same) {
			most = l->levels[i].iterations;
			l->levels[n++] = l->levels[i];
		} else if (l->levels[i].score > l->levels[n - 1].score) {
			l->levels[n - 1] = l->levels[i];
		}
	}
	l->n = n;
}

/*
 * Whether outer iterations contain only inner ones, which repeat in the same order, as with inputs
 * of a few shapes.
 */
static bool is_same_again(const struct levels_extra *extra)
{
	return extra->fed + extra->read + extra->foreign + extra->novel + fabs(extra->known) == 0;
}

/*
 * Whether each iteration reads a result, feeds what follows and trains, like an agent. A mere wait
 * is not enough: copies from pageable memory wait too, and so do parts of a GAN's iteration that
 * get such copies.
 */
static bool is_agents(const struct levels_level *level)
{
	return level->optimizer && level->fed && level->answered;
}

/*
 * Whether an inner iteration is an agent's whole step, although another network is trained only in
 * some of them.
 */
static bool is_delayed(const struct levels_level *inner, const struct levels_extra *extra)
{
	return is_agents(inner) && extra->inner_iterations < MANY_NETWORKS;
}

/*
 * Whether only outer iterations are an agent's: each trains several networks on what the agent
 * received.
 */
static bool are_agents_networks(const struct levels_level *inner, const struct levels_level *outer,
				const struct levels_extra *extra)
{
	return inner->optimizer && is_agents(outer) && !inner->fed && !inner->read &&
	       extra->fed >= 0.5 && extra->read >= 0.5 && extra->inner_iterations < MANY_NETWORKS;
}

/*
 * Whether inner iterations are backward passes with varying launches, such as the leapfrog steps of
 * one sample, and only outer iterations are all the same and end by talking to the host.
 */
static bool are_passes_of_one(const struct levels_level *inner, const struct levels_level *outer)
{
	return inner->threads && !inner->optimizer && !inner->tail && !inner->talks_to_host &&
	       inner->alike < ALIKE_WHOLE && outer->talks_to_host && outer->alike >= EXACTLY_ALIKE;
}

/*
 * Whether one inner iteration per outer one has launches of other shapes in place of its own, like
 * an epoch's last, smaller batch. An optimizer's launches would be additional.
 */
static bool is_epoch(const struct levels_level *inner, const struct levels_extra *extra)
{
	return inner->threads && !inner->optimizer &&
	       extra->inner_iterations >= ITERATIONS_OF_EPOCH &&
	       extra->replaced >= OTHER_SHAPES * inner->calls_per_iteration;
}

/*
 * Whether outer iterations add hardly more than copies to the host, one per parameter. A step reads
 * little of what it computes.
 */
static bool is_checkpoint(const struct levels_extra *extra)
{
	return extra->read >= MANY_READS && extra->novel + extra->known < extra->read;
}

/*
 * Whether inner iterations are an optimizer's evaluations of its closure, as in L-BFGS: some of
 * them lie entirely within the optimizer's step, but none of the outer ones do.
 */
static bool are_evaluations(const struct search *q, const struct levels_level *inner,
			    const struct levels_level *outer)
{
	return search_has_whole_steps(q, outer) &&
	       2 * (inner->iterations - search_count_iterations(q, inner, LEVEL_NO_REEVALUATION)) >=
		       outer->iterations;
}

/* Whether inner iterations are only parts of the step, which `outer` may be. */
static bool is_part(struct search *q, const struct levels_level *inner,
		    const struct levels_level *outer)
{
	if (!inner->optimizer && outer->optimizer)
		return true;
	if (are_evaluations(q, inner, outer))
		return true;
	/* an optimizer's loop over parameters: only the outer loop has a backward pass */
	if (inner->optimizer && inner->rarely_threaded && outer->optimizer && outer->threads)
		return true;
	struct levels_extra extra = search_compare(q, inner, outer);
	if (is_same_again(&extra) || is_delayed(inner, &extra))
		return false;
	if (are_agents_networks(inner, outer, &extra) || are_passes_of_one(inner, outer))
		return true;
	if (is_epoch(inner, &extra))
		return false;
	/*
	 * Other backward passes are other parts of one step. If each inner iteration has an
	 * optimizer, that holds only if they occur in the same order, like a GAN's; else they are
	 * chosen at random per step, like one of several heads.
	 */
	if (inner->threads && extra.foreign >= 2 && extra.novel >= 2 &&
	    (!inner->optimizer || outer->mostly_alike))
		return true;
	/* A GAN's critic, whose generator steps once every few iterations. */
	if (inner->optimizer)
		return extra.optimizers >= 0.5 &&
		       extra.novel - extra.optimizers >= OTHER_NETWORK * inner->calls_per_iteration;
	bool is_silent = extra.fed < 0.5 && extra.read < 0.5;
	if (outer->threads && !inner->threads) /* only the outer loop has a backward pass */
		return true;
	if (is_checkpoint(&extra))
		return false;
	if (inner->tail) /* a step of its own; the rest is evaluation or a log */
		return false;
	if (inner->threads && inner->fed && extra.fed < 0.5)
		return extra.novel >= 1; /* micro-batches, followed by the optimizer */
	if (is_silent)
		return true;
	/*
	 * Only the outer loop talks to the host. If it only reads and launches nothing more, it is
	 * a log every few steps.
	 */
	if (!inner->fed && !inner->read && !inner->threads)
		return extra.fed >= 0.5 || extra.novel + extra.known >= 0.5;
	/* an optimizer is new work, and may copy scalars; evaluation is the forward pass again */
	bool has_optimizer = inner->threads && outer->tail;
	bool is_near = outer->calls_per_iteration < FEW_ITERATIONS * inner->calls_per_iteration;
	/* a step is more than the forward passes it shares with an evaluation */
	bool is_more = is_near && extra.novel >= inner->calls_per_iteration;
	return extra.inner_iterations < MANY_ITERATIONS &&
	       (has_optimizer || is_more || extra.fed < 0.5) &&
	       extra.novel >= (is_near ? MIN_FUSED_CALLS : MIN_OPTIMIZER_CALLS) &&
	       extra.novel > extra.known;
}

/*
 * Whether each iteration has the same few exchanges, such as one per buffer of two streams. A loop
 * with one exchange per iteration, but fewer iterations than there are exchanges, contains only
 * those in which the same launches occurred.
 */
static bool has_same_exchanges(const struct search *q, const struct levels_level *level,
			       const struct levels_level *request_loop)
{
	const uint32_t *at = levels_index_of(q->index, level->reference);
	const uint32_t *exchange = levels_index_of(q->index, request_loop->reference);
	uint32_t usual = (request_loop->iterations + level->iterations / 2) / level->iterations,
		 n_same = 0, e = 0;
	for (uint32_t k = 0; k < level->iterations; k++) {
		uint32_t n_here = 0;
		for (; e <= request_loop->iterations && exchange[e] < at[k + 1]; e++)
			n_here += exchange[e] >= at[k];
		n_same += n_here == usual;
	}
	bool are_some = usual == 1 &&
			level->iterations * REQUEST_LOOP_MORE < request_loop->iterations;
	return level->alike >= ALIKE_EXCHANGES && usual && usual <= EXCHANGES_OF_ONE && !are_some &&
	       n_same >= SAME_EXCHANGES * level->iterations;
}

/*
 * Whether the level contains only some of a request loop's iterations. Sets level->exchanges if
 * each iteration has as many. A request loop with enough trigrams to be a level of its own replaces
 * only a level that also talks to the host, such as one of requests of equal sizes. Otherwise, as
 * next to steps, it is evaluation.
 */
static bool is_of_request_loop(const struct search *q, struct levels_level *level,
			       const struct levels_level *request_loop)
{
	bool is_of_kind = request_loop->n_members < MIN_MEMBERS || (level->fed && level->read);
	level->exchanges = level->iterations && has_same_exchanges(q, level, request_loop);
	return is_of_kind && !level->optimizer && !level->threads && !level->exchanges &&
	       level->iterations * REQUEST_LOOP_MORE < request_loop->iterations;
}

/* Finds the loop that is the step; `best` is empty if there is none. */
static void choose_of_ladder(struct search *q, struct levels_level *best)
{
	static _Thread_local struct ladder l;
	*best = (struct levels_level){ 0 };
	weigh_most(q, &l);
	keep_one_per_loop(&l);
	if (!l.n)
		return;
	for (uint32_t i = 0; i < l.n; i++)
		search_look_for_tail(q, &l.levels[i]);
	uint32_t chosen = 0;
	for (uint32_t i = 1; i < l.n; i++)
		if (is_part(q, &l.levels[chosen], &l.levels[i]))
			chosen = i;
	*best = l.levels[chosen];
	best->outer_rejected = chosen + 1 < l.n;
	best->outer_is_log = best->outer_rejected && !best->talks_to_host && !best->threads;
}

uint32_t search_choose(struct search *q, struct levels_level *best)
{
	struct levels_level request_loop;
	choose_of_ladder(q, best);
	if (search_find_request_loop(q, &request_loop) &&
	    is_of_request_loop(q, best, &request_loop))
		*best = request_loop;
	if (!best->iterations)
		return NO_GROUP;
	search_look_closer(q, best);
	return best->group;
}
