/*
 * Finds the loaded object that contains an address, and writes each object to the dictionary once.
 * Not on the hot path.
 */
#ifndef PRELOAD_STACK_MODULES_H
#define PRELOAD_STACK_MODULES_H

#include <stdint.h>

/* Returns the frame word (core/runtime/record.h) of a native return address, with an absolute
 * address if no object contains it. */
uint64_t stack_modules_frame(uint64_t ip);

/* Called when objects were unmapped: every object is then looked up again. Any thread. */
void stack_modules_gone(void);

/* In a forked child: forgets all objects, because the child's journal is new and empty. */
void stack_modules_forget(void);

#endif
