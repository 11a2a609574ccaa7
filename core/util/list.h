/* Lists and ranges as members of plain structs, for example of those written as JSON
 * (export/fields.h). */
#ifndef CORE_LIST_H
#define CORE_LIST_H

#include "core/util/arena.h"

#include <stddef.h>

/* at NULL: not known. */
#define LIST(type)        \
	struct {          \
		type *at; \
		size_t n; \
	}

/* Allocates `count` items, all zero bytes. */
#define list_make(a, list, count) \
	((list)->n = (count), (list)->at = arena_zero(a, (list)->n * sizeof(*(list)->at)))

struct field_range {
	double low, high;
};

#endif
