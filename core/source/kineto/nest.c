/* See nest.h. */
#include "core/source/kineto/nest.h"

#include "core/source/kineto/live_blocks.h"
#include "core/symbols/operators.h"

#include <stdlib.h>
#include <string.h>

/* ---- Order ---- */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By thread and begin; outer slices first. Of two slices with the same times, the one that comes
 * first in the file is the outer one. */
static int by_thread_and_time(const void *a, const void *b)
{
	const struct trace_slice *x = a, *y = b;
	int order = compare(x->thread, y->thread);
	order = order ? order : compare(x->begin_ns, y->begin_ns);
	return order ? order : compare(y->end_ns, x->end_ns);
}

static int calls_by_time(const void *a, const void *b)
{
	const struct trace_call *x = a, *y = b;
	int order = compare(x->thread, y->thread);
	order = order ? order : compare(x->begin_ns, y->begin_ns);
	return order ? order : compare(y->end_ns, x->end_ns);
}

static int blocks_by_thread(const void *a, const void *b)
{
	const struct trace_block *x = a, *y = b;
	int order = compare(x->thread, y->thread);
	return order ? order : compare(x->ns, y->ns);
}

static int blocks_by_time(const void *a, const void *b)
{
	const struct trace_block *x = a, *y = b;
	return compare(x->ns, y->ns);
}

/* Merge sort, because qsort() of other C libraries does not keep the order of equal items, and a
 * trace is mostly sorted already. */
static void sort(void *at, size_t n, size_t bytes, int (*order)(const void *, const void *))
{
	char *from = at, *to = mem_resize(NULL, n * bytes), *spare = to;
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t low = 0; low < n; low += 2 * width) {
			size_t middle = low + width < n ? low + width : n,
			       high = low + 2 * width < n ? low + 2 * width : n, i = low,
			       k = middle;
			if (middle == high ||
			    order(from + (middle - 1) * bytes, from + middle * bytes) <= 0) {
				memcpy(to + low * bytes, from + low * bytes, (high - low) * bytes);
				continue;
			}
			for (size_t out = low; out < high; out++) {
				bool takes_left = k == high ||
						  (i < middle &&
						   order(from + i * bytes, from + k * bytes) <= 0);
				memcpy(to + out * bytes, from + (takes_left ? i++ : k++) * bytes,
				       bytes);
			}
		}
		char *other = from;
		from = to;
		to = other;
	}
	if (from != at)
		memcpy(at, from, n * bytes);
	free(spare);
}

/* ---- Stacks ---- */

struct open_slice {
	uint64_t begin_ns, end_ns;
	uint32_t stack;
	bool is_python;
};

struct nest {
	struct trace *t;
	struct stacks *stacks;
	size_t next_slice;
	uint64_t pitch_ns; /* of samples */
	VEC(struct open_slice) open;
	struct map stack_of_text; /* text "Call stack" -> stack */
	struct map line_of_text;
};

static uint32_t text_stack(struct nest *n, uint32_t text)
{
	bool is_new;
	uint64_t *at = map_at(&n->stack_of_text, text, &is_new);
	if (is_new)
		*at = stacks_of_text(n->stacks, &n->t->tables.names, text);
	return (uint32_t)*at;
}

/* Returns the line of "FILE:LINE". */
static uint32_t line_of(struct nest *n, uint32_t text)
{
	bool is_new;
	uint64_t *at = map_at(&n->line_of_text, text, &is_new);
	if (is_new) {
		const char *colon = strrchr(strtab_text(&n->t->tables.names, text), ':');
		*at = colon ? strtoul(colon + 1, NULL, 10) : 0;
	}
	return *at <= UINT32_MAX ? (uint32_t)*at : 0;
}

static bool is_over(const struct open_slice *o, uint64_t ns)
{
	return o->end_ns < ns || (o->end_ns == ns && o->end_ns > o->begin_ns);
}

static void close_slices(struct nest *n, uint64_t ns)
{
	while (n->open.n && is_over(&n->open.at[n->open.n - 1], ns))
		n->open.n--;
}

static bool is_frame(const struct nest *n, const struct trace_slice *slice)
{
	return slice->category != EVENT_ANNOTATION ||
	       stacks_is_frame(strtab_text(&n->t->tables.names, slice->name));
}

/* Returns whether the operator is a node of autograd. */
static bool is_node(const struct nest *n, uint32_t name)
{
	char kind[128];
	const char *text = stacks_operator(strtab_text(&n->t->tables.names, name));
	return operator_kind(text, kind, sizeof(kind)) != OPERATOR_FORWARD;
}

/* A thread whose outermost operator is a node of autograd is a thread of its engine. In a live run,
 * this frame says so. */
static uint32_t engine_stack(struct nest *n)
{
	uint32_t text = strtab_intern(&n->t->tables.names, "torch::autograd::Engine::thread_main");
	return stacks_push(n->stacks, 0,
			   &(struct stack_frame){ .text = text, .category = EVENT_OTHER });
}

/* Returns how the slice's frame is resolved. Old versions of PyTorch give its own annotations the
 * category of operators. */
static uint8_t category_of(const struct nest *n, const struct trace_slice *slice)
{
	bool is_own = slice->category == EVENT_OPERATOR &&
		      stacks_is_frame(strtab_text(&n->t->tables.names, slice->name));
	return is_own ? EVENT_ANNOTATION : slice->category;
}

static void open_slice(struct nest *n, const struct trace_slice *slice)
{
	close_slices(n, slice->begin_ns);
	const struct open_slice *around = n->open.n ? &n->open.at[n->open.n - 1] : NULL;
	uint32_t stack = around ? around->stack : 0;
	if (!is_frame(n, slice))
		return;
	if (!stack && slice->call_stack)
		stack = text_stack(n, slice->call_stack);
	if (!stack && slice->category == EVENT_OPERATOR && is_node(n, slice->name))
		stack = engine_stack(n);
	if (slice->call_from && around && around->is_python && line_of(n, slice->call_from))
		stack = stacks_at_line(n->stacks, stack, line_of(n, slice->call_from));
	stack = stacks_push(n->stacks, stack,
			    &(struct stack_frame){ .text = slice->name,
						   .category = category_of(n, slice) });
	vec_push(&n->open, (struct open_slice){ slice->begin_ns, slice->end_ns, stack,
						slice->category == EVENT_PYTHON });
}

/* Returns the stack of a thread at a time. Threads and times must not decrease. */
static uint32_t stack_at(struct nest *n, uint32_t thread, uint64_t ns)
{
	const struct trace *t = n->t;
	for (; n->next_slice < t->slices.n; n->next_slice++) {
		const struct trace_slice *slice = &t->slices.at[n->next_slice];
		if (slice->thread > thread || (slice->thread == thread && slice->begin_ns > ns))
			break;
		if (slice->thread < thread)
			continue;
		if (n->next_slice && t->slices.at[n->next_slice - 1].thread != thread)
			n->open.n = 0;
		open_slice(n, slice);
	}
	if (!n->next_slice || t->slices.at[n->next_slice - 1].thread != thread)
		return 0;
	close_slices(n, ns);
	return n->open.n ? n->open.at[n->open.n - 1].stack : 0;
}

/* Returns the stack of a call. A call by Python code itself may say on which line it was made. */
static uint32_t stack_of_call(struct nest *n, const struct trace_call *c)
{
	uint32_t stack = stack_at(n, c->thread, c->begin_ns);
	const struct open_slice *around = n->open.n ? &n->open.at[n->open.n - 1] : NULL;
	bool is_called = around && around->is_python && c->call_from && line_of(n, c->call_from);
	if (!stack || !is_called)
		return stack;
	return stacks_at_line(n->stacks, stack, line_of(n, c->call_from));
}

/* ---- Samples ---- */

enum {
	/* Ten times as dense as in a live run, because these samples cost the application
	 * nothing. */
	SAMPLE_PITCH_NS = 100000,
	/* Of all threads together; they take 64 MB. A longer trace is sampled less often. */
	SAMPLES_MOST = 2000000,
};

/* Returns the distance of two samples. */
static uint64_t sample_pitch_ns(const struct trace *t)
{
	size_t n_threads = 0;
	for (size_t i = 0; i < t->calls.n; i++)
		n_threads += !i || t->calls.at[i].thread != t->calls.at[i - 1].thread;
	double pitch_ns = (double)n_threads * (double)(t->end_ns - t->begin_ns) / SAMPLES_MOST;
	return pitch_ns > SAMPLE_PITCH_NS ? (uint64_t)pitch_ns : SAMPLE_PITCH_NS;
}

/* Adds samples of a time without calls, where slices are open. A trace does not say whether the
 * thread ran. */
static void add_samples(struct nest *n, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = from_ns + n->pitch_ns - from_ns % n->pitch_ns;
	for (; ns < to_ns; ns += n->pitch_ns) {
		uint32_t stack = stack_at(n, thread, ns);
		if (stack)
			vec_push(&n->t->samples, (struct model_sample){ .ns = ns,
									.stack = stack,
									.thread = thread,
									.state = SAMPLE_UNKNOWN });
	}
}

/* Sets the stacks of the calls of one thread, those from `first` on, and adds its samples. Returns
 * the index of the next thread's first call. */
static size_t visit_thread(struct nest *n, size_t first)
{
	struct trace *t = n->t;
	uint32_t thread = t->calls.at[first].thread;
	uint64_t free_ns = t->begin_ns;
	size_t i = first;
	for (; i < t->calls.n && t->calls.at[i].thread == thread; i++) {
		struct trace_call *c = &t->calls.at[i];
		add_samples(n, thread, free_ns, c->begin_ns);
		c->stack = stack_of_call(n, c);
		free_ns = c->end_ns;
	}
	add_samples(n, thread, free_ns, t->end_ns);
	return i;
}

/* ---- Blocks ---- */

/* Sets the stacks of the blocks, and sorts them by time. */
static void visit_blocks(struct nest *n)
{
	struct trace *t = n->t;
	n->next_slice = n->open.n = 0;
	sort(t->blocks.at, t->blocks.n, sizeof(*t->blocks.at), blocks_by_thread);
	for (size_t i = 0; i < t->blocks.n; i++)
		t->blocks.at[i].stack = stack_at(n, t->blocks.at[i].thread, t->blocks.at[i].ns);
	sort(t->blocks.at, t->blocks.n, sizeof(*t->blocks.at), blocks_by_time);
	live_blocks_complete(t);
}

/* ---- Calls in calls ---- */

/* Gives the GPU work of a call within a call, such as the driver's, to the outer call. */
static void pass_on(struct map *outer_of, const struct trace_call *inner,
		    const struct trace_call *outer)
{
	if (inner->correlation && outer->correlation && inner->correlation != outer->correlation)
		*map_at(outer_of, inner->correlation, NULL) = outer->correlation;
}

static void drop_inner_calls(struct trace *t)
{
	struct map outer_of = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < t->calls.n; i++) {
		struct trace_call *c = &t->calls.at[i], *last = n ? &t->calls.at[n - 1] : NULL;
		if (last && last->thread == c->thread && last->end_ns > c->begin_ns &&
		    last->end_ns >= c->end_ns) {
			if (!last->correlation)
				last->correlation = c->correlation;
			pass_on(&outer_of, c, last);
			continue;
		}
		t->calls.at[n++] = *c;
	}
	t->calls.n = n;
	for (size_t i = 0; i < t->works.n; i++) {
		const uint64_t *outer = map_find(&outer_of, t->works.at[i].correlation);
		if (outer)
			t->works.at[i].correlation = (uint32_t)*outer;
	}
	map_free(&outer_of);
}

void nest_find(struct trace *t, struct stacks *stacks)
{
	struct nest n = { .t = t, .stacks = stacks };
	sort(t->slices.at, t->slices.n, sizeof(*t->slices.at), by_thread_and_time);
	sort(t->calls.at, t->calls.n, sizeof(*t->calls.at), calls_by_time);
	drop_inner_calls(t);
	n.pitch_ns = sample_pitch_ns(t);
	for (size_t i = 0; i < t->calls.n;)
		i = visit_thread(&n, i);
	visit_blocks(&n);
	vec_free(&n.open);
	map_free(&n.stack_of_text);
	map_free(&n.line_of_text);
}
