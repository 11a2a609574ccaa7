/*
 * Advice on two streams that never overlap because one of them waits for events of the other. The
 * recording does not show whether the program needs this order. But two streams that never overlap
 * are no better than one, and the replay can show what overlap would save.
 */
#include "core/symbols/stack_about.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

enum { SITES_MOST = 8 };

/* Two streams take turns if they overlap for less than this share of the shorter stream's time. */
static const double overlap_most = 0.1;
static const double least_share = 0.10; /* share of the step that must be saved */
/* If several waits save at least this share of the best wait's savings, each is as likely the
 * cause. */
static const double as_good = 0.95;

/* A line that makes one stream wait for another. */
struct crossing {
	uint32_t site;
	uint32_t from, to; /* streams: `to` waits for an event of `from` */
	double gain_ms, per_step;
};

struct crossings {
	struct crossing at[SITES_MOST];
	size_t n;
};

/* Returns true for waits that the user's program requested. Frameworks also make streams wait for
 * each other for internal reasons. */
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

/* Collects the crossings, in program order. */
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

/* ---- Overlap of two streams ---- */

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
	return both_ns < overlap_most * fmin(a_ns, b_ns);
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

/*
 * A step may fork to another stream and join again, with a wait at the fork and a wait at the join.
 * Either wait alone keeps the streams from overlapping. The wait at the fork is more likely to be
 * needless, because results must be joined in the end. So the advice names the first wait, in
 * program order, that is a likely cause.
 */
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
	while (all.at[first].gain_ms < as_good * best_ms)
		first++;
	const struct crossing *c = &all.at[first];
	const struct whatif_change change = { .kind = WHATIF_WAIT, .site = c->site };
	advise(j, c->site, &change, 1, "run the streams concurrently: wait only for what is needed",
	       "one stream waits for another here, %s per step, so the two never overlap; the "
	       "savings apply only if the waiting stream does not need the other's results",
	       advice_times(times, sizeof(times), c->per_step));
}
