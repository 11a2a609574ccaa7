/* Names the loops of a tree for reports: by file, line and function. */
#ifndef CORE_LOOP_NAMES_H
#define CORE_LOOP_NAMES_H

#include "core/steps/loop_choice.h"
#include "core/util/arena.h"
#include "core/util/list.h"

/* All texts are in the arena that was given. */
struct loop_name {
	const char *file; /* "": unknown */
	const char *function;
	uint32_t line; /* 0: unknown */
	uint64_t iterations;
	/*
	 * The loop is in the standard library, for example that of a thread pool. The name is that
	 * of the user's function that each iteration calls.
	 */
	bool is_call;
	double share; /* of the time in which loops run that may be the step; 0: not known */
};

struct loop_names {
	struct loop_name step;
	/* Mean number of iterations per step: those up to an optimizer's step. 0: one is a step. */
	double per_step;
	LIST(struct loop_name) outer;	 /* the loops around it, nearest first */
	LIST(struct loop_name) inner;	 /* the loops directly inside it, heaviest first */
	const struct loop_name *instead; /* the loop that could be meant instead; NULL: none */
	/*
	 * Loops before or after the steps or between them, such as those of a warm-up or of an
	 * evaluation, heaviest first.
	 */
	LIST(struct loop_name) others;
};

/* Resolves names of native code, which reads debug information and may take a while. */
void loop_names_make(struct loop_names *to, const struct loop_tree *t, const struct loop_choice *c,
		     struct arena *a);

/*
 * Returns the index of the loop at FILE-SUFFIX:LINE, -1 if there is none. Without a loop named by
 * this line, a loop whose body begins there is found too. Of several, the one with the most
 * iterations is returned.
 */
int64_t loop_names_find(const struct loop_tree *t, const char *file_and_line);

#endif
