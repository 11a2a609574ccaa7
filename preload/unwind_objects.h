/* Memory that a walk may read: loaded objects and stacks. */
#ifndef PRELOAD_UNWIND_OBJECTS_H
#define PRELOAD_UNWIND_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loaded object; `header` is its .eh_frame_hdr. */
struct object {
	uint64_t start, end, header;
};

/* Finds the object that contains an address. Lock-free if libc has _dl_find_object (2.35). */
bool object_find(uint64_t address, struct object *out);

/* [lo, hi): where this thread's own stack may be. Everything from the stack pointer up to `hi` is
 * mapped. */
struct stack_bounds {
	uint64_t lo, hi;
};

/* Returns the bounds of the calling thread's stack. Cold: pthread_getattr_np, except on the main
 * thread, where that would read /proc/self/maps. */
struct stack_bounds stack_bounds_of_thread(void);

/* A readable piece of stack: `address` is read at `address` + `delta`. */
struct stack_window {
	uint64_t lo, hi, delta;
};

/* Copies memory of this process that may not be mapped; the kernel copies it, so the result is
 * false instead of a fault. Cold. */
bool memory_copy(uint64_t from, void *to, size_t bytes);

enum { STACK_COPY_BYTES = 32 * 1024 };

/* Copies the stack from `sp` on, for stacks that are not the thread's own (fibers, alternate signal
 * stacks), whose end is unknown. The kernel copies it, so unmapped memory ends the copy instead of
 * the program. Returns false if nothing could be read. */
bool stack_copy(uint64_t sp, uint64_t *buffer, struct stack_window *out);

#endif
