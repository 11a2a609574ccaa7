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
	plugin_add_memory(v);
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
