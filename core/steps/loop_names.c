/* See loop_names.h. */
#include "core/steps/loop_names.h"

#include "core/source/journal/native.h"
#include "core/source/journal/pylines.h"
#include "core/symbols/origin.h"

#include <string.h>

enum { INNER_MOST = 4 };

struct namer {
	const struct loop_tree *tree;
	struct arena *arena;
	struct native *native; /* NULL until native code is met */
	struct strtab texts;
};

static void free_namer(struct namer *x)
{
	if (x->native)
		native_free(x->native);
	strtab_free(&x->texts);
}

static struct loop_name name_python(const struct namer *x, const struct loop_frame *f, uint64_t at)
{
	const struct dict *d = x->tree->stacks.dict;
	const struct code_entry *c = dict_code(d, f->raw >> 32 & 0x7fffffff);
	if (!c)
		return (struct loop_name){ .file = "", .function = "" };
	return (struct loop_name){
		.file = arena_text(x->arena, strtab_text(&d->t.names, c->file)),
		.function = arena_text(x->arena, strtab_text(&d->t.names, c->name)),
		.line = pylines_line((enum line_table)c->lines, d->tables.at + c->table,
				     c->table_bytes, c->first_line, (uint32_t)at),
	};
}

/* Of inlined functions, the innermost one in the user's own source. */
static struct loop_name name_native(struct namer *x, const struct loop_frame *f, uint64_t at)
{
	struct source_frame found[STACK_INLINED_MOST];
	if (!x->native)
		x->native = native_new(x->tree->stacks.dict, &x->texts);
	uint64_t module = f->raw & ~0xffffffffffffull;
	size_t n = native_find(x->native, module | at, false, found), i = 0;
	while (i + 1 < n && (!found[i].frame.line || origin_is_library_source(found[i].frame.file)))
		i++;
	return (struct loop_name){ .file = arena_text(x->arena, found[i].frame.file),
				   .function = arena_text(x->arena, found[i].frame.function),
				   .line = found[i].frame.line };
}

static struct loop_name name_of(struct namer *x, const struct loop *l)
{
	const struct loop_place *p = &x->tree->stacks.places.at[l->place];
	const struct loop_frame *f = &x->tree->stacks.frames.at[p->frame];
	uint64_t at = flow_loop_at(f->flow, p->number);
	struct loop_name name = f->is & LOOP_FRAME_PYTHON ? name_python(x, f, at)
							  : name_native(x, f, at);
	name.iterations = l->iterations.n;
	return name;
}

static void name_outer(struct namer *x, struct loop_names *to, const struct loop *step)
{
	size_t n = 0;
	for (const struct loop *l = step; (l = loop_tree_parent(x->tree, l)) != NULL;)
		n++;
	list_make(x->arena, &to->outer, n);
	n = 0;
	for (const struct loop *l = step; (l = loop_tree_parent(x->tree, l)) != NULL;)
		to->outer.at[n++] = name_of(x, l);
}

static int by_ticks(const void *a, const void *b)
{
	const struct loop *x = *(const struct loop *const *)a, *y = *(const struct loop *const *)b;
	return x->ticks > y->ticks ? -1 : x->ticks < y->ticks;
}

/* Names the loops of user code directly inside the step, as those of frameworks say little. */
static void name_inner(struct namer *x, struct loop_names *to, const struct loop *step)
{
	VEC(const struct loop *) inner = { 0 };
	for (size_t i = 0; i < x->tree->loops.n; i++) {
		const struct loop *l = &x->tree->loops.at[i];
		if (loop_goes_round(l) && loop_may_be_step(x->tree, l) &&
		    loop_tree_parent(x->tree, l) == step)
			vec_push(&inner, l);
	}
	if (inner.n)
		qsort(inner.at, inner.n, sizeof(*inner.at), by_ticks);
	list_make(x->arena, &to->inner, inner.n < INNER_MOST ? inner.n : INNER_MOST);
	for (size_t i = 0; i < to->inner.n; i++)
		to->inner.at[i] = name_of(x, inner.at[i]);
	vec_free(&inner);
}

void loop_names_make(struct loop_names *to, const struct loop_tree *t, const struct loop_choice *c,
		     struct arena *a)
{
	struct namer x = { .tree = t, .arena = a };
	const struct loop *step = &t->loops.at[c->loop];
	*to = (struct loop_names){ .step = name_of(&x, step) };
	if (c->is_grouped && c->begins.n)
		to->per_step = (double)step->iterations.n / (double)c->begins.n;
	name_outer(&x, to, step);
	name_inner(&x, to, step);
	if (c->other != LOOP_NONE) {
		struct loop_name *instead = arena_zero(a, sizeof(*instead));
		*instead = name_of(&x, &t->loops.at[c->other]);
		to->instead = instead;
	}
	free_namer(&x);
}

/* Returns whether `file` is `suffix` or ends with '/' and `suffix`. */
static bool ends_with(const char *file, const char *suffix, size_t n)
{
	size_t length = strlen(file);
	return n && length >= n && !memcmp(file + length - n, suffix, n) &&
	       (length == n || file[length - n - 1] == '/');
}

int64_t loop_names_find(const struct loop_tree *t, const char *file_and_line)
{
	struct arena arena = { 0 };
	struct namer x = { .tree = t, .arena = &arena };
	const char *colon = strrchr(file_and_line, ':');
	long line = colon ? strtol(colon + 1, NULL, 10) : 0;
	int64_t best = -1;
	for (size_t i = 0; colon && i < t->loops.n; i++) {
		const struct loop *l = &t->loops.at[i];
		if (!loop_goes_round(l))
			continue;
		struct loop_name name = name_of(&x, l);
		if ((long)name.line == line &&
		    ends_with(name.file, file_and_line, (size_t)(colon - file_and_line)) &&
		    (best < 0 || l->iterations.n > t->loops.at[best].iterations.n))
			best = (int64_t)i;
	}
	free_namer(&x);
	arena_free(&arena);
	return best;
}
