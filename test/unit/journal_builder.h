/*
 * Writes journals for tests exactly by core/runtime/record.h, without the library. The clock counts
 * nanoseconds from `JB_START`.
 */
#ifndef TEST_UNIT_JOURNAL_BUILDER_H
#define TEST_UNIT_JOURNAL_BUILDER_H

#include "core/runtime/record.h"

#include <stddef.h>

#define JB_START 1000000000ull
#define JB_PID	 4242u

/* Hooks that jb_new() writes; the names are in journal_builder.c. */
enum jb_hook {
	JB_LAUNCH = 1,
	JB_MEMCPY,
	JB_MEMSET,
	JB_GRAPH,
	JB_SYNC,
	JB_MALLOC,
	JB_FREE,
	JB_BEGIN_CAPTURE,
	JB_END_CAPTURE,
	JB_DRIVER_LAUNCH,
};

struct journal_builder {
	uint8_t *bytes;
	size_t size;
	struct journal_header *header;
	struct journal_chunk *directory;
	int chunk_of[64]; /* per slot, -1: none */
};

struct journal_builder *jb_new(uint32_t n_chunks, uint32_t chunk_bytes);
struct journal_builder *jb_new_with(uint32_t n_chunks, uint32_t chunk_bytes,
				    uint64_t dictionary_bytes);
void jb_free(struct journal_builder *b);
void jb_write(const struct journal_builder *b, const char *path);

/* Dictionary. */
void jb_info(struct journal_builder *b, const char *key, const char *value);
void jb_thread(struct journal_builder *b, uint32_t slot, uint32_t tid, const char *name);
void jb_string(struct journal_builder *b, uint32_t id, const char *text);
void jb_launch_shape(struct journal_builder *b, uint64_t token, uint32_t name, uint32_t grid_x);
void jb_kernel(struct journal_builder *b, uint32_t id, uint32_t name);
void jb_device(struct journal_builder *b, uint32_t id, const char *name);
void jb_module(struct journal_builder *b, const struct dict_module *module, const char *path);
/* `table`: the line table, followed by the bytecode. */
void jb_code(struct journal_builder *b, const struct dict_code *code, const void *table);
void jb_stack(struct journal_builder *b, uint32_t id, uint32_t base, uint16_t shared,
	      uint32_t flags, const uint64_t *frames, uint16_t n);

/* Records, into the stream of thread `slot`. Times are ns after JB_START. */
void jb_record(struct journal_builder *b, uint32_t slot, const void *record, size_t bytes);
void jb_call(struct journal_builder *b, uint32_t slot, enum jb_hook hook, uint64_t begin,
	     uint64_t length, uint32_t seq, uint64_t arg);
void jb_call_from(struct journal_builder *b, uint32_t slot, enum jb_hook hook, uint64_t begin,
		  uint64_t length, uint32_t seq, uint64_t arg, uint32_t stack);
void jb_alloc(struct journal_builder *b, uint32_t slot, enum jb_hook hook, uint64_t begin,
	      uint64_t address, uint64_t bytes);
void jb_step(struct journal_builder *b, uint32_t slot, enum step_event event, uint64_t at,
	     uint64_t number, enum sched_action action);
void jb_gpu_state(struct journal_builder *b, uint32_t slot, enum gpu_state state, uint64_t at,
		  uint64_t detail);
void jb_external(struct journal_builder *b, uint32_t slot, uint32_t correlation, uint32_t thread,
		 uint32_t seq);
void jb_api(struct journal_builder *b, uint32_t slot, uint32_t correlation, uint32_t tid,
	    uint64_t begin, uint64_t end);
void jb_work(struct journal_builder *b, uint32_t slot, enum record_kind kind, uint32_t name,
	     uint64_t begin, uint64_t length, uint32_t correlation, uint32_t stream);
void jb_range(struct journal_builder *b, uint32_t slot, enum range_event event, uint64_t at,
	      uint64_t id, uint32_t name, uint32_t domain);
void jb_sample(struct journal_builder *b, uint32_t slot, uint32_t thread, enum sample_state state,
	       uint64_t at, uint32_t stack);
void jb_cpu_wait(struct journal_builder *b, uint32_t slot, uint32_t thread, uint64_t begin,
		 uint64_t end, uint64_t wait_ns);
void jb_dropped(struct journal_builder *b, uint32_t slot, uint64_t count, uint64_t first,
		uint64_t last);

/* Marks the orderly end. */
void jb_end(struct journal_builder *b, uint64_t at);

#endif
