/*
 * Control flow of one function, and its natural loops: found by dominators and back edges from a
 * list of its instructions. Places are addresses or bytecode offsets; what they count from is the
 * caller's choice. A struct flow does not change once it exists, so threads may share it.
 */
#ifndef CORE_FLOW_H
#define CORE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow;

#define FLOW_NO_TARGET UINT64_MAX

/* An instruction. `target` is where it may jump to; FLOW_NO_TARGET: nowhere that is known. */
struct flow_instruction {
	uint64_t at;
	uint64_t target;
	bool falls_through; /* the next instruction may follow it */
	/* A conditional jump that tests what a call has returned (see flow_is_always()). */
	bool is_check;
	/*
	 * It leaves the function by a jump: to another function, or to an unknown place.
	 * Conditional jumps out of the function do not count: they lead to a part of the same
	 * function that the compiler has moved away.
	 */
	bool leaves;
	/* Where an exception leads that is raised here; 0: out of the function. */
	uint64_t handler;
};

/*
 * Builds the control flow of `n` instructions in ascending order of `at`. Several in a row with the
 * same `at` are one jump with several targets; all but the last must fall through. The function
 * begins at the first one. If `is_coarse`, the function counts as one loop: compilers copy call
 * sites and split loops in libraries. Returns NULL if `n` is 0. The caller frees the result with
 * flow_free().
 */
struct flow *flow_new(const struct flow_instruction *at, size_t n, bool is_coarse);
void flow_free(struct flow *f);

/*
 * Makes one loop of two where the compiler has copied the test of a `while` to its end, and a
 * `continue` goes to the one at the begin. Must come before all questions.
 */
void flow_join_copied_tests(struct flow *f);

/*
 * Returns the place of the call that this one is a copy of, because the compiler has unrolled the
 * loop around it; else `at` itself. The functions below do not know places in copies.
 */
uint64_t flow_place(const struct flow *f, uint64_t at);

/* Returns the number of loops. They are numbered from 0, and an inner one before the outer ones. */
size_t flow_n_loops(const struct flow *f);

/* Writes the loops around the place `at`, innermost first, but at most `most`. Returns how many. */
size_t flow_loops_around(const struct flow *f, uint64_t at, uint32_t *out, size_t most);

/* Returns the innermost loop around both places, -1 if there is none. */
int flow_common_loop(const struct flow *f, uint64_t a, uint64_t b);

/* Returns the next loop around the loop, -1 if there is none. */
int flow_outer_loop(const struct flow *f, uint32_t loop);

/*
 * Returns whether the loop begins an iteration only after an exception: it repeats what has failed,
 * and ends as soon as that succeeds.
 */
bool flow_is_retry(const struct flow *f, uint32_t loop);

/*
 * Returns whether the loop, which is around `at`, may begin its next iteration after `at` without
 * an exception.
 */
bool flow_may_repeat(const struct flow *f, uint32_t loop, uint64_t at);

/*
 * Returns whether `b` can be reached from `a` without a new iteration of the innermost loop around
 * both. Loops inside it may begin new iterations. Not if the two places are the same.
 */
bool flow_is_forward(const struct flow *f, uint64_t a, uint64_t b);

/* A call in a loop. nvcc's launch stands after one or two tests of what its setup call returned. */
struct flow_site {
	uint64_t at;
	bool is_launch;
};

/*
 * Returns whether each iteration of the loop passes at least one of the `n` sites. Iterations that
 * an exception cuts short do not count, except in a loop of retries.
 */
bool flow_is_always(const struct flow *f, uint32_t loop, const struct flow_site *sites, size_t n);

/*
 * Returns whether the way from the place `at` to itself, by way of the loop's next iteration,
 * always passes at least one of the `n` sites. None of them is at `at`.
 */
bool flow_is_between(const struct flow *f, uint32_t loop, uint64_t at,
		     const struct flow_site *sites, size_t n);

/*
 * Returns whether the function, after the place `at`, cannot return, be called again and come back
 * to `at` without passing one of the `n` sites. Exceptions do not count. False if the function can
 * suspend, so that another call of it may run in between.
 */
bool flow_call_needs(const struct flow *f, uint64_t at, const struct flow_site *sites, size_t n);

/* Returns whether the function always passes one of the sites. Exceptions do not count. False if
 * the function can suspend. */
bool flow_always_calls(const struct flow *f, const struct flow_site *sites, size_t n);

/* Returns whether an exception at `at` may be handled in the function. */
bool flow_has_handler(const struct flow *f, uint64_t at);

/* Returns whether the loop may begin its next iteration after an exception at `at`. */
bool flow_may_recover(const struct flow *f, uint32_t loop, uint64_t at);

/* Returns the place of the loop's header, its first instruction. */
uint64_t flow_loop_at(const struct flow *f, uint32_t loop);

/*
 * Writes the places of the loop's back edges: of the instructions that begin the next iteration, at
 * most `most`. Returns how many. A coarse loop has none.
 */
size_t flow_loop_ends(const struct flow *f, uint32_t loop, uint64_t *out, size_t most);

/*
 * Writes the first and the last place of each block of the loop, at most `most` places. Returns how
 * many. A coarse loop has none.
 */
size_t flow_loop_places(const struct flow *f, uint32_t loop, uint64_t *out, size_t most);

/* Returns whether any instruction may leave the function by a jump, or suspend it. */
bool flow_leaves(const struct flow *f);

/* The bytecode of a CPython code object, as it stands in memory. */
struct flow_bytecode {
	const uint8_t *code; /* specialized and instrumented instructions included */
	size_t bytes;
	const uint8_t *exceptions; /* co_exceptiontable, since 3.11 */
	size_t exceptions_bytes;
	unsigned version; /* 0x030B for CPython 3.11 */
};

/*
 * Reads bytecode; places are offsets in bytes. Jumps of `await` and `yield from` are no loops.
 * Returns NULL for an unknown version (known: 3.8 to 3.15), for damaged bytecode, and where a
 * debugger or the JIT compiler has replaced instructions. Of a damaged exception table, the entries
 * before the damage count.
 */
struct flow *flow_of_python(const struct flow_bytecode *code);

/* Processors whose instructions can be read. */
enum flow_machine { FLOW_X86_64, FLOW_AARCH64 };

/* The function that a call or a jump goes to. */
struct flow_callee {
	uint64_t address; /* FLOW_NO_TARGET: unknown */
	bool is_slot;	  /* `address` is that of a pointer to the function */
};

/* A part of a function that stands elsewhere. */
struct flow_part {
	const uint8_t *at;
	size_t bytes;
	uint64_t address;
};

/* The machine code of a function. */
struct flow_code {
	enum flow_machine machine;
	const uint8_t *at;
	size_t bytes;
	uint64_t address; /* of the function's first byte */
	/*
	 * Returns `bytes` bytes of constants, for the tables of `switch` statements, or NULL if
	 * there are none at `address`. The function pointer may be NULL.
	 */
	const uint8_t *(*constants)(void *context, uint64_t address, size_t bytes);
	/*
	 * Returns whether the function never returns, like exit(). After a call of it, the next
	 * instruction does not follow. The function pointer may be NULL: then all calls return.
	 */
	bool (*never_returns)(void *context, struct flow_callee callee);
	/*
	 * Returns where an exception leads that a call raises, or 0: out of the function. `address`
	 * is in the call. The function pointer may be NULL: then no call raises one.
	 */
	uint64_t (*handler)(void *context, uint64_t address);
	/*
	 * Returns whether `address` is in a part of the function that the compiler has moved away,
	 * because it is seldom executed. The function pointer may be NULL: then there is none.
	 */
	bool (*moved)(void *context, uint64_t address, struct flow_part *out);
	void *context;
};

/*
 * Reads the machine code of a function; places are addresses. `is_coarse`: see flow_new(). Returns
 * NULL if it cannot be read.
 */
struct flow *flow_of_machine_code(const struct flow_code *code, bool is_coarse);

/*
 * Returns whether the function can return: its code has a return, a jump out of it to something
 * that can return, or an end that runs on into what follows. Handlers of exceptions count too,
 * although no jump leads to them. Asks code->never_returns() about jumps out of the function only.
 */
bool flow_may_return(const struct flow_code *code);

/*
 * Returns the address of the pointer that the code jumps through within a few instructions, as the
 * stubs of the Procedure Linkage Table do. Returns 0 if the code is not such a stub.
 */
uint64_t flow_stub_slot(const struct flow_code *code);

#endif
