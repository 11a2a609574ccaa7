/*
 * The native half of a call's stack. Rules how to step from a return address to the next are learned from libunwind once per
 * address; a walk follows rules, and a whole walk is remembered with every word that it read and believed again only if all
 * of them are unchanged. After learning: no lock, no call into another library, no system call.
 */
#ifndef PRELOAD_UNWIND_H
#define PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* The caller of a wrapper as it will be when the wrapper returns. */
struct unwind_regs {
	uint64_t ip, sp, bp;
};

/* `ip`: a return address (below a signal frame the interrupted instruction). The frame lies in [sp, cfa). */
struct unwind_frame {
	uint64_t ip, sp, cfa;
};

enum { UNWIND_DEPTH_MOST = 512 };

struct unwind_thread;

/* Once, before the first walk; `depth`: frames kept. False where native stacks cannot be had (said once). Cold. */
bool unwind_start(unsigned depth);

/* A thread's state; NULL where there is no memory. Cold, once a thread. Freed at the thread's end. */
struct unwind_thread *unwind_thread_new(void);
void unwind_thread_free(struct unwind_thread *t);

/* A number for the stack from `regs` outwards: equal stacks (return addresses and depth) have equal numbers, 0 never comes.
 * `kept`: what unwind_keep was told last of this stack, if with the same `with`; else 0. Hot. `errno` stays as it was. */
uint64_t unwind_walk(struct unwind_thread *t, const struct unwind_regs *regs, uint64_t with,
		     uint32_t *kept);

/* Keeps `value` with the stack that the last walk has found, if that is remembered: it comes with the next walk for nothing, where a
 * look-up of the caller's own would be a miss or two of the cache. `t` may be NULL. */
void unwind_keep(struct unwind_thread *t, uint64_t number, uint64_t with, uint32_t value);

/* The frames that the last unwind_walk with these registers stood for, innermost first, [0] the caller itself; `flags` gets
 * bits of enum stack_flag. At most `most`. Cold. Must follow the walk with nothing in between. */
unsigned unwind_frames(struct unwind_thread *t, const struct unwind_regs *regs,
		       struct unwind_frame *out, unsigned most, uint32_t *flags);

/* Objects were unmapped: everything learned is stale. Any thread; takes effect with each thread's next walk. */
void unwind_objects_gone(void);

/* In a forked child. */
void unwind_forget(void);

/* The numbers for the closing words and the tests. */
struct unwind_counts {
	uint64_t learned, walks, memo_hits, truncated, slow;
};
void unwind_count(struct unwind_counts *to);

#endif
