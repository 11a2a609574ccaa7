/*
 * See memory.h. Blocks are found by address, which is unique in a process (unified addressing). A
 * handle of the virtual memory management API (VMM) is not an address, but may have the same value
 * as an address. So bit 63 is inverted in the key of a handle.
 */
#include "core/model/memory.h"

enum { OUT_OF_MEMORY = 2 }; /* both cudaErrorMemoryAllocation and CUDA_ERROR_OUT_OF_MEMORY */

static enum memory_group group_of(uint8_t space)
{
	switch (space) {
	case SPACE_DEVICE:
	case SPACE_POOL:
	case SPACE_PHYSICAL:
		return MEMORY_DEVICE;
	case SPACE_MANAGED:
		return MEMORY_MANAGED;
	case SPACE_HOST:
	case SPACE_REGISTERED:
		return MEMORY_PINNED;
	default:
		return MEMORY_NONE;
	}
}

/* ---- Places ---- */

/* Returns the index in `places` of the stack's place. Adds a place if there is none. */
static uint32_t place_of(struct memory *m, uint32_t stack)
{
	bool is_new;
	uint64_t *at = map_at(&m->place_of_stack, stack, &is_new);
	if (is_new) {
		*at = m->places.n;
		vec_push(&m->places, (struct memory_place){ .stack = stack });
		memory_growth_start(&m->places.at[*at].growth, m->n_steps);
	}
	return (uint32_t)*at;
}

/*
 * Stores for each place the device memory that it holds at the peak. Called just before the total
 * shrinks.
 */
static void note_peak(struct memory *m)
{
	for (size_t i = 0; i < m->places.n; i++)
		m->places.at[i].device_peak_bytes = m->places.at[i].device_bytes;
	m->at_peak = false;
}

static void count_device(struct memory *m, struct memory_place *p, int64_t by)
{
	if (by < 0 && m->at_peak)
		note_peak(m);
	p->device_bytes += by;
	m->device_bytes += by;
	if (m->device_bytes <= m->device_peak_bytes)
		return;
	m->device_peak_bytes = m->device_bytes;
	m->at_peak = true;
}

/* Adds `by` bytes, which may be negative, to all totals that include the block. */
static struct memory_change change(struct memory *m, const struct memory_block *b, int64_t by)
{
	struct memory_place *p = &m->places.at[b->place];
	if (b->group == MEMORY_DEVICE)
		count_device(m, p, by);
	p->held_bytes += by;
	m->all_bytes += by;
	if (!p->has_changed) {
		p->has_changed = true;
		vec_push(&m->changed, b->place);
	}
	m->held_bytes[b->group][b->device] += by;
	m->was_used[b->group][b->device] = true;
	return (struct memory_change){ b->group, b->device, m->held_bytes[b->group][b->device] };
}

/* ---- Blocks ---- */

static const struct memory_change nothing = { .group = MEMORY_NONE };

static struct memory_change add_block(struct memory *m, uint64_t key,
				      const struct memory_block *block)
{
	uint32_t index;
	if (m->unused.n) {
		index = m->unused.at[--m->unused.n];
		m->block.at[index] = *block;
	} else {
		index = (uint32_t)m->block.n;
		vec_push(&m->block, *block);
	}
	*map_at(&m->blocks, key, NULL) = index;
	return change(m, block, (int64_t)block->bytes);
}

static struct memory_change remove_block(struct memory *m, uint64_t key)
{
	const uint64_t *index = map_find(&m->blocks, key);
	if (!index)
		return nothing;
	struct memory_block block = m->block.at[*index];
	vec_push(&m->unused, (uint32_t)*index);
	map_remove(&m->blocks, key);
	return change(m, &block, -(int64_t)block.bytes);
}

/* Removes the blocks that a device reset frees: all device memory, but no host memory. */
static struct memory_change remove_device(struct memory *m, unsigned device)
{
	VEC(uint64_t) keys = { 0 };
	for (size_t i = 0; i < m->blocks.room; i++) {
		const struct map_slot *slot = &m->blocks.slots[i];
		if (!slot->used)
			continue;
		const struct memory_block *b = &m->block.at[slot->value];
		if (b->device == device && b->group == MEMORY_DEVICE)
			vec_push(&keys, slot->key);
	}
	for (size_t i = 0; i < keys.n; i++)
		remove_block(m, keys.at[i]);
	vec_free(&keys);
	m->was_used[MEMORY_DEVICE][device] = true;
	return (struct memory_change){ MEMORY_DEVICE, device,
				       m->held_bytes[MEMORY_DEVICE][device] };
}

/* ---- Calls ---- */

/* Counts allocations that succeeded only after memory was freed. See enum memory_retry. */
static void note_retry(struct memory *m, const struct memory_call *call)
{
	if (group_of(call->space) != MEMORY_DEVICE)
		return;
	if (call->category == CAT_FREE && !call->status && call->address) {
		m->has_freed = true;
		m->freed_by = call->stack;
		m->retry = m->retry == RETRY_FAILED ? RETRY_FREED : m->retry;
	}
	if (call->category != CAT_ALLOC)
		return;
	if (call->status) {
		m->retry = call->status == OUT_OF_MEMORY ? RETRY_FAILED : RETRY_NONE;
		return;
	}
	if (m->retry == RETRY_FREED) {
		m->n_retries++;
	} else if (m->has_freed) {
		m->n_reused++;
		m->n_reused_known += m->freed_by != 0;
		if (m->freed_by) {
			uint32_t place = place_of(m, m->freed_by); /* may reallocate `places` */
			m->places.at[place].n_made_room++;
		}
	}
	m->retry = RETRY_NONE;
	m->has_freed = false;
}

struct memory_change memory_apply(struct memory *m, const struct memory_call *call)
{
	note_retry(m, call);
	if (call->status)
		return nothing;
	uint64_t key = call->space == SPACE_PHYSICAL ? call->address ^ 1ull << 63 : call->address;
	unsigned device = call->device == DEVICE_UNKNOWN ? 0 : call->device;
	if (device >= MEMORY_DEVICES)
		device = MEMORY_DEVICES - 1;
	if (call->resets_device)
		return remove_device(m, device);
	if (call->category == CAT_FREE)
		return remove_block(m, key);
	enum memory_group group = group_of(call->space);
	if (call->category != CAT_ALLOC || group == MEMORY_NONE || !call->address)
		return nothing;
	remove_block(m, key); /* an earlier block with this address, whose free was not recorded */
	return add_block(m, key,
			 &(struct memory_block){ .bytes = call->bytes,
						 .place = place_of(m, call->stack),
						 .group = (uint8_t)group,
						 .device = (uint8_t)device });
}

void memory_end_step(struct memory *m)
{
	m->n_steps++;
	memory_growth_note(&m->growth, m->n_steps, m->all_bytes);
	memory_growth_note(&m->device_growth, m->n_steps, m->device_bytes);
	for (size_t i = 0; i < m->changed.n; i++) {
		struct memory_place *p = &m->places.at[m->changed.at[i]];
		memory_growth_note(&p->growth, m->n_steps, p->held_bytes);
		p->has_changed = false;
	}
	m->changed.n = 0;
}

void allocator_free(struct allocator *a)
{
	vec_free(&a->failure.held);
}

bool allocator_is_known(const struct allocator *a)
{
	for (unsigned i = 0; i < MEMORY_DEVICES; i++)
		if (a->device[i].was_used)
			return true;
	return false;
}

void allocator_end_step(struct allocator *a)
{
	int64_t sum_bytes = 0;
	for (unsigned i = 0; i < MEMORY_DEVICES; i++)
		sum_bytes += (int64_t)a->device[i].allocated_bytes;
	a->n_steps++;
	memory_growth_note(&a->growth, a->n_steps, sum_bytes);
}

void memory_free(struct memory *m)
{
	map_free(&m->blocks);
	vec_free(&m->block);
	vec_free(&m->unused);
	map_free(&m->place_of_stack);
	vec_free(&m->places);
	vec_free(&m->changed);
}
