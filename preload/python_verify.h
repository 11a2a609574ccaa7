/* Verifies that a thread's frames have the known layout. Used only by the python*.c files. */
#ifndef PRELOAD_PYTHON_VERIFY_H
#define PRELOAD_PYTHON_VERIFY_H

#include "preload/python_layout.h"

enum python_verdict { PYTHON_NO_FRAMES, PYTHON_VERIFIED, PYTHON_DOUBTFUL };

/* Reads the frames of `thread` in a way that cannot fault, and checks types and ranges. Not on the
 * hot path: some 10 us per frame. */
enum python_verdict python_verify(const struct python_api *api, const struct python_layout *l,
				  uint64_t thread);

#endif
