/*
 * Growing arrays for the offline half; the preloaded library must not use them. If an allocation
 * fails, the tool prints one line and exits: half a trace is of no use, and the journal is still
 * there for another attempt.
 */
#ifndef CORE_VEC_H
#define CORE_VEC_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An array of `n` items with room for `room` items. All zeros is an empty array. Free it with
 * vec_free(). */
#define VEC(type)               \
	struct {                \
		type *at;       \
		size_t n, room; \
	}

static inline void *mem_check(void *p, size_t bytes)
{
	if (!p) {
		fprintf(stderr, "profrun: out of memory (%zu bytes)\n", bytes);
		exit(1);
	}
	return p;
}

/* The mem_ functions never return NULL, not even for 0 bytes. The caller frees the memory. */

static inline void *mem_resize(void *old, size_t bytes)
{
	return mem_check(realloc(old, bytes ? bytes : 1), bytes);
}

static inline void *mem_zero(size_t bytes)
{
	return mem_check(calloc(1, bytes ? bytes : 1), bytes);
}

static inline char *mem_text(const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(mem_resize(NULL, bytes), text, bytes);
}

/* Enlarges an array's memory by half, or to `wanted` items if that is more. Sets *room. */
static inline void *vec_grow(void *at, size_t *room, size_t wanted, size_t item_bytes)
{
	size_t more = *room + *room / 2 + 16;
	*room = more < wanted ? wanted : more;
	return mem_resize(at, *room * item_bytes);
}

/* Makes room for `count` more items. */
#define vec_reserve(v, count)                                                             \
	do {                                                                              \
		if (!(v)->at || (v)->room - (v)->n < (size_t)(count))                     \
			(v)->at = vec_grow((v)->at, &(v)->room, (v)->n + (size_t)(count), \
					   sizeof(*(v)->at));                             \
	} while (0)

/* Appends an item. Pointers to items become invalid. */
#define vec_push(v, ...)                           \
	do {                                       \
		vec_reserve(v, 1);                 \
		(v)->at[(v)->n++] = (__VA_ARGS__); \
	} while (0)

/* Appends zero items until the item with the index `id` exists. */
#define vec_at_id(v, id)                                                       \
	do {                                                                   \
		if ((v)->n <= (id)) {                                          \
			size_t more_ = (id) + 1 - (v)->n;                      \
			vec_reserve(v, more_);                                 \
			memset((v)->at + (v)->n, 0, more_ * sizeof(*(v)->at)); \
			(v)->n += more_;                                       \
		}                                                              \
	} while (0)

/* Removes the first `count` items, and moves the others to the front. */
#define vec_shift(v, count)                                                           \
	do {                                                                          \
		size_t gone_ = (count);                                               \
		(v)->n -= gone_;                                                      \
		if (gone_ && (v)->n)                                                  \
			memmove((v)->at, (v)->at + gone_, (v)->n * sizeof(*(v)->at)); \
	} while (0)

/*
 * An array whose items are removed from the front. queue_shift() does not move items, but advances
 * `at` and counts the removed items in `gone`. If the memory is full and `gone` exceeds the number
 * of items left, queue_push() moves the items to the front of the memory. vec_shift() would move
 * all items at every removal: with the step boundaries of 300,000 steps in the array, a collector
 * that was late never caught up.
 */
#define QUEUE(type)                   \
	struct {                      \
		type *at;             \
		size_t n, room, gone; \
	}

/* Makes room for one more item in a full queue. Returns the new `at`. */
static inline void *queue_make_room(void *at, size_t n, size_t *room, size_t *gone,
				    size_t item_bytes)
{
	if (!at)
		return vec_grow(NULL, room, 1, item_bytes);
	char *base = (char *)at - *gone * item_bytes;
	if (*gone > n) {
		memmove(base, at, n * item_bytes);
		*gone = 0;
		return base;
	}
	base = vec_grow(base, room, *gone + n + 1, item_bytes);
	return base + *gone * item_bytes;
}

#define queue_push(q, ...)                                                                 \
	do {                                                                               \
		if ((q)->gone + (q)->n == (q)->room)                                       \
			(q)->at = queue_make_room((q)->at, (q)->n, &(q)->room, &(q)->gone, \
						  sizeof(*(q)->at));                       \
		(q)->at[(q)->n++] = (__VA_ARGS__);                                         \
	} while (0)

/* Removes the first `count` items. */
#define queue_shift(q, count)           \
	do {                            \
		size_t gone_ = (count); \
		(q)->at += gone_;       \
		(q)->gone += gone_;     \
		(q)->n -= gone_;        \
	} while (0)

#define queue_free(q)                                       \
	do {                                                \
		free((q)->at ? (q)->at - (q)->gone : NULL); \
		memset((q), 0, sizeof(*(q)));               \
	} while (0)

#define vec_free(v)                           \
	do {                                  \
		free((v)->at);                \
		memset((v), 0, sizeof(*(v))); \
	} while (0)

#endif
