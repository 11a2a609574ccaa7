/* See host_sums.h. */
#include "core/analysis/host_sums.h"

#include "core/analysis/lane_samples.h"

void host_sums_free(struct host_sums *s)
{
	map_free(&s->place);
	vec_free(&s->at);
}

static uint64_t key_of(const struct lane_sample *x)
{
	enum { BITS = 27, MOST = (1 << BITS) - 1 };
	if (x->stack)
		return (uint64_t)x->stack << 8 | x->kind;
	return 1ull << 63 | (uint64_t)(x->after & MOST) << (8 + BITS) |
	       (uint64_t)(x->before & MOST) << 8 | x->kind;
}

void host_sums_add(struct host_sums *s, const struct lane_samples *samples)
{
	for (size_t i = 0; i < samples->at.n; i++) {
		const struct lane_sample *x = &samples->at.at[i];
		bool is_new;
		if (!x->is_of_step)
			continue;
		uint64_t *at = map_at(&s->place, key_of(x), &is_new);
		if (is_new) {
			*at = s->at.n;
			vec_push(&s->at, (struct host_sum){ .stack = x->stack,
							    .after = x->after,
							    .before = x->before,
							    .kind = x->kind });
		}
		s->at.at[*at].n++;
		s->at.at[*at].ns += x->weight_ns;
		s->n++;
		s->ns += x->weight_ns;
	}
	s->outside_ns += samples->outside_ns;
}
