/* See loop_choice.h. */
#include "core/steps/loop_choice.h"

#include "core/steps/loop_bodies.h"
#include "core/steps/loop_candidates.h"

#include <math.h>

/* Most that a loop is worth that may have gone round more often. Below it, the step is unclear. */
#define DOUBTFUL 0.6

static void collect(struct loop_tree *t, loop_candidates *out)
{
	for (size_t i = 0; i < t->loops.n; i++) {
		struct loop *l = &t->loops.at[i];
		if (!loop_goes_round(l))
			continue;
		qsort(l->iterations.at, l->iterations.n, sizeof(*l->iterations.at), loop_by_begin);
		if (loop_may_be_step(t, l))
			vec_push(out, l);
	}
}

static int by_ticks(const void *a, const void *b)
{
	const struct loop_begin *x = a, *y = b;
	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

/* Returns whether the choice has the iterations of `l` already. */
static bool includes(const struct loop_choice *c, const struct loop *l)
{
	const struct loop_iteration *first = &l->iterations.at[0];
	for (size_t i = 0; i < c->begins.n; i++)
		if (c->begins.at[i].ticks == first->begin_ticks &&
		    c->begins.at[i].slot == first->slot)
			return true;
	return false;
}

/*
 * Adds the same loop of the source where it was called from other places. In training, it is only
 * the same if an optimizer steps in it: the function may also validate.
 */
static void add_same(const struct loop_tree *t, const loop_candidates *all, struct loop_choice *out)
{
	const struct loop *l = &t->loops.at[out->loop];
	const struct loop_place *p = loop_place_of(t, l);
	uint32_t function = t->stacks.frames.at[p->frame].function;
	for (size_t i = 0; i < all->n && !out->is_grouped; i++) {
		const struct loop *m = all->at[i];
		const struct loop_place *q = loop_place_of(t, m);
		if (m == l || q->number != p->number || loop_is_around(t, m, l) ||
		    loop_is_around(t, l, m) || (out->by_optimizer && !m->n_steps) ||
		    t->stacks.frames.at[q->frame].function != function || includes(out, m))
			continue;
		loop_add_begins(&out->begins, m);
		loop_note_end(out, m);
	}
}

/* Returns how many threads have begins, at most `most`. */
static size_t count_threads(const loop_begins *all, size_t most)
{
	size_t n = 0;
	for (size_t i = 0; i < all->n && n < most; i++) {
		size_t k = 0;
		while (k < i && all->at[k].slot != all->at[i].slot)
			k++;
		n += k == i;
	}
	return n;
}

/*
 * Returns whether no thread begins an iteration before each other one has begun as many, as with a
 * barrier in each iteration. Begins must be in the order of time.
 */
static bool are_in_turns(const loop_begins *all)
{
	enum { THREADS_MOST = 64, ROUNDS_LEAST = 6 };
	size_t n = count_threads(all, THREADS_MOST);
	if (n < 2 || n == THREADS_MOST || all->n < n * ROUNDS_LEAST)
		return false;
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = i - i % n; k < i; k++)
			if (all->at[k].slot == all->at[i].slot)
				return false;
	return true;
}

static void finish(const struct loop_tree *t, const loop_candidates *all, struct loop_choice *out)
{
	loop_note_end(out, &t->loops.at[out->loop]);
	add_same(t, all, out);
	qsort(out->begins.at, out->begins.n, sizeof(*out->begins.at), by_ticks);
	out->is_in_turns = are_in_turns(&out->begins);
}

/* ---- The choice ---- */

static uint64_t ticks_since(const struct loop *l, uint64_t begin)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < l->iterations.n; i++)
		if (l->iterations.at[i].begin_ticks >= begin)
			sum += l->iterations.at[i].end_ticks - l->iterations.at[i].begin_ticks;
	return sum;
}

/*
 * Returns whether the training `a` was over long ago, for example captured into a graph, and the
 * loop `b` without an optimizer is what goes on now.
 */
static bool is_over(const struct loop_tree *t, const loop_candidates *all,
		    const struct loop_choice *a, const struct loop_choice *b)
{
	const struct loop *x = &t->loops.at[a->loop], *y = &t->loops.at[b->loop];
	uint64_t begin = x->iterations.at[0].begin_ticks, now = begin;
	for (size_t i = 0; i < all->n; i++) {
		const struct loop *l = all->at[i];
		uint64_t end = l->iterations.at[l->iterations.n - 1].end_ticks;
		now = end > now ? end : now;
	}
	return x != y && !y->n_steps && 5 * ticks_since(x, begin) < now - begin &&
	       2 * ticks_since(y, begin) > now - begin;
}

bool loop_choose(struct loop_tree *t, struct loop_choice *out)
{
	loop_candidates all = { 0 };
	struct loop_choice a = { 0 }, b = { 0 };
	collect(t, &all);
	bool has_a = loop_by_optimizer(t, &all, &a), has_b = loop_by_time(t, &all, &b);
	bool takes_b = has_b && (!has_a || is_over(t, &all, &a, &b));
	*out = takes_b ? b : a;
	bool is_doubtful = (has_a || has_b) &&
			   loop_place_is_doubtful(&t->stacks, &t->stacks.places.at[out->loop]);
	if (is_doubtful)
		out->confidence = fmin(out->confidence, DOUBTFUL);
	loop_choice_free(takes_b ? &a : &b);
	if (has_a || has_b)
		finish(t, &all, out);
	else
		loop_choice_free(out);
	vec_free(&all);
	return has_a || has_b;
}

bool loop_choose_this(struct loop_tree *t, uint32_t index, struct loop_choice *out)
{
	loop_candidates all = { 0 };
	const struct loop *l = &t->loops.at[index];
	*out = (struct loop_choice){ .loop = index, .other = LOOP_NONE, .confidence = 1 };
	collect(t, &all);
	loop_add_begins(&out->begins, l);
	finish(t, &all, out);
	vec_free(&all);
	if (out->begins.n >= 2)
		return true;
	loop_choice_free(out);
	return false;
}

void loop_choice_free(struct loop_choice *c)
{
	vec_free(&c->begins);
}
