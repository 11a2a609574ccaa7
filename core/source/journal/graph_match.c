/*
 * See graph_table.h: finds the node of a piece of work. The ids that CUPTI gives are read in all
 * possible ways at first. A reading with which any work of the group disagrees is dropped for good.
 */
#include "core/source/journal/graph_table.h"

#include "core/util/bisect.h"

enum { OFFSETS = 2, STREAMS_MOST = 32, READINGS_MOST = 2048 };

/* The step's work of one group. */
struct match {
	const struct dict *dict;
	const struct graph_exec *exec;
	struct graph_work **works;
	size_t n;
};

/* A piece of work and its node. */
struct placed {
	const struct rec_gpu *gpu;
	const struct graph_slot *slot;
};

static const struct graph_node *node_at(const struct graph_exec *e, const struct graph_slot *slot)
{
	return &e->views.at[slot->view].nodes->list.at[slot->index];
}

static bool is_changed(const struct graph_exec *e, const struct graph_node *node)
{
	return node->is_changed || (e->changed.n && map_find(&e->changed, node->call.node));
}

static bool same(const uint32_t a[3], const uint32_t b[3])
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* Returns whether the kernel has the name of the call's, or one of the names is unknown. */
static bool is_named_as(const struct dict *d, const struct rec_gpu *g, const struct rec_node *node)
{
	const struct run_launch *l = tables_launch(&d->t, node->arg);
	const struct run_kernel *k = g->name < d->t.kernels.n ? &d->t.kernels.at[g->name] : NULL;
	return !l || !l->is_named || !k || !k->is_known || l->name == k->name;
}

static bool has_shape_of(const struct dict *d, const struct rec_gpu *g, const struct rec_node *node)
{
	const struct run_launch *l = tables_launch(&d->t, node->arg);
	const struct run_kernel *k = g->name < d->t.kernels.n ? &d->t.kernels.at[g->name] : NULL;
	return !l || (same(g->grid, l->grid) && (!k || !k->is_known || same(k->block, l->block)));
}

/* Returns whether the work may be that of the node. If `is_lenient`, grid and block may differ. */
static bool is_work_of(const struct match *m, const struct rec_gpu *g,
		       const struct graph_node *node, bool is_lenient)
{
	static const uint8_t types[REC_KINDS] = {
		[REC_KERNEL] = NODE_KERNEL, [REC_MEMCPY] = NODE_MEMCPY, [REC_MEMSET] = NODE_MEMSET
	};
	if (types[g->kind] != node->call.type)
		return false;
	if (g->kind == REC_KERNEL)
		return is_named_as(m->dict, g, &node->call) &&
		       (is_lenient || has_shape_of(m->dict, g, &node->call));
	return node->call.arg == ((uint64_t)g->bytes_high << 32 | g->bytes_low);
}

static const struct graph_slot *slot_of(const struct graph_view *v, uint32_t local)
{
	size_t i = bisect(v->slots.n, k, v->slots.at[k].local < local);
	return i < v->slots.n && v->slots.at[i].local == local ? &v->slots.at[i] : NULL;
}

static bool is_gone(const struct graph_view *v, uint32_t local)
{
	for (size_t i = 0; i < v->gone.n; i++)
		if (v->gone.at[i] == local)
			return true;
	return false;
}

/* ---- Readings ---- */

static int by_launch_and_index(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->gpu->correlation != y->gpu->correlation)
		return x->gpu->correlation < y->gpu->correlation ? -1 : 1;
	if (x->slot->view != y->slot->view)
		return x->slot->view < y->slot->view ? -1 : 1;
	if (x->slot->index != y->slot->index)
		return x->slot->index < y->slot->index ? -1 : 1;
	return x->gpu->begin_ticks < y->gpu->begin_ticks
		       ? -1
		       : x->gpu->begin_ticks > y->gpu->begin_ticks;
}

/* Returns whether the nodes that one stream captured into one graph ran in their order. `p`: the
 * work of one launch, by node. A node that ran more than once says nothing. */
static bool is_in_order(const struct graph_exec *e, const struct placed *p, size_t n)
{
	struct {
		uint64_t stream, begin_ticks;
		uint32_t view;
	} last[STREAMS_MOST];
	size_t n_last = 0;
	for (size_t i = 1; i < n; i++)
		if (p[i].slot == p[i - 1].slot)
			return true;
	for (size_t i = 0; i < n; i++) {
		uint64_t stream = node_at(e, p[i].slot)->call.stream;
		uint32_t view = p[i].slot->view;
		size_t k = 0;
		while (k < n_last && (last[k].stream != stream || last[k].view != view))
			k++;
		if (!stream || k == STREAMS_MOST)
			continue;
		if (k < n_last && p[i].gpu->begin_ticks < last[k].begin_ticks)
			return false;
		n_last += k == n_last;
		last[k].stream = stream;
		last[k].view = view;
		last[k].begin_ticks = p[i].gpu->begin_ticks;
	}
	return true;
}

static bool are_in_order(const struct graph_exec *e, struct placed *p, size_t n)
{
	qsort(p, n, sizeof(*p), by_launch_and_index);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && p[next].gpu->correlation == p[i].gpu->correlation;)
			next++;
		if (!is_in_order(e, p + i, next - i))
			return false;
	}
	return true;
}

/*
 * Returns whether all work agrees with the reading. A number that no node has is fine between the
 * numbers of other nodes: the call that made it is not recorded. If the driver said the numbers,
 * single nodes may disagree.
 */
static bool fits(const struct match *m, struct graph_reading r)
{
	const struct graph_view *v = &m->exec->views.at[r.view];
	struct placed *placed = mem_resize(NULL, m->n * sizeof(*placed));
	size_t n = 0;
	bool is_good = true;
	for (size_t i = 0; i < m->n && is_good; i++) {
		const struct rec_gpu *g = m->works[i]->gpu;
		uint32_t local = (uint32_t)g->node - r.offset;
		const struct graph_slot *slot = slot_of(v, local);
		if (!slot) {
			is_good = v->is_exact || (local <= v->last && !is_gone(v, local));
			continue;
		}
		const struct graph_node *node = node_at(m->exec, slot);
		is_good = v->is_exact || is_changed(m->exec, node) || is_work_of(m, g, node, false);
		if (!(g->flags & GPU_WRONG_ID))
			placed[n++] = (struct placed){ g, slot };
	}
	is_good = is_good && are_in_order(m->exec, placed, n);
	free(placed);
	return is_good;
}

/* The graph's own nodes have its number in the upper half of their ids. Nested ones have another
 * number, or are numbered after the graph's own nodes. */
static struct graph_group *group_of(struct graph_exec *e, uint32_t upper, uint32_t graph)
{
	bool is_root = upper == (e->id ? e->id : graph);
	for (size_t i = 0; i < e->groups.n; i++)
		if (e->groups.at[i].upper == upper)
			return &e->groups.at[i];
	struct graph_group new = { .upper = upper };
	for (uint32_t view = 0; view < e->views.n; view++)
		for (uint32_t offset = 0; offset < OFFSETS; offset++)
			if (is_root == (!view || e->views.at[view].is_whole) &&
			    new.left.n < READINGS_MOST && !(offset && e->views.at[view].is_exact))
				vec_push(&new.left, (struct graph_reading){ view, offset });
	vec_push(&e->groups, new);
	return &e->groups.at[e->groups.n - 1];
}

static bool is_same_view(const struct graph_exec *e, uint32_t a, uint32_t b)
{
	return e->views.at[a].nodes == e->views.at[b].nodes;
}

/* Returns the only reading that is left; NULL: there is none, or more than one. As long as no
 * nested node has run, the graph's own view and the whole one are the same. */
static const struct graph_reading *decide(struct graph_table *t, const struct graph_exec *e,
					  const struct graph_group *group)
{
	const struct graph_reading *found = NULL;
	uint32_t offsets = 0;
	for (size_t i = 0; i < group->left.n; i++)
		offsets |= 1u << group->left.at[i].offset;
	/* what other graphs have shown decides between equal readings */
	uint32_t known = t->offsets & offsets ? t->offsets : offsets;
	for (size_t i = 0; i < group->left.n; i++) {
		const struct graph_reading *r = &group->left.at[i];
		if (!(known >> r->offset & 1))
			continue;
		if (found && (found->offset != r->offset || !is_same_view(e, found->view, r->view)))
			return NULL;
		found = r;
	}
	if (found && group->left.n == 1 && !e->views.at[found->view].is_exact)
		t->offsets |= 1u << found->offset;
	return found;
}

/* ---- The work of a step ---- */

static void drop_readings(struct match *m, struct graph_group *group)
{
	size_t n = 0;
	for (size_t i = 0; i < group->left.n; i++)
		if (fits(m, group->left.at[i]))
			group->left.at[n++] = group->left.at[i];
	group->left.n = n;
}

/*
 * New parameters may give a node another kernel or another copy. Then the call that made it does
 * not show the work's code.
 */
static void name_work(const struct match *m, const struct graph_reading *r, struct graph_work *w)
{
	const struct graph_view *v = &m->exec->views.at[r->view];
	const struct graph_slot *slot = slot_of(v, (uint32_t)w->gpu->node - r->offset);
	const struct graph_node *node = slot ? node_at(m->exec, slot) : NULL;
	bool has_changed = node && is_changed(m->exec, node);
	w->lack = GRAPH_LACK_NONE;
	if (!node)
		w->lack = GRAPH_LACK_NODE;
	else if (!is_work_of(m, w->gpu, node, has_changed))
		w->lack = has_changed ? GRAPH_LACK_CHANGED : GRAPH_LACK_IDS;
	w->node = w->lack ? NULL : node;
	w->view = slot ? &m->exec->views.at[slot->view] : v;
}

static void resolve_group(struct graph_table *t, struct match *m, struct graph_exec *e)
{
	const struct rec_gpu *first = m->works[0]->gpu;
	struct graph_group *group = group_of(e, (uint32_t)(first->node >> 32), first->graph);
	drop_readings(m, group);
	const struct graph_reading *r = decide(t, e, group);
	for (size_t i = 0; i < m->n; i++)
		if (r)
			name_work(m, r, m->works[i]);
		else
			m->works[i]->lack = GRAPH_LACK_IDS;
}

struct sorted {
	struct graph_work *work;
	struct graph_exec *exec;
};

static int by_exec_and_group(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	uint32_t p = (uint32_t)(x->work->gpu->node >> 32), q = (uint32_t)(y->work->gpu->node >> 32);
	if (x->exec != y->exec)
		return (uintptr_t)x->exec < (uintptr_t)y->exec ? -1 : 1;
	return p < q ? -1 : p > q;
}

/*
 * Returns the executable graph of the work. If its launch is unknown, other work with the same
 * number of an executable graph has shown which one that is. But after an update, only the launch
 * says which version ran.
 */
static struct graph_exec *exec_of(const struct graph_table *t, struct graph_work *w)
{
	struct graph_exec *e = w->exec ? graph_table_exec(t, w->exec, w->launch_ticks) : NULL;
	const uint64_t *chain = map_find(&t->chain_of_id, w->gpu->graph), *newest = NULL;
	w->lack = w->exec ? GRAPH_LACK_MADE : GRAPH_LACK_LAUNCH;
	if (e && chain && *chain != e->chain) {
		w->lack = GRAPH_LACK_LAUNCH;
		return NULL;
	}
	if (!e && chain)
		newest = map_find(&t->exec_of_chain, (uint32_t)*chain);
	if (newest)
		e = (struct graph_exec *)(uintptr_t)*newest;
	if (newest && e->from_ticks != e->numbered_ticks)
		return NULL;
	if (e && e->nodes)
		graph_exec_view(e);
	return e && e->views.n ? e : NULL;
}

/* Learns the executable graphs of CUPTI's numbers from the work whose launch is known, unless their
 * launches contradict each other. */
static void learn_ids(struct graph_table *t, const struct graph_work *works, size_t n)
{
	struct map seen = { 0 };
	for (size_t i = 0; i < n; i++) {
		const struct graph_work *w = &works[i];
		const struct graph_exec *e = w->exec ? graph_table_exec(t, w->exec, w->launch_ticks)
						     : NULL;
		bool is_new;
		if (!e || map_find(&t->chain_of_id, w->gpu->graph))
			continue;
		uint64_t *chain = map_at(&seen, w->gpu->graph, &is_new);
		*chain = is_new || *chain == e->chain ? e->chain : 0;
	}
	for (size_t i = 0; i < seen.room; i++)
		if (seen.slots[i].used && seen.slots[i].value)
			*map_at(&t->chain_of_id, seen.slots[i].key, NULL) = seen.slots[i].value;
	map_free(&seen);
}

void graph_table_resolve(struct graph_table *t, const struct dict *d, struct graph_work *works,
			 size_t n)
{
	struct sorted *sorted = mem_resize(NULL, n * sizeof(*sorted));
	struct graph_work **group = mem_resize(NULL, n * sizeof(struct graph_work *));
	size_t n_sorted = 0;
	learn_ids(t, works, n);
	for (size_t i = 0; i < n; i++) {
		struct graph_exec *e = exec_of(t, &works[i]);
		if (e)
			sorted[n_sorted++] = (struct sorted){ &works[i], e };
	}
	if (n_sorted)
		qsort(sorted, n_sorted, sizeof(*sorted), by_exec_and_group);
	for (size_t i = 0, next; i < n_sorted; i = next) {
		struct match m = { .dict = d, .exec = sorted[i].exec, .works = group };
		for (next = i; next < n_sorted && !by_exec_and_group(&sorted[next], &sorted[i]);
		     next++)
			group[m.n++] = sorted[next].work;
		resolve_group(t, &m, sorted[i].exec);
	}
	free(sorted);
	free(group);
}
