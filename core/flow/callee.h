/*
 * Finds where calls and jumps go, also those through a slot: a pointer in the Global Offset Table,
 * which the dynamic linker fills in. Internal to core/flow.
 */
#ifndef CORE_FLOW_CALLEE_H
#define CORE_FLOW_CALLEE_H

#include "core/flow/flow.h"

#include <capstone/capstone.h>

enum { CALLEE_REGISTERS = 31 };

/* What aarch64's registers hold, as instructions are read in order. All zeros is a valid start. */
struct callee_registers {
	uint64_t page[CALLEE_REGISTERS]; /* from `adrp`; 0: unknown */
	uint64_t slot[CALLEE_REGISTERS]; /* the slot that was loaded; 0: none */
};

/* Takes notice of the next instruction of aarch64, which capstone has read with details. */
void callee_note(struct callee_registers *r, const cs_insn *i);

/* Returns where a call or a jump goes. `r`: for aarch64, of the instructions before it. */
struct flow_callee callee_of(const struct callee_registers *r, enum flow_machine machine,
			     const cs_insn *i);

#endif
