#include "preload/gpu_cupti.h"

#include "core/runtime/cupti_places.h"
#include "preload/lookup.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/*
 * Paths of mapped libraries, in the loader's memory. They are not copied, because the application's
 * stack may be small.
 */
struct mapped {
	const char *cupti, *cudart;
};

static int note_mapped(struct dl_phdr_info *info, size_t size, void *context)
{
	struct mapped *m = context;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash ? slash + 1 : info->dlpi_name;
	(void)size;
	/* use the library that was loaded first: the application's calls are bound to that one */
	if (!m->cupti && !strncmp(file, "libcupti.so", 11))
		m->cupti = info->dlpi_name;
	if (!m->cudart && !strncmp(file, "libcudart.so", 12))
		m->cudart = info->dlpi_name;
	return 0;
}

static void *open_near(const char *library, const char *relative, const char *file)
{
	static char path[PATH_MAX + 64]; /* static is safe: only one thread at a time opens CUPTI */
	const char *slash = strrchr(library, '/');
	if (!slash)
		return NULL;
	snprintf(path, sizeof(path), "%.*s/%s%s", (int)(slash - library), library, relative, file);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/*
 * Opens libcupti, whose version must match the driver: a newer CUPTI returns errors, and an older
 * one may deliver nothing. The CUPTI that was shipped with the application's own runtime matches.
 * If the process has already loaded a CUPTI, no other one may be used.
 */
static void *open_cupti(const char *library)
{
	static const char *const files[] = { CUPTI_FILES };
	static const char *const near_runtime[] = { "", "../../cuda_cupti/lib/",
						    "../extras/CUPTI/lib64/",
						    "../../../extras/CUPTI/lib64/" };
	static const char *const toolkit[] = { CUPTI_TOOLKIT };
	struct mapped m = { 0 };
	if (strcmp(library, "auto"))
		return dlopen(library, RTLD_NOW | RTLD_LOCAL);
	dl_iterate_phdr(note_mapped, &m);
	void *handle = m.cupti ? dlopen(m.cupti, RTLD_NOW | RTLD_NOLOAD) : NULL;
	for (size_t i = 0; !handle && m.cudart && i < sizeof(near_runtime) / sizeof(*near_runtime);
	     i++)
		for (size_t j = 0; !handle && j < sizeof(files) / sizeof(*files); j++)
			handle = open_near(m.cudart, near_runtime[i], files[j]);
	for (size_t j = 0; !handle && j < sizeof(files) / sizeof(*files); j++)
		handle = dlopen(files[j], RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; !handle && i < sizeof(toolkit) / sizeof(*toolkit); i++)
		for (size_t j = 0; !handle && j < sizeof(files) / sizeof(*files); j++)
			handle = open_near(toolkit[i], "", files[j]);
	return handle;
}

const char *gpu_cupti_open(const char *library, struct gpu_cupti *to)
{
	void *handle = open_cupti(library);
	if (!handle)
		return strcmp(library, "auto") ? "the library that PROF_CUPTI names cannot be "
						 "opened (set PROF_CUPTI to the path of a libcupti)"
					       : "no libcupti found near the CUDA runtime (set "
						 "PROF_CUPTI to its path)";
#define X(name) to->name = (__typeof__(to->name))lookup_dlsym(handle, #name);
	CUPTI_FUNCTIONS(X)
#undef X
	if (!to->cuptiActivityRegisterCallbacks || !to->cuptiActivityEnable ||
	    !to->cuptiActivityDisable || !to->cuptiActivityFlushAll ||
	    !to->cuptiActivityGetNextRecord)
		return "this libcupti lacks the activity API (set PROF_CUPTI to the path of "
		       "another one)";
	return NULL;
}
