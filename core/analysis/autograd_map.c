/*
 * Divides the nodes of a step into backward passes. For this, the operators, the nodes and the
 * calls within backward() of all threads are sorted by time.
 *
 * Nodes may nest: a node may recompute forward operators and run their backward pass. An operator
 * inside N nodes has level N. The nodes that it creates have level N + 1. A pass of nodes of one
 * level ends when an operator begins that may create nodes of this level. A pass of level 1 also
 * ends at the next call within backward().
 */
#include "core/analysis/autograd_map.h"

#include "core/symbols/operators.h"
#include "core/util/order.h"

enum { ITEM_OP, ITEM_NODE, ITEM_CALL };

void autograd_map_free(struct autograd_map *t)
{
	strtab_free(&t->kinds);
	map_free(&t->kind_of);
	vec_free(&t->names);
	map_free(&t->call_of);
	vec_free(&t->fresh);
	vec_free(&t->items);
	vec_free(&t->nodes);
	vec_free(&t->node_of_call);
	vec_free(&t->open);
	vec_free(&t->ops);
	for (size_t i = 0; i < AUTOGRAD_MAP_LEVELS; i++)
		vec_free(&t->passes[i].nodes);
	vec_free(&t->match_ops);
	vec_free(&t->op_kinds);
	vec_free(&t->node_kinds);
	vec_free(&t->latest);
	vec_free(&t->earliest);
	vec_free(&t->match_nodes);
	vec_free(&t->is_wanted);
	map_free(&t->first_seen);
}

/* ---- Names ---- */

static struct autograd_map_name name_of(struct autograd_map *t, const char *operator)
{
	bool is_new;
	uint64_t *at = map_at(&t->kind_of, (uint64_t)(uintptr_t) operator, & is_new);
	if (is_new) {
		char kind[256];
		struct autograd_map_name name = { 0 };
		*at = t->names.n;
		name.role = operator_kind(operator, kind, sizeof(kind));
		name.kind = strtab_intern(&t->kinds, kind);
		vec_push(&t->names, name);
	}
	return t->names.at[*at];
}

static const struct engine_row {
	const char *begin;
	uint8_t call;
} engine_rows[] = {
	{ "torch::autograd::InputBuffer::add", AUTOGRAD_MAP_ACCUMULATING },
	{ "torch::autograd::validate_outputs", AUTOGRAD_MAP_REDUCING },
	{ "torch::autograd::Node::operator()", AUTOGRAD_MAP_OF_NODE },
	{ "c10d::", AUTOGRAD_MAP_OTHER },
};

/* Returns true for frames of modules and of the user's functions. Inside a node, such a frame means
 * that the call belongs to a recomputation or a hook, and has a line of its own. */
static bool is_program(const struct frame *f)
{
	return f->kind == FRAME_KIND_PYTHON &&
	       (!f->is_library || frame_phase_part(f) == PART_MODULE);
}

static enum autograd_map_call read_stack(struct autograd_map *t, struct frames *frames,
					 uint32_t stack)
{
	struct frame_list list = frames_of(frames, stack);
	for (size_t i = 0; i < list.n && !is_program(list.at[i]); i++) {
		const struct frame *f = list.at[i];
		const char *operator= frame_operator(f);
		enum operator_role role = *operator? name_of(t, operator).role : OPERATOR_FORWARD;
		if (role != OPERATOR_FORWARD)
			return role == OPERATOR_NODE ? AUTOGRAD_MAP_OF_NODE
						     : AUTOGRAD_MAP_ACCUMULATING;
		for (size_t k = 0; k < sizeof(engine_rows) / sizeof(*engine_rows); k++)
			if (!strncmp(f->function, engine_rows[k].begin,
				     strlen(engine_rows[k].begin)))
				return (enum autograd_map_call)engine_rows[k].call;
	}
	return AUTOGRAD_MAP_OTHER;
}

static enum autograd_map_call call_of(struct autograd_map *t, struct frames *frames, uint32_t stack)
{
	bool is_new;
	if (!stack)
		return AUTOGRAD_MAP_OTHER;
	uint64_t *at = map_at(&t->call_of, stack, &is_new);
	if (is_new) {
		enum autograd_map_call call = read_stack(t, frames, stack);
		*map_at(&t->call_of, stack, &is_new) = call;
		return call;
	}
	return (enum autograd_map_call) * at;
}

/* ---- A step's threads ---- */

void autograd_map_forget(struct autograd_map *t)
{
	t->ops.n = 0;
	for (size_t i = 0; i < AUTOGRAD_MAP_LEVELS; i++)
		t->passes[i].from = 0;
}

void autograd_map_begin(struct autograd_map *t, const struct model_step *m)
{
	size_t kept = 0;
	t->step++;
	for (size_t i = 0; i < t->ops.n; i++)
		if (t->ops.at[i].step + 1 == t->step)
			t->ops.at[kept++] = t->ops.at[i];
	for (size_t i = 0; i < AUTOGRAD_MAP_LEVELS; i++) {
		size_t gone = t->ops.n - kept, from = t->passes[i].from;
		t->passes[i].from = from > gone ? from - gone : 0;
		t->passes[i].nodes.n = 0;
	}
	t->ops.n = kept;
	t->fresh.n = t->items.n = t->nodes.n = 0;
	vec_reserve(&t->node_of_call, m->calls.n);
	t->node_of_call.n = m->calls.n;
	memset(t->node_of_call.at, 0, m->calls.n * sizeof(*t->node_of_call.at));
}

static void add_node(struct autograd_map *t, struct autograd_map_node node, uint64_t begin_ns,
		     uint32_t first_call, uint32_t n_calls)
{
	node.op = AUTOGRAD_MAP_NO_OP;
	vec_push(&t->items,
		 (struct autograd_map_item){ begin_ns, (uint32_t)t->nodes.n, ITEM_NODE });
	vec_push(&t->nodes, node);
	for (uint32_t i = first_call; i < first_call + n_calls; i++)
		t->node_of_call.at[i] = (uint32_t)t->nodes.n;
}

/* Returns true if the call's operator may create autograd nodes. Operators of evaluation passes
 * create none. */
static bool may_make_nodes(const struct phases *p, uint32_t call)
{
	uint8_t part = p->part_of_call.at[call];
	enum phase phase = phase_of_part(part);
	return (phase == PHASE_FORWARD && part != PART_EVALUATION) || part == PART_RECOMPUTE;
}

static void add_op(struct autograd_map *t, const struct model_step *m, const struct span *span,
		   const struct autograd_map_place *places, uint32_t kind, uint32_t level)
{
	vec_push(&t->items,
		 (struct autograd_map_item){ span->begin_ns, (uint32_t)t->fresh.n, ITEM_OP });
	vec_push(&t->fresh, (struct autograd_map_op){ .begin_ns = span->begin_ns,
						      .end_ns = span->end_ns,
						      .place = places[span->first_call],
						      .kind = kind,
						      .stack = m->calls.at[span->first_call].stack,
						      .level = level,
						      .step = t->step });
}

/* Removes the spans that do not enclose this one from `open`. Returns how many of the enclosing
 * spans are nodes or work of the autograd engine. */
static uint32_t nodes_around(struct autograd_map *t, const struct span_list *spans,
			     const struct span *span)
{
	uint32_t level = 0;
	while (t->open.n) {
		const struct span *o = &spans->at.at[t->open.at[t->open.n - 1]];
		if (spans_is_within(span, o))
			break;
		t->open.n--;
	}
	for (size_t i = 0; i < t->open.n; i++)
		level += name_of(t, spans->at.at[t->open.at[i]].operator).role != OPERATOR_FORWARD;
	return level;
}

static void add_span(struct autograd_map *t, const struct model_step *m, size_t thread,
		     const struct span *span, uint32_t level, const struct phases *phases,
		     const struct autograd_map_place *places, struct frames *frames)
{
	struct autograd_map_name name = name_of(t, span->operator);
	if (name.role == OPERATOR_NODE)
		add_node(t,
			 (struct autograd_map_node){ .kind = name.kind,
						     .level = level + 1,
						     .thread = (uint32_t)thread },
			 span->begin_ns, span->first_call, span->n_calls);
	else if (name.role == OPERATOR_FORWARD && name.kind &&
		 may_make_nodes(phases, span->first_call) &&
		 call_of(t, frames, m->calls.at[span->first_call].stack) == AUTOGRAD_MAP_OTHER)
		add_op(t, m, span, places, name.kind, level);
}

/* Notes the thread's calls within backward(). This is done only for threads without nodes: such a
 * thread waits in backward() for the autograd thread. */
static void add_callers(struct autograd_map *t, const struct model_step *m,
			const struct model_thread *of, const struct phases *phases)
{
	for (size_t i = of->first; i < of->first + of->n; i++)
		if (phases->part_of_call.at[i] == PART_BACKWARD)
			vec_push(&t->items, (struct autograd_map_item){ m->calls.at[i].begin_ns,
									(uint32_t)i, ITEM_CALL });
}

static void add_reductions(struct autograd_map *t, const struct model_step *m, size_t thread,
			   struct frames *frames)
{
	const struct model_thread *of = &m->threads.at[thread];
	for (size_t i = of->first; i < of->first + of->n; i++) {
		uint32_t around = t->node_of_call.at[i];
		if (call_of(t, frames, m->calls.at[i].stack) != AUTOGRAD_MAP_REDUCING)
			continue;
		add_node(t,
			 (struct autograd_map_node){
				 .level = around ? t->nodes.at[around - 1].level + 1 : 1,
				 .thread = (uint32_t)thread,
				 .is_reduction = true },
			 m->calls.at[i].begin_ns, (uint32_t)i, 1);
	}
}

void autograd_map_add_thread(struct autograd_map *t, const struct model_step *m, size_t thread,
			     const struct span_list *spans, const struct phases *phases,
			     const struct autograd_map_place *places, struct frames *frames)
{
	size_t n_nodes = t->nodes.n;
	t->open.n = 0;
	for (size_t i = 0; i < spans->at.n; i++) {
		const struct span *span = &spans->at.at[i];
		if (span->kind != SPAN_OPERATOR || !span->n_calls)
			continue;
		uint32_t level = nodes_around(t, spans, span);
		add_span(t, m, thread, span, level, phases, places, frames);
		vec_push(&t->open, (uint32_t)i);
	}
	if (t->nodes.n == n_nodes)
		add_callers(t, m, &m->threads.at[thread], phases);
	else
		add_reductions(t, m, thread, frames);
}

/* ---- The whole step ---- */

static void take(struct autograd_map *t, const struct autograd_map_item *item)
{
	if (item->what == ITEM_CALL) {
		autograd_solve(t, 1);
	} else if (item->what == ITEM_OP) {
		uint32_t level = t->fresh.at[item->index].level;
		if (level < AUTOGRAD_MAP_LEVELS && t->passes[level].nodes.n)
			autograd_solve(t, level + 1);
		vec_push(&t->ops, t->fresh.at[item->index]);
	} else if (t->nodes.at[item->index].level <= AUTOGRAD_MAP_LEVELS) {
		vec_push(&t->passes[t->nodes.at[item->index].level - 1].nodes, item->index);
	}
}

static void assign_calls(struct autograd_map *t, const struct model_step *m, struct frames *frames,
			 struct autograd_map_place *tied, bool *is_backward)
{
	for (size_t k = 0; k < m->threads.n; k++) {
		const struct model_thread *of = &m->threads.at[k];
		uint32_t last = 0;
		for (size_t i = of->first; i < of->first + of->n; i++) {
			enum autograd_map_call call = call_of(t, frames, m->calls.at[i].stack);
			uint32_t node = t->node_of_call.at[i];
			if (call == AUTOGRAD_MAP_ACCUMULATING)
				node = last;
			else if (call != AUTOGRAD_MAP_OTHER)
				last = node;
			is_backward[i] = call != AUTOGRAD_MAP_OTHER;
			if (is_backward[i] && node)
				tied[i] = t->nodes.at[node - 1].place;
		}
	}
}

void autograd_map_end(struct autograd_map *t, const struct model_step *m, struct frames *frames,
		      struct autograd_map_place *tied, bool *is_backward)
{
	struct order_key *keys = mem_resize(NULL, (t->items.n + 1) * sizeof(*keys));
	for (size_t i = 0; i < t->items.n; i++)
		keys[i] = (struct order_key){ t->items.at[i].begin_ns, (uint32_t)i };
	order_sort(keys, t->items.n);
	for (size_t i = 0; i < t->items.n; i++)
		take(t, &t->items.at[keys[i].index]);
	for (uint32_t level = AUTOGRAD_MAP_LEVELS; level > 0; level--)
		autograd_solve(t, level);
	assign_calls(t, m, frames, tied, is_backward);
	free(keys);
}
