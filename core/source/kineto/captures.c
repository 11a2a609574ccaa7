/* See captures.h. */
#include "core/source/kineto/captures.h"

#include "core/source/kineto/api.h"
#include "core/source/kineto/nest.h"
#include "core/source/kineto/shapes.h"
#include "core/util/path.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char folder_name[] = "capture_traces";

/* A replay that has fewer of a capture's nodes is of another graph. In a public trace, each replay
 * lacks one of 1,567. */
#define NODES_LEAST 0.9

/* ---- Captured calls ---- */

static bool begins_capture(const char *name)
{
	return strstr(name, "StreamBeginCapture");
}

static bool ends_capture(const char *name)
{
	return strstr(name, "StreamEndCapture");
}

static bool *find_works(const struct trace *t, const uint32_t *call_of)
{
	bool *has_work = mem_zero((t->calls.n + 1) * sizeof(*has_work));
	for (size_t i = 0; call_of && i < t->works.n; i++)
		if (call_of[i] != MODEL_NO_CALL)
			has_work[call_of[i]] = true;
	return has_work;
}

void captures_mark(struct trace *t, const uint32_t *call_of)
{
	bool *has_work = find_works(t, call_of), is_capturing = false;
	for (size_t i = 0; i < t->calls.n; i++) {
		struct trace_call *x = &t->calls.at[i];
		const char *name = strtab_text(&t->tables.names, x->name);
		if (!i || x->thread != t->calls.at[i - 1].thread)
			is_capturing = false;
		is_capturing = begins_capture(name) || (is_capturing && !ends_capture(name));
		x->is_captured = is_capturing && !has_work[i] &&
				 category_has_work(api_category(name));
	}
	free(has_work);
}

/* ---- Captures ---- */

/* Takes over names and stacks of another trace. */
struct move {
	struct trace *from;
	struct strtab *names;
	uint32_t *stack_of; /* of each stack of the other trace; NULL: it is this trace */
};

static uint32_t move_name(const struct move *mv, uint32_t name)
{
	return mv->stack_of ? strtab_intern(mv->names, strtab_text(&mv->from->tables.names, name))
			    : name;
}

static bool is_in(const struct trace_shape *shape, const struct trace_call *call)
{
	return shape->span.thread == call->thread && shape->span.begin_ns <= call->begin_ns &&
	       call->end_ns <= shape->span.end_ns;
}

/* Returns the number of the product of the operator around the call; 0: there is none. `shape`: the
 * operator around the call before, as an index in the trace's shapes + 1. */
static uint32_t product_of(struct captures *c, const struct move *mv, const struct trace_call *call,
			   size_t *shape)
{
	struct trace *t = mv->from;
	struct model_library product;
	size_t i = bisect(t->shapes.n, k,
			  t->shapes.at[k].span.thread < call->thread ||
				  (t->shapes.at[k].span.thread == call->thread &&
				   t->shapes.at[k].span.begin_ns <= call->begin_ns));
	if (!i || !is_in(&t->shapes.at[i - 1], call))
		return 0;
	if (*shape == i)
		return (uint32_t)c->products.n;
	if (!shapes_library(&product, &t->shapes.at[i - 1], &t->tables.names))
		return 0;
	*shape = i;
	product.name = move_name(mv, product.name);
	product.shape = move_name(mv, product.shape);
	vec_push(&c->products, product);
	return (uint32_t)c->products.n;
}

static void end_capture(struct captures *c, uint32_t first)
{
	uint32_t n = (uint32_t)c->calls.n - first;
	bool is_named = true;
	for (uint32_t i = first; i < c->calls.n; i++)
		is_named &= c->calls.at[i].kernel != 0;
	if (n)
		vec_push(&c->at, ((struct capture){ first, n, is_named }));
}

static void add_captures(struct captures *c, const struct move *mv)
{
	const struct trace *t = mv->from;
	uint32_t first = (uint32_t)c->calls.n;
	size_t shape = 0;
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct trace_call *x = &t->calls.at[i];
		const char *name = strtab_text(&t->tables.names, x->name);
		if (begins_capture(name) || ends_capture(name) ||
		    (i && x->thread != t->calls.at[i - 1].thread)) {
			end_capture(c, first);
			first = (uint32_t)c->calls.n;
		}
		if (x->is_captured)
			vec_push(&c->calls,
				 ((struct captured_call){
					 .name = move_name(mv, x->name),
					 .kernel = x->kernel ? move_name(mv, x->kernel) : 0,
					 .stack = mv->stack_of ? mv->stack_of[x->stack] : x->stack,
					 .product = product_of(c, mv, x, &shape),
				 }));
	}
	end_capture(c, first);
}

/* A stack comes after the one that it extends. */
static uint32_t *move_stacks(const struct move *mv, const struct stacks *from, struct stacks *to)
{
	uint32_t *stack_of = mem_zero((from->nodes.n + 1) * sizeof(*stack_of));
	for (size_t i = 1; i < from->nodes.n; i++) {
		struct stack_frame frame = from->frames.at[from->nodes.at[i].frame];
		frame.text =
			strtab_intern(mv->names, strtab_text(&mv->from->tables.names, frame.text));
		stack_of[i] = stacks_push(to, stack_of[from->nodes.at[i].parent], &frame);
	}
	return stack_of;
}

static void read_file(struct captures *c, struct trace *to, struct stacks *stacks, const char *path)
{
	struct trace *t;
	struct stacks own;
	struct err e;
	if (trace_load(&t, path, &e)) {
		c->n_unread++;
		return;
	}
	struct move mv = { .from = t, .names = &to->tables.names };
	stacks_start(&own, &t->tables.names);
	nest_find(t, &own);
	captures_mark(t, NULL);
	shapes_find(t);
	mv.stack_of = move_stacks(&mv, &own, stacks);
	add_captures(c, &mv);
	free(mv.stack_of);
	stacks_free(&own);
	trace_free(t);
}

static int is_trace(const struct dirent *entry)
{
	static const char *const suffixes[] = { ".json", ".json.gz" };
	size_t n = strlen(entry->d_name);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		size_t bytes = strlen(suffixes[i]);
		if (n > bytes && !strcmp(entry->d_name + n - bytes, suffixes[i]))
			return strcmp(entry->d_name, "execution_details.json") != 0;
	}
	return 0;
}

static void read_folder(struct captures *c, struct trace *t, struct stacks *stacks,
			const char *path)
{
	struct dirent **entries;
	char *folder, *file;
	int n_folder = (int)(path_base(path) - path);
	if (asprintf(&folder, "%.*s%s", n_folder, path, folder_name) < 0)
		abort();
	int n = scandir(folder, &entries, is_trace, alphasort);
	for (int i = 0; i < n; i++) {
		if (asprintf(&file, "%s/%s", folder, entries[i]->d_name) < 0)
			abort();
		read_file(c, t, stacks, file);
		free(file);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	free(folder);
}

/* ---- Replays ---- */

struct replays {
	const struct trace *t;
	VEC(uint32_t) works; /* of graph launches, by launch and begin */
	const uint32_t *call_of;
	size_t last; /* the capture of the last replay */
	/* The replays are all captures one after the other, over and over: so each replay's capture
	 * is known even if others fit. */
	bool is_in_order;
};

static int by_launch_and_begin(const void *a, const void *b, void *replays)
{
	const struct replays *r = replays;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct model_work *v = &r->t->works.at[x], *w = &r->t->works.at[y];
	if (r->call_of[x] != r->call_of[y])
		return r->call_of[x] < r->call_of[y] ? -1 : 1;
	if (v->begin_ns != w->begin_ns)
		return v->begin_ns < w->begin_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void list_works(struct replays *r)
{
	const struct trace *t = r->t;
	for (size_t i = 0; i < t->works.n; i++) {
		uint32_t call = r->call_of[i];
		const char *name = call == MODEL_NO_CALL
					   ? ""
					   : strtab_text(&t->tables.names, t->calls.at[call].name);
		if (t->works.at[i].kind != WORK_SYNC && api_category(name) == CAT_GRAPH)
			vec_push(&r->works, (uint32_t)i);
	}
	if (r->works.n)
		qsort_r(r->works.at, r->works.n, sizeof(*r->works.at), by_launch_and_begin, r);
}

/* Returns whether the work may be the node of the captured call. */
static bool is_node(const struct captured_call *call, const struct trace *t,
		    const struct model_work *w)
{
	uint8_t category = api_category(strtab_text(&t->tables.names, call->name));
	if ((category == CAT_LAUNCH) != (w->kind == WORK_KERNEL))
		return false;
	return !call->kernel || w->kind != WORK_KERNEL || call->kernel == w->name;
}

static bool fits(const struct captures *c, const struct replays *r, size_t first, size_t n,
		 const struct capture *capture)
{
	size_t i = 0;
	while (capture->n == n && i < n &&
	       is_node(&c->calls.at[capture->first + i], r->t,
		       &r->t->works.at[r->works.at[first + i]]))
		i++;
	return i == n;
}

static size_t nodes_of(const struct replays *r, size_t first)
{
	size_t n = 1;
	while (first + n < r->works.n &&
	       r->call_of[r->works.at[first + n]] == r->call_of[r->works.at[first]])
		n++;
	return n;
}

/* Returns whether the replays are all captures one after the other, from `first` on. */
static bool follow_order(const struct captures *c, const struct replays *r, size_t first)
{
	size_t k = 0;
	for (size_t i = 0, n; i < r->works.n; i += n, k++) {
		n = nodes_of(r, i);
		if (!fits(c, r, i, n, &c->at.at[(first + k) % c->at.n]))
			return false;
	}
	return k % c->at.n == 0;
}

/* An order that fits from another capture on as well shows nothing: all captures are alike. */
static bool find_order(const struct captures *c, const struct replays *r)
{
	bool is_any = follow_order(c, r, 0);
	for (size_t first = 1; is_any && first < c->at.n; first++)
		is_any = !follow_order(c, r, first);
	return is_any;
}

static bool has_same_product(const struct captures *c, const struct captured_call *a,
			     const struct captured_call *b)
{
	if (!a->product || !b->product)
		return a->product == b->product;
	return c->products.at[a->product - 1].shape == c->products.at[b->product - 1].shape;
}

/*
 * Returns whether all captures that fit the replay have the lines of this one. Servers capture the
 * same code for several sizes of a batch: the lines are known then, but not the arithmetic, which
 * is removed from this capture.
 */
static bool is_only_one(struct captures *c, const struct replays *r, size_t first, size_t n,
			const struct capture *capture)
{
	for (size_t k = 0; !r->is_in_order && k < c->at.n; k++) {
		const struct capture *other = &c->at.at[k];
		if (other == capture || !fits(c, r, first, n, other))
			continue;
		for (uint32_t i = 0; i < n; i++) {
			struct captured_call *own = &c->calls.at[capture->first + i];
			const struct captured_call *theirs = &c->calls.at[other->first + i];
			if (own->stack != theirs->stack)
				return false;
			if (!has_same_product(c, own, theirs))
				own->product = 0;
		}
	}
	return true;
}

/*
 * Sets the origins of the `n` works from `first` on, and returns true, if they are nodes of the
 * capture. A recorder may have lost some nodes, which only names show.
 */
static bool take_capture(struct captures *c, const struct replays *r, size_t first, size_t n,
			 const struct capture *capture)
{
	size_t done = 0;
	for (uint32_t i = 0; i < capture->n && done < n; i++) {
		uint32_t work = r->works.at[first + done];
		const struct captured_call *call = &c->calls.at[capture->first + i];
		if (is_node(call, r->t, &r->t->works.at[work]))
			c->origin_of[r->works.at[first + done++]] = capture->first + i;
		else if (capture->n == n)
			break;
	}
	for (size_t i = 0; done < n && i < done; i++)
		c->origin_of[r->works.at[first + i]] = MODEL_NO_CALL;
	return done == n;
}

/* A program replays its graphs in the order in which it captured them, so the search begins after
 * the last replay's capture. */
static void match(struct captures *c, struct replays *r, size_t first, size_t n)
{
	for (size_t k = 1; k <= 2 * c->at.n; k++) {
		size_t i = (r->last + k) % c->at.n;
		const struct capture *capture = &c->at.at[i];
		bool is_complete = capture->n == n, may_lack = k > c->at.n,
		     is_near = capture->n > n && n >= NODES_LEAST * capture->n;
		if (!(may_lack ? is_near && capture->is_named : is_complete) ||
		    (is_complete && fits(c, r, first, n, capture) &&
		     !is_only_one(c, r, first, n, capture)) ||
		    !take_capture(c, r, first, n, capture))
			continue;
		r->last = i;
		return;
	}
}

void captures_find(struct captures *c, struct trace *t, struct stacks *stacks,
		   const uint32_t *call_of, const char *path)
{
	struct replays r = { .t = t, .call_of = call_of };
	memset(c, 0, sizeof(*c));
	c->origin_of = mem_resize(NULL, (t->works.n + 1) * sizeof(*c->origin_of));
	for (size_t i = 0; i < t->works.n; i++)
		c->origin_of[i] = MODEL_NO_CALL;
	list_works(&r);
	if (r.works.n) {
		add_captures(c, &(struct move){ .from = t, .names = &t->tables.names });
		read_folder(c, t, stacks, path);
		r.last = c->at.n - 1;
		r.is_in_order = c->at.n && find_order(c, &r);
	}
	for (size_t i = 0, n; c->at.n && i < r.works.n; i += n) {
		n = nodes_of(&r, i);
		match(c, &r, i, n);
	}
	vec_free(&r.works);
}

void captures_free(struct captures *c)
{
	vec_free(&c->calls);
	vec_free(&c->at);
	vec_free(&c->products);
	free(c->origin_of);
	c->origin_of = NULL;
}

const struct capture *captures_of_call(const struct captures *c, uint32_t call)
{
	size_t i = bisect(c->at.n, k, c->at.at[k].first <= call);
	return &c->at.at[i - 1];
}
