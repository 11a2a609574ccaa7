/*
 * Preloaded. At the end of the process it writes to stderr, object by object, where calls of the
 * functions in SLOTS (separated by blanks) lead.
 */
#define _GNU_SOURCE
#include "test/prog/leads_to.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((destructor)) static void say(void)
{
	char *names = strdup(getenv("SLOTS") ?: ""), *rest;
	unsetenv("SLOTS");
	for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		for (const struct link_map *o = _r_debug.r_map; o; o = o->l_next) {
			const char *to = leads_to(o, name), *file = strrchr(o->l_name, '/');
			if (strcmp(to, "none"))
				fprintf(stderr, "%s %s %s\n", file ? file + 1 : "program", name,
					to);
		}
	}
	free(names);
}
