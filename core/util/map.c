/*
 * Uses linear probing. map_remove() shifts later keys back instead of leaving tombstones, which
 * would fill a table that is in use for days.
 */
#include "core/util/map.h"

#include "core/util/vec.h"

/* Returns the slot at which the search for the key begins. */
static size_t home(const struct map *m, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;
	return (size_t)(h ^ h >> 32) & (m->room - 1);
}

/* Returns the key's slot, or the unused slot in which to store the key. */
static struct map_slot *probe(const struct map *m, uint64_t key)
{
	size_t i = home(m, key);
	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & (m->room - 1);
	return &m->slots[i];
}

static void grow(struct map *m)
{
	struct map old = *m;
	m->room = old.room ? old.room * 2 : 64;
	m->slots = mem_zero(m->room * sizeof(*m->slots));
	for (size_t i = 0; i < old.room; i++)
		if (old.slots[i].used)
			*probe(m, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

uint64_t *map_at(struct map *m, uint64_t key, bool *is_new)
{
	if ((m->n + 1) * 3 > m->room * 2)
		grow(m);
	struct map_slot *s = probe(m, key);
	if (is_new)
		*is_new = !s->used;
	if (!s->used) {
		*s = (struct map_slot){ .key = key, .used = true };
		m->n++;
	}
	return &s->value;
}

uint64_t *map_find(const struct map *m, uint64_t key)
{
	if (!m->room)
		return NULL;
	struct map_slot *s = probe(m, key);
	return s->used ? &s->value : NULL;
}

bool map_remove(struct map *m, uint64_t key)
{
	if (!m->room)
		return false;
	struct map_slot *s = probe(m, key);
	if (!s->used)
		return false;
	size_t hole = (size_t)(s - m->slots), mask = m->room - 1;
	for (size_t i = (hole + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
		size_t from = home(m, m->slots[i].key);
		if (((i - from) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole].used = false;
	m->n--;
	return true;
}

void map_free(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}
