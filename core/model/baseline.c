#include "core/model/baseline.h"

static void note_longest(struct baseline *b, uint64_t number, double ms)
{
	struct baseline_long *at = b->longest;
	size_t i = b->n_longest;
	if (i == BASELINE_LONGEST && ms <= (double)at[--i].ms)
		return;
	for (; i && (double)at[i - 1].ms < ms; i--)
		at[i] = at[i - 1];
	at[i] = (struct baseline_long){ number, b->n, (float)ms };
	b->n_longest += b->n_longest < BASELINE_LONGEST;
}

void baseline_add(struct baseline *b, uint64_t number, double ms, bool is_recorded)
{
	note_longest(b, number, ms);
	b->recent_ms[b->n % BASELINE_RECENT] = (float)ms;
	if (!b->n)
		b->first = number;
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
