/*
 * Finds CPython: in the program itself, in a library that is globally visible, or in a libpython
 * that a host program loaded with RTLD_LOCAL. All names are looked up with the real dlsym, not with
 * profrun's wrapper.
 */
#include "preload/python_find.h"

#include "preload/lookup.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* Returns the calling thread's state. Unlike PyThreadState_Get and its variants, it needs no GIL,
 * and every CPython since 3.2 exports it. */
static const char thread_state_name[] = "PyGILState_GetThisThreadState";

static int note_libpython(struct dl_phdr_info *info, size_t size, void *path)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash ? slash + 1 : info->dlpi_name;
	size_t bytes = strlen(info->dlpi_name) + 1;
	(void)size;
	if (strncmp(file, "libpython3", strlen("libpython3")) != 0 || bytes > PATH_MAX)
		return 0;
	memcpy(path, info->dlpi_name, bytes);
	return 1;
}

/* Returns a handle of a libpython that is not globally visible, or NULL. Copies the path first,
 * because dlopen must not be called from within dl_iterate_phdr. */
static void *local_libpython(void)
{
	char path[PATH_MAX];
	return dl_iterate_phdr(note_libpython, path) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

/* Keeps the object that contains `function` loaded: takes a reference that is never released,
 * because profrun stores addresses in the object. */
static void pin(void *function)
{
	Dl_info info;
	if (dladdr(function, &info) && info.dli_fname && info.dli_fname[0])
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static void *data(void *handle, const char *name)
{
	return lookup_dlsym(handle, name);
}

static uint64_t address(void *handle, const char *name)
{
	return (uint64_t)(uintptr_t)lookup_dlsym(handle, name);
}

/* Parses a version such as "3.10.13 (main, ...", "3.13.0rc2 ..." or "3.12.1+ ...". Returns it as
 * PY_VERSION_HEX without the serial number, or 0 for any other text. */
static uint32_t parse_version(const char *text)
{
	uint32_t version = 0;
	for (int shift = 24; shift >= 8; shift -= 8) {
		char *end;
		unsigned long part = strtoul(text, &end, 10);
		if (end == text || part > 255 || (shift > 8 && *end != '.'))
			return 0;
		version |= (uint32_t)part << shift;
		text = end + (shift > 8);
	}
	if (*text == ' ' || *text == '+' || !*text)
		return version | PYTHON_FINAL << 4;
	return version | (uint32_t)(*text == 'r' ? PYTHON_CANDIDATE : 0xa) << 4;
}

static uint32_t read_version(void *handle)
{
	const unsigned long *number = data(handle, "Py_Version"); /* 3.11 and later */
	const char *(*text)(void) =
		(__typeof__(text))(number ? NULL : data(handle, "Py_GetVersion"));
	return number ? (uint32_t)*number : text ? parse_version(text()) : 0;
}

bool python_find(struct python_api *api)
{
	void *handle = RTLD_DEFAULT, *function = data(handle, thread_state_name);
	if (!function) {
		handle = local_libpython();
		function = handle ? data(handle, thread_state_name) : NULL;
	}
	if (!function)
		return false;
	pin(function);
	void *finalizing = data(handle, "Py_IsFinalizing"); /* 3.13 and later */
	if (!finalizing)
		finalizing = data(handle, "_Py_IsFinalizing");
	*api = (struct python_api){
		.thread_state = (__typeof__(api->thread_state))function,
		.is_finalizing = (__typeof__(api->is_finalizing))finalizing,
		.code_type = address(handle, "PyCode_Type"),
		.text_type = address(handle, "PyUnicode_Type"),
		.bytes_type = address(handle, "PyBytes_Type"),
		.runtime = data(handle, "_PyRuntime"),
		.version = read_version(handle),
	};
	return true;
}
