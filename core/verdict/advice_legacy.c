/*
 * Advice on launches into the legacy default stream. Two or more streams of the device wait for
 * them, and they for these streams, so that streams that could overlap run in a row. The recording
 * does not show whether the work needs the results of all streams. Mostly it does not: a helper
 * that takes no stream was called.
 */
#include "core/verdict/judge_parts.h"

#include <math.h>

enum { SITES_MOST = 8, STREAMS_LEAST = 2 };

static const double least_share = 0.10; /* share of the step that must be saved */
/* One line is named alone if it saves at least this share of what all lines together save. */
static const double as_good = 0.95;

/* Returns whether at least two streams of the device are ordered with its legacy stream. */
static bool has_ordered(const struct replay *r, uint32_t device)
{
	uint32_t n = 0;
	for (size_t s = 0; s < r->streams.n; s++)
		n += r->streams.at[s].device == device && r->streams.at[s].is_ordered;
	return n >= STREAMS_LEAST;
}

/* Collects the lines that launch into a legacy stream. Returns their number; 0 also if there are
 * more than SITES_MOST: then the legacy stream is where the program works. */
static size_t collect(const struct judge *j, struct whatif_change *changes, double *per_step)
{
	const struct replay *r = &j->w.replay;
	size_t n = 0;
	*per_step = 0;
	for (uint32_t i = 0; i < r->ops.n; i++) {
		const struct replay_op *op = &r->ops.at[i];
		if (op->role != ROLE_LAUNCH || !op->n_work || !j->w.site[i])
			continue;
		const struct replay_stream *s = &r->streams.at[r->works.at[op->first_work].stream];
		size_t k = 0;
		if (!s->is_legacy || !has_ordered(r, s->device))
			continue;
		while (k < n && changes[k].site != j->w.site[i])
			k++;
		if (k == SITES_MOST)
			return 0;
		if (k == n)
			changes[n++] = (struct whatif_change){ .kind = WHATIF_OWN_STREAM,
							       .site = j->w.site[i] };
		*per_step += 1.0 / r->n_steps;
	}
	return n;
}

void advise_legacy(struct judge *j)
{
	struct whatif_change changes[SITES_MOST];
	char times[TIMES_BYTES];
	double per_step, least_ms = fmax(judge_worth_ms(j), least_share * j->step_ms), best_ms = 0;
	size_t n = collect(j, changes, &per_step), best = 0;
	double all_ms = n ? judge_gain_ms(j, changes, n) : 0;
	if (!n || all_ms < least_ms)
		return;
	for (size_t i = 0; i < n; i++) {
		double ms = judge_gain_ms(j, &changes[i], 1);
		best = ms > best_ms ? i : best;
		best_ms = fmax(ms, best_ms);
	}
	bool is_one = best_ms >= as_good * all_ms;
	advise(j, changes[best].site, is_one ? &changes[best] : changes, is_one ? 1 : n,
	       "launch this into the stream of the work before it, not into the legacy default "
	       "stream",
	       "the legacy default stream waits for all streams of the device, and they wait for "
	       "it: %s %s; the savings apply only if this work needs no results of other streams",
	       advice_times(times, sizeof(times), per_step), judge_per_step(j->f));
}
