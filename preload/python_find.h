/* The few functions and objects of a CPython in this process. Shared by the python*.c files only. */
#ifndef PRELOAD_PYTHON_FIND_H
#define PRELOAD_PYTHON_FIND_H

#include <stdbool.h>
#include <stdint.h>

enum { PYTHON_CANDIDATE = 0xc, PYTHON_FINAL = 0xf }; /* release levels of PY_VERSION_HEX */

struct python_api {
	void *(*thread_state)(
		void); /* needs no GIL, and is set while the thread has let go of it */
	int (*is_finalizing)(void);
	uint64_t code_type, text_type, bytes_type; /* addresses of type objects */
	const uint64_t *runtime;		   /* _PyRuntime; NULL where it is not exported */
	uint32_t version;			   /* as PY_VERSION_HEX */
};

/* Whether there is a Python. One that is found stays mapped. `version` 0: its version could not be read; what a version does not
 * have is NULL or 0. Cold. */
bool python_find(struct python_api *api);

#endif
