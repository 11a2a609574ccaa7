/* Lists and ranges as members of plain structs, such as the structs that are written as JSON
 * (export/fields.h). */
#ifndef CORE_LIST_H
#define CORE_LIST_H

#include "core/util/arena.h"

#include <stddef.h>

/* `n` items; an arena owns them. `at` NULL: the list is not known. */
#define LIST(type)        \
	struct {          \
		type *at; \
		size_t n; \
	}

/* Allocates `count` items in the arena `a`. All their bytes are zero. */
#define list_make(a, list, count) \
	((list)->n = (count), (list)->at = arena_zero(a, (list)->n * sizeof(*(list)->at)))

/* `low` NAN: the range is not known. */
struct field_range {
	double low, high;
};

#endif
