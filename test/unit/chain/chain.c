/*
 * One object of chain functions, built several times: frames with and without a frame pointer, of
 * many sizes, with alloca, realigned, and with the caller's arguments reached through a register
 * kept for that (DRAP).
 */
#include "test/unit/chain/chain.h"

#include <alloca.h>

static __attribute__((noinline)) void use(volatile void *p)
{
	__asm__ volatile("" ::"r"(p) : "memory");
}

static inline long next(struct chain *c, long left)
{
	if (left > 0)
		return (*c->path++)(c, left - 1);
	c->leaf(c->arg);
	return 1;
}

#define PLAIN(name, bytes)                                                     \
	static __attribute__((noinline)) long name(struct chain *c, long left) \
	{                                                                      \
		volatile char room[bytes];                                     \
		use(room);                                                     \
		long got = next(c, left);                                      \
		use(room);                                                     \
		return got + left;                                             \
	}

/* Enough live values to need every callee-saved register, rbp among them. */
#define BUSY(name, bytes)                                                               \
	static __attribute__((noinline)) long name(struct chain *c, long left)          \
	{                                                                               \
		volatile char room[bytes];                                              \
		use(room);                                                              \
		long a = left * 3, b = left * 5 + (long)c, d = left * 7, e = left ^ 99, \
		     f = left + 1234;                                                   \
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(d), "+r"(e), "+r"(f));     \
		long got = next(c, left);                                               \
		use(room);                                                              \
		return got + a + b + d + e + f;                                         \
	}

PLAIN(small, 8)
PLAIN(middle, 136)
PLAIN(large, 5000)
BUSY(busy, 24)
BUSY(busy_large, 1032)

static __attribute__((noinline)) long with_alloca(struct chain *c, long left)
{
	volatile char *room = alloca(16 + (unsigned)(left & 3) * 16);
	use(room);
	long got = next(c, left);
	use(room);
	return got + left;
}

static __attribute__((noinline)) long aligned(struct chain *c, long left)
{
	_Alignas(64) volatile char room[64];
	use(room);
	long got = next(c, left);
	use(room);
	return got + left;
}

/* A seventh argument lies on the stack: with a realigned frame it needs a register of its own. */
static __attribute__((noinline)) long seven(struct chain *c, long left, long a, long b, long d,
					    long e, volatile long f)
{
	_Alignas(64) volatile char room[64];
	volatile char *more = alloca(16 + (unsigned)(left & 3) * 16);
	use(room);
	use(more);
	long got = next(c, left);
	use(room);
	return got + a + b + d + e + f;
}

static __attribute__((noinline)) long drap(struct chain *c, long left)
{
	return seven(c, left, 1, 2, 3, 4, 5) + left;
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) long
with_frame_pointer(struct chain *c, long left)
{
	volatile char room[40];
	use(room);
	long got = next(c, left);
	use(room);
	return got + left;
}

static __attribute__((noinline)) long from_two_places(struct chain *c, long left)
{
	if (left & 1)
		return next(c, left) + 1;
	long got = next(c, left);
	use(&got);
	return got + 2;
}

static __attribute__((noinline)) long in_loop(struct chain *c, long left)
{
	long sum = 0;
	for (volatile int i = 0; i < 1; i++)
		sum += next(c, left) + i;
	return sum;
}

/* A function within another, which finds its variables through a register. */
static __attribute__((noinline)) long nested(struct chain *c, long left)
{
	__extension__ long inner(long x)
	{
		use(&x);
		return next(c, x) + 1;
	}
	return inner(left) + 1;
}

__attribute__((visibility("default"))) chain_function *const chain_functions[CHAIN_SHAPES] = {
	small,
	middle,
	large,
	busy,
	busy_large,
	with_alloca,
	aligned,
	drap,
	with_frame_pointer,
	from_two_places,
	in_loop,
	nested,
};
