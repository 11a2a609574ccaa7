#include "core/analysis/idle_causes.h"

#include <stddef.h>
#include <string.h>

const struct idle_cause_row idle_causes[IDLE_CAUSES_N] = {
#define IDLE_CAUSE(id, name, noun, meaning, advice) { name, noun, meaning, advice },
#include "core/analysis/idle_causes.def"
#undef IDLE_CAUSE
};

const struct idle_cause_row *idle_cause_find(const char *name)
{
	for (int i = 0; i < IDLE_CAUSES_N; i++)
		if (!strcmp(idle_causes[i].name, name))
			return &idle_causes[i];
	return NULL;
}
