/* PROF_TRIGGER: what requests recorded steps, other than the schedule. */
#ifndef CORE_TRIGGER_H
#define CORE_TRIGGER_H

#include "core/runtime/err.h"

#include <stdbool.h>

struct trigger_config {
	bool file, signal;
	double slow; /* a step is slow if it takes this many times the running median; 0: never */
};

/* Parses a comma-separated list of "file", "signal" and "slow:FACTOR", or "none". Returns 0, or
 * -EINVAL with one line in `e` (may be NULL) and `out` unchanged. */
int trigger_parse(const char *text, struct trigger_config *out, struct err *e);

static inline bool trigger_is_any(const struct trigger_config *t)
{
	return t->file || t->signal || t->slow > 0;
}

#endif
