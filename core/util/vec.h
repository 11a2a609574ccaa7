/*
 * Growing arrays for the offline half. A failed allocation ends the tool with one line: half a
 * trace is of no use, and the journal is still there.
 */
#ifndef CORE_VEC_H
#define CORE_VEC_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#define vec_push(v, ...)                           \
	do {                                       \
		vec_reserve(v, 1);                 \
		(v)->at[(v)->n++] = (__VA_ARGS__); \
	} while (0)

/* Makes item number `id` exist; new items are zero. */
#define vec_at_id(v, id)                                                       \
	do {                                                                   \
		if ((v)->n <= (id)) {                                          \
			size_t more_ = (id) + 1 - (v)->n;                      \
			vec_reserve(v, more_);                                 \
			memset((v)->at + (v)->n, 0, more_ * sizeof(*(v)->at)); \
			(v)->n += more_;                                       \
		}                                                              \
	} while (0)

/* Drops the first `count` items. */
#define vec_shift(v, count)                                                           \
	do {                                                                          \
		size_t gone_ = (count);                                               \
		(v)->n -= gone_;                                                      \
		if (gone_ && (v)->n)                                                  \
			memmove((v)->at, (v)->at + gone_, (v)->n * sizeof(*(v)->at)); \
	} while (0)

/*
 * An array that is emptied from its front: `at` advances, and the `gone` items before it are reused
 * once there are more of them than items held. When each of 300,000 steps' marks was shifted by one
 * instead, a collector that lagged never caught up.
 */
#define QUEUE(type)                   \
	struct {                      \
		type *at;             \
		size_t n, room, gone; \
	}

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
