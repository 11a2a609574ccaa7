/*
 * Built twice, with frames of two sizes. All other code bytes are the same, at the same addresses
 * if one object takes the other's place.
 */
#include "test/unit/chain/chain.h"

chain_function swap;
__attribute__((visibility("default"))) long swap(struct chain *c, long left)
{
	volatile char room[ROOM_BYTES];
	__asm__ volatile("" ::"r"(room) : "memory");
	c->leaf(c->arg);
	__asm__ volatile("" ::"r"(room) : "memory");
	return left;
}
