/* Spans of operators whose times the source knows, as torch.profiler records them. */
#include "core/analysis/spans.h"

/* The thread's ranges, which come first in the list, while its operators are visited in order of
 * their begins. Ranges nest. */
struct ranges {
	const struct span_list *list;
	size_t n, next;	    /* `next`: the first range that begins after the operator */
	VEC(uint64_t) ends; /* of the ranges around the operator, outermost first */
};

/* Returns whether the operator would cross a range. */
static bool crosses(struct ranges *r, const struct model_operator *o)
{
	const struct span *ranges = r->list->at.at;
	for (; r->next < r->n && ranges[r->next].begin_ns <= o->begin_ns; r->next++) {
		while (r->ends.n && r->ends.at[r->ends.n - 1] <= ranges[r->next].begin_ns)
			r->ends.n--;
		vec_push(&r->ends, ranges[r->next].end_ns);
	}
	while (r->ends.n && r->ends.at[r->ends.n - 1] <= o->begin_ns)
		r->ends.n--;
	if (r->ends.n && o->end_ns > r->ends.at[r->ends.n - 1])
		return true;
	for (size_t i = r->next; i < r->n && ranges[i].begin_ns < o->end_ns; i++)
		if (ranges[i].end_ns > o->end_ns)
			return true;
	return false;
}

void spans_add_known(struct span_list *list, const struct model_step *m, size_t thread)
{
	const struct model_thread *t = &m->threads.at[thread];
	const struct model_operator *all = m->operators.at;
	size_t n = m->operators.n, first = bisect(n, i, all[i].thread < thread);
	struct ranges ranges = { .list = list, .n = list->at.n };
	uint32_t depth = 0; /* the order of spans with the same times */
	for (size_t i = first; i < n && all[i].thread == thread; i++) {
		const struct model_operator *o = &all[i];
		if (crosses(&ranges, o))
			continue;
		size_t call = model_first_call(m, t, o->begin_ns),
		       end = model_first_call(m, t, o->end_ns);
		vec_push(&list->at,
			 (struct span){ .begin_ns = o->begin_ns,
					.end_ns = o->end_ns,
					.operator= strtab_text(&m->tables->names, o->name),
					.depth = depth,
					.first_call = (uint32_t)(t->first + call),
					.n_calls = (uint32_t)(end > call ? end - call : 0),
					.kind = SPAN_OPERATOR });
		depth++;
	}
	vec_free(&ranges.ends);
}
