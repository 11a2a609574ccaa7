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

/*
 * Replaces `*function`, which the driver has just returned, by our wrapper. A program may also look
 * up cuGetProcAddress itself; since CUDA 12.0 that name means the second form.
 */
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
	used_note();
	CUresult status = real_get_v1(symbol, function, version, flags);
	if (!status && symbol && function && *function)
		replace(symbol, function, version, flags);
	return status;
}

static CUresult get_v2(const char *symbol, void **function, int version, cuuint64_t flags,
		       CUdriverProcAddressQueryResult *status_out)
{
	used_note();
	CUresult status = real_get_v2(symbol, function, version, flags, status_out);
	if (!status && symbol && function && *function)
		replace(symbol, function, version, flags);
	return status;
}

/* Programs linked with -lcuda call these two functions directly. */
EXPORT CUresult hooked_cuGetProcAddress(const char *symbol, void **function, int version,
					cuuint64_t flags) __asm__("cuGetProcAddress");
EXPORT CUresult
hooked_cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
			   CUdriverProcAddressQueryResult *status) __asm__("cuGetProcAddress_v2");

CUresult hooked_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	if (!real_get_v1)
		real_get_v1 = (__typeof__(real_get_v1))lookup_driver("cuGetProcAddress",
								     __builtin_return_address(0));
	return real_get_v1 ? get_v1(symbol, function, version, flags) : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult hooked_cuGetProcAddress_v2(const char *symbol, void **function, int version,
				    cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	if (!real_get_v2)
		real_get_v2 = (__typeof__(real_get_v2))lookup_driver("cuGetProcAddress_v2",
								     __builtin_return_address(0));
	return real_get_v2 ? get_v2(symbol, function, version, flags, status)
			   : CUDA_ERROR_NOT_INITIALIZED;
}

bool lookup_is_getter(const char *name)
{
	return !strcmp(name, "cuGetProcAddress") || !strcmp(name, "cuGetProcAddress_v2");
}

void *lookup_wrap_getter(const char *name, void *found)
{
	if (!strcmp(name, "cuGetProcAddress_v2")) {
		real_get_v2 = (__typeof__(real_get_v2))found;
		return (void *)get_v2;
	}
	real_get_v1 = (__typeof__(real_get_v1))found;
	return (void *)get_v1;
}
