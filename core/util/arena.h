/* Allocates memory that is freed all at once, for trees of structs with one lifetime. An arena is
 * used by one thread at a time. */
#ifndef CORE_ARENA_H
#define CORE_ARENA_H

#include "core/util/vec.h"

/* All zeros is an empty arena. */
struct arena {
	VEC(void *) blocks;
};

/* Returns zeroed memory that the arena owns. Never returns NULL, not even for 0 bytes. */
static inline void *arena_zero(struct arena *a, size_t bytes)
{
	void *block = mem_zero(bytes);
	vec_push(&a->blocks, block);
	return block;
}

/* Returns a copy of the text that the arena owns. */
static inline const char *arena_text(struct arena *a, const char *text)
{
	char *copy = mem_text(text);
	vec_push(&a->blocks, copy);
	return copy;
}

static inline void arena_free(struct arena *a)
{
	for (size_t i = 0; i < a->blocks.n; i++)
		free(a->blocks.at[i]);
	vec_free(&a->blocks);
}

#endif
