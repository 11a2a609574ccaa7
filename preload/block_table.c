/* See block_table.h. */
#include "preload/block_table.h"

#include "preload/hook.h"

#include <errno.h>
#include <sys/mman.h>

enum {
	TABLES = 4,
	FIRST_BITS = 12, /* 4,096 places, 128 KiB: most programs never need a second table */
	MORE_BITS = 2,	 /* each has four times as many as the one before: 350,000 blocks in all */
	WITHIN = 16,	 /* two cache lines of addresses */
	BUSY = 1,	 /* a place that is being filled */
};

struct details {
	_Atomic uint64_t bytes, made_ticks;
	_Atomic uint32_t stack, device;
};

struct table {
	_Atomic(_Atomic uint64_t *) addresses; /* 0: free. Its details follow */
};

static struct table tables[TABLES];

static uint32_t places(unsigned level)
{
	return 1u << (FIRST_BITS + MORE_BITS * level);
}

static size_t table_bytes(unsigned level)
{
	return places(level) * (sizeof(uint64_t) + sizeof(struct details));
}

static struct details *details_of(_Atomic uint64_t *addresses, unsigned level)
{
	return (struct details *)(void *)(addresses + places(level));
}

static inline _Atomic uint64_t *table_at(unsigned level)
{
	return atomic_load_explicit(&tables[level].addresses, memory_order_acquire);
}

__attribute__((noinline)) static _Atomic uint64_t *make_table(unsigned level)
{
	int saved = errno;
	void *p = mmap(NULL, table_bytes(level), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (p == MAP_FAILED)
		return NULL;
	_Atomic uint64_t *none = NULL;
	if (atomic_compare_exchange_strong(&tables[level].addresses, &none, p))
		return p;
	munmap(p, table_bytes(level));
	return none;
}

/* Blocks begin at multiples of 512 bytes. */
static inline uint32_t place_of(uint64_t address, unsigned level)
{
	return (uint32_t)((address >> 9) * 0x9E3779B97F4A7C15ull >>
			  (64 - FIRST_BITS - MORE_BITS * level));
}

static bool add_to(_Atomic uint64_t *addresses, unsigned level, const struct block_entry *e)
{
	uint32_t first = place_of(e->address, level), mask = places(level) - 1;
	for (uint32_t i = 0; i < WITHIN; i++) {
		uint32_t at = (first + i) & mask;
		uint64_t none = 0;
		if (atomic_load_explicit(&addresses[at], memory_order_relaxed) ||
		    !atomic_compare_exchange_strong_explicit(&addresses[at], &none, BUSY,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		struct details *d = &details_of(addresses, level)[at];
		atomic_store_explicit(&d->bytes, e->bytes, memory_order_relaxed);
		atomic_store_explicit(&d->made_ticks, e->made_ticks, memory_order_relaxed);
		atomic_store_explicit(&d->stack, e->stack, memory_order_relaxed);
		atomic_store_explicit(&d->device, e->device, memory_order_relaxed);
		atomic_store_explicit(&addresses[at], e->address, memory_order_release);
		return true;
	}
	return false;
}

bool block_table_add(const struct block_entry *e)
{
	for (unsigned level = 0; level < TABLES; level++) {
		_Atomic uint64_t *addresses = table_at(level);
		if (UNLIKELY(!addresses) && !(addresses = make_table(level)))
			return false;
		if (LIKELY(add_to(addresses, level, e)))
			return true;
	}
	return false;
}

bool block_table_remove(uint64_t address)
{
	_Atomic uint64_t *addresses;
	for (unsigned level = 0; level < TABLES && (addresses = table_at(level)); level++) {
		uint32_t first = place_of(address, level), mask = places(level) - 1;
		for (uint32_t i = 0; i < WITHIN; i++) {
			_Atomic uint64_t *at = &addresses[(first + i) & mask];
			if (atomic_load_explicit(at, memory_order_relaxed) != address)
				continue;
			atomic_store_explicit(at, 0, memory_order_release);
			return true;
		}
	}
	return false;
}

void block_table_each(void (*each)(void *context, const struct block_entry *e), void *context)
{
	_Atomic uint64_t *addresses;
	for (unsigned level = 0; level < TABLES && (addresses = table_at(level)); level++) {
		for (uint32_t at = 0; at < places(level); at++) {
			struct block_entry e;
			e.address = atomic_load_explicit(&addresses[at], memory_order_acquire);
			if (e.address <= BUSY)
				continue;
			struct details *d = &details_of(addresses, level)[at];
			e.bytes = atomic_load_explicit(&d->bytes, memory_order_relaxed);
			e.made_ticks = atomic_load_explicit(&d->made_ticks, memory_order_relaxed);
			e.stack = atomic_load_explicit(&d->stack, memory_order_relaxed);
			e.device = (uint8_t)atomic_load_explicit(&d->device, memory_order_relaxed);
			atomic_thread_fence(memory_order_acquire);
			/* another one may have come in its place, whose details these are */
			if (atomic_load_explicit(&addresses[at], memory_order_relaxed) == e.address)
				each(context, &e);
		}
	}
}

void block_table_forget(void)
{
	for (unsigned level = 0; level < TABLES; level++) {
		void *addresses = (void *)table_at(level);
		if (addresses)
			madvise(addresses, table_bytes(level), MADV_DONTNEED);
	}
}
