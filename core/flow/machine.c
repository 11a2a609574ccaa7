/*
 * Reads machine code with capstone. Instructions that it does not know are skipped, because newer
 * compilers may use newer ones.
 */
#include "core/flow/callee.h"
#include "core/flow/flow.h"
#include "core/flow/notes.h"
#include "core/flow/switch_tables.h"
#include "core/flow/unrolled.h"
#include "core/util/vec.h"

#include <capstone/capstone.h>

/* What one instruction does. */
struct effect {
	bool is_call, is_jump, is_conditional;
	bool ends; /* the next instruction does not follow: a return or a trap */
	bool is_return;
	bool is_test;	/* it compares something with zero */
	bool is_tested; /* a jump that depends on such a comparison */
	uint64_t target;
};

static bool has_group(const cs_insn *i, uint8_t group)
{
	return memchr(i->detail->groups, group, i->detail->groups_count);
}

static bool is_zero_x86(const cs_x86_op *op)
{
	return op->type == X86_OP_IMM && op->imm == 0;
}

static struct effect effect_x86(const cs_insn *i)
{
	const cs_x86 *x = &i->detail->x86;
	struct effect e = { .target = FLOW_NO_TARGET };
	bool is_relative = has_group(i, X86_GRP_BRANCH_RELATIVE);
	switch (i->id) {
	case X86_INS_CALL:
	case X86_INS_LCALL:
		e.is_call = true;
		return e;
	case X86_INS_RET:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRETQ:
		e.is_return = e.ends = true;
		return e;
	case X86_INS_HLT:
	case X86_INS_UD2:
		e.ends = true;
		return e;
	case X86_INS_TEST:
		e.is_test = x->op_count == 2 && x->operands[0].type == X86_OP_REG &&
			    x->operands[1].type == X86_OP_REG &&
			    x->operands[0].reg == x->operands[1].reg;
		return e;
	case X86_INS_CMP:
		e.is_test = x->op_count == 2 && is_zero_x86(&x->operands[1]);
		return e;
	case X86_INS_JMP:
	case X86_INS_LJMP:
		e.is_jump = true;
		break;
	case X86_INS_JE:
	case X86_INS_JNE:
		e.is_tested = true;
		/* fall through */
	default:
		e.is_conditional = e.is_jump = is_relative;
	}
	if (is_relative)
		e.target = (uint64_t)x->operands[0].imm;
	return e;
}

static struct effect effect_aarch64(const cs_insn *i)
{
	const cs_arm64 *a = &i->detail->arm64;
	struct effect e = { .target = FLOW_NO_TARGET };
	const cs_arm64_op *last = a->op_count ? &a->operands[a->op_count - 1] : NULL;
	bool is_flag = a->cc == ARM64_CC_EQ || a->cc == ARM64_CC_NE;
	switch (i->id) {
	case ARM64_INS_BL:
	case ARM64_INS_BLR:
		e.is_call = true;
		return e;
	case ARM64_INS_RET:
	case ARM64_INS_ERET:
		e.is_return = e.ends = true;
		return e;
	case ARM64_INS_BRK:
	case ARM64_INS_HLT:
		e.ends = true;
		return e;
	case ARM64_INS_CMP:
		e.is_test = last && last->type == ARM64_OP_IMM && last->imm == 0;
		return e;
	case ARM64_INS_TST:
		e.is_test = true;
		return e;
	case ARM64_INS_BR:
		e.is_jump = true;
		return e;
	case ARM64_INS_B:
		e.is_jump = true;
		e.is_conditional = a->cc != ARM64_CC_INVALID && a->cc != ARM64_CC_AL;
		e.is_tested = is_flag;
		break;
	case ARM64_INS_CBZ:
	case ARM64_INS_CBNZ:
		e.is_test = e.is_tested = true;
		/* fall through */
	case ARM64_INS_TBZ:
	case ARM64_INS_TBNZ:
		e.is_jump = e.is_conditional = true;
		break;
	default:
		return e;
	}
	if (last && last->type == ARM64_OP_IMM)
		e.target = (uint64_t)last->imm;
	return e;
}

/*
 * Instructions from a call to the conditional jump that tests its result. nvcc's setup call, the
 * test and the jump follow one another; without optimization, the result goes through memory.
 */
enum { CHECK_MOST = 6 };

struct reading {
	const struct flow_code *code;
	size_t call, test; /* index after the last instruction of the kind; 0: none yet */
	struct flow_instructions rows;
	struct switch_tables tables;
	struct callee_registers registers;
	struct notes *notes; /* NULL: none are wanted */
};

static struct effect effect_of(const struct flow_code *code, const cs_insn *i)
{
	if (!i->id) /* it is unknown and has no details */
		return (struct effect){ .target = FLOW_NO_TARGET };
	return code->machine == FLOW_X86_64 ? effect_x86(i) : effect_aarch64(i);
}

static bool is_inside(const struct flow_code *code, uint64_t target)
{
	return target - code->address < code->bytes;
}

static bool never_returns(const struct flow_code *code, struct flow_callee callee)
{
	return code->never_returns && callee.address != FLOW_NO_TARGET &&
	       code->never_returns(code->context, callee);
}

/* Takes notice of what later instructions need. */
static void note(struct reading *r, const cs_insn *i)
{
	if (!i->id)
		return;
	if (r->code->machine == FLOW_X86_64)
		switch_tables_note(&r->tables, i, r->rows.n);
	else
		callee_note(&r->registers, i);
}

static void read_instruction(struct reading *r, csh handle, const cs_insn *i)
{
	const struct flow_code *code = r->code;
	struct effect e = effect_of(code, i);
	size_t row = r->rows.n + 1;
	bool is_check = e.is_tested && r->call && row - r->call < CHECK_MOST &&
			(e.is_test || r->test > r->call);
	struct flow_callee callee = { .address = FLOW_NO_TARGET };
	if (e.is_call) {
		r->call = row;
		callee = callee_of(&r->registers, code->machine, i);
		e.ends = never_returns(code, callee);
	}
	if (r->notes && i->id)
		notes_add(r->notes, code->machine, handle, i, e.is_call, callee);
	if (e.is_test)
		r->test = row;
	note(r, i);
	vec_push(&r->rows,
		 (struct flow_instruction){
			 .at = i->address,
			 .target = e.target,
			 .falls_through = !e.ends && (!e.is_jump || e.is_conditional),
			 .is_check = is_check,
			 .leaves = e.is_jump && !e.is_conditional && !is_inside(code, e.target),
			 .handler = e.is_call && code->handler
					    ? code->handler(code->context, i->address)
					    : 0,
		 });
}

/* The instructions of a function, as capstone reads them one by one. */
struct cursor {
	csh handle;
	cs_insn *i;
	const uint8_t *at;
	size_t left;
	uint64_t address;
};

/* Returns whether capstone is ready to read the code. Then close_cursor() must follow. */
static bool open_cursor(const struct flow_code *code, struct cursor *c)
{
	cs_err error = code->machine == FLOW_X86_64
			       ? cs_open(CS_ARCH_X86, CS_MODE_64, &c->handle)
			       : cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &c->handle);
	if (error != CS_ERR_OK)
		return false;
	cs_option(c->handle, CS_OPT_DETAIL, CS_OPT_ON);
	cs_option(c->handle, CS_OPT_SKIPDATA, CS_OPT_ON);
	c->i = mem_check(cs_malloc(c->handle), sizeof(*c->i));
	c->at = code->at;
	c->left = code->bytes;
	c->address = code->address;
	return true;
}

static bool next(struct cursor *c)
{
	return cs_disasm_iter(c->handle, &c->at, &c->left, &c->address, c->i);
}

static void close_cursor(struct cursor *c)
{
	cs_free(c->i, 1);
	cs_close(&c->handle);
}

static struct flow_instructions read_rows(const struct flow_code *code, struct notes *notes)
{
	struct cursor c;
	struct reading r = { .code = code, .notes = notes };
	if (!open_cursor(code, &c))
		return r.rows;
	while (next(&c))
		read_instruction(&r, c.handle, c.i);
	close_cursor(&c);
	switch_tables_resolve(&r.tables, code, &r.rows);
	return r.rows;
}

/* Finds the part of the function that was moved away: jumps or exceptions lead there. */
static bool find_moved(const struct flow_code *code, const struct flow_instructions *rows,
		       struct flow_part *out)
{
	for (size_t i = 0; code->moved && i < rows->n; i++) {
		const uint64_t to[] = { rows->at[i].target, rows->at[i].handler };
		for (size_t k = 0; k < sizeof(to) / sizeof(*to); k++)
			if (to[k] && to[k] != FLOW_NO_TARGET && !is_inside(code, to[k]) &&
			    code->moved(code->context, to[k], out))
				return true;
	}
	return false;
}

/* Appends rows of one part, which does not run on into the next one. */
static void add_part(struct flow_instructions *to, const struct flow_instructions *rows,
		     const struct flow_code *other)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct flow_instruction row = rows->at[i];
		row.leaves = row.leaves && !is_inside(other, row.target);
		row.falls_through = row.falls_through && i + 1 < rows->n;
		vec_push(to, row);
	}
}

/* Adds the notes of the part that was moved, and frees them. */
static void add_notes(struct notes *to, struct notes *others, bool is_before)
{
	struct notes both = { 0 }, *const parts[] = { is_before ? others : to,
						      is_before ? to : others };
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < parts[i]->n; k++)
			vec_push(&both, parts[i]->at[k]);
	vec_free(to);
	vec_free(others);
	*to = both;
}

/*
 * Replaces the instructions of the function's first part by those of both parts. If the moved part
 * comes first, an instruction before it jumps to the function's entry.
 */
static void add_moved(const struct flow_code *code, const struct flow_part *part,
		      struct flow_instructions *rows, struct notes *notes)
{
	struct flow_code moved = *code;
	struct flow_instructions both = { 0 };
	moved.at = part->at;
	moved.bytes = part->bytes;
	moved.address = part->address;
	struct notes others_notes = { 0 };
	struct flow_instructions others = read_rows(&moved, notes ? &others_notes : NULL);
	bool is_before = part->address < code->address;
	if (notes)
		add_notes(notes, &others_notes, is_before);
	if (is_before) {
		vec_push(&both, (struct flow_instruction){ .at = part->address - 1,
							   .target = code->address });
		add_part(&both, &others, code);
	}
	add_part(&both, rows, &moved);
	if (!is_before)
		add_part(&both, &others, code);
	vec_free(&others);
	vec_free(rows);
	*rows = both;
}

struct flow *flow_of_machine_code(const struct flow_code *code, bool is_coarse)
{
	struct flow_part part;
	struct notes notes = { 0 };
	struct flow_instructions rows = read_rows(code, is_coarse ? NULL : &notes);
	if (find_moved(code, &rows, &part))
		add_moved(code, &part, &rows, is_coarse ? NULL : &notes);
	struct flow *f = flow_new(rows.at, rows.n, is_coarse);
	if (f && !is_coarse)
		unrolled_find(f, &notes);
	vec_free(&rows);
	vec_free(&notes);
	if (f)
		flow_join_copied_tests(f);
	return f;
}

bool flow_may_return(const struct flow_code *code)
{
	struct cursor c;
	struct callee_registers registers = { 0 };
	bool may = !code->bytes, runs_on = true;
	if (!open_cursor(code, &c))
		return true;
	while (!may && next(&c)) {
		struct effect e = effect_of(code, c.i);
		bool goes_on = !e.is_jump || e.is_conditional;
		may = e.is_return ||
		      (e.is_jump && !is_inside(code, e.target) &&
		       !never_returns(code, callee_of(&registers, code->machine, c.i)));
		/* the compiler has put nothing after a call only if the call never returns */
		runs_on = goes_on && !e.ends && !e.is_call;
		if (c.i->id && code->machine == FLOW_AARCH64)
			callee_note(&registers, c.i);
	}
	close_cursor(&c);
	return may || runs_on;
}

uint64_t flow_stub_slot(const struct flow_code *code)
{
	enum { INSTRUCTIONS_MOST = 8 }; /* bytes of an unknown one count as one each */
	struct cursor c;
	struct callee_registers registers = { 0 };
	struct flow_callee to = { 0 };
	if (!open_cursor(code, &c))
		return 0;
	for (int n = 0; n < INSTRUCTIONS_MOST && next(&c); n++) {
		struct effect e = effect_of(code, c.i);
		if (e.is_jump && !e.is_conditional)
			to = callee_of(&registers, code->machine, c.i);
		if (e.is_jump || e.is_call || e.ends)
			break;
		if (c.i->id && code->machine == FLOW_AARCH64)
			callee_note(&registers, c.i);
	}
	close_cursor(&c);
	return to.is_slot ? to.address : 0;
}
