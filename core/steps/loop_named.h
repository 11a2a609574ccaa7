/* Names one loop: by the place of its statement in the source. */
#ifndef CORE_LOOP_NAMED_H
#define CORE_LOOP_NAMED_H

#include "core/source/journal/native.h"
#include "core/steps/loop_names.h"
#include "core/symbols/source.h"

struct loop_namer {
	const struct loop_tree *tree;
	struct arena *arena;
	struct native *native; /* NULL until native code is met */
	struct strtab texts;
	struct source source;
};

/* A loop's name, and other places by which it can be asked for. */
struct loop_named {
	struct loop_name name;
	uint32_t body;		/* see struct loop_lines */
	const char *other_file; /* the place of its first instruction */
	uint32_t other_line;
};

struct loop_named loop_named_of(struct loop_namer *x, const struct loop *l);

void loop_namer_free(struct loop_namer *x);

#endif
