/* See opening.h. Runs once in the application, at startup, and in the tools. */
#include "core/runtime/opening.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint64_t size; /* ns, or bytes */
} units[] = { { "s", 1000000000 }, { "MB", 1 << 20 } };

enum { SECONDS, MEGABYTES, UNITS };

#define MOST 86400.0 /* seconds in a day; as megabytes, more than a journal can hold */

static int refuse(const char *text, struct err *e)
{
	return err_set(e, -EINVAL,
		       "'%.60s' is not a limit of the opening; accepted: off, a time such as 10s, "
		       "a "
		       "size such as 64MB, or both: 10s,64MB",
		       text);
}

/* Parses the limit at `at`. Returns its end, NULL if it is wrong. Each unit may occur once. */
static const char *parse_limit(const char *at, uint64_t limits[UNITS])
{
	char *end;
	double value = strtod(at, &end);
	size_t length = strcspn(end, ",");
	if (end == at || !(value > 0) || value > MOST)
		return NULL;
	for (int i = 0; i < UNITS; i++) {
		if (strlen(units[i].name) != length || strncmp(end, units[i].name, length) ||
		    limits[i])
			continue;
		limits[i] = (uint64_t)(value * (double)units[i].size);
		return end + length;
	}
	return NULL;
}

int opening_parse(const char *text, struct opening_limits *out, struct err *e)
{
	uint64_t limits[UNITS] = { 0 };
	if (!strcmp(text, "off")) {
		*out = (struct opening_limits){ 0 };
		return 0;
	}
	for (const char *at = text;; at++) {
		at = parse_limit(at, limits);
		if (!at || !limits[SECONDS] + !limits[MEGABYTES] == UNITS)
			return refuse(text, e);
		if (!*at)
			break;
	}
	*out = (struct opening_limits){ limits[SECONDS], limits[MEGABYTES] };
	return 0;
}
