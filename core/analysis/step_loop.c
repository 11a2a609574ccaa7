/*
 * The function that contains the loop is active during the whole step. So its frame is in the stack
 * of every call that the main thread makes in the step: all these stacks begin, from the outermost
 * frame, with the same frames, and the loop is in one of them or in the first function that the
 * stacks leave at different lines. Of these frames, the innermost that is within a `for` or `while`
 * of its source has the loop. Loops further in, such as the one over the layers of a model, run
 * several times per step or belong to one part of it.
 */
#include "core/analysis/step_loop.h"

#include "core/symbols/phase_rules.h"
#include "core/util/map.h"
#include "core/util/vec.h"

/* The Python frames that the stacks of a step have in common, outermost first. */
struct common {
	VEC(const struct frame *) at;
	VEC(const struct frame *) branches; /* of each stack, the first frame that differs */
	bool is_any;
};

static bool is_of_autograd(const struct frame_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (frame_phase_part(list->at[i]) == PART_WORKER)
			return true;
	return false;
}

/* Two calls on one line are two frames of one line. */
static bool is_same_line(const struct frame *a, const struct frame *b)
{
	return a == b || (a->line == b->line && frames_are_of_one_function(a, b));
}

static void add_stack(struct common *c, const struct frame_list *list)
{
	size_t n = 0;
	const struct frame *branch = NULL;
	for (size_t i = list->n; i-- > 0 && !branch;) {
		const struct frame *frame = list->at[i];
		if (frame->kind != FRAME_KIND_PYTHON)
			continue;
		if (!c->is_any)
			vec_push(&c->at, frame);
		else if (n == c->at.n || !is_same_line(c->at.at[n], frame))
			branch = frame;
		n += !branch;
	}
	if (c->is_any && n < c->at.n) {
		/* earlier stacks continue with the frame that is no longer common */
		c->branches.n = 0;
		vec_push(&c->branches, c->at.at[n]);
		c->at.n = n;
	}
	if (branch)
		vec_push(&c->branches, branch);
	c->is_any = true;
}

/* Returns the thread with the most launches, without the threads of the autograd engine. They work
 * for the thread that called backward(). */
static const struct model_thread *main_thread(const struct model_step *m, struct frames *frames)
{
	const struct model_thread *best = NULL;
	size_t most = 0;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct model_thread *t = &m->threads.at[i];
		struct frame_list first = { 0 };
		size_t n = 0;
		for (size_t k = t->first; k < t->first + t->n; k++) {
			n += category_has_work(m->calls.at[k].category);
			if (!first.n)
				first = frames_of(frames, m->calls.at[k].stack);
		}
		if (n <= most || is_of_autograd(&first))
			continue;
		most = n;
		best = t;
	}
	return best;
}

static bool is_in_loop(struct frames *frames, const struct common *c, size_t i)
{
	if (i < c->at.n)
		return frames_is_in_loop(frames, c->at.at[i]);
	for (size_t k = 0; k < c->branches.n; k++)
		if (frames_is_in_loop(frames, c->branches.at[k]))
			return true;
	return false;
}

/* Returns the function in which the stacks part; NULL if they part by calling different functions,
 * which they do from the line of the last common frame. */
static const struct frame *parting(const struct common *c)
{
	for (size_t i = 1; i < c->branches.n; i++)
		if (!frames_are_of_one_function(c->branches.at[0], c->branches.at[i]))
			return NULL;
	return c->branches.n ? c->branches.at[0] : NULL;
}

static const struct frame *find(struct frames *frames, const struct common *c)
{
	const struct frame *found = NULL;
	for (size_t i = 0; i <= c->at.n; i++) {
		const struct frame *frame = i < c->at.n ? c->at.at[i] : parting(c);
		/* a module, a data loader or an optimizer is a part of a step */
		if (!frame || frame_phase_part(frame) != PART_NONE)
			break;
		if (is_in_loop(frames, c, i))
			found = frame;
	}
	return found && frame_is_package_code(found) ? found : NULL;
}

const struct frame *step_loop_find(const struct model_step *m, struct frames *frames)
{
	const struct model_thread *t = main_thread(m, frames);
	struct common c = { 0 };
	struct map seen = { 0 };
	for (size_t i = t ? t->first : 0; t && i < t->first + t->n; i++) {
		bool is_new;
		*map_at(&seen, m->calls.at[i].stack, &is_new) = 1;
		struct frame_list list = { 0 };
		if (is_new)
			list = frames_of(frames, m->calls.at[i].stack);
		if (list.n && !list.is_truncated)
			add_stack(&c, &list);
	}
	const struct frame *found = c.is_any ? find(frames, &c) : NULL;
	map_free(&seen);
	vec_free(&c.at);
	vec_free(&c.branches);
	return found;
}
