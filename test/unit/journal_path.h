/* A place for a test program's journal, removed after each test. */
#ifndef TEST_UNIT_JOURNAL_PATH_H
#define TEST_UNIT_JOURNAL_PATH_H

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static char path[80];

static inline int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/%s-%d.journal", program_invocation_short_name,
		 (int)getpid());
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

#endif
