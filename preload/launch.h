/*
 * Writes the shape of each launch (function, grid, block) to the journal's dictionary once, with
 * the kernel's name if it is known. A shape is identified by its token (core/runtime/token.h).
 * launch_is_known() is on the hot path while launches are recorded; it costs one table look-up.
 */
#ifndef PRELOAD_LAUNCH_H
#define PRELOAD_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * LAUNCH_SLOTS is room for 65,536 shapes; PyTorch programs have hundreds to a few thousand. The
 * slots are 512 KiB of zero pages, of which only the used ones are touched. The shapes that occur
 * first, mostly those of a step, lie together in the two pages of LAUNCH_NEAR entries. Spread over
 * many pages they would cost a TLB miss at nearly every launch.
 */
#define LAUNCH_NEAR  1024u
#define LAUNCH_SLOTS 65536u

/*
 * An entry is a token whose lowest bit is replaced by "this kernel begins a step"; 0: free. A token
 * whose place in `near` is taken is stored in `slots`.
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
 * Looks in the token's first two places, where nearly all tokens are. Returns the token's entry if
 * it is there, else another token's entry or 0.
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

/* Prefetches the table entry for a later launch_is_known(). */
static inline void launch_expect(uint64_t token)
{
	__builtin_prefetch(&launch_table.near[token >> 1 & (LAUNCH_NEAR - 1)]);
}

/*
 * Searches all places for the token, and writes a DICT_LAUNCH record if the token is new. Returns
 * whether the kernel's name matches PROF_STEP=kernel:REGEX.
 */
bool launch_learn(uint64_t token, const struct launch_shape *shape);

/* Does what launch_learn() does, with a fast path for known tokens. */
static inline bool launch_begins_step(uint64_t token, const struct launch_shape *shape)
{
	uint64_t entry = launch_entry(token);
	return launch_is_of(entry, token) ? entry & 1 : launch_learn(token, shape);
}

/*
 * Sets `pattern`, an extended regular expression: launches of kernels whose name matches it begin a
 * step. Called before any launch.
 */
void launch_watch(const char *pattern);

/* Clears what a forked child has inherited. Called when the library sets up. */
void launch_reset(void);

#endif
