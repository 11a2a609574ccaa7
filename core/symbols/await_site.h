/* Finds the line at which a coroutine of asyncio was suspended before it made a call. */
#ifndef CORE_AWAIT_SITE_H
#define CORE_AWAIT_SITE_H

#include "core/symbols/frames.h"

/*
 * Returns the site of the `await` before the stack's line in the coroutine that asyncio's event
 * loop runs, as the source shows it. If the source has none, returns the coroutine's own line. 0:
 * no event loop is on the stack, or it runs no user code.
 */
uint32_t await_site(struct frames *f, uint32_t stack);

#endif
