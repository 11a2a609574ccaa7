/* Walks ranges that the application marked (NVTX). Makes the slice of one range, and separate
 * tracks for ranges that need them. */
#include "export/trace_walk_parts.h"

void walk_range(struct walk *w, const struct model_range *r)
{
	walk_slice(w, TRACE_CATEGORY_RANGE, trace_word_of_name(r->name), r->begin_ns, r->end_ns);
	w->slice.item = (uint32_t)(r - w->m->ranges.at);
	walk_word(w, TRACE_ARG_DOMAIN, trace_word_of_name(r->domain));
	if (r->begins_before)
		walk_uint(w, TRACE_ARG_BEGINS_BEFORE, 1);
	if (r->ends_after)
		walk_uint(w, TRACE_ARG_ENDS_AFTER, 1);
}

/* Shows ranges on several tracks if they overlap. A track takes each range that begins after the
 * end of the range before it. `ranges`: indexes, ordered by the ranges' begin. */
static void walk_lanes(struct walk *w, const uint32_t *ranges, size_t n, uint64_t id,
		       const char *name)
{
	bool *is_shown = mem_zero(n);
	for (uint64_t lane = 0, n_left = n; n_left; lane++) {
		uint64_t end_ns = 0;
		walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_RANGES,
						     .id = trace_mix(id, lane),
						     .name = name,
						     .begin_ns = w->m->begin_ns });
		for (size_t i = 0; i < n; i++) {
			const struct model_range *r = &w->m->ranges.at[ranges[i]];
			if (is_shown[i] || r->begin_ns < end_ns)
				continue;
			walk_range(w, r);
			walk_leaf(w);
			end_ns = r->end_ns;
			is_shown[i] = true;
			n_left--;
		}
	}
	free(is_shown);
}

void walk_crossing_ranges(struct walk *w, size_t thread)
{
	const struct model_thread *of = &w->m->threads.at[thread];
	const struct span_list *spans = &w->step->threads[thread].spans;
	char name[64];
	snprintf(name, sizeof(name), "NVTX ranges that overlap others, %.16s %u", of->name,
		 of->tid);
	walk_lanes(w, spans->crossing.at, spans->crossing.n, of->tid, name);
}

void walk_started_ranges(struct walk *w)
{
	VEC(uint32_t) started = { 0 };
	for (size_t i = 0; i < w->m->ranges.n; i++)
		if (w->m->ranges.at[i].kind == MODEL_RANGE_STARTED)
			vec_push(&started, (uint32_t)i);
	walk_lanes(w, started.at, started.n, 0, "NVTX ranges of the process");
	vec_free(&started);
}
