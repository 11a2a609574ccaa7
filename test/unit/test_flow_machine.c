/* The loops found in the machine code of flow/shapes.c are those of the source. */
#include "core/flow/flow.h"
#include "core/util/vec.h"
#include "test/unit/flow_object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* With these options, compilers make no copies of calls and move none out of their loops. */
static const char *const plain[] = {
	"O0.so", "O1.so", "Os.so", "no-pic-O0.so", "aarch64-O0.so", "aarch64-O1.so",
};
static const char *const optimized[] = {
	"O2.so", "O3.so", "no-pic-O2.so", "aarch64-O2.so", "aarch64-O3.so",
};
static const char *const unrolled[] = { "unroll-O2.so", "unroll-O3.so", "aarch64-unroll-O2.so" };

/* Checks the number of loops around all calls of a function. */
static void check_depth(const struct object *o, const struct flow *f, const char *function,
			const char *called, size_t depth)
{
	uint64_t at[PLACES_MOST];
	uint32_t loops[8];
	for (size_t n = places(o, function, called, at), i = 0; i < n; i++) {
		size_t found = flow_loops_around(f, flow_place(f, at[i]), loops, 8);
		if (found != depth)
			fail_msg("%s: %zu loops around %s()", function, found, called);
	}
}

/* Returns whether any call of `to` may follow one of `from` within an iteration. */
static bool is_forward(const struct object *o, const struct flow *f, const char *function,
		       const char *from, const char *to)
{
	uint64_t a[PLACES_MOST], b[PLACES_MOST];
	size_t n = places(o, function, from, a), m = places(o, function, to, b);
	bool is = false;
	for (size_t i = 0; i < n * m; i++)
		is |= flow_is_forward(f, flow_place(f, a[i / m]), flow_place(f, b[i % m]));
	return is;
}

static uint64_t only_place(const struct object *o, const char *function, const char *called)
{
	uint64_t at[PLACES_MOST];
	assert_int_equal(places(o, function, called, at), 1);
	return at[0];
}

static void check_nested(struct object *o)
{
	struct flow *f = flow_of(o, "nested", true);
	check_depth(o, f, "nested", "entry", 0);
	check_depth(o, f, "nested", "outer", 1);
	check_depth(o, f, "nested", "inner", 2);
	check_depth(o, f, "nested", "innermost", 3);
	check_depth(o, f, "nested", "outer_end", 1);
	check_depth(o, f, "nested", "leave", 0);
	assert_true(is_forward(o, f, "nested", "outer", "innermost"));
	assert_true(is_forward(o, f, "nested", "innermost", "outer_end"));
	assert_true(is_forward(o, f, "nested", "inner", "leave"));
	assert_false(is_forward(o, f, "nested", "innermost", "innermost"));
	assert_false(is_forward(o, f, "nested", "innermost", "inner"));
	assert_false(is_forward(o, f, "nested", "inner", "outer"));
	assert_false(is_forward(o, f, "nested", "outer_end", "inner"));
	flow_free(f);
}

static void check_breaks(struct object *o)
{
	struct flow *f = flow_of(o, "breaks", true);
	check_depth(o, f, "breaks", "poll_work", 1);
	check_depth(o, f, "breaks", "tail", 1);
	check_depth(o, f, "breaks", "done", 0);
	assert_true(is_forward(o, f, "breaks", "work", "tail"));
	assert_true(is_forward(o, f, "breaks", "poll_work", "done"));
	assert_false(is_forward(o, f, "breaks", "tail", "work"));
	flow_free(f);
}

static void check_one_after_the_other(struct object *o)
{
	static const char name[] = "one_after_the_other";
	struct flow *f = flow_of(o, name, true);
	assert_int_equal(flow_n_loops(f), 2);
	check_depth(o, f, name, "first_loop", 1);
	check_depth(o, f, name, "between", 0);
	check_depth(o, f, name, "second_loop", 1);
	assert_true(is_forward(o, f, name, "first_loop", "second_loop"));
	assert_false(is_forward(o, f, name, "second_loop", "second_loop"));
	flow_free(f);
}

static void check_switches(struct object *o)
{
	struct flow *f = flow_of(o, "switches", true);
	check_depth(o, f, "switches", "kind", 1);
	check_depth(o, f, "switches", "case_end", 1);
	check_depth(o, f, "switches", "other_case", 1);
	if (o->machine == FLOW_X86_64) {
		check_depth(o, f, "switches", "case_0", 1);
		check_depth(o, f, "switches", "case_6", 1);
		check_depth(o, f, "switches", "case_7", 2);
		assert_true(is_forward(o, f, "switches", "kind", "case_3"));
		assert_true(is_forward(o, f, "switches", "case_3", "case_end"));
		assert_false(is_forward(o, f, "switches", "case_3", "case_4"));
		assert_false(flow_leaves(f));
	}
	flow_free(f);
	if (o->machine != FLOW_X86_64)
		return;
	/* without the constants, the table is unknown */
	f = flow_of(o, "switches", false);
	assert_true(flow_leaves(f));
	flow_free(f);
}

static void check_launches(struct object *o)
{
	struct flow *f = flow_of(o, "launches", true);
	struct flow_site site = { only_place(o, "launches", "launch"), false };
	assert_int_equal(flow_n_loops(f), 1);
	assert_false(flow_is_always(f, 0, &site, 1));
	site.is_launch = true;
	assert_true(flow_is_always(f, 0, &site, 1));
	flow_free(f);
	f = flow_of(o, "ifs", true);
	site.at = only_place(o, "ifs", "user");
	assert_false(flow_is_always(f, 0, &site, 1));
	site.at = only_place(o, "ifs", "if_user");
	assert_true(flow_is_always(f, 0, &site, 1));
	flow_free(f);
}

static void check_tail_call(struct object *o)
{
	struct flow *f = flow_of(o, "tail_call", true);
	uint64_t at[PLACES_MOST];
	bool leaves = false;
	for (size_t n = places(o, "tail_call", "leave", at), i = 0; i < n; i++)
		leaves |= is_jump(o, at[i]);
	assert_int_equal(flow_leaves(f), leaves);
	check_depth(o, f, "tail_call", "first_loop", 1);
	check_depth(o, f, "tail_call", "leave", 0);
	flow_free(f);
	f = flow_of(o, "launches", true);
	assert_false(flow_leaves(f));
	flow_free(f);
}

/* The calls of an unrolled loop count as one. */
static void check_unrolled(struct object *o)
{
	static const struct {
		const char *function, *called;
	} rows[] = { { "repeats", "again" },
		     { "strided", "stride" },
		     { "pairs", "first" },
		     { "pairs", "then" },
		     { "each", "element" } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct flow *f = flow_of(o, rows[i].function, true);
		uint64_t at[PLACES_MOST];
		assert_int_equal(flow_n_loops(f), 1);
		check_depth(o, f, rows[i].function, rows[i].called, 1);
		for (size_t n = places(o, rows[i].function, rows[i].called, at), k = 1; k < n; k++)
			assert_int_equal(flow_place(f, at[k]), flow_place(f, at[0]));
		flow_free(f);
	}
}

static void plain_code_has_the_loops_of_the_source(void **state)
{
	struct object o = { 0 };
	if (!open_object_or_skip(&o, *state))
		return;
	check_nested(&o);
	check_breaks(&o);
	check_one_after_the_other(&o);
	check_switches(&o);
	check_launches(&o);
	check_tail_call(&o);
	check_unrolled(&o);
	close_object(&o);
}

/*
 * At -O2, GCC copies calls of nested() and breaks() to places before their loops and to other ends
 * of them, so the machine code has other loops than the source.
 */
static void optimized_code_has_the_loops_of_the_source(void **state)
{
	struct object o = { 0 };
	if (!open_object_or_skip(&o, *state))
		return;
	check_one_after_the_other(&o);
	check_switches(&o);
	check_launches(&o);
	check_tail_call(&o);
	check_unrolled(&o);
	close_object(&o);
}

static void unrolled_code_has_the_loops_of_the_source(void **state)
{
	struct object o = { 0 };
	if (!open_object_or_skip(&o, *state))
		return;
	check_unrolled(&o);
	close_object(&o);
}

/* An instruction that capstone does not know does not end the function. */
static void unknown_instructions_are_skipped(void **state)
{
	(void)state;
	static const uint8_t code[] = {
		0x90,			      /* nop */
		0xc1, 0xff, 0xff, 0xff, 0xff, /* no instruction */
		0x90,			      /* nop */
		0xeb, 0xf7,		      /* jmp to the beginning */
	};
	struct flow *f = flow_of_machine_code(&(struct flow_code){ .machine = FLOW_X86_64,
								   .at = code,
								   .bytes = sizeof(code),
								   .address = 0x1000 },
					      false);
	assert_non_null(f);
	assert_int_equal(flow_n_loops(f), 1);
	flow_free(f);
	assert_null(flow_of_machine_code(&(struct flow_code){ .machine = FLOW_X86_64 }, false));
}

/* ---- Calls that never return ---- */

enum { AT = 0x1000, FAIL = 0x2000, FAIL_SLOT = 0x3000 };

/* fail() at FAIL, and the pointer to it at FAIL_SLOT, are the only ones that never return. */
static bool is_fail(void *context, struct flow_callee callee)
{
	(void)context;
	return callee.address == (callee.is_slot ? FAIL_SLOT : FAIL);
}

#define CODE(of, code)                               \
	(&(struct flow_code){ .machine = of,         \
			      .at = code,            \
			      .bytes = sizeof(code), \
			      .address = AT,         \
			      .never_returns = is_fail })

static size_t n_loops(struct flow_code *code)
{
	struct flow *f = flow_of_machine_code(code, false);
	assert_non_null(f);
	size_t n = flow_n_loops(f);
	flow_free(f);
	return n;
}

/* Checks that the code has a loop only because of a call that never returns. */
static void check_loop(struct flow_code *code)
{
	assert_int_equal(n_loops(code), 1);
	code->never_returns = NULL;
	assert_int_equal(n_loops(code), 0);
}

/* A check before the loop calls fail(), and the middle of the loop follows the call. */
static void a_call_that_never_returns_is_no_way_into_a_loop(void **state)
{
	(void)state;
	static const uint8_t direct[] = {
		0x75, 0x07,		      /* 1000: jne 1009 */
		0x75, 0x0a,		      /* 1002: jne 100e, the header */
		0xc3, 0x90, 0x90, 0x90, 0x90, /* 1004: ret */
		0xe8, 0xf2, 0x0f, 0x00, 0x00, /* 1009: call FAIL */
		0x90,			      /* 100e: nop, the middle */
		0xeb, 0xf1,		      /* 100f: jmp 1002 */
	};
	static const uint8_t through_slot[] = {
		0x75, 0x06,			    /* 1000: jne 1008 */
		0x75, 0x0a,			    /* 1002: jne 100e, the header */
		0xc3, 0x90, 0x90, 0x90,		    /* 1004: ret */
		0xff, 0x15, 0xf2, 0x1f, 0x00, 0x00, /* 1008: call *FAIL_SLOT(%rip) */
		0x90,				    /* 100e: nop, the middle */
		0xeb, 0xf1,			    /* 100f: jmp 1002 */
	};
	static const uint8_t aarch64[] = {
		0x60, 0x00, 0x00, 0xb4, /* 1000: cbz x0, 100c */
		0x61, 0x00, 0x00, 0xb4, /* 1004: cbz x1, 1010, the header */
		0xc0, 0x03, 0x5f, 0xd6, /* 1008: ret */
		0xfd, 0x03, 0x00, 0x94, /* 100c: bl FAIL */
		0xfd, 0xff, 0xff, 0x17, /* 1010: b 1004 */
	};
	static const uint8_t aarch64_through_slot[] = {
		0x60, 0x00, 0x00, 0xb4, /* 1000: cbz x0, 100c */
		0xa1, 0x00, 0x00, 0xb4, /* 1004: cbz x1, 1018, the header */
		0xc0, 0x03, 0x5f, 0xd6, /* 1008: ret */
		0x02, 0x00, 0x00, 0xd0, /* 100c: adrp x2, 3000 */
		0x43, 0x00, 0x40, 0xf9, /* 1010: ldr x3, [x2] */
		0x60, 0x00, 0x3f, 0xd6, /* 1014: blr x3 */
		0xfb, 0xff, 0xff, 0x17, /* 1018: b 1004 */
	};
	check_loop(CODE(FLOW_X86_64, direct));
	check_loop(CODE(FLOW_X86_64, through_slot));
	check_loop(CODE(FLOW_AARCH64, aarch64));
	check_loop(CODE(FLOW_AARCH64, aarch64_through_slot));
}

static void the_ends_of_a_loop_are_its_back_edges(void **state)
{
	(void)state;
	static const uint8_t code[] = {
		0x90,	    /* 1000: nop */
		0x90,	    /* 1001: nop, the header of both loops */
		0x75, 0xfd, /* 1002: jne 1001 */
		0x90,	    /* 1004: nop */
		0x75, 0xfa, /* 1005: jne 1001 */
		0x90,	    /* 1007: nop, the header of another loop */
		0x75, 0xfd, /* 1008: jne 1007 */
		0xc3,
	};
	uint64_t ends[4] = { 0 };
	uint32_t loop;
	struct flow *f = flow_of_machine_code(CODE(FLOW_X86_64, code), false);
	assert_int_equal(flow_loops_around(f, 0x1004, &loop, 1), 1);
	assert_int_equal(flow_loop_at(f, loop), 0x1001);
	assert_int_equal(flow_loop_ends(f, loop, ends, 4), 2);
	assert_true(ends[0] + ends[1] == 0x1002 + 0x1005 && ends[0] != ends[1]);
	assert_int_equal(flow_loop_ends(f, loop, ends, 1), 1);
	assert_int_equal(flow_loops_around(f, 0x1007, &loop, 1), 1);
	assert_int_equal(flow_loop_ends(f, loop, ends, 4), 1);
	assert_int_equal(ends[0], 0x1008);
	flow_free(f);
	f = flow_of_machine_code(CODE(FLOW_X86_64, code), true);
	assert_int_equal(flow_loop_ends(f, 0, ends, 4), 0);
	flow_free(f);
}

/* The register is changed after the pointer to fail() was loaded. */
static void an_overwritten_register_is_not_called(void **state)
{
	(void)state;
	static const uint8_t code[] = {
		0x60, 0x00, 0x00, 0xb4, /* 1000: cbz x0, 100c */
		0xc1, 0x00, 0x00, 0xb4, /* 1004: cbz x1, 101c, the header */
		0xc0, 0x03, 0x5f, 0xd6, /* 1008: ret */
		0x02, 0x00, 0x00, 0xd0, /* 100c: adrp x2, 3000 */
		0x43, 0x00, 0x40, 0xf9, /* 1010: ldr x3, [x2] */
		0xe3, 0x03, 0x04, 0xaa, /* 1014: mov x3, x4 */
		0x60, 0x00, 0x3f, 0xd6, /* 1018: blr x3 */
		0xfa, 0xff, 0xff, 0x17, /* 101c: b 1004 */
	};
	assert_int_equal(n_loops(CODE(FLOW_AARCH64, code)), 0);
}

static void a_function_without_a_way_back_never_returns(void **state)
{
	(void)state;
	static const uint8_t returns[] = { 0xe8, 0xfb, 0x0f, 0, 0, 0xc3 }; /* call FAIL; ret */
	static const uint8_t calls_last[] = { 0x90, 0xe8, 0xfa, 0x2f, 0, 0 };
	static const uint8_t spins[] = { 0x90, 0xeb, 0xfd };
	static const uint8_t traps[] = { 0x90, 0x0f, 0x0b };
	static const uint8_t jumps_to_fail[] = { 0xe9, 0xfb, 0x0f, 0, 0 };
	static const uint8_t jumps_through_slot[] = { 0xff, 0x25, 0xfa, 0x1f, 0, 0 };
	static const uint8_t jumps_away[] = { 0xe9, 0xfb, 0x2f, 0, 0 };
	static const uint8_t jumps_away_sometimes[] = { 0x75, 0x40, 0x0f, 0x0b };
	static const uint8_t jumps_by_register[] = { 0xff, 0xe0 };
	static const uint8_t runs_on[] = { 0x90, 0x90 };
	assert_true(flow_may_return(CODE(FLOW_X86_64, returns)));
	assert_false(flow_may_return(CODE(FLOW_X86_64, calls_last)));
	assert_false(flow_may_return(CODE(FLOW_X86_64, spins)));
	assert_false(flow_may_return(CODE(FLOW_X86_64, traps)));
	assert_false(flow_may_return(CODE(FLOW_X86_64, jumps_to_fail)));
	assert_false(flow_may_return(CODE(FLOW_X86_64, jumps_through_slot)));
	assert_true(flow_may_return(CODE(FLOW_X86_64, jumps_away)));
	assert_true(flow_may_return(CODE(FLOW_X86_64, jumps_away_sometimes)));
	assert_true(flow_may_return(CODE(FLOW_X86_64, jumps_by_register)));
	assert_true(flow_may_return(CODE(FLOW_X86_64, runs_on)));
	assert_true(flow_may_return(&(struct flow_code){ .machine = FLOW_X86_64 }));
}

static void the_slot_of_a_stub_is_found(void **state)
{
	(void)state;
	static const uint8_t lazy[] = {
		0xff, 0x25, 0xfa, 0x1f, 0x00, 0x00, /* jmp *FAIL_SLOT(%rip) */
		0x68, 0x00, 0x00, 0x00, 0x00,	    /* push $0 */
		0xe9, 0xe0, 0xff, 0xff, 0xff,	    /* jmp to the first stub */
	};
	static const uint8_t cet[] = {
		0xf3, 0x0f, 0x1e, 0xfa,		    /* endbr64 */
		0xf2, 0xff, 0x25, 0xf5, 0x1f, 0, 0, /* bnd jmp *FAIL_SLOT(%rip) */
		0x0f, 0x1f, 0x44, 0,	0,	    /* nop */
	};
	static const uint8_t aarch64[] = {
		0x5f, 0x24, 0x03, 0xd5, /* bti c */
		0x10, 0x00, 0x00, 0xd0, /* adrp x16, 3000 */
		0x11, 0x02, 0x40, 0xf9, /* ldr x17, [x16] */
		0x10, 0x02, 0x00, 0x91, /* add x16, x16, #0 */
		0x20, 0x02, 0x1f, 0xd6, /* br x17 */
	};
	static const uint8_t calls_first[] = { 0xe8, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0 };
	static const uint8_t jumps[] = { 0xe9, 0xfb, 0x0f, 0, 0 };
	assert_int_equal(flow_stub_slot(CODE(FLOW_X86_64, lazy)), FAIL_SLOT);
	assert_int_equal(flow_stub_slot(CODE(FLOW_X86_64, cet)), FAIL_SLOT);
	assert_int_equal(flow_stub_slot(CODE(FLOW_AARCH64, aarch64)), FAIL_SLOT);
	assert_int_equal(flow_stub_slot(CODE(FLOW_X86_64, calls_first)), 0);
	assert_int_equal(flow_stub_slot(CODE(FLOW_X86_64, jumps)), 0);
}

#define ADD(test, names) \
	FLOW_OBJECT_TESTS(tests + n, sizeof(tests) / sizeof(*tests) - n, test, names)

int main(void)
{
	struct CMUnitTest tests[128] = {
		cmocka_unit_test(unknown_instructions_are_skipped),
		cmocka_unit_test(a_call_that_never_returns_is_no_way_into_a_loop),
		cmocka_unit_test(the_ends_of_a_loop_are_its_back_edges),
		cmocka_unit_test(an_overwritten_register_is_not_called),
		cmocka_unit_test(a_function_without_a_way_back_never_returns),
		cmocka_unit_test(the_slot_of_a_stub_is_found),
	};
	size_t n = 6;
	n += ADD(plain_code_has_the_loops_of_the_source, plain);
	n += ADD(optimized_code_has_the_loops_of_the_source, optimized);
	n += ADD(unrolled_code_has_the_loops_of_the_source, unrolled);
	return _cmocka_run_group_tests("test_flow_machine", tests, n, NULL, NULL);
}
