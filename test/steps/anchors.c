#include "test/steps/anchors.h"

#include "core/runtime/token.h"

#include <stdlib.h>

/*
 * Steps that are not judged. With one launch per step, the third step is the first one that
 * completes a trigram of steps.
 */
enum { NOT_JUDGED = UINT32_MAX, FIRST_ENDS = 3 };

struct seen {
	uint64_t hash;
	uint32_t step;
	bool is_last; /* completed by the last launch of its step */
};

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/*
 * Fills in for every event the trigram that it completes and the number of its step, from 0 on.
 * Returns the number of steps.
 */
static uint32_t see(struct seen *seen, const struct sequence *s, enum program_end truth)
{
	struct token_window windows[16] = { 0 };
	uint32_t mark = 0, step = 0, n_ends = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		for (; mark < s->n_marks && s->marks[mark].at <= i; mark++)
			n_ends += (s->marks[mark].ends & (truth | END_FREE)) != 0;
		uint32_t next = mark;
		while (next < s->n_marks && !(s->marks[next].ends & (truth | END_FREE)))
			next++;
		bool judged = n_ends >= FIRST_ENDS && next < s->n_marks &&
			      s->marks[next].ends & truth;
		bool last = judged && s->marks[next].at == i + 1;
		seen[i] = (struct seen){
			.hash = token_window_push(&windows[s->events[i].thread % 16],
						  s->events[i].event.token),
			.step = judged ? step : NOT_JUDGED,
			.is_last = last,
		};
		step += last;
	}
	return step;
}

void anchors_count(struct anchors *a, const struct sequence *s, enum program_end truth)
{
	struct seen *seen = calloc(s->n + 1, sizeof(*seen));
	if (!seen)
		abort();
	uint32_t n_steps = see(seen, s, truth), end;
	*a = (struct anchors){ 0 };
	qsort(seen, s->n, sizeof(*seen), compare_seen);
	for (uint32_t i = 0; i < s->n; i = end) {
		uint32_t n_once = 0, n_last = 0;
		for (end = i; end < s->n && seen[end].hash == seen[i].hash; end++) {
			n_once += seen[end].step == end - i;
			n_last += seen[end].is_last;
		}
		/*
		 * The k-th occurrence is in step k. Further occurrences are in events that are not
		 * judged.
		 */
		bool once = n_steps && n_once == n_steps &&
			    (end - i == n_steps || seen[i + n_steps].step == NOT_JUDGED);
		a->n += once;
		a->n_place += once && n_last == n_steps;
	}
	free(seen);
}
