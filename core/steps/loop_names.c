/* See loop_names.h. */
#include "core/steps/loop_names.h"

#include "core/source/journal/native.h"
#include "core/source/journal/pylines.h"
#include "core/steps/loop_lines.h"

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

/* A loop's name, and other places by which it can be asked for. */
struct named {
	struct loop_name name;
	uint32_t body;		/* see struct loop_lines */
	const char *other_file; /* the place of its first instruction */
	uint32_t other_line;
};

static struct named name_native(struct namer *x, const struct loop_frame *f,
				const struct loop_place *p)
{
	if (!x->native)
		x->native = native_new(x->tree->stacks.dict, &x->texts);
	const struct native_loop loop = { .module = f->raw & ~0xffffffffffffull,
					  .flow = f->flow,
					  .number = p->number,
					  .sites = p->sites.at,
					  .n_sites = p->sites.n };
	struct loop_lines lines = loop_lines_find(x->native, &loop);
	return (struct named){ .name = { .file = arena_text(x->arena, lines.at.file),
					 .function = arena_text(x->arena, lines.at.function),
					 .line = lines.at.line },
			       .body = lines.body,
			       .other_file = arena_text(x->arena, lines.first.file),
			       .other_line = lines.first.line };
}

static struct named named_of(struct namer *x, const struct loop *l)
{
	const struct loop_place *p = &x->tree->stacks.places.at[l->place];
	const struct loop_frame *f = &x->tree->stacks.frames.at[p->frame];
	struct named named = { .other_file = "" };
	if (f->is & LOOP_FRAME_PYTHON)
		named.name = name_python(x, f, flow_loop_at(f->flow, p->number));
	else
		named = name_native(x, f, p);
	named.name.iterations = l->iterations.n;
	return named;
}

static struct loop_name name_of(struct namer *x, const struct loop *l)
{
	return named_of(x, l).name;
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

/* A place that the user asks for. */
struct wanted {
	const char *file; /* the end of the file's name, without a 0 after it */
	size_t bytes;
	long line;
};

/* Ranks how well a loop answers to a place. */
enum { NO_ANSWER, BY_BODY, BY_FIRST, BY_NAME };

/*
 * Returns how well the loop answers to the place: by its own line, by its first instruction (whose
 * line was once the loop's), or by a line between the loop's and that of its body.
 */
static int answers(const struct named *l, const struct wanted *w)
{
	bool is_file = ends_with(l->name.file, w->file, w->bytes);
	if (is_file && (long)l->name.line == w->line)
		return BY_NAME;
	if ((long)l->other_line == w->line && ends_with(l->other_file, w->file, w->bytes))
		return BY_FIRST;
	return is_file && (long)l->name.line < w->line && w->line <= (long)l->body ? BY_BODY
										   : NO_ANSWER;
}

int64_t loop_names_find(const struct loop_tree *t, const char *file_and_line)
{
	struct arena arena = { 0 };
	struct namer x = { .tree = t, .arena = &arena };
	const char *colon = strrchr(file_and_line, ':');
	struct wanted wanted = { .file = file_and_line };
	if (colon) {
		wanted.bytes = (size_t)(colon - file_and_line);
		wanted.line = strtol(colon + 1, NULL, 10);
	}
	int64_t best = -1;
	int best_answer = NO_ANSWER;
	for (size_t i = 0; colon && i < t->loops.n; i++) {
		const struct loop *l = &t->loops.at[i];
		if (!loop_goes_round(l))
			continue;
		struct named named = named_of(&x, l);
		int answer = answers(&named, &wanted);
		if (answer > best_answer || (answer && answer == best_answer &&
					     l->iterations.n > t->loops.at[best].iterations.n)) {
			best = (int64_t)i;
			best_answer = answer;
		}
	}
	free_namer(&x);
	arena_free(&arena);
	return best;
}
