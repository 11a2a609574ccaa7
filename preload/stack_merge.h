/* Native and Python frames of one thread put into one order. Pure: no state, no memory but the caller's. */
#ifndef PRELOAD_STACK_MERGE_H
#define PRELOAD_STACK_MERGE_H

#include "preload/python.h"
#include "preload/unwind.h"

/* A merged frame is one or the other: index into one of the two inputs. */
struct merged_frame {
	uint16_t index;
	bool is_python;
};

/*
 * The interpreter's own frame is the one that holds the marker of a run of Python frames (reference: an evaluator's marker
 * lies in its C frame in every build, while its symbol is split and renamed): it gives way to the run. `out` has room for
 * n_native + n_python. Sets STACK_UNMERGED where a run found no place. Returns how many.
 */
unsigned stack_merge(const struct unwind_frame *native, unsigned n_native,
		     const struct python_frame *python, unsigned n_python, struct merged_frame *out,
		     uint32_t *flags);

#endif
