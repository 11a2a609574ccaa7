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

/* A lookup by the application. `version`: NULL for dlsym. */
struct request {
	void *handle;
	const char *name, *version;
	void *return_address;
};

/* Makes the application's lookup, but with this library as the caller. */
static void *look_up(const struct request *r)
{
	if (!r->version)
		return lookup_next_dlsym ? lookup_next_dlsym(r->handle, r->name) : NULL;
	return lookup_next_dlvsym ? lookup_next_dlvsym(r->handle, r->name, r->version) : NULL;
}

/*
 * Returns whether a wrapper of ours may stand for `found`: the CUDA library has it, or an
 * interposer after this library has put its own function in its place. An interposer before this
 * library calls us itself.
 */
static bool is_ours_to_wrap(const struct request *r, void *found, unsigned entry_point)
{
	const struct link_map *object = object_of(found);
	if (object_is_entry_point(object, entry_point))
		return true;
	if (!object || object == object_own() || object_is_before_own(object))
		return false;
	void *plain = r->version ? NULL : lookup_dlsym(r->handle, r->name);
	return plain && plain != found && object_is_entry_point(object_of(plain), entry_point);
}

/*
 * Returns whether the search would find only our own export, because no CUDA library that the
 * caller can see has the function. (Our export is in global scope; for RTLD_NEXT it comes after the
 * program itself.) The application must then get NULL, because programs check in this way whether
 * CUDA is installed. The failed search sets the message for dlerror.
 */
static bool has_no_real_function(const struct request *r, const struct hook_row *row, void *found)
{
	if (r->handle != RTLD_NEXT && (!found || object_of(found) != object_own()))
		return false;
	if (r->version || lookup_is_in_scope(row->symbol, row->entry_point, r->return_address))
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
static void *filter_library(const struct request *r)
{
	bool is_next = r->handle == RTLD_NEXT;
	int row = libs_row(r->name);
	if (row < 0 || is_vendor(object_of(r->return_address)))
		return PASS_ON;
	void *found = is_next ? NULL : look_up(r);
	if (is_next || (found && object_of(found) == object_own())) {
		found = lookup_library(r->name, (enum record_library)library_rows[row].family,
				       r->return_address);
		if (!found)
			lookup_dlsym(RTLD_NEXT, r->name); /* fails: sets the message for dlerror */
		if (!found || is_next)
			return found ? PASS_ON : NOT_FOUND;
	}
	return found ? libs_given((enum library_id)row, found) : PASS_ON;
}

/*
 * Does what lookup_filter() does, for CUPTI's functions. The application's use of CUPTI must always
 * be noticed.
 */
static void *filter_cupti(const struct request *r)
{
	void *wrapper = gpu_yield_wrapper(r->name);
	if (!wrapper || r->handle == RTLD_NEXT || is_driver_side(object_of(r->return_address)))
		return PASS_ON;
	void *found = look_up(r);
	if (found && object_of(found) == object_own()) {
		if (lookup_cupti(r->name, r->return_address))
			return wrapper;
		lookup_dlsym(RTLD_NEXT, r->name); /* fails: sets the message for dlerror */
		return NOT_FOUND;
	}
	return found && object_is_entry_point(object_of(found), ENTRY_POINT_CUPTI) &&
			       gpu_yield_stands_for(r->name, found, r->return_address)
		       ? wrapper
		       : PASS_ON;
}

static bool is_library_name(const char *name)
{
	return !strncmp(name, "nccl", 4) || !strncmp(name, "cublas", 6) ||
	       !strncmp(name, "cudnn", 5);
}

/* Does what lookup_filter() does, for the functions in hooks.def and cuGetProcAddress. */
static void *filter_cuda(const struct request *r)
{
	const char *stem = r->name + (r->name[0] == '_' && r->name[1] == '_' ? 2 : 0);
	if (stem[0] != 'c' || stem[1] != 'u')
		return PASS_ON;
	int row = lookup_row(r->name);
	bool getter = lookup_is_getter(r->name);
	if (row < 0 && !getter)
		return PASS_ON;
	void *found = NULL;
	struct hook_row wanted = { .symbol = r->name,
				   .entry_point = getter ? ENTRY_POINT_DRIVER
							 : hook_rows[row].entry_point };
	/* the result of RTLD_NEXT depends on the caller, so only the real dlsym can search */
	if (r->handle != RTLD_NEXT && !is_driver_side(object_of(r->return_address)))
		found = look_up(r);
	if (has_no_real_function(r, &wanted, found))
		return NOT_FOUND;
	if (!found || !is_ours_to_wrap(r, found, wanted.entry_point))
		return PASS_ON;
	void *given = getter ? lookup_give_getter(r->name, found)
			     : lookup_give((enum hook_id)row, found);
	return given == found ? PASS_ON : given;
}

/*
 * An interposer that replaces dlsym looks the real one up with dlvsym and RTLD_NEXT. This library's
 * dlsym has no version, so glibc would pass over it.
 */
static void *filter_dlsym(const struct request *r)
{
	const struct link_map *caller = object_of(r->return_address);
	bool is_ours = r->version && r->handle == RTLD_NEXT && object_is_before_own(caller) &&
		       look_up(&(struct request){ RTLD_NEXT, "dlsym", r->version, NULL });
	return is_ours ? (void *)dlsym : PASS_ON;
}

/*
 * Returns what dlsym(handle, name) or dlvsym(handle, name, version) is to return to the caller that
 * contains `return_address`: an address, PASS_ON or NOT_FOUND. `version` is NULL for dlsym.
 */
void *lookup_filter(void *handle, const char *name, const char *version, void *return_address);
HIDDEN __attribute__((used)) void *lookup_filter(void *handle, const char *name,
						 const char *version, void *return_address)
{
	if (!lookup_next_dlsym)
		lookup_find_dlsym();
	if (!name || name[0] == 0)
		return PASS_ON;
	int saved = errno;
	struct request r = { handle, name, version, return_address };
	void *answer = PASS_ON;
	if (is_library_name(name))
		answer = filter_library(&r);
	else if (!strncmp(name, "cupti", 5))
		answer = filter_cupti(&r);
	else if (version && !strcmp(name, "dlsym")) /* not for dlsym: see libc_find.c */
		answer = filter_dlsym(&r);
	else
		answer = filter_cuda(&r);
	errno = saved;
	return answer;
}

/*
 * The exported dlsym and dlvsym, trampolines. The real functions identify their caller by the
 * return address (for RTLD_NEXT, RTLD_DEFAULT and dlerror), so a trampoline must not call them.
 * Instead it calls lookup_filter() and then jumps to the next dlsym or dlvsym, with the stack as
 * the caller left it.
 */
#if defined(__x86_64__)
/* The arguments of lookup_filter: rdi, rsi and rdx hold the caller's, rcx the return address. */
#define TRAMPOLINE(name, version)                                             \
	__asm__(".text\n"                                                     \
		".globl " #name "\n"                                          \
		".type " #name ", @function\n" #name ":\n"                    \
		"	endbr64\n"                                                  \
		"	push %rdi\n"                                                \
		"	push %rsi\n"                                                \
		"	push %rdx\n"                                                \
		"	mov 24(%rsp), %rcx\n" version "	call lookup_filter\n" \
		"	pop %rdx\n"                                                 \
		"	pop %rsi\n"                                                 \
		"	pop %rdi\n"                                                 \
		"	cmp $1, %rax\n"                                             \
		"	ja 1f\n"                                                    \
		"	je 2f\n"                                                    \
		"	mov lookup_next_" #name "(%rip), %rax\n"              \
		"	test %rax, %rax\n"                                          \
		"	je 1f\n"                                                    \
		"	jmp *%rax\n"                                                \
		"2:	xor %eax, %eax\n"                                         \
		"1:	ret\n"                                                    \
		".size " #name ", . - " #name "\n")
TRAMPOLINE(dlsym, "	xor %edx, %edx\n");
TRAMPOLINE(dlvsym, "");
#elif defined(__aarch64__)
#define TRAMPOLINE(name, version)                                    \
	__asm__(".text\n"                                            \
		".globl " #name "\n"                                 \
		".type " #name ", %function\n" #name ":\n"           \
		"	stp x29, x30, [sp, #-48]!\n"                       \
		"	mov x29, sp\n"                                     \
		"	stp x0, x1, [sp, #16]\n"                           \
		"	str x2, [sp, #32]\n"                               \
		"	mov x3, x30\n" version "	bl lookup_filter\n" \
		"	mov x9, x0\n"                                      \
		"	ldr x2, [sp, #32]\n"                               \
		"	ldp x0, x1, [sp, #16]\n"                           \
		"	ldp x29, x30, [sp], #48\n"                         \
		"	cmp x9, #1\n"                                      \
		"	b.hi 1f\n"                                         \
		"	b.eq 2f\n"                                         \
		"	adrp x9, lookup_next_" #name "\n"            \
		"	ldr x9, [x9, :lo12:lookup_next_" #name "]\n" \
		"	cbz x9, 1f\n"                                      \
		"	br x9\n"                                           \
		"2:	mov x9, xzr\n"                                   \
		"1:	mov x0, x9\n"                                    \
		"	ret\n"                                             \
		".size " #name ", . - " #name "\n")
TRAMPOLINE(dlsym, "	mov x2, xzr\n");
TRAMPOLINE(dlvsym, "");
#else
#error "dlsym needs a trampoline for this machine"
#endif
