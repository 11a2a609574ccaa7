/* The plugin's recommendations: data.py. Links are left out. */
#include "core/peers/plugin_parts.h"

static void say(const struct plugin_view *v, const char *text)
{
	static const char *const columns[] = { "worker", "recommendation" };
	struct peer_table *table = PLUGIN_TABLE(v, "recommendations", columns);
	peer_number(table, v->worker);
	peer_word(v->to, table, text);
}

static void advise_loader(const struct plugin_view *v)
{
	const double *costs = v->trace->costs;
	double share = costs[PLUGIN_ROLE_LOADER] / costs[PLUGIN_ROLE_TOTAL];
	char text[400];
	snprintf(text, sizeof(text),
		 "This run has high time cost on input data loading. %.1f%% of the step time is in "
		 "DataLoader. You could try to set num_workers on DataLoader's construction and "
		 "enable multi-processes on data loading.",
		 share * 100);
	if (share > 0.05)
		say(v, text);
}

static size_t count_devices(const struct plugin_trace *t)
{
	struct map seen = { 0 };
	for (size_t i = 0; i < t->works.n; i++)
		map_at(&seen, (uint64_t)t->works.at[i].row->pid, NULL);
	size_t n = seen.n;
	map_free(&seen);
	return n;
}

static void advise_communication(const struct plugin_view *v)
{
	const struct plugin_trace *t = v->trace;
	double share = t->costs[PLUGIN_ROLE_COMMUNICATION] / t->costs[PLUGIN_ROLE_TOTAL];
	char text[700];
	if (t->is_parallel && count_devices(t) > 1)
		say(v,
		    "It is recommended to use DistributedDataParallel instead of DataParallel to "
		    "do multi-GPU training.");
	for (size_t i = 0; t->is_distributed && !t->has_nccl && i < t->rows.devices.n; i++) {
		const struct peer_device *d = &t->rows.devices.at[i];
		if (!(d->major + d->minor / 10 >= 3.5))
			continue;
		say(v, "Nccl backend is currently the fastest and highly recommended backend when "
		       "using DDP for training.");
		break;
	}
	snprintf(text, sizeof(text),
		 "This run has high time cost on communication. %.1f%% of the step time is in "
		 "communication. You could try Gradient Compression or Gradient Accumulation or "
		 "increase the batch size. Note: Gradient accumulation will increase global "
		 "effective batch size, which may hurt model convergence and accuracy. For such "
		 "case, you may want to evaluate LAMB optimizer.",
		 share * 100);
	if (share > 0.1)
		say(v, text);
}

static void advise_utilization(const struct plugin_view *v)
{
	plugin_devices devices = plugin_devices_of(v->trace), low = { 0 };
	char list[200] = "", text[500];
	size_t n = 0;
	for (size_t i = 0; i < devices.n; i++)
		if (plugin_utilization(v->trace, devices.at[i]) < 0.5)
			vec_push(&low, devices.at[i]);
	/* the missing blank before "and", and "has" for one digit, are the plugin's */
	for (size_t i = 0; i < low.n && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%lld",
				      !i	       ? ""
				      : i + 1 == low.n ? "and "
						       : ", ",
				      (long long)low.at[i]);
	snprintf(text, sizeof(text),
		 "GPU %s %s low utilization. You could try to increase batch size to improve. "
		 "Note: "
		 "Increasing batch size may affect the speed and stability of model convergence.",
		 list, n == 1 ? "has" : "have");
	if (low.n)
		say(v, text);
	vec_free(&devices);
	vec_free(&low);
}

static void advise_tensor_cores(const struct plugin_view *v)
{
	const struct plugin_trace *t = v->trace;
	double eligible = plugin_eligible_ratio(t);
	char text[200];
	if (!t->rows.devices.n || !(t->rows.devices.at[0].major >= 7) ||
	    plugin_used_ratio(t) != 0 || !(eligible > 0))
		return;
	snprintf(text, sizeof(text),
		 "Kernels with %.0f%% time are launched by Tensor Cores eligible operators. You "
		 "could enable Automatic Mixed Precision to speedup by using FP16.",
		 plugin_round(eligible * 100, 0));
	say(v, text);
}

static void advise_memory(const struct plugin_view *v)
{
	const struct plugin_trace *t = v->trace;
	char text[500];
	for (size_t i = 0; i < t->rows.devices.n; i++) {
		double all = t->rows.devices.at[i].memory_bytes,
		       peak = plugin_peak_bytes(t, 1, (int64_t)i);
		if (!(peak > all * 0.9))
			continue;
		snprintf(
			text, sizeof(text),
			"Device memory usage is at the limit of device memory capacity (%.1f%% of "
			"%.1fGB on GPU%zu). To get better value of your GPU or to use larger batch "
			"size for training, please refer to Gradient Checkpoint or Automatic Mixed "
			"Precision.",
			peak / all * 100, all / 1024 / 1024 / 1024, i);
		say(v, text);
		return;
	}
}

void plugin_add_advice(const struct plugin_view *v)
{
	advise_loader(v);
	advise_communication(v);
	advise_utilization(v);
	advise_tensor_cores(v);
	advise_memory(v);
}
