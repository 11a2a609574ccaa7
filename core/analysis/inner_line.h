/*
 * Finds the line of an installed package, other than PyTorch, through which the user's code made a
 * call. In some programs a single line of the user's code, such as a call of Trainer.train(), makes
 * most of the launches. The package's lines then distinguish the launches.
 */
#ifndef CORE_INNER_LINE_H
#define CORE_INNER_LINE_H

#include "core/analysis/timeline.h"

/* Returns the site of the user's line that makes more than half of all launches; 0: none. */
uint32_t inner_line_site(const struct timeline *t);

/* Returns the innermost Python frame of an installed package other than PyTorch, if the user's code
 * called that package; NULL: none. The frame is owned by `f`. */
const struct frame *inner_line_of(struct frames *f, uint32_t stack);

/* Returns true if both frames are at the same line, or both are NULL. */
bool inner_line_same(const struct frame *a, const struct frame *b);

#endif
