/*
 * A hash table from 64-bit keys to 64-bit values, with open addressing, at most 2/3 full. Offline
 * half only.
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
 * Returns the place of the key's value, which is created as 0 if it is new. Valid until the next
 * map_at() or map_remove().
 */
uint64_t *map_at(struct map *m, uint64_t key, bool *is_new);

/* Returns NULL if there is none. */
uint64_t *map_find(const struct map *m, uint64_t key);

/*
 * For keys that mostly equal the previous one, in a map that does not change meanwhile. Initialize
 * `map`, and all else to zero.
 */
struct map_memo {
	const struct map *map;
	uint64_t key;
	uint64_t *found;
	bool is_any;
};

static inline uint64_t *map_find_again(struct map_memo *m, uint64_t key)
{
	if (!m->is_any || m->key != key)
		*m = (struct map_memo){ m->map, key, map_find(m->map, key), true };
	return m->found;
}

bool map_remove(struct map *m, uint64_t key);
void map_free(struct map *m);

#endif
