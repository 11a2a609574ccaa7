/*
 * Finding the real functions, and the doors by which CUDA functions are asked for by name: dlsym and cuGetProcAddress.
 * (The third door, the exported symbol, needs no code.) Facts and sources: docs/architecture.md, "Three doors".
 *
 * Nothing here runs for a call whose real function is known. dlsym itself is entered by every library of the process, at
 * any time, before constructors too: its filter allocates nothing and looks at names that begin with cu or __cu only.
 */
#include "preload/lookup.h"

#include "core/log.h"
#include "preload/libs.h"

#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

typedef void *dlsym_function(void *handle, const char *name);

/* glibc's own; the trampoline below jumps there. */
__attribute__((visibility("hidden"))) dlsym_function *lookup_real_dlsym;

static void find_real_dlsym(void)
{
	/* dlsym moved from libdl to libc in 2.34; the older nodes are those of x86-64 and aarch64 */
	static const char *const nodes[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17" };
	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes) && !lookup_real_dlsym; i++)
		lookup_real_dlsym = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", nodes[i]);
}

void *lookup_dlsym(void *handle, const char *name)
{
	if (!lookup_real_dlsym)
		find_real_dlsym();
	return lookup_real_dlsym ? lookup_real_dlsym(handle, name) : NULL;
}

/* ---- Symbol -> row ---- */

enum { INDEX_SLOTS = 1024 };
_Static_assert(HOOK_COUNT * 2 < INDEX_SLOTS, "keep the index at most half full");

static uint16_t symbol_index[INDEX_SLOTS]; /* row + 1 */
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

/* ---- Which object an address lies in ---- */

/* A member of libc (2.35); lock-free, unlike dladdr. */
extern int _dl_find_object(void *address, struct dl_find_object *result) __attribute__((weak));

static struct link_map *object_of(void *address)
{
	struct dl_find_object found;
	if (_dl_find_object)
		return _dl_find_object(address, &found) ? NULL : found.dlfo_link_map;
	Dl_info info;
	struct link_map *map = NULL;
	return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

static const char *file_of(const struct link_map *map)
{
	const char *name = map && map->l_name ? map->l_name : "";
	const char *slash = strrchr(name, '/');
	return slash ? slash + 1 : name;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Older wheels carry their runtime under a name of their own: libcudart-d0da41ae.so.11.0. */
enum {
	DOOR_CUPTI = DOOR_DRIVER + 1, /* no rows: the few functions of gpu_yield.c */
	DOOR_LIBRARIES,		      /* and enum record_library: libs.def has their rows */
};

static const char *const door_library[] = {
	[DOOR_RUNTIME] = "libcudart",
	[DOOR_DRIVER] = "libcuda.so",
	[DOOR_CUPTI] = "libcupti.so",
	[DOOR_LIBRARIES + LIB_NCCL] = "libnccl.so",
	[DOOR_LIBRARIES + LIB_BLAS] = "libcublas.so",
	[DOOR_LIBRARIES + LIB_BLASLT] = "libcublasLt.so",
	[DOOR_LIBRARIES + LIB_DNN] = "libcudnn.so",
};

/* The library that carries a door's real functions: by file name, or by soname where a stand-in has another file name. */
static bool is_door(const struct link_map *map, unsigned door)
{
	if (starts_with(file_of(map), door_library[door]))
		return true;
	const char *strings = NULL;
	const ElfW(Dyn) *soname = NULL;
	for (const ElfW(Dyn) *d = map ? map->l_ld : NULL; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
		if (d->d_tag == DT_SONAME)
			soname = d;
	}
	return strings && soname && starts_with(strings + soname->d_un.d_val, door_library[door]);
}

static const struct link_map *own_object(void)
{
	static const struct link_map *own;
	if (!own)
		own = object_of((void *)(uintptr_t)own_object);
	return own;
}

/* ---- Real functions ---- */

/* dlopen of a library that is mapped already, by name, without loading anything. The reference is kept on purpose: a cached
 * pointer must not outlive its library. */
static void *mapped(const char *name)
{
	return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

/* The CUDA library that the caller was linked against, as its own DT_NEEDED names it: right also where two runtimes are
 * in one process, and where the caller was loaded RTLD_LOCAL, so that RTLD_NEXT sees nothing. */
static void *needed_by(const struct link_map *caller, unsigned door)
{
	const char *strings = NULL;
	for (const ElfW(Dyn) *d = caller ? caller->l_ld : NULL; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	for (const ElfW(Dyn) *d = strings ? caller->l_ld : NULL; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED &&
		    starts_with(strings + d->d_un.d_val, door_library[door]))
			return mapped(strings + d->d_un.d_val);
	return NULL;
}

/* Not one of our own wrappers. */
static void *foreign(void *function)
{
	return function && object_of(function) != own_object() ? function : NULL;
}

static void *find_in(void *handle, const char *symbol)
{
	return handle ? foreign(lookup_dlsym(handle, symbol)) : NULL;
}

static void *find_real(const struct hook_row *row, void *return_address)
{
	static const char *const libraries[][4] = {
		[DOOR_RUNTIME] = { "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
				   NULL },
		[DOOR_DRIVER] = { "libcuda.so.1", NULL },
		[DOOR_CUPTI] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", NULL },
		[DOOR_LIBRARIES + LIB_NCCL] = { "libnccl.so.2", NULL },
		[DOOR_LIBRARIES + LIB_BLAS] = { "libcublas.so.13", "libcublas.so.12",
						"libcublas.so.11", NULL },
		[DOOR_LIBRARIES + LIB_BLASLT] = { "libcublasLt.so.13", "libcublasLt.so.12",
						  "libcublasLt.so.11", NULL },
		[DOOR_LIBRARIES + LIB_DNN] = { "libcudnn.so.9", "libcudnn.so.8", NULL },
	};
	struct link_map *caller = object_of(return_address);
	void *found = find_in(needed_by(caller, row->door), row->symbol);
	if (!found && caller && caller->l_name[0])
		found = find_in(mapped(caller->l_name), row->symbol);
	if (!found)
		found = foreign(lookup_dlsym(RTLD_NEXT, row->symbol));
	for (int i = 0; !found && libraries[row->door][i]; i++)
		found = find_in(mapped(libraries[row->door][i]), row->symbol);
	return found;
}

/*
 * Two runtimes in one process (a wheel of CUDA 12 beside one of 13) have kernels registered apart, so a call must reach the
 * one that its caller is linked to. Then no pointer of the runtime's door is cached, and each call finds its own: some
 * 100 ns, paid only there.
 */
static _Atomic(const struct link_map *) first_runtime;
static atomic_bool many_runtimes;

static void forget_runtime_pointers(void)
{
	for (unsigned i = 0; i < HOOK_COUNT; i++)
		if (hook_rows[i].door == DOOR_RUNTIME)
			atomic_store_explicit(hook_rows[i].real, NULL, memory_order_relaxed);
}

static void notice_runtime(const struct link_map *runtime)
{
	const struct link_map *none = NULL;
	if (!runtime || atomic_compare_exchange_strong(&first_runtime, &none, runtime) ||
	    none == runtime)
		return;
	if (!atomic_exchange(&many_runtimes, true))
		forget_runtime_pointers();
}

void lookup_notice_runtime(void *return_address)
{
	void *function = lookup_runtime("cudaMalloc", return_address);
	notice_runtime(function ? object_of(function) : NULL);
}

void *lookup_runtime(const char *symbol, void *return_address)
{
	struct hook_row row = { .symbol = symbol, .door = DOOR_RUNTIME };
	int saved = errno;
	void *function = find_real(&row, return_address);
	errno = saved;
	return function;
}

void *lookup_cupti(const char *symbol, void *return_address)
{
	struct hook_row row = { .symbol = symbol, .door = DOOR_CUPTI };
	int saved = errno;
	void *function = find_real(&row, return_address);
	errno = saved;
	return function;
}

/* What stands before a library in the whole program's scope on purpose (another tool's, a stand-in) wins over it, as it would
 * without us. */
void *lookup_library(const char *symbol, enum record_library library, void *return_address)
{
	struct hook_row row = { .symbol = symbol, .door = (uint8_t)(DOOR_LIBRARIES + library) };
	int saved = errno;
	void *next = foreign(lookup_dlsym(RTLD_NEXT, symbol));
	void *found = next && !is_door(object_of(next), row.door) ? next
								  : find_real(&row, return_address);
	errno = saved;
	return found;
}

const struct link_map *lookup_object(void *address)
{
	return object_of(address);
}

bool lookup_has_many_runtimes(void)
{
	return atomic_load_explicit(&many_runtimes, memory_order_relaxed);
}

/* One entry per calling object and function would be exact; a small direct-mapped cache is enough for a rare case. */
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
	void *function = find_real(row, return_address);
	if (!atomic_flag_test_and_set_explicit(&filling, memory_order_acquire)) {
		/* only empty entries are filled, so a reader never sees one change under it */
		if (!atomic_load_explicit(&cache[at].caller, memory_order_relaxed)) {
			cache[at].row = row;
			cache[at].function = function;
			atomic_store_explicit(&cache[at].caller, caller, memory_order_release);
		}
		atomic_flag_clear_explicit(&filling, memory_order_release);
	}
	return function;
}

void *lookup_real(enum hook_id id, void *return_address)
{
	const struct hook_row *row = &hook_rows[id];
	int saved = errno;
	void *found;
	if (row->door == DOOR_RUNTIME &&
	    atomic_load_explicit(&many_runtimes, memory_order_relaxed)) {
		found = find_for_caller(row, return_address);
	} else {
		found = find_real(row, return_address);
		if (found && row->door == DOOR_RUNTIME)
			notice_runtime(object_of(found));
		if (found && !atomic_load_explicit(&many_runtimes, memory_order_relaxed))
			atomic_store_explicit(row->real, found, memory_order_relaxed);
	}
	if (!found)
		log_once(LOG_WARN, "%s was called, but no CUDA library in this process has it",
			 row->symbol);
	errno = saved;
	return found;
}

/* ---- cuGetProcAddress ---- */

/* Versions up to this are known to the table; a newer one may mean a signature that it does not know. */
enum { KNOWN_VERSION = CUDA_VERSION, TWIN_FLAG = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM };

/* Among rows of the same name: the newest that the caller's version reaches. A name with a twin has its own row for the
 * per-thread flag; without one the flag means nothing. */
static const struct hook_row *row_for(const char *name, int version, bool twin)
{
	const struct hook_row *best = NULL;
	for (unsigned i = 0; i < HOOK_COUNT; i++) {
		const struct hook_row *row = &hook_rows[i];
		if (row->door != DOOR_DRIVER || row->is_twin != twin ||
		    row->version * 10 > version || strcmp(row->name, name))
			continue;
		if (!best || row->version > best->version)
			best = row;
	}
	return best;
}

/* The driver gave out `function` for (name, version, flags): our wrapper for it, or `function` itself. */
static void *wrapper_for(const char *name, int version, uint64_t flags, void *function)
{
	const struct hook_row *row = flags & TWIN_FLAG ? row_for(name, version, true) : NULL;
	if (!row)
		row = row_for(name, version, false);
	if (!row)
		return function;
	void *exported = find_in(mapped("libcuda.so.1"), row->symbol);
	if (version > KNOWN_VERSION && function != exported)
		return function;
	void *none = NULL;
	atomic_compare_exchange_strong(row->real, &none, function);
	return row->wrapper;
}

static CUresult (*real_get_v1)(const char *, void **, int, cuuint64_t);
static CUresult (*real_get_v2)(const char *, void **, int, cuuint64_t,
			       CUdriverProcAddressQueryResult *);

static CUresult get_v1(const char *symbol, void **function, int version, cuuint64_t flags);
static CUresult get_v2(const char *symbol, void **function, int version, cuuint64_t flags,
		       CUdriverProcAddressQueryResult *status);

/* cuGetProcAddress hands itself out too: under that name the second form since 12.0. */
static void replace(const char *symbol, void **function, int version, cuuint64_t flags)
{
	int saved = errno;
	if (!strcmp(symbol, "cuGetProcAddress")) {
		if (version >= 12000) {
			real_get_v2 = (__typeof__(real_get_v2))*function;
			*function = (void *)get_v2;
		} else {
			real_get_v1 = (__typeof__(real_get_v1))*function;
			*function = (void *)get_v1;
		}
	} else {
		*function = wrapper_for(symbol, version, flags, *function);
	}
	errno = saved;
}

static CUresult get_v1(const char *symbol, void **function, int version, cuuint64_t flags)
{
	CUresult status = real_get_v1(symbol, function, version, flags);
	if (!status && symbol && function && *function)
		replace(symbol, function, version, flags);
	return status;
}

static CUresult get_v2(const char *symbol, void **function, int version, cuuint64_t flags,
		       CUdriverProcAddressQueryResult *status_out)
{
	CUresult status = real_get_v2(symbol, function, version, flags, status_out);
	if (!status && symbol && function && *function)
		replace(symbol, function, version, flags);
	return status;
}

/* Programs linked with -lcuda call these two directly. */
EXPORT CUresult hooked_cuGetProcAddress(const char *symbol, void **function, int version,
					cuuint64_t flags) __asm__("cuGetProcAddress");
EXPORT CUresult
hooked_cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
			   CUdriverProcAddressQueryResult *status) __asm__("cuGetProcAddress_v2");

static void *find_driver(const char *symbol, void *return_address)
{
	struct hook_row row = { .symbol = symbol, .door = DOOR_DRIVER };
	return find_real(&row, return_address);
}

CUresult hooked_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	if (!real_get_v1)
		real_get_v1 = (__typeof__(real_get_v1))find_driver("cuGetProcAddress",
								   __builtin_return_address(0));
	return real_get_v1 ? get_v1(symbol, function, version, flags) : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult hooked_cuGetProcAddress_v2(const char *symbol, void **function, int version,
				    cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	if (!real_get_v2)
		real_get_v2 = (__typeof__(real_get_v2))find_driver("cuGetProcAddress_v2",
								   __builtin_return_address(0));
	return real_get_v2 ? get_v2(symbol, function, version, flags, status)
			   : CUDA_ERROR_NOT_INITIALIZED;
}

/* ---- dlsym ---- */

/* NVIDIA's own tools and the driver's parts look up driver functions to go around interposers; they stay raw. */
static bool is_driver_side(const struct link_map *caller)
{
	static const char *const prefixes[] = { "libcuda.so", "libnvidia", "libcupti",
						"libnvperf" };
	const char *file = file_of(caller);
	if (caller == own_object() || is_door(caller, DOOR_DRIVER))
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (starts_with(file, prefixes[i]))
			return true;
	return false;
}

static void *wrap_found(int row_number, const char *name, void *found)
{
	if (row_number < 0) {
		bool v2 = !strcmp(name, "cuGetProcAddress_v2");
		if (v2)
			real_get_v2 = (__typeof__(real_get_v2))found;
		else
			real_get_v1 = (__typeof__(real_get_v1))found;
		return v2 ? (void *)get_v2 : (void *)get_v1;
	}
	const struct hook_row *row = &hook_rows[row_number];
	if (row->door == DOOR_DRIVER) {
		void *none = NULL;
		atomic_compare_exchange_strong(row->real, &none, found);
		return row->wrapper;
	}
	if (atomic_load_explicit(&many_runtimes, memory_order_relaxed))
		return NULL;
	notice_runtime(object_of(found));
	void *known = atomic_load_explicit(row->real, memory_order_relaxed);
	if (!known && !atomic_load_explicit(&many_runtimes, memory_order_relaxed)) {
		atomic_store_explicit(row->real, found, memory_order_relaxed);
		known = found;
	}
	/* another runtime's function stays raw: its driver calls are still seen */
	return known == found ? row->wrapper : NULL;
}

/* The whole program's scope has our export, and so has what comes next after the program itself; without a CUDA library behind
 * it the application must not find it, since that is how programs ask whether CUDA is there. The failed search leaves the
 * message for dlerror. */
static bool is_hollow(const struct hook_row *row, void *handle, void *found, void *return_address)
{
	if (handle != RTLD_NEXT && (!found || object_of(found) != own_object()))
		return false;
	if (find_real(row, return_address))
		return false;
	lookup_dlsym(RTLD_NEXT, row->symbol);
	return true;
}

/* Parts of these libraries look up one another's functions to go around interposers. */
static bool is_vendor(const struct link_map *caller)
{
	static const char *const prefixes[] = { "libcublas", "libcudnn", "libnccl" };
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (starts_with(file_of(caller), prefixes[i]))
			return true;
	return is_driver_side(caller);
}

/* What the trampoline understands beside an address: go on to the real dlsym; answer NULL. */
#define PASS_ON	  NULL
#define NOT_FOUND ((void *)1)

/* As below, for a row of libs.def. */
static void *filter_library(int row, void *handle, const char *name, void *return_address)
{
	bool is_next = handle == RTLD_NEXT;
	if (is_vendor(object_of(return_address)))
		return PASS_ON;
	void *found = is_next ? NULL : lookup_dlsym(handle, name);
	if (is_next || (found && object_of(found) == own_object())) {
		found = lookup_library(name, (enum record_library)library_rows[row].family,
				       return_address);
		if (!found)
			lookup_dlsym(RTLD_NEXT, name); /* it leaves the message for dlerror */
		if (!found || is_next)
			return found ? PASS_ON : NOT_FOUND;
	}
	return found ? libs_given((enum library_id)row, found) : PASS_ON;
}

static bool is_library_name(const char *name)
{
	return starts_with(name, "nccl") || starts_with(name, "cublas") ||
	       starts_with(name, "cudnn");
}

/* What dlsym(handle, name) shall give to the caller at `return_address`. */
void *lookup_filter(void *handle, const char *name, void *return_address);
__attribute__((visibility("hidden"), used)) void *lookup_filter(void *handle, const char *name,
								void *return_address)
{
	if (!lookup_real_dlsym)
		find_real_dlsym();
	if (!name || name[0] == 0)
		return PASS_ON;
	int saved = errno;
	if (is_library_name(name)) {
		int library = libs_row(name);
		void *answer = library < 0 ? PASS_ON
					   : filter_library(library, handle, name, return_address);
		errno = saved;
		return answer;
	}
	const char *stem = name + (name[0] == '_' && name[1] == '_' ? 2 : 0);
	if (stem[0] != 'c' || stem[1] != 'u')
		return PASS_ON;
	int row = lookup_row(name);
	bool getter = !strcmp(name, "cuGetProcAddress") || !strcmp(name, "cuGetProcAddress_v2");
	if (row < 0 && !getter)
		return PASS_ON;
	void *given = PASS_ON, *found = NULL;
	struct hook_row wanted = { .symbol = name,
				   .door = getter ? DOOR_DRIVER : hook_rows[row].door };
	/* what comes next depends on who asks, so the real dlsym has to find it */
	if (handle != RTLD_NEXT && !is_driver_side(object_of(return_address)))
		found = lookup_dlsym(handle, name);
	if (is_hollow(&wanted, handle, found, return_address))
		given = NOT_FOUND;
	else if (found && is_door(object_of(found), wanted.door))
		given = wrap_found(row, name, found);
	errno = saved;
	return given;
}

/*
 * The real dlsym takes the caller from its return address (RTLD_NEXT, RTLD_DEFAULT, dlerror), so ours must not stand
 * between: it asks the filter and then jumps, with the stack as the caller left it.
 */
#if defined(__x86_64__)
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	endbr64\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	mov 16(%rsp), %rdx\n"
	"	sub $8, %rsp\n"
	"	call lookup_filter\n"
	"	add $8, %rsp\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	cmp $1, %rax\n"
	"	ja 1f\n"
	"	je 2f\n"
	"	mov lookup_real_dlsym(%rip), %rax\n"
	"	test %rax, %rax\n"
	"	je 1f\n"
	"	jmp *%rax\n"
	"2:	xor %eax, %eax\n"
	"1:	ret\n"
	".size dlsym, . - dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, %function\n"
	"dlsym:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]\n"
	"	mov x2, x30\n"
	"	bl lookup_filter\n"
	"	mov x9, x0\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	cmp x9, #1\n"
	"	b.hi 1f\n"
	"	b.eq 2f\n"
	"	adrp x9, lookup_real_dlsym\n"
	"	ldr x9, [x9, :lo12:lookup_real_dlsym]\n"
	"	cbz x9, 1f\n"
	"	br x9\n"
	"2:	mov x9, xzr\n"
	"1:	mov x0, x9\n"
	"	ret\n"
	".size dlsym, . - dlsym\n");
#else
#error "dlsym needs a trampoline for this machine"
#endif

void lookup_forget_error(void)
{
	dlerror();
}
