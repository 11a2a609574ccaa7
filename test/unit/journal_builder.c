/*
 * A journal in memory, grown by appending records as the library would, then written out in one go.
 */
#include "test/unit/journal_builder.h"

#include "core/util/vec.h"

#include <unistd.h>

static const struct {
	enum jb_hook id;
	enum record_category category;
	enum record_space space;
	const char *name;
} hooks[] = {
	{ JB_LAUNCH, CAT_LAUNCH, SPACE_NONE, "cudaLaunchKernel" },
	{ JB_MEMCPY, CAT_MEMCPY, SPACE_NONE, "cudaMemcpyAsync" },
	{ JB_MEMSET, CAT_MEMSET, SPACE_NONE, "cudaMemsetAsync" },
	{ JB_GRAPH, CAT_GRAPH, SPACE_NONE, "cudaGraphLaunch" },
	{ JB_SYNC, CAT_SYNC, SPACE_NONE, "cudaStreamSynchronize" },
	{ JB_MALLOC, CAT_ALLOC, SPACE_DEVICE, "cudaMalloc" },
	{ JB_FREE, CAT_FREE, SPACE_DEVICE, "cudaFree" },
	{ JB_BEGIN_CAPTURE, CAT_CAPTURE, SPACE_NONE, "cudaStreamBeginCapture" },
	{ JB_END_CAPTURE, CAT_CAPTURE, SPACE_NONE, "cudaStreamEndCapture" },
	{ JB_DRIVER_LAUNCH, CAT_LAUNCH, SPACE_NONE, "cuLaunchKernel" },
};

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

static void put(struct journal_builder *b, uint16_t kind, const void *record, size_t record_bytes,
		const char *text, const char *more)
{
	size_t text_bytes = text ? strlen(text) + 1 : 0, more_bytes = more ? strlen(more) + 1 : 0;
	size_t bytes = round_up(record_bytes + text_bytes + more_bytes, 8);
	uint64_t used = b->header->dictionary_used_bytes;
	if (used + bytes > b->header->dictionary_bytes)
		abort();
	uint8_t *to = b->bytes + b->header->dictionary_offset + used;
	memcpy(to, record, record_bytes);
	if (text)
		memcpy(to + record_bytes, text, text_bytes);
	if (more)
		memcpy(to + record_bytes + text_bytes, more, more_bytes);
	*(struct dict_head *)to =
		(struct dict_head){ .mark = DICT_MARK, .kind = kind, .bytes = (uint32_t)bytes };
	b->header->dictionary_used_bytes = used + bytes;
}

/* A record followed by bytes of any kind. */
static void put_with(struct journal_builder *b, uint16_t kind, const void *record,
		     size_t record_bytes, const void *more, size_t more_bytes)
{
	uint8_t *whole = mem_resize(NULL, record_bytes + more_bytes);
	memcpy(whole, record, record_bytes);
	memcpy(whole + record_bytes, more, more_bytes);
	put(b, kind, whole, record_bytes + more_bytes, NULL, NULL);
	free(whole);
}

static void put_hooks(struct journal_builder *b)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
		struct dict_hook h = {
			.id = (uint16_t)hooks[i].id,
			.category = (uint8_t)hooks[i].category,
			.entry_point = hooks[i].id == JB_DRIVER_LAUNCH ? ENTRY_POINT_DRIVER
								       : ENTRY_POINT_RUNTIME,
			.space = (uint8_t)hooks[i].space,
		};
		put(b, DICT_HOOK, &h, offsetof(struct dict_hook, name), hooks[i].name, NULL);
	}
}

struct journal_builder *jb_new(uint32_t n_chunks, uint32_t chunk_bytes)
{
	return jb_new_with(n_chunks, chunk_bytes, 65536);
}

struct journal_builder *jb_new_with(uint32_t n_chunks, uint32_t chunk_bytes,
				    uint64_t dictionary_bytes)
{
	struct journal_builder *b = mem_zero(sizeof(*b));
	uint64_t directory = round_up(sizeof(struct journal_header), 64);
	uint64_t dictionary = directory + n_chunks * sizeof(struct journal_chunk);
	b->size = dictionary + dictionary_bytes + (uint64_t)n_chunks * chunk_bytes;
	b->bytes = mem_zero(b->size);
	b->header = (struct journal_header *)b->bytes;
	b->directory = (struct journal_chunk *)(b->bytes + directory);
	memset(b->chunk_of, 0xff, sizeof(b->chunk_of));
	struct journal_header *h = b->header;
	memcpy(h->magic, JOURNAL_MAGIC, sizeof(h->magic));
	h->version = JOURNAL_VERSION;
	h->header_bytes = sizeof(*h);
	h->chunk_bytes = chunk_bytes;
	h->n_chunks = n_chunks;
	h->directory_offset = directory;
	h->dictionary_offset = dictionary;
	h->dictionary_bytes = dictionary_bytes;
	h->chunks_offset = dictionary + dictionary_bytes;
	h->file_bytes = b->size;
	h->call_bytes = sizeof(struct rec_call);
	h->gpu_bytes = sizeof(struct rec_gpu);
	h->pid = JB_PID;
	h->ppid = 1;
	h->process_start = 77;
	h->clock.kind = CLOCK_KIND_MONOTONIC_NS;
	h->clock.first = (struct journal_clock_point){ JB_START, JB_START, 1700000000000000000ull };
	h->chunks_backed = n_chunks;
	h->steps.mode = STEP_MODE_KERNEL;
	put_hooks(b);
	return b;
}

void jb_free(struct journal_builder *b)
{
	free(b->bytes);
	free(b);
}

void jb_write(const struct journal_builder *b, const char *path)
{
	unlink(path); /* ext4 waits for the disk when a file is cut to nothing and written again */
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(b->bytes, 1, b->size, f) != b->size || fclose(f))
		abort();
}

void jb_info(struct journal_builder *b, const char *key, const char *value)
{
	struct dict_head head = { 0 };
	put(b, DICT_INFO, &head, sizeof(head), key, value);
}

void jb_thread(struct journal_builder *b, uint32_t slot, uint32_t tid, const char *name)
{
	struct dict_thread t = { .slot = slot, .tid = tid };
	strncpy(t.name, name, sizeof(t.name) - 1);
	put(b, DICT_THREAD, &t, sizeof(t), NULL, NULL);
}

void jb_string(struct journal_builder *b, uint32_t id, const char *text)
{
	struct dict_string s = { .id = id };
	put(b, DICT_STRING, &s, offsetof(struct dict_string, text), text, NULL);
}

void jb_launch_shape(struct journal_builder *b, uint64_t token, uint32_t name, uint32_t grid_x)
{
	struct dict_launch l = { .token = token,
				 .function = token,
				 .name = name,
				 .grid = { grid_x, 1, 1 },
				 .block = { 128, 1, 1 } };
	put(b, DICT_LAUNCH, &l, sizeof(l), NULL, NULL);
}

void jb_kernel(struct journal_builder *b, uint32_t id, uint32_t name)
{
	struct dict_kernel k = { .id = id, .name = name, .block = { 128, 1, 1 }, .registers = 32 };
	put(b, DICT_KERNEL, &k, sizeof(k), NULL, NULL);
}

void jb_device(struct journal_builder *b, uint32_t id, const char *name)
{
	struct dict_device d = { .id = id, .multiprocessors = 132, .memory_bytes = 1ull << 37 };
	strncpy(d.name, name, sizeof(d.name) - 1);
	put(b, DICT_DEVICE, &d, sizeof(d), NULL, NULL);
}

void jb_module(struct journal_builder *b, const struct dict_module *module, const char *path)
{
	put(b, DICT_MODULE, module, offsetof(struct dict_module, path), path, NULL);
}

void jb_code(struct journal_builder *b, const struct dict_code *code, const void *table)
{
	put_with(b, DICT_CODE, code, offsetof(struct dict_code, table), table,
		 code->table_bytes + code->bytecode_bytes);
}

void jb_stack(struct journal_builder *b, uint32_t id, uint32_t base, uint16_t shared,
	      uint32_t flags, const uint64_t *frames, uint16_t n)
{
	struct dict_stack s = { .id = id, .base = base, .shared = shared, .n = n, .flags = flags };
	put_with(b, DICT_STACK, &s, sizeof(s), frames, n * sizeof(*frames));
}

static int take_chunk(struct journal_builder *b, uint32_t slot)
{
	if (b->header->chunk_claims >= b->header->n_chunks)
		abort();
	int index = (int)b->header->chunk_claims++;
	b->directory[index].thread = slot;
	b->directory[index].claim = b->header->chunk_claims;
	b->directory[index].state = CHUNK_WRITING;
	return index;
}

void jb_record(struct journal_builder *b, uint32_t slot, const void *record, size_t bytes)
{
	int *index = &b->chunk_of[slot];
	if (*index < 0) {
		*index = take_chunk(b, slot);
	} else if (b->directory[*index].committed_bytes + bytes > b->header->chunk_bytes) {
		b->directory[*index].state = CHUNK_SEALED;
		*index = take_chunk(b, slot);
	}
	struct journal_chunk *c = &b->directory[*index];
	memcpy(b->bytes + b->header->chunks_offset + (size_t)*index * b->header->chunk_bytes +
		       c->committed_bytes,
	       record, bytes);
	c->committed_bytes += (uint32_t)bytes;
}

/* Appends a record of a kind; the members follow. */
#define JB_PUT(b, slot, type, number, ...)                                                         \
	jb_record(                                                                                 \
		b, slot,                                                                           \
		&(struct type){ .kind = (number), .words = sizeof(struct type) / 8, __VA_ARGS__ }, \
		sizeof(struct type))

static struct rec_call call(enum jb_hook hook, uint64_t begin, uint64_t length)
{
	return (struct rec_call){
		.kind = REC_CALL,
		.words = sizeof(struct rec_call) / 8,
		.hook = (uint16_t)hook,
		.begin_ticks = JB_START + begin,
		.duration = record_pack_duration(length),
	};
}

void jb_call(struct journal_builder *b, uint32_t slot, enum jb_hook hook, uint64_t begin,
	     uint64_t length, uint32_t seq, uint64_t arg)
{
	jb_call_from(b, slot, hook, begin, length, seq, arg, 0);
}

void jb_call_from(struct journal_builder *b, uint32_t slot, enum jb_hook hook, uint64_t begin,
		  uint64_t length, uint32_t seq, uint64_t arg, uint32_t stack)
{
	struct rec_call c = call(hook, begin, length);
	c.stack = stack;
	c.seq = seq;
	c.arg = arg;
	c.detail = hook == JB_MEMCPY ? COPY_H2D : 0;
	jb_record(b, slot, &c, sizeof(c));
}

void jb_alloc(struct journal_builder *b, uint32_t slot, enum jb_hook hook, uint64_t begin,
	      uint64_t address, uint64_t bytes)
{
	struct rec_call c = call(hook, begin, 100);
	c.arg = address;
	c.bytes = bytes;
	jb_record(b, slot, &c, sizeof(c));
}

void jb_step(struct journal_builder *b, uint32_t slot, enum step_event event, uint64_t at,
	     uint64_t number, enum sched_action action)
{
	JB_PUT(b, slot, rec_step, REC_STEP, .event = (uint8_t)event, .action = (uint8_t)action,
	       .ticks = JB_START + at, .number = number);
}

void jb_gpu_state(struct journal_builder *b, uint32_t slot, enum gpu_state state, uint64_t at,
		  uint64_t detail)
{
	JB_PUT(b, slot, rec_gpu_state, REC_GPU_STATE, .state = (uint16_t)state,
	       .ticks = JB_START + at, .detail = detail);
}

void jb_external(struct journal_builder *b, uint32_t slot, uint32_t correlation, uint32_t thread,
		 uint32_t seq)
{
	JB_PUT(b, slot, rec_external, REC_EXTERNAL, .correlation = correlation, .seq = seq,
	       .thread = thread);
}

void jb_api(struct journal_builder *b, uint32_t slot, uint32_t correlation, uint32_t tid,
	    uint64_t begin, uint64_t end)
{
	JB_PUT(b, slot, rec_api, REC_API, .correlation = correlation,
	       .begin_ticks = JB_START + begin, .end_ticks = JB_START + end, .tid = tid);
}

void jb_work(struct journal_builder *b, uint32_t slot, enum record_kind kind, uint32_t name,
	     uint64_t begin, uint64_t length, uint32_t correlation, uint32_t stream)
{
	struct rec_gpu g = {
		.kind = (uint8_t)kind,
		.words = sizeof(g) / 8,
		.name = name,
		.begin_ticks = JB_START + begin,
		.end_ticks = JB_START + begin + length,
		.correlation = correlation,
		.stream = stream,
		.context = 1,
	};
	if (kind == REC_KERNEL)
		g.grid[0] = g.grid[1] = g.grid[2] = 1;
	else
		g.bytes_low = 4096;
	jb_record(b, slot, &g, sizeof(g));
}

void jb_range(struct journal_builder *b, uint32_t slot, enum range_event event, uint64_t at,
	      uint64_t id, uint32_t name, uint32_t domain)
{
	JB_PUT(b, slot, rec_range, REC_RANGE, .event = (uint16_t)event, .name = name,
	       .ticks = at ? JB_START + at : 0, .id = id, .domain = domain);
}

void jb_sample(struct journal_builder *b, uint32_t slot, uint32_t thread, enum sample_state state,
	       uint64_t at, uint32_t stack)
{
	struct rec_sample r = {
		.kind = REC_SAMPLE,
		.words = sizeof(r) / 8,
		.state = (uint8_t)state,
		.stack = stack,
		.ticks = JB_START + at,
		.thread = thread,
	};
	jb_record(b, slot, &r, sizeof(r));
}

void jb_cpu_wait(struct journal_builder *b, uint32_t slot, uint32_t thread, uint64_t begin,
		 uint64_t end, uint64_t wait_ns)
{
	JB_PUT(b, slot, rec_cpu_wait, REC_CPU_WAIT, .thread = thread, .wait_ns = wait_ns,
	       .begin_ticks = JB_START + begin, .end_ticks = JB_START + end);
}

void jb_dropped(struct journal_builder *b, uint32_t slot, uint64_t count, uint64_t first,
		uint64_t last)
{
	JB_PUT(b, slot, rec_dropped, REC_DROPPED, .count = count, .first_ticks = JB_START + first,
	       .last_ticks = JB_START + last);
	b->header->dropped_records += count;
}

void jb_end(struct journal_builder *b, uint64_t at)
{
	b->header->clock.last = (struct journal_clock_point){ JB_START + at, JB_START + at,
							      1700000000000000000ull + at };
	b->header->ended_ticks = JB_START + at;
}
