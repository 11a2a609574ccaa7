/* See views_flame.h. */
#include "export/views_flame.h"

#include "core/util/path.h"
#include "export/kernel_words.h"
#include "export/report_json.h"
#include "export/trace_walk.h"

#include <stdio.h>

enum {
	NODES_MOST = 2500,  /* of one graph: 40 KB of JSON */
	SHARE_LEAST = 2000, /* a node of less than 1/SHARE_LEAST of the width is no pixel wide */
	FRAME_BYTES = 400,
	DEPTH_MOST = 250,
};

/* ---- Sums ---- */

static bool is_same(const struct views_flame_sum *a, const struct views_flame_sum *b)
{
	return a->kind == b->kind && a->stack == b->stack && a->more[0] == b->more[0] &&
	       a->more[1] == b->more[1];
}

static void take(void *context, const struct stack_time *t)
{
	struct views_flame *f = context;
	struct views_flame_sum sum = { .stack = t->stack, .kind = (uint8_t)t->kind };
	for (size_t i = 0; i < STACK_TIME_MORE && t->more[i]; i++)
		sum.more[i] = strtab_intern(&f->names, t->more[i]);
	uint64_t key = trace_mix((uint64_t)sum.kind << 32 | sum.stack,
				 (uint64_t)sum.more[0] << 32 | sum.more[1]),
		 *index;
	for (; *(index = map_at(&f->index_of, key, NULL)); key++)
		if (is_same(&f->sums.at[*index - 1], &sum))
			break;
	if (!*index) {
		vec_push(&f->sums, sum);
		*index = f->sums.n;
	}
	f->sums.at[*index - 1].value += t->value;
}

void views_flame_add(struct views_flame *f, const struct analyzed_step *step)
{
	f->n_steps++;
	stack_times_walk(step, take, f);
}

void views_flame_free(struct views_flame *f)
{
	vec_free(&f->sums);
	map_free(&f->index_of);
	strtab_free(&f->names);
}

/* ---- Trees ---- */

struct node {
	uint64_t value;
	uint32_t name, parent, first_child, next; /* 0: none; node 0 is the root */
};

struct tree {
	const struct views_flame *flame;
	struct model_step step; /* only for its frames */
	VEC(struct node) nodes;
	struct map child_of;  /* parent << 32 | name -> node */
	struct strtab names;  /* the first byte is the kind */
	VEC(uint32_t) stored; /* by id of `names`: index + 1 in the JSON's names */
	json_t *texts, *list;
	VEC(char) kinds;
};

static void enter(struct tree *t, uint32_t *at, char kind, const char *text, uint64_t value)
{
	char name[FRAME_BYTES + 1];
	bool is_new;
	snprintf(name, sizeof(name), "%c%s", kind, text);
	uint32_t id = strtab_intern(&t->names, name);
	uint64_t *child = map_at(&t->child_of, (uint64_t)*at << 32 | id, &is_new);
	if (is_new) {
		*child = t->nodes.n;
		vec_push(&t->nodes, (struct node){ .name = id,
						   .parent = *at,
						   .next = t->nodes.at[*at].first_child });
		t->nodes.at[*at].first_child = (uint32_t)*child;
	}
	*at = (uint32_t)*child;
	t->nodes.at[*at].value += value;
}

static void enter_frame(struct tree *t, uint32_t *at, const struct frame *frame, uint64_t value)
{
	char text[FRAME_BYTES];
	char kind = frame->kind != FRAME_KIND_PYTHON ? 'n' : frame->is_library ? 'l' : 'p';
	if (frame->line)
		snprintf(text, sizeof(text), "%.250s (%.100s:%u)", frame->function,
			 path_base(frame->file), frame->line);
	else
		snprintf(text, sizeof(text), "%.250s", frame->function);
	enter(t, at, kind, text, value);
}

static void enter_sum(struct tree *t, const struct views_flame_sum *sum)
{
	struct frame_list list = stack_times_frames(&t->step, sum->stack);
	size_t n = list.n < DEPTH_MOST ? list.n : DEPTH_MOST;
	uint32_t at = 0;
	char name[FRAME_BYTES];
	t->nodes.at[0].value += sum->value;
	if (!n)
		enter(t, &at, 'g', "(no stack)", sum->value);
	for (size_t i = list.n; i-- > list.n - n;)
		enter_frame(t, &at, list.at[i], sum->value);
	for (size_t i = 0; i < STACK_TIME_MORE && sum->more[i]; i++) {
		const char *text = strtab_text(&t->flame->names, sum->more[i]);
		if (sum->kind == STACK_GPU)
			text = kernel_short(name, sizeof(name), text);
		enter(t, &at, 'g', text, sum->value);
	}
}

/* ---- JSON ---- */

static json_int_t stored_name(struct tree *t, uint32_t id)
{
	vec_at_id(&t->stored, id);
	if (!t->stored.at[id]) {
		const char *name = strtab_text(&t->names, id);
		json_array_append_new(t->texts, report_json_text(name + 1));
		vec_push(&t->kinds, *name);
		t->stored.at[id] = (uint32_t)json_array_size(t->texts);
	}
	return (json_int_t)t->stored.at[id] - 1;
}

static int by_value(const void *a, const void *b, void *context)
{
	const struct tree *t = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t of_x = t->nodes.at[x].value, of_y = t->nodes.at[y].value;
	return of_x != of_y ? (of_x < of_y ? 1 : -1)
			    : strcmp(strtab_text(&t->names, t->nodes.at[x].name),
				     strtab_text(&t->names, t->nodes.at[y].name));
}

/* Appends the children of a node, which are all of the depth `depth`. The depth is bounded, see
 * DEPTH_MOST. */
static void append_children(struct tree *t, uint32_t node, unsigned depth, uint64_t least)
{
	VEC(uint32_t) children = { 0 };
	for (uint32_t i = t->nodes.at[node].first_child; i; i = t->nodes.at[i].next)
		if (t->nodes.at[i].value >= least)
			vec_push(&children, i);
	if (children.n)
		qsort_r(children.at, children.n, sizeof(*children.at), by_value, t);
	for (size_t i = 0; i < children.n; i++) {
		const struct node *n = &t->nodes.at[children.at[i]];
		json_array_append_new(t->list, json_integer(depth));
		json_array_append_new(t->list, json_integer(stored_name(t, n->name)));
		json_array_append_new(t->list,
				      json_integer((json_int_t)(n->value / t->flame->n_steps)));
		append_children(t, children.at[i], depth + 1, least);
	}
	vec_free(&children);
}

static uint64_t least_value(const struct tree *t)
{
	uint64_t least = t->nodes.at[0].value / SHARE_LEAST + 1;
	for (size_t n = SIZE_MAX; n > NODES_MOST; least += n > NODES_MOST ? least : 0) {
		n = 0;
		for (size_t i = 1; i < t->nodes.n; i++)
			n += t->nodes.at[i].value >= least;
	}
	return least;
}

static json_t *describe(const struct views_flame *f, struct frames *frames,
			enum stack_time_kind kind, const char *what)
{
	struct tree t = { .flame = f, .step = { .frames = frames } };
	json_t *graph = NULL;
	vec_push(&t.nodes, (struct node){ 0 });
	for (size_t i = 0; i < f->sums.n; i++)
		if (f->sums.at[i].kind == kind)
			enter_sum(&t, &f->sums.at[i]);
	if (f->n_steps && t.nodes.at[0].value >= f->n_steps) {
		t.texts = json_array();
		t.list = json_array();
		append_children(&t, 0, 0, least_value(&t));
		vec_push(&t.kinds, 0);
		graph = json_pack("{s:s, s:I, s:o, s:s, s:o}", "what", what, "total",
				  (json_int_t)(t.nodes.at[0].value / f->n_steps), "names", t.texts,
				  "kinds", t.kinds.at, "tree", t.list);
	}
	vec_free(&t.nodes);
	map_free(&t.child_of);
	strtab_free(&t.names);
	vec_free(&t.stored);
	vec_free(&t.kinds);
	return graph;
}

json_t *views_flame_json(const struct views_flame *f, struct frames *frames)
{
	static const struct {
		enum stack_time_kind kind;
		const char *what;
	} graphs[] = { { STACK_GPU, "gpu" },
		       { STACK_CPU, "cpu" },
		       { STACK_BLOCKED, "blocked" },
		       { STACK_BYTES, "bytes" } };
	json_t *list = json_array();
	for (size_t i = 0; i < sizeof(graphs) / sizeof(*graphs); i++) {
		json_t *graph = describe(f, frames, graphs[i].kind, graphs[i].what);
		if (graph)
			json_array_append_new(list, graph);
	}
	return list;
}
