/*
 * Resolves the stacks of a source into readable frames and finds the site of each stack. Each frame
 * is resolved once and kept. A struct frames has no locks, so only one thread at a time may use it.
 */
#ifndef CORE_FRAMES_H
#define CORE_FRAMES_H

#include "core/model/tables.h"
#include "core/symbols/stack_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The place at which a call was made. It is the innermost frame of user code whose line is known,
 * otherwise the innermost frame of user code. If there is no user code, it is the first of these
 * that the stack has: Python code outside frameworks, any Python code, the outermost operator,
 * native code whose line is known, native code whose function is known. Sites are numbered from 1;
 * 0: unknown. Calls at the same place have the same site.
 *
 * User code that only started a library's loop (frames_add_loop()) does not count. If no user code
 * was called from the loop, the site is the innermost line of an installed package, without
 * PyTorch's own lines, which are the same for all programs.
 */
struct site {
	const char *file; /* "": unknown */
	const char *function;
	uint32_t line;
	/* user code, or a package's line in a loop that user code started */
	bool is_user;
	uint32_t from; /* the site of the user's line that started the loop; 0: there is no loop */
};

struct frames;

/*
 * Takes ownership of the source. `tables`, which contain the working directory of the process, may
 * be NULL. They must outlive the result. Free the result with frames_free().
 */
struct frames *frames_new(struct stack_source source, const struct tables *tables);
void frames_free(struct frames *f);

/*
 * The frames of a stack, innermost first: Python and native frames merged, with inlined functions.
 * Owned by struct frames. Empty for stack 0 and for unknown stacks.
 */
struct frame_list {
	const struct frame *const *at;
	size_t n;
	bool is_truncated;
};
struct frame_list frames_of(struct frames *f, uint32_t stack);

/*
 * Says that the function of this frame, which belongs to a library, contains the loop of the steps
 * (core/analysis/step_loop.h). Sites of stacks through this function change, so what was looked up
 * earlier must be looked up again. Returns false if this was already known.
 */
bool frames_add_loop(struct frames *f, const struct frame *frame);

/* Returns the number of the stack's site, 0 if it is unknown. */
uint32_t frames_site(struct frames *f, uint32_t stack);
/* Returns the site with this number, which is valid until another stack is resolved. If there is no
 * such site, returns one with empty texts. */
const struct site *frames_site_at(const struct frames *f, uint32_t site);
/* Returns the number of the site of one frame of a stack, whatever frames are inside it. Adds the
 * site if it is new. */
uint32_t frames_site_of(struct frames *f, const struct frame *frame);
/* The same of another line of the frame's function. */
uint32_t frames_site_in(struct frames *f, const struct frame *frame, uint32_t line);
/* Returns the number of sites found so far. Their numbers are 1 to this number. */
uint32_t frames_n_sites(const struct frames *f);

/* Returns the text of a source line without the whitespace around it; "" if the file cannot be read
 * or has no such line. */
const char *frames_source(struct frames *f, const char *file, uint32_t line);

/* Returns whether a Python frame's line is within a `for` or `while` of its function, by the source
 * text; false if the file cannot be read. */
bool frames_is_in_loop(struct frames *f, const struct frame *frame);

/* Returns whether both frames are of the same function. Their lines may differ. */
bool frames_are_of_one_function(const struct frame *a, const struct frame *b);

/*
 * Returns one line about the `i`-th object file whose functions could not be named, with the
 * reason; NULL after the last. The list is complete only after all stacks of interest were
 * resolved.
 */
const char *frames_diagnostic(const struct frames *f, size_t i);

/*
 * Returns the framework operator in which the call was made, such as "aten::linear" or
 * "AddmmBackward0"; "" if there is none. Of nested operators, returns the innermost or, if
 * `outermost` is set, the outermost.
 */
const char *frames_operator(struct frames *f, uint32_t stack, bool outermost);

/* The functions that begin with frame_ need a frame from frames_of(). */

/* Returns the operator whose entry function this frame is; "" if there is none. */
const char *frame_operator(const struct frame *frame);

/* Returns true for a line of an installed package other than PyTorch. PyTorch's lines are the same
 * for every caller, so they distinguish nothing. The standard library does not count either. */
bool frame_is_package_code(const struct frame *frame);

/* Returns the frame's own enum phase_part, see phase_rules.h. */
uint8_t frame_phase_part(const struct frame *frame);

/* Returns the frame's own bits of enum stack_about, see stack_about.h. `i` is the frame's position
 * in its stack, from 0 for the innermost frame. */
uint32_t frame_about(const struct frame *frame, size_t i);

/*
 * For a Python method named forward, returns the name of its class, such as "Linear". If Python
 * gives no qualified name, the class is unknown and the result is a place such as "forward
 * (model.py:12)". For all other frames, returns "".
 */
const char *frame_module_name(const struct frame *frame);

/* Writes the names of all operators in which the call was made, outermost first, but at most `most`
 * names. Returns the number of names written. */
size_t frames_operators(struct frames *f, uint32_t stack, const char **out, size_t most);

#endif
