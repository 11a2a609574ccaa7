/*
 * Where one line of the user's calls a library that makes most of a step's calls (Trainer.train()), that line tells little: what tells
 * calls apart is the library's own line.
 */
#ifndef CORE_INNER_LINE_H
#define CORE_INNER_LINE_H

#include "core/analysis/timeline.h"

/* That line's site; 0: no line of the user's makes more than half of all launches. */
uint32_t inner_line_site(const struct timeline *t);

/* The innermost line that Python runs in a library which is not PyTorch itself, further in than the user's own; NULL: none. */
const struct frame *inner_line_of(struct frames *f, uint32_t stack);

/* The same line, or both NULL. */
bool inner_line_same(const struct frame *a, const struct frame *b);

#endif
