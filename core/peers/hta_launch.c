/* Calls that launch work, and when the work began: hta/analyzers/cuda_kernel_analysis.py. */
#include "core/peers/hta_parts.h"

#include <string.h>

enum { LONG_CALL_US = 50, LONG_DELAY_US = 100 }; /* HTA's defaults */

struct stats {
	double n, cpu, gpu, delay, most, n_short, n_long, n_delayed;
};

static bool is_launch(const char *name)
{
	static const char *const names[] = { "cudaLaunchKernel", "cudaLaunchKernelExC",
					     "runFunction - job_prep_and_submit_for_execution",
					     "cudaMemsetAsync", "cudaMemcpyAsync" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void take(struct stats *s, const struct hta_event *call, const struct hta_event *work)
{
	double delay = fmax(0, work->ts - call->ts - call->duration);
	s->n++;
	s->cpu += call->duration;
	s->gpu += work->duration;
	s->delay += delay;
	s->most = isnan(s->most) ? delay : fmax(s->most, delay);
	s->n_short += call->duration <= LONG_CALL_US && work->duration < call->duration;
	s->n_long += call->duration > LONG_CALL_US;
	s->n_delayed += delay > LONG_DELAY_US;
}

static struct stats sum_up(const struct hta_rank *r)
{
	struct stats s = { .most = NAN };
	struct map launched = { 0 }; /* correlation -> first work + 1 */
	uint64_t *next = mem_zero(r->events.n * sizeof(*next));
	for (size_t i = 0; i < r->events.n; i++)
		if (is_launch(hta_name(r, &r->events.at[i])))
			map_at(&launched, (uint64_t)r->events.at[i].correlation, NULL);
	for (size_t i = r->events.n; i-- > 0;) {
		const struct hta_event *e = &r->events.at[i];
		uint64_t *first = hta_has_stream(e) ? map_find(&launched, (uint64_t)e->correlation)
						    : NULL;
		if (!first)
			continue;
		next[i] = *first;
		*first = i + 1;
	}
	for (size_t i = 0; i < r->events.n; i++) {
		const struct hta_event *e = &r->events.at[i];
		const uint64_t *first =
			hta_has_stream(e) ? NULL : map_find(&launched, (uint64_t)e->correlation);
		for (uint64_t work = first ? *first : 0; work; work = next[work - 1])
			take(&s, e, &r->events.at[work - 1]);
	}
	free(next);
	map_free(&launched);
	return s;
}

void hta_add_launches(const struct hta_job *j)
{
	static const char *const columns[] = { "rank",
					       "n",
					       "cpu_duration_sum",
					       "gpu_duration_sum",
					       "launch_delay_sum",
					       "launch_delay_max",
					       "n_short_kernels",
					       "n_runtime_outliers",
					       "n_launch_delay_outliers" };
	struct peer_table *t = PEER_TABLE(j->to, "cuda_kernel_launch_stats", columns);
	for (size_t i = 0; i < j->n; i++) {
		struct stats s = sum_up(&j->ranks[i]);
		const double values[] = { (double)j->ranks[i].rank,
					  s.n,
					  s.cpu,
					  s.gpu,
					  s.delay,
					  s.most,
					  s.n_short,
					  s.n_long,
					  s.n_delayed };
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++)
			peer_number(t, values[k]);
	}
}
