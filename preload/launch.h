/*
 * The shapes of launches: each (function, grid, block) is written into the journal's dictionary once, with the kernel's
 * name where it can be told. launch_is_known is on the hot path while launches are recorded: one table look-up.
 */
#ifndef PRELOAD_LAUNCH_H
#define PRELOAD_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* 65,536 shapes: PyTorch programs have hundreds to a few thousand. 512 KiB of zero pages, touched as used. The first ones, mostly
 * a step's own, stand near each other in two pages, since a page of its own for each of them would be a miss of the TLB at nearly
 * every launch. */
#define LAUNCH_NEAR  1024u
#define LAUNCH_SLOTS 65536u

/* token with its lowest bit replaced by "its kernel begins a step"; 0: free. Who finds its place among the near ones taken goes to `slots`. */
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

/* The token's entry, if it is in one of the two places where nearly all are after the first time; else another's, or 0. */
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

/* Some time before launch_is_known. */
static inline void launch_expect(uint64_t token)
{
	__builtin_prefetch(&launch_table.near[token >> 1 & (LAUNCH_NEAR - 1)]);
}

/* Finds the token further on, or writes DICT_LAUNCH at its first sight. Whether its kernel is one that PROF_STEP=kernel:REGEX names. */
bool launch_learn(uint64_t token, const struct launch_shape *shape);

/* The same of one that is mostly known. */
static inline bool launch_begins_step(uint64_t token, const struct launch_shape *shape)
{
	uint64_t entry = launch_entry(token);
	return launch_is_of(entry, token) ? entry & 1 : launch_learn(token, shape);
}

/* Launches whose kernel's name `pattern` (extended regular expression) finds begin a step. Before any launch. */
void launch_watch(const char *pattern);

/* Forgets what a forked child's parent knew; at arming. */
void launch_reset(void);

#endif
