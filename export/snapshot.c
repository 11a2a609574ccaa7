/*
 * Writes a step as PyTorch's memory snapshot, in the format of torch.cuda.memory._dump_snapshot()
 * (PyTorch 2.1 to 2.15). pytorch.org/memory_viz and torch.cuda._memory_viz read these files. The
 * trace contains the step's events; the segments and their blocks are those at the end of the step.
 *
 * The allocator does not report everything. Streams are written as 0, and a block's requested size
 * as its rounded size. A free is written as completed when it is requested. Blocks outside all
 * memory from cudaMalloc (expandable segments) get made-up segments of whole 2 MiB.
 */
#include "core/symbols/stack_about.h"
#include "core/util/bisect.h"
#include "core/util/map.h"
#include "export/exporter.h"
#include "export/pickle.h"

#include <stdlib.h>

enum { PAGE_BYTES = 2 << 20, SMALL_SEGMENT_BYTES = 2 << 20 };

struct block {
	uint64_t address, bytes;
	uint32_t stack, device;
};

struct segment {
	uint64_t address, bytes;
	uint32_t stack, device;
	bool is_made_up;
};

struct snapshot {
	const struct model_step *m;
	struct pickle p;
	VEC(struct block) blocks; /* blocks that exist at the end of the step, ordered by address */
	struct map block_of;	  /* address -> index in `blocks`; used only by replay_blocks() */
	VEC(struct segment) segments;
	uint32_t n_devices;
};

/* ---- Stacks ---- */

/* Keys of stacks (pickle_keep) are small numbers, which differ from all addresses of texts and
 * frames. */
enum { KEY_STACK = 1 };

static uint64_t stack_key(uint32_t stack)
{
	return (uint64_t)stack << 2 | KEY_STACK;
}

static void set_text(struct snapshot *s, const char *key, const char *value)
{
	pickle_text(&s->p, key);
	pickle_text(&s->p, value);
	pickle_set(&s->p);
}

static void set_int(struct snapshot *s, const char *key, uint64_t value)
{
	pickle_text(&s->p, key);
	pickle_int(&s->p, value);
	pickle_set(&s->p);
}

static void put_frame(struct snapshot *s, const struct frame *frame)
{
	uint64_t key = (uint64_t)(uintptr_t)frame;
	if (pickle_again(&s->p, key))
		return;
	pickle_dict(&s->p);
	set_text(s, "name", frame->function);
	set_text(s, "filename", *frame->file ? frame->file : frame->module);
	set_int(s, "line", frame->line);
	pickle_keep(&s->p, key);
}

static void set_frames(struct snapshot *s, uint32_t stack)
{
	struct frame_list list = { 0 };
	pickle_text(&s->p, "frames");
	if (!pickle_again(&s->p, stack_key(stack))) {
		if (s->m->frames && stack)
			list = frames_of(s->m->frames, stack);
		pickle_list(&s->p);
		for (size_t i = 0; i < list.n; i++) {
			put_frame(s, list.at[i]);
			pickle_append(&s->p);
		}
		pickle_keep(&s->p, stack_key(stack));
	}
	pickle_set(&s->p);
}

/* ---- Blocks at the step's end ---- */

static void remove_block(struct snapshot *s, uint64_t address)
{
	const uint64_t *found = map_find(&s->block_of, address);
	if (!found)
		return;
	size_t at = (size_t)*found;
	map_remove(&s->block_of, address);
	struct block last = s->blocks.at[--s->blocks.n];
	if (at == s->blocks.n)
		return;
	s->blocks.at[at] = last;
	*map_at(&s->block_of, last.address, NULL) = at;
}

static void add_block(struct snapshot *s, const struct model_block *b)
{
	remove_block(s, b->address);
	*map_at(&s->block_of, b->address, NULL) = s->blocks.n;
	vec_push(&s->blocks, (struct block){ b->address, b->bytes, b->stack, b->device });
}

static int by_block_address(const void *a, const void *b)
{
	const struct block *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int by_segment_address(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void replay_blocks(struct snapshot *s)
{
	for (size_t i = 0; i < s->m->blocks.n; i++) {
		const struct model_block *b = &s->m->blocks.at[i];
		if (b->device != DEVICE_UNKNOWN && b->device >= s->n_devices)
			s->n_devices = b->device + 1u;
		if (b->event == BLOCK_LIVE || b->event == BLOCK_MADE)
			add_block(s, b);
		else if (b->event == BLOCK_FREED)
			remove_block(s, b->address);
	}
	map_free(&s->block_of);
	if (s->blocks.n)
		qsort(s->blocks.at, s->blocks.n, sizeof(*s->blocks.at), by_block_address);
}

/* ---- Segments ---- */

static bool is_allocators(const struct snapshot *s, uint32_t stack)
{
	return s->m->frames && stack && stack_about(s->m->frames, stack) & ABOUT_ALLOCATOR;
}

static bool is_device_call(const struct model_call *c, uint8_t category)
{
	return c->category == category && c->space == SPACE_DEVICE && !c->status && c->handle;
}

static void remove_segment(struct snapshot *s, uint64_t address)
{
	for (size_t i = 0; i < s->segments.n; i++)
		if (s->segments.at[i].address == address) {
			s->segments.at[i] = s->segments.at[--s->segments.n];
			return;
		}
}

static int by_call_begin(const void *a, const void *b)
{
	const struct model_call *x = *(const struct model_call *const *)a,
				*y = *(const struct model_call *const *)b;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static void replay_segments(struct snapshot *s)
{
	VEC(const struct model_call *) calls = { 0 };
	for (size_t i = 0; i < s->m->segments.n; i++) {
		const struct model_segment *g = &s->m->segments.at[i];
		if (!(g->address >> 63)) /* with the top bit set, it is a handle of physical
					  * memory */
			vec_push(&s->segments, (struct segment){ g->address, g->bytes, g->stack,
								 g->device, false });
	}
	for (size_t i = 0; i < s->m->calls.n; i++)
		if (is_device_call(&s->m->calls.at[i], CAT_ALLOC) ||
		    is_device_call(&s->m->calls.at[i], CAT_FREE))
			vec_push(&calls, &s->m->calls.at[i]);
	if (calls.n)
		qsort(calls.at, calls.n, sizeof(*calls.at), by_call_begin);
	for (size_t i = 0; i < calls.n; i++) {
		const struct model_call *c = calls.at[i];
		remove_segment(s, c->handle);
		if (c->category == CAT_ALLOC)
			vec_push(&s->segments, (struct segment){ c->handle, c->bytes, c->stack,
								 c->device, false });
	}
	vec_free(&calls);
	if (s->segments.n)
		qsort(s->segments.at, s->segments.n, sizeof(*s->segments.at), by_segment_address);
}

static size_t first_block_from(const struct snapshot *s, uint64_t address)
{
	return bisect(s->blocks.n, i, s->blocks.at[i].address < address);
}

/* Finds the blocks within the segment: from index `from` up to, but not including, `to`. */
static void blocks_within(const struct snapshot *s, const struct segment *g, size_t *from,
			  size_t *to)
{
	*from = first_block_from(s, g->address);
	*to = first_block_from(s, g->address + g->bytes);
}

/* Drops segments of other libraries, which the allocator does not own. */
static void keep_allocators(struct snapshot *s)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->segments.n; i++) {
		size_t from, to;
		blocks_within(s, &s->segments.at[i], &from, &to);
		if (from < to || is_allocators(s, s->segments.at[i].stack))
			s->segments.at[kept++] = s->segments.at[i];
	}
	s->segments.n = kept;
}

static void make_up_segments(struct snapshot *s)
{
	size_t g = 0, n = s->segments.n;
	struct segment made = { .bytes = 0 };
	for (size_t i = 0; i < s->blocks.n; i++) {
		const struct block *b = &s->blocks.at[i];
		uint64_t begin = b->address / PAGE_BYTES * PAGE_BYTES;
		uint64_t end = (b->address + b->bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
		while (g < n && s->segments.at[g].address + s->segments.at[g].bytes <= b->address)
			g++;
		if (g < n && s->segments.at[g].address <= b->address)
			continue;
		if (made.bytes && made.device == b->device && begin <= made.address + made.bytes) {
			made.bytes = end - made.address;
			continue;
		}
		if (made.bytes)
			vec_push(&s->segments, made);
		made = (struct segment){ begin, end - begin, b->stack, b->device, true };
	}
	if (made.bytes)
		vec_push(&s->segments, made);
}

static void put_block(struct snapshot *s, uint64_t address, uint64_t bytes, uint32_t stack,
		      bool is_live)
{
	pickle_dict(&s->p);
	set_int(s, "address", address);
	set_int(s, "size", bytes);
	set_int(s, "requested_size", is_live ? bytes : 0);
	set_text(s, "state", is_live ? "active_allocated" : "inactive");
	set_frames(s, is_live ? stack : 0);
}

static void put_blocks(struct snapshot *s, const struct segment *g, size_t from, size_t to)
{
	uint64_t at = g->address;
	pickle_text(&s->p, "blocks");
	pickle_list(&s->p);
	for (size_t i = from; i < to; i++) {
		const struct block *b = &s->blocks.at[i];
		if (b->address > at) {
			put_block(s, at, b->address - at, 0, false);
			pickle_append(&s->p);
		}
		put_block(s, b->address, b->bytes, b->stack, true);
		pickle_append(&s->p);
		at = b->address + b->bytes;
	}
	if (at < g->address + g->bytes) {
		put_block(s, at, g->address + g->bytes - at, 0, false);
		pickle_append(&s->p);
	}
	pickle_set(&s->p);
}

static void put_segment(struct snapshot *s, const struct segment *g)
{
	size_t from, to;
	uint64_t live = 0;
	blocks_within(s, g, &from, &to);
	for (size_t i = from; i < to; i++)
		live += s->blocks.at[i].bytes;
	pickle_dict(&s->p);
	set_int(s, "device", g->device);
	set_int(s, "address", g->address);
	set_int(s, "total_size", g->bytes);
	set_int(s, "allocated_size", live);
	set_int(s, "active_size", live);
	set_int(s, "requested_size", live);
	set_int(s, "stream", 0);
	set_text(s, "segment_type", g->bytes <= SMALL_SEGMENT_BYTES ? "small" : "large");
	pickle_text(&s->p, "segment_pool_id");
	pickle_pair(&s->p, 0, 0);
	pickle_set(&s->p);
	pickle_text(&s->p, "is_expandable");
	pickle_bool(&s->p, g->is_made_up);
	pickle_set(&s->p);
	set_frames(s, g->stack);
	put_blocks(s, g, from, to);
}

/* ---- The trace ---- */

struct event {
	uint64_t ns, address, bytes;
	const char *action;
	uint32_t stack;
	uint32_t order;
};

static int by_event_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void put_event(struct snapshot *s, const struct event *e, uint64_t device_free)
{
	const struct model_clock *c = &s->m->clock;
	bool is_oom = e->action[0] == 'o';
	pickle_dict(&s->p);
	set_text(s, "action", e->action);
	set_int(s, is_oom ? "device_free" : "addr", is_oom ? device_free : e->address);
	set_int(s, "size", e->bytes);
	set_int(s, "stream", 0);
	set_int(s, "time_us", (e->ns - c->monotonic_ns + c->realtime_ns) / 1000);
	set_frames(s, e->stack);
	pickle_append(&s->p);
}

static uint64_t device_bytes(const struct snapshot *s, uint32_t device)
{
	const struct tables *d = s->m->tables;
	for (size_t i = 0; i < d->devices.n; i++)
		if (d->devices.at[i].id == device)
			return d->devices.at[i].memory_bytes;
	return 0;
}

/* Returns the size of a freed segment, because cudaFree does not have it as an argument. */
static uint64_t segment_bytes(const struct snapshot *s, const struct event *events, size_t n,
			      uint64_t address)
{
	for (; n; n--)
		if (events[n - 1].address == address)
			return events[n - 1].bytes;
	for (size_t i = 0; i < s->m->segments.n; i++)
		if (s->m->segments.at[i].address == address)
			return s->m->segments.at[i].bytes;
	return 0;
}

/*
 * Writes one device's events in order of time. At equal times, a segment comes before its blocks.
 */
static void put_trace(struct snapshot *s, uint32_t device)
{
	VEC(struct event) events = { 0 };
	uint64_t reserved = 0, all = device_bytes(s, device);
	for (size_t i = 0; i < s->m->calls.n; i++) {
		const struct model_call *c = &s->m->calls.at[i];
		bool is_alloc = is_device_call(c, CAT_ALLOC);
		if (c->device != device || !is_allocators(s, c->stack) ||
		    !(is_alloc || is_device_call(c, CAT_FREE)))
			continue;
		struct event e = {
			is_alloc ? c->end_ns : c->begin_ns,	     c->handle, c->bytes,
			is_alloc ? "segment_alloc" : "segment_free", c->stack,	(uint32_t)events.n
		};
		if (!is_alloc)
			e.bytes = segment_bytes(s, events.at, events.n, c->handle);
		vec_push(&events, e);
	}
	for (size_t i = s->m->n_live_blocks; i < s->m->blocks.n; i++) {
		const struct model_block *b = &s->m->blocks.at[i];
		if (b->device != device)
			continue;
		struct event e = { b->ns,   b->address, b->bytes,
				   "alloc", b->stack,	(uint32_t)events.n };
		reserved = b->reserved_bytes;
		if (b->event == BLOCK_OUT_OF_MEMORY)
			e.action = "oom";
		if (b->event == BLOCK_FREED) {
			e.action = "free_requested";
			vec_push(&events, e);
			e.action = "free_completed";
			e.order++;
		}
		vec_push(&events, e);
	}
	if (events.n)
		qsort(events.at, events.n, sizeof(*events.at), by_event_time);
	pickle_list(&s->p);
	for (size_t i = 0; i < events.n; i++)
		put_event(s, &events.at[i], all > reserved ? all - reserved : 0);
	vec_free(&events);
}

/* ---- The file ---- */

static void put_snapshot(struct snapshot *s)
{
	pickle_begin(&s->p);
	pickle_dict(&s->p);
	pickle_text(&s->p, "segments");
	pickle_list(&s->p);
	for (size_t i = 0; i < s->segments.n; i++) {
		put_segment(s, &s->segments.at[i]);
		pickle_append(&s->p);
	}
	pickle_set(&s->p);
	pickle_text(&s->p, "device_traces");
	pickle_list(&s->p);
	for (uint32_t device = 0; device < s->n_devices; device++) {
		put_trace(s, device);
		pickle_append(&s->p);
	}
	pickle_set(&s->p);
	pickle_text(&s->p, "allocator_settings");
	pickle_dict(&s->p);
	pickle_set(&s->p);
	pickle_end(&s->p);
}

static int write_step(const struct analyzed_step *analyzed, const char *path, struct err *e)
{
	const struct model_step *step = analyzed->model;
	struct outfile out;
	struct snapshot *s = mem_zero(sizeof(*s));
	int error = outfile_open(&out, path, 0, e);
	if (!error) {
		s->m = step;
		s->p.out = &out;
		s->n_devices = 1;
		replay_blocks(s);
		replay_segments(s);
		keep_allocators(s);
		make_up_segments(s);
		put_snapshot(s);
		error = outfile_close(&out, e);
	}
	vec_free(&s->blocks);
	vec_free(&s->segments);
	free(s);
	return error;
}

static bool is_empty(const struct model_step *step)
{
	return !step->blocks.n;
}

const struct exporter exporter_memory = {
	.name = "memory",
	.folder = "memory",
	.suffix = ".pickle",
	.noun = "memory snapshot",
	.viewer = "https://pytorch.org/memory_viz",
	.is_empty = is_empty,
	.why_empty = "PyTorch's allocator reported no blocks (the program does not use it, or "
		     "PROF_MEMORY=off)",
	.write_step = write_step,
};
