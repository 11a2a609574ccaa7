/* See opening.h. */
#include "preload/opening.h"

/*
 * Programs that capture several graphs may launch each of them once in between. A second launch
 * without a capture in between belongs to the work itself.
 */
enum { REPLAYS = 2 };

bool opening_start(struct opening *o, const struct opening_limits *limits, uint64_t ticks_per_s,
		   uint32_t chunk_bytes)
{
	bool is_on = limits->ns || limits->bytes;
	*o = (struct opening){ .gpu = is_on ? OPENING_GPU_UNTIL_GRAPH : OPENING_GPU_OFF,
			       .gap_ticks = ticks_per_s };
	o->most_ticks = limits->ns ? (uint64_t)((double)limits->ns / 1e9 * (double)ticks_per_s)
				   : UINT64_MAX;
	o->most_chunks = limits->bytes ? limits->bytes / chunk_bytes : UINT64_MAX;
	return is_on;
}

bool opening_is_used_up(struct opening *o, uint64_t ticks, uint64_t chunks)
{
	uint64_t before = atomic_exchange_explicit(&o->looked_ticks, ticks, memory_order_relaxed),
		 gap = before && ticks > before ? ticks - before : 0;
	if (gap > o->gap_ticks)
		gap = o->gap_ticks;
	uint64_t used = atomic_fetch_add_explicit(&o->used_ticks, gap, memory_order_relaxed) + gap;
	return used >= o->most_ticks || chunks >= o->most_chunks;
}

static bool moves(struct opening *o, uint8_t from, uint8_t to)
{
	return atomic_compare_exchange_strong(&o->gpu, &from, to);
}

enum opening_change opening_before_graph(struct opening *o, bool replays)
{
	uint8_t gpu = atomic_load_explicit(&o->gpu, memory_order_relaxed);
	if (gpu == OPENING_GPU_UNTIL_GRAPH)
		return moves(o, gpu, OPENING_GPU_WAITS) ? OPENING_STOPS : OPENING_KEEPS;
	if (gpu != OPENING_GPU_WAITS)
		return OPENING_KEEPS;
	if (!replays) {
		atomic_store_explicit(&o->n_replays, 0, memory_order_relaxed);
		return OPENING_KEEPS;
	}
	if (atomic_fetch_add_explicit(&o->n_replays, 1, memory_order_relaxed) + 1 < REPLAYS)
		return OPENING_KEEPS;
	return moves(o, gpu, OPENING_GPU_STAYS) ? OPENING_STARTS : OPENING_KEEPS;
}
