/*
 * What a journal says once: facts, hooks, threads, strings, launch shapes, kernels, devices. Filled record by record as the
 * library writes them; ids of the file are bounded before they become indexes. Texts are copied.
 */
#ifndef CORE_DICT_H
#define CORE_DICT_H

#include "core/map.h"
#include "core/record.h"
#include "core/strtab.h"
#include "core/vec.h"

#include <stdbool.h>

struct dict_info {
	char *key, *value;
};

struct hook_entry {
	uint32_t name; /* in `names` */
	uint8_t category, door, space;
	bool is_known;
	bool begins_capture, ends_capture, resets_device;
};

struct thread_entry {
	uint32_t slot, tid, handle;
	char name[16];
};

/* A launch's shape; `name` in `names` is readable already. */
struct launch_entry {
	uint64_t token, function;
	uint32_t name;
	uint32_t grid[3], block[3], shared_bytes;
	bool is_named;	   /* else `name` was made up from its handle */
	bool is_optimizer; /* its name looks like an optimizer's kernel */
};

struct kernel_entry {
	uint32_t name;
	uint32_t block[3], registers, static_shared_bytes, dynamic_shared_bytes,
		local_bytes_per_thread;
	bool is_known;
};

struct dict {
	struct strtab names;	/* every text that spans show, readable (demangled) */
	uint32_t door_names[2]; /* by enum record_door */
	VEC(struct dict_info) infos;
	VEC(struct hook_entry) hooks;	  /* by id */
	VEC(struct thread_entry) threads; /* in order of appearance */
	VEC(struct launch_entry) launches;
	struct map launch_of_token;	  /* -> index in launches */
	VEC(struct kernel_entry) kernels; /* by id */
	VEC(uint32_t) strings;		  /* by DICT_STRING id -> names */
	VEC(struct dict_device) devices;
	uint64_t n_damaged; /* records with ids beyond reason or texts without end */
};

void dict_add(struct dict *d, const struct dict_head *record);
void dict_free(struct dict *d);

/* A fact's value, NULL if the library did not say. */
const char *dict_find_info(const struct dict *d, const char *key);

/* CAT_COUNT for a hook that the dictionary does not have. */
static inline uint8_t dict_category(const struct dict *d, uint16_t hook)
{
	return hook < d->hooks.n ? d->hooks.at[hook].category : (uint8_t)CAT_COUNT;
}

static inline const struct launch_entry *dict_launch(const struct dict *d, uint64_t token)
{
	const uint64_t *at = map_find(&d->launch_of_token, token);
	return at ? &d->launches.at[*at] : NULL;
}

const struct thread_entry *dict_find_thread(const struct dict *d, uint32_t slot);
const struct dict_device *dict_find_device(const struct dict *d, uint32_t id);

/* Whether calls of this category have a `seq` and GPU work of their own. */
bool category_has_work(uint8_t category);
const char *category_name(uint8_t category);

#endif
