/* Which loaded object an address lies in; each object is written to the dictionary once. Cold. */
#ifndef PRELOAD_STACK_MODULES_H
#define PRELOAD_STACK_MODULES_H

#include <stdint.h>

/* The frame word (core/runtime/record.h) of a native return address. */
uint64_t stack_modules_frame(uint64_t ip);

/* Objects were unmapped: addresses are looked up anew. Any thread. */
void stack_modules_gone(void);

/* In a forked child: nothing has been written to the new journal. */
void stack_modules_forget(void);

#endif
