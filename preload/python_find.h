/*
 * The few functions and objects of this process's CPython that are needed. Used only by the
 * python*.c files.
 */
#ifndef PRELOAD_PYTHON_FIND_H
#define PRELOAD_PYTHON_FIND_H

#include <stdbool.h>
#include <stdint.h>

enum { PYTHON_CANDIDATE = 0xc, PYTHON_FINAL = 0xf }; /* release levels of PY_VERSION_HEX */

struct python_api {
	/* needs no GIL; set even while the thread has released the GIL */
	void *(*thread_state)(void);
	int (*is_finalizing)(void);
	uint64_t code_type, text_type, bytes_type; /* addresses of type objects */
	const uint64_t *runtime;		   /* _PyRuntime; NULL where it is not exported */
	uint32_t version;			   /* as PY_VERSION_HEX */
};

/* Returns whether there is a Python. If so, it stays loaded. `version` 0: unknown; members that the
 * version does not have are NULL or 0. Cold. */
bool python_find(struct python_api *api);

#endif
