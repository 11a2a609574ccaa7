/*
 * Finds the real functions. Runs only for calls whose real function is not known yet. A program
 * reaches a CUDA function through one of three entry points. Two of them look functions up by name:
 * dlsym (lookup_dlsym.c) and cuGetProcAddress (lookup_getproc.c). The third one, the exported
 * symbol, needs no code. See docs/internals/entry-points.md.
 */
#include "preload/lookup.h"

#include "core/runtime/at_start.h"
#include "core/runtime/log.h"
#include "preload/libc_find.h"
#include "preload/lookup_entry_points.h"
#include "preload/lookup_objects.h"
#include "preload/plt.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

/* ---- dlsym itself ---- */

lookup_dlsym_function *lookup_next_dlsym;
lookup_dlvsym_function *lookup_next_dlvsym;
static _Atomic(lookup_dlsym_function *) libc_dlsym START_DATA;

AT_START void *lookup_dlsym(void *handle, const char *name)
{
	lookup_dlsym_function *find = atomic_load_explicit(&libc_dlsym, memory_order_relaxed);
	if (!find) {
		find = (lookup_dlsym_function *)libc_find("dlsym");
		atomic_store_explicit(&libc_dlsym, find, memory_order_relaxed);
	}
	return find ? find(handle, name) : NULL;
}

void lookup_find_dlsym(void)
{
	/* dlvsym first: the trampoline of dlsym waits for the last assignment */
	void *next = lookup_dlsym(RTLD_NEXT, "dlvsym");
	lookup_next_dlvsym = (lookup_dlvsym_function *)(next ? next : libc_find("dlvsym"));
	next = lookup_dlsym(RTLD_NEXT, "dlsym");
	lookup_next_dlsym = (lookup_dlsym_function *)(next ? next : libc_find("dlsym"));
}

/* ---- Symbol -> row ---- */

enum { INDEX_SLOTS = 1024 };
_Static_assert(HOOK_COUNT * 2 < INDEX_SLOTS, "keep the index at most half full");

static uint16_t symbol_index[INDEX_SLOTS]; /* index of the row in hook_rows, plus 1; 0: free */
static pthread_once_t index_once = PTHREAD_ONCE_INIT;

static uint32_t hash_name(const char *name)
{
	uint32_t h = 2166136261u;
	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return h ^ h >> 15;
}

static void build_index(void)
{
	for (unsigned row = 0; row < HOOK_COUNT; row++) {
		uint32_t at = hash_name(hook_rows[row].symbol) % INDEX_SLOTS;
		while (symbol_index[at])
			at = (at + 1) % INDEX_SLOTS;
		symbol_index[at] = (uint16_t)(row + 1);
	}
}

int lookup_row(const char *symbol)
{
	pthread_once(&index_once, build_index);
	for (uint32_t at = hash_name(symbol) % INDEX_SLOTS; symbol_index[at];
	     at = (at + 1) % INDEX_SLOTS)
		if (!strcmp(hook_rows[symbol_index[at] - 1].symbol, symbol))
			return symbol_index[at] - 1;
	return -1;
}

/* ---- Real functions ---- */

/*
 * Returns `function` if a call from `caller` may go on to it, otherwise NULL. The functions of this
 * library and of `caller` itself would recurse. So would those of an object that the loader
 * searches before this library, because they have called this library already.
 */
static void *acceptable(void *function, const struct hook_row *row, const struct link_map *caller)
{
	const struct link_map *object = function ? object_of(function) : NULL;
	if (!object)
		return function;
	if (object == object_own())
		return NULL;
	if (object_is_entry_point(object, row->entry_point))
		return function;
	return object == caller || object_is_before_own(object) ? NULL : function;
}

void *lookup_in(void *handle, const char *symbol)
{
	void *found = handle ? lookup_dlsym(handle, symbol) : NULL;
	return found && object_of(found) != object_own() ? found : NULL;
}

/*
 * Searches the caller and the libraries that it is linked to, in the loader's order. Keeps no
 * reference to the caller, which may be unloaded later, but one to the library that has the
 * function: cached pointers must not outlive it.
 */
static void *in_scope_of(const struct link_map *caller, const char *symbol)
{
	static _Atomic(void *) libc_dlclose;
	int (*leave)(void *) = (__typeof__(leave))atomic_load(&libc_dlclose);
	if (!leave) {
		leave = (__typeof__(leave))libc_find("dlclose");
		atomic_store(&libc_dlclose, (void *)leave);
	}
	void *handle = object_mapped(caller->l_name), *found = lookup_in(handle, symbol);
	const struct link_map *library = found ? object_of(found) : NULL;
	if (library && library != caller && library->l_name[0])
		object_mapped(library->l_name);
	if (handle && leave)
		leave(handle);
	return found;
}

/*
 * Returns the function that the caller would find by its name if neither this library nor another
 * interposer were preloaded; NULL: there is none. `next` is the definition after this library in
 * global scope.
 */
static void *find_in_scope(const struct hook_row *row, const struct link_map *caller, void *next)
{
	void *found = NULL;
	if (caller && caller->l_name[0])
		found = acceptable(in_scope_of(caller, row->symbol), row, caller);
	if (!found)
		found = lookup_in(object_needed_by(caller, row->entry_point), row->symbol);
	return found ? found : next;
}

/* Like find_in_scope(), but also finds the function in a CUDA library that was loaded with
 * RTLD_LOCAL, because a hooked call must reach it. */
static void *find_linked(const struct hook_row *row, const struct link_map *caller, void *next)
{
	static const char *const libraries[][4] = {
		[ENTRY_POINT_RUNTIME] = { "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
					  NULL },
		[ENTRY_POINT_DRIVER] = { "libcuda.so.1", NULL },
		[ENTRY_POINT_CUPTI] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					NULL },
		[ENTRY_POINT_LIBRARIES + LIB_NCCL] = { "libnccl.so.2", NULL },
		[ENTRY_POINT_LIBRARIES + LIB_BLAS] = { "libcublas.so.13", "libcublas.so.12",
						       "libcublas.so.11", NULL },
		[ENTRY_POINT_LIBRARIES + LIB_BLASLT] = { "libcublasLt.so.13", "libcublasLt.so.12",
							 "libcublasLt.so.11", NULL },
		[ENTRY_POINT_LIBRARIES + LIB_DNN] = { "libcudnn.so.9", "libcudnn.so.8", NULL },
	};
	void *found = find_in_scope(row, caller, next);
	for (int i = 0; !found && libraries[row->entry_point][i]; i++)
		found = lookup_in(object_mapped(libraries[row->entry_point][i]), row->symbol);
	return found;
}

void *lookup_find(const struct hook_row *row, void *return_address)
{
	const struct link_map *caller = object_of(return_address);
	void *next = acceptable(lookup_dlsym(RTLD_NEXT, row->symbol), row, NULL);
	bool is_interposer = next && !object_is_entry_point(object_of(next), row->entry_point);
	return is_interposer && object_of(next) != caller ? next : find_linked(row, caller, next);
}

bool lookup_is_in_scope(const char *symbol, unsigned entry_point, void *return_address)
{
	const struct hook_row row = { .symbol = symbol, .entry_point = (uint8_t)entry_point };
	void *next = acceptable(lookup_dlsym(RTLD_NEXT, symbol), &row, NULL);
	return next || find_in_scope(&row, object_of(return_address), NULL);
}

void *lookup_interposer(const struct hook_row *row)
{
	void *next = acceptable(lookup_dlsym(RTLD_NEXT, row->symbol), row, NULL);
	return next && !object_is_entry_point(object_of(next), row->entry_point) ? next : NULL;
}

/*
 * Two CUDA runtimes in one process (from wheels of CUDA 12 and 13) register kernels separately, so
 * a call must reach the runtime to which its caller is linked. Pointers to runtime functions are
 * then not cached. Each call looks up its own function, which takes about 100 ns.
 */
static _Atomic(const struct link_map *) first_runtime;
static atomic_bool many_runtimes;

static void forget_runtime_pointers(void)
{
	for (unsigned i = 0; i < HOOK_COUNT; i++)
		if (hook_rows[i].entry_point == ENTRY_POINT_RUNTIME)
			atomic_store_explicit(hook_rows[i].real, NULL, memory_order_relaxed);
}

void lookup_notice_runtime_object(const struct link_map *runtime)
{
	const struct link_map *none = NULL;
	if (!runtime || !object_is_entry_point(runtime, ENTRY_POINT_RUNTIME) ||
	    atomic_compare_exchange_strong(&first_runtime, &none, runtime) || none == runtime)
		return;
	if (atomic_exchange(&many_runtimes, true))
		return;
	forget_runtime_pointers();
	plt_follow();
}

void lookup_notice_runtime(void *return_address)
{
	struct hook_row row = { .symbol = "cudaMalloc", .entry_point = ENTRY_POINT_RUNTIME };
	int saved = errno;
	void *next = acceptable(lookup_dlsym(RTLD_NEXT, row.symbol), &row, NULL);
	void *function = find_linked(&row, object_of(return_address), next);
	errno = saved;
	lookup_notice_runtime_object(function ? object_of(function) : NULL);
}

static void *find_named(const char *symbol, unsigned entry_point, void *return_address)
{
	struct hook_row row = { .symbol = symbol, .entry_point = (uint8_t)entry_point };
	int saved = errno;
	void *function = lookup_find(&row, return_address);
	errno = saved;
	return function;
}

void *lookup_runtime(const char *symbol, void *return_address)
{
	return find_named(symbol, ENTRY_POINT_RUNTIME, return_address);
}

void *lookup_driver(const char *symbol, void *return_address)
{
	return find_named(symbol, ENTRY_POINT_DRIVER, return_address);
}

void *lookup_cupti(const char *symbol, void *return_address)
{
	return find_named(symbol, ENTRY_POINT_CUPTI, return_address);
}

void *lookup_library(const char *symbol, enum record_library library, void *return_address)
{
	return find_named(symbol, ENTRY_POINT_LIBRARIES + library, return_address);
}

bool lookup_has_many_runtimes(void)
{
	return atomic_load_explicit(&many_runtimes, memory_order_relaxed);
}

/*
 * Finds the real function for one caller in a process with two runtimes. Such processes are rare,
 * so a small direct-mapped cache is enough. Its keys are the calling object and the function.
 */
static void *find_for_caller(const struct hook_row *row, void *return_address)
{
	static struct {
		_Atomic(const struct link_map *) caller;
		const struct hook_row *row;
		void *function;
	} cache[256];
	static atomic_flag filling = ATOMIC_FLAG_INIT;
	const struct link_map *caller = object_of(return_address);
	size_t at = ((uintptr_t)caller >> 6 ^ (size_t)(row - hook_rows) * 7) % 256;
	if (atomic_load_explicit(&cache[at].caller, memory_order_acquire) == caller &&
	    cache[at].row == row)
		return cache[at].function;
	void *function = lookup_find(row, return_address);
	if (caller && !atomic_flag_test_and_set_explicit(&filling, memory_order_acquire)) {
		/* only empty entries are filled, so an entry never changes while it is read */
		if (!atomic_load_explicit(&cache[at].caller, memory_order_relaxed)) {
			cache[at].row = row;
			cache[at].function = function;
			atomic_store_explicit(&cache[at].caller, caller, memory_order_release);
		}
		atomic_flag_clear_explicit(&filling, memory_order_release);
	}
	return function;
}

/* Returns whether `found`, the row's function for one caller, is that of all callers. */
static bool is_for_all(const struct hook_row *row, const void *found)
{
	const void *interposer = lookup_interposer(row);
	if (interposer)
		return found == interposer;
	return row->entry_point != ENTRY_POINT_RUNTIME || !lookup_has_many_runtimes();
}

/* The functions of the exported symbols of divided rows, in which `real` stays NULL. */
static _Atomic(void *) divided_real[HOOK_COUNT];

static void *find_divided(enum hook_id id, void *return_address)
{
	void *found = atomic_load_explicit(&divided_real[id], memory_order_relaxed);
	if (found)
		return found;
	found = lookup_find(&hook_rows[id], return_address);
	if (found && is_for_all(&hook_rows[id], found))
		atomic_store_explicit(&divided_real[id], found, memory_order_relaxed);
	return found;
}

static void keep(enum hook_id id, void *found)
{
	if (!is_for_all(&hook_rows[id], found))
		return;
	atomic_store(hook_rows[id].real, found);
	/* another thread may have divided the row meanwhile */
	if (lookup_is_divided(id))
		atomic_store(hook_rows[id].real, NULL);
}

void *lookup_real(enum hook_id id, void *return_address)
{
	const struct hook_row *row = &hook_rows[id];
	int saved = errno;
	void *found = lookup_given(id);
	if (found)
		return found;
	if (lookup_is_divided(id)) {
		found = find_divided(id, return_address);
	} else if (row->entry_point == ENTRY_POINT_RUNTIME &&
		   atomic_load_explicit(&many_runtimes, memory_order_relaxed)) {
		found = find_for_caller(row, return_address);
	} else {
		found = lookup_find(row, return_address);
		if (found && row->entry_point == ENTRY_POINT_RUNTIME)
			lookup_notice_runtime_object(object_of(found));
		if (found)
			keep(id, found);
		if (found)
			plt_note(return_address);
	}
	if (!found)
		log_once(LOG_WARN,
			 "%s was called, but no CUDA library in this process exports it: the call "
			 "returns an error",
			 row->symbol);
	errno = saved;
	return found;
}

void lookup_forget_error(void)
{
	dlerror();
}
