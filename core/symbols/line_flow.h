/*
 * Whether the value that one line of a Python function computes is used in a later line of that
 * function, by the text of the lines in between.
 */
#ifndef CORE_LINE_FLOW_H
#define CORE_LINE_FLOW_H

#include "core/symbols/frames.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns whether the line `from` sets a name on which the later line `to` depends, directly or
 * through the lines in between. Branches and loops count as if each line ran once, in order.
 * Returns false if the file cannot be read.
 */
bool line_flow_reaches(struct frames *f, const char *file, uint32_t from, uint32_t to);

#endif
