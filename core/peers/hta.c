/* See hta.h. */
#include "core/peers/hta.h"

#include "core/peers/hta_parts.h"

#include <string.h>

static int by_rank(const void *a, const void *b)
{
	const struct hta_rank *x = a, *y = b;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Takes the place of an earlier rank with the same number. */
static size_t keep(struct hta_rank *ranks, size_t n, const struct hta_rank *r)
{
	size_t at = 0;
	while (at < n && ranks[at].rank != r->rank)
		at++;
	if (at < n)
		hta_free(&ranks[at]);
	ranks[at] = *r;
	return at < n ? n : n + 1;
}

void hta_add_steps(const struct hta_job *j)
{
	static const char *const columns[] = { "rank", "step" };
	struct peer_table *t = PEER_TABLE(j->to, "profiler_steps", columns);
	for (size_t i = 0; i < j->n; i++) {
		const struct hta_rank *r = &j->ranks[i];
		struct map seen = { 0 };
		for (size_t k = 0; k < r->events.n; k++) {
			int64_t number = hta_step_number(hta_name(r, &r->events.at[k]));
			bool is_new;
			if (number < 0)
				continue;
			map_at(&seen, (uint64_t)number, &is_new);
			if (!is_new)
				continue;
			peer_number(t, (double)r->rank);
			peer_number(t, (double)number);
		}
		map_free(&seen);
	}
}

int hta_analyze(struct peer_tables *to, const char *const *paths, size_t n, bool keeps_last_step,
		struct err *e)
{
	static void (*const analyses[])(const struct hta_job *) = {
		hta_add_steps,	   hta_add_temporal,	hta_add_idle,	   hta_add_types,
		hta_add_kernels,   hta_add_overlap,	hta_add_launches,  hta_add_queues,
		hta_add_bandwidth, hta_add_annotations, hta_add_operators,
	};
	struct hta_rank *ranks = mem_zero((n + 1) * sizeof(*ranks)), r;
	struct hta_job job = { ranks, 0, to };
	int error = 0;
	for (size_t i = 0; !error && i < n; i++) {
		error = hta_load(&r, paths[i], e);
		if (error)
			hta_free(&r);
		else
			job.n = keep(ranks, job.n, &r);
	}
	qsort(ranks, job.n, sizeof(*ranks), by_rank);
	if (!error) {
		hta_align(ranks, job.n, keeps_last_step);
		for (size_t i = 0; i < sizeof(analyses) / sizeof(*analyses); i++)
			analyses[i](&job);
	}
	for (size_t i = 0; i < job.n; i++)
		hta_free(&ranks[i]);
	free(ranks);
	return error;
}
