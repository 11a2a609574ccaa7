/*
 * Merges native and Python frames of one thread into one order. Pure: no state, no memory but the
 * caller's.
 */
#ifndef PRELOAD_STACK_MERGE_H
#define PRELOAD_STACK_MERGE_H

#include "preload/python.h"
#include "preload/unwind.h"

/* A merged frame: an index into one of the two inputs. */
struct merged_frame {
	uint16_t index;
	bool is_python;
};

/*
 * Replaces the native frame of an interpreter's evaluator by the run of Python frames that it
 * executes. The evaluator's frame is the one that contains the run's marker: in every build the
 * marker is within that C frame, while the evaluator's symbol may be split and renamed. `out` has
 * room for n_native + n_python. Sets STACK_UNMERGED if a run found no place. Returns the number of
 * merged frames.
 */
unsigned stack_merge(const struct unwind_frame *native, unsigned n_native,
		     const struct python_frame *python, unsigned n_python, struct merged_frame *out,
		     uint32_t *flags);

#endif
