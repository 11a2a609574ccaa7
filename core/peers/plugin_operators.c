/* Operators by name, and by name and input shape: op_agg.py, run_generator.py. */
#include "core/peers/plugin_parts.h"

#include <string.h>

struct row {
	const struct plugin_node *first;
	double n, host, device, self_host, self_device, tensor, self_tensor;
	size_t number;
	bool has_stack;
};

typedef VEC(struct row) rows;

static int by_device(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->self_device < y->self_device || x->self_device > y->self_device)
		return x->self_device > y->self_device ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static int by_host(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->self_host < y->self_host || x->self_host > y->self_host)
		return x->self_host > y->self_host ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void take(struct row *r, const struct plugin_node *node)
{
	r->n++;
	r->host += node->end - node->start;
	r->device += node->device_us;
	r->self_host += node->self_host_us;
	r->self_device += node->self_device_us;
	r->tensor += node->tensor_us;
	r->self_tensor += node->self_tensor_us;
	r->has_stack |= node->row->call_stack != 0;
}

static rows collect(const struct plugin_trace *t, bool has_shapes)
{
	struct map row_of = { 0 };
	rows found = { 0 };
	for (size_t i = 0; i < t->operators.n; i++) {
		const struct plugin_node *node = &t->nodes.at[t->operators.at[i]];
		uint64_t key = (uint64_t)node->row->name << 32 |
			       (has_shapes ? node->row->shape : 0);
		bool is_new;
		uint64_t *at = map_at(&row_of, key, &is_new);
		if (is_new || !found.at) {
			*at = found.n;
			vec_push(&found, (struct row){ .first = node, .number = *at });
		}
		take(&found.at[*at], node);
	}
	map_free(&row_of);
	return found;
}

static double percent(double part, double all)
{
	return plugin_round(100 * (all > 0 ? part / all : 0), 2);
}

static void put(const struct plugin_view *v, struct peer_table *table, const struct row *r,
		bool has_shapes)
{
	const char *shape = peer_text(&v->trace->rows, r->first->row->shape);
	peer_number(table, v->worker);
	peer_word(v->to, table, plugin_name(v->trace, r->first->row));
	if (has_shapes)
		peer_word(v->to, table, *shape ? shape : "[]");
	peer_number(table, r->n);
	peer_number(table, plugin_round(r->self_device, 0));
	peer_number(table, plugin_round(r->device, 0));
	peer_number(table, plugin_round(r->self_host, 0));
	peer_number(table, plugin_round(r->host, 0));
	peer_word(v->to, table, r->first->is_eligible ? "Yes" : "No");
	peer_number(table, percent(r->self_tensor, r->self_device));
	peer_number(table, percent(r->tensor, r->device));
	peer_word(v->to, table, r->has_stack ? "Yes" : "No");
}

static void add(const struct plugin_view *v, struct peer_table *table, bool has_shapes)
{
	const struct plugin_trace *t = v->trace;
	rows list = collect(t, has_shapes);
	if (list.n)
		qsort(list.at, list.n, sizeof(*list.at), t->works.n ? by_device : by_host);
	for (size_t i = 0; i < list.n; i++)
		put(v, table, &list.at[i], has_shapes);
	vec_free(&list);
}

void plugin_add_operators(const struct plugin_view *v)
{
	static const char *const columns[] = { "worker",
					       "name",
					       "calls",
					       "device_self_duration",
					       "device_total_duration",
					       "host_self_duration",
					       "host_total_duration",
					       "tc_eligible",
					       "tc_self_ratio",
					       "tc_total_ratio",
					       "has_call_stack" },
				 *const by_shape[] = { "worker",
						       "name",
						       "input_shape",
						       "calls",
						       "device_self_duration",
						       "device_total_duration",
						       "host_self_duration",
						       "host_total_duration",
						       "tc_eligible",
						       "tc_self_ratio",
						       "tc_total_ratio",
						       "has_call_stack" };
	add(v, PLUGIN_TABLE(v, "operators", columns), false);
	add(v, PLUGIN_TABLE(v, "operators_by_shape", by_shape), true);
}
