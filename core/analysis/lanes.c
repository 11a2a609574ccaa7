/*
 * Divides the threads into lanes. Two threads overlap if they were inside calls at the same time
 * for more than a fiftieth of their time in calls (that of the thread with less such time). Threads
 * that overlap never share a lane.
 *
 * A thread that only polls now and then, or that pins batches for a data loader, spends so little
 * time in calls that it overlaps with no other thread. It gets a lane of its own nevertheless,
 * because no other thread waits for it.
 *
 * A thread that takes turns with two others that overlap belongs to the one that launches more.
 * With DistributedDataParallel over gloo, the main thread takes turns with the autograd thread, and
 * with gloo's threads, which copy while the autograd thread launches.
 */
#include "core/analysis/lanes.h"

#include "core/symbols/stack_about.h"

enum {
	/* Limits the size of the table of thread pairs. Each further thread gets its own lane. */
	THREADS_MOST = 64,
	OVERLAP_PART = 50,
};

struct lane_finder {
	uint64_t in_calls_ns[THREADS_MOST], last_end_ns[THREADS_MOST];
	uint64_t overlap_ns[THREADS_MOST][THREADS_MOST];
	uint64_t launches[THREADS_MOST];
	bool is_active[THREADS_MOST]; /* the thread launches, waits or allocates */
};

struct lane_finder *lane_finder_new(void)
{
	return mem_zero(sizeof(struct lane_finder));
}

void lane_finder_free(struct lane_finder *f)
{
	free(f);
}

static bool is_active(const struct timeline_call *c)
{
	if (category_has_work(c->category) || c->wait)
		return true;
	return (c->category == CAT_ALLOC || c->category == CAT_FREE) && !(c->about & ABOUT_INPUT);
}

static size_t count_threads(const struct timeline *t)
{
	return t->threads.n < THREADS_MOST ? t->threads.n : THREADS_MOST;
}

static void add_overlap(struct lane_finder *f, size_t n_threads, const struct timeline_call *c)
{
	for (size_t other = 0; other < n_threads; other++) {
		uint64_t end_ns = f->last_end_ns[other];
		if (other == c->thread || end_ns <= c->begin_ns)
			continue;
		end_ns = end_ns < c->end_ns ? end_ns : c->end_ns;
		f->overlap_ns[c->thread][other] += end_ns - c->begin_ns;
		f->overlap_ns[other][c->thread] += end_ns - c->begin_ns;
	}
	f->last_end_ns[c->thread] = c->end_ns;
}

void lane_finder_add(struct lane_finder *f, const struct timeline *t,
		     const struct timeline_step *step)
{
	size_t n_threads = count_threads(t);
	for (size_t i = step->first_call; i < (size_t)step->first_call + step->n_calls; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		if (c->thread >= n_threads)
			continue;
		f->is_active[c->thread] |= is_active(c);
		f->launches[c->thread] += category_has_work(c->category);
		f->in_calls_ns[c->thread] += c->end_ns - c->begin_ns;
		add_overlap(f, n_threads, c);
	}
}

static bool take_turns(const struct lane_finder *f, size_t a, size_t b)
{
	if (!f->is_active[a] || !f->is_active[b])
		return false;
	uint64_t smaller_ns = f->in_calls_ns[a] < f->in_calls_ns[b] ? f->in_calls_ns[a]
								    : f->in_calls_ns[b];
	return f->overlap_ns[a][b] <= smaller_ns / OVERLAP_PART;
}

/* Returns the first lane in which none of the `n` threads, which have lanes already, overlaps with
 * `thread`; l->n: there is none. */
static uint32_t lane_for(const struct lane_finder *f, const struct lanes *l, const size_t *threads,
			 size_t n, size_t thread)
{
	for (uint32_t lane = 0; lane < l->n; lane++) {
		bool fits = true;
		for (size_t i = 0; i < n && fits; i++)
			fits = l->of_thread[threads[i]] != lane ||
			       take_turns(f, thread, threads[i]);
		if (fits)
			return lane;
	}
	return l->n;
}

/* Sorts the threads by their launches, most first. Threads with equally many keep their order. */
static void sort_threads(const struct lane_finder *f, size_t *threads, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = i;
		for (; at && f->launches[threads[at - 1]] < f->launches[i]; at--)
			threads[at] = threads[at - 1];
		threads[at] = i;
	}
}

static uint32_t busiest(const struct lane_finder *f, const struct lanes *l, size_t n_threads)
{
	uint32_t best = 0;
	uint64_t *launches = mem_zero(l->n * sizeof(*launches));
	for (size_t i = 0; i < n_threads; i++)
		launches[l->of_thread[i]] += f->launches[i];
	for (uint32_t lane = 1; lane < l->n; lane++)
		if (launches[lane] > launches[best])
			best = lane;
	free(launches);
	return best;
}

void lane_finder_assign(const struct lane_finder *f, const struct timeline *t, struct lanes *l)
{
	size_t n_threads = count_threads(t), threads[THREADS_MOST];
	*l = (struct lanes){ .of_thread = mem_zero(t->threads.n * sizeof(*l->of_thread)) };
	sort_threads(f, threads, n_threads);
	for (size_t i = 0; i < t->threads.n; i++) {
		size_t thread = i < n_threads ? threads[i] : i;
		l->of_thread[thread] = i < n_threads ? lane_for(f, l, threads, i, thread) : l->n;
		l->n += l->of_thread[thread] == l->n;
	}
	l->main = busiest(f, l, n_threads);
}

void lanes_find_in(struct lanes *l, const struct timeline *t, size_t first_step, size_t n_steps)
{
	struct lane_finder *f = lane_finder_new();
	for (size_t i = first_step; i < first_step + n_steps; i++)
		lane_finder_add(f, t, &t->steps.at[i]);
	lane_finder_assign(f, t, l);
	lane_finder_free(f);
}

void lanes_find(struct lanes *l, const struct timeline *t)
{
	lanes_find_in(l, t, 0, t->steps.n);
}

void lanes_free(struct lanes *l)
{
	free(l->of_thread);
	*l = (struct lanes){ 0 };
}
