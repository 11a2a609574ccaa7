/* Memory that a walk may read: loaded objects and stacks. */
#ifndef PRELOAD_UNWIND_OBJECTS_H
#define PRELOAD_UNWIND_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loaded object: [start, end). `header`: address of its .eh_frame_hdr, 0: it has none. */
struct object {
	uint64_t start, end, header;
};

/* Finds the object that contains an address. Returns false if no object does. Lock-free if libc has
 * _dl_find_object (glibc 2.35). */
bool object_find(uint64_t address, struct object *out);

/* [lo, hi): the addresses at which the thread's own stack may be. Everything from the stack pointer
 * up to `hi` is mapped. */
struct stack_bounds {
	uint64_t lo, hi;
};

/* Returns the bounds of the calling thread's stack, or zeros if they are unknown. Not on the hot
 * path: calls pthread_getattr_np, except on the main thread, where that function would read
 * /proc/self/maps. */
struct stack_bounds stack_bounds_of_thread(void);

/* [lo, hi): stack addresses that can be read. The word at address A is read from A + `delta`. */
struct stack_window {
	uint64_t lo, hi, delta;
};

/* Copies `bytes` bytes of this process from an address that may not be mapped. The kernel copies
 * them, so an unmapped address makes this return false instead of raising SIGSEGV. Not on the hot
 * path. */
bool memory_copy(uint64_t from, void *to, size_t bytes);

enum { STACK_COPY_BYTES = 32 * 1024 };

/* Copies up to `bytes` bytes of the stack from `sp` on into `buffer`, at most STACK_COPY_BYTES, and
 * sets `out` to the copied range. For stacks other than the thread's own (fibers, alternate signal
 * stacks), whose end is unknown. The kernel copies the memory, so an unmapped page only ends the
 * copy. Returns false if nothing could be read. */
bool stack_copy(uint64_t sp, uint64_t *buffer, size_t bytes, struct stack_window *out);

#endif
