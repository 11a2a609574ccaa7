/*
 * Device, managed and pinned memory that a process holds, from its allocation calls since the
 * start: how much, allocated where, how much of it at the peak, and what keeps growing. One owner.
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

enum { MEMORY_DEVICES = 32 }; /* further devices of a process are counted as the last one */

struct memory_block {
	uint64_t bytes;
	uint32_t place; /* in places */
	uint8_t group, device;
};

/* Everything that one stack allocated. */
struct memory_place {
	uint32_t stack;
	int64_t held_bytes; /* of any kind */
	int64_t device_bytes;
	int64_t device_peak_bytes; /* held at the process's peak */
	bool has_changed;	   /* in this step */
	/* how often device memory was freed here and a device allocation came next */
	uint64_t n_made_room;
	struct memory_growth growth;
};

/* The state of an allocation that ran out of memory, freed some, and was tried again. */
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
	bool at_peak; /* device_bytes is the peak, and the places' share is not noted yet */
	struct memory_growth growth, device_growth; /* of all memory; of device memory */
	uint64_t n_steps;
	enum memory_retry retry;
	uint64_t n_retries;
	bool has_freed;		 /* device memory was freed since the last device allocation */
	uint32_t freed_by;	 /* stack of that free, 0: unknown */
	uint64_t n_reused;	 /* device allocations that came after a free */
	uint64_t n_reused_known; /* those whose free has a stack */
};

/* What a call changed. `group` is MEMORY_NONE if nothing. */
struct memory_change {
	enum memory_group group;
	unsigned device;
	int64_t held_bytes;
};

/* A call that may change the memory held. */
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
/* To be called when a step has ended. */
void memory_end_step(struct memory *m);
void memory_free(struct memory *m);

/* The totals of a framework's caching allocator on a device. */
struct allocator_device {
	uint64_t allocated_bytes, reserved_bytes, peak_allocated_bytes, peak_reserved_bytes;
	bool was_used;
};

struct allocator {
	struct allocator_device device[MEMORY_DEVICES];
	struct memory_growth growth; /* of allocated memory at the steps' ends, all devices */
	uint64_t n_steps;
	uint64_t n_out_of_memory;
	uint32_t n_lost; /* live blocks that were not listed when recording began */
};

/* Returns whether the process has used such an allocator. */
bool allocator_is_known(const struct allocator *a);
/* To be called when a step has ended. */
void allocator_end_step(struct allocator *a);

#endif
