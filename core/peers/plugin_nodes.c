/* Nodes, calls and works: event_parser.py, node.py. */
#include "core/peers/plugin_build.h"

#include <string.h>

/* ---- Works and calls ---- */

static void add_work(struct plugin_building *b, const struct plugin_event *e)
{
	struct plugin_trace *t = b->t;
	uint64_t key = (uint64_t)e->row->correlation;
	const uint64_t *call = map_find(&b->call_of, key);
	uint32_t number = (uint32_t)t->works.n;
	vec_push(&t->works,
		 (struct plugin_work){
			 .row = e->row,
			 .type = e->type,
			 .has_tensor_cores = plugin_uses_tensor_cores(plugin_name(t, e->row)),
		 });
	if (call) {
		struct plugin_call *c = &t->calls.at[*call];
		c->has_works = true;
		vec_push(&c->works, number);
		return;
	}
	uint64_t *list = map_at(&b->works_of, key, NULL);
	if (!*list) {
		vec_push(&b->waiting, (plugin_indices){ 0 });
		vec_push(&b->correlations, e->row->correlation);
		*list = b->waiting.n;
	}
	vec_push(&b->waiting.at[*list - 1], number);
}

static void add_call(struct plugin_building *b, const struct plugin_event *e)
{
	struct plugin_trace *t = b->t;
	uint64_t key = (uint64_t)e->row->correlation;
	uint32_t number = (uint32_t)t->calls.n;
	struct plugin_call call = { .row = e->row };
	uint64_t *list = map_find(&b->works_of, key);
	if (list && *list) {
		const plugin_indices *works = &b->waiting.at[*list - 1];
		for (size_t i = 0; i < works->n; i++)
			vec_push(&call.works, works->at[i]);
		call.has_works = true;
		vec_free(&b->waiting.at[*list - 1]);
		map_remove(&b->works_of, key);
	}
	vec_push(&t->calls, call);
	*map_at(&b->call_of, key, NULL) = number;
	uint64_t *external = map_at(&b->calls_of, (uint64_t)e->row->external, NULL);
	if (!*external) {
		vec_push(&b->external, (plugin_indices){ 0 });
		*external = b->external.n;
	}
	vec_push(&b->external.at[*external - 1], number);
	if (e->row->external)
		return;
	uint64_t *zero = map_at(&b->zero_of, (uint64_t)e->row->tid, NULL);
	if (!*zero) {
		vec_push(&b->zero, (plugin_indices){ 0 });
		*zero = b->zero.n;
	}
	vec_push(&b->zero.at[*zero - 1], number);
}

/* ---- Nodes ---- */

/* is_operator_node(). An annotation is a node only if it is communication, a loader or an
 * optimizer. */
static bool is_operator(const char *name, uint8_t type)
{
	return type == PLUGIN_OPERATOR && !plugin_is_loader(name) &&
	       strcmp(name, "DataParallel.forward") != 0 &&
	       strcmp(name, "DistributedDataParallel.forward") != 0 &&
	       strncmp(name, "Optimizer.", strlen("Optimizer.")) != 0;
}

static bool is_node(const char *name, uint8_t type)
{
	return type != PLUGIN_ANNOTATION || plugin_is_loader(name) || plugin_is_nccl(name) ||
	       plugin_is_gloo(name) || !strncmp(name, "Optimizer.step", strlen("Optimizer.step"));
}

static struct plugin_thread *thread_of(struct plugin_building *b, int64_t tid)
{
	struct plugin_trace *t = b->t;
	bool is_new;
	uint64_t *at = map_at(&b->thread_of, (uint64_t)tid, &is_new);
	if (is_new) {
		*at = t->threads.n;
		vec_push(&t->threads, (struct plugin_thread){ .tid = tid });
	}
	return &t->threads.at[*at];
}

static void add_node(struct plugin_building *b, const struct plugin_event *e)
{
	struct plugin_trace *t = b->t;
	const char *name = plugin_name(t, e->row);
	bool is_module = e->type == PLUGIN_MODULE || e->type == PLUGIN_LIGHTNING;
	if (plugin_is_nccl(name) || plugin_is_gloo(name)) {
		t->has_nccl |= plugin_is_nccl(name);
		t->has_gloo |= plugin_is_gloo(name);
		map_at(&t->communication, (uint64_t)e->row->external, NULL);
	}
	t->is_parallel |= !strcmp(name, "DataParallel.forward");
	t->is_distributed |= !strcmp(name, "DistributedDataParallel.forward");
	if (!is_node(name, e->type))
		return;
	struct plugin_thread *thread = thread_of(b, e->row->tid);
	thread->is_main |= e->type == PLUGIN_STEP;
	vec_push(&thread->nodes, (uint32_t)t->nodes.n);
	vec_push(&t->nodes, (struct plugin_node){
				    .row = e->row,
				    .start = e->row->ts,
				    .end = plugin_end(e->row),
				    /* modules get no calls by their id */
				    .external = is_module ? PEER_NONE : e->row->external,
				    .parent = PLUGIN_NO_NODE,
				    .first = PLUGIN_NO_NODE,
				    .last = PLUGIN_NO_NODE,
				    .next = PLUGIN_NO_NODE,
				    .type = e->type,
				    .is_operator = is_operator(name, e->type),
				    .is_eligible = plugin_may_use_tensor_cores(name),
			    });
}

static void read_events(struct plugin_building *b)
{
	for (size_t i = 0; i < b->t->events.n; i++) {
		const struct plugin_event *e = &b->t->events.at[i];
		switch (e->type) {
		case PLUGIN_KERNEL:
		case PLUGIN_MEMCPY:
		case PLUGIN_MEMSET:
			add_work(b, e);
			break;
		case PLUGIN_RUNTIME:
			add_call(b, e);
			break;
		case PLUGIN_TRACE:
		case PLUGIN_FUNCTION:
			break;
		default:
			add_node(b, e);
		}
	}
}

/* The first node with an external id gets all calls with it. */
static void give_calls(struct plugin_building *b)
{
	struct plugin_trace *t = b->t;
	for (size_t i = 0; i < t->threads.n; i++)
		for (size_t j = 0; j < t->threads.at[i].nodes.n; j++) {
			struct plugin_node *node = &t->nodes.at[t->threads.at[i].nodes.at[j]];
			uint64_t *list = map_find(&b->calls_of, (uint64_t)node->external);
			if (!list || !*list)
				continue;
			const plugin_indices *calls = &b->external.at[*list - 1];
			for (size_t k = 0; k < calls->n; k++)
				vec_push(&node->calls, calls->at[k]);
			*list = 0;
		}
}

void plugin_read_nodes(struct plugin_building *b)
{
	read_events(b);
	give_calls(b);
}

void plugin_free_building(struct plugin_building *b)
{
	for (size_t i = 0; i < b->waiting.n; i++)
		vec_free(&b->waiting.at[i]);
	for (size_t i = 0; i < b->external.n; i++)
		vec_free(&b->external.at[i]);
	for (size_t i = 0; i < b->zero.n; i++)
		vec_free(&b->zero.at[i]);
	vec_free(&b->waiting);
	vec_free(&b->external);
	vec_free(&b->zero);
	vec_free(&b->correlations);
	map_free(&b->works_of);
	map_free(&b->call_of);
	map_free(&b->calls_of);
	map_free(&b->thread_of);
	map_free(&b->zero_of);
}
