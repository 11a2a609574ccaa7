/* The tree of each thread, and its sums: op_tree.py, node.py. */
#include "core/peers/plugin_build.h"

#include <string.h>

/* ---- Trees ---- */

struct sorted {
	double start, end;
	uint32_t node;
};

static int by_start(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	if (x->start < y->start || x->start > y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end < y->end || x->end > y->end)
		return x->end > y->end ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static void append_child(struct plugin_trace *t, uint32_t parent, uint32_t child)
{
	struct plugin_node *p = &t->nodes.at[parent];
	t->nodes.at[child].parent = parent;
	if (p->last == PLUGIN_NO_NODE)
		p->first = child;
	else
		t->nodes.at[p->last].next = child;
	p->last = child;
}

/* Sorts the thread's nodes so that parents come first, and links them. A node that crosses the end
 * of its parent is dropped. */
static void link_nodes(struct plugin_trace *t, struct plugin_thread *thread)
{
	struct sorted *sorted = mem_resize(NULL, thread->nodes.n * sizeof(*sorted));
	plugin_indices stack = { 0 };
	vec_push(&stack, thread->root);
	for (size_t i = 0; i < thread->nodes.n; i++) {
		const struct plugin_node *node = &t->nodes.at[thread->nodes.at[i]];
		sorted[i] = (struct sorted){ node->start, node->end, thread->nodes.at[i] };
	}
	qsort(sorted, thread->nodes.n, sizeof(*sorted), by_start);
	for (size_t i = 0; i < thread->nodes.n; i++) {
		struct plugin_node *node = &t->nodes.at[sorted[i].node];
		thread->nodes.at[i] = sorted[i].node;
		while (stack.n > 1 && node->start >= t->nodes.at[stack.at[stack.n - 1]].end)
			stack.n--;
		uint32_t parent = stack.at[stack.n - 1];
		node->is_gone = node->end > t->nodes.at[parent].end;
		if (node->is_gone)
			continue;
		append_child(t, parent, sorted[i].node);
		vec_push(&stack, sorted[i].node);
	}
	vec_free(&stack);
	free(sorted);
}

/* An operator whose only child is an operator with the same name takes over the child's children
 * and calls. */
static void merge_duplicates(struct plugin_trace *t, const struct plugin_thread *thread)
{
	for (size_t i = 0; i < thread->nodes.n; i++) {
		struct plugin_node *node = &t->nodes.at[thread->nodes.at[i]];
		while (!node->is_gone && node->first != PLUGIN_NO_NODE &&
		       node->first == node->last) {
			struct plugin_node *child = &t->nodes.at[node->first];
			if (node->type != PLUGIN_OPERATOR || child->type != PLUGIN_OPERATOR ||
			    node->row->name != child->row->name)
				break;
			child->is_gone = true;
			vec_free(&node->calls);
			node->calls.at = child->calls.at;
			node->calls.n = child->calls.n;
			node->calls.room = child->calls.room;
			memset(&child->calls, 0, sizeof(child->calls));
			node->first = child->first;
			node->last = child->last;
			for (uint32_t c = node->first; c != PLUGIN_NO_NODE; c = t->nodes.at[c].next)
				t->nodes.at[c].parent = thread->nodes.at[i];
		}
	}
}

static void sort_calls(plugin_indices *list, const struct plugin_trace *t)
{
	struct sorted *sorted = mem_resize(NULL, list->n * sizeof(*sorted));
	for (size_t i = 0; i < list->n; i++) {
		const struct peer_row *row = t->calls.at[list->at[i]].row;
		/* what has no begin comes last, and Python counts 0 as none */
		bool is_known = row && row->ts > 0;
		sorted[i] = (struct sorted){ is_known ? row->ts : INFINITY,
					     is_known ? plugin_end(row) : 0, list->at[i] };
	}
	qsort(sorted, list->n, sizeof(*sorted), by_start);
	for (size_t i = 0; i < list->n; i++)
		list->at[i] = sorted[i].node;
	free(sorted);
}

static void fill_call(struct plugin_trace *t, struct plugin_call *call,
		      const struct plugin_node *node)
{
	for (size_t i = 0; i < call->works.n; i++) {
		struct plugin_work *w = &t->works.at[call->works.at[i]];
		double us = plugin_end(w->row) - w->row->ts;
		if (node->row)
			w->operator_name = node->row->name;
		else
			w->operator_name = strtab_intern(&t->rows.names, "CallTreeRoot");
		w->is_eligible = node->is_eligible;
		call->device_us += us;
		call->tensor_us += w->has_tensor_cores ? us : 0;
	}
}

static void fill_node(struct plugin_trace *t, uint32_t number)
{
	struct plugin_node *node = &t->nodes.at[number];
	plugin_indices calls = { node->calls.at, node->calls.n, node->calls.room };
	sort_calls(&calls, t);
	for (size_t i = 0; i < calls.n; i++)
		fill_call(t, &t->calls.at[calls.at[i]], node);
	node->self_host_us = node->end - node->start;
	for (uint32_t c = node->first; c != PLUGIN_NO_NODE; c = t->nodes.at[c].next) {
		const struct plugin_node *child = &t->nodes.at[c];
		node->device_us += child->device_us;
		node->self_host_us -= child->end - child->start;
		node->tensor_us += child->tensor_us;
		node->is_eligible |= node->type == PLUGIN_OPERATOR && child->is_eligible;
	}
	for (size_t i = 0; i < calls.n; i++) {
		const struct plugin_call *call = &t->calls.at[calls.at[i]];
		if (call->row)
			node->self_host_us -= plugin_end(call->row) - call->row->ts;
		node->device_us += call->device_us;
		node->self_device_us += call->device_us;
		node->self_tensor_us += call->tensor_us;
		node->tensor_us += call->tensor_us;
		node->is_eligible |= node->type == PLUGIN_OPERATOR && call->tensor_us > 0;
	}
	for (uint32_t c = node->first; c != PLUGIN_NO_NODE; c = t->nodes.at[c].next)
		if ((node->type == PLUGIN_MODULE || node->type == PLUGIN_LIGHTNING) &&
		    t->nodes.at[c].is_operator)
			node->self_device_us += t->nodes.at[c].device_us;
}

/* Works without a call belong to the roots of the threads with steps, by a call of their own. */
static void add_stale(struct plugin_building *b, struct plugin_node *root)
{
	struct plugin_trace *t = b->t;
	struct plugin_call call = { .has_works = true };
	for (size_t i = 0; i < b->correlations.n; i++) {
		const uint64_t *list = map_find(&b->works_of, (uint64_t)b->correlations.at[i]);
		const plugin_indices *works = list && *list ? &b->waiting.at[*list - 1] : NULL;
		for (size_t k = 0; works && k < works->n; k++)
			if (t->works.at[works->at[k]].type == PLUGIN_KERNEL)
				vec_push(&call.works, works->at[k]);
	}
	if (!call.works.n)
		return;
	vec_push(&root->calls, (uint32_t)t->calls.n);
	vec_push(&t->calls, call);
}

static void build_thread(struct plugin_building *b, struct plugin_thread *thread)
{
	struct plugin_trace *t = b->t;
	struct plugin_node root = {
		.start = -PLUGIN_NEVER,
		.end = PLUGIN_NEVER,
		.external = PEER_NONE,
		.parent = PLUGIN_NO_NODE,
		.first = PLUGIN_NO_NODE,
		.last = PLUGIN_NO_NODE,
		.next = PLUGIN_NO_NODE,
		.type = PLUGIN_PYTHON,
	};
	const uint64_t *zero = map_find(&b->zero_of, (uint64_t)thread->tid);
	for (size_t i = 0; zero && *zero && i < b->zero.at[*zero - 1].n; i++)
		vec_push(&root.calls, b->zero.at[*zero - 1].at[i]);
	if (thread->is_main)
		add_stale(b, &root);
	thread->root = (uint32_t)t->nodes.n;
	vec_push(&t->nodes, root);
	link_nodes(t, thread);
	merge_duplicates(t, thread);
	for (size_t i = thread->nodes.n; i-- > 0;)
		if (!t->nodes.at[thread->nodes.at[i]].is_gone)
			fill_node(t, thread->nodes.at[i]);
	fill_node(t, thread->root);
	const struct plugin_node *r = &t->nodes.at[thread->root];
	double start = r->first == PLUGIN_NO_NODE ? NAN : t->nodes.at[r->first].start,
	       end = r->last == PLUGIN_NO_NODE ? NAN : t->nodes.at[r->last].end;
	t->nodes.at[thread->root].start = start;
	t->nodes.at[thread->root].end = end;
}

/* ---- Lists ---- */

static void visit(struct plugin_trace *t, uint32_t number)
{
	const struct plugin_node *node = &t->nodes.at[number];
	for (size_t i = 0; i < node->calls.n; i++) {
		const struct plugin_call *call = &t->calls.at[node->calls.at[i]];
		for (size_t k = 0; k < call->works.n; k++)
			if (t->works.at[call->works.at[k]].type == PLUGIN_KERNEL)
				vec_push(&t->kernels, call->works.at[k]);
	}
	if (node->is_operator)
		vec_push(&t->operators, number);
}

/* Visits the children before their parents. */
static void list_tree(struct plugin_trace *t, uint32_t root)
{
	uint32_t at = root;
	for (;;) {
		while (t->nodes.at[at].first != PLUGIN_NO_NODE)
			at = t->nodes.at[at].first;
		visit(t, at);
		while (at != root && t->nodes.at[at].next == PLUGIN_NO_NODE) {
			at = t->nodes.at[at].parent;
			visit(t, at);
		}
		if (at == root)
			return;
		at = t->nodes.at[at].next;
	}
}

void plugin_build_trees(struct plugin_trace *t)
{
	struct plugin_building b = { .t = t };
	plugin_read_nodes(&b);
	for (size_t i = 0; i < t->threads.n; i++)
		build_thread(&b, &t->threads.at[i]);
	for (size_t i = 0; i < t->threads.n; i++)
		list_tree(t, t->threads.at[i].root);
	plugin_free_building(&b);
}
