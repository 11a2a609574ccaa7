/* What a frame says about the phase of a training step that it belongs to. One table, in phase_rules.c. */
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

/* enum phase_part; PART_NONE for most frames. A scan of the table: asked once per frame, see frame_phase_part(). */
uint8_t phase_rules_match(const struct frame *frame);

/* "Adam.step" -> "step". */
const char *phase_rules_last_name(const char *function);

/* ---- phase_rules_whole.c ---- */

/* What a whole stack says, innermost frame first. */
struct phase_stack {
	uint8_t part;
	bool is_worker; /* a thread of the autograd engine made it */
	bool is_users; /* the user's own Python code stands between what decided and the call, or a library's closure */
	bool is_closures;   /* of what an optimizer's step was handed to run */
	bool is_certain;    /* frames said so; else it was guessed from operators' names */
	const char *module; /* the outermost one: see phase_rules_module(); "" for none */
};
struct phase_stack phase_rules_stack(struct frames *f, uint32_t stack);

/* Where the Python frames of two stacks part, seen from the outermost one. */
struct phase_parting {
	const struct frame *at, *other; /* NULL: that stack ends before */
	const struct frame *inner;	/* of the first stack, further in than `at`; NULL: none */
	bool is_within_module;		/* both are in the same call of one there */
};
struct phase_parting phase_rules_parting(struct frames *f, uint32_t stack, uint32_t other);

/* They do so in one function, at different lines. */
bool phase_rules_part_by_line(const struct phase_parting *p);

/* Where the two stacks part, in whatever function that is, `stack` is at a later line than `other`. */
bool phase_rules_is_behind(struct frames *f, uint32_t stack, uint32_t other);

/* The class of the nn.Module whose forward() the frame is ("Linear"; "forward (model.py:12)" where Python gives no
 * qualified names), for frames that a module's call is around; "" for others. `i` counts from the innermost frame. */
const char *phase_rules_module(const struct frame_list *list, size_t i);

#endif
