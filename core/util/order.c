/* A natural merge sort. In practice the input has one sorted run per thread or stream, so that two
 * or three passes are enough. */
#include "core/util/order.h"

#include "core/util/vec.h"

/* Returns the end of the sorted run that begins at key `i`; at most `n`. */
static size_t run_end(const struct order_key *keys, size_t i, size_t n)
{
	for (i++; i < n && keys[i - 1].ns <= keys[i].ns; i++)
		;
	return i < n ? i : n;
}

/* Merges the sorted runs [a, middle) and [middle, end) of `from` into [a, end) of `to`. */
static void merge(const struct order_key *from, size_t a, size_t middle, size_t end,
		  struct order_key *to)
{
	size_t b = middle;
	for (size_t i = a; i < end; i++)
		to[i] = b == end || (a < middle && from[a].ns <= from[b].ns) ? from[a++]
									     : from[b++];
}

void order_sort(struct order_key *keys, size_t n)
{
	if (run_end(keys, 0, n) >= n)
		return;
	struct order_key *spare = mem_resize(NULL, n * sizeof(*spare));
	struct order_key *from = keys, *to = spare;
	for (size_t longest = 0; longest < n;) {
		longest = 0;
		for (size_t i = 0; i < n;) {
			size_t middle = run_end(from, i, n);
			size_t end = middle < n ? run_end(from, middle, n) : n;
			merge(from, i, middle, end, to);
			longest = end - i > longest ? end - i : longest;
			i = end;
		}
		struct order_key *other = from;
		from = to;
		to = other;
	}
	if (from != keys)
		memcpy(keys, from, n * sizeof(*keys));
	free(spare);
}
