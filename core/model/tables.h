/*
 * Tables of the things that are recorded once per process: names, facts, threads, launch shapes,
 * kernels, devices. Steps refer to their entries by number. The code that reads a run (core/source)
 * fills the tables; all other code only reads them.
 */
#ifndef CORE_TABLES_H
#define CORE_TABLES_H

#include "core/runtime/kinds.h"
#include "core/util/map.h"
#include "core/util/strtab.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A fact about the process, such as its command or a setting. Owned by the tables. */
struct run_fact {
	char *key, *value;
};

struct run_thread {
	uint32_t slot, tid; /* the journal's number of the thread; the Linux thread id */
	uint32_t handle;    /* CUPTI may identify the thread by this instead of its tid */
	char name[16];
};

/* The shape of a launch: its function, grid, block and dynamic shared memory. */
struct run_launch {
	/* `token`: the hash that identifies the shape, see core/runtime/token.h; `function`: the
	 * handle that the application passed */
	uint64_t token, function;
	uint32_t name; /* in `names`: the function's demangled name */
	uint32_t grid[3], block[3], shared_bytes;
	bool is_named;	   /* false: the name is unknown, `name` contains the handle instead */
	bool is_optimizer; /* the name looks like that of an optimizer's kernel */
};

/* A kernel as CUPTI reports it. */
struct run_kernel {
	uint32_t name; /* in `names`, demangled */
	uint32_t block[3], registers, static_shared_bytes, dynamic_shared_bytes,
		local_bytes_per_thread;
	bool is_known; /* false: the kernel's record was not read, all other fields are 0 */
};

struct run_device {
	uint32_t id, multiprocessors;
	uint32_t compute_major, compute_minor;
	uint64_t memory_bytes; /* 0: unknown */
	char name[64];
};

/* All zeros is a valid start: empty tables. */
struct tables {
	struct strtab names; /* all texts that are shown; names of functions are demangled */
	uint32_t entry_point_names[2];	/* in `names`; the index is an enum record_entry_point */
	VEC(struct run_fact) facts;	/* each key occurs once */
	VEC(struct run_thread) threads; /* in the order in which they were recorded */
	struct map thread_of_slot;	/* slot -> index in `threads` */
	VEC(struct run_launch) launches;
	struct map launch_of_token;	/* token -> index in `launches` */
	VEC(struct run_kernel) kernels; /* the index is the kernel's id */
	VEC(struct run_device) devices;
};

/* Frees the contents of the tables, but not `t` itself. */
void tables_free(struct tables *t);

/* Sets a fact, or replaces its value. Both texts are copied. */
void tables_set_fact(struct tables *t, const char *key, const char *value);

/* Returns a fact's value, NULL if the fact was not recorded. The text is valid until the fact is
 * set again. */
const char *tables_fact(const struct tables *t, const char *key);
/* Returns whether the fact was recorded and has this value. */
bool tables_fact_is(const struct tables *t, const char *key, const char *value);

/* Returns the thread with this slot, NULL if there is none. */
const struct run_thread *tables_thread(const struct tables *t, uint32_t slot);
/* Returns the device with this id, NULL if there is none. */
const struct run_device *tables_device(const struct tables *t, uint32_t id);

/* Returns the launch shape with this token, NULL if there is none. */
static inline const struct run_launch *tables_launch(const struct tables *t, uint64_t token)
{
	const uint64_t *at = map_find(&t->launch_of_token, token);
	return at ? &t->launches.at[*at] : NULL;
}

/* Returns whether CUPTI delivers GPU records for calls of this enum record_category. */
bool category_has_work(uint8_t category);
/* Returns whether calls of the category launch a kernel or a CUDA graph. */
static inline bool category_is_launch(uint8_t category)
{
	return category == CAT_LAUNCH || category == CAT_GRAPH;
}
/* Returns "launch", "memcpy", ... for an enum record_category. */
const char *category_name(uint8_t category);

#endif
