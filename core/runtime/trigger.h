/* PROF_TRIGGER: what starts a recording besides the schedule. */
#ifndef CORE_TRIGGER_H
#define CORE_TRIGGER_H

#include "core/runtime/err.h"

#include <stdbool.h>

/* A parsed value of PROF_TRIGGER: the causes that start a recording. */
struct trigger_config {
	bool file, signal; /* `profrun trigger` and SIGUSR2 start a recording */
	/* a step that takes more than `slow` times the running median starts a recording; 0: slow
	 * steps do not start recordings */
	double slow;
};

/* Parses a comma-separated list of "file", "signal" and "slow:FACTOR", or "none". Returns 0, or
 * -EINVAL with one line in `e` (may be NULL) and `out` unchanged. */
int trigger_parse(const char *text, struct trigger_config *out, struct err *e);

/* Returns whether any cause is enabled. */
static inline bool trigger_is_any(const struct trigger_config *t)
{
	return t->file || t->signal || t->slow > 0;
}

#endif
