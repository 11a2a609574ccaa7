/* Determines to which phase of a training step a frame or stack belongs. The tables are in
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

/* A part of a phase. The name is shown after the phase; "" if only the phase is shown. */
/*        id         phase      name */
#define PHASE_PARTS(X)                             \
	X(NONE, OTHER, "")                         \
	X(LOADER, DATA, "loader")                  \
	X(AWAITED, DATA, "waiting for next batch") \
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
	X(MOVE, OTHER, "model to device")          \
	X(PRINT, OTHER, "printing")                \
	X(FILE, OTHER, "saving and loading")       \
	X(METRIC, OTHER, "metrics and logging")    \
	X(USER, OTHER, "")

enum phase_part {
#define X(id, phase, name) PART_##id,
	PHASE_PARTS(X)
#undef X
		PHASE_PARTS_N
};

/* Returns the phase of an enum phase_part. */
enum phase phase_of_part(uint8_t part);
/* Returns "forward", ... for a phase. */
const char *phase_name(enum phase phase);
/* Returns the name of an enum phase_part, which may be "". */
const char *phase_part_name(uint8_t part);

/*
 * Returns the enum phase_part of a frame; PART_NONE for most frames. Searches a table, so it is
 * called only once per frame; use frame_phase_part() instead.
 */
uint8_t phase_rules_match(const struct frame *frame);

/*
 * Returns what the name of a function that the user wrote says: PART_AVERAGE for "EMA.update" or
 * "update_ema", PART_METRIC for "Accuracy.update" or "log_metrics"; PART_NONE for most functions.
 * The learning of steps does not use this, because a name is weak evidence.
 */
uint8_t phase_rules_match_name(const struct frame *frame);

/* Returns the last part of a function's name: "step" for "Adam.step". */
const char *phase_rules_last_name(const char *function);

/* ---- Whole stacks: phase_rules_whole.c ---- */

/* The phase of a whole stack. */
struct phase_stack {
	uint8_t part;	/* enum phase_part */
	bool is_worker; /* the stack is that of a thread of the autograd engine */
	/* Python code of the user, or a closure of a library, is between the call and the innermost
	 * frame that has a part */
	bool via_user_code;
	bool in_closure; /* the call was made in a closure that an optimizer's step() ran */
	/* the CPU reads a result of the operator (stack_about.h) */
	bool is_read;
	bool is_certain;    /* `part` was derived from frames; false: guessed from operator names */
	const char *module; /* the outermost module, see phase_rules_module(); "": no module */
};
struct phase_stack phase_rules_stack(struct frames *f, uint32_t stack);

/* The first difference between the Python frames of two stacks, compared from the outermost frame
 * inwards. */
struct phase_parting {
	/* the frames that differ: `at` of the stack `stack`, `other` of the stack `other`; NULL:
	 * the stack has no further frame */
	const struct frame *at, *other;
	const struct frame *inner;  /* the next frame of `stack` inside `at`; NULL: none */
	const struct frame *shared; /* the innermost frame that both stacks share; NULL: none */
	bool is_within_module; /* the difference is inside a module call that both stacks share */
};
struct phase_parting phase_rules_parting(struct frames *f, uint32_t stack, uint32_t other);

/* Returns whether the two differing frames are at two lines of the same function. */
bool phase_rules_differ_by_line(const struct phase_parting *p);

/* Returns whether the two stacks first differ at two lines of the same function, and `stack` is at
 * the later line. */
bool phase_rules_is_after(struct frames *f, uint32_t stack, uint32_t other);

/*
 * If frame `i` is the forward() of an nn.Module, and was called through the module's __call__(),
 * returns the name of the module's class, as frame_module_name() does. Otherwise returns "". `i`
 * counts from the innermost frame.
 */
const char *phase_rules_module(const struct frame_list *list, size_t i);

#endif
