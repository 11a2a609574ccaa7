/* See block_table.h. */
#include "preload/block_table.h"

#include "preload/hook.h"

#include <errno.h>
#include <sys/mman.h>

enum {
	TABLES = 4, /* hash tables per device */
	FIRST_BITS = 12,
	/* each table has four times the slots of the previous one; together 350,000 */
	MORE_BITS = 2,
	WITHIN = 16, /* slots that are probed per table, beginning at a block's hash */
};

struct details {
	_Atomic uint64_t bytes, made_ticks;
	_Atomic uint32_t stack;
} __attribute__((aligned(32)));

/*
 * One hash table, of 1 << bits slots. The addresses (0: the slot is free) have an array of their
 * own, because most look-ups read nothing else. Only one thread at a time writes, so no locked
 * instructions are needed; one takes 9 ns. Any thread may read.
 */
struct places {
	_Atomic uint64_t *addresses;
	struct details *details;
};

/* The memory of each table; NULL until the table is first needed. */
static _Atomic(void *) tables[BLOCK_DEVICES][TABLES];

static inline struct places places_of(void *table, unsigned bits)
{
	return (struct places){ table, (void *)((_Atomic uint64_t *)table + (1u << bits)) };
}

/*
 * Searches WITHIN slots, beginning at the hash of `address`. Returns the first slot that contains
 * `wanted` (0: the first free slot), or -1. Blocks begin at multiples of 512 bytes, so the hash
 * omits the lowest 9 bits of the address.
 */
static inline int64_t find(const _Atomic uint64_t *addresses, unsigned bits, uint64_t address,
			   uint64_t wanted)
{
	uint32_t mask = (1u << bits) - 1;
	uint32_t at = (uint32_t)((address >> 9) * 0x9E3779B97F4A7C15ull >> (64 - bits));
	for (uint32_t left = WITHIN; left; left--, at = (at + 1) & mask)
		if (atomic_load_explicit(&addresses[at], memory_order_relaxed) == wanted)
			return at;
	return -1;
}

/*
 * Release stores: a reader that sees one of the new values also sees that the previous block of the
 * slot was removed. each_of() checks for that.
 */
static inline void fill(struct places p, int64_t at, const struct block_entry *e)
{
	struct details *d = &p.details[at];
	atomic_store_explicit(&d->bytes, e->bytes, memory_order_release);
	atomic_store_explicit(&d->made_ticks, e->made_ticks, memory_order_release);
	atomic_store_explicit(&d->stack, e->stack, memory_order_release);
	atomic_store_explicit(&p.addresses[at], e->address, memory_order_release);
}

static inline void give_back(struct places p, int64_t at)
{
	atomic_store_explicit(&p.addresses[at], 0, memory_order_release);
}

static unsigned bits_of(unsigned level)
{
	return FIRST_BITS + MORE_BITS * level;
}

static size_t table_bytes(unsigned level)
{
	return (sizeof(uint64_t) + sizeof(struct details)) << bits_of(level);
}

static void *table_at(unsigned device, unsigned level)
{
	return atomic_load_explicit(&tables[device][level], memory_order_acquire);
}

/* Maps the memory of a table. Returns NULL if there is no memory. Keeps errno. */
static void *make_table(unsigned device, unsigned level)
{
	int saved = errno;
	void *p = mmap(NULL, table_bytes(level), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (p == MAP_FAILED)
		return NULL;
	atomic_store_explicit(&tables[device][level], p, memory_order_release);
	return p;
}

HOT bool block_table_add(const struct block_entry *e)
{
	for (unsigned level = 0; level < TABLES; level++) {
		void *table = table_at(e->device, level);
		if (UNLIKELY(!table) && !(table = make_table(e->device, level)))
			return false;
		struct places places = places_of(table, bits_of(level));
		int64_t at = find(places.addresses, bits_of(level), e->address, 0);
		if (at < 0)
			continue;
		fill(places, at, e);
		return true;
	}
	return false;
}

HOT bool block_table_remove(unsigned device, uint64_t address)
{
	void *table;
	for (unsigned level = 0; level < TABLES && (table = table_at(device, level)); level++) {
		struct places places = places_of(table, bits_of(level));
		int64_t at = find(places.addresses, bits_of(level), address, address);
		if (at < 0)
			continue;
		give_back(places, at);
		return true;
	}
	return false;
}

static void each_of(unsigned device, unsigned level,
		    void (*each)(void *context, const struct block_entry *e), void *context)
{
	void *table = table_at(device, level);
	struct places p = places_of(table, bits_of(level));
	for (uint32_t at = 0; table && at < 1u << bits_of(level); at++) {
		struct block_entry e = { .device = (uint8_t)device };
		e.address = atomic_load_explicit(&p.addresses[at], memory_order_acquire);
		if (!e.address)
			continue;
		e.bytes = atomic_load_explicit(&p.details[at].bytes, memory_order_relaxed);
		e.made_ticks =
			atomic_load_explicit(&p.details[at].made_ticks, memory_order_relaxed);
		e.stack = atomic_load_explicit(&p.details[at].stack, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		/* skip a slot that was reused meanwhile: its details may belong to the new block */
		if (atomic_load_explicit(&p.addresses[at], memory_order_relaxed) == e.address)
			each(context, &e);
	}
}

void block_table_each(unsigned device, void (*each)(void *context, const struct block_entry *e),
		      void *context)
{
	for (unsigned level = 0; level < TABLES; level++)
		each_of(device, level, each, context);
}

void block_table_forget(void)
{
	for (unsigned device = 0; device < BLOCK_DEVICES; device++) {
		for (unsigned level = 0; level < TABLES; level++) {
			void *table = table_at(device, level);
			if (table)
				madvise(table, table_bytes(level), MADV_DONTNEED);
		}
	}
}
