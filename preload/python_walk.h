/* The hot walk along a thread's frames. Shared by the python*.c files only. */
#ifndef PRELOAD_PYTHON_WALK_H
#define PRELOAD_PYTHON_WALK_H

#include "preload/python.h"
#include "preload/python_layout.h"

/* From `frame` outwards, `most` frames; `epoch` goes into the hash. */
typedef void python_walk(const struct python_layout *l, uint64_t frame, uint32_t most,
			 uint64_t epoch, struct python_chain *chain);

/* The walk for this layout. */
python_walk *python_walk_for(const struct python_layout *l);

#endif
