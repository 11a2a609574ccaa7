/* See loop_names.h. */
#include "core/steps/loop_names.h"

#include "core/source/journal/native.h"
#include "core/source/journal/pylines.h"
#include "core/steps/loop_lines.h"
#include "core/symbols/source.h"
#include "core/util/bisect.h"

#include <math.h>
#include <string.h>

enum { INNER_MOST = 4, OTHERS_MOST = 3 };

/* Share of the time; a loop with less changes no figure by more than a percent. */
#define OTHER_LEAST 0.01

struct namer {
	const struct loop_tree *tree;
	struct arena *arena;
	struct native *native; /* NULL until native code is met */
	struct strtab texts;
	struct source source;
};

static void free_namer(struct namer *x)
{
	if (x->native)
		native_free(x->native);
	strtab_free(&x->texts);
	source_free(&x->source);
}

static const struct code_entry *code_of(const struct namer *x, const struct loop_frame *f)
{
	return dict_code(x->tree->stacks.dict, f->raw >> 32 & 0x7fffffff);
}

static uint32_t line_at(const struct namer *x, const struct code_entry *c, uint64_t at)
{
	const struct dict *d = x->tree->stacks.dict;
	return pylines_line((enum line_table)c->lines, d->tables.at + c->table, c->table_bytes,
			    c->first_line, (uint32_t)at);
}

static struct loop_name name_python(const struct namer *x, const struct loop_frame *f,
				    uint32_t line)
{
	const struct dict *d = x->tree->stacks.dict;
	const struct code_entry *c = code_of(x, f);
	if (!c)
		return (struct loop_name){ .file = "", .function = "" };
	return (struct loop_name){
		.file = arena_text(x->arena, strtab_text(&d->t.names, c->file)),
		.function = arena_text(x->arena, strtab_text(&d->t.names, c->name)),
		.line = line,
	};
}

/*
 * Returns the line of a loop's statement. The compiler begins a `while` with its body, and tests
 * the condition at the end. All code of the loop stands inside the statement, so the smallest line
 * is that of the statement. Instructions without a line have the function's first one.
 */
static uint32_t statement_line(const struct namer *x, const struct loop_frame *f, uint32_t number)
{
	enum { PLACES_MOST = 512 };
	uint64_t places[PLACES_MOST];
	const struct code_entry *c = code_of(x, f);
	if (!c)
		return 0;
	uint32_t line = line_at(x, c, flow_loop_at(f->flow, number));
	size_t n = flow_loop_places(f->flow, number, places, PLACES_MOST);
	for (size_t i = 0; i < n; i++) {
		uint32_t other = line_at(x, c, places[i]);
		if (other > c->first_line && other < line)
			line = other;
	}
	return line;
}

static bool is_of_user(const struct loop_frame *f)
{
	return f->is & LOOP_FRAME_PYTHON && !(f->is & (LOOP_FRAME_LIBRARY | LOOP_FRAME_FRAMEWORK));
}

static bool is_standard(const struct namer *x, const struct loop_frame *f)
{
	const struct code_entry *c = code_of(x, f);
	const char *file = c ? strtab_text(&x->tree->stacks.dict->t.names, c->file) : "";
	return f->is & LOOP_FRAME_LIBRARY && !strstr(file, "-packages/");
}

/* Returns the outermost frame of the user's code from `level` on; NULL: there is none. */
static const struct loop_frame *user_frame(const struct loop_stacks *s,
					   const struct loop_stack *stack, size_t level)
{
	while (level < stack->n && !is_of_user(&s->frames.at[stack->frames[level]]))
		level++;
	return level < stack->n ? &s->frames.at[stack->frames[level]] : NULL;
}

/* Returns the user's function on a thread that the loop has created; NULL: there is none. */
static const struct loop_frame *called_on_thread(const struct namer *x, uint32_t place)
{
	const struct loop_stacks *s = &x->tree->stacks;
	for (size_t i = 0; i < x->tree->births.n; i++) {
		const struct loop_birth *b = &x->tree->births.at[i];
		uint32_t p = b->place;
		while (p != LOOP_NONE && p != place)
			p = s->places.at[p].parent;
		const struct loop_frame *f = p == place && b->first ? user_frame(s, b->first, 0)
								    : NULL;
		if (f)
			return f;
	}
	return NULL;
}

/*
 * Returns the user's function that the library calls in most stacks of the loop; NULL: there is
 * none.
 */
static const struct loop_frame *called_by(const struct namer *x, uint32_t place)
{
	const struct loop_stacks *s = &x->tree->stacks;
	struct map counts = { 0 };
	const struct loop_frame *best = NULL;
	uint64_t most = 0;
	for (size_t i = 0; i < s->stacks.n; i++) {
		const struct loop_stack *stack = s->stacks.at[i];
		size_t k = 0;
		while (k < stack->n_loops && stack->loops[k].loop != place)
			k++;
		const struct loop_frame *f =
			k < stack->n_loops ? user_frame(s, stack, stack->loops[k].level) : NULL;
		if (!f)
			continue;
		uint64_t *n = map_at(&counts, f->function, NULL);
		if (++*n > most) {
			most = *n;
			best = f;
		}
	}
	map_free(&counts);
	return best ? best : called_on_thread(x, place);
}

/* A loop's name, and other places by which it can be asked for. */
struct named {
	struct loop_name name;
	uint32_t body;		/* see struct loop_lines */
	const char *other_file; /* the place of its first instruction */
	uint32_t other_line;
};

/* Returns the line of a statement without code whose body begins at `line`; else `line`. */
static uint32_t endless_line(struct namer *x, const char *file, uint32_t line)
{
	const char *folder = tables_fact(&x->tree->stacks.dict->t, "cwd");
	return source_endless(&x->source, &x->texts, folder ? folder : "", file, line);
}

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
	if (lines.at.line && lines.at.line == lines.body)
		lines.at.line = endless_line(x, lines.at.file, lines.body);
	return (struct named){ .name = { .file = arena_text(x->arena, lines.at.file),
					 .function = arena_text(x->arena, lines.at.function),
					 .line = lines.at.line },
			       .body = lines.body,
			       .other_file = arena_text(x->arena, lines.first.file),
			       .other_line = lines.first.line };
}

static struct named named_python(struct namer *x, const struct loop_frame *f, uint32_t place)
{
	uint32_t number = x->tree->stacks.places.at[place].number;
	const struct code_entry *c = code_of(x, f);
	struct named named = { .name = name_python(x, f, statement_line(x, f, number)),
			       .body = c ? line_at(x, c, flow_loop_at(f->flow, number)) : 0,
			       .other_file = "" };
	if (named.body && named.name.line == named.body)
		named.name.line = endless_line(x, named.name.file, named.body);
	const struct loop_frame *called = is_standard(x, f) ? called_by(x, place) : NULL;
	if (!called)
		return named;
	named.other_file = named.name.file;
	named.other_line = named.name.line;
	named.name = name_python(x, called, code_of(x, called)->first_line);
	named.name.is_call = true;
	named.body = named.name.line;
	return named;
}

static struct named named_of(struct namer *x, const struct loop *l)
{
	const struct loop_place *p = &x->tree->stacks.places.at[l->place];
	const struct loop_frame *f = &x->tree->stacks.frames.at[p->frame];
	struct named named = f->is & LOOP_FRAME_PYTHON ? named_python(x, f, l->place)
						       : name_native(x, f, p);
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

/* Returns whether the loop is around the step's loop, or that loop itself. */
static bool is_step_or_around(const struct namer *x, const struct loop *l, const struct loop *step)
{
	const struct loop *at = step;
	while (at && at != l)
		at = loop_tree_parent(x->tree, at);
	return at;
}

/* Returns whether the steps include iterations of the loop: of a phase, or of another call. */
static bool is_counted(const struct loop_choice *c, const struct loop *l)
{
	const struct loop_iteration *first = &l->iterations.at[0];
	uint64_t ticks = loop_iteration_begin(first);
	size_t i = bisect(c->begins.n, k, c->begins.at[k].ticks < ticks);
	return i < c->begins.n && c->begins.at[i].ticks == ticks &&
	       c->begins.at[i].slot == first->slot;
}

/*
 * Returns whether most iterations of the loop run while the steps do, as those of a thread for the
 * backward pass.
 */
static bool is_parallel(const struct loop *l, const struct loop *step)
{
	size_t n = 0, n_steps = step->iterations.n;
	for (size_t i = 0; i < l->iterations.n; i++) {
		const struct loop_iteration *it = &l->iterations.at[i];
		size_t k = bisect(n_steps, s, step->iterations.at[s].end_ticks <= it->begin_ticks);
		n += k < n_steps && step->iterations.at[k].begin_ticks < it->end_ticks;
	}
	return 2 * n > l->iterations.n;
}

/* Returns whether the loop is apart from the step's, and no loop around it is. */
static bool is_other(const struct namer *x, const struct loop *l, const struct loop_choice *c)
{
	const struct loop *step = &x->tree->loops.at[c->loop];
	if (!loop_goes_round(l) || !loop_may_be_step(x->tree, l) || is_step_or_around(x, l, step) ||
	    l->place == c->other || is_counted(c, l) || is_parallel(l, step))
		return false;
	for (const struct loop *o = l; (o = loop_tree_parent(x->tree, o)) != NULL;)
		if (loop_may_be_step(x->tree, o))
			return is_step_or_around(x, o, step) && o != step;
	return true;
}

/*
 * Returns the time from the first loop's begin to the last one's end, of those that may be the
 * step. So the time in which Python imports modules does not count.
 */
static double whole_ticks(const struct loop_tree *t)
{
	uint64_t begin = UINT64_MAX, end = 0;
	for (size_t i = 0; i < t->loops.n; i++) {
		const struct loop *l = &t->loops.at[i];
		bool counts = loop_goes_round(l) && loop_may_be_step(t, l);
		for (size_t k = 0; counts && k < l->iterations.n; k++) {
			const struct loop_iteration *it = &l->iterations.at[k];
			begin = it->begin_ticks < begin ? it->begin_ticks : begin;
			end = it->end_ticks > end ? it->end_ticks : end;
		}
	}
	return end > begin ? (double)(end - begin) : 1;
}

static void name_others(struct namer *x, struct loop_names *to, const struct loop_choice *c)
{
	VEC(const struct loop *) others = { 0 };
	double whole = whole_ticks(x->tree);
	for (size_t i = 0; i < x->tree->loops.n; i++) {
		const struct loop *l = &x->tree->loops.at[i];
		if (is_other(x, l, c) && (double)l->ticks >= OTHER_LEAST * whole)
			vec_push(&others, l);
	}
	if (others.n)
		qsort(others.at, others.n, sizeof(*others.at), by_ticks);
	list_make(x->arena, &to->others, others.n < OTHERS_MOST ? others.n : OTHERS_MOST);
	for (size_t i = 0; i < to->others.n; i++) {
		to->others.at[i] = name_of(x, others.at[i]);
		to->others.at[i].share = fmin((double)others.at[i]->ticks / whole, 1);
	}
	vec_free(&others);
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
	name_others(&x, to, c);
	if (c->other != LOOP_NONE) {
		struct loop_name *instead = arena_zero(a, sizeof(*instead));
		*instead = name_of(&x, &t->loops.at[c->other]);
		/* two loops of a library that call one function have one name */
		bool is_same = instead->line == to->step.line &&
			       !strcmp(instead->file, to->step.file);
		to->instead = is_same ? NULL : instead;
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
