/*
 * An operator's self time is its total time minus the total times of the operators directly inside
 * it. One pass over the spans finds these, because spans are sorted by start, outer spans first,
 * and no span crosses another one.
 */
#include "core/analysis/operator_sums.h"

void operator_sums_free(struct operator_sums *s)
{
	map_free(&s->place);
	vec_free(&s->at);
	vec_free(&s->open);
}

static struct operator_sum *sum_of(struct operator_sums *s, uint32_t name)
{
	bool is_new;
	uint64_t *at = map_at(&s->place, name, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, (struct operator_sum){ .name = name });
	}
	return &s->at.at[*at];
}

/* Removes the spans that do not enclose `span` from s->open. Returns the innermost operator that
 * encloses it; NULL: none. */
static const struct span *around(struct operator_sums *s, const struct span_list *spans,
				 const struct span *span)
{
	while (s->open.n) {
		const struct span *o = &spans->at.at[s->open.at[s->open.n - 1]];
		if (spans_is_within(span, o))
			return o;
		s->open.n--;
	}
	return NULL;
}

void operator_sums_add(struct operator_sums *s, const struct span_list *spans,
		       const uint64_t *gpu_ns, const uint64_t *n_works, struct strtab *texts)
{
	s->open.n = 0;
	for (size_t i = 0; i < spans->at.n; i++) {
		const struct span *span = &spans->at.at[i];
		if (span->kind != SPAN_OPERATOR)
			continue;
		uint64_t ns = gpu_ns[span->first_call + span->n_calls] - gpu_ns[span->first_call];
		uint64_t host_ns = n_works ? 0 : span->end_ns - span->begin_ns;
		const struct span *outer = around(s, spans, span);
		if (outer) {
			struct operator_sum *sum = sum_of(s, strtab_intern(texts, outer->operator));
			sum->self_gpu_ns -= ns;
			sum->self_graph_ns -= n_works ? ns : 0;
			sum->self_host_ns -= host_ns;
		}
		struct operator_sum *sum = sum_of(s, strtab_intern(texts, span->operator));
		sum->n += n_works ? n_works[span->first_call] : 1;
		sum->gpu_ns += ns;
		sum->self_gpu_ns += ns;
		sum->self_graph_ns += n_works ? ns : 0;
		sum->host_ns += host_ns;
		sum->self_host_ns += host_ns;
		vec_push(&s->open, (uint32_t)i);
	}
}
