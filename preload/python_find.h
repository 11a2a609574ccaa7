/*
 * Finds this process's CPython, and the few of its functions and objects that profrun needs. Used
 * only by the python*.c files.
 */
#ifndef PRELOAD_PYTHON_FIND_H
#define PRELOAD_PYTHON_FIND_H

#include <stdbool.h>
#include <stdint.h>

enum { PYTHON_CANDIDATE = 0xc, PYTHON_FINAL = 0xf }; /* release levels of PY_VERSION_HEX */

struct python_api {
	/* PyGILState_GetThisThreadState: needs no GIL, and returns the state even while the thread
	 * does not hold the GIL */
	void *(*thread_state)(void);
	int (*is_finalizing)(void);
	uint64_t code_type, text_type, bytes_type; /* addresses of type objects */
	const uint64_t *runtime;		   /* _PyRuntime; NULL if it is not exported */
	uint32_t version;			   /* in the form of PY_VERSION_HEX; 0: unknown */
};

/* Returns whether the process has loaded a Python, and fills in `api`. Keeps that Python loaded.
 * Members that its version does not have are NULL or 0. Not on the hot path. */
bool python_find(struct python_api *api);

#endif
