/* Device, managed and pinned memory that a process holds, from its allocation calls since the start. One owner. */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include "core/dict.h"
#include "core/map.h"
#include "core/record.h"

enum memory_group {
	MEMORY_DEVICE,
	MEMORY_MANAGED,
	MEMORY_PINNED,
	MEMORY_GROUPS,
	MEMORY_NONE = MEMORY_GROUPS
};

enum { MEMORY_DEVICES = 32 }; /* more devices than that in one process are counted as the last */

struct memory {
	struct map blocks; /* address or handle -> bytes, group and device packed */
	int64_t held_bytes[MEMORY_GROUPS][MEMORY_DEVICES];
	bool was_used[MEMORY_GROUPS][MEMORY_DEVICES];
};

/* What changed: `group` MEMORY_NONE if nothing did. */
struct memory_change {
	enum memory_group group;
	unsigned device;
	int64_t held_bytes;
};

/* Calls must come in the order in which they happened. */
struct memory_change memory_apply(struct memory *m, const struct hook_entry *hook,
				  const struct rec_call *call);
void memory_free(struct memory *m);

#endif
