/* Memory that a walk may read: the objects that the loader mapped, and stacks. */
#ifndef PRELOAD_UNWIND_OBJECTS_H
#define PRELOAD_UNWIND_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loaded object; `header` is its .eh_frame_hdr. */
struct object {
	uint64_t start, end, header;
};

/* The object that holds an address. Lock-free where libc has _dl_find_object (2.35). */
bool object_find(uint64_t address, struct object *out);

/* [lo, hi): where this thread's own stack may lie. Everything from the stack pointer up to `hi` is mapped. */
struct stack_bounds {
	uint64_t lo, hi;
};

/* Of the calling thread. Cold: pthread_getattr_np, except on the main thread, where that would read /proc/self/maps. */
struct stack_bounds stack_bounds_of_thread(void);

/* A piece of stack that may be read: at `address` + `delta`. */
struct stack_window {
	uint64_t lo, hi, delta;
};

/* Memory of this process that need not be there, copied by the kernel: its absence is an answer, not a fault. Cold. */
bool memory_copy(uint64_t from, void *to, size_t bytes);

enum { STACK_COPY_BYTES = 32 * 1024 };

/* A copy of the stack from `sp` on, for stacks that are not the thread's own (fibers, alternate signal stacks), whose end
 * nobody knows. Made by the kernel, so that unmapped memory ends it instead of the program. False: nothing could be read. */
bool stack_copy(uint64_t sp, uint64_t *buffer, struct stack_window *out);

#endif
