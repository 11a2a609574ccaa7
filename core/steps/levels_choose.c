/*
 * Chooses the loop of a program that is the step (core/steps/levels_search.h). Loops are nested:
 * layers, micro-batches, steps, rounds of evaluation. From the innermost loop outwards, checks
 * whether each loop is only a part of the next outer one. Runs in the collector.
 */
#include "core/steps/levels_search.h"

#include <math.h>
#include <stdlib.h>

/* This many levels are examined iteration by iteration: those with most trigrams. */
#define MAX_WEIGHED 24u
/* Levels whose numbers of iterations differ by less than this factor belong to one loop. */
#define SAME_PERIOD 1.4
/*
 * If an outer loop launches less than this besides its inner iterations, these launches are a log
 * or a learning rate schedule, not an optimizer.
 */
#define MIN_OPTIMIZER_CALLS 3.0
/*
 * The limit for outer loops of fewer than FEW_ITERATIONS inner iterations: their optimizer may
 * consist of one or two launches after the micro-batches.
 */
#define MIN_FUSED_CALLS 1.5
#define FEW_ITERATIONS	9u
/* More iterations than this of a loop that talks to the host do not belong to one step. */
#define MANY_ITERATIONS 48.0

/*
 * An agent trains fewer networks than this between two exchanges with the host, for example two
 * critics, an actor and a temperature. If an agent trains some of its networks only now and then,
 * it trains all of them at least once in this many steps.
 */
#define MANY_NETWORKS 4.5

/*
 * Another network's step, in the outer loop only, has at least this share of an inner iteration's
 * launches.
 */
#define OTHER_NETWORK 0.5

/* A step makes fewer copies to the host and waits than this. */
#define MANY_READS 4.0

/*
 * An epoch has at least this many batches. Its last batch has other shapes, and so at least this
 * share of launches that differ.
 */
#define ITERATIONS_OF_EPOCH 3.0
#define OTHER_SHAPES	    0.1

/*
 * A request loop with at least this many times the iterations of another loop replaces that loop,
 * because that loop contains only some of the requests.
 */
#define REQUEST_LOOP_MORE 1.1

/* If an iteration has more exchanges than this, they form a loop within it. */
#define EXCHANGES_OF_ONE 4u
/*
 * In a loop with the same few exchanges in each iteration, at least SAME_EXCHANGES of the
 * iterations have the usual number of exchanges, and an iteration has on average at least
 * ALIKE_EXCHANGES of its events in common with the next one. Noise reduces both shares.
 */
#define SAME_EXCHANGES	0.66
#define ALIKE_EXCHANGES 0.75

/* The levels that may be the step, innermost first. */
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

/*
 * Describes the groups with most trigrams as levels, and sorts these by falling number of
 * iterations.
 */
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

/* Keeps for each loop the level with the highest score. */
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
 * Returns whether outer iterations contain nothing but inner ones. Then the outer loop exists only
 * because the inner iterations repeat in the same order, for example with inputs of a few shapes.
 */
static bool is_same_again(const struct levels_extra *extra)
{
	return extra->fed + extra->read + extra->foreign + extra->novel + fabs(extra->known) == 0;
}

/*
 * Returns whether each iteration reads a result, copies input and trains, as an agent's does. A
 * mere wait is not a read: copies from pageable memory wait too, and the parts of a GAN's iteration
 * may make such copies.
 */
static bool is_agents(const struct levels_level *level)
{
	return level->optimizer && level->fed && level->answered;
}

/*
 * Returns whether an inner iteration is the whole step of an agent that trains another network only
 * in some of its steps.
 */
static bool is_delayed(const struct levels_level *inner, const struct levels_extra *extra)
{
	return is_agents(inner) && extra->inner_iterations < MANY_NETWORKS;
}

/*
 * Returns whether an outer iteration is the step of an agent, and its inner iterations each train
 * one of several networks on what the agent received.
 */
static bool are_agents_networks(const struct levels_level *inner, const struct levels_level *outer,
				const struct levels_extra *extra)
{
	return inner->optimizer && is_agents(outer) && !inner->fed && !inner->read &&
	       extra->fed >= 0.5 && extra->read >= 0.5 && extra->inner_iterations < MANY_NETWORKS;
}

/*
 * Returns whether inner iterations are backward passes with varying launches, such as the leapfrog
 * steps of one sample, while outer iterations are all the same and end by talking to the host.
 */
static bool are_passes_of_one(const struct levels_level *inner, const struct levels_level *outer)
{
	return inner->threads && !inner->optimizer && !inner->tail && !inner->talks_to_host &&
	       inner->alike < ALIKE_WHOLE && outer->talks_to_host && outer->alike >= EXACTLY_ALIKE;
}

/*
 * Returns whether the outer loop is an epoch: in each outer iteration, one inner iteration has
 * launches of other shapes instead of its own, because an epoch's last batch is smaller. The
 * launches of an optimizer would be additional.
 */
static bool is_epoch(const struct levels_level *inner, const struct levels_extra *extra)
{
	return inner->threads && !inner->optimizer &&
	       extra->inner_iterations >= ITERATIONS_OF_EPOCH &&
	       extra->replaced >= OTHER_SHAPES * inner->calls_per_iteration;
}

/*
 * Returns whether outer iterations add hardly more than copies to the host, one per parameter. A
 * step reads little of what it computes.
 */
static bool is_checkpoint(const struct levels_extra *extra)
{
	return extra->read >= MANY_READS && extra->novel + extra->known < extra->read;
}

/* Returns whether inner iterations are only parts of the step, which `outer` may be. */
static bool is_part(struct search *q, const struct levels_level *inner,
		    const struct levels_level *outer)
{
	if (!inner->optimizer && outer->optimizer)
		return true;
	/*
	 * The inner loop is the optimizer's loop over parameters if only the outer one has a
	 * backward pass.
	 */
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
	 * Further backward passes in the outer loop are further parts of one step. If each inner
	 * iteration has an optimizer, that holds only if the parts occur in the same order, as in a
	 * GAN. If they do not, each step chooses its part at random, such as one of several heads.
	 */
	if (inner->threads && extra.foreign >= 2 && extra.novel >= 2 &&
	    (!inner->optimizer || outer->mostly_alike))
		return true;
	/*
	 * Inner iterations may be steps of a GAN's critic. The generator then steps once in every
	 * few of them.
	 */
	if (inner->optimizer)
		return extra.optimizers >= 0.5 &&
		       extra.novel - extra.optimizers >= OTHER_NETWORK * inner->calls_per_iteration;
	bool is_silent = extra.fed < 0.5 && extra.read < 0.5;
	if (outer->threads && !inner->threads) /* only the outer loop has a backward pass */
		return true;
	if (is_checkpoint(&extra))
		return false;
	if (inner->tail) /* The inner iteration is a step; the rest is an evaluation or a log. */
		return false;
	if (inner->threads && inner->fed && extra.fed < 0.5)
		/* inner iterations are micro-batches; the optimizer follows them */
		return extra.novel >= 1;
	if (is_silent)
		return true;
	/*
	 * Only the outer loop talks to the host. If it only reads, and launches nothing more, it is
	 * a log that is written every few steps.
	 */
	if (!inner->fed && !inner->read && !inner->threads)
		return extra.fed >= 0.5 || extra.novel + extra.known >= 0.5;
	/*
	 * An optimizer is new work, and may copy scalars. An evaluation repeats the forward pass.
	 */
	bool has_optimizer = inner->threads && outer->tail;
	bool is_near = outer->calls_per_iteration < FEW_ITERATIONS * inner->calls_per_iteration;
	/*
	 * A step contains more work than the forward passes that it has in common with an
	 * evaluation.
	 */
	bool is_more = is_near && extra.novel >= inner->calls_per_iteration;
	return extra.inner_iterations < MANY_ITERATIONS &&
	       (has_optimizer || is_more || extra.fed < 0.5) &&
	       extra.novel >= (is_near ? MIN_FUSED_CALLS : MIN_OPTIMIZER_CALLS) &&
	       extra.novel > extra.known;
}

/*
 * Returns whether each of the level's iterations has the same few exchanges, for example one per
 * buffer of two streams. If there is one exchange per iteration, but the request loop has more
 * exchanges than the level has iterations, the level contains only those iterations in which the
 * same launches occurred. Then the answer is false.
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
 * Returns whether the level contains only some of a request loop's iterations. Sets
 * level->exchanges if each iteration has the same few exchanges. If the request loop has enough
 * trigrams to be a level on its own, it replaces only a level that also talks to the host, such as
 * one of equally large requests. Otherwise the request loop is an evaluation between steps.
 */
static bool is_of_request_loop(const struct search *q, struct levels_level *level,
			       const struct levels_level *request_loop)
{
	bool is_of_kind = request_loop->n_members < MIN_MEMBERS || (level->fed && level->read);
	level->exchanges = level->iterations && has_same_exchanges(q, level, request_loop);
	return is_of_kind && !level->optimizer && !level->threads && !level->exchanges &&
	       level->iterations * REQUEST_LOOP_MORE < request_loop->iterations;
}

/* Finds the loop that is the step. best->iterations is 0 if there is none. */
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
	best->outer_is_log = chosen + 1 < l.n && !best->talks_to_host && !best->threads;
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
