/*
 * Numbers of the matrix products that a library captures into a graph. Each captured call gets the
 * number of its product, so the arithmetic of the graph's kernels is known in each replay. A shape
 * is described once in the journal, because the same products are captured for each layer of a
 * model.
 */
#ifndef PRELOAD_PRODUCTS_H
#define PRELOAD_PRODUCTS_H

#include "core/runtime/record.h"

/* Returns a number for struct rec_node; 0: there are too many shapes. `call` has the product's
 * function, type and size. Any thread; not on the hot path. */
uint32_t products_number(const struct rec_library *call);

/* Forgets the shapes in a forked child, whose journal lacks them. */
void products_forget(void);

#endif
