/*
 * Finds how fast the device memory in use grows, and when the device is full. If a framework's
 * allocator reports the memory that it has handed out, that is the memory in use. Otherwise it is
 * the memory allocated from the driver. An allocator fills its unused segments before it requests
 * more memory, so unused segments count as free.
 */
#include "core/analysis/summary_growth.h"

static double rate(const struct run *run)
{
	const struct allocator *b = &run->allocator;
	const struct memory *m = &run->memory;
	if (allocator_is_known(b))
		return memory_growth_is_leak(&b->growth, b->n_steps)
			       ? memory_growth_rate(&b->growth, b->n_steps)
			       : 0;
	return memory_growth_is_leak(&m->device_growth, m->n_steps)
		       ? memory_growth_rate(&m->device_growth, m->n_steps)
		       : 0;
}

/* Returns the only device on which memory was allocated; MEMORY_DEVICES: there is none, or there
 * are several. */
static unsigned only_device(const struct memory *m)
{
	unsigned found = MEMORY_DEVICES;
	for (unsigned i = 0; i < MEMORY_DEVICES; i++) {
		if (!m->was_used[MEMORY_DEVICE][i])
			continue;
		if (found < MEMORY_DEVICES)
			return MEMORY_DEVICES;
		found = i;
	}
	return found;
}

static double free_bytes(const struct run *run, unsigned device, uint64_t device_bytes)
{
	const struct allocator_device *h = &run->allocator.device[device];
	double unused = (double)(h->reserved_bytes - h->allocated_bytes),
	       held = (double)run->memory.held_bytes[MEMORY_DEVICE][device];
	return (double)device_bytes - held + unused;
}

void summary_fill_growth(struct findings *f, const struct run *run)
{
	unsigned device = only_device(&run->memory);
	f->growth = (struct finding_growth){ .bytes_per_step = rate(run) };
	if (!(f->growth.bytes_per_step > 0) || device == MEMORY_DEVICES)
		return;
	const struct run_device *d = tables_device(run->tables, device);
	double left = d ? free_bytes(run, device, d->memory_bytes) : 0;
	if (!d || !(left > 0))
		return;
	f->growth.device_bytes = d->memory_bytes;
	f->growth.steps_left = left / f->growth.bytes_per_step;
}
