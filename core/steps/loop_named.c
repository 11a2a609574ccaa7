/* See loop_named.h. */
#include "core/steps/loop_named.h"

#include "core/source/journal/pylines.h"
#include "core/steps/loop_lines.h"

#include <string.h>

void loop_namer_free(struct loop_namer *x)
{
	if (x->native)
		native_free(x->native);
	strtab_free(&x->texts);
	source_free(&x->source);
}

static const struct code_entry *code_of(const struct loop_namer *x, const struct loop_frame *f)
{
	return dict_code(x->tree->stacks.dict, f->raw >> 32 & 0x7fffffff);
}

static uint32_t line_at(const struct loop_namer *x, const struct code_entry *c, uint64_t at)
{
	const struct dict *d = x->tree->stacks.dict;
	return pylines_line((enum line_table)c->lines, d->tables.at + c->table, c->table_bytes,
			    c->first_line, (uint32_t)at);
}

static struct loop_name name_python(const struct loop_namer *x, const struct loop_frame *f,
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
static uint32_t statement_line(const struct loop_namer *x, const struct loop_frame *f,
			       uint32_t number)
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

typedef VEC(struct flow_site) flow_sites;

static bool is_of_user(const struct loop_frame *f)
{
	return f->is & LOOP_FRAME_PYTHON && !(f->is & (LOOP_FRAME_LIBRARY | LOOP_FRAME_FRAMEWORK));
}

static bool is_standard(const struct loop_namer *x, const struct loop_frame *f)
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
static const struct loop_frame *called_on_thread(const struct loop_namer *x, uint32_t place)
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
static const struct loop_frame *called_by(const struct loop_namer *x, uint32_t place)
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

/* Returns the line of a statement without code whose body begins at `line`; else `line`. */
static uint32_t endless_line(struct loop_namer *x, const char *file, uint32_t line)
{
	const char *folder = tables_fact(&x->tree->stacks.dict->t, "cwd");
	return source_endless(&x->source, &x->texts, folder ? folder : "", file, line);
}

/* Adds the calls in the loop, and in loops within it of the same function. */
static void add_sites(const struct loop_stacks *s, const struct loop_place *p, flow_sites *to)
{
	uint32_t function = s->frames.at[p->frame].function;
	for (size_t i = 0; i < s->places.n; i++) {
		const struct loop_place *q = &s->places.at[i];
		while (q != p && q->parent != LOOP_NONE &&
		       s->frames.at[q->frame].function == function)
			q = &s->places.at[q->parent];
		const struct loop_place *inner = &s->places.at[i];
		for (size_t k = 0; q == p && k < inner->sites.n; k++)
			vec_push(to, inner->sites.at[k]);
	}
}

static struct loop_named name_native(struct loop_namer *x, const struct loop_frame *f,
				     const struct loop_place *p)
{
	flow_sites sites = { 0 };
	if (!x->native)
		x->native = native_new(x->tree->stacks.dict, &x->texts);
	add_sites(&x->tree->stacks, p, &sites);
	const struct native_loop loop = { .module = f->raw & ~0xffffffffffffull,
					  .flow = f->flow,
					  .number = p->number,
					  .sites = sites.at,
					  .n_sites = sites.n };
	struct loop_lines lines = loop_lines_find(x->native, &loop);
	vec_free(&sites);
	if (lines.at.line && lines.at.line == lines.body)
		lines.at.line = endless_line(x, lines.at.file, lines.body);
	return (struct loop_named){ .name = { .file = arena_text(x->arena, lines.at.file),
					      .function = arena_text(x->arena, lines.at.function),
					      .line = lines.at.line },
				    .body = lines.body,
				    .other_file = arena_text(x->arena, lines.first.file),
				    .other_line = lines.first.line };
}

static struct loop_named named_python(struct loop_namer *x, const struct loop_frame *f,
				      uint32_t place)
{
	uint32_t number = x->tree->stacks.places.at[place].number;
	const struct code_entry *c = code_of(x, f);
	struct loop_named named = { .name = name_python(x, f, statement_line(x, f, number)),
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

struct loop_named loop_named_of(struct loop_namer *x, const struct loop *l)
{
	const struct loop_place *p = &x->tree->stacks.places.at[l->place];
	const struct loop_frame *f = &x->tree->stacks.frames.at[p->frame];
	struct loop_named named = f->is & LOOP_FRAME_PYTHON ? named_python(x, f, l->place)
							    : name_native(x, f, p);
	named.name.iterations = l->iterations.n;
	return named;
}
