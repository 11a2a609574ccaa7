/*
 * Protects a process if a journal's file is truncated while the process has it mapped: the
 * application, which writes it, and the collector, which reads it. An access to a page that the
 * file no longer has raises SIGBUS, which would kill the process. A signal handler then puts zeroed
 * memory in the place of such pages. What is written there is lost.
 */
#ifndef CORE_JOURNAL_GUARD_H
#define CORE_JOURNAL_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A protected mapping. All zeros: nothing is protected. It must not move while it protects. */
struct journal_guard {
	_Atomic uintptr_t base; /* 0: nothing is protected */
	uintptr_t end;
	/* where pages are missing that memory has replaced; the end of the mapping: nowhere */
	_Atomic uintptr_t lost_from;
	_Atomic bool has_lost;
	struct journal_guard *_Atomic next; /* in the list of all guards */
};

/*
 * Protects the mapping [base, base + bytes) until journal_guard_end(). Installs a handler for
 * SIGBUS, which calls the program's own handler for faults elsewhere. There is no protection if the
 * program installs another handler later, or in threads that block SIGBUS. Only one thread at a
 * time may begin or end a protection.
 */
void journal_guard_begin(struct journal_guard *g, void *base, size_t bytes);

/* Returns whether pages of the file were missing. Any thread. */
bool journal_guard_has_lost(const struct journal_guard *g);

/* Ends the protection: before the mapping is removed, or in a forked child, which has not inherited
 * the mapping. Does nothing for a guard that protects nothing. */
void journal_guard_end(struct journal_guard *g);

#endif
