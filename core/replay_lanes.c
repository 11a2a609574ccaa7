#include "core/replay_lanes.h"

#include <stdbool.h>

/* One call in this many may overlap another thread's: a thread that hands over may still be on its way out of its last call. */
enum { CALLS_PER_OVERLAP = 200 };

/* Further ones are taken for part of lane 0: the table of overlaps is 4 MiB with these. */
enum { THREADS_MOST = 1024 };

struct lanes {
	const struct timeline *t;
	uint32_t n;	    /* threads */
	uint32_t *calls;    /* by thread */
	uint32_t *overlaps; /* n x n: calls of the one that began while the other was in a call */
	uint32_t *by_calls; /* threads, most calls first */
};

static void count_overlaps(struct lanes *l)
{
	uint64_t *end_ns = mem_zero(l->n * sizeof(*end_ns));
	VEC(uint32_t) busy = { 0 };
	for (size_t i = 0; i < l->t->calls.n; i++) {
		const struct timeline_call *c = &l->t->calls.at[i];
		if (c->thread >= l->n)
			continue;
		l->calls[c->thread]++;
		size_t kept = 0;
		bool is_listed = false;
		for (size_t k = 0; k < busy.n; k++) {
			uint32_t other = busy.at[k];
			if (other != c->thread && end_ns[other] <= c->begin_ns)
				continue;
			busy.at[kept++] = other;
			is_listed |= other == c->thread;
			if (other != c->thread) {
				l->overlaps[(size_t)other * l->n + c->thread]++;
				l->overlaps[(size_t)c->thread * l->n + other]++;
			}
		}
		busy.n = kept;
		if (!is_listed)
			vec_push(&busy, c->thread);
		if (c->end_ns > end_ns[c->thread])
			end_ns[c->thread] = c->end_ns;
	}
	vec_free(&busy);
	free(end_ns);
}

static void sort_by_calls(struct lanes *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t k = i;
		for (; k && l->calls[l->by_calls[k - 1]] < l->calls[i]; k--)
			l->by_calls[k] = l->by_calls[k - 1];
		l->by_calls[k] = i;
	}
}

static bool takes_turns(const struct lanes *l, uint32_t a, uint32_t b)
{
	uint32_t fewer = l->calls[a] < l->calls[b] ? l->calls[a] : l->calls[b];
	return l->overlaps[(size_t)a * l->n + b] <= fewer / CALLS_PER_OVERLAP;
}

/* The first lane whose threads all take turns with this one; `first` threads have lanes already. */
static uint32_t choose_lane(const struct lanes *l, const uint8_t *lane_of, uint32_t first,
			    uint32_t n_lanes)
{
	for (uint32_t lane = 0; lane < n_lanes; lane++) {
		bool fits = true;
		for (uint32_t k = 0; k < first && fits; k++)
			fits = lane_of[l->by_calls[k]] != lane ||
			       takes_turns(l, l->by_calls[k], l->by_calls[first]);
		if (fits)
			return lane;
	}
	return n_lanes < REPLAY_LANES_MOST ? n_lanes : n_lanes - 1;
}

uint32_t replay_find_lanes(const struct timeline *t, uint8_t *lane_of)
{
	struct lanes l = { .t = t };
	l.n = t->threads.n < THREADS_MOST ? (uint32_t)t->threads.n : THREADS_MOST;
	memset(lane_of, 0, t->threads.n);
	l.calls = mem_zero(l.n * sizeof(*l.calls));
	l.overlaps = mem_zero((size_t)l.n * l.n * sizeof(*l.overlaps));
	l.by_calls = mem_zero(l.n * sizeof(*l.by_calls));
	count_overlaps(&l);
	sort_by_calls(&l);
	uint32_t n_lanes = 0;
	for (uint32_t k = 0; k < l.n; k++) {
		uint32_t lane = choose_lane(&l, lane_of, k, n_lanes);
		lane_of[l.by_calls[k]] = (uint8_t)lane;
		if (lane == n_lanes)
			n_lanes++;
	}
	free(l.calls);
	free(l.overlaps);
	free(l.by_calls);
	return n_lanes ? n_lanes : 1;
}
