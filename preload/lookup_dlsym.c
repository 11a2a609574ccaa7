/*
 * The entry point dlsym. Every library of the process calls it, at any time, even before
 * constructors run. So lookup_filter() allocates nothing and handles only the names of functions of
 * CUDA and its libraries. See docs/internals/entry-points.md.
 */
#include "preload/gpu_yield.h"
#include "preload/libs.h"
#include "preload/lookup_entry_points.h"
#include "preload/lookup_objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/*
 * Returns whether the caller is one of NVIDIA's tools, a part of the driver or this library. They
 * look driver functions up in order to bypass interposers, so they get the real functions.
 */
static bool is_driver_side(const struct link_map *caller)
{
	static const char *const prefixes[] = { "libcuda.so", "libnvidia", "libcupti",
						"libnvperf" };
	return caller == object_own() || object_is_entry_point(caller, ENTRY_POINT_DRIVER) ||
	       object_is_named(caller, prefixes, sizeof(prefixes) / sizeof(*prefixes));
}

/*
 * Returns the wrapper of `found`, the function that the real dlsym has found. Returns NULL if the
 * application is to get `found` itself.
 */
static void *wrap_found(int row_number, const char *name, void *found)
{
	if (row_number < 0)
		return lookup_wrap_getter(name, found);
	const struct hook_row *row = &hook_rows[row_number];
	if (row->entry_point == ENTRY_POINT_DRIVER) {
		void *none = NULL;
		atomic_compare_exchange_strong(row->real, &none, found);
		return row->wrapper;
	}
	if (lookup_has_many_runtimes())
		return NULL;
	lookup_notice_runtime_object(object_of(found));
	void *known = atomic_load_explicit(row->real, memory_order_relaxed);
	if (!known && !lookup_has_many_runtimes()) {
		atomic_store_explicit(row->real, found, memory_order_relaxed);
		known = found;
	}
	/*
	 * a second runtime's function is not wrapped; the driver calls that it makes are still
	 * recorded
	 */
	return known == found ? row->wrapper : NULL;
}

/*
 * Returns whether the search would find only our own export, because no CUDA library has the
 * function. (Our export is in global scope; for RTLD_NEXT it comes after the program itself.) The
 * application must then get NULL, because programs check in this way whether CUDA is installed. The
 * failed search sets the message for dlerror.
 */
static bool has_no_real_function(const struct hook_row *row, void *handle, void *found,
				 void *return_address)
{
	if (handle != RTLD_NEXT && (!found || object_of(found) != object_own()))
		return false;
	if (lookup_find(row, return_address))
		return false;
	lookup_dlsym(RTLD_NEXT, row->symbol);
	return true;
}

/*
 * Returns whether the caller is one of NVIDIA's libraries. They look up each other's functions in
 * order to bypass interposers.
 */
static bool is_vendor(const struct link_map *caller)
{
	static const char *const prefixes[] = { "libcublas", "libcudnn", "libnccl" };
	return is_driver_side(caller) ||
	       object_is_named(caller, prefixes, sizeof(prefixes) / sizeof(*prefixes));
}

/*
 * What lookup_filter() returns instead of an address. PASS_ON: the trampoline jumps to the real
 * dlsym. NOT_FOUND: the trampoline returns NULL.
 */
#define PASS_ON	  NULL
#define NOT_FOUND ((void *)1)

/* Does what lookup_filter() does, for the functions in libs.def. */
static void *filter_library(int row, void *handle, const char *name, void *return_address)
{
	bool is_next = handle == RTLD_NEXT;
	if (is_vendor(object_of(return_address)))
		return PASS_ON;
	void *found = is_next ? NULL : lookup_dlsym(handle, name);
	if (is_next || (found && object_of(found) == object_own())) {
		found = lookup_library(name, (enum record_library)library_rows[row].family,
				       return_address);
		if (!found)
			lookup_dlsym(RTLD_NEXT, name); /* fails: sets the message for dlerror */
		if (!found || is_next)
			return found ? PASS_ON : NOT_FOUND;
	}
	return found ? libs_given((enum library_id)row, found) : PASS_ON;
}

/*
 * Does what lookup_filter() does, for CUPTI's functions. The application's use of CUPTI must always
 * be noticed.
 */
static void *filter_cupti(void *handle, const char *name, void *return_address)
{
	void *wrapper = gpu_yield_wrapper(name);
	if (!wrapper || handle == RTLD_NEXT || is_driver_side(object_of(return_address)))
		return PASS_ON;
	void *found = lookup_dlsym(handle, name);
	if (found && object_of(found) == object_own()) {
		if (lookup_cupti(name, return_address))
			return wrapper;
		lookup_dlsym(RTLD_NEXT, name); /* fails: sets the message for dlerror */
		return NOT_FOUND;
	}
	return found && object_is_entry_point(object_of(found), ENTRY_POINT_CUPTI) &&
			       gpu_yield_stands_for(name, found, return_address)
		       ? wrapper
		       : PASS_ON;
}

static bool is_library_name(const char *name)
{
	return !strncmp(name, "nccl", 4) || !strncmp(name, "cublas", 6) ||
	       !strncmp(name, "cudnn", 5);
}

/*
 * Returns what dlsym(handle, name) is to return to the caller that contains `return_address`: an
 * address, PASS_ON or NOT_FOUND.
 */
void *lookup_filter(void *handle, const char *name, void *return_address);
HIDDEN __attribute__((used)) void *lookup_filter(void *handle, const char *name,
						 void *return_address)
{
	if (!lookup_real_dlsym)
		lookup_find_dlsym();
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
	if (!strncmp(name, "cupti", 5)) {
		void *answer = filter_cupti(handle, name, return_address);
		errno = saved;
		return answer;
	}
	const char *stem = name + (name[0] == '_' && name[1] == '_' ? 2 : 0);
	if (stem[0] != 'c' || stem[1] != 'u')
		return PASS_ON;
	int row = lookup_row(name);
	bool getter = lookup_is_getter(name);
	if (row < 0 && !getter)
		return PASS_ON;
	void *given = PASS_ON, *found = NULL;
	struct hook_row wanted = { .symbol = name,
				   .entry_point = getter ? ENTRY_POINT_DRIVER
							 : hook_rows[row].entry_point };
	/* the result of RTLD_NEXT depends on the caller, so only the real dlsym can search */
	if (handle != RTLD_NEXT && !is_driver_side(object_of(return_address)))
		found = lookup_dlsym(handle, name);
	if (has_no_real_function(&wanted, handle, found, return_address))
		given = NOT_FOUND;
	else if (found && object_is_entry_point(object_of(found), wanted.entry_point))
		given = wrap_found(row, name, found);
	errno = saved;
	return given;
}

/*
 * The exported dlsym, a trampoline. The real dlsym identifies its caller by the return address (for
 * RTLD_NEXT, RTLD_DEFAULT and dlerror), so the trampoline must not call the real dlsym. Instead it
 * calls lookup_filter() and then jumps to the real dlsym, with the stack as the caller left it.
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
