/*
 * Two streams that take turns because one waits for the other's events. Whether the order is needed nobody can see from outside; but
 * streams that never run side by side are one stream with a detour, and what it would win if they did can be played.
 */
#include "core/symbols/stack_about.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

enum { SITES_MOST = 8 };

static const double takes_turns =
	0.1; /* of the lesser stream's time: side by side no more than this */
static const double least_share = 0.10; /* of the step: what must be won */
static const double alike =
	0.95; /* a wait that wins this much of the best one's gain is as good a guess */

/* A line that lets one stream wait for another. */
struct crossing {
	uint32_t site;
	uint32_t from, to; /* streams: whose event it is, who waits */
	double gain_ms, per_step;
};

struct crossings {
	struct crossing at[SITES_MOST];
	size_t n;
};

/* Waits that frameworks make between streams for their own sake are none of the user's. */
static bool is_asked_for(const struct timeline_call *c)
{
	return c->site && (c->about & ABOUT_WAIT || !c->op) &&
	       !(c->about & (ABOUT_WORKER | ABOUT_LIBRARY | ABOUT_COLLECTIVE));
}

static void add_crossing(struct crossings *all, uint32_t site, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < all->n; i++) {
		if (all->at[i].site == site) {
			all->at[i].per_step++;
			return;
		}
	}
	if (all->n < SITES_MOST)
		all->at[all->n++] =
			(struct crossing){ .site = site, .from = from, .to = to, .per_step = 1 };
}

/* In the order in which the program makes them. */
static void find_crossings(const struct judge *j, struct crossings *all)
{
	const struct replay *r = &j->w.replay;
	uint32_t *stream_of = mem_resize(NULL, (r->n_events + 1) * sizeof(*stream_of));
	memset(stream_of, 0xff, (r->n_events + 1) * sizeof(*stream_of));
	for (size_t i = 0; i < r->ops.n; i++) {
		const struct replay_op *op = &r->ops.at[i];
		if (op->call == REPLAY_NONE || op->target >= r->n_events)
			continue;
		const struct timeline_call *c = &j->w.timeline->calls.at[op->call];
		uint32_t from = stream_of[op->target];
		if (op->role == ROLE_EVENT)
			stream_of[op->target] = op->stream;
		else if (op->role == ROLE_STREAM_WAIT && from != REPLAY_NONE &&
			 from != op->stream && is_asked_for(c))
			add_crossing(all, c->site, from, op->stream);
	}
	for (size_t i = 0; i < all->n; i++)
		all->at[i].per_step /= r->n_steps;
	free(stream_of);
}

/* ---- How much two streams run side by side ---- */

static uint32_t next_of(const struct replay *r, uint32_t from, uint32_t stream)
{
	while (from < r->works.n && r->works.at[from].stream != stream)
		from++;
	return from;
}

static bool take_turns(const struct judge *j, uint32_t a, uint32_t b)
{
	const struct replay *r = &j->w.replay;
	double both_ns = 0, a_ns = 0, b_ns = 0;
	for (uint32_t i = 0; i < r->works.n; i++) {
		a_ns += r->works.at[i].stream == a ? (double)r->works.at[i].duration_ns : 0;
		b_ns += r->works.at[i].stream == b ? (double)r->works.at[i].duration_ns : 0;
	}
	uint32_t i = next_of(r, 0, a), k = next_of(r, 0, b);
	while (i < r->works.n && k < r->works.n) {
		const struct timeline_work *x = &j->w.timeline->works.at[r->works.at[i].work],
					   *y = &j->w.timeline->works.at[r->works.at[k].work];
		double begin = (double)(x->begin_ns > y->begin_ns ? x->begin_ns : y->begin_ns);
		double end = (double)(x->end_ns < y->end_ns ? x->end_ns : y->end_ns);
		both_ns += fmax(0, end - begin);
		if (x->end_ns < y->end_ns)
			i = next_of(r, i + 1, a);
		else
			k = next_of(r, k + 1, b);
	}
	return both_ns < takes_turns * fmin(a_ns, b_ns);
}

/* ---- Advice ---- */

static void play(struct judge *j, struct crossings *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct crossing *c = &all->at[i];
		const struct whatif_change change = { .kind = WHATIF_WAIT, .site = c->site };
		if (take_turns(j, c->from, c->to))
			c->gain_ms = judge_gain_ms(j, &change, 1);
	}
}

/* Where a step forks and joins again, either wait makes the streams take turns. The first one is the more likely to be needless: results
 * are joined in the end. */
void advise_streams(struct judge *j)
{
	struct crossings all = { .n = 0 };
	double best_ms = 0;
	char times[TIMES_BYTES];
	find_crossings(j, &all);
	play(j, &all);
	for (size_t i = 0; i < all.n; i++)
		best_ms = fmax(best_ms, all.at[i].gain_ms);
	if (best_ms < fmax(judge_worth_ms(j), least_share * j->step_ms))
		return;
	size_t first = 0;
	while (all.at[first].gain_ms < alike * best_ms)
		first++;
	const struct crossing *c = &all.at[first];
	const struct whatif_change change = { .kind = WHATIF_WAIT, .site = c->site };
	advise(j, c->site, &change, 1, "run the streams concurrently: wait only for what is needed",
	       "a stream waits for another here, %s per step, so the two never overlap; the "
	       "savings apply if it does not need the other's results",
	       advice_times(times, sizeof(times), c->per_step));
}
