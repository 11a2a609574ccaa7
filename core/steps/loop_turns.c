/* See loop_stacks.h. What happened between two calls, and what calls show of a loop. */
#include "core/steps/loop_bodies.h"

static const struct loop_frame *frame_at(const struct loop_stacks *x, const struct loop_stack *s,
					 size_t level)
{
	return &x->frames.at[s->frames[level]];
}

static struct loop_place *place_at(const struct loop_stacks *x, const struct loop_stack *s,
				   uint32_t level, uint32_t number)
{
	for (size_t i = 0; i < s->n_loops; i++) {
		struct loop_place *p = &x->places.at[s->loops[i].loop];
		if (s->loops[i].level == level && p->number == number)
			return p;
	}
	return NULL;
}

static bool is_native(const struct loop_frame *f)
{
	return !(f->is & LOOP_FRAME_PYTHON);
}

bool loop_place_is_header(const struct loop_stacks *x, const struct loop_place *p, uint64_t at)
{
	return flow_loop_at(x->frames.at[p->frame].flow, p->number) == at;
}

bool loop_place_needs_others(const struct loop_stacks *x, const struct loop_place *p, uint64_t at)
{
	VEC(struct flow_site) others = { 0 };
	const struct loop_frame *f = &x->frames.at[p->frame];
	for (size_t i = 0; i < p->sites.n; i++)
		if (p->sites.at[i].at != at && (is_native(f) || p->calls.at[i].works))
			vec_push(&others, p->sites.at[i]);
	const struct flow *flow = f->flow;
	bool needs = others.n && (flow_is_always(flow, p->number, others.at, others.n) ||
				  flow_is_between(flow, p->number, at, others.at, others.n));
	vec_free(&others);
	return needs;
}

/*
 * Returns whether each iteration of the loop makes a call at another place than frame `level`. If
 * so, and if no such call came between two calls at the frame's place, the loop did not go round
 * between them: a function in C called Python code several times, as sum() and map() do. But not if
 * Python code made all calls: then a call that only some iterations make was missing.
 */
static bool passes_others(const struct loop_stacks *x, const struct loop_stack *s, uint32_t level,
			  uint32_t number)
{
	const struct loop_place *p = place_at(x, s, level, number);
	return p && loop_place_needs_others(x, p, frame_at(x, s, level)->at);
}

static void note_repeated(const struct loop_stacks *x, const struct loop_stack *s, uint32_t level,
			  uint32_t number)
{
	struct loop_place *p = place_at(x, s, level, number);
	if (!(frame_at(x, s, level)->is & LOOP_FRAME_PYTHON))
		return;
	p->repeated = s;
	p->repeated_level = level;
}

/* Why a function may have been called again without an iteration of the loop around its call. */
enum repeats { BY_BUILTIN, BY_RETRY };

static struct loop_turn called_again(struct loop_stacks *x, const struct loop_stack *s,
				     size_t level, enum repeats by);

/*
 * After the place `from` in the loop `number` of frame `level`, the program came to another place
 * in the loop, or to the same one. If only an exception leads there, as in a loop of retries, a
 * loop further out may have begun an iteration instead. This is taken to be so unless the
 * iterations of that loop always make another call, which then was missing.
 */
static struct loop_turn came_again(struct loop_stacks *x, const struct loop_stack *s, size_t level,
				   uint32_t number, uint64_t from)
{
	const struct flow *flow = frame_at(x, s, level)->flow;
	const struct loop_turn here = { (uint32_t)level, number, true };
	if (flow_may_repeat(flow, number, from))
		return here;
	int outer = flow_outer_loop(flow, number);
	struct loop_turn other = outer < 0 ? called_again(x, s, level, BY_RETRY)
				 : passes_others(x, s, (uint32_t)level, (uint32_t)outer)
					 ? here
					 : came_again(x, s, level, (uint32_t)outer, from);
	return other.is_any ? other : here;
}

/*
 * Returns whether the innermost loop around the call that leads to frame `level` may go on after an
 * exception in that frame.
 */
static bool may_fail(const struct loop_stacks *x, const struct loop_stack *s, size_t level)
{
	while (level-- > 0) {
		const struct loop_frame *f = frame_at(x, s, level);
		uint32_t number;
		if (!f->flow)
			return true;
		if (flow_loops_around(f->flow, f->at, &number, 1))
			return flow_may_recover(f->flow, number, f->at);
		if (flow_has_handler(f->flow, f->at))
			return true;
	}
	return false;
}

/*
 * Returns whether native code that Python code called at frame `level` made a call of upkeep. That
 * place also makes other calls, so it may have been reached only once.
 */
static bool is_upkeep_at(const struct loop_stacks *x, const struct loop_stack *s, uint32_t level,
			 uint32_t number)
{
	if (!s->is_upkeep || is_native(frame_at(x, s, level)) ||
	    (level + 1 < s->n && !is_native(frame_at(x, s, level + 1))))
		return false;
	const struct loop_place *p = place_at(x, s, level, number);
	uint64_t at = frame_at(x, s, level)->at;
	for (size_t i = 0; p && i < p->sites.n; i++)
		if (p->sites.at[i].at == at)
			return p->calls.at[i].works;
	return false;
}

/*
 * The function at or outside of frame `level` was called again: by the loop around its call, or in
 * the same iteration of that loop, by a built-in function of Python or by a loop of retries.
 */
static struct loop_turn called_again(struct loop_stacks *x, const struct loop_stack *s,
				     size_t level, enum repeats by)
{
	bool is_direct = true;
	while (level-- > 0) {
		const struct loop_frame *f = frame_at(x, s, level);
		uint32_t number;
		is_direct &= level + 1 < s->n && s->is_direct[level + 1];
		bool is_loop = f->flow && flow_loops_around(f->flow, f->at, &number, 1);
		if (!is_loop && !is_direct && !may_fail(x, s, level) &&
		    loop_call_needs_others(x, s, (uint32_t)level))
			break;
		if (!is_loop)
			continue;
		if (is_upkeep_at(x, s, (uint32_t)level, number))
			break;
		bool may_be_same = (f->is & LOOP_FRAME_PYTHON && !is_direct) || by == BY_RETRY,
		     may_repeat = flow_may_repeat(f->flow, number, f->at);
		if (may_be_same && may_repeat && passes_others(x, s, (uint32_t)level, number)) {
			note_repeated(x, s, (uint32_t)level, number);
			break;
		}
		return came_again(x, s, level, number, f->at);
	}
	return (struct loop_turn){ 0 };
}

/*
 * Two stacks differ at `level` by more than a place in one function. Returns whether the program
 * may have gone on without a new iteration:
 *
 * - A native function may end with a jump to another function, which is then at the same level.
 * - Compilers merge call sites in libraries.
 * - A function of the interpreter, such as sum(), calls Python and native functions in turn.
 * - Nothing is known about the order of opaque frames.
 */
static bool may_go_on(const struct loop_stacks *x, const struct loop_stack *a,
		      const struct loop_stack *b, size_t level)
{
	const struct loop_frame *f = level < a->n ? frame_at(x, a, level) : NULL,
				*g = level < b->n ? frame_at(x, b, level) : NULL,
				*outer = level && level <= a->n ? frame_at(x, a, level - 1) : NULL;
	if ((f && f->is_opaque) || (g && g->is_opaque))
		return true;
	if (f && g && is_native(f) != is_native(g))
		return true;
	if (!f || !is_native(f))
		return false;
	bool leaves = f->flow && flow_leaves(f->flow);
	if (!g)
		return leaves;
	return outer && is_native(outer) && (outer->is & LOOP_FRAME_LIBRARY || leaves);
}

struct loop_turn loop_stacks_turn(struct loop_stacks *x, const struct loop_stack *a,
				  const struct loop_stack *b)
{
	size_t n = a->n < b->n ? a->n : b->n, level = 0;
	while (level < n && a->nodes[level] == b->nodes[level])
		level++;
	const struct loop_turn none = { 0 };
	const struct loop_frame *f = level < n ? frame_at(x, a, level) : NULL,
				*g = level < n ? frame_at(x, b, level) : NULL;
	if (!f || f->function != g->function)
		return may_go_on(x, a, b, level) ? none : called_again(x, b, level, BY_BUILTIN);
	if (!f->flow)
		return f->is & LOOP_FRAME_PYTHON && g->at > f->at
			       ? none
			       : called_again(x, b, level, BY_BUILTIN);
	if (flow_is_forward(f->flow, f->at, g->at))
		return none;
	int loop = flow_common_loop(f->flow, f->at, g->at);
	return loop >= 0 ? came_again(x, b, level, (uint32_t)loop, f->at)
			 : called_again(x, b, level, BY_BUILTIN);
}

bool loop_place_is_retry(const struct loop_stacks *x, const struct loop_place *p)
{
	return flow_is_retry(x->frames.at[p->frame].flow, p->number);
}

/* Returns whether each iteration of the loop makes one of its calls, but for the call `without`. */
static bool is_always_without(const struct loop_stacks *x, const struct loop_place *p,
			      size_t without)
{
	VEC(struct flow_site) sites = { 0 };
	for (size_t i = 0; i < p->sites.n; i++)
		if (i != without)
			vec_push(&sites, p->sites.at[i]);
	bool is = sites.n &&
		  flow_is_always(x->frames.at[p->frame].flow, p->number, sites.at, sites.n);
	vec_free(&sites);
	return is;
}

/*
 * Returns whether only loops within make calls at the place, at least now and then. So nothing
 * shows that it is passed.
 */
static bool hides(const struct loop_stacks *x, const struct loop_place *p, size_t site)
{
	const struct loop_calls *c = &p->calls.at[site];
	return c->in_loops && (!c->outside_loops || loop_site_may_hide(x, p, p->sites.at[site].at));
}

bool loop_place_is_sure(const struct loop_stacks *x, const struct loop_place *p)
{
	if (p->sites.n == 1 && !p->has_inner)
		return !hides(x, p, 0);
	if (!is_always_without(x, p, p->sites.n))
		return false;
	for (size_t i = 0; i < p->sites.n; i++)
		if (hides(x, p, i) && !is_always_without(x, p, i))
			return false;
	return true;
}

/* Returns whether it is a loop of the same function within the loop, which is the place `outer`. */
static bool is_inner(const struct loop_stacks *x, uint32_t outer, const struct loop_place *q)
{
	const struct loop_place *p = &x->places.at[outer];
	return q->parent == outer && q->outer == p->outer &&
	       x->frames.at[q->frame].function == x->frames.at[p->frame].function;
}

bool loop_place_shows_calls(const struct loop_stacks *x, uint32_t index)
{
	const struct loop_place *p = &x->places.at[index];
	const struct flow *flow = x->frames.at[p->frame].flow;
	VEC(struct flow_site) shown = { 0 };
	for (size_t i = 0; i < p->sites.n; i++)
		if (!hides(x, p, i))
			vec_push(&shown, p->sites.at[i]);
	bool shows = shown.n;
	for (size_t i = 0; i < p->sites.n && shows; i++)
		shows = !hides(x, p, i) ||
			flow_is_between(flow, p->number, p->sites.at[i].at, shown.at, shown.n);
	for (size_t i = 0; i < x->places.n && shows; i++)
		shows = !is_inner(x, index, &x->places.at[i]) ||
			flow_is_between(flow, p->number, x->places.at[i].parent_at, shown.at,
					shown.n);
	vec_free(&shown);
	return shows;
}

bool loop_place_always_has(const struct loop_stacks *x, uint32_t outer, uint32_t inner)
{
	const struct loop_place *p = &x->places.at[outer], *q = &x->places.at[inner];
	while (q->parent != outer && q->parent != LOOP_NONE)
		q = &x->places.at[q->parent];
	const struct flow_site site = { .at = q->parent_at };
	return q->parent == outer &&
	       flow_is_always(x->frames.at[p->frame].flow, p->number, &site, 1);
}
