/*
 * What the instructions of a function do that shows whether the compiler has unrolled a loop: which
 * functions they call with which constants, and which counters they change and test. Internal to
 * core/flow.
 */
#ifndef CORE_FLOW_NOTES_H
#define CORE_FLOW_NOTES_H

#include "core/flow/flow.h"
#include "core/util/vec.h"

#include <capstone/capstone.h>

/* The numbers of registers are below this. Places on the stack have numbers above it. */
enum { NOTE_REGISTERS = 32 };

enum note_kind {
	NOTE_CALLS,  /* `value`: equal for calls of the same function */
	NOTE_ADDS,   /* adds the constant `value` to the register */
	NOTE_SETS,   /* sets the register to the constant `value` */
	NOTE_COPIES, /* sets the register to that with the number `value`, plus a constant */
	NOTE_WRITES, /* changes the register in another way */
	NOTE_TESTS,  /* compares the register with something, or jumps by the result of NOTE_ADDS */
};

struct note {
	uint64_t at;	  /* place of the instruction */
	unsigned number;  /* of the register or the place on the stack */
	uint8_t kind;	  /* enum note_kind */
	uint8_t bytes;	  /* length of the instruction */
	bool is_argument; /* the register has an argument of calls */
	int64_t value;
};

/* In ascending order of places. */
struct notes {
	struct note *at;
	size_t n, room;
	unsigned flags; /* the number whose addition has set the flags last, plus 1; 0: none */
};

/*
 * Adds what the next instruction does. capstone has read it with details. `callee`: where it goes,
 * if it is a call; `handle`: capstone's.
 */
void notes_add(struct notes *n, enum flow_machine machine, csh handle, const cs_insn *i,
	       bool is_call, struct flow_callee callee);

#endif
