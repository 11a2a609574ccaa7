/* See blocks.h. */
#include "core/source/journal/blocks.h"

static uint8_t device_at(uint8_t device)
{
	return device < MEMORY_DEVICES ? device : MEMORY_DEVICES - 1;
}

/* ---- Waiting ---- */

void blocks_take(struct blocks *b, uint32_t thread, const struct rec_block *r)
{
	vec_push(&b->waiting, (struct block_record){ *r, thread, b->n_taken++ });
}

void blocks_take_totals(struct blocks *b, const struct rec_memory *r)
{
	vec_push(&b->waiting_totals, *r);
}

static int by_time(const void *a, const void *b)
{
	const struct block_record *x = a, *y = b;
	if (x->r.ticks != y->r.ticks)
		return x->r.ticks < y->r.ticks ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

size_t blocks_cut(struct blocks *b, uint64_t end_ticks)
{
	size_t n = 0;
	if (b->n_sorted < b->waiting.n)
		qsort(b->waiting.at, b->waiting.n, sizeof(*b->waiting.at), by_time);
	b->n_sorted = b->waiting.n;
	while (n < b->waiting.n && b->waiting.at[n].r.ticks < end_ticks)
		n++;
	return n;
}

static void set_totals(struct blocks *b, const struct rec_memory *r)
{
	struct allocator_device *h = &b->allocator->device[device_at(r->device)];
	h->was_used = true;
	h->allocated_bytes = r->allocated_bytes;
	h->reserved_bytes = r->reserved_bytes;
	if (r->peak_allocated_bytes > h->peak_allocated_bytes)
		h->peak_allocated_bytes = r->peak_allocated_bytes;
	if (r->peak_reserved_bytes > h->peak_reserved_bytes)
		h->peak_reserved_bytes = r->peak_reserved_bytes;
	b->allocator->n_lost = r->n_lost;
}

void blocks_drop(struct blocks *b, size_t n, uint64_t end_ticks)
{
	size_t kept = 0;
	vec_shift(&b->waiting, n);
	b->n_sorted -= n;
	for (size_t i = 0; i < b->waiting_totals.n; i++) {
		const struct rec_memory r = b->waiting_totals.at[i];
		if (r.ticks <= end_ticks)
			set_totals(b, &r);
		else
			b->waiting_totals.at[kept++] = r;
	}
	b->waiting_totals.n = kept;
}

/* ---- Live blocks ---- */

static void remove_live(struct blocks *b, uint64_t address)
{
	const uint64_t *found = map_find(&b->place_of, address);
	if (!found)
		return;
	size_t place = (size_t)*found;
	map_remove(&b->place_of, address);
	struct block_live last = b->live.at[--b->live.n];
	if (place == b->live.n)
		return;
	b->live.at[place] = last;
	*map_at(&b->place_of, last.address, NULL) = place;
}

static void add_live(struct blocks *b, const struct block_live *block)
{
	/* it is live if the free of an earlier block at this address was not recorded */
	remove_live(b, block->address);
	*map_at(&b->place_of, block->address, NULL) = b->live.n;
	vec_push(&b->live, *block);
}

static void begin_window(struct blocks *b)
{
	map_free(&b->place_of);
	b->live.n = 0;
	b->n_windows++;
}

static void update_totals(struct blocks *b, const struct rec_block *r)
{
	struct allocator_device *h = &b->allocator->device[device_at(r->device)];
	h->was_used = true;
	h->allocated_bytes = r->allocated_bytes;
	h->reserved_bytes = r->reserved_bytes;
	if (r->allocated_bytes > h->peak_allocated_bytes)
		h->peak_allocated_bytes = r->allocated_bytes;
	if (r->reserved_bytes > h->peak_reserved_bytes)
		h->peak_reserved_bytes = r->reserved_bytes;
}

/* Stores what the failing device's live blocks hold, by stack. */
static void note_failure(struct blocks *b, const struct rec_block *r)
{
	struct allocator *a = b->allocator;
	struct map place = { 0 };
	a->n_out_of_memory++;
	vec_free(&a->failure.held);
	a->failure = (struct allocator_failure){ .bytes = r->bytes,
						 .allocated_bytes = r->allocated_bytes,
						 .reserved_bytes = r->reserved_bytes,
						 .n_steps = a->n_steps,
						 .stack = r->stack,
						 .device = r->device };
	uint64_t *bytes = mem_zero((b->live.n + 1) * sizeof(*bytes));
	for (size_t i = 0; i < b->live.n; i++) {
		const struct block_live *l = &b->live.at[i];
		bool is_new;
		if (l->device != r->device)
			continue;
		uint64_t *at = map_at(&place, l->stack, &is_new);
		if (is_new) {
			*at = a->failure.held.n;
			vec_push(&a->failure.held, (struct allocator_held){ .stack = l->stack });
		}
		bytes[*at] += l->bytes;
	}
	for (size_t i = 0; i < a->failure.held.n; i++)
		a->failure.held.at[i].bytes = bytes[i];
	free(bytes);
	map_free(&place);
}

void blocks_apply(struct blocks *b, const struct rec_block *r)
{
	switch (r->event) {
	case BLOCK_KNOWN:
		begin_window(b);
		break;
	case BLOCK_LIVE:
		add_live(b, &(struct block_live){ r->address, r->bytes, r->made_ticks, r->stack,
						  r->device });
		break;
	case BLOCK_MADE:
		add_live(b, &(struct block_live){ r->address, r->bytes, r->ticks, r->stack,
						  r->device });
		update_totals(b, r);
		break;
	case BLOCK_FREED:
		remove_live(b, r->address);
		update_totals(b, r);
		break;
	case BLOCK_OUT_OF_MEMORY:
		note_failure(b, r);
		break;
	default: /* a kind of event from a newer version */
		break;
	}
}

void blocks_free(struct blocks *b)
{
	vec_free(&b->waiting);
	vec_free(&b->waiting_totals);
	vec_free(&b->live);
	map_free(&b->place_of);
}
