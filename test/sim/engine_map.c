/*
 * A treap of disjoint address ranges, used for allocations and for what the application wrote into
 * them. All functions require engine_lock.
 */
#include "test/sim/engine.h"

static struct range *range_merge(struct range *a, struct range *b)
{
	if (!a || !b)
		return a ?: b;
	if (a->priority > b->priority) {
		a->right = range_merge(a->right, b);
		return a;
	}
	b->left = range_merge(a, b->left);
	return b;
}

/* Splits a treap into the ranges that start before `address` (`low`) and all others (`high`). */
static void range_split(struct range *root, uintptr_t address, struct range **low,
			struct range **high)
{
	if (!root) {
		*low = *high = NULL;
	} else if (root->start < address) {
		range_split(root->right, address, &root->right, high);
		*low = root;
	} else {
		range_split(root->left, address, low, &root->left);
		*high = root;
	}
}

struct range *range_after(struct range *root, uintptr_t address)
{
	struct range *best = NULL;
	while (root) {
		if (root->start + root->bytes > address) {
			best = root;
			root = root->left;
		} else {
			root = root->right;
		}
	}
	return best;
}

struct range *range_find(struct range *root, uintptr_t address)
{
	struct range *r = range_after(root, address);
	return r && r->start <= address ? r : NULL;
}

void range_insert(struct range **root, struct range *range)
{
	static uint32_t seed = 2463534242u;
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	range->priority = seed;
	range->left = range->right = NULL;
	struct range *low, *high;
	range_split(*root, range->start, &low, &high);
	*root = range_merge(range_merge(low, range), high);
}

void range_remove(struct range **root, struct range *range)
{
	struct range **at = root;
	while (*at && *at != range)
		at = range->start < (*at)->start ? &(*at)->left : &(*at)->right;
	if (*at)
		*at = range_merge(range->left, range->right);
}
