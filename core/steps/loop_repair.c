/* See loop_repair.h. */
#include "core/steps/loop_repair.h"

#include "core/steps/loop_bodies.h"

/* Returns the level of the frame whose function has the loop, LOOP_NONE: it is not in the stack. */
static uint32_t level_in(const struct loop_stack *s, uint32_t place)
{
	for (size_t i = 0; i < s->n_loops; i++)
		if (s->loops[i].loop == place)
			return s->loops[i].level;
	return LOOP_NONE;
}

/* ---- Shared frames ---- */

/*
 * The iteration shares only those of its frames that are also the frames of `s` up to `level`, and
 * none if not even the frame of the loop is, which is at `loop_level`.
 */
static void narrow(struct loop_iteration *i, const struct loop_stack *s, uint32_t level,
		   uint32_t loop_level)
{
	if (i->shared_level > level)
		i->shared_level = level;
	while (i->shared_level > loop_level &&
	       i->shared->nodes[i->shared_level] != s->nodes[i->shared_level])
		i->shared_level--;
	if (i->shared->nodes[i->shared_level] != s->nodes[i->shared_level])
		i->shared = NULL;
}

void loop_note_frames(struct loop_thread *thread, const struct loop_stack *s)
{
	uint32_t last = (uint32_t)s->n - 1;
	for (size_t i = 0; i < s->n_loops && i < thread->open.n; i++) {
		struct loop_open *open = &thread->open.at[i];
		if (open->begun.shared) {
			narrow(&open->begun, s, last, s->loops[i].level);
			open->shares_nothing = !open->begun.shared;
		} else if (!open->shares_nothing) {
			open->begun.shared = s;
			open->begun.shared_level = last;
		}
	}
}

void loop_forget_frames(struct loop_thread *thread)
{
	for (size_t i = 0; i < thread->open.n; i++) {
		thread->open.at[i].shares_nothing = true;
		thread->open.at[i].begun.shared = NULL;
	}
}

/* ---- The end of a loop ---- */

static void add_counts(struct loop_counts *to, const struct loop_counts *n)
{
	to->calls += n->calls;
	to->launches += n->launches;
	to->steps += n->steps;
	to->others += n->others;
	to->waits += n->waits;
	to->transfers += n->transfers;
	to->replayed += n->replayed;
	to->replayed_ticks += n->replayed_ticks;
}

bool loop_only_tested(const struct loop_tree *t, const struct loop_open *open,
		      const struct loop_counts *n, enum run_end how)
{
	const struct loop_place *p = &t->stacks.places.at[open->loop];
	const struct loop_stack *s = open->begun.shared;
	uint32_t level = s ? level_in(s, open->loop) : LOOP_NONE;
	if (level == LOOP_NONE || n->others || n->steps)
		return false;
	uint64_t site = t->stacks.frames.at[s->frames[level]].at;
	return (how == RUN_LEFT || loop_place_is_header(&t->stacks, p, site)) &&
	       loop_place_needs_others(&t->stacks, p, site);
}

void loop_join_last(struct loop *l)
{
	struct loop_iteration *last = &l->iterations.at[l->iterations.n - 1];
	for (size_t i = l->iterations.n - 1; i-- > 0;) {
		struct loop_iteration *before = &l->iterations.at[i];
		if (before->slot != last->slot)
			continue;
		before->end_ticks = last->end_ticks;
		add_counts(&before->n, &last->n);
		break;
	}
	l->iterations.n--;
}

/* ---- Calls of functions in C ---- */

/* The last answer: many iterations share the same frames. */
struct answer {
	uint32_t node;
	bool needs_others;
};

static bool needs_others(struct loop_tree *t, const struct loop *l, const struct loop_iteration *i)
{
	struct loop_stacks *x = &t->stacks;
	const struct loop_stack *s = i->shared;
	const struct loop_place *p = &x->places.at[l->place];
	uint32_t level = level_in(s, l->place);
	const struct loop_frame *f = level == LOOP_NONE ? NULL : &x->frames.at[s->frames[level]];
	if (!f || flow_may_recover(f->flow, p->number, f->at))
		return false;
	if (loop_turn_needs_others(x, s, level, p->number))
		return true;
	while (++level <= i->shared_level)
		if (loop_call_needs_others(x, s, level))
			return true;
	return false;
}

static bool cannot_go_round(struct loop_tree *t, const struct loop *l,
			    const struct loop_iteration *i, struct answer *last)
{
	if (!i->went_round || !i->shared || i->n_sites == t->stacks.n_sites)
		return false;
	uint32_t node = i->shared->nodes[i->shared_level];
	if (last->node != node)
		*last = (struct answer){ node, needs_others(t, l, i) };
	return last->needs_others;
}

/* Makes the calls of `i` part of the iteration after it. */
static void join(const struct loop *l, const struct loop_iteration *i, struct loop_iteration *next)
{
	if (next->shared)
		narrow(next, i->shared, i->shared_level, level_in(i->shared, l->place));
	next->begin_ticks = i->begin_ticks;
	if (i->launch_ticks)
		next->launch_ticks = i->launch_ticks;
	next->launch = i->launch;
	add_counts(&next->n, &i->n);
	next->places |= i->places;
}

static struct loop_iteration *next_of_thread(struct loop *l, size_t i)
{
	uint32_t slot = l->iterations.at[i].slot;
	while (++i < l->iterations.n)
		if (l->iterations.at[i].slot == slot)
			return &l->iterations.at[i];
	return NULL;
}

/* Returns whether all iterations of the loop are right. The one after the last is not over yet. */
static bool repair(struct loop_tree *t, struct loop *l)
{
	struct answer last = { 0 };
	bool are_right = true;
	size_t n = 0;
	for (size_t i = 0; i < l->iterations.n; i++) {
		struct loop_iteration *at = &l->iterations.at[i], *next = NULL;
		bool is_wrong = cannot_go_round(t, l, at, &last);
		if (is_wrong)
			next = next_of_thread(l, i);
		if (next)
			join(l, at, next);
		else
			l->iterations.at[n++] = *at;
		are_right &= !is_wrong || next;
	}
	t->n_iterations -= l->iterations.n - n;
	l->iterations.n = n;
	return are_right;
}

void loop_repair(struct loop_tree *t)
{
	for (size_t i = 0; i < t->loops.n; i++) {
		struct loop *l = &t->loops.at[i];
		if (l->n_sites_repaired != t->stacks.n_sites && repair(t, l))
			l->n_sites_repaired = t->stacks.n_sites;
	}
}
