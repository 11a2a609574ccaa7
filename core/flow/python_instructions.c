/*
 * Reads CPython's bytecode. An instruction is a unit of two bytes, number and argument; since 3.11
 * inline caches may follow it. The running interpreter replaces instructions by specialized ones
 * with the same argument and caches. It may do so while the bytecode is copied, which changes
 * nothing here: python_opcodes.def has both.
 *
 * Handlers of exceptions: see python_handlers.c.
 */
#include "core/flow/python.h"

#include "core/util/vec.h"

enum op_kind {
	OP_NONE, /* no instruction */
	OP_PLAIN,
	OP_YIELD,	 /* the function suspends, and goes on there later or never */
	OP_EXTENDED_ARG, /* the higher bits of the next instruction's argument */
	/* Conditional jumps: from the end of the instruction and its caches, or to an offset. */
	OP_BRANCH_FORWARD,
	OP_BRANCH_BACKWARD,
	OP_BRANCH_TO,
	/* Jumps without a condition, in the same order. */
	OP_JUMP_FORWARD,
	OP_JUMP_BACKWARD,
	OP_JUMP_TO,
	OP_END, /* no instruction of this function follows */
	/* A debugger or the JIT compiler keeps the real instruction elsewhere. */
	OP_HIDING,
};

struct opcode {
	uint8_t kind;	/* enum op_kind */
	uint8_t caches; /* in units of two bytes */
};

enum { MINOR_FIRST = 8, MINOR_LAST = 15, UNIT = 2, ARGUMENT_BITS = 8 };

static const struct opcode opcodes[MINOR_LAST + 1 - MINOR_FIRST][256] = {
#define OPCODES(minor, first, last, caches, kind) \
	[(minor)-MINOR_FIRST][(first)...(last)] = { (kind), (caches) },
#include "core/flow/python_opcodes.def"
#undef OPCODES
};

/* Arguments of jumps count bytes up to 3.9, and units of two bytes since 3.10. */
static uint64_t bytes_per_step(unsigned minor)
{
	return minor < 10 ? 1 : UNIT;
}

/* Returns where the instruction that ends at `next` jumps to, UINT64_MAX for a negative place. */
static uint64_t target_of(enum op_kind kind, uint64_t distance, uint64_t next)
{
	switch (kind) {
	case OP_BRANCH_FORWARD:
	case OP_JUMP_FORWARD:
		return next + distance;
	case OP_BRANCH_BACKWARD:
	case OP_JUMP_BACKWARD:
		return next < distance ? UINT64_MAX : next - distance;
	case OP_BRANCH_TO:
	case OP_JUMP_TO:
		return distance;
	default:
		return FLOW_NO_TARGET;
	}
}

static bool is_jump(enum op_kind kind)
{
	return kind >= OP_BRANCH_FORWARD && kind <= OP_JUMP_TO;
}

static bool falls_through(enum op_kind kind)
{
	return kind < OP_JUMP_FORWARD;
}

/* Returns whether an instruction begins at `place`. */
static bool is_instruction(const struct flow_instruction *rows, size_t n, uint64_t place)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rows[middle].at < place)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && rows[low].at == place;
}

static bool are_targets_right(const struct flow_instruction *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].target != FLOW_NO_TARGET && !is_instruction(rows, n, rows[i].target))
			return false;
	return true;
}

/* Writes the rows; `to` has room for one per unit. Returns how many, 0 if the bytecode is damaged
 * or hides instructions. */
static size_t read_instructions(const uint8_t *code, size_t bytes, unsigned minor,
				struct flow_instruction *to)
{
	const struct opcode *table = opcodes[minor - MINOR_FIRST];
	uint32_t argument = 0;
	size_t n = 0;
	for (size_t at = 0, next; at < bytes; at = next) {
		const struct opcode *op = &table[code[at]];
		enum op_kind kind = (enum op_kind)op->kind;
		next = at + UNIT + UNIT * (size_t)op->caches;
		if (kind == OP_NONE || kind == OP_HIDING || next > bytes)
			return 0;
		argument = argument << ARGUMENT_BITS | code[at + 1];
		uint64_t target = target_of(kind, argument * bytes_per_step(minor), next);
		if (is_jump(kind) && target >= bytes)
			return 0;
		to[n++] = (struct flow_instruction){
			.at = at,
			.target = target,
			.falls_through = falls_through(kind),
			.leaves = kind == OP_YIELD,
		};
		if (kind != OP_EXTENDED_ARG)
			argument = 0;
	}
	return are_targets_right(to, n) ? n : 0;
}

struct flow_instruction *python_instructions(const uint8_t *code, size_t bytes, unsigned version,
					     size_t *n)
{
	unsigned minor = version & 0xff;
	*n = 0;
	if (version >> 8 != 3 || minor < MINOR_FIRST || minor > MINOR_LAST || bytes % UNIT)
		return NULL;
	struct flow_instruction *rows = mem_zero(bytes / UNIT * sizeof(*rows));
	*n = read_instructions(code, bytes, minor, rows);
	if (*n)
		return rows;
	free(rows);
	return NULL;
}
