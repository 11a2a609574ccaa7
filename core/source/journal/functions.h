/*
 * The control flow of the native functions that frames lie in. Each function is read once, from the
 * file that the application had mapped. No locks: one thread may use a struct functions at a time.
 */
#ifndef CORE_FUNCTIONS_H
#define CORE_FUNCTIONS_H

#include "core/flow/flow.h"
#include "core/source/journal/dict.h"

struct functions;

struct function {
	/* Places are addresses of the file. Valid until functions_free(). */
	const struct flow *flow;
	uint64_t begin; /* address of the function in its file */
	uint64_t at;	/* the frame's place in the function: flow_place() of the call */
	/* of a library (origin_is_native_library()): the flow is coarse, see flow_new() */
	bool is_library;
	/*
	 * It calls the functions that Python code asks for: its loop only looks for the overload
	 * that takes the arguments.
	 */
	bool is_dispatcher;
};

/* `dict` must outlive the result. */
struct functions *functions_new(const struct dict *dict);
void functions_free(struct functions *f);

/*
 * Finds the function of a native frame, whose offset is a return address. Returns false for a
 * Python frame, if the file is not there or is another build, if no symbol covers the place, or if
 * the function has more than 256 KiB.
 */
bool functions_find(struct functions *f, uint64_t frame, struct function *out);

#endif
