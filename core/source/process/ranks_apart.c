/* See ranks_apart.h. */
#include "core/source/process/ranks_apart.h"

enum { LOOKS = 32, STEPS = 8 };

bool ranks_apart_look(struct ranks_apart *a, uint64_t of, uint64_t number, uint64_t other)
{
	if (of != a->of)
		*a = (struct ranks_apart){ .of = of };
	int64_t difference = (int64_t)(number - other);
	if (!a->n) {
		a->first = difference;
		a->from = other;
	}
	int64_t i = difference - a->first + RANKS_APART_MOST;
	if (i >= 0 && i < (int64_t)(sizeof(a->seen) / sizeof(*a->seen)))
		a->seen[i]++;
	a->n++;
	return a->n >= LOOKS && other - a->from >= STEPS;
}

int64_t ranks_apart(const struct ranks_apart *a)
{
	unsigned most = RANKS_APART_MOST;
	for (unsigned i = 0; i < sizeof(a->seen) / sizeof(*a->seen); i++)
		if (a->seen[i] > a->seen[most])
			most = i;
	return a->first + (int64_t)most - RANKS_APART_MOST;
}
