/* The walk along a thread's frames, on the hot path. Used only by the python*.c files. */
#ifndef PRELOAD_PYTHON_WALK_H
#define PRELOAD_PYTHON_WALK_H

#include "preload/python.h"
#include "preload/python_layout.h"

/* Walks outwards from `frame`, over at most `most` frames, and fills in `chain`. `epoch` is part of
 * the hash. */
typedef void python_walk(const struct python_layout *l, uint64_t frame, uint32_t most,
			 uint64_t epoch, struct python_chain *chain);

/* Returns the walk function for this layout. */
python_walk *python_walk_for(const struct python_layout *l);

#endif
