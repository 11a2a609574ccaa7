/* Recognizes an event loop of asyncio that has nothing to do. */
#ifndef CORE_IDLE_LOOP_H
#define CORE_IDLE_LOOP_H

#include "core/symbols/frames.h"

/* Returns whether the loop's own frames are the innermost ones, in the function that waits for
 * files and timers. */
bool idle_loop_is_on(const struct frame_list *list);

#endif
