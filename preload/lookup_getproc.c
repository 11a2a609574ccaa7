/*
 * The entry point cuGetProcAddress. A statically linked CUDA runtime looks up some 440 functions
 * through it. See docs/internals/entry-points.md.
 */
#include "preload/lookup_entry_points.h"
#include "preload/lookup_objects.h"
#include "preload/used.h"

#include <cuda.h>
#include <errno.h>
#include <string.h>

/*
 * hooks.def has signatures up to this CUDA version; for a newer version a name may have an unknown
 * signature
 */
enum { KNOWN_VERSION = CUDA_VERSION, TWIN_FLAG = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM };

/*
 * Returns the newest row of the function `name` whose version is at most `version`; NULL: there is
 * none. `twin`: searches only the rows of per-thread-default-stream twins, otherwise only the other
 * rows.
 */
static const struct hook_row *row_for(const char *name, int version, bool twin)
{
	const struct hook_row *best = NULL;
	for (unsigned i = 0; i < HOOK_COUNT; i++) {
		const struct hook_row *row = &hook_rows[i];
		if (row->entry_point != ENTRY_POINT_DRIVER || row->is_twin != twin ||
		    row->version * 10 > version || strcmp(row->name, name))
			continue;
		if (!best || row->version > best->version)
			best = row;
	}
	return best;
}

/*
 * Returns our wrapper for `function`, which the driver returned for (name, version, flags). Returns
 * `function` itself if there is no wrapper. If the name has no twin, the per-thread flag is
 * ignored.
 */
static void *wrapper_for(const char *name, int version, uint64_t flags, void *function)
{
	const struct hook_row *row = flags & TWIN_FLAG ? row_for(name, version, true) : NULL;
	if (!row)
		row = row_for(name, version, false);
	if (!row)
		return function;
	if (version > KNOWN_VERSION &&
	    function != lookup_in(object_mapped("libcuda.so.1"), row->symbol))
		return function;
	return lookup_give((enum hook_id)(row - hook_rows), function);
}

/*
 * linked_: the functions that the exported symbols of cuGetProcAddress stand for. found_: the
 * functions that lookups have found, the driver's and another interposer's. Each has a wrapper.
 */
typedef CUresult get_v1_function(const char *, void **, int, cuuint64_t);
typedef CUresult get_v2_function(const char *, void **, int, cuuint64_t,
				 CUdriverProcAddressQueryResult *);
static get_v1_function *linked_get_v1;
static get_v2_function *linked_get_v2;
enum { GETTERS = 2 };
static _Atomic(void *) found_v1[GETTERS], found_v2[GETTERS];

/*
 * Replaces `*function`, which the driver has just returned, by our wrapper. A program may also look
 * up cuGetProcAddress itself; since CUDA 12.0 that name means the second form.
 */
static void replace(const char *symbol, void **function, int version, cuuint64_t flags)
{
	int saved = errno;
	if (!strcmp(symbol, "cuGetProcAddress")) {
		const char *form = version >= 12000 ? "cuGetProcAddress_v2" : "cuGetProcAddress";
		*function = lookup_give_getter(form, *function);
	} else {
		*function = wrapper_for(symbol, version, flags, *function);
	}
	errno = saved;
}

static CUresult ask_v1(get_v1_function *next, const char *symbol, void **function, int version,
		       cuuint64_t flags)
{
	used_note();
	CUresult status = next(symbol, function, version, flags);
	if (!status && symbol && function && *function)
		replace(symbol, function, version, flags);
	return status;
}

static CUresult ask_v2(get_v2_function *next, const char *symbol, void **function, int version,
		       cuuint64_t flags, CUdriverProcAddressQueryResult *status_out)
{
	used_note();
	CUresult status = next(symbol, function, version, flags, status_out);
	if (!status && symbol && function && *function)
		replace(symbol, function, version, flags);
	return status;
}

#define GETTER(n)                                                                                \
	static CUresult get_v1_##n(const char *symbol, void **function, int version,             \
				   cuuint64_t flags)                                             \
	{                                                                                        \
		return ask_v1((get_v1_function *)found_v1[n], symbol, function, version, flags); \
	}                                                                                        \
	static CUresult get_v2_##n(const char *symbol, void **function, int version,             \
				   cuuint64_t flags, CUdriverProcAddressQueryResult *status)     \
	{                                                                                        \
		return ask_v2((get_v2_function *)found_v2[n], symbol, function, version, flags,  \
			      status);                                                           \
	}
GETTER(0)
GETTER(1)

/* Programs linked with -lcuda call these two functions directly. */
EXPORT CUresult hooked_cuGetProcAddress(const char *symbol, void **function, int version,
					cuuint64_t flags) __asm__("cuGetProcAddress");
EXPORT CUresult
hooked_cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
			   CUdriverProcAddressQueryResult *status) __asm__("cuGetProcAddress_v2");

CUresult hooked_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	if (!linked_get_v1)
		linked_get_v1 = (get_v1_function *)lookup_driver("cuGetProcAddress",
								 __builtin_return_address(0));
	return linked_get_v1 ? ask_v1(linked_get_v1, symbol, function, version, flags)
			     : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult hooked_cuGetProcAddress_v2(const char *symbol, void **function, int version,
				    cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	if (!linked_get_v2)
		linked_get_v2 = (get_v2_function *)lookup_driver("cuGetProcAddress_v2",
								 __builtin_return_address(0));
	return linked_get_v2 ? ask_v2(linked_get_v2, symbol, function, version, flags, status)
			     : CUDA_ERROR_NOT_INITIALIZED;
}

bool lookup_is_getter(const char *name)
{
	return !strcmp(name, "cuGetProcAddress") || !strcmp(name, "cuGetProcAddress_v2");
}

static bool is_driver(void *function)
{
	return object_is_entry_point(object_of(function), ENTRY_POINT_DRIVER);
}

void *lookup_give_getter(const char *name, void *found)
{
	void *const wrappers_v1[] = { (void *)get_v1_0, (void *)get_v1_1 };
	void *const wrappers_v2[] = { (void *)get_v2_0, (void *)get_v2_1 };
	bool is_v2 = !strcmp(name, "cuGetProcAddress_v2");
	for (int i = 0; i < GETTERS; i++) {
		void *known = NULL;
		atomic_compare_exchange_strong(is_v2 ? &found_v2[i] : &found_v1[i], &known, found);
		/* the driver may have several addresses for the function */
		if (!known || known == found || (is_driver(known) && is_driver(found)))
			return is_v2 ? wrappers_v2[i] : wrappers_v1[i];
	}
	return found;
}
