/*
 * The GPU work of one device that has not begun yet, earliest begin first; work that begins at the
 * same time stays in the order in which it was pushed. A binary heap: a program may launch hundreds
 * of thousands of kernels ahead, and a short step must not look at all of them.
 */
#ifndef CORE_IDLE_QUEUE_H
#define CORE_IDLE_QUEUE_H

#include "core/analysis/idle.h"

struct idle_queue {
	VEC(struct idle_item) heap;
};

void idle_queue_push(struct idle_queue *q, const struct idle_item *item);
/* Removes the first piece of work. There must be one. */
struct idle_item idle_queue_pop(struct idle_queue *q);

/* Returns the first piece of work, NULL if there is none. Valid until the queue changes. */
static inline const struct idle_item *idle_queue_first(const struct idle_queue *q)
{
	return q->heap.n ? &q->heap.at[0] : NULL;
}

#endif
