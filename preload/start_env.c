/* See start_env.h. */
#include "preload/start_env.h"

#include "core/runtime/at_start.h"
#include "core/runtime/ranks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ENTRIES_MOST = 128 };

static const char *kept[ENTRIES_MOST + 1] START_DATA; /* copies, in `room` if they fit */
static char room[1024] START_DATA;
static const char *found[ENTRIES_MOST + 1];

AT_START static bool is_ours(const char *entry)
{
	return !strncmp(entry, "PROF_", 5);
}

AT_START static bool is_wanted(const char *entry)
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

/* Returns memory for the copies; NULL: there is none. */
AT_START static char *room_for(size_t bytes)
{
	if (bytes <= sizeof(room))
		return room;
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return map == MAP_FAILED ? NULL : map;
}

AT_START void start_env_keep(void)
{
	size_t bytes = 0, n = 0;
	for (char **e = environ; e && *e && n < ENTRIES_MOST; e++)
		if (is_wanted(*e)) {
			kept[n++] = *e;
			bytes += strlen(*e) + 1;
		}
	char *copy = room_for(bytes);
	if (!copy)
		n = 0; /* use only the current environment */
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(kept[i]) + 1;
		kept[i] = memcpy(copy, kept[i], length);
		copy += length;
	}
	kept[n] = NULL;
}

const char *start_env_get(const char *name)
{
	const char *now = getenv(name);
	return now ? now : value_in(kept, name);
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
			found[n++] = *e;
	found[n] = NULL;
	for (size_t i = 0; kept[i] && n < ENTRIES_MOST; i++) {
		char name[64];
		size_t length = strcspn(kept[i], "=");
		if (!is_ours(kept[i]) || length >= sizeof(name))
			continue;
		memcpy(name, kept[i], length);
		name[length] = 0;
		if (!value_in(found, name)) {
			found[n++] = kept[i];
			found[n] = NULL;
		}
	}
	return (char *const *)(uintptr_t)found;
}
