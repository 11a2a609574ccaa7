/* See loop_stacks.h. */
#include "core/steps/loop_stacks.h"

#include "core/steps/loop_code.h"
#include "core/symbols/origin.h"

#include <string.h>

/* A loop nest deeper than this is cut: no function that people write is. */
enum { LOOPS_MOST = 64 };

/*
 * Frames of a launch within that of the caller, without optimization: nvcc's function with the
 * kernel's name, its stub, and cudaLaunchKernel<>().
 */
enum { LAUNCH_MOST = 3 };

void loop_stacks_init(struct loop_stacks *x, const struct dict *d)
{
	*x = (struct loop_stacks){ .dict = d, .functions = functions_new(d) };
}

void loop_stacks_free(struct loop_stacks *x)
{
	functions_free(x->functions);
	for (size_t i = 0; i < x->flows.n; i++)
		flow_free(x->flows.at[i]);
	for (size_t i = 0; i < x->places.n; i++)
		vec_free(&x->places.at[i].sites);
	for (size_t i = 0; i < x->stacks.n; i++)
		free(x->stacks.at[i]);
	vec_free(&x->frames);
	vec_free(&x->places);
	vec_free(&x->stacks);
	vec_free(&x->flows);
	map_free(&x->frame_of_raw);
	map_free(&x->function_of_key);
	map_free(&x->node_of_frame);
	map_free(&x->place_of_key);
	map_free(&x->stack_of_id);
}

/* ---- Frames ---- */

/* Returns the number of a key, in the order of first use. `n`: how many there are so far. */
static uint32_t number_of(struct map *numbers, uint64_t key, uint32_t *n)
{
	bool is_new;
	uint64_t *number = map_at(numbers, key, &is_new);
	if (is_new)
		*number = (*n)++;
	return (uint32_t)*number;
}

static void set_python(struct loop_stacks *x, struct loop_frame *f)
{
	uint32_t id = f->raw >> 32 & 0x7fffffff;
	f->at = (uint32_t)f->raw;
	f->function = number_of(&x->function_of_key, f->raw & ~0xffffffffull, &x->n_functions);
	f->is = LOOP_FRAME_PYTHON | loop_code_is(x->dict, id);
	while (x->flows.n <= f->function)
		vec_push(&x->flows, NULL);
	/* a code object is seen again with each of its places; its flow is read with the first */
	if (!x->flows.at[f->function])
		x->flows.at[f->function] = loop_code_flow(x->dict, id);
	f->flow = f->at == FRAME_LASTI_UNKNOWN ? NULL : x->flows.at[f->function];
}

static void set_native(struct loop_stacks *x, struct loop_frame *f)
{
	struct function function;
	uint64_t module = f->raw & ~0xffffffffffffull;
	const struct module_entry *entry = dict_module(x->dict, module >> 48);
	const char *path = entry ? strtab_text(&x->dict->t.names, entry->path) : "";
	f->is_hidden = origin_is_interpreter(path) || origin_is_profrun(path);
	f->is = origin_is_native_library(path) ? LOOP_FRAME_LIBRARY : 0;
	f->is_opaque = f->is_hidden || !functions_find(x->functions, f->raw, &function);
	f->is_hidden |= !f->is_opaque && function.is_dispatcher;
	/* the call, not the return address */
	f->at = f->is_opaque ? (f->raw & ~module) - 1 : function.at;
	f->flow = f->is_opaque ? NULL : function.flow;
	f->function = number_of(&x->function_of_key,
				module | (f->is_opaque ? f->at : function.begin), &x->n_functions);
}

static uint32_t frame_index(struct loop_stacks *x, uint64_t raw)
{
	uint32_t n = (uint32_t)x->frames.n, index = number_of(&x->frame_of_raw, raw, &n);
	if (index < x->frames.n)
		return index;
	struct loop_frame f = { .raw = raw };
	if (raw & FRAME_PYTHON)
		set_python(x, &f);
	else
		set_native(x, &f);
	vec_push(&x->frames, f);
	return index;
}

/* ---- Stacks ---- */

static void add_site(struct loop_stacks *x, struct loop_place *p, uint64_t at, bool is_launch)
{
	for (size_t i = 0; i < p->sites.n; i++)
		if (p->sites.at[i].at == at)
			return;
	vec_push(&p->sites, ((struct flow_site){ at, is_launch }));
	x->n_sites++;
}

/*
 * Returns the loop `number` of the frame's function, called from the frames that `outer` numbers.
 */
static uint32_t place_of(struct loop_stacks *x, uint32_t outer, uint32_t frame, uint32_t number,
			 bool *is_new)
{
	uint32_t function = x->frames.at[frame].function;
	/*
	 * 24 bits for the function and 12 for the loop: larger ones share places, which is harmless
	 */
	uint64_t key = (uint64_t)outer << 36 | (uint64_t)(function & 0xffffff) << 12 |
		       (number & 0xfff);
	uint64_t *at = map_at(&x->place_of_key, key, is_new);
	if (*is_new) {
		*at = x->places.n;
		vec_push(&x->places,
			 ((struct loop_place){
				 .frame = frame, .number = number, .birth_place = LOOP_NONE }));
	}
	return (uint32_t)*at;
}

/* Adds the loops around the call that frame `level` of the stack makes, outermost first. */
static void add_loops(struct loop_stacks *x, struct loop_stack *s, uint32_t level, uint8_t within,
		      bool is_launch)
{
	const struct loop_frame *f = &x->frames.at[s->frames[level]];
	uint32_t numbers[LOOPS_MOST], outer = level ? s->nodes[level - 1] : 0;
	size_t n = f->flow ? flow_loops_around(f->flow, f->at, numbers, LOOPS_MOST) : 0;
	for (size_t i = n; i-- > 0;) {
		bool is_new;
		uint32_t id = place_of(x, outer, s->frames[level], numbers[i], &is_new);
		struct loop_place *p = &x->places.at[id];
		if (is_new) {
			p->parent = s->n_loops ? s->loops[s->n_loops - 1].loop : LOOP_NONE;
			p->within = within;
		}
		p->has_inner |= i > 0;
		if (!i)
			add_site(x, p, f->at,
				 is_launch && !(f->is & LOOP_FRAME_PYTHON) &&
					 level + 1 + LAUNCH_MOST >= s->n);
		s->loops[s->n_loops++] = (struct loop_at){ level, id };
	}
}

static size_t count_loops(const struct loop_stacks *x, const uint32_t *frames, size_t n)
{
	size_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t numbers[LOOPS_MOST];
		const struct loop_frame *f = &x->frames.at[frames[i]];
		sum += f->flow ? flow_loops_around(f->flow, f->at, numbers, LOOPS_MOST) : 0;
	}
	return sum;
}

/*
 * Whether the call is the optimizer's own: an optimizer's step is active, and no module's call
 * within it, which a closure makes.
 */
static void set_optimizer(const struct loop_stacks *x, struct loop_stack *s)
{
	s->step_level = LOOP_NONE;
	for (size_t i = 0; i < s->n; i++) {
		uint8_t is = x->frames.at[s->frames[i]].is;
		if (is & LOOP_FRAME_STEP && s->step_level == LOOP_NONE)
			s->step_level = (uint32_t)i;
		s->in_optimizer = (s->in_optimizer || is & LOOP_FRAME_STEP) &&
				  !(is & LOOP_FRAME_FORWARD);
	}
}

static bool is_native_library(const struct loop_frame *f)
{
	return f->is & LOOP_FRAME_LIBRARY && !(f->is & LOOP_FRAME_PYTHON);
}

static struct loop_stack *new_stack(struct loop_stacks *x, const uint32_t *frames, size_t n,
				    bool is_launch)
{
	size_t n_loops = count_loops(x, frames, n);
	struct loop_stack *s =
		mem_zero(sizeof(*s) + n_loops * sizeof(struct loop_at) + n * 2 * sizeof(uint32_t));
	s->loops = (struct loop_at *)(s + 1);
	s->frames = (uint32_t *)(s->loops + n_loops);
	s->nodes = s->frames + n;
	s->n = n;
	memcpy(s->frames, frames, n * sizeof(*frames));
	uint32_t node = 0;
	uint8_t within = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t next = x->n_nodes + 1, n_next = next;
		node = number_of(&x->node_of_frame, (uint64_t)node << 32 | frames[i], &n_next);
		x->n_nodes += n_next != next;
		s->nodes[i] = node;
		if (!i || !is_native_library(&x->frames.at[frames[i]]))
			s->user_node = node;
		within |= x->frames.at[frames[i]].is & (LOOP_FRAME_STEP | LOOP_FRAME_ZERO |
							LOOP_FRAME_FORWARD | LOOP_FRAME_INPUT);
		add_loops(x, s, i, within | x->frames.at[frames[i]].is, is_launch);
	}
	set_optimizer(x, s);
	return s;
}

/*
 * Returns how many frames from the innermost one on are native, or the number of all frames if none
 * is of Python.
 */
static size_t n_native(const uint64_t *raw, size_t n)
{
	size_t i = 0;
	while (i < n && !(raw[i] & FRAME_PYTHON))
		i++;
	return i;
}

/*
 * In a stack with Python frames, native frames count only inside the innermost Python frame. Those
 * further out are missing where the unwinder met its depth limit. The same place would then look
 * like two.
 */
const struct loop_stack *loop_stacks_find(struct loop_stacks *x, uint32_t id, bool is_launch)
{
	bool is_new;
	uint64_t *known = map_at(&x->stack_of_id, id, &is_new);
	if (!is_new)
		return *known ? x->stacks.at[*known - 1] : NULL;
	uint64_t raw[DICT_FRAMES_MOST];
	uint32_t flags, frames[DICT_FRAMES_MOST];
	size_t n = 0, n_all = id ? dict_stack(x->dict, id, raw, &flags) : 0,
	       inner = n_native(raw, n_all);
	for (size_t i = n_all; i-- > 0;) {
		if (i >= inner && !(raw[i] & FRAME_PYTHON))
			continue;
		uint32_t index = frame_index(x, raw[i]);
		if (!x->frames.at[index].is_hidden)
			frames[n++] = index;
	}
	if (!n)
		return NULL;
	vec_push(&x->stacks, new_stack(x, frames, n, is_launch));
	*known = x->stacks.n;
	return x->stacks.at[x->stacks.n - 1];
}

/* ---- What happened between two calls ---- */

static const struct loop_frame *frame_at(const struct loop_stacks *x, const struct loop_stack *s,
					 size_t level)
{
	return &x->frames.at[s->frames[level]];
}

static const struct loop_place *place_at(const struct loop_stacks *x, const struct loop_stack *s,
					 uint32_t level, uint32_t number)
{
	for (size_t i = 0; i < s->n_loops; i++) {
		const struct loop_place *p = &x->places.at[s->loops[i].loop];
		if (s->loops[i].level == level && p->number == number)
			return p;
	}
	return NULL;
}

/*
 * Returns whether each iteration of the loop makes a call at another place than frame `level`. If
 * so, and if no such call came between two calls at the frame's place, the loop did not go round
 * between them: a function in C called Python code several times, as sum() and map() do.
 */
static bool passes_others(const struct loop_stacks *x, const struct loop_stack *s, uint32_t level,
			  uint32_t number)
{
	const struct loop_frame *f = frame_at(x, s, level);
	const struct loop_place *p = place_at(x, s, level, number);
	VEC(struct flow_site) others = { 0 };
	for (size_t i = 0; p && i < p->sites.n; i++)
		if (p->sites.at[i].at != f->at)
			vec_push(&others, p->sites.at[i]);
	bool passes = others.n && flow_is_always(f->flow, number, others.at, others.n);
	vec_free(&others);
	return passes;
}

/* Why a function may have been called again without an iteration of the loop around its call. */
enum repeats { BY_BUILTIN, BY_RETRY };

static struct loop_turn called_again(const struct loop_stacks *x, const struct loop_stack *s,
				     size_t level, enum repeats by);

/*
 * After the place `from` in the loop `number` of frame `level`, the program came to another place
 * in the loop, or to the same one. If only an exception leads there, as in a loop of retries, a
 * loop further out may have begun an iteration instead. This is taken to be so unless the
 * iterations of that loop always make another call, which then was missing.
 */
static struct loop_turn came_again(const struct loop_stacks *x, const struct loop_stack *s,
				   size_t level, uint32_t number, uint64_t from)
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
 * The function at or outside of frame `level` was called again: by the loop around its call, or in
 * the same iteration of that loop, by a built-in function of Python or by a loop of retries.
 */
static struct loop_turn called_again(const struct loop_stacks *x, const struct loop_stack *s,
				     size_t level, enum repeats by)
{
	while (level-- > 0) {
		const struct loop_frame *f = frame_at(x, s, level);
		uint32_t number;
		if (!f->flow || !flow_loops_around(f->flow, f->at, &number, 1))
			continue;
		bool may_be_same = f->is & LOOP_FRAME_PYTHON || by == BY_RETRY,
		     may_repeat = flow_may_repeat(f->flow, number, f->at);
		if (may_be_same && may_repeat && passes_others(x, s, (uint32_t)level, number))
			break;
		return came_again(x, s, level, number, f->at);
	}
	return (struct loop_turn){ 0 };
}

static bool is_native(const struct loop_frame *f)
{
	return !(f->is & LOOP_FRAME_PYTHON);
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

struct loop_turn loop_stacks_turn(const struct loop_stacks *x, const struct loop_stack *a,
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

bool loop_place_is_sure(const struct loop_stacks *x, const struct loop_place *p)
{
	const struct flow *flow = x->frames.at[p->frame].flow;
	if (!p->sites.n)
		return false;
	return (p->sites.n == 1 && !p->has_inner) ||
	       flow_is_always(flow, p->number, p->sites.at, p->sites.n);
}
