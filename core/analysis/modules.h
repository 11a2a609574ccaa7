/*
 * Finds the calls of modules (nn.Module) around a thread's CUDA calls, as nested spans. Like an
 * operator, a module is visible only while it makes CUDA calls. Its span lasts from the start of
 * its first CUDA call to the end of its last one. If one line calls a module several times in a
 * row, these calls share a span, unless modules.c can distinguish them.
 */
#ifndef CORE_MODULES_H
#define CORE_MODULES_H

#include "core/model/model.h"
#include "core/symbols/frames.h"
#include "core/util/map.h"
#include "core/util/vec.h"

struct module_span {
	uint64_t begin_ns, end_ns;
	const char *name;	      /* owned by the frames */
	uint32_t first_call, n_calls; /* first_call: index in the model's calls */
	uint32_t depth;		      /* 0: outermost */
};

/* A module in a stack. */
struct module_in_stack {
	const char *name;
	uint64_t outside; /* hash of the Python frames outside the module's own frame */
};

struct module_stack {
	uint32_t first, n; /* in `entries`, outermost first */
	uint64_t pause_ns; /* see spans_pause_ns() */
};

/* The spans of one thread, sorted by start, outer spans first. All zeros is empty. */
struct module_list {
	VEC(struct module_span) at;
};

/* The stacks looked up so far, for all threads and steps of a process. All zeros is a
 * valid start. */
struct modules {
	struct map stack_of; /* DICT_STACK -> index in `stacks` */
	VEC(struct module_stack) stacks;
	VEC(struct module_in_stack) entries;
};

/* Replaces the contents of `list` by the module spans of m->threads.at[thread]. */
void modules_find(struct modules *s, const struct model_step *m, size_t thread,
		  struct frames *frames, struct module_list *list);
void modules_free(struct modules *s);

#endif
