/*
 * Handles the first launch of each shape: finds the name, matches the regular expression, writes
 * the dictionary. Runs once per shape and process, so some microseconds are acceptable. Entries are
 * added by compare and swap and never removed.
 */
#include "preload/launch.h"

#include "core/runtime/log.h"
#include "core/runtime/pattern.h"
#include "preload/hook.h"
#include "preload/names.h"

#include <errno.h>
#include <string.h>

struct launch_table launch_table;

static struct {
	_Atomic uint32_t used;
	regex_t pattern;
	bool has_pattern;
} g;

void launch_watch(const char *pattern)
{
	g.has_pattern = pattern && !pattern_compile(&g.pattern, pattern);
}

void launch_reset(void)
{
	if (g.used)
		memset((void *)&launch_table, 0, sizeof(launch_table));
	g.used = 0;
	g.has_pattern = false;
}

static void describe(uint64_t token, const struct launch_shape *shape, const char *name)
{
	struct dict_launch record = { .head.kind = DICT_LAUNCH,
				      .token = token,
				      .function = shape->function,
				      .shared_bytes = shape->shared_bytes };
	record.name = name ? journal_put_string(name) : 0;
	memcpy(record.grid, shape->grid, sizeof(record.grid));
	memcpy(record.block, shape->block, sizeof(record.block));
	journal_put(&record.head, sizeof(record), NULL);
}

/* Returns the token's `nth` place, from 0: its place in `near`, then successive slots. */
static _Atomic uint64_t *place_of(uint64_t token, uint32_t nth)
{
	return nth ? &launch_table.slots[((token >> 1) + nth - 1) & (LAUNCH_SLOTS - 1)]
		   : &launch_table.near[token >> 1 & (LAUNCH_NEAR - 1)];
}

/*
 * Returns the number of the first place that has the token or is free. Sets `*entry` to the content
 * of that place; 0: free.
 */
static uint32_t find(uint64_t token, uint64_t *entry)
{
	uint32_t nth = 0;
	while ((*entry = atomic_load_explicit(place_of(token, nth), memory_order_relaxed)) &&
	       !launch_is_of(*entry, token))
		nth++;
	return nth;
}

bool launch_learn(uint64_t token, const struct launch_shape *shape)
{
	uint64_t entry;
	uint32_t nth = find(token, &entry);
	if (entry)
		return entry & 1;
	if (atomic_load_explicit(&g.used, memory_order_relaxed) > LAUNCH_SLOTS / 4 * 3) {
		log_once(LOG_WARN,
			 "more than %u combinations of kernel, grid and block: launches of further "
			 "combinations have a kernel name only if CUPTI reports it",
			 LAUNCH_SLOTS / 4 * 3);
		return false;
	}
	int saved = errno;
	const char *name = names_of(shape->function);
	bool is_anchor = g.has_pattern && name && !regexec(&g.pattern, name, 0, NULL, 0);
	uint64_t fresh = (token & ~1ull) | is_anchor, none = 0;
	/* if another thread has taken the place for another token meanwhile, try the next place */
	while (!atomic_compare_exchange_strong(place_of(token, nth), &none, fresh) &&
	       !launch_is_of(none, token)) {
		nth++;
		none = 0;
	}
	if (!none) {
		atomic_fetch_add_explicit(&g.used, 1, memory_order_relaxed);
		describe(token, shape, name);
	}
	errno = saved;
	return is_anchor;
}
