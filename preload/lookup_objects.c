/* See lookup_objects.h. */
#include "preload/lookup_objects.h"

#include "preload/libc_find.h"

#include <dlfcn.h>
#include <string.h>

const struct link_map *object_of(void *address)
{
	struct dl_find_object found;
	int error = libc_find_object(address, &found);
	if (error != LIBC_TOO_OLD)
		return error ? NULL : found.dlfo_link_map;
	Dl_info info;
	struct link_map *map = NULL;
	return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

const struct link_map *object_own(void)
{
	static const struct link_map *own;
	if (!own)
		own = object_of((void *)(uintptr_t)object_own);
	return own;
}

/* Returns the file name without its folder; "" for the program itself. */
static const char *file_of(const struct link_map *object)
{
	const char *name = object && object->l_name ? object->l_name : "";
	const char *slash = strrchr(name, '/');
	return slash ? slash + 1 : name;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool object_is_named(const struct link_map *object, const char *const *prefixes, size_t n)
{
	const char *file = file_of(object);
	for (size_t i = 0; i < n; i++)
		if (starts_with(file, prefixes[i]))
			return true;
	return false;
}

/* Prefixes of the libraries' file names. */
static const char *const entry_point_library[] = {
	[ENTRY_POINT_RUNTIME] = "libcudart.so",
	[ENTRY_POINT_DRIVER] = "libcuda.so",
	[ENTRY_POINT_CUPTI] = "libcupti.so",
	[ENTRY_POINT_LIBRARIES + LIB_NCCL] = "libnccl.so",
	[ENTRY_POINT_LIBRARIES + LIB_BLAS] = "libcublas.so",
	[ENTRY_POINT_LIBRARIES + LIB_BLASLT] = "libcublasLt.so",
	[ENTRY_POINT_LIBRARIES + LIB_DNN] = "libcudnn.so",
};

/*
 * Returns whether `file` names the entry point's library. Older wheels rename the runtime, for
 * example to libcudart-d0da41ae.so.11.0. A library such as libcudart_limits.so is not the runtime.
 */
static bool names_entry_point(const char *file, unsigned entry_point)
{
	return starts_with(file, entry_point_library[entry_point]) ||
	       (entry_point == ENTRY_POINT_RUNTIME && starts_with(file, "libcudart-"));
}

/* Returns the string table into which entries of the dynamic section are offsets. */
static const char *strings_of(const struct link_map *object)
{
	for (const ElfW(Dyn) *d = object ? object->l_ld : NULL; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			return (const char *)d->d_un.d_ptr;
	return NULL;
}

/* Returns the first `tag` entry of the dynamic section that names the entry point's library. */
static const char *name_of_entry_point(const struct link_map *object, int64_t tag,
				       unsigned entry_point)
{
	const char *strings = strings_of(object);
	for (const ElfW(Dyn) *d = strings ? object->l_ld : NULL; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag && names_entry_point(strings + d->d_un.d_val, entry_point))
			return strings + d->d_un.d_val;
	return NULL;
}

bool object_is_entry_point(const struct link_map *object, unsigned entry_point)
{
	return names_entry_point(file_of(object), entry_point) ||
	       name_of_entry_point(object, DT_SONAME, entry_point);
}

bool object_is_before_own(const struct link_map *object)
{
	for (const struct link_map *o = object_own(); o; o = o->l_prev)
		if (o == object)
			return object != object_own();
	return false;
}

void *object_mapped(const char *name)
{
	return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

void *object_needed_by(const struct link_map *caller, unsigned entry_point)
{
	const char *name = name_of_entry_point(caller, DT_NEEDED, entry_point);
	return name ? object_mapped(name) : NULL;
}
