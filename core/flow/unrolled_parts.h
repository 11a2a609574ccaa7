/* What the files of unrolled.h share. */
#ifndef CORE_FLOW_UNROLLED_PARTS_H
#define CORE_FLOW_UNROLLED_PARTS_H

#include "core/flow/unrolled.h"

enum {
	ARGUMENTS_MOST = NOTE_REGISTERS,
	/* calls in a loop; a longer one is not unrolled: GCC stops at 200 instructions */
	BODY_MOST = 256,
};

struct call {
	const struct note *note;
	uint32_t block;
	bool is_set[ARGUMENTS_MOST]; /* the argument is a constant */
	int64_t value[ARGUMENTS_MOST];
};

typedef VEC(size_t) call_list;

/* The body of the loop that is looked at. Its calls are named by their index in `calls` here. */
struct body {
	call_list calls; /* indices in struct finder.calls; in the order in which the loop may come
			    to them, from its header on */
	call_list first; /* those that may come first */
	call_list *next; /* of a call: those that may come next, also in the next iteration */
	/* of a call: which one of the source it is; see find_kinds() */
	size_t *kind;
	size_t n_kinds;
};

struct finder {
	const struct flow *f;
	const struct notes *notes;
	uint32_t *loop_of_note; /* GRAPH_NONE: none */
	VEC(struct call) calls; /* of the function, in ascending order */
	uint32_t loop;
	struct body body;
};

/* Whether a constant and another value may be the same argument. */
enum compare { COMPARE_EXACT, COMPARE_CONSTANTS };

/* Returns whether both calls are of the same function, with the same constants as arguments. */
bool unrolled_is_same(const struct call *a, const struct call *b, enum compare how);

/* Returns the index of the first call at or after the block. */
size_t unrolled_first_call(const struct finder *x, uint32_t block);
bool unrolled_has_call(const struct finder *x, uint32_t block);

/* Returns whether each way to block `b` leads through block `a`. */
bool unrolled_dominates(const struct graph *g, uint32_t a, uint32_t b);

/* Returns the call with the number in the body. */
const struct call *unrolled_call(const struct finder *x, size_t number);

/*
 * Fills in x->body, without kinds. Returns false if the loop has no copies: fewer than two calls,
 * or too many, or calls that only handlers of exceptions make.
 */
bool unrolled_find_body(struct finder *x);
void unrolled_free_body(struct body *b);

/* Returns whether the loop's calls are `times` times the same ones. Then they have kinds. */
bool unrolled_find_kinds(struct finder *x, size_t times);

/* Returns the first call of the kind that the loop comes to. */
size_t unrolled_first_of_kind(const struct body *b, size_t kind);

/* Adds `copy` as one of the kind. */
void unrolled_add_copy(const struct finder *x, const struct call *copy, size_t kind,
		       struct call_copies *to);

/*
 * Adds the copies before the loop: of n % times iterations, and of one that the compiler has put
 * before the loop.
 */
void unrolled_add_rest(const struct finder *x, size_t times, struct call_copies *to);

#endif
