/*
 * Finds the loaded object that contains an address. Each object is written to the dictionary once.
 * Cold.
 */
#ifndef PRELOAD_STACK_MODULES_H
#define PRELOAD_STACK_MODULES_H

#include <stdint.h>

/* Returns the frame word (core/runtime/record.h) of a native return address. */
uint64_t stack_modules_frame(uint64_t ip);

/* Called when objects were unmapped: addresses are looked up again. Any thread. */
void stack_modules_gone(void);

/* In a forked child: its journal is new and empty. */
void stack_modules_forget(void);

#endif
