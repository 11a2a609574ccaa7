/*
 * Which kernel a handle stands for. nvcc's start-up code registers each kernel with the runtime under the address of its
 * host stub (24,000 times when PyTorch loads), and CUDA 13's stubs then ask for a cudaKernel_t by that address. Driver
 * handles are asked of the driver itself (cuFuncGetName, since 12.3). Names are kept by pointer: they lie in the
 * application's own image. Runs before the first CUDA call too, so it opens no file and starts nothing.
 */
#include "preload/names.h"

#include "preload/hook.h"
#include "preload/lookup.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>

struct name {
	uint64_t key;
	const char *text;
};

static struct {
	struct name *slots;
	uint64_t n_slots, n_used; /* n_slots is a power of two, at most half used */
	atomic_flag busy;
} table = { .busy = ATOMIC_FLAG_INIT };

/* Registration comes from constructors and dlopen, look-ups from a launch's first sight: both rare. A child forked while
 * another thread was inside finds the lock taken for ever; it then goes without names rather than hang. */
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

/* mmap, not malloc: the application's allocator may not be up yet, or be the one being traced. */
static bool table_grow(void)
{
	uint64_t n = table.n_slots ? table.n_slots * 4 : 4096;
	struct name *slots = mmap(NULL, n * sizeof(*slots), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

/* The driver answers for its own handles; a runtime handle of CUDA 12 and 13 is a CUkernel. */
static const char *ask_driver(uint64_t function)
{
	static _Atomic(void *) function_name, kernel_name;
	static atomic_bool looked;
	const char *text = NULL;
	if (!atomic_load(&looked)) {
		void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
		if (!driver)
			return NULL;
		atomic_store(&function_name, lookup_dlsym(driver, "cuFuncGetName"));
		atomic_store(&kernel_name, lookup_dlsym(driver, "cuKernelGetName"));
		atomic_store(&looked, true);
	}
	CUresult (*of_function)(const char **, CUfunction) = (__typeof__(of_function))atomic_load(&function_name);
	CUresult (*of_kernel)(const char **, CUkernel) = (__typeof__(of_kernel))atomic_load(&kernel_name);
	if (of_function && !of_function(&text, (CUfunction)(uintptr_t)function))
		return text;
	return of_kernel && !of_kernel(&text, (CUkernel)(uintptr_t)function) ? text : NULL;
}

const char *names_of(uint64_t function, unsigned door)
{
	const char *text = recall(function);
	/* an address that is not a handle must not reach the driver: the runtime also launches by host address */
	return text || door == DOOR_RUNTIME ? text : ask_driver(function);
}

/* ---- The registration calls: not rows of the table, since they are no CUDA work and must not arm ---- */

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
	void **(*next)(void *) = (__typeof__(next))real_of(&cached, "__cudaRegisterFatBinary", __builtin_return_address(0));
	return next ? next(binary) : NULL;
}

EXPORT void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, int thread_limit,
				   void *thread_index, void *block_index, void *block, void *grid, int *warp);
EXPORT void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, int thread_limit,
				   void *thread_index, void *block_index, void *block, void *grid, int *warp)
{
	static _Atomic(void *) cached;
	void (*next)(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *) =
		(__typeof__(next))real_of(&cached, "__cudaRegisterFunction", __builtin_return_address(0));
	remember((uint64_t)(uintptr_t)host, name);
	if (next)
		next(binary, host, device, name, thread_limit, thread_index, block_index, block, grid, warp);
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
