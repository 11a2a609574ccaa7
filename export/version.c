/* `profrun --version`: the version, the build, and the CUPTI that is found from here. */
#include "core/runtime/version.h"
#include "core/runtime/cupti_places.h"
#include "export/command.h"
#include "export/print.h"

#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PROFRUN_BUILD /* the Makefile sets it */
#define PROFRUN_BUILD "unknown"
#endif

static bool is_readable(char *path, const char *folder, const char *file)
{
	size_t n = strlen(folder);
	snprintf(path, PATH_MAX, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", file);
	return !access(path, R_OK);
}

static bool is_in_folder(char *path, const char *folder)
{
	static const char *const files[] = { CUPTI_FILES };
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (is_readable(path, folder, files[i]))
			return true;
	return false;
}

/* Looks in the folders of a list separated by colons, as in LD_LIBRARY_PATH. */
static bool is_in_list(char *path, const char *list)
{
	while (list && *list) {
		char folder[PATH_MAX];
		size_t n = strcspn(list, ":");
		snprintf(folder, sizeof(folder), "%.*s", (int)n, list);
		if (n && is_in_folder(path, folder))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

/* Looks in NVIDIA's wheels, of all versions of Python below `root`/lib. */
static bool is_in_wheels(char *path, const char *root)
{
	char pattern[PATH_MAX + 64];
	glob_t found;
	bool is_found = false;
	snprintf(pattern, sizeof(pattern), "%s/lib/python3*/*-packages/nvidia/*/lib", root);
	if (glob(pattern, 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc && !is_found; i++)
		is_found = is_in_folder(path, found.gl_pathv[i]);
	globfree(&found);
	return is_found;
}

/* Stores the folder that contains bin and lib, if this program is lib/profrun/profrun in it. */
static bool find_root(char *to)
{
	ssize_t n = readlink("/proc/self/exe", to, PATH_MAX - 1);
	to[n > 0 ? n : 0] = 0;
	char *end = strstr(to, "/lib/profrun/profrun");
	if (end)
		*end = 0;
	return end != NULL;
}

/*
 * Stores the path of a libcupti in `path`. A program has its own CUDA runtime, and the library
 * first takes the CUPTI next to it. So this is only a hint of what a run will use.
 */
static bool find_cupti(char path[PATH_MAX])
{
	static const char *const toolkit[] = { CUPTI_TOOLKIT, "/usr/lib/x86_64-linux-gnu/",
					       "/usr/lib64/" };
	const char *venv = getenv("VIRTUAL_ENV"), *home = getenv("CUDA_HOME");
	char root[PATH_MAX], folder[PATH_MAX];
	if ((venv && is_in_wheels(path, venv)) || (find_root(root) && is_in_wheels(path, root)) ||
	    is_in_list(path, getenv("LD_LIBRARY_PATH")))
		return true;
	snprintf(folder, sizeof(folder), "%s/extras/CUPTI/lib64", home ? home : "");
	if (home && is_in_folder(path, folder))
		return true;
	for (size_t i = 0; i < sizeof(toolkit) / sizeof(*toolkit); i++)
		if (is_in_folder(path, toolkit[i]))
			return true;
	return false;
}

void command_print_version(void)
{
	const char *chosen = getenv("PROF_CUPTI");
	char path[PATH_MAX], real[PATH_MAX];
	print_out("profrun %s (build %s)\n", PROFRUN_VERSION, PROFRUN_BUILD);
	if (chosen && *chosen && strcmp(chosen, "auto"))
		print_out("CUPTI: %s, set by PROF_CUPTI%s\n", chosen,
			  strcmp(chosen, "off") && access(chosen, R_OK) ? "; cannot be read" : "");
	else if (find_cupti(path))
		print_out("CUPTI: %s\n", realpath(path, real) ? real : path);
	else
		print_out("CUPTI: none found; a run takes the one next to the program's CUDA "
			  "runtime\n");
}
