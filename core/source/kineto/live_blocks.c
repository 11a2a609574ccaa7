/* See live_blocks.h. */
#include "core/source/kineto/live_blocks.h"

static uint64_t key_of(const struct trace_block *x)
{
	return x->address ^ (uint64_t)x->device << 56;
}

/* The device's bytes before the trace's first block. */
static uint64_t before_bytes(const struct trace_block *first)
{
	if (first->is_freed)
		return first->allocated_bytes + first->bytes;
	return first->allocated_bytes > first->bytes ? first->allocated_bytes - first->bytes : 0;
}

/* A block that was live before the trace's first event. Its code is not known. */
static struct trace_block early_block(const struct trace *t, uint64_t address, uint64_t bytes,
				      uint8_t device)
{
	uint64_t before_ns = t->blocks.at[0].ns < t->begin_ns ? t->blocks.at[0].ns : t->begin_ns;
	return (struct trace_block){ .ns = before_ns ? before_ns - 1 : 0,
				     .address = address,
				     .bytes = bytes,
				     .is_early = true,
				     .device = device };
}

typedef VEC(struct trace_block) trace_blocks;

/* Finds the blocks that are freed and not made, and adds them to `early`. */
static void find_freed(const struct trace *t, trace_blocks *early, uint64_t *known_bytes)
{
	struct map made = { 0 };
	for (size_t i = 0; i < t->blocks.n; i++) {
		const struct trace_block *x = &t->blocks.at[i];
		if (!x->is_freed) {
			*map_at(&made, key_of(x), NULL) = i;
		} else if (!map_find(&made, key_of(x))) {
			vec_push(early, early_block(t, x->address, x->bytes, x->device));
			known_bytes[x->device] += x->bytes;
		} else {
			map_remove(&made, key_of(x));
		}
	}
	map_free(&made);
}

/* Adds to `early` a block for each device's bytes that no event explains. */
static void add_rest(const struct trace *t, trace_blocks *early, const uint64_t *known_bytes)
{
	bool is_seen[DEVICE_UNKNOWN + 1] = { false };
	for (size_t i = 0; i < t->blocks.n; i++) {
		const struct trace_block *x = &t->blocks.at[i];
		uint64_t bytes = x->allocated_bytes ? before_bytes(x) : 0;
		if (!is_seen[x->device] && bytes > known_bytes[x->device])
			vec_push(early, early_block(t, UINT64_MAX - x->device,
						    bytes - known_bytes[x->device], x->device));
		is_seen[x->device] = true;
	}
}

static void sum_up(struct trace *t)
{
	uint64_t sum_bytes[DEVICE_UNKNOWN + 1] = { 0 };
	for (size_t i = 0; i < t->blocks.n; i++) {
		struct trace_block *x = &t->blocks.at[i];
		uint64_t *sum = &sum_bytes[x->device];
		if (!x->is_freed)
			*sum += x->bytes;
		else
			*sum -= x->bytes < *sum ? x->bytes : *sum;
		if (!x->allocated_bytes)
			x->allocated_bytes = *sum;
	}
}

void live_blocks_complete(struct trace *t)
{
	uint64_t known_bytes[DEVICE_UNKNOWN + 1] = { 0 };
	trace_blocks all = { 0 };
	if (!t->blocks.n)
		return;
	find_freed(t, &all, known_bytes);
	add_rest(t, &all, known_bytes);
	for (size_t i = 0; i < t->blocks.n; i++)
		vec_push(&all, t->blocks.at[i]);
	vec_free(&t->blocks);
	t->blocks.at = all.at;
	t->blocks.n = all.n;
	t->blocks.room = all.room;
	sum_up(t);
}

void live_blocks_total(const struct trace *t, struct allocator *to)
{
	for (size_t i = 0; i < t->blocks.n; i++) {
		const struct trace_block *x = &t->blocks.at[i];
		if (x->device >= MEMORY_DEVICES || x->is_early)
			continue;
		struct allocator_device *d = &to->device[x->device];
		d->was_used = true;
		d->allocated_bytes = x->allocated_bytes;
		d->reserved_bytes = x->reserved_bytes;
		if (x->allocated_bytes > d->peak_allocated_bytes)
			d->peak_allocated_bytes = x->allocated_bytes;
		if (x->reserved_bytes > d->peak_reserved_bytes)
			d->peak_reserved_bytes = x->reserved_bytes;
	}
}

static void pass(struct live_blocks *b, const struct trace_block *x, size_t i)
{
	if (x->is_freed)
		map_remove(&b->live, key_of(x));
	else
		*map_at(&b->live, key_of(x), NULL) = i;
}

static struct model_block block_of(const struct trace_block *x, uint32_t thread, uint8_t event)
{
	return (struct model_block){ .ns = x->ns,
				     .address = x->address,
				     .bytes = x->bytes,
				     .allocated_bytes = x->allocated_bytes,
				     .reserved_bytes = x->reserved_bytes,
				     .stack = x->stack,
				     .thread = thread,
				     .event = event,
				     .device = x->device };
}

static void add_live(const struct live_blocks *b, const struct trace *t, struct model_step *m)
{
	for (size_t i = 0; i < b->live.room; i++)
		if (b->live.slots[i].used)
			vec_push(&m->blocks, block_of(&t->blocks.at[b->live.slots[i].value],
						      MODEL_NO_THREAD, BLOCK_LIVE));
	m->n_live_blocks = m->blocks.n;
}

void live_blocks_build(struct live_blocks *b, const struct trace *t, struct model_step *m,
		       uint32_t (*thread_of)(void *context, uint32_t thread), void *context)
{
	bool follows = b->window && m->begin_ns == b->end_ns;
	for (; b->next < t->blocks.n && t->blocks.at[b->next].ns < m->begin_ns; b->next++)
		pass(b, &t->blocks.at[b->next], b->next);
	if (!follows) {
		b->window++;
		add_live(b, t, m);
	}
	m->block_window = b->window;
	for (; b->next < t->blocks.n && t->blocks.at[b->next].ns < m->end_ns; b->next++) {
		const struct trace_block *x = &t->blocks.at[b->next];
		vec_push(&m->blocks, block_of(x, thread_of(context, x->thread),
					      x->is_freed ? BLOCK_FREED : BLOCK_MADE));
		pass(b, x, b->next);
	}
	b->end_ns = m->end_ns;
}

void live_blocks_free(struct live_blocks *b)
{
	map_free(&b->live);
}
