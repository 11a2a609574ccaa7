/*
 * Protects the application if the journal's file is truncated while the application runs. A store
 * to a page that the file no longer has raises SIGBUS, which would kill the application. A signal
 * handler then puts memory in the place of such pages. What is written there is lost.
 */
#ifndef CORE_JOURNAL_GUARD_H
#define CORE_JOURNAL_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Protects the mapping [base, base + bytes). Installs a handler for SIGBUS, which calls the
 * application's own handler for faults elsewhere. There is no protection if the application
 * installs another handler later, or in threads that block SIGBUS.
 */
void journal_guard(void *base, size_t bytes);

/* Returns whether pages of the file were missing. Any thread. */
bool journal_guard_has_lost(void);

/* Ends the protection, in a forked child, in which the file is not mapped. */
void journal_guard_forget(void);

#endif
