/* See python_table.h. Uses open addressing. A table that is half full grows fourfold. */
#include "preload/python_table.h"

#include "core/runtime/token.h"

#include <stddef.h>
#include <sys/mman.h>

enum { FIRST_SLOTS = 4096 }; /* 128 KiB */

static struct python_entry *slot_of(struct python_entry *slots, uint64_t n_slots, uint64_t key)
{
	uint64_t at = (key * TOKEN_K0 >> 20) & (n_slots - 1);
	while (slots[at].key && slots[at].key != key)
		at = (at + 1) & (n_slots - 1);
	return &slots[at];
}

static bool grow(struct python_table *t)
{
	uint64_t n = t->n_slots ? t->n_slots * 4 : FIRST_SLOTS;
	/* Pages that are read before they are written fault twice. The second time interrupts the
	 * CPUs of all other threads. */
	struct python_entry *slots = mmap(NULL, n * sizeof(*slots), PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (slots == MAP_FAILED)
		return false;
	for (uint64_t i = 0; i < t->n_slots; i++)
		if (t->slots[i].key)
			*slot_of(slots, n, t->slots[i].key) = t->slots[i];
	if (t->slots)
		munmap(t->slots, t->n_slots * sizeof(*slots));
	t->slots = slots;
	t->n_slots = n;
	return true;
}

struct python_entry *python_table_at(struct python_table *t, uint64_t key)
{
	if (t->n_used * 2 >= t->n_slots && !grow(t))
		return NULL;
	struct python_entry *e = slot_of(t->slots, t->n_slots, key);
	t->n_used += !e->key;
	e->key = key;
	return e;
}

struct python_entry *python_table_find(const struct python_table *t, uint64_t key)
{
	struct python_entry *e = t->n_slots ? slot_of(t->slots, t->n_slots, key) : NULL;
	return e && e->key ? e : NULL;
}

void python_table_drop(struct python_table *t)
{
	if (t->slots)
		munmap(t->slots, t->n_slots * sizeof(*t->slots));
	*t = (struct python_table){ 0 };
}
