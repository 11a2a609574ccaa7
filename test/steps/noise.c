#include "test/steps/noise.h"

enum {
	INSERTED_PERCENT = 1,
	DROPPED_PERCENT = 2,
	SWAPPED_PERCENT = 3,
	THREADS_PERCENT = 10,
	FIRST_THREAD = 10,
	OTHER_KERNELS = 40000, /* kernel numbers from here on are used by no program */
};

const char *const noise_names[NOISES] = { "none", "inserted", "dropped", "swapped", "threads" };

static void noise_insert(struct program *to, const struct program_event *next, uint32_t thread)
{
	to->now_ns = next->begin_ns > 400 ? next->begin_ns - 400 : 0;
	to->thread = thread;
	program_launch(to, OTHER_KERNELS + program_below(to, 100), 0);
	to->events[to->n - 1].end_ns = to->events[to->n - 1].begin_ns + 300;
}

/* Swaps the work of two calls. Their times and threads stay. */
static void noise_swap(struct program_event *a, struct program_event *b)
{
	struct program_event was = *a;
	a->token = b->token;
	a->kernel = b->kernel;
	a->what = b->what;
	a->named = b->named;
	b->token = was.token;
	b->kernel = was.kernel;
	b->what = was.what;
	b->named = was.named;
}

static void noise_swap_some(struct program *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t next = i + 1;
		while (next < p->n && p->events[next].thread != p->events[i].thread)
			next++;
		if (next < p->n && program_chance(p, SWAPPED_PERCENT))
			noise_swap(&p->events[i], &p->events[next]);
	}
}

void noise_make(struct program *to, const struct program *from, enum noise noise, uint32_t seed)
{
	uint32_t mark = 0;
	program_start(to, seed + 77);
	for (uint32_t i = 0; i < from->n; i++) {
		const struct program_event *e = &from->events[i];
		for (; mark < from->n_marks && from->marks[mark].at <= i; mark++)
			program_end(to, from->marks[mark].ends);
		if (noise == NOISE_INSERTED && program_chance(to, INSERTED_PERCENT))
			noise_insert(to, e, e->thread);
		if (noise == NOISE_THREADS && program_chance(to, THREADS_PERCENT))
			noise_insert(to, e, FIRST_THREAD + program_below(to, 2));
		if (noise != NOISE_DROPPED || !program_chance(to, DROPPED_PERCENT))
			program_add(to, e);
	}
	for (; mark < from->n_marks; mark++)
		program_end(to, from->marks[mark].ends);
	if (noise == NOISE_SWAPPED)
		noise_swap_some(to);
}
