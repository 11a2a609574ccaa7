/*
 * Two threads overlap if they were within calls at the same time for more than a fiftieth of the smaller one's time in calls. A thread that
 * only asks now and then how far the device is, or pins batches ahead for a loader, is in calls too briefly to overlap with any, and takes
 * turns with none all the same: nobody stands still for it.
 */
#include "core/analysis/lanes.h"

#include "core/symbols/stack_about.h"

enum {
	THREADS_MOST =
		64, /* the table of pairs is square; threads beyond that are lanes of their own */
	OVERLAP_PART = 50,
};

struct finder {
	const struct timeline *t;
	size_t n;
	uint64_t in_calls_ns[THREADS_MOST], last_end_ns[THREADS_MOST];
	uint64_t overlap_ns[THREADS_MOST][THREADS_MOST];
	bool has_part
		[THREADS_MOST]; /* in what the device does next, or in what a host is held up by */
};

static bool has_part(const struct timeline_call *c)
{
	if (category_has_work(c->category) || c->wait)
		return true;
	return (c->category == CAT_ALLOC || c->category == CAT_FREE) && !(c->about & ABOUT_INPUT);
}

static void measure(struct finder *f)
{
	for (size_t i = 0; i < f->t->calls.n; i++) {
		const struct timeline_call *c = &f->t->calls.at[i];
		if (c->thread >= f->n)
			continue;
		f->has_part[c->thread] |= has_part(c);
		f->in_calls_ns[c->thread] += c->end_ns - c->begin_ns;
		for (size_t other = 0; other < f->n; other++) {
			uint64_t end_ns = f->last_end_ns[other];
			if (other == c->thread || end_ns <= c->begin_ns)
				continue;
			end_ns = end_ns < c->end_ns ? end_ns : c->end_ns;
			f->overlap_ns[c->thread][other] += end_ns - c->begin_ns;
			f->overlap_ns[other][c->thread] += end_ns - c->begin_ns;
		}
		f->last_end_ns[c->thread] = c->end_ns;
	}
}

static bool take_turns(const struct finder *f, size_t a, size_t b)
{
	if (!f->has_part[a] || !f->has_part[b])
		return false;
	uint64_t smaller_ns = f->in_calls_ns[a] < f->in_calls_ns[b] ? f->in_calls_ns[a]
								    : f->in_calls_ns[b];
	return f->overlap_ns[a][b] <= smaller_ns / OVERLAP_PART;
}

/* The first lane none of whose threads it overlaps with. */
static uint32_t lane_for(const struct finder *f, const struct lanes *l, size_t thread)
{
	for (uint32_t lane = 0; lane < l->n; lane++) {
		bool fits = true;
		for (size_t other = 0; other < thread && fits; other++)
			fits = l->of_thread[other] != lane || take_turns(f, thread, other);
		if (fits)
			return lane;
	}
	return l->n;
}

static uint32_t busiest(const struct timeline *t, const struct lanes *l)
{
	uint32_t best = 0;
	uint64_t *launches = mem_zero(l->n * sizeof(*launches));
	for (size_t i = 0; i < t->calls.n; i++)
		if (category_has_work(t->calls.at[i].category))
			launches[l->of_thread[t->calls.at[i].thread]]++;
	for (uint32_t lane = 1; lane < l->n; lane++)
		if (launches[lane] > launches[best])
			best = lane;
	free(launches);
	return best;
}

void lanes_find(struct lanes *l, const struct timeline *t)
{
	struct finder *f = mem_zero(sizeof(*f));
	f->t = t;
	f->n = t->threads.n < THREADS_MOST ? t->threads.n : THREADS_MOST;
	*l = (struct lanes){ .of_thread = mem_zero(t->threads.n * sizeof(*l->of_thread)) };
	if (f->n > 1)
		measure(f);
	for (size_t i = 0; i < t->threads.n; i++) {
		l->of_thread[i] = i < f->n ? lane_for(f, l, i) : l->n;
		l->n += l->of_thread[i] == l->n;
	}
	l->main = busiest(t, l);
	free(f);
}

void lanes_free(struct lanes *l)
{
	free(l->of_thread);
	*l = (struct lanes){ 0 };
}
