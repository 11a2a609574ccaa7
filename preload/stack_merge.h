/*
 * Merges the native and Python frames of one thread into one sequence. Depends on its inputs alone
 * and allocates no memory.
 */
#ifndef PRELOAD_STACK_MERGE_H
#define PRELOAD_STACK_MERGE_H

#include "preload/python.h"
#include "preload/unwind.h"

/* A merged frame: its index in the Python or the native input. */
struct merged_frame {
	uint16_t index;
	bool is_python;
};

/*
 * Merges the frames, innermost first. Each activation of the interpreter's evaluator has one native
 * frame and executes a run of Python frames; the run replaces the native frame. The evaluator's
 * frame is the one that contains the run's marker: in every build of Python the marker is within
 * that C frame, while the evaluator's symbol may be split and renamed. `out` has room for n_native
 * + n_python frames. Sets STACK_UNMERGED in `flags` if no native frame contains a run's marker.
 * Returns the number of merged frames.
 */
unsigned stack_merge(const struct unwind_frame *native, unsigned n_native,
		     const struct python_frame *python, unsigned n_python, struct merged_frame *out,
		     uint32_t *flags);

#endif
