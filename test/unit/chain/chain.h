/*
 * Call chains through functions of many shapes, in several shared objects: the stacks that the
 * unwinder's tests and its benchmark walk. A chain is a list of functions; each calls the next, the
 * last one calls `leaf`.
 */
#ifndef TEST_UNIT_CHAIN_H
#define TEST_UNIT_CHAIN_H

struct chain;
typedef long chain_function(struct chain *c, long left);

struct chain {
	chain_function *const *path; /* the next function to call, moved along */
	void (*leaf)(void *arg);
	void *arg;
};

/* What each object exports as chain_functions. */
enum { CHAIN_SHAPES = 12, CHAIN_OBJECTS = 4 };

#endif
