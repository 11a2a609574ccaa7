/* Walks the overhead that CUPTI reports. Overlapping pieces are on separate tracks. */
#include "export/trace_walk_parts.h"

/* Shows those remaining pieces that fit on one track. Returns the number of pieces shown. */
static size_t walk_lane(struct walk *w, uint64_t lane, bool *is_shown)
{
	uint64_t end_ns = 0;
	size_t n = 0;
	for (size_t i = 0; i < w->m->overheads.n; i++) {
		const struct model_overhead *o = &w->m->overheads.at[i];
		if (is_shown[i] || o->begin_ns < end_ns)
			continue;
		if (!n++)
			walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_OVERHEAD,
							     .id = lane,
							     .name = "CUPTI overhead",
							     .begin_ns = o->begin_ns });
		walk_slice_named(w, TRACE_CATEGORY_OVERHEAD, model_overhead_kind(o->what),
				 o->begin_ns, o->end_ns);
		walk_leaf(w);
		end_ns = o->end_ns > o->begin_ns ? o->end_ns : o->begin_ns + 1;
		is_shown[i] = true;
	}
	return n;
}

void walk_overheads(struct walk *w)
{
	bool *is_shown = mem_zero(w->m->overheads.n);
	size_t n_left = w->m->overheads.n;
	for (uint64_t lane = 0; n_left; lane++)
		n_left -= walk_lane(w, lane, is_shown);
	free(is_shown);
}
