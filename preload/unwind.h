/*
 * The native half of a call's stack. A walk steps from one return address to the next by rules,
 * which are learned from libunwind, once per address. A whole walk is remembered together with
 * every word that it read, and reused only if all of these words are unchanged. After learning, a
 * walk takes no lock, calls no other library and makes no system call.
 */
#ifndef PRELOAD_UNWIND_H
#define PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* The registers of a wrapper's caller, with the values that they will have when the wrapper
 * returns. */
struct unwind_regs {
	uint64_t ip, sp, bp;
};

/* `ip`: the return address, or the interrupted instruction if a signal handler interrupted this
 * frame. The frame occupies [sp, cfa). */
struct unwind_frame {
	uint64_t ip, sp, cfa;
};

enum { UNWIND_DEPTH_MOST = 512 };

struct unwind_thread;

/* Prepares native stacks. Called once, before the first walk. `depth`: maximum number of frames.
 * Returns false, with one warning, if native stacks are not available. Not on the hot path. */
bool unwind_start(unsigned depth);

/* unwind_thread_new: returns a state for the calling thread, or NULL if there is no memory. Called
 * once per thread; not on the hot path. unwind_thread_free: gives the state back, when the thread
 * ends; another thread may then reuse it. */
struct unwind_thread *unwind_thread_new(void);
void unwind_thread_free(struct unwind_thread *t);

/* Returns a hash of the stack from `regs` outwards. Stacks with equal return addresses and depths
 * have equal hashes. The hash is never 0. Sets `kept` to the value that unwind_keep last stored
 * with this stack, if it was stored with an equal `with`; otherwise to 0. Hot path; keeps
 * `errno`. */
uint64_t unwind_walk(struct unwind_thread *t, const struct unwind_regs *regs, uint64_t with,
		     uint32_t *kept);

/* Stores `value` and `with` with the stack that the last walk returned as hash `number`, if that
 * walk is remembered. The next equal walk then returns `value` at no cost, where a look-up by the
 * caller would take a cache miss or two. `t` may be NULL. */
void unwind_keep(struct unwind_thread *t, uint64_t number, uint64_t with, uint32_t value);

/* Copies the frames of the last unwind_walk with these registers, innermost first, and at most
 * `most` of them. [0] is the wrapper's caller. Returns the number of frames. Adds bits of enum
 * stack_flag to `flags`. No other walk of this thread may come between the two calls. Not on the
 * hot path. */
unsigned unwind_frames(struct unwind_thread *t, const struct unwind_regs *regs,
		       struct unwind_frame *out, unsigned most, uint32_t *flags);

/* A `bp` that is no address: the register's value is unknown. */
enum { UNWIND_BP_UNKNOWN = 1 };

struct stack_window;

/*
 * Walks the stack of another thread from `regs` and copies its frames, as unwind_frames() does.
 * `window`: a copy of that stack (unwind_objects.h); NULL: the kernel copies it now, and the thread
 * must not move meanwhile, or the frames are wrong. `t` belongs to the calling thread, which must
 * make no other walk with it. Not on the hot path.
 */
unsigned unwind_other(struct unwind_thread *t, const struct unwind_regs *regs,
		      const struct stack_window *window, struct unwind_frame *out, unsigned most,
		      uint32_t *flags);

/* Called when objects were unmapped: makes everything learned stale. Any thread; takes effect at
 * each thread's next walk. */
void unwind_objects_gone(void);

/* In a forked child: resets the statistics, and gives up learning if the fork interrupted it. */
void unwind_forget(void);

/* Statistics of all threads, for the final messages and the tests. `slow`: walks that needed a
 * copied stack or libunwind. */
struct unwind_counts {
	uint64_t learned, walks, memo_hits, truncated, slow;
};
void unwind_count(struct unwind_counts *to);

#endif
