/* See start_env.h. */
#include "preload/start_env.h"

#include "core/runtime/ranks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ENTRIES_MOST = 128 };

static struct {
	const char *kept[ENTRIES_MOST + 1];
	const char *entries[ENTRIES_MOST + 1];
} g;

static bool is_ours(const char *entry)
{
	return !strncmp(entry, "PROF_", 5);
}

static bool is_wanted(const char *entry)
{
	return is_ours(entry) || ranks_is_variable(entry, strcspn(entry, "=")) ||
	       !strncmp(entry, "CUDA_VISIBLE_DEVICES=", 21);
}

static const char *value_in(const char *const *entries, const char *name)
{
	size_t length = strlen(name);
	for (; *entries; entries++)
		if (!strncmp(*entries, name, length) && (*entries)[length] == '=')
			return *entries + length + 1;
	return NULL;
}

void start_env_keep(void)
{
	size_t bytes = 0, n = 0;
	for (char **e = environ; e && *e && n < ENTRIES_MOST; e++)
		if (is_wanted(*e)) {
			g.kept[n++] = *e;
			bytes += strlen(*e) + 1;
		}
	char *copy = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0)
			   : MAP_FAILED;
	if (copy == MAP_FAILED)
		n = 0; /* no memory for the copies: use only the current environment */
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(g.kept[i]) + 1;
		g.kept[i] = memcpy(copy, g.kept[i], length);
		copy += length;
	}
	g.kept[n] = NULL;
}

const char *start_env_get(const char *name)
{
	const char *now = getenv(name);
	return now ? now : value_in(g.kept, name);
}

const char *start_env_lookup(void *unused, const char *name)
{
	(void)unused;
	return start_env_get(name);
}

char *const *start_env_entries(void)
{
	size_t n = 0;
	for (char **e = environ; e && *e && n < ENTRIES_MOST; e++)
		if (is_ours(*e))
			g.entries[n++] = *e;
	g.entries[n] = NULL;
	for (size_t i = 0; g.kept[i] && n < ENTRIES_MOST; i++) {
		char name[64];
		size_t length = strcspn(g.kept[i], "=");
		if (!is_ours(g.kept[i]) || length >= sizeof(name))
			continue;
		memcpy(name, g.kept[i], length);
		name[length] = 0;
		if (!value_in(g.entries, name)) {
			g.entries[n++] = g.kept[i];
			g.entries[n] = NULL;
		}
	}
	return (char *const *)(uintptr_t)g.entries;
}
