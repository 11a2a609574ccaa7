#include "core/source/journal/wrong_ids.h"

#include "core/runtime/kinds.h"
#include "core/util/map.h"
#include "core/util/vec.h"

#include <stdlib.h>

static int by_stream(const void *a, const void *b)
{
	const struct rec_gpu *x = *(struct rec_gpu *const *)a, *y = *(struct rec_gpu *const *)b;
	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->begin_ticks < y->begin_ticks ? -1 : x->begin_ticks > y->begin_ticks;
}

static bool has_graph(const struct rec_gpu *works, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (works[i].kind != REC_GPU_SYNC && works[i].graph)
			return true;
	return false;
}

static uint64_t *runs_of(struct map *runs, const struct rec_gpu *g)
{
	bool is_new;
	uint64_t *at = map_at(runs, g->node * 0x9e3779b97f4a7c15u + g->correlation, &is_new);
	if (is_new)
		*at = 0;
	return at;
}

/* Lists the work by stream and start, and counts how often each graph node ran under each id. */
static struct rec_gpu **list(struct rec_gpu *works, size_t n, struct map *runs, size_t *n_listed)
{
	struct rec_gpu **sorted = mem_resize(NULL, n * sizeof(*sorted));
	*n_listed = 0;
	for (size_t i = 0; i < n; i++) {
		if (works[i].kind == REC_GPU_SYNC || !works[i].begin_ticks)
			continue;
		sorted[(*n_listed)++] = &works[i];
		if (works[i].graph)
			++*runs_of(runs, &works[i]);
	}
	qsort(sorted, *n_listed, sizeof(*sorted), by_stream);
	return sorted;
}

size_t wrong_ids_mark(struct rec_gpu *works, size_t n, const uint32_t *last_gone)
{
	struct map runs = { 0 };
	size_t n_sorted, n_marked = 0;
	if (!has_graph(works, n))
		return 0;
	struct rec_gpu **sorted = list(works, n, &runs, &n_sorted);
	const struct rec_gpu *highest = NULL; /* of the work before, in the same stream */
	for (size_t i = 0; i < n_sorted; i++) {
		struct rec_gpu *g = sorted[i];
		bool is_first = !highest || highest->context != g->context ||
				highest->stream != g->stream;
		bool is_lower = !is_first && (int32_t)(g->correlation - highest->correlation) < 0;
		bool is_used = g->graph &&
			       (*runs_of(&runs, g) > 1 ||
				(last_gone && (int32_t)(g->correlation - *last_gone) <= 0));
		if (g->graph && is_lower && is_used && !(g->flags & GPU_WRONG_ID)) {
			g->flags |= GPU_WRONG_ID;
			n_marked++;
		}
		if (is_first || !is_lower)
			highest = g;
	}
	free(sorted);
	map_free(&runs);
	return n_marked;
}
