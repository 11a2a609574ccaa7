/*
 * Resolves the stacks of a source into readable frames and finds the site of each stack. Every
 * frame is resolved once and kept. One owner, no locks.
 */
#ifndef CORE_FRAMES_H
#define CORE_FRAMES_H

#include "core/model/tables.h"
#include "core/symbols/stack_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where a call was made: the innermost frame of user code, preferably one with a line. Without user
 * code the best of the others, in this order: Python outside frameworks, any Python, the outermost
 * operator, native code with a line, native code with a name. Sites are numbered from 1; 0:
 * unknown. Stacks with the same such frame have the same site.
 */
struct site {
	const char *file; /* "": unknown */
	const char *function;
	uint32_t line;
	bool is_user; /* user code, not a library's */
};

struct frames;

/* Takes ownership of the source. `tables` (for the working directory) may be NULL, and must outlive
 * the result. */
struct frames *frames_new(struct stack_source source, const struct tables *tables);
void frames_free(struct frames *f);

/* Python and native frames merged, innermost first, with inlined functions. Empty for 0 and for
 * unknown stacks. */
struct frame_list {
	const struct frame *const *at;
	size_t n;
	bool is_truncated;
};
struct frame_list frames_of(struct frames *f, uint32_t stack);

uint32_t frames_site(struct frames *f, uint32_t stack);
const struct site *frames_site_at(const struct frames *f, uint32_t site);
uint32_t frames_n_sites(const struct frames *f); /* sites are 1..n */

/* Returns the text of a source line without the whitespace around it, "" if the file is not
 * readable. */
const char *frames_source(struct frames *f, const char *file, uint32_t line);

/* Returns one line about the i-th object whose functions could not be named, and why; NULL after
 * the last. Complete only after all stacks of interest were looked up. */
const char *frames_diagnostic(const struct frames *f, size_t i);

/* Returns the framework operator that made the call: "aten::linear", "AddmmBackward0"; "": none.
 * The innermost of nested ones, or the outermost. */
const char *frames_operator(struct frames *f, uint32_t stack, bool outermost);

/* Returns the operator that this frame is the entry of, "" if none. */
const char *frame_operator(const struct frame *frame);

/* Returns the frame's own enum phase_part, see phase_rules.h. */
uint8_t frame_phase_part(const struct frame *frame);

/* Returns the frame's own bits of enum stack_about, see stack_about.h. `i`: its position from the
 * innermost frame. */
uint16_t frame_about(const struct frame *frame, size_t i);

/* For a Python function named forward, returns its class ("Linear"), or "forward (model.py:12)" if
 * that is unknown. Else "". */
const char *frame_module_name(const struct frame *frame);

/* Writes all operators around a call, outermost first, at most `most`. Returns how many. */
size_t frames_operators(struct frames *f, uint32_t stack, const char **out, size_t most);

#endif
