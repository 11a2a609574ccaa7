/* See notes.h. The conventions of calls are those of System V (x86-64) and AAPCS64 (aarch64). */
#include "core/flow/notes.h"

/* A register of x86-64 in its widths: those that a call keeps, those of arguments, and others. */
static const uint16_t registers_x86[][4] = {
	{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL },
	{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
	{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
	{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
	{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
	{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
	{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
	{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
	{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL },
	{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL },
	{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
	{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
	{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL },
	{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
	{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
};

enum { KEPT_X86 = 6, KEPT_OR_ARGUMENTS_X86 = 12, ALL_X86 = 15, ARGUMENTS_AARCH64 = 8 };

/* Returns the number of a register, NOTE_REGISTERS if it is not one of those that matter. */
static unsigned number_of(enum flow_machine machine, unsigned reg)
{
	if (machine == FLOW_X86_64) {
		for (unsigned i = 0; i < ALL_X86; i++)
			for (unsigned width = 0; width < 4; width++)
				if (registers_x86[i][width] == reg)
					return i;
		return NOTE_REGISTERS;
	}
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W28)
		return reg - ARM64_REG_W0;
	return reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28 ? reg - ARM64_REG_X0 : NOTE_REGISTERS;
}

/*
 * Returns the number of what an operand stands for: a register, or a place on the stack, which has
 * a number above NOTE_REGISTERS.
 */
static unsigned number_of_x86(const cs_x86_op *op)
{
	if (op->type == X86_OP_REG)
		return number_of(FLOW_X86_64, op->reg);
	bool is_stack = op->type == X86_OP_MEM && op->mem.index == X86_REG_INVALID &&
			(op->mem.base == X86_REG_RSP || op->mem.base == X86_REG_RBP);
	if (!is_stack || op->mem.disp < INT32_MIN / 4 || op->mem.disp > INT32_MAX / 4)
		return NOTE_REGISTERS;
	return NOTE_REGISTERS + 1 + ((unsigned)(op->mem.disp - INT32_MIN / 4) << 1) +
	       (op->mem.base == X86_REG_RSP);
}

static void push(struct notes *n, enum flow_machine machine, const cs_insn *i, enum note_kind kind,
		 unsigned number, int64_t value)
{
	bool is_argument = machine == FLOW_X86_64
				   ? number >= KEPT_X86 && number < KEPT_OR_ARGUMENTS_X86
				   : number < ARGUMENTS_AARCH64;
	if (number != NOTE_REGISTERS)
		vec_push(n, ((struct note){ .at = i->address,
					    .kind = (uint8_t)kind,
					    .bytes = (uint8_t)i->size,
					    .number = number,
					    .is_argument = is_argument,
					    .value = value }));
}

/* What an instruction does with its first operand. */
struct change {
	enum note_kind kind; /* one that changes the register */
	unsigned number;     /* NOTE_REGISTERS: of nothing that matters */
	int64_t value;
	bool sets_flags;
};

static struct change change_x86(const cs_insn *i)
{
	const cs_x86 *x = &i->detail->x86;
	const cs_x86_op *to = &x->operands[0], *from = &x->operands[1];
	struct change c = { .kind = NOTE_WRITES, .number = NOTE_REGISTERS };
	if (!x->op_count || !(to->access & CS_AC_WRITE))
		return c;
	c.number = number_of_x86(to);
	bool is_constant = x->op_count == 2 && from->type == X86_OP_IMM;
	bool is_same = x->op_count == 2 && from->type == X86_OP_REG && from->reg == to->reg;
	bool is_step = i->id == X86_INS_INC || i->id == X86_INS_DEC;
	if ((is_constant && (i->id == X86_INS_ADD || i->id == X86_INS_SUB)) || is_step) {
		int64_t by = is_step ? 1 : from->imm;
		bool is_down = i->id == X86_INS_SUB || i->id == X86_INS_DEC;
		return (struct change){ NOTE_ADDS, c.number, is_down ? -by : by, true };
	}
	if (i->id == X86_INS_LEA && from->mem.index == X86_REG_INVALID) {
		unsigned base = number_of(FLOW_X86_64, from->mem.base);
		if (base == c.number)
			return (struct change){ NOTE_ADDS, c.number, from->mem.disp, false };
		return (struct change){ NOTE_COPIES, c.number, base, false };
	}
	if (i->id == X86_INS_MOV && from->type == X86_OP_REG)
		return (struct change){ NOTE_COPIES, c.number, number_of_x86(from), false };
	if (is_constant && (i->id == X86_INS_MOV || i->id == X86_INS_MOVABS))
		return (struct change){ NOTE_SETS, c.number, from->imm, false };
	if (is_same && i->id == X86_INS_XOR)
		return (struct change){ NOTE_SETS, c.number, 0, false };
	return c;
}

static struct change change_aarch64(const cs_insn *i)
{
	const cs_arm64 *a = &i->detail->arm64;
	const cs_arm64_op *op = a->operands;
	struct change c = { .kind = NOTE_WRITES, .number = NOTE_REGISTERS };
	if (!a->op_count || op[0].type != ARM64_OP_REG || !(op[0].access & CS_AC_WRITE))
		return c;
	c.number = number_of(FLOW_AARCH64, op[0].reg);
	bool is_sum = a->op_count == 3 && (i->id == ARM64_INS_ADD || i->id == ARM64_INS_SUB) &&
		      op[1].type == ARM64_OP_REG && op[2].type == ARM64_OP_IMM &&
		      op[2].shift.type == ARM64_SFT_INVALID;
	if (is_sum && op[1].reg == op[0].reg)
		return (struct change){ NOTE_ADDS, c.number,
					i->id == ARM64_INS_SUB ? -op[2].imm : op[2].imm,
					a->update_flags };
	if (is_sum || (i->id == ARM64_INS_MOV && op[1].type == ARM64_OP_REG))
		return (struct change){ NOTE_COPIES, c.number, number_of(FLOW_AARCH64, op[1].reg),
					a->update_flags };
	if (a->op_count == 2 && i->id == ARM64_INS_MOV && op[1].type == ARM64_OP_IMM)
		return (struct change){ NOTE_SETS, c.number, op[1].imm, false };
	return c;
}

/* Adds the registers that the instruction compares. Returns whether it compares any. */
static bool add_tests(struct notes *n, enum flow_machine machine, const cs_insn *i)
{
	if (machine == FLOW_X86_64) {
		const cs_x86 *x = &i->detail->x86;
		if (i->id != X86_INS_CMP && i->id != X86_INS_TEST)
			return false;
		for (size_t k = 0; k < x->op_count; k++)
			push(n, machine, i, NOTE_TESTS, number_of_x86(&x->operands[k]), 0);
		return true;
	}
	const cs_arm64 *a = &i->detail->arm64;
	if (i->id != ARM64_INS_CMP && i->id != ARM64_INS_CMN && i->id != ARM64_INS_TST &&
	    i->id != ARM64_INS_CBZ && i->id != ARM64_INS_CBNZ)
		return false;
	for (size_t k = 0; k < a->op_count; k++)
		if (a->operands[k].type == ARM64_OP_REG)
			push(n, machine, i, NOTE_TESTS, number_of(machine, a->operands[k].reg), 0);
	return true;
}

static bool is_conditional_jump(enum flow_machine machine, const cs_insn *i)
{
	if (machine == FLOW_X86_64)
		return i->id != X86_INS_JMP &&
		       memchr(i->detail->groups, X86_GRP_JUMP, i->detail->groups_count);
	return i->id == ARM64_INS_B && i->detail->arm64.cc != ARM64_CC_INVALID &&
	       i->detail->arm64.cc != ARM64_CC_AL;
}

static bool sets_flags(enum flow_machine machine, const cs_insn *i)
{
	return machine == FLOW_X86_64 ? i->detail->x86.eflags : i->detail->arm64.update_flags;
}

/* Adds registers that the instruction changes without naming them first. */
static void add_other_writes(struct notes *n, enum flow_machine machine, csh handle,
			     const cs_insn *i, unsigned but)
{
	cs_regs read, written;
	uint8_t n_read, n_written;
	if (cs_regs_access(handle, i, read, &n_read, written, &n_written) != CS_ERR_OK)
		return;
	for (size_t k = 0; k < n_written; k++) {
		unsigned number = number_of(machine, written[k]);
		if (number != but)
			push(n, machine, i, NOTE_WRITES, number, 0);
	}
}

/* Returns a number of the call's operand: equal for calls of the same function or pointer. */
static int64_t number_of_callee(enum flow_machine machine, const cs_insn *i,
				struct flow_callee callee)
{
	if (callee.address != FLOW_NO_TARGET)
		return (int64_t)(callee.address << 1 | callee.is_slot);
	if (machine == FLOW_AARCH64)
		return -(int64_t)i->detail->arm64.operands[0].reg;
	const cs_x86_op *op = &i->detail->x86.operands[0];
	if (op->type == X86_OP_REG)
		return -(int64_t)op->reg;
	return -((int64_t)op->mem.base << 48 | (int64_t)op->mem.index << 32 |
		 (int64_t)(uint32_t)op->mem.disp);
}

void notes_add(struct notes *n, enum flow_machine machine, csh handle, const cs_insn *i,
	       bool is_call, struct flow_callee callee)
{
	if (is_call) {
		push(n, machine, i, NOTE_CALLS, 0, number_of_callee(machine, i, callee));
		n->flags = 0;
		return;
	}
	if (is_conditional_jump(machine, i) && n->flags)
		push(n, machine, i, NOTE_TESTS, n->flags - 1, 0);
	if (add_tests(n, machine, i)) {
		n->flags = 0;
		return;
	}
	struct change c = machine == FLOW_X86_64 ? change_x86(i) : change_aarch64(i);
	push(n, machine, i, c.kind, c.number, c.value);
	add_other_writes(n, machine, handle, i, c.number);
	if (c.sets_flags)
		n->flags = c.number != NOTE_REGISTERS ? c.number + 1 : 0;
	else if (sets_flags(machine, i) && !is_conditional_jump(machine, i))
		n->flags = 0;
}
