#include "core/source/journal/ingest_graphs.h"

#include "core/util/bisect.h"

void ingest_graphs_launch(struct ingest_graphs *s, uint32_t call, const struct rec_call *c)
{
	vec_push(&s->launches, (struct graph_launch){ call, c->begin_ticks, c->arg });
}

void ingest_graphs_work(struct ingest_graphs *s, const struct rec_gpu *g, uint32_t call,
			size_t index)
{
	struct graph_work work = { .gpu = g };
	if (g->kind == REC_GPU_SYNC || !g->node)
		return;
	size_t i = bisect(s->launches.n, k, s->launches.at[k].call < call);
	if (i < s->launches.n && s->launches.at[i].call == call) {
		work.exec = s->launches.at[i].exec;
		work.launch_ticks = s->launches.at[i].ticks;
	}
	vec_push(&s->works, work);
	vec_push(&s->index, (uint32_t)index);
}

static struct model_call captured_call(const struct ingest *f, const struct rec_node *n)
{
	const struct rec_call c = {
		.hook = n->hook,
		.stack = n->stack,
		.begin_ticks = n->begin_ticks,
		.duration = n->ticks,
		.device = n->device,
		.stream = n->stream,
		.arg = n->arg,
		.detail = n->copy,
	};
	struct model_call call = ingest_call_of(f, &c, dict_category(&f->dict, n->hook));
	call.is_captured = true;
	return call;
}

static int by_capture(const void *a, const void *b)
{
	const struct graph_node *x = *(const struct graph_node *const *)a,
				*y = *(const struct graph_node *const *)b;
	if (x->call.begin_ticks != y->call.begin_ticks)
		return x->call.begin_ticks < y->call.begin_ticks ? -1 : 1;
	return (uintptr_t)x < (uintptr_t)y ? -1 : x > y;
}

struct nodes {
	VEC(const struct graph_node *) list;
	struct map known; /* nodes in the list, and views that were searched for host functions */
};

static void add_node(struct nodes *nodes, const struct graph_node *node)
{
	bool is_new;
	map_at(&nodes->known, (uintptr_t)node, &is_new);
	if (is_new)
		vec_push(&nodes->list, node);
}

/* Adds the host functions of a graph. CUPTI records no work of them. */
static void add_host_functions(const struct ingest *f, struct nodes *nodes,
			       const struct graph_view *view)
{
	bool is_new;
	map_at(&nodes->known, (uintptr_t)view, &is_new);
	for (size_t i = 0; is_new && i < view->slots.n; i++) {
		const struct graph_node *node = &view->nodes->list.at[view->slots.at[i].index];
		if (dict_category(&f->dict, node->call.hook) == CAT_HOSTFUNC)
			add_node(nodes, node);
	}
}

/* Adds the product that made the newest captured call, if it is known. `products`: its number ->
 * index in m->products + 1. */
static void add_product(const struct ingest *f, uint32_t product, struct map *products,
			struct model_step *m)
{
	uint32_t shape = product & REC_SHAPES_MOST;
	struct model_library to = { .work = MODEL_NO_WORK };
	bool is_known = product && shape < f->shapes.n && f->shapes.at[shape].kind &&
			library_log_describe(&f->dict, &f->shapes.at[shape], &to);
	uint64_t *at = is_known ? map_at(products, product, NULL) : NULL;
	if (at && !*at) {
		vec_push(&m->products, to);
		*at = m->products.n;
	}
	vec_push(&m->product_of, at ? (uint32_t)*at : 0);
}

/* Adds each node's call to the step once. `calls` gets the index of each node's call. */
static void add_calls(const struct ingest *f, const struct ingest_graphs *s, struct map *calls,
		      struct model_step *m)
{
	struct nodes found = { 0 };
	struct map products = { 0 };
	for (size_t i = 0; i < s->works.n; i++) {
		const struct graph_work *work = &s->works.at[i];
		if (!work->node)
			continue;
		add_node(&found, work->node);
		add_host_functions(f, &found, work->view);
	}
	if (found.list.n)
		qsort(found.list.at, found.list.n, sizeof(*found.list.at), by_capture);
	for (size_t i = 0; i < found.list.n; i++) {
		*map_at(calls, (uintptr_t)found.list.at[i], NULL) = m->captured.n;
		vec_push(&m->captured, captured_call(f, &found.list.at[i]->call));
		add_product(f, found.list.at[i]->call.product, &products, m);
	}
	map_free(&products);
	vec_free(&found.list);
	map_free(&found.known);
}

static void name_kernel(const struct ingest *f, struct model_step *m, struct model_work *w)
{
	uint32_t launch = m->captured.at[w->origin].launch;
	if (w->kind == WORK_KERNEL && !w->kernel && launch)
		w->name = f->dict.t.launches.at[launch - 1].name;
}

static void count(const struct ingest *f, const struct graph_work *work, struct graph_counts *to)
{
	bool is_dropped = f->counts.dropped || atomic_load(&f->reader.header->dropped_records);
	to->n++;
	if (work->node && work->node->call.stack)
		to->n_named++;
	else if (work->node)
		to->n_lacking[GRAPH_LACK_STACK]++;
	else
		to->n_lacking[is_dropped ? GRAPH_LACK_DROPPED : work->lack]++;
}

void ingest_graphs_build(struct ingest *f, struct ingest_graphs *s, struct model_step *m)
{
	struct map calls = { 0 };
	graph_table_resolve(&f->graphs, &f->dict, s->works.at, s->works.n);
	add_calls(f, s, &calls, m);
	for (size_t i = 0; i < s->works.n; i++) {
		const struct graph_work *work = &s->works.at[i];
		struct model_work *w = &m->works.at[s->index.at[i]];
		if (work->node) {
			w->origin = (uint32_t)*map_find(&calls, (uintptr_t)work->node);
			name_kernel(f, m, w);
		}
		if (w->kind == WORK_KERNEL)
			count(f, work, &m->graphs);
	}
	map_free(&calls);
	vec_free(&s->launches);
	vec_free(&s->works);
	vec_free(&s->index);
}
