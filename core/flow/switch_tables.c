/*
 * See switch_tables.h. What compilers make of `switch`, where T is the table:
 *
 *   cmp $N, index; ja default                                    (Clang without optimization: sub)
 *   lea T(%rip), t; movslq (t, index, 4), x; add t, x; jmp *x    position-independent
 *   jmp *T(, index, 8), or mov T(, index, 8), x; jmp *x          else
 *
 * Without optimization, other instructions stand between. `lea` may stand far away, before a loop.
 */
#include "core/flow/switch_tables.h"

#include "core/util/bisect.h"

enum {
	CASES_MOST = 4096, /* a longer table is no table of a switch that people write */
	/* instructions to the jump: from the check of the index, from the last addition or load */
	CHECK_TO_JUMP_MOST = 16,
	RESULT_TO_JUMP_MOST = 3,
};

static bool is_near(size_t at, size_t index, size_t most)
{
	return at && index + 1 - at <= most;
}

static bool is_scaled(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && op->mem.base == X86_REG_INVALID &&
	       op->mem.index != X86_REG_INVALID && op->mem.scale == 8;
}

static void found(struct switch_tables *s, size_t index, uint64_t address, bool is_absolute)
{
	if (address)
		vec_push(&s->found, (struct switch_table){ index, address, (uint32_t)s->n_cases,
							   is_absolute });
}

static void note_jump(struct switch_tables *s, const cs_x86_op *to, size_t index)
{
	if (!is_near(s->checked_at, index, CHECK_TO_JUMP_MOST) || !s->n_cases ||
	    s->n_cases > CASES_MOST)
		return;
	if (is_scaled(to))
		found(s, index, (uint64_t)to->mem.disp, true);
	if (to->type != X86_OP_REG)
		return;
	if (is_near(s->loaded_at, index, RESULT_TO_JUMP_MOST) && s->loaded == to->reg)
		found(s, index, s->loaded_from, true);
	if (!is_near(s->added_at, index, RESULT_TO_JUMP_MOST) || s->sum != to->reg)
		return;
	found(s, index, s->constant[s->addend], false);
	found(s, index, s->constant[s->sum], false);
}

static void note_two_operands(struct switch_tables *s, const cs_insn *i, size_t index)
{
	const cs_x86_op *to = &i->detail->x86.operands[0], *from = &i->detail->x86.operands[1];
	bool is_compare = i->id == X86_INS_CMP || i->id == X86_INS_SUB;
	if (is_compare && from->type == X86_OP_IMM) {
		s->compared = (uint64_t)from->imm;
		s->compared_at = index + 1;
	} else if (i->id == X86_INS_LEA && from->mem.base == X86_REG_RIP) {
		s->constant[to->reg] = i->address + i->size + (uint64_t)from->mem.disp;
	} else if (i->id == X86_INS_MOV && to->type == X86_OP_REG && is_scaled(from)) {
		s->loaded_from = (uint64_t)from->mem.disp;
		s->loaded = to->reg;
		s->loaded_at = index + 1;
	} else if (i->id == X86_INS_ADD && to->type == X86_OP_REG && from->type == X86_OP_REG) {
		s->sum = to->reg;
		s->addend = from->reg;
		s->added_at = index + 1;
	}
}

void switch_tables_note(struct switch_tables *s, const cs_insn *i, size_t index)
{
	const cs_x86 *x = &i->detail->x86;
	bool is_above = i->id == X86_INS_JA || i->id == X86_INS_JAE;
	if (x->op_count == 2)
		note_two_operands(s, i, index);
	if (is_above && s->compared_at == index) {
		s->n_cases = s->compared + (i->id == X86_INS_JA);
		s->checked_at = index + 1;
	}
	if (i->id == X86_INS_JMP && x->op_count == 1)
		note_jump(s, &x->operands[0], index);
}

/* Writes the targets. Returns false unless all of them are instructions of the function. */
static bool read_targets(const struct switch_table *t, const struct flow_code *code,
			 const struct flow_instructions *all, uint64_t *out)
{
	size_t entry = t->is_absolute ? sizeof(uint64_t) : sizeof(int32_t);
	const uint8_t *at =
		code->constants ? code->constants(code->context, t->address, t->n * entry) : NULL;
	for (uint32_t i = 0; at && i < t->n; i++) {
		int32_t offset;
		memcpy(&offset, at + i * entry, sizeof(offset));
		out[i] = t->address + (uint64_t)(int64_t)offset;
		if (t->is_absolute)
			memcpy(&out[i], at + i * entry, sizeof(out[i]));
		size_t k = bisect(all->n, j, all->at[j].at < out[i]);
		if (k == all->n || all->at[k].at != out[i])
			return false;
	}
	return at;
}

static void add_targets(struct flow_instructions *to, struct flow_instruction jump,
			const uint64_t *targets, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		jump.target = targets[i];
		jump.falls_through = i + 1 < n;
		jump.leaves = false;
		vec_push(to, jump);
	}
}

void switch_tables_resolve(struct switch_tables *s, const struct flow_code *code,
			   struct flow_instructions *all)
{
	struct flow_instructions done = { 0 };
	size_t next = 0;
	if (!s->found.n)
		return;
	for (size_t i = 0; i < s->found.n; i++) {
		const struct switch_table *t = &s->found.at[i];
		uint64_t targets[CASES_MOST];
		if (t->jump < next || !read_targets(t, code, all, targets))
			continue;
		for (; next < t->jump; next++)
			vec_push(&done, all->at[next]);
		add_targets(&done, all->at[next++], targets, t->n);
	}
	for (; next < all->n; next++)
		vec_push(&done, all->at[next]);
	free(all->at);
	*all = done;
	vec_free(&s->found);
}
