/* See block_table.h. */
#include "preload/block_table.h"

#include "preload/hook.h"

#include <errno.h>
#include <sys/mman.h>

enum {
	TABLES = 4,
	FIRST_BITS = 12, /* 4,096 places, 128 KiB: most programs never need a second table */
	MORE_BITS = 2,	 /* each has four times as many as the one before: 350,000 blocks in all */
	WITHIN = 16,
};

/* Half a cache line. One thread at a time writes, so that no locked instruction is needed (9 ns); any may read. */
struct place {
	_Atomic uint64_t address; /* 0: free */
	_Atomic uint64_t bytes, made_ticks;
	_Atomic uint32_t stack;
};

static _Atomic(struct place *) tables[BLOCK_DEVICES][TABLES];

static uint32_t places(unsigned level)
{
	return 1u << (FIRST_BITS + MORE_BITS * level);
}

static size_t table_bytes(unsigned level)
{
	return places(level) * sizeof(struct place);
}

static inline struct place *table_at(unsigned device, unsigned level)
{
	return atomic_load_explicit(&tables[device][level], memory_order_acquire);
}

__attribute__((noinline)) static struct place *make_table(unsigned device, unsigned level)
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

/* Blocks begin at multiples of 512 bytes. */
static inline uint32_t place_of(uint64_t address, unsigned level)
{
	return (uint32_t)((address >> 9) * 0x9E3779B97F4A7C15ull >>
			  (64 - FIRST_BITS - MORE_BITS * level));
}

/* Where `wanted` (0: nothing) stands near to where `address` belongs. */
static inline struct place *find(struct place *table, unsigned level, uint64_t address,
				 uint64_t wanted)
{
	uint32_t first = place_of(address, level), mask = places(level) - 1;
	for (uint32_t i = 0; i < WITHIN; i++) {
		struct place *p = &table[(first + i) & mask];
		if (atomic_load_explicit(&p->address, memory_order_relaxed) == wanted)
			return p;
	}
	return NULL;
}

HOT bool block_table_add(const struct block_entry *e)
{
	struct place *table, *p = NULL;
	for (unsigned level = 0; level < TABLES && !p; level++) {
		table = table_at(e->device, level);
		if (UNLIKELY(!table) && !(table = make_table(e->device, level)))
			return false;
		p = find(table, level, e->address, 0);
	}
	if (!p)
		return false;
	atomic_store_explicit(&p->bytes, e->bytes, memory_order_relaxed);
	atomic_store_explicit(&p->made_ticks, e->made_ticks, memory_order_relaxed);
	atomic_store_explicit(&p->stack, e->stack, memory_order_relaxed);
	atomic_store_explicit(&p->address, e->address, memory_order_release);
	return true;
}

HOT bool block_table_remove(unsigned device, uint64_t address)
{
	struct place *table, *p = NULL;
	for (unsigned level = 0; level < TABLES && !p && (table = table_at(device, level)); level++)
		p = find(table, level, address, address);
	if (p)
		atomic_store_explicit(&p->address, 0, memory_order_release);
	return p != NULL;
}

static void each_of(unsigned device, unsigned level,
		    void (*each)(void *context, const struct block_entry *e), void *context)
{
	struct place *table = table_at(device, level);
	for (uint32_t at = 0; table && at < places(level); at++) {
		struct place *p = &table[at];
		struct block_entry e = { .device = (uint8_t)device };
		e.address = atomic_load_explicit(&p->address, memory_order_acquire);
		if (!e.address)
			continue;
		e.bytes = atomic_load_explicit(&p->bytes, memory_order_relaxed);
		e.made_ticks = atomic_load_explicit(&p->made_ticks, memory_order_relaxed);
		e.stack = atomic_load_explicit(&p->stack, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		/* another one may have come in its place, whose details these are */
		if (atomic_load_explicit(&p->address, memory_order_relaxed) == e.address)
			each(context, &e);
	}
}

void block_table_each(void (*each)(void *context, const struct block_entry *e), void *context)
{
	for (unsigned device = 0; device < BLOCK_DEVICES; device++)
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
