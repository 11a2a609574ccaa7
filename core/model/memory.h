/*
 * Tracks the device, managed and pinned memory that a process holds, by its allocation calls since
 * the start: how much it holds, which stacks allocated it, how much of it was held at the peak, and
 * what keeps growing. A struct memory is used by one thread at a time.
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
	uint32_t place;	       /* index in `places` of struct memory */
	uint8_t group, device; /* `group`: enum memory_group */
};

/* All memory that calls with the same stack allocated. */
struct memory_place {
	uint32_t stack;		   /* 0: calls without a stack */
	int64_t held_bytes;	   /* memory of all groups */
	int64_t device_bytes;	   /* device memory */
	int64_t device_peak_bytes; /* device memory held at the process's peak */
	bool has_changed;	   /* held_bytes has changed in the current step */
	/* number of device allocations before which the last free of device memory had this stack;
	 * allocations in n_retries are not included */
	uint64_t n_made_room;
	struct memory_growth growth;
};

/* The state of an allocation that is retried after memory was freed. */
enum memory_retry {
	RETRY_NONE,   /* the last allocation did not run out of memory */
	RETRY_FAILED, /* the last allocation ran out of memory */
	RETRY_FREED   /* since that failure, device memory was freed */
};

struct memory {
	struct map blocks; /* address or handle -> index in `block` */
	VEC(struct memory_block) block;
	VEC(uint32_t) unused;	   /* indexes in `block` of removed blocks */
	struct map place_of_stack; /* -> index in `places` */
	VEC(struct memory_place) places;
	VEC(uint32_t) changed; /* indexes of the places that have changed in the current step */
	int64_t held_bytes[MEMORY_GROUPS][MEMORY_DEVICES];
	bool was_used[MEMORY_GROUPS][MEMORY_DEVICES];
	int64_t all_bytes, device_bytes, device_peak_bytes;
	/* device_bytes is at its peak, and the places' device_peak_bytes are not set yet */
	bool at_peak;
	struct memory_growth growth, device_growth; /* of all_bytes, and of device_bytes */
	uint64_t n_steps;			    /* steps that have ended */
	enum memory_retry retry;
	uint64_t n_retries; /* allocations that ran out of memory and succeeded after a free */
	bool has_freed;	    /* device memory was freed since the last device allocation */
	uint32_t freed_by;  /* stack of the newest such free; 0: unknown */
	/* device allocations at which has_freed was set, without the allocations in n_retries */
	uint64_t n_reused;
	uint64_t n_reused_known; /* part of n_reused: allocations at which freed_by was known */
};

/* The change that a call made. If there was no change, `group` is MEMORY_NONE. */
struct memory_change {
	enum memory_group group;
	unsigned device;
	int64_t held_bytes; /* memory of this group held on this device after the call */
};

/* A call that may change the memory held. */
struct memory_call {
	uint64_t address, bytes; /* `address`: a VMM handle if `space` is SPACE_PHYSICAL */
	uint32_t stack;		 /* 0: unknown */
	uint16_t status;	 /* 0: success */
	uint8_t category, space; /* enum record_category, enum record_space */
	uint8_t device;		 /* DEVICE_UNKNOWN counts as device 0 */
	bool resets_device;
};

/* Applies a call. Calls must be passed in the order in which the application made them. */
struct memory_change memory_apply(struct memory *m, const struct memory_call *call);
/* Ends a step: updates the growth of the totals and of the places that have changed. */
void memory_end_step(struct memory *m);
void memory_free(struct memory *m);

/* The totals of a framework's caching allocator on one device. */
struct allocator_device {
	uint64_t allocated_bytes, reserved_bytes, peak_allocated_bytes, peak_reserved_bytes;
	bool was_used;
};

/* The live blocks that calls with the same stack allocated. */
struct allocator_held {
	uint32_t stack; /* 0: unknown */
	uint64_t bytes;
};

/* The newest allocation that the allocator could not serve, and what was held at that moment. */
struct allocator_failure {
	uint64_t bytes; /* requested */
	uint64_t allocated_bytes, reserved_bytes;
	uint64_t n_steps; /* steps that had ended */
	uint32_t stack;	  /* 0: unknown */
	uint8_t device;
	VEC(struct allocator_held) held; /* on that device */
};

struct allocator {
	struct allocator_device device[MEMORY_DEVICES];
	struct memory_growth growth; /* of the sum of allocated_bytes over all devices */
	uint64_t n_steps;	     /* steps that have ended */
	uint64_t n_out_of_memory;    /* allocations that failed */
	/* live blocks that were not listed when recording began, because there were too many */
	uint32_t n_lost;
	struct allocator_failure failure; /* set if n_out_of_memory is not 0 */
};

void allocator_free(struct allocator *a);

/* Returns whether the process has used a framework's caching allocator. */
bool allocator_is_known(const struct allocator *a);
/* Ends a step: updates `growth`. */
void allocator_end_step(struct allocator *a);

#endif
