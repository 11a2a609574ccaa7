/* In some programs one user's line makes most of a step's calls through a library
 * (Trainer.train()). Then the library's line under it distinguishes the calls. */
#ifndef CORE_INNER_LINE_H
#define CORE_INNER_LINE_H

#include "core/analysis/timeline.h"

/* Returns the site of the user's line that makes more than half of all launches; 0: none. */
uint32_t inner_line_site(const struct timeline *t);

/* Returns the innermost Python line of a library other than PyTorch, within the user's line; NULL:
 * none. */
const struct frame *inner_line_of(struct frames *f, uint32_t stack);

/* Returns true for the same line, or if both are NULL. */
bool inner_line_same(const struct frame *a, const struct frame *b);

#endif
