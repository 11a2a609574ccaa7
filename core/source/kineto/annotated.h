/* Finds the annotations of a program, such as record_function("step"), that are its steps. */
#ifndef CORE_KINETO_ANNOTATED_H
#define CORE_KINETO_ANNOTATED_H

#include "core/source/kineto/trace.h"

struct annotated {
	uint32_t name; /* what their names have in common, in `tables.names`; 0: none are steps */
	VEC(struct trace_span) spans; /* sorted by time */
};

/* `t`: sorted by nest_find(). Free it with annotated_free(). */
void annotated_find(struct annotated *a, struct trace *t);
void annotated_free(struct annotated *a);

#endif
