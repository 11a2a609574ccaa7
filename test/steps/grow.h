/* Arrays that grow as a test appends to them. */
#ifndef TEST_STEPS_GROW_H
#define TEST_STEPS_GROW_H

#include <stdint.h>
#include <stdlib.h>

/*
 * Returns the array with room for one more than `n` elements of `size` bytes. Aborts if memory is
 * exhausted.
 */
static inline void *must_grow(void *array, uint32_t n, uint32_t *allocated, size_t size)
{
	if (n < *allocated)
		return array;
	*allocated = *allocated ? *allocated * 2 : 1024;
	array = realloc(array, *allocated * size);
	if (!array)
		abort();
	return array;
}

#endif
