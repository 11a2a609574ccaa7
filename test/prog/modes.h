/* A program of several small cases: the first argument picks one. */
#ifndef TEST_PROG_MODES_H
#define TEST_PROG_MODES_H

#include <stdio.h>
#include <string.h>

struct mode {
	const char *name;
	int (*run)(void); /* its result is the exit status */
};

static inline int modes_run(const struct mode *modes, int argc, char **argv)
{
	for (const struct mode *m = modes; m->name; m++)
		if (argc > 1 && !strcmp(m->name, argv[1]))
			return m->run();
	fprintf(stderr, "usage: %s", argv[0]);
	for (const struct mode *m = modes; m->name; m++)
		fprintf(stderr, "%s%s", m == modes ? " " : "|", m->name);
	fputc('\n', stderr);
	return 2;
}

#endif
