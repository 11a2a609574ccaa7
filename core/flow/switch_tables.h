/*
 * Finds the targets of indirect jumps that GCC and Clang make for `switch` statements on x86-64. A
 * switch is resolved only if all entries of its table are instructions of the function. Internal to
 * core/flow.
 */
#ifndef CORE_FLOW_SWITCH_TABLES_H
#define CORE_FLOW_SWITCH_TABLES_H

#include "core/flow/flow.h"
#include "core/util/vec.h"

#include <capstone/capstone.h>

/* An array for the macros of core/util/vec.h. */
struct flow_instructions {
	struct flow_instruction *at;
	size_t n, room;
};

/* A table that a jump may go through. */
struct switch_table {
	size_t jump; /* index of the jump among the function's instructions */
	uint64_t address;
	uint32_t n;	  /* number of entries */
	bool is_absolute; /* the entries are addresses, not offsets from the table */
};

/*
 * The state while a function's instructions are read in order. All zeros is a valid start. Members
 * that end with _at are the index of an instruction plus 1; 0: there was none.
 */
struct switch_tables {
	uint64_t constant[X86_REG_ENDING]; /* of a register: the last address of a constant in it */
	uint64_t compared;		   /* the constant of the last comparison */
	size_t compared_at;
	uint64_t n_cases; /* indices that the last check of an index has let through */
	size_t checked_at;
	x86_reg sum, addend; /* registers of the last addition */
	size_t added_at;
	uint64_t loaded_from; /* table of addresses that was last read from, and the register */
	x86_reg loaded;
	size_t loaded_at;
	VEC(struct switch_table) found;
};

/* Takes notice of the next instruction, which capstone has read with details. */
void switch_tables_note(struct switch_tables *s, const cs_insn *i, size_t index);

/*
 * Replaces the indirect jumps among the instructions that are resolved by one instruction for each
 * target. Frees the contents of `s`.
 */
void switch_tables_resolve(struct switch_tables *s, const struct flow_code *code,
			   struct flow_instructions *all);

#endif
