/*
 * The native half of a call's stack. Rules for stepping from a return address to the next are
 * learned from libunwind, once per address. A walk follows the rules. A whole walk is remembered
 * with every word that it read, and reused only if all of these words are unchanged. After
 * learning: no lock, no call into another library, no system call.
 */
#ifndef PRELOAD_UNWIND_H
#define PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* A wrapper's caller, as its registers will be when the wrapper returns. */
struct unwind_regs {
	uint64_t ip, sp, bp;
};

/* `ip`: a return address (below a signal frame: the interrupted instruction). The frame occupies
 * [sp, cfa). */
struct unwind_frame {
	uint64_t ip, sp, cfa;
};

enum { UNWIND_DEPTH_MOST = 512 };

struct unwind_thread;

/* Called once, before the first walk. `depth`: maximum frames. Returns false, with one warning, if
 * native stacks are not available. Cold. */
bool unwind_start(unsigned depth);

/* Returns a state for the calling thread, NULL if there is no memory. Cold, once per thread. Freed
 * when the thread ends. */
struct unwind_thread *unwind_thread_new(void);
void unwind_thread_free(struct unwind_thread *t);

/* Returns a hash of the stack from `regs` outwards: equal stacks (return addresses and depth) have
 * equal hashes, never 0. `kept` gets the value last given to unwind_keep for this stack, if with
 * the same `with`; else 0. Hot. `errno` is unchanged. */
uint64_t unwind_walk(struct unwind_thread *t, const struct unwind_regs *regs, uint64_t with,
		     uint32_t *kept);

/* Stores `value` with the stack that the last walk found, if that is remembered. The next walk then
 * returns it at no cost, where a look-up by the caller would be a cache miss or two. `t` may be
 * NULL. */
void unwind_keep(struct unwind_thread *t, uint64_t number, uint64_t with, uint32_t value);

/* Returns the frames of the last unwind_walk with these registers, innermost first, [0] the caller
 * itself; at most `most`. `flags` gets bits of enum stack_flag. Must follow the walk with nothing
 * in between. Cold. */
unsigned unwind_frames(struct unwind_thread *t, const struct unwind_regs *regs,
		       struct unwind_frame *out, unsigned most, uint32_t *flags);

/* Called when objects were unmapped: everything learned is stale. Any thread; takes effect at each
 * thread's next walk. */
void unwind_objects_gone(void);

/* In a forked child. */
void unwind_forget(void);

/* Statistics for the final messages and the tests. */
struct unwind_counts {
	uint64_t learned, walks, memo_hits, truncated, slow;
};
void unwind_count(struct unwind_counts *to);

#endif
