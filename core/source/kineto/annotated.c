/*
 * See annotated.h. Annotations of one kind on one thread are the steps if they do not overlap and
 * contain nearly all launches. So a forward pass that is annotated alone is not a step. Names of
 * one kind differ in their numbers, and in what comes in brackets: "step[DECODE bs=32]" and
 * "step[EXTEND bs=1]" are of one kind.
 */
#include "core/source/kineto/annotated.h"

#include "core/source/kineto/api.h"
#include "core/source/kineto/stacks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The part of the launches between the first and the last step that lies in the steps, and the part
 * of all launches that lies between the first and the last step. */
#define INSIDE_LEAST  0.9
#define COVERED_LEAST 0.5

enum { KIND_BYTES = 64 };

struct kind {
	uint32_t name, thread;
	VEC(uint32_t) slices; /* indices in t->slices, by time */
	bool overlaps;
};

struct search {
	struct trace *t;
	VEC(struct kind) kinds;
	struct map kind_of;	/* name and thread -> index in kinds */
	VEC(uint64_t) launches; /* when each began, sorted */
};

/* Returns how many bytes of the name belong to its kind: those before a bracket, and all of a name
 * like "[pl][profile]run_training_batch" that begins with brackets. */
static size_t bytes_of_kind(const char *name)
{
	size_t before = strcspn(name, "([{");
	return before ? before : strlen(name);
}

/* Returns the kind of the name, in `tables.names`; 0: of PyTorch's own annotations. */
static uint32_t kind_of_name(struct trace *t, uint32_t name)
{
	const char *text = strtab_text(&t->tables.names, name), *end = text + bytes_of_kind(text);
	char kind[KIND_BYTES];
	size_t n = 0;
	if (stacks_is_frame(text))
		return 0;
	for (; text < end && n + 1 < sizeof(kind); text++) {
		bool is_digit = isdigit((unsigned char)*text);
		if (is_digit && n && kind[n - 1] == '#')
			continue;
		kind[n++] = is_digit ? '#' : *text;
	}
	while (n && isspace((unsigned char)kind[n - 1]))
		n--;
	kind[n] = 0;
	return n ? strtab_intern(&t->tables.names, kind) : 0;
}

static void add_annotation(struct search *x, uint32_t slice)
{
	const struct trace_slice *s = &x->t->slices.at[slice];
	uint32_t name = kind_of_name(x->t, s->name);
	bool is_new;
	if (!name)
		return;
	uint64_t *at = map_at(&x->kind_of, (uint64_t)name << 32 | s->thread, &is_new);
	if (is_new) {
		*at = x->kinds.n;
		vec_push(&x->kinds, ((struct kind){ .name = name, .thread = s->thread }));
	}
	struct kind *k = &x->kinds.at[*at];
	if (k->slices.n)
		k->overlaps |= s->begin_ns < x->t->slices.at[k->slices.at[k->slices.n - 1]].end_ns;
	vec_push(&k->slices, slice);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void list_launches(struct search *x)
{
	const struct trace *t = x->t;
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct trace_call *c = &t->calls.at[i];
		uint8_t category = api_category(strtab_text(&t->tables.names, c->name));
		if (!c->is_captured && category_is_launch(category))
			vec_push(&x->launches, c->begin_ns);
	}
	if (x->launches.n)
		qsort(x->launches.at, x->launches.n, sizeof(*x->launches.at), by_value);
}

static size_t launches_between(const struct search *x, uint64_t begin_ns, uint64_t end_ns)
{
	return bisect(x->launches.n, i, x->launches.at[i] < end_ns) -
	       bisect(x->launches.n, i, x->launches.at[i] < begin_ns);
}

static bool are_steps(const struct search *x, const struct kind *k)
{
	const struct trace_slice *slices = x->t->slices.at;
	size_t n_inside = 0;
	if (k->overlaps || !x->launches.n)
		return false;
	for (size_t i = 0; i < k->slices.n; i++) {
		const struct trace_slice *s = &slices[k->slices.at[i]];
		size_t n = launches_between(x, s->begin_ns, s->end_ns);
		if (!n)
			return false;
		n_inside += n;
	}
	size_t n_covered = launches_between(x, slices[k->slices.at[0]].begin_ns,
					    slices[k->slices.at[k->slices.n - 1]].end_ns);
	return (double)n_inside >= INSIDE_LEAST * (double)n_covered &&
	       (double)n_covered >= COVERED_LEAST * (double)x->launches.n;
}

/* Returns whether `a` is a better choice: it repeats, and contains the other one. */
static bool is_better(const struct search *x, const struct kind *a, const struct kind *b)
{
	const struct trace_slice *first = &x->t->slices.at[a->slices.at[0]],
				 *other = &x->t->slices.at[b->slices.at[0]];
	if ((a->slices.n > 1) != (b->slices.n > 1))
		return a->slices.n > 1;
	return first->end_ns - first->begin_ns > other->end_ns - other->begin_ns;
}

void annotated_find(struct annotated *a, struct trace *t)
{
	struct search x = { .t = t };
	const struct kind *best = NULL;
	memset(a, 0, sizeof(*a));
	list_launches(&x);
	for (size_t i = 0; i < t->slices.n; i++)
		if (t->slices.at[i].category == EVENT_ANNOTATION)
			add_annotation(&x, (uint32_t)i);
	for (size_t i = 0; i < x.kinds.n; i++)
		if (are_steps(&x, &x.kinds.at[i]) && (!best || is_better(&x, &x.kinds.at[i], best)))
			best = &x.kinds.at[i];
	for (size_t i = 0; best && i < best->slices.n; i++) {
		const struct trace_slice *s = &t->slices.at[best->slices.at[i]];
		vec_push(&a->spans, ((struct trace_span){ s->begin_ns, s->end_ns, s->thread }));
	}
	a->name = best ? best->name : 0;
	for (size_t i = 0; i < x.kinds.n; i++)
		vec_free(&x.kinds.at[i].slices);
	vec_free(&x.kinds);
	vec_free(&x.launches);
	map_free(&x.kind_of);
}

void annotated_free(struct annotated *a)
{
	vec_free(&a->spans);
}
