/* What a program is written with, from its stacks: so that advice fits its language. */
#ifndef CORE_PROGRAM_KIND_H
#define CORE_PROGRAM_KIND_H

#include "core/analysis/timeline.h"

struct program_kind {
	bool is_python;
	bool is_torch; /* uses PyTorch, from Python or C++ */
};

struct program_kind program_kind_of(const struct timeline *t);

#endif
