/* A dictionary with hooks of given categories, for the tests of pairing. */
#ifndef TEST_UNIT_PAIR_DICT_H
#define TEST_UNIT_PAIR_DICT_H

#include "core/source/journal/dict.h"
#include "core/util/vec.h"

static struct dict dict;

/* Makes hooks 0 to `hook`, the last one of this category. */
static inline void add_hook(size_t hook, uint8_t category)
{
	while (dict.hooks.n <= hook)
		vec_push(&dict.hooks, (struct hook_entry){ .category = CAT_COUNT });
	dict.hooks.at[hook].category = category;
}

static inline int tear_down(void **state)
{
	(void)state;
	dict_free(&dict);
	return 0;
}

#endif
