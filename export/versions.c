/* See versions.h. */
#include "export/versions.h"

#include "core/util/path.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* Copies "13.0.48" from libcudart.so.13.0.48. Returns false for files of other libraries, and for
 * files without a version. */
static bool take_suffix(char *to, const char *file, const char *library)
{
	size_t n = strlen(library);
	if (strncmp(file, library, n) || !isdigit((unsigned char)file[n]) ||
	    file[n + strspn(file + n, "0123456789.")])
		return false;
	snprintf(to, VERSION_BYTES, "%s", file + n);
	return true;
}

/*
 * Takes the version from libcuda.so.580.65.06. The name libcuda.so.1 does not contain the version.
 */
static void take_driver(struct versions *v, const char *file)
{
	char number[VERSION_BYTES];
	if (take_suffix(number, file, "libcuda.so.") && strchr(number, '.'))
		memcpy(v->driver, number, sizeof(number));
}

/* Takes the version from a line like: __version__ = '2.9.0+cu130' */
static bool take_assignment(char *to, const char *line)
{
	static const char name[] = "__version__ = ";
	const char *text = line + sizeof(name) - 1;
	if (strncmp(line, name, sizeof(name) - 1) || (*text != '\'' && *text != '"'))
		return false;
	const char *end = strchr(text + 1, *text);
	if (!end || end - text - 1 >= VERSION_BYTES)
		return false;
	snprintf(to, VERSION_BYTES, "%.*s", (int)(end - text - 1), text + 1);
	return true;
}

/* Takes the version from .../torch/version.py. `path`: .../torch/lib/libtorch_cpu.so. */
static void take_torch(struct versions *v, const char *path)
{
	static const char libraries[] = "/torch/lib/";
	const char *folder = strstr(path, libraries);
	char place[PATH_MAX + 32], line[256];
	if (!folder || v->torch[0])
		return;
	snprintf(place, sizeof(place), "%.*s/torch/version.py", (int)(folder - path), path);
	FILE *f = fopen(place, "re");
	while (f && fgets(line, sizeof(line), f))
		if (take_assignment(v->torch, line))
			break;
	if (f)
		fclose(f);
}

void versions_take(struct versions *v, FILE *maps)
{
	char line[PATH_MAX + 128];
	while (fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');
		if (!path)
			continue;
		path[strcspn(path, "\n")] = 0;
		const char *file = path_base(path);
		take_driver(v, file);
		/* the first one, because the application's own calls are bound to it */
		if (!v->cuda_runtime[0])
			take_suffix(v->cuda_runtime, file, "libcudart.so.");
		take_suffix(v->cupti, file, "libcupti.so.");
		if (!strncmp(file, "libtorch", strlen("libtorch")))
			take_torch(v, path);
	}
}

void versions_read(struct versions *v, uint32_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return;
	versions_take(v, maps);
	fclose(maps);
}

static void add(json_t *o, const char *name, const char *text, size_t bytes)
{
	if (bytes)
		json_object_set_new(o, name, json_stringn(text, bytes));
}

json_t *versions_describe(const struct versions *v, const char *python)
{
	json_t *o = json_object();
	add(o, "driver", v->driver, strlen(v->driver));
	add(o, "cuda_runtime", v->cuda_runtime, strlen(v->cuda_runtime));
	add(o, "cupti", v->cupti, strlen(v->cupti));
	add(o, "torch", v->torch, strlen(v->torch));
	if (python)
		add(o, "python", python, strcspn(python, ":"));
	if (json_object_size(o))
		return o;
	json_decref(o);
	return NULL;
}
