#include "core/analysis/idle_queue.h"

static bool is_before(const struct idle_item *a, const struct idle_item *b)
{
	return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->number < b->number;
}

void idle_queue_push(struct idle_queue *q, const struct idle_item *item)
{
	vec_push(&q->heap, *item);
	size_t i = q->heap.n - 1;
	for (; i && is_before(item, &q->heap.at[(i - 1) / 2]); i = (i - 1) / 2)
		q->heap.at[i] = q->heap.at[(i - 1) / 2];
	q->heap.at[i] = *item;
}

struct idle_item idle_queue_pop(struct idle_queue *q)
{
	const struct idle_item first = q->heap.at[0], moved = q->heap.at[--q->heap.n];
	size_t i = 0;
	for (size_t child; (child = 2 * i + 1) < q->heap.n; i = child) {
		if (child + 1 < q->heap.n && is_before(&q->heap.at[child + 1], &q->heap.at[child]))
			child++;
		if (!is_before(&q->heap.at[child], &moved))
			break;
		q->heap.at[i] = q->heap.at[child];
	}
	q->heap.at[i] = moved;
	return first;
}
