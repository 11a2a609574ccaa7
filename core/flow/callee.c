/*
 * See callee.h. Calls and jumps through a slot S:
 *
 *   x86-64:  call *S(%rip), jmp *S(%rip)
 *   aarch64: adrp x, page of S; ldr y, [x, offset of S]; blr y or br y
 */
#include "core/flow/callee.h"

enum { CALLER_SAVED = 19 /* registers of aarch64 that a call may change: x0 to x18 */ };

/* Returns the register's number, CALLEE_REGISTERS if it is not one of x0 to x30. */
static size_t number_of(const cs_arm64_op *op)
{
	if (op->type != ARM64_OP_REG)
		return CALLEE_REGISTERS;
	if (op->reg == ARM64_REG_X29 || op->reg == ARM64_REG_X30)
		return op->reg == ARM64_REG_X29 ? 29 : 30;
	if (op->reg >= ARM64_REG_W0 && op->reg <= ARM64_REG_W30)
		return (size_t)(op->reg - ARM64_REG_W0);
	return op->reg >= ARM64_REG_X0 && op->reg <= ARM64_REG_X28
		       ? (size_t)(op->reg - ARM64_REG_X0)
		       : CALLEE_REGISTERS;
}

static void forget(struct callee_registers *r, size_t number)
{
	if (number < CALLEE_REGISTERS)
		r->page[number] = r->slot[number] = 0;
}

/* Returns the slot that the instruction loads, 0 if it loads none. */
static uint64_t loaded_slot(const struct callee_registers *r, const cs_arm64 *a)
{
	const cs_arm64_op *from = &a->operands[1];
	if (a->op_count != 2 || from->type != ARM64_OP_MEM || from->mem.index != ARM64_REG_INVALID)
		return 0;
	size_t base = number_of(&(cs_arm64_op){ .type = ARM64_OP_REG, .reg = from->mem.base });
	return base < CALLEE_REGISTERS && r->page[base]
		       ? r->page[base] + (uint64_t)(int64_t)from->mem.disp
		       : 0;
}

void callee_note(struct callee_registers *r, const cs_insn *i)
{
	const cs_arm64 *a = &i->detail->arm64;
	if (i->id == ARM64_INS_BL || i->id == ARM64_INS_BLR) {
		for (size_t k = 0; k < CALLER_SAVED; k++)
			forget(r, k);
		return;
	}
	size_t to = a->op_count ? number_of(&a->operands[0]) : CALLEE_REGISTERS;
	uint64_t slot = i->id == ARM64_INS_LDR ? loaded_slot(r, a) : 0;
	for (size_t k = 0; k < a->op_count; k++)
		if (a->operands[k].access & CS_AC_WRITE)
			forget(r, number_of(&a->operands[k]));
	if (to == CALLEE_REGISTERS)
		return;
	if (i->id == ARM64_INS_ADRP)
		r->page[to] = (uint64_t)a->operands[1].imm;
	if (slot)
		r->slot[to] = slot;
}

static struct flow_callee of_x86(const cs_insn *i)
{
	const cs_x86_op *to = &i->detail->x86.operands[0];
	if (i->detail->x86.op_count == 1 && to->type == X86_OP_IMM)
		return (struct flow_callee){ .address = (uint64_t)to->imm };
	if (i->detail->x86.op_count == 1 && to->type == X86_OP_MEM && to->mem.base == X86_REG_RIP &&
	    to->mem.index == X86_REG_INVALID)
		return (struct flow_callee){ i->address + i->size + (uint64_t)to->mem.disp, true };
	return (struct flow_callee){ .address = FLOW_NO_TARGET };
}

static struct flow_callee of_aarch64(const struct callee_registers *r, const cs_insn *i)
{
	const cs_arm64 *a = &i->detail->arm64;
	const cs_arm64_op *to = a->op_count ? &a->operands[a->op_count - 1] : NULL;
	size_t number = to ? number_of(to) : CALLEE_REGISTERS;
	if (to && to->type == ARM64_OP_IMM)
		return (struct flow_callee){ .address = (uint64_t)to->imm };
	if (number < CALLEE_REGISTERS && r->slot[number])
		return (struct flow_callee){ r->slot[number], true };
	return (struct flow_callee){ .address = FLOW_NO_TARGET };
}

struct flow_callee callee_of(const struct callee_registers *r, enum flow_machine machine,
			     const cs_insn *i)
{
	return machine == FLOW_X86_64 ? of_x86(i) : of_aarch64(r, i);
}
