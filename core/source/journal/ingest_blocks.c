/* Builds the model's memory blocks, and the counters of the framework's allocator. */
#include "core/source/journal/ingest.h"

struct adding {
	struct ingest *f;
	struct model_step *m;
	bool is_recorded;
	uint64_t last[MEMORY_DEVICES][2]; /* newest values of the two counters */
};

static uint32_t thread_at(const struct adding *a, uint32_t slot)
{
	const struct run_thread *named = tables_thread(&a->f->dict.t, slot);
	for (size_t i = 0; named && i < a->m->threads.n; i++)
		if (a->m->threads.at[i].tid == named->tid)
			return (uint32_t)i;
	return MODEL_NO_THREAD;
}

/* ---- Counters ---- */

static void add_point(struct adding *a, uint8_t device, unsigned which, uint64_t ns, uint64_t value)
{
	static const char *const names[] = { "memory allocated by PyTorch",
					     "memory reserved by PyTorch" };
	if (a->last[device][which] == value)
		return;
	a->last[device][which] = value;
	vec_push(&model_counter_of(a->m, names[which], device)->points,
		 (struct model_point){ ns, (int64_t)value });
}

static void add_points(struct adding *a, uint8_t device, uint64_t ns)
{
	const struct allocator_device *h = &a->f->run.allocator.device[device];
	add_point(a, device, 0, ns, h->allocated_bytes);
	add_point(a, device, 1, ns, h->reserved_bytes);
}

static void begin_counters(struct adding *a)
{
	for (unsigned device = 0; device < MEMORY_DEVICES; device++) {
		a->last[device][0] = a->last[device][1] = UINT64_MAX;
		if (a->f->run.allocator.device[device].was_used)
			add_points(a, (uint8_t)device, a->m->begin_ns);
	}
}

/* ---- Blocks ---- */

static struct model_block block_of(const struct adding *a, const struct block_live *l)
{
	return (struct model_block){ .ns = timebase_ns(&a->f->time, l->made_ticks),
				     .address = l->address,
				     .bytes = l->bytes,
				     .stack = l->stack,
				     .thread = MODEL_NO_THREAD,
				     .event = BLOCK_LIVE,
				     .device = l->device };
}

static void add_live(struct adding *a)
{
	const struct blocks *b = &a->f->blocks;
	vec_reserve(&a->m->blocks, b->live.n);
	for (size_t i = 0; i < b->live.n; i++)
		vec_push(&a->m->blocks, block_of(a, &b->live.at[i]));
	a->m->n_live_blocks = a->m->blocks.n;
}

static void add_event(struct adding *a, const struct block_record *record)
{
	const struct rec_block *r = &record->r;
	vec_push(&a->m->blocks, (struct model_block){ .ns = timebase_ns(&a->f->time, r->ticks),
						      .address = r->address,
						      .bytes = r->bytes,
						      .allocated_bytes = r->allocated_bytes,
						      .reserved_bytes = r->reserved_bytes,
						      .stack = r->stack,
						      .thread = thread_at(a, record->thread),
						      .event = r->event,
						      .device = r->device });
}

/*
 * Returns whether the record belongs to a list of the live blocks. The list is valid from the
 * step's start, although it is written a little later.
 */
static bool is_listing(const struct rec_block *r)
{
	return r->event == BLOCK_KNOWN || r->event == BLOCK_LIVE;
}

static void add_blocks(struct adding *a, size_t n)
{
	struct blocks *b = &a->f->blocks;
	size_t i = 0;
	for (; i < n && is_listing(&b->waiting.at[i].r); i++)
		blocks_apply(b, &b->waiting.at[i].r);
	if (a->is_recorded) {
		add_live(a);
		begin_counters(a);
	}
	for (; i < n; i++) {
		const struct rec_block *r = &b->waiting.at[i].r;
		blocks_apply(b, r);
		if (!a->is_recorded || is_listing(r))
			continue;
		add_event(a, &b->waiting.at[i]);
		if (r->device < MEMORY_DEVICES)
			add_points(a, r->device, timebase_ns(&a->f->time, r->ticks));
	}
}

/* ---- Segments ---- */

static void add_segments(struct adding *a)
{
	const struct memory *memory = &a->f->run.memory;
	for (size_t i = 0; i < memory->blocks.room; i++) {
		const struct map_slot *slot = &memory->blocks.slots[i];
		const struct memory_block *block = slot->used ? &memory->block.at[slot->value]
							      : NULL;
		if (block && block->group == MEMORY_DEVICE)
			vec_push(&a->m->segments,
				 (struct model_segment){
					 .address = slot->key,
					 .bytes = block->bytes,
					 .stack = memory->places.at[block->place].stack,
					 .device = block->device });
	}
}

void ingest_build_segments(struct ingest *f, struct model_step *m)
{
	struct adding a = { .f = f, .m = m };
	if (allocator_is_known(&f->run.allocator) || f->blocks.waiting.n)
		add_segments(&a);
}

void ingest_build_blocks(struct ingest *f, const struct ingest_cut *cut, struct model_step *m,
			 bool is_recorded)
{
	struct adding a = { .f = f, .m = m, .is_recorded = is_recorded };
	size_t n = blocks_cut(&f->blocks, cut->end_ticks);
	if (is_recorded || n)
		add_blocks(&a, n);
	m->block_window = f->blocks.n_windows;
	blocks_drop(&f->blocks, n, cut->end_ticks);
}
