/*
 * Device, managed and pinned memory that a process holds, from its allocation calls since the start: how much, made where, what of
 * it stood at the peak, and what only ever grows. One owner.
 */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include "core/model/memory_growth.h"
#include "core/runtime/kinds.h"
#include "core/util/map.h"
#include "core/util/vec.h"

#include <stdbool.h>

enum memory_group {
	MEMORY_DEVICE,
	MEMORY_MANAGED,
	MEMORY_PINNED,
	MEMORY_GROUPS,
	MEMORY_NONE = MEMORY_GROUPS
};

enum { MEMORY_DEVICES = 32 }; /* more devices than that in one process are counted as the last */

struct memory_block {
	uint64_t bytes;
	uint32_t place; /* in places */
	uint8_t group, device;
};

/* All that one stack allocated. */
struct memory_place {
	uint32_t stack;
	int64_t held_bytes;			 /* of any kind */
	int64_t device_bytes, device_peak_bytes; /* the latter: when the process's peak was */
	bool has_changed;			 /* in this step */
	uint64_t
		n_made_room; /* times that device memory freed here was followed by an allocation */
	struct memory_growth growth;
};

/* An allocation that failed for want of memory, given memory back, and was tried again. */
enum memory_retry { RETRY_NONE, RETRY_FAILED, RETRY_FREED };

struct memory {
	struct map blocks; /* address or handle -> block */
	VEC(struct memory_block) block;
	VEC(uint32_t) unused; /* of block */
	struct map place_of_stack;
	VEC(struct memory_place) places;
	VEC(uint32_t) changed; /* places, in this step */
	int64_t held_bytes[MEMORY_GROUPS][MEMORY_DEVICES];
	bool was_used[MEMORY_GROUPS][MEMORY_DEVICES];
	int64_t all_bytes, device_bytes, device_peak_bytes;
	bool at_peak;				    /* not yet noted who holds what */
	struct memory_growth growth, device_growth; /* of all of it; of device memory */
	uint64_t n_steps;
	enum memory_retry retry;
	uint64_t n_retries;
	bool has_freed; /* device memory since the last allocation of it, by `freed_by` */
	uint32_t freed_by;
	uint64_t n_reused,
		n_reused_known; /* allocations after a free; those whose free has a stack */
};

/* What changed: `group` MEMORY_NONE if nothing did. */
struct memory_change {
	enum memory_group group;
	unsigned device;
	int64_t held_bytes;
};

/* A call that may change what is held. */
struct memory_call {
	uint64_t address, bytes; /* or a handle */
	uint32_t stack;
	uint16_t status; /* 0: success */
	uint8_t category, space;
	uint8_t device; /* DEVICE_UNKNOWN counts as 0 */
	bool resets_device;
};

/* Calls must come in the order in which they happened. */
struct memory_change memory_apply(struct memory *m, const struct memory_call *call);
/* A whole step has ended. */
void memory_end_step(struct memory *m);
void memory_free(struct memory *m);

/* What a framework's caching allocator holds on a device. */
struct allocator_device {
	uint64_t allocated_bytes, reserved_bytes, peak_allocated_bytes, peak_reserved_bytes;
	bool was_used;
};

struct allocator {
	struct allocator_device device[MEMORY_DEVICES];
	struct memory_growth growth; /* of what is allocated at steps' ends, all devices */
	uint64_t n_steps;
	uint64_t n_out_of_memory;
	uint32_t n_lost; /* blocks that were in use before recording and could not be listed */
};

/* True if something of it has been seen in this process. */
bool allocator_is_known(const struct allocator *a);
/* A whole step has ended. */
void allocator_end_step(struct allocator *a);

#endif
