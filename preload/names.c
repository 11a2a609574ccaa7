/*
 * Maps a kernel's handle to its name. The start-up code that nvcc generates registers each kernel
 * with the CUDA runtime under the address of the kernel's host stub (24,000 kernels when PyTorch
 * loads). CUDA 13's stubs then exchange that address for a cudaKernel_t. The registered names are
 * in the application's own image, so the table stores pointers to them. A driver handle's name is
 * copied when the application requests the handle by name.
 *
 * cuFuncGetName is not used, because a launch may pass a CUkernel in place of a CUfunction. This
 * code also runs before the first CUDA call, so it opens no file and does not start the profiler.
 */
#include "preload/names.h"

#include "preload/hook.h"
#include "preload/lookup.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

struct name {
	uint64_t key;
	const char *text;
};

static struct {
	struct name *slots;
	/* n_slots is 0 or a power of two; at most half of the slots are used */
	uint64_t n_slots, n_used;
	atomic_flag busy;
} table = { .busy = ATOMIC_FLAG_INIT };

/* Takes the table's lock. The lock is rarely contended: registrations run in constructors and
 * dlopen, and look-ups only when a launch is first seen. If a child is forked while another thread
 * holds the lock, the lock stays locked in the child forever. The child then gives up and records
 * no names instead of hanging. */
static bool table_lock(void)
{
	for (int tries = 0; tries < 100000; tries++) {
		if (!atomic_flag_test_and_set_explicit(&table.busy, memory_order_acquire))
			return true;
		if (tries % 100 == 99)
			sched_yield();
	}
	return false;
}

static void table_unlock(void)
{
	atomic_flag_clear_explicit(&table.busy, memory_order_release);
}

static struct name *slot_of(struct name *slots, uint64_t n_slots, uint64_t key)
{
	uint64_t at = (key * TOKEN_K0 >> 20) & (n_slots - 1);
	while (slots[at].key && slots[at].key != key)
		at = (at + 1) & (n_slots - 1);
	return &slots[at];
}

/* Grows the table fourfold. Uses mmap, not malloc: the application's allocator may not be
 * initialized yet, or may be the function that is being traced. */
static bool table_grow(void)
{
	uint64_t n = table.n_slots ? table.n_slots * 4 : 4096;
	struct name *slots = mmap(NULL, n * sizeof(*slots), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slots == MAP_FAILED)
		return false;
	for (uint64_t i = 0; i < table.n_slots; i++)
		if (table.slots[i].key)
			*slot_of(slots, n, table.slots[i].key) = table.slots[i];
	if (table.slots)
		munmap(table.slots, table.n_slots * sizeof(*slots));
	table.slots = slots;
	table.n_slots = n;
	return true;
}

static void remember(uint64_t key, const char *text)
{
	int saved = errno;
	if (key && text && table_lock()) {
		if (table.n_used * 2 < table.n_slots || table_grow()) {
			struct name *slot = slot_of(table.slots, table.n_slots, key);
			table.n_used += !slot->key;
			*slot = (struct name){ key, text };
		}
		table_unlock();
	}
	errno = saved;
}

static const char *recall(uint64_t key)
{
	const char *text = NULL;
	if (key && table_lock()) {
		if (table.n_slots)
			text = slot_of(table.slots, table.n_slots, key)->text;
		table_unlock();
	}
	return text;
}

const char *names_of(uint64_t function)
{
	return recall(function);
}

/* Copies a text into memory that is allocated 64 KiB at a time and never freed, because a program
 * requests a few thousand names at most. Requires the lock. Returns NULL if there is no memory. */
static char *copy_text(const char *text)
{
	enum { ARENA_BYTES = 1 << 16 };
	static char *arena;
	static size_t left;
	size_t bytes = strlen(text) + 1;
	if (bytes > ARENA_BYTES)
		return NULL;
	if (bytes > left) {
		char *fresh = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fresh == MAP_FAILED)
			return NULL;
		arena = fresh;
		left = ARENA_BYTES;
	}
	char *copy = memcpy(arena, text, bytes);
	arena += bytes;
	left -= bytes;
	return copy;
}

void names_copy(uint64_t function, const char *name)
{
	const char *known = recall(function);
	int saved = errno;
	if (!name || (known && !strcmp(known, name)) || !table_lock())
		return;
	const char *copy = copy_text(name);
	table_unlock();
	remember(function, copy);
	errno = saved;
}

/* ---- The registration calls: not in hooks.def, because they must not start the profiler ---- */

static void *real_of(_Atomic(void *) *cached, const char *symbol, void *return_address)
{
	void *function = atomic_load_explicit(cached, memory_order_relaxed);
	if (!function || lookup_has_many_runtimes()) {
		function = lookup_runtime(symbol, return_address);
		atomic_store_explicit(cached, function, memory_order_relaxed);
	}
	return function;
}

EXPORT void **__cudaRegisterFatBinary(void *binary);
EXPORT void **__cudaRegisterFatBinary(void *binary)
{
	static _Atomic(void *) cached;
	lookup_notice_runtime(__builtin_return_address(0));
	void **(*next)(void *) = (__typeof__(next))real_of(&cached, "__cudaRegisterFatBinary",
							   __builtin_return_address(0));
	return next ? next(binary) : NULL;
}

EXPORT void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name,
				   int thread_limit, void *thread_index, void *block_index,
				   void *block, void *grid, int *warp);
EXPORT void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name,
				   int thread_limit, void *thread_index, void *block_index,
				   void *block, void *grid, int *warp)
{
	static _Atomic(void *) cached;
	void (*next)(void **, const char *, char *, const char *, int, void *, void *, void *,
		     void *, int *) = (__typeof__(next))real_of(&cached, "__cudaRegisterFunction",
								__builtin_return_address(0));
	remember((uint64_t)(uintptr_t)host, name);
	if (next)
		next(binary, host, device, name, thread_limit, thread_index, block_index, block,
		     grid, warp);
}

EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	static _Atomic(void *) cached;
	cudaError_t (*next)(cudaKernel_t *, const void *) =
		(__typeof__(next))real_of(&cached, "__cudaGetKernel", __builtin_return_address(0));
	cudaError_t status = next ? next(kernel, host) : cudaErrorUnknown;
	if (!status && kernel)
		remember((uint64_t)(uintptr_t)*kernel, recall((uint64_t)(uintptr_t)host));
	return status;
}
