/* See opening.h. */
#include "preload/opening.h"

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

bool opening_before_graph(struct opening *o, bool is_launch)
{
	if (!is_launch)
		atomic_store_explicit(&o->n_launches, 0, memory_order_relaxed);
	return atomic_load_explicit(&o->gpu, memory_order_relaxed) == OPENING_GPU_UNTIL_GRAPH &&
	       moves(o, OPENING_GPU_UNTIL_GRAPH, OPENING_GPU_STOPS);
}

void opening_has_stopped(struct opening *o)
{
	atomic_store(&o->gpu, OPENING_GPU_WAITS);
}

/*
 * A program may launch each graph once when it has captured it, and then capture the next one. So
 * GPU timing begins with the second launch after a capture, or of the same graph.
 */
bool opening_before_launch(struct opening *o, uint64_t exec, bool may_begin)
{
	if (!opening_waits(o))
		return false;
	_Atomic uint64_t *at = &o->launched[exec * 0x9E3779B97F4A7C15ull >> 58];
	bool is_again = atomic_exchange(at, exec) == exec;
	is_again |= atomic_fetch_add_explicit(&o->n_launches, 1, memory_order_relaxed);
	return is_again && may_begin && moves(o, OPENING_GPU_WAITS, OPENING_GPU_STAYS);
}

/* Returns whether `each` times `n` is at most what is left of `most`. */
static bool is_enough(double each, uint64_t n, uint64_t used, uint64_t most)
{
	return most == UINT64_MAX || (double)used + each * (double)n <= (double)most;
}

bool opening_reaches(struct opening *o, struct opening_look now, uint64_t step)
{
	if (!o->first.ticks)
		o->first = now;
	if (now.step >= step)
		return true;
	if (now.step <= o->first.step)
		return false;
	double n = (double)(now.step - o->first.step);
	return is_enough((double)(now.ticks - o->first.ticks) / n, step - now.step,
			 atomic_load_explicit(&o->used_ticks, memory_order_relaxed),
			 o->most_ticks) &&
	       is_enough((double)(now.chunks - o->first.chunks) / n, step - now.step, now.chunks,
			 o->most_chunks);
}
