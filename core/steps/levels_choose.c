/*
 * Which of a program's loops is the step (core/steps/levels_search.h). Loops stand inside one another:
 * layers, micro-batches, steps, rounds of evaluation. From the innermost one outwards, each is asked
 * whether the next is still part of the step. Runs in the collector.
 */
#include "core/steps/levels_search.h"

#include <math.h>
#include <stdlib.h>

/* Levels looked at turn by turn, those with most trigrams first. */
#define MAX_WEIGHED 24u
/* Levels whose turns are this nearly as many belong to one loop. */
#define SAME_PERIOD 1.4
/* Fewer launches of its own are a log or a schedule, and no optimizer. */
#define MIN_OPTIMIZER_CALLS 3.0
/* ...unless it comes every few iterations, as an optimizer of one or two launches does behind its micro-batches. */
#define MIN_FUSED_CALLS 1.5
#define FEW_ITERATIONS	9u
/* So many iterations of a loop that talks to the host do not belong to one step. */
#define MANY_ITERATIONS 48.0

/* Networks that learn between two of an agent's exchanges with the host, as two critics, an actor and a temperature do; and of its steps one at
 * least of fewer has all of them. */
#define MANY_NETWORKS 4.5

/* Launches of another network's step, as a share of this one's. */
#define OTHER_NETWORK 0.5

/* Copies to the host and waits for them, more than a step reads. */
#define MANY_READS 4.0

/* Batches of an epoch, at least, and the share of the last one's launches that have other shapes. */
#define ITERATIONS_OF_EPOCH 3.0
#define OTHER_SHAPES	    0.1

/* A request loop has so many times the iterations of a loop that is only some of them. */
#define REQUEST_LOOP_MORE 1.1

/* Exchanges of one iteration: more are a loop within it. */
#define EXCHANGES_OF_ONE 4u
/* Share of iterations that have as many as usual, and of a iteration that the next has, too: noise takes some. */
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

/* The groups with most trigrams, as levels, innermost first. */
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

/* Of each loop the level that says most about it. */
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

/* Whether turns of the outer one hold nothing but those of the inner one: they only come round again in the same order, as inputs of few shapes do. */
static bool is_same_again(const struct levels_extra *extra)
{
	return extra->fed + extra->read + extra->foreign + extra->novel + fabs(extra->known) == 0;
}

/* Whether each iteration reads an answer, feeds what follows and learns, as an agent's does. A wait is no answer: copies from pageable memory wait, and so do
 * parts of a GAN's iteration that are fed by these. */
static bool is_agents(const struct levels_level *level)
{
	return level->optimizer && level->fed && level->answered;
}

/* Whether a iteration is an agent's whole step, though with every second one another network learns, too. */
static bool is_delayed(const struct levels_level *inner, const struct levels_extra *extra)
{
	return is_agents(inner) && extra->inner_iterations < MANY_NETWORKS;
}

/* Whether only the iterations of `outer` are an agent's: in each several networks are trained on what it has got. */
static bool are_agents_networks(const struct levels_level *inner, const struct levels_level *outer,
				const struct levels_extra *extra)
{
	return inner->optimizer && is_agents(outer) && !inner->fed && !inner->read &&
	       extra->fed >= 0.5 && extra->read >= 0.5 && extra->inner_iterations < MANY_NETWORKS;
}

/* Whether only the iterations of `outer` are the same again and again, and end with a word to the host: backward passes in each of which some launches
 * are others, as the leapfrogs of one sample. */
static bool are_passes_of_one(const struct levels_level *inner, const struct levels_level *outer)
{
	return inner->threads && !inner->optimizer && !inner->tail && !inner->talks_to_host &&
	       inner->alike < ALIKE_WHOLE && outer->talks_to_host && outer->alike >= EXACTLY_ALIKE;
}

/* Whether one iteration in each of `outer` has launches of other shapes in the place of its own, as an epoch's last batch, which is smaller: an optimizer's
 * launches come beside what there is. */
static bool is_epoch(const struct levels_level *inner, const struct levels_extra *extra)
{
	return inner->threads && !inner->optimizer &&
	       extra->inner_iterations >= ITERATIONS_OF_EPOCH &&
	       extra->replaced >= OTHER_SHAPES * inner->calls_per_iteration;
}

/* Whether turns of the outer one have hardly more than copies to the host, one for each parameter. A step reads little of what it has computed. */
static bool is_checkpoint(const struct levels_extra *extra)
{
	return extra->read >= MANY_READS && extra->novel + extra->known < extra->read;
}

/* Whether an optimizer's step evaluates its closure several times, as L-BFGS does: then turns of `inner` are these, of which some are within the step
 * from end to end, and of `outer`'s none. */
static bool are_evaluations(const struct search *q, const struct levels_level *inner,
			    const struct levels_level *outer)
{
	return search_has_whole_steps(q, outer) &&
	       2 * (inner->iterations - search_count_iterations(q, inner, LEVEL_NO_REEVALUATION)) >=
		       outer->iterations;
}

/* Whether turns of `inner` are only parts of the step, of which `outer` may be the loop. */
static bool is_part(struct search *q, const struct levels_level *inner,
		    const struct levels_level *outer)
{
	if (!inner->optimizer && outer->optimizer)
		return true;
	if (are_evaluations(q, inner, outer))
		return true;
	/* an optimizer's loop over parameters: only the whole has a backward pass */
	if (inner->optimizer && inner->rarely_threaded && outer->optimizer && outer->threads)
		return true;
	struct levels_extra extra = search_compare(q, inner, outer);
	if (is_same_again(&extra) || is_delayed(inner, &extra))
		return false;
	if (are_agents_networks(inner, outer, &extra) || are_passes_of_one(inner, outer))
		return true;
	if (is_epoch(inner, &extra))
		return false;
	/* other backward passes are other parts of one step; behind an optimizer in each iteration, where they come in the same order, as a GAN's: else
	 * they are what some steps draw, as a head of several */
	if (inner->threads && extra.foreign >= 2 && extra.novel >= 2 &&
	    (!inner->optimizer || outer->mostly_alike))
		return true;
	if (inner->optimizer) /* a GAN's critic, and its generator once in so many steps */
		return extra.optimizers >= 0.5 &&
		       extra.novel - extra.optimizers >= OTHER_NETWORK * inner->calls_per_iteration;
	bool is_silent = extra.fed < 0.5 && extra.read < 0.5;
	if (outer->threads && !inner->threads) /* only the whole has a backward pass */
		return true;
	if (is_checkpoint(&extra))
		return false;
	if (inner->tail) /* a step of its own: what comes beside it is evaluation, or a log */
		return false;
	if (inner->threads && inner->fed && extra.fed < 0.5)
		return extra.novel >= 1; /* micro-batches, and then the optimizer */
	if (is_silent)
		return true;
	/* nothing but the outer loop talks to the host; one that only reads, and launches nothing more, is a log of every so many steps */
	if (!inner->fed && !inner->read && !inner->threads)
		return extra.fed >= 0.5 || extra.novel + extra.known >= 0.5;
	/* an optimizer is new work, and may copy scalars; evaluation is the forward pass once more */
	bool has_optimizer = inner->threads && outer->tail;
	bool is_near = outer->calls_per_iteration < FEW_ITERATIONS * inner->calls_per_iteration;
	/* a step is more than the forward passes that it and an evaluation have in common */
	bool is_more = is_near && extra.novel >= inner->calls_per_iteration;
	return extra.inner_iterations < MANY_ITERATIONS &&
	       (has_optimizer || is_more || extra.fed < 0.5) &&
	       extra.novel >= (is_near ? MIN_FUSED_CALLS : MIN_OPTIMIZER_CALLS) &&
	       extra.novel > extra.known;
}

/* Whether each iteration of the level is the same few exchanges, as of a buffer for each of two streams. A loop of one exchange a iteration that has fewer
 * turns than there are exchanges is only those of them in which the same launches came. */
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
 * Whether only some of a request loop's turns are this loop's. Notes in the level if each of its iterations holds as many. A request loop of enough trigrams to be
 * a level of its own takes the place only of a loop that asks the host, too: of requests in some of which the same sizes come. Beside others, as of
 * steps, it is evaluation.
 */
static bool is_of_request_loop(const struct search *q, struct levels_level *level,
			       const struct levels_level *request_loop)
{
	bool is_of_kind = request_loop->n_members < MIN_MEMBERS || (level->fed && level->read);
	level->exchanges = level->iterations && has_same_exchanges(q, level, request_loop);
	return is_of_kind && !level->optimizer && !level->threads && !level->exchanges &&
	       level->iterations * REQUEST_LOOP_MORE < request_loop->iterations;
}

/* The loop that is the step; `best` is empty: none. */
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
