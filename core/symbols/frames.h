/*
 * Stacks made readable, outside the process that had them: Python lines from the copied tables, native names and lines from the
 * files that were mapped. Everything is looked up once and kept. One owner, no locks.
 */
#ifndef CORE_FRAMES_H
#define CORE_FRAMES_H

#include "core/model/tables.h"
#include "core/symbols/stack_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a call was made, as a person would say it: the innermost frame outside libraries (one with a line if there is one), else
 * the most telling of the others: Python outside the frameworks, any Python, the outermost operator, native code with a line,
 * with a name. Sites are numbered from 1; 0: not known. Two stacks whose such frames are equal have the same site. */
struct site {
	const char *file; /* "" where not known */
	const char *function;
	uint32_t line;
	bool is_user; /* outside libraries */
};

struct frames;

/* Takes over the source. `tables` (for the working directory) may be NULL, and outlives it. */
struct frames *frames_new(struct stack_source source, const struct tables *tables);
void frames_free(struct frames *f);

/* Innermost first, merged, inlined functions included. Empty for 0 and for ids the dictionary does not have. */
struct frame_list {
	const struct frame *const *at;
	size_t n;
	bool is_truncated;
};
struct frame_list frames_of(struct frames *f, uint32_t stack);

uint32_t frames_site(struct frames *f, uint32_t stack);
const struct site *frames_site_at(const struct frames *f, uint32_t site);
uint32_t frames_n_sites(const struct frames *f); /* sites are 1..n */

/* The user's line's text without the blanks around it, "" where the file cannot be read. */
const char *frames_source(struct frames *f, const char *file, uint32_t line);

/* Objects whose functions could not be named, and why, one line each: the i-th, NULL past the last. Complete only once every
 * stack of interest has been asked for. */
const char *frames_diagnostic(const struct frames *f, size_t i);

/* The framework's operator that made the call, innermost: "aten::linear", "AddmmBackward0"; "" for none. `outermost`: the
 * one that the others are part of. */
const char *frames_operator(struct frames *f, uint32_t stack, bool outermost);

/* The operator that this frame enters, "" if it enters none. */
const char *frame_operator(const struct frame *frame);

/* enum phase_part of the frame alone: see phase_rules.h. */
uint8_t frame_phase_part(const struct frame *frame);

/* enum stack_about of the frame alone, which is number `i` from the innermost: see stack_about.h. */
uint16_t frame_about(const struct frame *frame, size_t i);

/* Of a Python function called forward: its class ("Linear"), or "forward (model.py:12)" where that is not known. Else "". */
const char *frame_module_name(const struct frame *frame);

/* All operators around a call, outermost first; how many. Texts as above. At most `most`. */
size_t frames_operators(struct frames *f, uint32_t stack, const char **out, size_t most);

#endif
