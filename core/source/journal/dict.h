/*
 * Collects what a journal stores once: facts, hooks, threads, strings, launch shapes, kernels,
 * devices, modules, code objects and stacks. Grows record by record as the library writes them.
 * Checks ids against a bound before they become indexes. Copies texts.
 */
#ifndef CORE_DICT_H
#define CORE_DICT_H

#include "core/model/tables.h"
#include "core/runtime/record.h"
#include "core/util/map.h"
#include "core/util/strtab.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Upper limit of ids. Ids become array indexes, so without a limit a damaged id could use up all
 * memory.
 */
#define DICT_IDS_MOST (1u << 20)

struct hook_entry {
	uint32_t name; /* index in `names` */
	uint8_t category, entry_point, space;
	bool is_known;
	bool begins_capture, ends_capture, resets_device;
};

/* A loaded object. `path` is an index in `names`. */
struct module_entry {
	uint64_t base, begin, end;
	uint32_t path;
	uint32_t build_id_bytes;
	uint8_t build_id[32];
	bool is_known;
};

/* A Python code object. `file` and `name` are indexes in `names`. */
struct code_entry {
	uint64_t table; /* offset of its line table in `tables` */
	/* Offset of its bytecode in `tables`. Its exception table follows. */
	uint64_t bytecode;
	uint32_t table_bytes, bytecode_bytes; /* no bytecode: 0 bytes */
	uint32_t file, name, first_line;
	uint16_t python; /* version of Python: 0x030B for 3.11 */
	uint16_t exceptions_bytes;
	uint8_t lines; /* enum line_table */
	bool is_known;
};

/*
 * A stack. Its innermost `n` frames begin at `first` in `stack_frames`. Then follow the `shared`
 * outermost frames of the stack `base`.
 */
struct stack_entry {
	uint64_t first;
	/* index + 1 into `stacks`, smaller than the index + 1 of this stack; 0: none */
	uint32_t base;
	uint32_t flags;
	uint16_t n, shared;
};

/* A library's function. `name` is an index in `names`. */
struct library_entry {
	uint32_t name;
	uint8_t family, facts;
	bool is_known;
};

struct dict {
	struct tables t;		     /* shared with the run model */
	VEC(struct hook_entry) hooks;	     /* by id */
	VEC(uint32_t) strings;		     /* DICT_STRING id -> index in `names` */
	VEC(struct library_entry) libraries; /* by id */
	VEC(struct module_entry) modules;    /* by id */
	VEC(struct code_entry) codes;	     /* by id */
	VEC(uint8_t) tables;		     /* tables and bytecode of all code objects */
	VEC(struct stack_entry) stacks;	     /* in order of appearance */
	VEC(uint64_t) stack_frames;
	struct map stack_of_id; /* -> index in stacks */
	uint64_t n_damaged;	/* records with an id out of bounds or an unterminated text */
};

/*
 * Adds a record, whose texts and tables are copied. Counts it in `n_damaged` instead if it is
 * damaged.
 */
void dict_add(struct dict *d, const struct dict_head *record);

void dict_free(struct dict *d);

/* Returns the category of a hook, CAT_COUNT if the hook is unknown. */
static inline uint8_t dict_category(const struct dict *d, uint16_t hook)
{
	return hook < d->hooks.n ? d->hooks.at[hook].category : (uint8_t)CAT_COUNT;
}

/* Returns whether the hooked function waits for all work of a stream, context or device. */
bool dict_waits_for_work(const struct dict *d, uint16_t hook);

/* Returns the index in `names` of a DICT_STRING's text; 0, which is "", for an unknown id. */
static inline uint32_t dict_string(const struct dict *d, uint32_t id)
{
	return id < d->strings.n ? d->strings.at[id] : 0;
}

/* Return NULL for an unknown id. Later calls of dict_add() invalidate the result. */
const struct module_entry *dict_module(const struct dict *d, uint32_t id);
const struct code_entry *dict_code(const struct dict *d, uint32_t id);

/*
 * Writes all frames of a stack, innermost first, encoded as in core/runtime/record.h. Returns their
 * number, 0 for an unknown stack. `flags` gets bits of enum stack_flag.
 */
#define DICT_FRAMES_MOST 2048u
size_t dict_stack(const struct dict *d, uint32_t id, uint64_t out[static DICT_FRAMES_MOST],
		  uint32_t *flags);

/* Called by dict_add(); defined in dict_stacks.c. */
void dict_add_module(struct dict *d, const struct dict_module *m);
void dict_add_code(struct dict *d, const struct dict_code *c);
void dict_add_stack(struct dict *d, const struct dict_stack *s);

#endif
