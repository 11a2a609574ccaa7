/* Finds the phase of a training step that a frame or stack belongs to. The table is in
 * phase_rules.c. */
#ifndef CORE_PHASE_RULES_H
#define CORE_PHASE_RULES_H

#include "core/symbols/frames.h"

#include <stdint.h>

/*        id         name */
#define PHASES(X)                 \
	X(DATA, "data")           \
	X(FORWARD, "forward")     \
	X(BACKWARD, "backward")   \
	X(OPTIMIZER, "optimizer") \
	X(OTHER, "other")

enum phase {
#define X(id, name) PHASE_##id,
	PHASES(X)
#undef X
		PHASES_N
};

/*        id         phase      name: "" is the phase's plain part */
#define PHASE_PARTS(X)                             \
	X(NONE, OTHER, "")                         \
	X(LOADER, DATA, "loader")                  \
	X(AWAITED, DATA, "waiting for DataLoader") \
	X(TO_DEVICE, DATA, "batch to device")      \
	X(MODULE, FORWARD, "")                     \
	X(FUNCTIONAL, FORWARD, "")                 \
	X(EVALUATION, FORWARD, "evaluation")       \
	X(BACKWARD, BACKWARD, "")                  \
	X(WORKER, BACKWARD, "")                    \
	X(RECOMPUTE, BACKWARD, "recompute")        \
	X(OPTIMIZER, OPTIMIZER, "")                \
	X(ZERO_GRAD, OPTIMIZER, "zero_grad")       \
	X(CLIP, OPTIMIZER, "gradient clipping")    \
	X(SCALER, OPTIMIZER, "gradient scaler")    \
	X(SCHEDULER, OPTIMIZER, "learning rate")   \
	X(AVERAGE, OPTIMIZER, "weight averaging")  \
	X(COMPILE, OTHER, "compilation")           \
	X(GRAPH, OTHER, "graph replay")            \
	X(PRINT, OTHER, "printing")                \
	X(FILE, OTHER, "saving and loading")       \
	X(USER, OTHER, "")

enum phase_part {
#define X(id, phase, name) PART_##id,
	PHASE_PARTS(X)
#undef X
		PHASE_PARTS_N
};

enum phase phase_of_part(uint8_t part);
const char *phase_name(enum phase phase);
const char *phase_part_name(uint8_t part);

/* Returns a frame's enum phase_part; PART_NONE for most frames. Scans the table, so it is called
 * once per frame, see frame_phase_part(). */
uint8_t phase_rules_match(const struct frame *frame);

/* "Adam.step" -> "step". */
const char *phase_rules_last_name(const char *function);

/* ---- phase_rules_whole.c ---- */

/* The phase of a whole stack. */
struct phase_stack {
	uint8_t part;
	bool is_worker; /* of a thread of the autograd engine */
	/* Python code of the user, or a closure of a library, is between the frame that decided
	 * `part` and the call */
	bool via_user_code;
	bool in_closure;    /* in the closure that an optimizer's step was given to run */
	bool is_certain;    /* decided by frames; else guessed from operator names */
	const char *module; /* the outermost one: see phase_rules_module(); "": none */
};
struct phase_stack phase_rules_stack(struct frames *f, uint32_t stack);

/* Where the Python frames of two stacks first differ, from the outermost one inwards. */
struct phase_parting {
	const struct frame *at, *other; /* NULL: that stack has no further frame */
	const struct frame *inner;	/* the first stack's next frame inside `at`; NULL: none */
	bool is_within_module;		/* both are inside the same call of a module */
};
struct phase_parting phase_rules_parting(struct frames *f, uint32_t stack, uint32_t other);

/* Returns whether they differ at two lines of the same function. */
bool phase_rules_differ_by_line(const struct phase_parting *p);

/* Returns whether the two stacks differ by line and `stack` is at the later line. */
bool phase_rules_is_after(struct frames *f, uint32_t stack, uint32_t other);

/* If the frame is the forward() of an nn.Module that was called as a module, returns its class
 * ("Linear"; without qualified names "forward (model.py:12)"). Else "". `i` counts from the
 * innermost frame. */
const char *phase_rules_module(const struct frame_list *list, size_t i);

#endif
