/*
 * Reads the stacks of calls for the loops around them. Each frame is looked up once, each stack is
 * built once. A frame's loops come from the control flow of its function (core/flow).
 *
 * Frames of the Python interpreter are left out: its evaluator's own place says nothing. So are
 * the dispatchers of pybind11 and nanobind, and native frames outside of a Python frame.
 */
#ifndef CORE_LOOP_STACKS_H
#define CORE_LOOP_STACKS_H

#include "core/flow/flow.h"
#include "core/source/journal/dict.h"
#include "core/source/journal/functions.h"
#include "core/util/map.h"
#include "core/util/vec.h"

#define LOOP_NONE    UINT32_MAX
#define LOOP_SEVERAL (UINT32_MAX - 1)

enum loop_frame_is {
	LOOP_FRAME_PYTHON = 1,
	LOOP_FRAME_LIBRARY = 2,	  /* an installed package or the standard library */
	LOOP_FRAME_FRAMEWORK = 4, /* PyTorch itself, which has no loop of steps */
	LOOP_FRAME_STEP = 8,	  /* an optimizer's step */
	LOOP_FRAME_ZERO = 16,	  /* zero_grad() */
	LOOP_FRAME_FORWARD = 32,  /* a module's call */
	LOOP_FRAME_INPUT = 64,	  /* a data loader */
};

struct loop_frame {
	uint64_t raw; /* see core/runtime/record.h */
	uint64_t at;  /* the place in the function, as `flow` counts places */
	const struct flow *flow;
	uint32_t function; /* index of the function; frames of one function have the same */
	uint8_t is;	   /* bits of enum loop_frame_is */
	bool is_hidden;	   /* the frame does not count */
	/* Native code without a known function: it is not known what comes after what. */
	bool is_opaque;
};

/* What calls the functions make that are called at one place. */
struct loop_calls {
	bool in_loops, outside_loops; /* in loops of these functions, outside of them */
	bool works;		      /* not only calls of upkeep */
};

struct loop_stack;

/* A loop of a function that is called from one place: where it may go round, not that it does. */
struct loop_place {
	uint32_t frame;	 /* one of the frames whose calls the loop contains */
	uint32_t number; /* in the control flow of the frame's function */
	uint32_t outer;	 /* the node of the frames that the function was called from, 0: none */
	/* The loop around it, or LOOP_NONE. Of a thread's outermost loop: see loop_births.h. */
	uint32_t parent;
	uint64_t parent_at; /* the place in the parent's function that leads to it */
	/* The innermost place around the creation of the threads that run an outermost loop. */
	uint32_t birth_place; /* LOOP_NONE: unknown or none, LOOP_SEVERAL: not always the same */
	bool is_brief;	      /* these threads end soon, but belong to no loop that is seen */
	/* What is around it: bits of enum loop_frame_is of its own and of all outer frames. */
	uint8_t within;
	bool has_inner; /* calls stand in loops within it, of the same function */
	/*
	 * Calls came again from this stack's place without an iteration, because other calls were
	 * missing in between. NULL: this did not happen. See loop_place_is_doubtful().
	 */
	const struct loop_stack *repeated;
	uint32_t repeated_level;
	/* Calls in the loop and in no loop within it, each place once. */
	VEC(struct flow_site) sites;
	VEC(struct loop_calls) calls; /* of each site */
};

/* A place at which a function makes calls. */
struct loop_body_site {
	uint64_t at;
	VEC(uint32_t) callees; /* Python functions called there, as indexes of bodies */
	bool calls_unknown;    /* also one whose bytecode is not known */
	bool works;	       /* not only calls of upkeep */
};

/* A Python function that is called from one place: see loop_bodies.h. */
struct loop_body {
	const struct flow *flow;
	bool is_library; /* of an installed package or the standard library */
	VEC(struct loop_body_site) sites;
	bool is_certain;
	uint32_t n_sites_then; /* loop_stacks.n_sites when `is_certain` was found */
};

struct loop_bodies {
	VEC(struct loop_body) all;
	struct map of_key;
};

struct loop_at {
	uint32_t level; /* index in loop_stack.frames */
	uint32_t loop;	/* index in loop_stacks.places */
};

struct loop_stack {
	uint32_t *frames; /* outermost first, without the hidden ones; indexes in `frames` */
	uint32_t *nodes;  /* for each frame: a number that stands for it and all outer frames */
	/*
	 * For each frame: Python code called it, and no function in C. false: unknown. CPython
	 * before 3.11 runs its evaluator, in C, for each call.
	 */
	bool *is_direct;
	size_t n;
	struct loop_at *loops; /* outermost first */
	size_t n_loops;
	/*
	 * The node of the innermost frame that is not of a native library: such a library chooses
	 * between kernels by size.
	 */
	uint32_t user_node;
	uint32_t step_level; /* the outermost frame of an optimizer's step, or LOOP_NONE */
	bool in_optimizer;   /* in an optimizer's step, not in a closure that evaluates the model */
	bool is_upkeep;	     /* only calls of upkeep have this stack */
};

struct loop_stacks {
	const struct dict *dict;
	struct functions *functions;
	VEC(struct loop_frame) frames;
	VEC(struct loop_place) places;
	VEC(struct loop_stack *) stacks;
	VEC(struct flow *) flows; /* of Python code */
	struct loop_bodies bodies;
	struct map frame_of_raw, function_of_key, node_of_frame, place_of_key, stack_of_id;
	uint32_t n_nodes, n_functions;
	uint32_t n_sites; /* of all places and bodies; grows with new stacks */
};

void loop_stacks_init(struct loop_stacks *x, const struct dict *d);
void loop_stacks_free(struct loop_stacks *x);

/*
 * Who has a stack. Upkeep: calls that allocate, free, or use events and streams. An allocator that
 * reuses memory makes them in some iterations only, and a destructor after any other call. So in
 * Python code, the lack of such a call shows nothing.
 */
enum loop_caller { LOOP_OF_CALL, LOOP_OF_LAUNCH, LOOP_OF_UPKEEP, LOOP_OF_THREAD };

/* Returns the stack with this id, NULL if no frame of it counts. */
const struct loop_stack *loop_stacks_find(struct loop_stacks *x, uint32_t id,
					  enum loop_caller caller);

/* Which loop began an iteration between two calls: `level` is a frame of the second stack. */
struct loop_turn {
	uint32_t level, number;
	bool is_any;
};

/*
 * Compares the stacks of two calls that one thread made in a row. They first differ at some frame.
 * If the function of that frame leads from the first place to the second one, the program only went
 * on. If not, the innermost loop around both began an iteration. Without such a loop, the function
 * was called again: then the innermost loop around the nearest outer call that has one, unless a
 * function in C, such as map(), called it again. The answer may change as n_sites grows.
 */
struct loop_turn loop_stacks_turn(struct loop_stacks *x, const struct loop_stack *a,
				  const struct loop_stack *b);

/* Returns whether the loop only repeats what has failed with an exception. */
bool loop_place_is_retry(const struct loop_stacks *x, const struct loop_place *p);

/*
 * Returns whether a call shows each iteration of the loop: one outside of the loops within it, also
 * of those in functions that it calls, or one at another place than the call before.
 */
bool loop_place_is_sure(const struct loop_stacks *x, const struct loop_place *p);

/*
 * Returns the same for the iterations that make any call, of the loop `index`. Others may make
 * none, as when a loop polls for work: compilers make one loop of both.
 */
bool loop_place_shows_calls(const struct loop_stacks *x, uint32_t index);

/* Returns whether `at` is the loop's first instruction: in Python, the iterator of a `for`. */
bool loop_place_is_header(const struct loop_stacks *x, const struct loop_place *p, uint64_t at);

/*
 * Returns whether each iteration that goes round, or each that comes to `at`, passes another place
 * that makes calls.
 */
bool loop_place_needs_others(const struct loop_stacks *x, const struct loop_place *p, uint64_t at);

/* Returns whether each iteration of the loop `outer` comes to the loop `inner` within it. */
bool loop_place_always_has(const struct loop_stacks *x, uint32_t outer, uint32_t inner);

#endif
