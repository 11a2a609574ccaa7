/* See graph_table.h: the graphs and their lives. */
#include "core/source/journal/graph_table.h"

#include "core/util/bisect.h"

enum {
	NESTED_MOST = 16,
	VIEWS_MOST = 1024,
	/* A damaged journal may nest a large graph in itself again and again. */
	SLOTS_MOST = 1 << 18,
};

/* ---- Nodes ---- */

static struct graph_nodes *nodes_new(struct graph_table *t)
{
	struct graph_nodes *nodes = mem_zero(sizeof(*nodes));
	nodes->n_users = 1;
	nodes->next = t->lists;
	nodes->link = &t->lists;
	if (nodes->next)
		nodes->next->link = &nodes->next;
	t->lists = nodes;
	return nodes;
}

static void nodes_free(struct graph_table *t, struct graph_nodes *nodes)
{
	*nodes->link = nodes->next;
	if (nodes->next)
		nodes->next->link = nodes->link;
	t->n_nodes -= nodes->list.n;
	vec_free(&nodes->list);
	free(nodes);
}

static struct graph_nodes *nodes_use(struct graph_nodes *nodes)
{
	if (nodes)
		nodes->n_users++;
	return nodes;
}

static void nodes_drop(struct graph_table *t, struct graph_nodes *nodes)
{
	if (!nodes || --nodes->n_users)
		return;
	for (size_t i = 0; i < nodes->list.n; i++)
		nodes_drop(t, nodes->list.at[i].child);
	nodes_free(t, nodes);
}

static struct graph_nodes *nodes_of(const struct graph_table *t, uint64_t graph)
{
	const uint64_t *at = map_find(&t->graphs, graph);
	return at ? (struct graph_nodes *)(uintptr_t)*at : NULL;
}

static void forget_handles(struct graph_table *t, uint64_t graph, const struct graph_nodes *nodes)
{
	for (size_t i = 0; i < nodes->list.n; i++) {
		const uint64_t *of = map_find(&t->node_graphs, nodes->list.at[i].call.node);
		if (of && *of == graph)
			map_remove(&t->node_graphs, nodes->list.at[i].call.node);
	}
}

/* NULL: the handle is free. Its graph before may be one whose end is not known. */
static void set_nodes(struct graph_table *t, uint64_t graph, struct graph_nodes *nodes)
{
	struct graph_nodes *before = nodes_of(t, graph);
	if (before)
		forget_handles(t, graph, before);
	nodes_drop(t, before);
	if (nodes)
		*map_at(&t->graphs, graph, NULL) = (uintptr_t)nodes;
	else
		map_remove(&t->graphs, graph);
}

static void add_node(struct graph_table *t, const struct rec_node *n)
{
	struct graph_nodes *nodes = nodes_of(t, n->graph);
	struct graph_node node = { .call = *n };
	if (!nodes) /* it was made before the library was set up */
		return;
	/* without the driver's number, it is that of the nodes that the graph still had */
	if (!(n->flags & NODE_ID_IS_EXACT))
		node.call.local += nodes->n_gone;
	if (n->type == NODE_CHILD) {
		node.child = nodes_use(nodes_of(t, n->arg));
		node.n_child = !node.child		 ? 0
			       : n->flags & NODE_IS_BODY ? SIZE_MAX
							 : node.child->list.n;
	}
	vec_push(&nodes->list, node);
	t->n_nodes++;
	*map_at(&t->node_graphs, n->node, NULL) = n->graph;
}

static struct graph_nodes *nodes_with(const struct graph_table *t, uint64_t handle)
{
	const uint64_t *graph = map_find(&t->node_graphs, handle);
	return graph ? nodes_of(t, *graph) : NULL;
}

/* Returns the newest node with this handle; NULL: unknown. */
static struct graph_node *node_of(struct graph_table *t, uint64_t handle)
{
	struct graph_nodes *nodes = nodes_with(t, handle);
	for (size_t i = nodes ? nodes->list.n : 0; i; i--)
		if (nodes->list.at[i - 1].call.node == handle)
			return &nodes->list.at[i - 1];
	return NULL;
}

static void clone_graph(struct graph_table *t, uint64_t to, uint64_t from)
{
	struct graph_nodes *nodes, *of = nodes_of(t, from);
	if (!of) {
		set_nodes(t, to, NULL);
		return;
	}
	nodes = nodes_new(t);
	nodes->n_gone = of->n_gone;
	vec_reserve(&nodes->list, of->list.n);
	for (size_t i = 0; i < of->list.n; i++) {
		struct graph_node node = of->list.at[i];
		nodes_use(node.child);
		node.call.node = 0; /* unknown */
		vec_push(&nodes->list, node);
	}
	t->n_nodes += nodes->list.n;
	set_nodes(t, to, nodes);
}

/* ---- Executable graphs ---- */

static struct graph_exec *newest(const struct graph_table *t, uint64_t handle)
{
	const uint64_t *at = map_find(&t->execs, handle);
	return at ? (struct graph_exec *)(uintptr_t)*at : NULL;
}

struct graph_exec *graph_table_exec(const struct graph_table *t, uint64_t handle, uint64_t ticks)
{
	struct graph_exec *e = newest(t, handle);
	while (e && e->from_ticks > ticks)
		e = e->older;
	return e && ticks <= e->until_ticks ? e : NULL;
}

static void end_exec(struct graph_table *t, struct graph_exec *e, uint64_t ticks)
{
	if (!e || e->until_ticks != UINT64_MAX)
		return;
	e->until_ticks = ticks;
	vec_push(&t->over, e);
}

static struct graph_exec *add_exec(struct graph_table *t, const struct rec_graph *r)
{
	struct graph_exec *e = mem_zero(sizeof(*e)), *older = newest(t, r->of);
	end_exec(t, older, r->ticks);
	*e = (struct graph_exec){
		.handle = r->of,
		.from_ticks = r->ticks,
		.until_ticks = UINT64_MAX,
		.older = older,
		.nodes = nodes_use(nodes_of(t, r->graph)),
	};
	e->n = e->nodes ? e->nodes->list.n : 0;
	*map_at(&t->execs, r->of, NULL) = (uintptr_t)e;
	return e;
}

static void instantiate(struct graph_table *t, const struct rec_graph *r)
{
	struct graph_exec *e = add_exec(t, r);
	e->chain = ++t->n_chains;
	e->numbers = nodes_use(e->nodes);
	e->n_numbers = e->n;
	e->numbered_ticks = e->from_ticks;
	e->id = r->id;
	*map_at(&t->exec_of_chain, e->chain, NULL) = (uintptr_t)e;
	if (r->id)
		*map_at(&t->chain_of_id, r->id, NULL) = e->chain;
}

/* The node ids stay those of the graph that was instantiated. */
static void update(struct graph_table *t, const struct rec_graph *r)
{
	struct graph_exec *before = graph_table_exec(t, r->of, r->ticks);
	if (!before)
		return;
	struct graph_exec *e = add_exec(t, r);
	e->chain = before->chain;
	e->is_launched = before->is_launched;
	e->id = before->id;
	*map_at(&t->exec_of_chain, e->chain, NULL) = (uintptr_t)e;
	e->numbers = nodes_use(before->numbers);
	e->n_numbers = before->n_numbers;
	e->numbered_ticks = before->numbered_ticks;
}

static void free_exec(struct graph_table *t, struct graph_exec *e)
{
	nodes_drop(t, e->nodes);
	nodes_drop(t, e->numbers);
	for (size_t i = 0; i < e->views.n; i++) {
		nodes_drop(t, e->views.at[i].nodes);
		vec_free(&e->views.at[i].slots);
		vec_free(&e->views.at[i].gone);
	}
	for (size_t i = 0; i < e->groups.n; i++)
		vec_free(&e->groups.at[i].left);
	vec_free(&e->views);
	vec_free(&e->groups);
	map_free(&e->changed);
	free(e);
}

static void unlink_exec(struct graph_table *t, struct graph_exec *e)
{
	struct graph_exec *at = newest(t, e->handle);
	const uint64_t *of_chain = map_find(&t->exec_of_chain, e->chain);
	if (of_chain && *of_chain == (uintptr_t)e)
		map_remove(&t->exec_of_chain, e->chain);
	if (at == e && !e->older) {
		map_remove(&t->execs, e->handle);
	} else if (at == e) {
		*map_at(&t->execs, e->handle, NULL) = (uintptr_t)e->older;
	} else {
		while (at && at->older != e)
			at = at->older;
		if (at)
			at->older = e->older;
	}
}

void graph_table_forget(struct graph_table *t, uint64_t ticks)
{
	size_t n = 0;
	for (; n < t->over.n && t->over.at[n]->until_ticks < ticks; n++) {
		unlink_exec(t, t->over.at[n]);
		free_exec(t, t->over.at[n]);
	}
	vec_shift(&t->over, n);
}

bool graph_table_launch(struct graph_table *t, uint64_t exec, uint64_t ticks, uint64_t unseen_ticks)
{
	struct graph_exec *e = graph_table_exec(t, exec, ticks);
	if (!e || e->is_launched)
		return false;
	e->is_launched = true;
	return !unseen_ticks || e->from_ticks >= unseen_ticks || ticks < unseen_ticks;
}

/* ---- Records ---- */

static void apply_event(struct graph_table *t, const struct rec_graph *r)
{
	struct graph_exec *e;
	struct graph_node *node;
	switch (r->event) {
	case GRAPH_MADE:
		set_nodes(t, r->graph, nodes_new(t));
		break;
	case GRAPH_CLONED:
		clone_graph(t, r->graph, r->of);
		break;
	case GRAPH_GONE:
		set_nodes(t, r->graph, NULL);
		break;
	case GRAPH_INSTANTIATED:
		instantiate(t, r);
		break;
	case GRAPH_UPDATED:
		update(t, r);
		break;
	case GRAPH_EXEC_GONE:
		end_exec(t, newest(t, r->of), r->ticks);
		break;
	case GRAPH_NODE_GONE:
		if ((node = node_of(t, r->of)) && !node->gone_ticks) {
			node->gone_ticks = r->ticks;
			nodes_with(t, r->of)->n_gone++;
		}
		break;
	case GRAPH_NODE_CHANGED:
		if ((node = node_of(t, r->of)))
			node->is_changed = true;
		break;
	case GRAPH_EXEC_CHANGED:
		if ((e = newest(t, r->of)))
			map_at(&e->changed, r->graph, NULL);
		break;
	default: /* from a newer version */
		break;
	}
}

static int nodes_by_time(const void *a, const void *b)
{
	const struct rec_node *x = a, *y = b;
	return x->begin_ticks < y->begin_ticks ? -1 : x->begin_ticks > y->begin_ticks;
}

static int events_by_time(const void *a, const void *b)
{
	const struct rec_graph *x = a, *y = b;
	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

void graph_table_node(struct graph_table *t, const struct rec_node *n)
{
	size_t last = t->nodes.n;
	t->nodes_are_mixed |= last && t->nodes.at[last - 1].begin_ticks > n->begin_ticks;
	queue_push(&t->nodes, *n);
}

void graph_table_event(struct graph_table *t, const struct rec_graph *e)
{
	size_t last = t->events.n;
	t->events_are_mixed |= last && t->events.at[last - 1].ticks > e->ticks;
	queue_push(&t->events, *e);
}

void graph_table_settle(struct graph_table *t, uint64_t ticks)
{
	size_t node = 0, event = 0;
	if (t->nodes_are_mixed && t->nodes.n)
		qsort(t->nodes.at, t->nodes.n, sizeof(*t->nodes.at), nodes_by_time);
	if (t->events_are_mixed && t->events.n)
		qsort(t->events.at, t->events.n, sizeof(*t->events.at), events_by_time);
	t->nodes_are_mixed = t->events_are_mixed = false;
	for (;;) {
		const struct rec_node *n = node < t->nodes.n ? &t->nodes.at[node] : NULL;
		const struct rec_graph *e = event < t->events.n ? &t->events.at[event] : NULL;
		if (n && n->begin_ticks <= ticks && (!e || n->begin_ticks < e->ticks)) {
			add_node(t, n);
			node++;
		} else if (e && e->ticks <= ticks) {
			apply_event(t, e);
			event++;
		} else {
			break;
		}
	}
	queue_shift(&t->nodes, node);
	queue_shift(&t->events, event);
}

void graph_table_free(struct graph_table *t)
{
	for (size_t i = 0; i < t->execs.room; i++) {
		struct graph_exec *e, *older;
		if (!t->execs.slots[i].used)
			continue;
		for (e = (struct graph_exec *)(uintptr_t)t->execs.slots[i].value; e; e = older) {
			older = e->older;
			free_exec(t, e);
		}
	}
	for (size_t i = 0; i < t->graphs.room; i++)
		if (t->graphs.slots[i].used)
			nodes_drop(t, (struct graph_nodes *)(uintptr_t)t->graphs.slots[i].value);
	for (struct graph_nodes *nodes = t->lists, *next; nodes; nodes = next) {
		next = nodes->next;
		nodes_free(t, nodes);
	}
	map_free(&t->graphs);
	map_free(&t->execs);
	map_free(&t->node_graphs);
	map_free(&t->chain_of_id);
	map_free(&t->exec_of_chain);
	queue_free(&t->nodes);
	queue_free(&t->events);
	vec_free(&t->over);
}

/* ---- Views ---- */

static int slots_by_local(const void *a, const void *b)
{
	const struct graph_slot *x = a, *y = b;
	if (x->local != y->local)
		return x->local < y->local ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Lists the numbers of the first n nodes, as they were at `ticks`. The body of a conditional node
 * may have got nodes after it was added, so its n is SIZE_MAX. A call that made no node has the
 * number and the handle of an earlier node. If different nodes have the same number, none of them
 * is used.
 */
static void list_slots(struct graph_view *v, const struct graph_nodes *nodes, size_t n,
		       uint64_t ticks)
{
	size_t kept = 0;
	v->is_exact = true;
	for (size_t i = 0; i < n && i < nodes->list.n; i++) {
		const struct graph_node *node = &nodes->list.at[i];
		if (node->call.begin_ticks > ticks)
			break;
		if (node->gone_ticks && node->gone_ticks <= ticks) {
			vec_push(&v->gone, node->call.local);
			continue;
		}
		v->is_exact &= node->call.flags & NODE_ID_IS_EXACT;
		vec_push(&v->slots,
			 (struct graph_slot){ .local = node->call.local, .index = (uint32_t)i });
	}
	if (v->slots.n)
		qsort(v->slots.at, v->slots.n, sizeof(*v->slots.at), slots_by_local);
	for (size_t i = 0, next; i < v->slots.n; i = next) {
		uint64_t handle = nodes->list.at[v->slots.at[i].index].call.node;
		bool is_one = true;
		for (next = i + 1;
		     next < v->slots.n && v->slots.at[next].local == v->slots.at[i].local; next++)
			is_one &= nodes->list.at[v->slots.at[next].index].call.node == handle;
		v->last = v->slots.at[i].local;
		if (is_one)
			v->slots.at[kept++] = v->slots.at[i];
	}
	v->slots.n = kept;
}

/* Gives the slots of `v` the nodes of `by`, in the order of their numbers. */
static void renumber(struct graph_view *v, const struct graph_view *by)
{
	if (v->slots.n != by->slots.n)
		v->slots.n = 0;
	for (size_t i = 0; i < v->slots.n; i++)
		v->slots.at[i].local = by->slots.at[i].local;
	v->last = by->last;
	v->is_exact = by->is_exact;
	v->gone.n = 0;
	for (size_t i = 0; i < by->gone.n; i++)
		vec_push(&v->gone, by->gone.at[i]);
}

static void add_view(struct graph_exec *e, struct graph_nodes *nodes, size_t n,
		     struct graph_nodes *numbers, size_t n_numbers, int depth)
{
	uint32_t view = (uint32_t)e->views.n;
	struct graph_view v = { .nodes = nodes_use(nodes) }, by = { 0 };
	list_slots(&v, nodes, n, e->from_ticks);
	if (numbers != nodes) {
		list_slots(&by, numbers, n_numbers, e->numbered_ticks);
		renumber(&v, &by);
	}
	vec_push(&e->views, v);
	e->n_slots += v.slots.n;
	for (size_t i = 0; i < v.slots.n; i++) {
		const struct graph_node *node = &nodes->list.at[v.slots.at[i].index], *old = node;
		v.slots.at[i].view = view;
		if (numbers != nodes)
			old = &numbers->list.at[by.slots.at[i].index];
		if (!node->child || !old->child || depth >= NESTED_MOST ||
		    e->views.n >= VIEWS_MOST || e->n_slots >= SLOTS_MOST)
			continue;
		v.slots.at[i].child = (uint32_t)e->views.n;
		add_view(e, node->child, node->n_child, old->child, old->n_child, depth + 1);
	}
	vec_free(&by.slots);
	vec_free(&by.gone);
}

/* Appends the nodes of the graphs that are nested in a view: the nodes of one graph, then those of
 * the graphs nested in it. */
static void append_nested(const struct graph_exec *e, struct graph_view *to, uint32_t view)
{
	const struct graph_view *v = &e->views.at[view];
	for (size_t i = 0; i < v->slots.n; i++) {
		if (!v->slots.at[i].child)
			continue;
		const struct graph_view *child = &e->views.at[v->slots.at[i].child];
		for (size_t k = 0; k < child->slots.n; k++) {
			struct graph_slot slot = child->slots.at[k];
			slot.local = ++to->last;
			vec_push(&to->slots, slot);
		}
		append_nested(e, to, v->slots.at[i].child);
	}
}

/* Adds the view of all nodes, where those of nested graphs are numbered after the graph's own. */
static void add_whole(struct graph_exec *e)
{
	const struct graph_view *own = &e->views.at[0];
	struct graph_view v = { .is_whole = true,
				.nodes = nodes_use(own->nodes),
				.last = own->last };
	for (size_t i = 0; i < own->slots.n; i++)
		vec_push(&v.slots, own->slots.at[i]);
	for (size_t i = 0; i < own->gone.n; i++)
		vec_push(&v.gone, own->gone.at[i]);
	append_nested(e, &v, 0);
	vec_push(&e->views, v);
}

void graph_exec_view(struct graph_exec *e)
{
	if (e->views.n || !e->nodes || !e->numbers)
		return;
	add_view(e, e->nodes, e->n, e->numbers, e->n_numbers, 0);
	if (e->views.n > 1 && !e->views.at[0].is_exact)
		add_whole(e);
}
