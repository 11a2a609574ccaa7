/*
 * A hash table from 64-bit keys to 64-bit values, with open addressing, at most 2/3 full. Only for
 * the offline half, not for the preloaded library. No locks: one thread may change a map at a time.
 */
#ifndef CORE_MAP_H
#define CORE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key, value;
	bool used;
};

/* All zeros is an empty map. */
struct map {
	struct map_slot *slots;
	size_t room, n;
};

/*
 * Returns a pointer to the key's value. Adds the key with the value 0 if it is not in the map, and
 * sets *is_new to whether it was added, unless is_new is NULL. The pointer is valid until the next
 * map_at() or map_remove().
 */
uint64_t *map_at(struct map *m, uint64_t key, bool *is_new);

/* Returns a pointer to the key's value, valid as for map_at(); NULL: the key is not in the map. */
uint64_t *map_find(const struct map *m, uint64_t key);

/*
 * Remembers the last key that was looked up, and its value. This makes lookups fast if most keys
 * are the same as the key before. The map must not change in the meantime. Set `map` at the start,
 * and all other members to zero.
 */
struct map_memo {
	const struct map *map;
	uint64_t key;
	uint64_t *found; /* the key's value; NULL: not in the map */
	bool is_any;	 /* a key was looked up */
};

/* Returns the same as map_find(). */
static inline uint64_t *map_find_again(struct map_memo *m, uint64_t key)
{
	if (!m->is_any || m->key != key)
		*m = (struct map_memo){ m->map, key, map_find(m->map, key), true };
	return m->found;
}

/* Returns false if the key is not in the map. */
bool map_remove(struct map *m, uint64_t key);
void map_free(struct map *m);

#endif
