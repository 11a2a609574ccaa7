/* See block_table.h. */
#include "preload/block_table.h"

#include "preload/hook.h"

#include <errno.h>
#include <sys/mman.h>

enum {
	MORE_BITS = 2, /* each table is four times the one before: 350,000 blocks in all */
};

HOT_DATA _Atomic(void *) block_tables[BLOCK_DEVICES][BLOCK_TABLES];

static unsigned bits_of(unsigned level)
{
	return BLOCK_FIRST_BITS + MORE_BITS * level;
}

static size_t table_bytes(unsigned level)
{
	return (sizeof(uint64_t) + sizeof(struct block_details)) << bits_of(level);
}

static void *table_at(unsigned device, unsigned level)
{
	return atomic_load_explicit(&block_tables[device][level], memory_order_acquire);
}

static void *make_table(unsigned device, unsigned level)
{
	int saved = errno;
	void *p = mmap(NULL, table_bytes(level), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (p == MAP_FAILED)
		return NULL;
	atomic_store_explicit(&block_tables[device][level], p, memory_order_release);
	return p;
}

HOT bool block_table_add(const struct block_entry *e)
{
	for (unsigned level = 0; level < BLOCK_TABLES; level++) {
		void *table = table_at(e->device, level);
		if (UNLIKELY(!table) && !(table = make_table(e->device, level)))
			return false;
		struct block_places places = block_places(table, bits_of(level));
		int64_t at = block_find(places.addresses, bits_of(level), e->address, 0);
		if (at < 0)
			continue;
		block_fill(places, at, e->address, e->bytes, e->made_ticks, e->stack);
		return true;
	}
	return false;
}

HOT bool block_table_remove(unsigned device, uint64_t address)
{
	void *table;
	for (unsigned level = 0; level < BLOCK_TABLES && (table = table_at(device, level));
	     level++) {
		struct block_places places = block_places(table, bits_of(level));
		int64_t at = block_find(places.addresses, bits_of(level), address, address);
		if (at < 0)
			continue;
		block_give_back(places, at);
		return true;
	}
	return false;
}

static void each_of(unsigned device, unsigned level,
		    void (*each)(void *context, const struct block_entry *e), void *context)
{
	void *table = table_at(device, level);
	struct block_places p = block_places(table, bits_of(level));
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
		/* another one may have come in its place, whose details these are */
		if (atomic_load_explicit(&p.addresses[at], memory_order_relaxed) == e.address)
			each(context, &e);
	}
}

void block_table_each(void (*each)(void *context, const struct block_entry *e), void *context)
{
	for (unsigned device = 0; device < BLOCK_DEVICES; device++)
		for (unsigned level = 0; level < BLOCK_TABLES; level++)
			each_of(device, level, each, context);
}

void block_table_forget(void)
{
	for (unsigned device = 0; device < BLOCK_DEVICES; device++) {
		for (unsigned level = 0; level < BLOCK_TABLES; level++) {
			void *table = table_at(device, level);
			if (table)
				madvise(table, table_bytes(level), MADV_DONTNEED);
		}
	}
}
