/* See loop_stacks.h. */
#include "core/steps/loop_stacks.h"

#include "core/steps/loop_bodies.h"

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
	for (size_t i = 0; i < x->places.n; i++) {
		vec_free(&x->places.at[i].sites);
		vec_free(&x->places.at[i].calls);
	}
	loop_bodies_free(&x->bodies);
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

/* Returns the frame of the call that this one is a copy of, or the frame itself. */
static uint64_t source_of(const struct loop_stacks *x, uint64_t raw)
{
	struct function function;
	bool is_known = !(raw & FRAME_PYTHON) && functions_find(x->functions, raw, &function);
	return is_known ? (raw & ~0xffffffffffffull) | (function.at + 1) : raw;
}

static uint32_t frame_index(struct loop_stacks *x, uint64_t raw)
{
	bool is_new;
	uint64_t *known = map_at(&x->frame_of_raw, raw, &is_new);
	if (!is_new)
		return (uint32_t)*known;
	uint64_t source = source_of(x, raw);
	if (source != raw) {
		uint32_t index = frame_index(x, source);
		*map_at(&x->frame_of_raw, raw, NULL) = index;
		return index;
	}
	*known = x->frames.n;
	struct loop_frame f = { .raw = raw };
	if (raw & FRAME_PYTHON)
		set_python(x, &f);
	else
		set_native(x, &f);
	vec_push(&x->frames, f);
	return (uint32_t)x->frames.n - 1;
}

/* ---- Stacks ---- */

static void add_site(struct loop_stacks *x, struct loop_place *p, uint64_t at, bool is_launch)
{
	for (size_t i = 0; i < p->sites.n; i++)
		if (p->sites.at[i].at == at)
			return;
	vec_push(&p->sites, ((struct flow_site){ at, is_launch }));
	vec_push(&p->calls, (struct loop_calls){ 0 });
	x->n_sites++;
}

static bool is_work(enum loop_caller caller)
{
	return caller == LOOP_OF_CALL || caller == LOOP_OF_LAUNCH;
}

/* Notes what the calls at the places of the loops lead to. */
static void note_calls(struct loop_stacks *x, const struct loop_stack *s, enum loop_caller caller)
{
	for (size_t i = 0; i < s->n_loops; i++) {
		const struct loop_place *p = &x->places.at[s->loops[i].loop];
		uint64_t at = x->frames.at[s->frames[s->loops[i].level]].at;
		bool in_loops = i + 1 < s->n_loops;
		for (size_t k = 0; k < p->sites.n; k++) {
			struct loop_calls *c = &p->calls.at[k];
			if (p->sites.at[k].at != at)
				continue;
			c->in_loops |= in_loops;
			c->outside_loops |= !in_loops && caller != LOOP_OF_THREAD;
			x->n_sites += is_work(caller) && !c->works;
			c->works |= is_work(caller);
		}
	}
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
		vec_push(&x->places, ((struct loop_place){ .frame = frame,
							   .number = number,
							   .outer = outer,
							   .birth_place = LOOP_NONE }));
	}
	return (uint32_t)*at;
}

/* Notes what is around a new loop of frame `level`. */
static void set_outer(const struct loop_stacks *x, const struct loop_stack *s, struct loop_place *p,
		      uint32_t level, uint8_t within)
{
	p->parent = LOOP_NONE;
	p->within = within;
	if (!s->n_loops)
		return;
	const struct loop_at *outer = &s->loops[s->n_loops - 1];
	const struct loop_frame *f = &x->frames.at[s->frames[outer->level]];
	p->parent = outer->loop;
	p->parent_at = outer->level == level ? flow_loop_at(f->flow, p->number) : f->at;
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
		if (is_new)
			set_outer(x, s, p, level, within);
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

static struct loop_stack *new_stack(struct loop_stacks *x, const uint32_t *frames,
				    const bool *is_direct, size_t n, enum loop_caller caller)
{
	size_t n_loops = count_loops(x, frames, n);
	struct loop_stack *s = mem_zero(sizeof(*s) + n_loops * sizeof(struct loop_at) +
					n * (2 * sizeof(uint32_t) + sizeof(bool)));
	s->loops = (struct loop_at *)(s + 1);
	s->frames = (uint32_t *)(s->loops + n_loops);
	s->nodes = s->frames + n;
	s->is_direct = (bool *)(s->nodes + n);
	s->n = n;
	memcpy(s->frames, frames, n * sizeof(*frames));
	memcpy(s->is_direct, is_direct, n * sizeof(*is_direct));
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
		add_loops(x, s, i, within | x->frames.at[frames[i]].is, caller == LOOP_OF_LAUNCH);
	}
	s->is_upkeep = caller == LOOP_OF_UPKEEP;
	note_calls(x, s, caller);
	loop_bodies_add(x, s, is_work(caller));
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
 * Returns whether Python code called frame `i` without a function in C. If the outermost frame is
 * of Python, the unwinder met its depth limit, and native frames may be missing.
 */
static bool is_direct(const uint64_t *raw, size_t n, size_t i)
{
	return i + 1 < n && raw[i] & FRAME_PYTHON && raw[i + 1] & FRAME_PYTHON &&
	       !(raw[n - 1] & FRAME_PYTHON);
}

/* Without native frames, calls of upkeep and other calls may have the same stack. */
static const struct loop_stack *known_stack(struct loop_stacks *x, struct loop_stack *s,
					    enum loop_caller caller)
{
	if (s->is_upkeep && is_work(caller)) {
		s->is_upkeep = false;
		note_calls(x, s, caller);
		loop_bodies_add(x, s, true);
	}
	return s;
}

/*
 * In a stack with Python frames, native frames count only inside the innermost Python frame. Those
 * further out are missing where the unwinder met its depth limit. The same place would then look
 * like two.
 */
const struct loop_stack *loop_stacks_find(struct loop_stacks *x, uint32_t id,
					  enum loop_caller caller)
{
	bool is_new;
	uint64_t *known = map_at(&x->stack_of_id, id, &is_new);
	if (!is_new)
		return *known ? known_stack(x, x->stacks.at[*known - 1], caller) : NULL;
	uint64_t raw[DICT_FRAMES_MOST];
	uint32_t flags, frames[DICT_FRAMES_MOST];
	bool direct[DICT_FRAMES_MOST];
	size_t n = 0, n_all = id ? dict_stack(x->dict, id, raw, &flags) : 0,
	       inner = n_native(raw, n_all);
	for (size_t i = n_all; i-- > 0;) {
		if (i >= inner && !(raw[i] & FRAME_PYTHON))
			continue;
		uint32_t index = frame_index(x, raw[i]);
		if (x->frames.at[index].is_hidden)
			continue;
		direct[n] = is_direct(raw, n_all, i);
		frames[n++] = index;
	}
	if (!n)
		return NULL;
	vec_push(&x->stacks, new_stack(x, frames, direct, n, caller));
	*known = x->stacks.n;
	return x->stacks.at[x->stacks.n - 1];
}
