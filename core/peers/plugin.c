/* See plugin.h. */
#include "core/peers/plugin.h"

#include "core/peers/plugin_parts.h"

static void add_overview(const struct plugin_view *v)
{
	static const char *const columns[] = { "worker",
					       "has_communication",
					       "uses_data_parallel",
					       "uses_ddp",
					       "tc_used_ratio",
					       "tc_eligible_ops_kernel_ratio" },
				 *const mean_columns[] = { "worker",	 "Kernel",	  "Memcpy",
							   "Memset",	 "Communication", "Runtime",
							   "DataLoader", "CPU Exec",	  "Other",
							   "Total" };
	const struct plugin_trace *t = v->trace;
	struct peer_table *means = PLUGIN_TABLE(v, "mean_step", mean_columns),
			  *overview = PLUGIN_TABLE(v, "overview", columns);
	peer_number(means, v->worker);
	for (size_t i = 0; i < PLUGIN_ROLES; i++)
		peer_number(means, t->costs[i]);
	peer_number(overview, v->worker);
	peer_number(overview, t->roles[PLUGIN_ROLE_COMMUNICATION].n != 0);
	peer_number(overview, t->is_parallel);
	peer_number(overview, t->is_distributed);
	peer_number(overview, plugin_used_ratio(t));
	peer_number(overview, plugin_eligible_ratio(t));
}

/* With modules and arrows from forward to backward operators, the plugin moves backward operators
 * to modules that it adds, and drops those whose forward operator is outside all modules. */
static void note_backward(const struct plugin_view *v)
{
	static const char *const columns[] = { "worker", "tables", "why" };
	const struct plugin_trace *t = v->trace;
	bool has_modules = false;
	for (size_t i = 0; !has_modules && i < t->nodes.n; i++)
		has_modules = t->nodes.at[i].type == PLUGIN_MODULE;
	if (!has_modules || !t->rows.arrows.n)
		return;
	struct peer_table *table = PLUGIN_TABLE(v, "may_differ", columns);
	peer_number(table, v->worker);
	peer_word(v->to, table, "operators, kernels_by_operator, memory_by_operator, overview");
	peer_word(v->to, table,
		  "the plugin drops backward operators whose forward operator is outside all "
		  "modules; here they count");
}

static void add_views(const struct plugin_view *v)
{
	plugin_build_trees(v->trace);
	plugin_find_steps(v->trace);
	plugin_add_steps(v);
	add_overview(v);
	plugin_add_gpus(v);
	plugin_add_advice(v);
	plugin_add_kernels(v);
	plugin_add_operators(v);
	plugin_add_modules(v);
	plugin_add_memory(v);
	note_backward(v);
}

int plugin_analyze(struct peer_tables *to, const char *const *paths, size_t n, struct err *e)
{
	int error = 0;
	for (size_t i = 0; !error && i < n; i++) {
		struct plugin_trace t;
		struct plugin_view v = { to, &t, (double)i };
		error = plugin_load(&t, paths[i], e);
		if (!error)
			add_views(&v);
		plugin_free(&t);
	}
	return error;
}
