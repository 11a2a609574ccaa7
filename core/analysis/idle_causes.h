/* Why a device was idle: the rows of idle_causes.def. */
#ifndef CORE_IDLE_CAUSES_H
#define CORE_IDLE_CAUSES_H

enum idle_cause {
#define IDLE_CAUSE(id, ...) IDLE_##id,
#include "core/analysis/idle_causes.def"
#undef IDLE_CAUSE
	IDLE_CAUSES_N
};

struct idle_cause_row {
	const char *name, *noun, *meaning, *advice;
};

extern const struct idle_cause_row idle_causes[IDLE_CAUSES_N];

/* Returns the row with this name; NULL if there is none. The report of another version may contain
 * other names. */
const struct idle_cause_row *idle_cause_find(const char *name);

#endif
