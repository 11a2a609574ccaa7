/*
 * See unwind_bp.h. Two kinds of evidence:
 *
 * 1. The function's first instructions: they save bp, set it, save other registers and make room
 *    for variables. Their sum is the distance from sp to the record, unless the function moves sp
 *    later. All code that uses bp begins in this way, with other instructions between if it was
 *    optimized.
 * 2. The return address: it follows a call instruction whose target is the function. Old records
 *    that are still on the stack are not taken for the function's, unless they are of the same
 *    function.
 */
#include "preload/unwind_bp.h"

#include <string.h>

#if defined(__x86_64__)

enum {
	RECORD_BYTES = 16,
	SCAN_WORDS = 1024, /* frames of more than 8 KiB are found by their first instructions */
	CODE_BYTES = 48,   /* of the first instructions */
	LONGEST_BYTES = 8, /* of one of them */
	PART_BYTES = 512,  /* of a function's code that are looked at together */
	SEARCHED_BYTES = 1 << 16,
	CALL_BYTES = 7,	 /* the longest call instruction */
	JUMP_BYTES = 11, /* of a PLT entry, up to its jump's target */
};

static uint64_t word_at(const struct stack_window *w, uint64_t at)
{
	return *(const uint64_t *)(uintptr_t)(at + w->delta);
}

static bool is_in(const struct stack_window *w, uint64_t at, uint64_t bytes)
{
	return at >= w->lo && !(at & 7) && at < w->hi && w->hi - at >= bytes;
}

static int32_t half_at(const uint8_t *at)
{
	int32_t half;
	memcpy(&half, at, sizeof(half));
	return half;
}

/* ---- The function ---- */

/* Returns where the function begins that contains `key`, by the object's sorted table of unwind
 * information; 0: unknown. */
static uint64_t function_of(uint64_t key)
{
	struct object o;
	struct {
		uint8_t version, eh_frame, count, table;
		int32_t eh_frame_at;
		uint32_t n;
	} header = { 0 };
	struct {
		int32_t begin, information;
	} row;
	if (!object_find(key, &o) || !o.header || !memory_copy(o.header, &header, sizeof(header)) ||
	    header.version != 1 || header.count != 3 || header.table != 0x3b)
		return 0;
	uint64_t rows = o.header + sizeof(header);
	uint32_t low = 0, high = header.n; /* the row is in [low, high) */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (!memory_copy(rows + 8ull * middle, &row, sizeof(row)))
			return 0;
		if (o.header + (uint64_t)(int64_t)row.begin <= key)
			low = middle;
		else
			high = middle;
	}
	if (!header.n || !memory_copy(rows + 8ull * low, &row, sizeof(row)))
		return 0;
	uint64_t begin = o.header + (uint64_t)(int64_t)row.begin;
	return begin <= key ? begin : 0;
}

/* Skips `text` if the code begins with it. */
static bool skip(const uint8_t **at, const char *text, size_t n)
{
	bool is_here = !memcmp(*at, text, n);
	*at += is_here ? n : 0;
	return is_here;
}

/* Returns how many bytes the operands of an instruction take, from its byte ModRM on. */
static unsigned operand_bytes(const uint8_t *modrm)
{
	unsigned mode = modrm[0] >> 6, base = modrm[0] & 7, bytes = 1;
	if (mode == 3)
		return bytes;
	if (base == 4) {
		bytes++;
		base = modrm[1] & 7;
	}
	if (mode == 1)
		return bytes + 1;
	return bytes + (mode == 2 || base == 5 ? 4 : 0);
}

/*
 * Skips a mov, lea, xor or test that leaves sp and bp. Optimizing compilers put these between the
 * instructions that make the frame.
 */
static bool skip_other(const uint8_t **at)
{
	enum { MOV_TO_RM = 0x89, MOV_TO_REG = 0x8b, LEA = 0x8d, XOR_TO_RM = 0x31, TEST = 0x85 };
	const uint8_t *code = *at;
	unsigned rex = (*code & 0xf0) == 0x40 ? *code++ : 0, reg, to;
	reg = (code[1] >> 3 & 7) | (rex & 4) << 1;
	to = code[1] >> 6 == 3 ? (code[1] & 7) | (rex & 1) << 3 : UINT32_MAX;
	switch (code[0]) {
	case MOV_TO_REG:
	case LEA:
		to = reg;
		break;
	case MOV_TO_RM:
	case XOR_TO_RM:
	case TEST:
		break;
	default:
		return false;
	}
	if (to == 4 || to == 5) /* sp, bp */
		return false;
	*at = code + 1 + operand_bytes(code + 1);
	return true;
}

/*
 * Returns whether the code may move sp: `sub` or `and` of sp. Looks for their bytes anywhere, so it
 * may be wrong if it says yes.
 */
static bool may_move_sp(uint64_t code, uint64_t end)
{
	uint8_t part[PART_BYTES];
	if (end - code > SEARCHED_BYTES)
		return true;
	for (uint64_t n; code + 3 <= end; code += n - 2) {
		n = end - code < sizeof(part) ? end - code : sizeof(part);
		if (!memory_copy(code, part, n))
			return true;
		for (const uint8_t *at = part; at + 3 <= part + n; at++) {
			bool is_sub = at[1] == 0x29 && (at[2] & 0xc7) == 0xc4;
			bool is_of_number = (at[1] == 0x81 || at[1] == 0x83) &&
					    (at[2] == 0xec || at[2] == 0xe4);
			if ((at[0] & 0xfb) == 0x48 && (is_sub || is_of_number))
				return true;
		}
		if (n == end - code)
			break;
	}
	return false;
}

/*
 * Returns how far sp is below the frame record after the function's first instructions, up to
 * `key`. UINT64_MAX: they are others, or sp may have moved since.
 */
static uint64_t depth_of(uint64_t function, uint64_t key)
{
	uint8_t code[CODE_BYTES];
	const uint8_t *at = code, *last = code + sizeof(code) - 2 * LONGEST_BYTES;
	uint64_t depth = 0;
	if (!memory_copy(function, code, sizeof(code)))
		return UINT64_MAX;
	skip(&at, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
	if (!skip(&at, "\x55", 1))	  /* push %rbp */
		return UINT64_MAX;
	while (at <= last && skip_other(&at))
		;
	if (!skip(&at, "\x48\x89\xe5", 3) && !skip(&at, "\x48\x8b\xec", 3)) /* mov %rsp,%rbp */
		return UINT64_MAX;
	while (at <= last) {
		/* push %r12 to %r15, push %rbx */
		if (at[0] == 0x41 && at[1] >= 0x54 && at[1] <= 0x57)
			at += 2;
		else if (at[0] == 0x53)
			at++;
		else if (skip_other(&at))
			continue;
		else
			break;
		depth += 8;
	}
	if (skip(&at, "\x48\x83\xec", 3)) /* sub $n,%rsp */
		depth += (uint64_t)(int64_t)(int8_t)*at;
	else if (skip(&at, "\x48\x81\xec", 3))
		depth += (uint64_t)(int64_t)half_at(at);
	else if (skip(&at, "\x48\x83\xc4", 3)) /* add $-n,%rsp */
		depth -= (uint64_t)(int64_t)(int8_t)*at;
	uint64_t rest = function + (uint64_t)(at - code);
	return key > rest && may_move_sp(rest, key) ? UINT64_MAX : depth;
}

/* ---- The return address ---- */

/* Returns where the jump of a PLT entry leads; `target` if it is no PLT entry. */
static uint64_t through_plt(uint64_t target)
{
	uint8_t code[JUMP_BYTES];
	const uint8_t *at = code;
	uint64_t to;
	if (!memory_copy(target, code, sizeof(code)))
		return target;
	skip(&at, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
	skip(&at, "\xf2", 1);		  /* bnd */
	if (!skip(&at, "\xff\x25", 2))	  /* jmp *n(%rip) */
		return target;
	uint64_t next = target + (uint64_t)(at + 4 - code);
	return memory_copy(next + (uint64_t)(int64_t)half_at(at), &to, sizeof(to)) ? to : target;
}

/* Returns whether an indirect call instruction ends at `end`. */
static bool is_indirect_call(const uint8_t *end)
{
	for (int bytes = 2; bytes <= CALL_BYTES; bytes++) {
		const uint8_t *at = end - bytes;
		unsigned mode = at[1] >> 6, base = at[1] & 7;
		int needs = 2;
		if (at[0] != 0xff || (at[1] >> 3 & 7) != 2)
			continue;
		if (mode != 3 && base == 4)
			needs += 1;
		if (mode == 1)
			needs += 1;
		if (mode == 2 || (!mode && base == 5) ||
		    (!mode && base == 4 && bytes == CALL_BYTES && (at[2] & 7) == 5))
			needs += 4;
		if (needs == bytes)
			return true;
	}
	return false;
}

enum call { NO_CALL, CALL_OF_OTHER, INDIRECT_CALL, CALL_OF_FUNCTION };

/* Returns what the instruction before the return address `to` is. */
static enum call call_before(uint64_t to, uint64_t function)
{
	uint8_t code[CALL_BYTES];
	const uint8_t *end = code + sizeof(code);
	uint64_t target;
	struct object o;
	if (to < 0x1000 || to >> 47 || !object_find(to - 1, &o) ||
	    !memory_copy(to - sizeof(code), code, sizeof(code)))
		return NO_CALL;
	if (end[-6] == 0xff && end[-5] == 0x15) { /* call *n(%rip) */
		uint64_t from = to + (uint64_t)(int64_t)half_at(end - 4);
		return memory_copy(from, &target, sizeof(target)) && target == function
			       ? CALL_OF_FUNCTION
			       : INDIRECT_CALL;
	}
	if (end[-5] == 0xe8) {
		target = to + (uint64_t)(int64_t)half_at(end - 4);
		if (target == function || through_plt(target) == function)
			return CALL_OF_FUNCTION;
		return CALL_OF_OTHER;
	}
	return is_indirect_call(end) ? INDIRECT_CALL : NO_CALL;
}

/* Returns how far sp is below the function's frame record; UINT64_MAX: unknown. */
static uint64_t find_record(uint64_t key, uint64_t sp, const struct stack_window *window)
{
	uint64_t function = function_of(key),
		 depth = function ? depth_of(function, key) : UINT64_MAX;
	if (!function)
		return UINT64_MAX;
	/* A function may also be reached by a jump, from the function that was called. So any call
	 * will do. */
	if (depth < window->hi && is_in(window, sp + depth, RECORD_BYTES) &&
	    call_before(word_at(window, sp + depth + 8), function) != NO_CALL)
		return depth;
	for (uint64_t at = sp, i = 0; i < SCAN_WORDS && is_in(window, at, RECORD_BYTES);
	     i++, at += 8)
		if (call_before(word_at(window, at + 8), function) == CALL_OF_FUNCTION)
			return at - sp;
	return UINT64_MAX;
}

uint64_t bp_find_end(struct bp_known *known, uint32_t generation, uint64_t key, uint64_t sp,
		     const struct stack_window *window)
{
	if (known->generation != generation)
		*known = (struct bp_known){ .generation = generation };
	__typeof__(&known->at[0]) k = &known->at[key * 0x9E3779B97F4A7C15u >> 56];
	/* the same call of the same function: it has moved sp as far as then, unless the word is an
	 * old one on the stack */
	if (k->key == key && is_in(window, sp + k->depth, RECORD_BYTES) &&
	    word_at(window, sp + k->depth + 8) == k->return_word)
		return sp + k->depth + RECORD_BYTES;
	uint64_t depth = find_record(key, sp, window);
	if (depth == UINT64_MAX)
		return 0;
	k->key = key;
	k->depth = depth;
	k->return_word = word_at(window, sp + depth + 8);
	return sp + depth + RECORD_BYTES;
}

#else

uint64_t bp_find_end(struct bp_known *known, uint32_t generation, uint64_t key, uint64_t sp,
		     const struct stack_window *window)
{
	(void)known;
	(void)generation;
	(void)key;
	(void)sp;
	(void)window;
	return 0;
}

#endif
