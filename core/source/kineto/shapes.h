/* The operators of a trace whose arithmetic is known from the shapes of their inputs, as library
 * calls of the run model. */
#ifndef CORE_KINETO_SHAPES_H
#define CORE_KINETO_SHAPES_H

#include "core/source/kineto/build.h"

/* Sorts the operators, and keeps the innermost ones around launches. Calls must be known. */
void shapes_find(struct trace *t);

/* Sets `*to` to the operator, without its thread. Returns false if its arithmetic is not known.
 * `names`: those of the operator's trace. */
bool shapes_library(struct model_library *to, const struct trace_shape *x, struct strtab *names);

/* Adds the operators that began in the step. `thread_of`: as in comms_build(). */
void shapes_build(const struct cutting *c, struct model_step *m,
		  uint32_t (*thread_of)(void *context, uint32_t thread), void *context);

#endif
