/* See loop_candidates.h. */
#include "core/steps/loop_candidates.h"

bool loop_may_be_step(const struct loop_tree *t, const struct loop *l)
{
	const struct loop_place *p = loop_place_of(t, l);
	uint8_t is = t->stacks.frames.at[p->frame].is;
	bool is_native_library = is & LOOP_FRAME_LIBRARY && !(is & LOOP_FRAME_PYTHON);
	return !is_native_library && !loop_place_is_retry(&t->stacks, p) &&
	       !(p->within & (LOOP_FRAME_STEP | LOOP_FRAME_ZERO | LOOP_FRAME_FORWARD |
			      LOOP_FRAME_INPUT | LOOP_FRAME_FRAMEWORK));
}

const struct loop *loop_outer(const struct loop_tree *t, const struct loop *l)
{
	do
		l = loop_tree_parent(t, l);
	while (l && !loop_may_be_step(t, l));
	return l;
}

bool loop_is_around(const struct loop_tree *t, const struct loop *outer, const struct loop *l)
{
	while ((l = loop_outer(t, l)) != NULL)
		if (l == outer)
			return true;
	return false;
}

int loop_by_begin(const void *a, const void *b)
{
	const struct loop_iteration *x = a, *y = b;
	return x->begin_ticks < y->begin_ticks ? -1 : x->begin_ticks > y->begin_ticks;
}

static struct loop_begin begin_of(const struct loop_iteration *x)
{
	return (struct loop_begin){ loop_iteration_begin(x), x->slot, x->launch, x->n.launches };
}

void loop_add_begins(loop_begins *out, const struct loop *l)
{
	for (size_t i = 0; i < l->iterations.n; i++) {
		const struct loop_iteration *x = &l->iterations.at[i];
		vec_push(out, begin_of(x));
	}
}

void loop_add_groups(loop_begins *out, const struct loop *l)
{
	bool is_open = false;
	for (size_t i = 0; i < l->iterations.n; i++) {
		const struct loop_iteration *x = &l->iterations.at[i];
		if (!is_open)
			vec_push(out, begin_of(x));
		struct loop_begin *b = &out->at[out->n - 1];
		b->n_launches = x->launch + x->n.launches - b->launch;
		is_open = !x->n.steps;
	}
	if (is_open)
		out->n--;
}

void loop_note_end(struct loop_choice *out, const struct loop *l)
{
	for (size_t i = 0; i < l->iterations.n; i++)
		if (l->iterations.at[i].end_ticks > out->end_ticks)
			out->end_ticks = l->iterations.at[i].end_ticks;
}
