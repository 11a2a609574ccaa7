/* Addresses are unique in a process (unified addressing); VMM handles are not addresses, so they get a key space of their own. */
#include "core/memory.h"

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

/* 48 bits of size, 8 of device, 8 of group. */
static uint64_t pack(uint64_t bytes, unsigned device, enum memory_group group)
{
	uint64_t most = (1ull << 48) - 1;
	return (bytes < most ? bytes : most) | (uint64_t)device << 48 | (uint64_t)group << 56;
}

static struct memory_change change(struct memory *m, enum memory_group group, unsigned device,
				   int64_t by)
{
	m->held_bytes[group][device] += by;
	m->was_used[group][device] = true;
	return (struct memory_change){ group, device, m->held_bytes[group][device] };
}

static const struct memory_change nothing = { .group = MEMORY_NONE };

static struct memory_change give(struct memory *m, uint64_t key)
{
	const uint64_t *block = map_find(&m->blocks, key);
	if (!block)
		return nothing;
	int64_t bytes = (int64_t)(*block & ((1ull << 48) - 1));
	unsigned device = *block >> 48 & 0xff;
	enum memory_group group = (enum memory_group)(*block >> 56);
	map_remove(&m->blocks, key);
	return change(m, group, device, -bytes);
}

/* What the device held went with its context; memory of the host stays where it is. */
static struct memory_change forget_device(struct memory *m, unsigned device)
{
	struct map old = m->blocks;
	m->blocks = (struct map){ 0 };
	for (size_t i = 0; i < old.room; i++) {
		if (!old.slots[i].used)
			continue;
		if ((old.slots[i].value >> 48 & 0xff) == device &&
		    old.slots[i].value >> 56 == MEMORY_DEVICE)
			continue;
		*map_at(&m->blocks, old.slots[i].key, NULL) = old.slots[i].value;
	}
	map_free(&old);
	return change(m, MEMORY_DEVICE, device, -m->held_bytes[MEMORY_DEVICE][device]);
}

struct memory_change memory_apply(struct memory *m, const struct hook_entry *hook,
				  const struct rec_call *call)
{
	if (call->status)
		return nothing;
	uint64_t key = hook->space == SPACE_PHYSICAL ? call->arg ^ 1ull << 63 : call->arg;
	unsigned device = call->device == DEVICE_UNKNOWN ? 0 : call->device;
	if (device >= MEMORY_DEVICES)
		device = MEMORY_DEVICES - 1;
	if (hook->resets_device)
		return forget_device(m, device);
	if (hook->category == CAT_FREE)
		return give(m, key);
	enum memory_group group = group_of(hook->space);
	if (hook->category != CAT_ALLOC || group == MEMORY_NONE || !call->arg)
		return nothing;
	give(m, key); /* a free that was never seen */
	*map_at(&m->blocks, key, NULL) = pack(call->bytes, device, group);
	return change(m, group, device, (int64_t)call->bytes);
}

void memory_free(struct memory *m)
{
	map_free(&m->blocks);
}
