/* Chooses the loop around the optimizer's steps. */
#include "core/steps/loop_candidates.h"

#include <math.h>
#include <string.h>

/* Confidences, chosen by hand on about 160 programs. They are not fitted. */
#define BY_OPTIMIZER	 0.98
#define AROUND_OPTIMIZER 0.80

static int by_thread(const void *a, const void *b)
{
	const struct loop_iteration *x = a, *y = b;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return loop_by_begin(a, b);
}

static struct loop_iteration *sort_by_thread(const struct loop *l)
{
	size_t bytes = l->iterations.n * sizeof(struct loop_iteration);
	struct loop_iteration *sorted = mem_resize(NULL, bytes);
	memcpy(sorted, l->iterations.at, bytes);
	qsort(sorted, l->iterations.n, sizeof(*sorted), by_thread);
	return sorted;
}

/*
 * Returns whether in half of its iterations `outer` has optimizer steps that `inner` has not. The
 * iterations of a thread do not overlap, those of several threads may.
 */
static bool steps_itself(const struct loop *outer, const struct loop *inner)
{
	struct loop_iteration *o = sort_by_thread(outer), *in = sort_by_thread(inner);
	size_t k = 0, n_own = 0, n = outer->iterations.n, n_inner = inner->iterations.n;
	for (size_t i = 0; i < n; i++) {
		uint32_t within = 0;
		while (k < n_inner && by_thread(&in[k], &o[i]) < 0)
			k++;
		for (; k < n_inner && in[k].slot == o[i].slot && in[k].begin_ticks < o[i].end_ticks;
		     k++)
			within += in[k].n.steps;
		n_own += o[i].n.steps > within;
	}
	free(o);
	free(in);
	return n >= ITERATIONS_LEAST && 2 * n_own >= n;
}

static bool overlap(const struct loop *a, const struct loop *b)
{
	uint64_t begin = a->iterations.at[0].begin_ticks,
		 end = a->iterations.at[a->iterations.n - 1].begin_ticks;
	for (size_t i = 0; i < b->iterations.n; i++)
		if (begin < b->iterations.at[i].end_ticks && b->iterations.at[i].begin_ticks < end)
			return true;
	return false;
}

/*
 * Returns whether the loop holds optimizer steps, and more than a loop over several optimizers:
 * that one launches less besides than a launch for each step. If the loop has one step each time
 * that the program comes to it, then it makes parts of the iterations of a loop around it.
 */
static bool holds_steps(const struct loop_tree *t, const struct loop *l)
{
	bool is_part = l->n_steps <= l->n_runs && loop_outer(t, l);
	return l->n_steps && l->n_others >= l->n_steps && !is_part;
}

/* Returns the innermost loop that holds the most optimizer steps, and the other innermost ones. */
static const struct loop *innermost(const struct loop_tree *t, const loop_candidates *all,
				    loop_candidates *others)
{
	const struct loop *best = NULL;
	for (size_t i = 0; i < all->n; i++) {
		const struct loop *l = all->at[i];
		bool is_outer = false;
		for (size_t k = 0; k < all->n && !is_outer; k++)
			is_outer = holds_steps(t, all->at[k]) && loop_is_around(t, l, all->at[k]);
		if (is_outer || !holds_steps(t, l))
			continue;
		vec_push(others, l);
		if (!best || l->n_steps > best->n_steps)
			best = l;
	}
	return best;
}

/* Returns how regular the groups of iterations are that end with an optimizer's step: 0 to 1. */
static double regularity(const struct loop *l)
{
	uint64_t counts[64] = { 0 }, most = 0, n = 0;
	size_t last = 0;
	for (size_t i = 0; i < l->iterations.n; i++) {
		if (!l->iterations.at[i].n.steps)
			continue;
		size_t gap = i - last < 63 ? i - last : 63;
		last = i;
		n++;
		if (++counts[gap] > most)
			most = counts[gap];
	}
	return n ? (double)most / (double)n : 0;
}

static void add_optimizer_begins(const struct loop *l, struct loop_choice *out)
{
	size_t with = 0, n = l->iterations.n;
	for (size_t i = 0; i < n; i++)
		with += l->iterations.at[i].n.steps > 0;
	out->is_grouped = (double)with < NEARLY_EACH * (double)n && with >= 2;
	if (!out->is_grouped) {
		loop_add_begins(&out->begins, l);
		return;
	}
	loop_add_groups(&out->begins, l);
	out->confidence *= 0.7 + 0.3 * regularity(l);
}

/*
 * Returns whether `l` only prepares the work that `best` replays from CUDA graphs, as programs do
 * before they capture a step: most of its launches were captured, too. `best` makes more steps.
 */
static bool warms_up(const struct loop_tree *t, const struct loop *best, const struct loop *l)
{
	uint64_t n = 0, n_captured = 0;
	if (!best->n_replayed || l->n_replayed || l->n_steps >= best->n_steps)
		return false;
	for (size_t i = 0; i < l->iterations.n; i++) {
		const struct loop_iteration *x = &l->iterations.at[i];
		const uint64_t *thread = map_find(&t->thread_of_slot, x->slot);
		for (uint32_t k = 0; thread && k < x->n.launches; k++) {
			uint64_t token = t->threads.at[*thread].tokens.at[x->launch + k];
			n_captured += map_find(&t->graphs.tokens, token) != NULL;
		}
		n += x->n.launches;
	}
	return 2 * n_captured > n;
}

bool loop_by_optimizer(const struct loop_tree *t, const loop_candidates *all,
		       struct loop_choice *out)
{
	loop_candidates inner = { 0 };
	const struct loop *first = innermost(t, all, &inner), *best = first;
	uint64_t rest = 0;
	if (!best) {
		vec_free(&inner);
		return false;
	}
	*out = (struct loop_choice){ .other = LOOP_NONE,
				     .confidence = BY_OPTIMIZER,
				     .by_optimizer = true,
				     .shows_all = true,
				     .is_seen = true };
	for (const struct loop *l = first; (l = loop_outer(t, l)) != NULL;)
		if (steps_itself(l, best)) {
			best = l;
			out->confidence = AROUND_OPTIMIZER;
			out->other = first->place;
		}
	out->loop = best->place;
	add_optimizer_begins(best, out);
	for (size_t i = 0; i < inner.n; i++) {
		const struct loop *l = inner.at[i];
		if (l == best || loop_is_around(t, best, l) || warms_up(t, best, l))
			continue;
		bool is_phase = l->iterations.n >= ITERATIONS_LEAST && !overlap(best, l);
		if (is_phase) {
			loop_add_begins(&out->begins, l);
			loop_note_end(out, l);
		} else {
			rest += l->n_steps;
		}
	}
	uint64_t mine = best->n_steps;
	out->confidence *= (double)mine / (double)(mine + rest);
	size_t n = out->begins.n;
	out->confidence *= 1 - pow(0.5, n > 1 ? (double)(n - 1) : 0);
	vec_free(&inner);
	return n >= 2;
}
