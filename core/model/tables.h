/*
 * What is recorded once per process and referred to by number in steps: names, facts, threads,
 * launch shapes, kernels, devices. A source of runs fills it; everything else reads it.
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
	uint32_t slot, tid;
	uint32_t handle; /* CUPTI may identify the thread by this instead of its tid */
	char name[16];
};

/* The shape of a launch. `name` is an index in `names`, demangled. */
struct run_launch {
	uint64_t token, function;
	uint32_t name;
	uint32_t grid[3], block[3], shared_bytes;
	bool is_named;	   /* else `name` contains the function's handle */
	bool is_optimizer; /* its name looks like an optimizer's kernel */
};

struct run_kernel {
	uint32_t name;
	uint32_t block[3], registers, static_shared_bytes, dynamic_shared_bytes,
		local_bytes_per_thread;
	bool is_known;
};

struct run_device {
	uint32_t id, multiprocessors;
	uint32_t compute_major, compute_minor;
	uint64_t memory_bytes; /* 0: unknown */
	char name[64];
};

/* All zeros is empty. */
struct tables {
	struct strtab names;		/* all texts that are shown, demangled */
	uint32_t entry_point_names[2];	/* by enum record_entry_point */
	VEC(struct run_fact) facts;	/* each key once */
	VEC(struct run_thread) threads; /* in order of appearance */
	struct map thread_of_slot;	/* -> index in threads */
	VEC(struct run_launch) launches;
	struct map launch_of_token;	/* -> index in launches */
	VEC(struct run_kernel) kernels; /* by id */
	VEC(struct run_device) devices;
};

void tables_free(struct tables *t);

/* Sets a fact, or replaces its value. Both texts are copied. */
void tables_set_fact(struct tables *t, const char *key, const char *value);

/* Returns a fact's value, NULL if it was not recorded. */
const char *tables_fact(const struct tables *t, const char *key);
bool tables_fact_is(const struct tables *t, const char *key, const char *value);

/* These return NULL if there is none. */
const struct run_thread *tables_thread(const struct tables *t, uint32_t slot);
const struct run_device *tables_device(const struct tables *t, uint32_t id);

static inline const struct run_launch *tables_launch(const struct tables *t, uint64_t token)
{
	const uint64_t *at = map_find(&t->launch_of_token, token);
	return at ? &t->launches.at[*at] : NULL;
}

/* Returns whether calls of this category make GPU work themselves. */
bool category_has_work(uint8_t category);
const char *category_name(uint8_t category);

#endif
