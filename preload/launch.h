/*
 * The shapes of launches: writes each (function, grid, block) to the journal's dictionary once,
 * with the kernel's name if it is known. launch_is_known() is on the hot path while launches are
 * recorded: one table look-up.
 */
#ifndef PRELOAD_LAUNCH_H
#define PRELOAD_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Room for 65,536 shapes; PyTorch programs have hundreds to a few thousand. That is 512 KiB of zero
 * pages, touched as used. The first shapes, mostly those of a step, lie together in two pages:
 * spread over many pages they would cost a TLB miss at nearly every launch.
 */
#define LAUNCH_NEAR  1024u
#define LAUNCH_SLOTS 65536u

/*
 * An entry is the token, its lowest bit replaced by "this kernel begins a step"; 0: free. A token
 * whose place in `near` is taken goes to `slots`.
 */
struct launch_table {
	_Atomic uint64_t near[LAUNCH_NEAR], slots[LAUNCH_SLOTS];
};

extern struct launch_table launch_table __attribute__((visibility("hidden")));

struct launch_shape {
	uint64_t function;
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
};

static inline bool launch_is_of(uint64_t entry, uint64_t token)
{
	return (entry ^ token) <= 1 && entry;
}

/*
 * Returns the token's entry if it is in one of its first two places, as nearly all are; else the
 * entry of another token, or 0.
 */
static inline uint64_t launch_entry(uint64_t token)
{
	uint64_t entry = atomic_load_explicit(&launch_table.near[token >> 1 & (LAUNCH_NEAR - 1)],
					      memory_order_relaxed);
	if (__builtin_expect(launch_is_of(entry, token), 1))
		return entry;
	return atomic_load_explicit(&launch_table.slots[token >> 1 & (LAUNCH_SLOTS - 1)],
				    memory_order_relaxed);
}

static inline bool launch_is_known(uint64_t token)
{
	return launch_is_of(launch_entry(token), token);
}

/* Prefetches for a later launch_is_known(). */
static inline void launch_expect(uint64_t token)
{
	__builtin_prefetch(&launch_table.near[token >> 1 & (LAUNCH_NEAR - 1)]);
}

/*
 * Searches all places for the token; writes DICT_LAUNCH if it is new. Returns whether
 * PROF_STEP=kernel:REGEX matches its kernel.
 */
bool launch_learn(uint64_t token, const struct launch_shape *shape);

/* The same, with a fast path for tokens that are known. */
static inline bool launch_begins_step(uint64_t token, const struct launch_shape *shape)
{
	uint64_t entry = launch_entry(token);
	return launch_is_of(entry, token) ? entry & 1 : launch_learn(token, shape);
}

/*
 * Launches of kernels whose name matches `pattern` (extended regular expression) begin a step.
 * Called before any launch.
 */
void launch_watch(const char *pattern);

/* Clears what a forked child inherited. Called when the library sets up. */
void launch_reset(void);

#endif
