#include "core/model/baseline.h"

void baseline_add(struct baseline *b, double ms, bool is_recorded)
{
	b->n++;
	if (is_recorded)
		b->last_recorded = b->n;
	if (b->ms.n < BASELINE_KEPT) {
		vec_push(&b->ms, (float)ms);
		return;
	}
	uint64_t place =
		BASELINE_ORDERED + sample_next_random(&b->random) % (b->n - BASELINE_ORDERED);
	if (place < BASELINE_KEPT)
		b->ms.at[place] = (float)ms;
}

void baseline_free(struct baseline *b)
{
	vec_free(&b->ms);
}
