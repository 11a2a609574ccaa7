/*
 * The unwinder on chains of many shapes: frames, hashes, callers that change under inner frames
 * that stay, depth.
 */
#include "test/unit/unwind_check.h"

#include <malloc.h>

static void test_random_chains(void **state)
{
	(void)state;
	struct seen *seen = calloc(SEEN_MOST, sizeof(*seen));
	chain_function *path[64];
	unsigned seed = 1;
	for (int i = 0; i < 3000; i++) {
		int calls = 1 + rand_r(&seed) % 60;
		for (int k = 0; k < calls; k++)
			path[k] = any_function(&seed);
		run_chain(path, calls, check_stack, seen);
	}
	free(seen);
}

/* As programs do: a long common part, an inner part that changes, and comes back to what it was. */
static void test_changing_inner_part(void **state)
{
	(void)state;
	struct seen *seen = calloc(SEEN_MOST, sizeof(*seen));
	chain_function *path[64];
	unsigned seed = 2;
	for (int k = 0; k < 20; k++)
		path[k] = any_function(&seed);
	struct unwind_counts before, after;
	unwind_count(&before);
	for (int i = 0; i < 3000; i++) {
		int from = 20 + rand_r(&seed) % 20;
		for (int k = 20; k < from; k++)
			path[k] = functions[k % CHAIN_SHAPES];
		unsigned variant = 100 + (unsigned)rand_r(&seed) % 8;
		for (int k = from; k < 44; k++)
			path[k] = any_function(&variant);
		run_chain(path, 44, check_stack, seen);
	}
	unwind_count(&after);
	assert_true(after.memo_hits > before.memo_hits);
	assert_int_equal(after.truncated, before.truncated);
	assert_int_equal(after.slow, before.slow);
	free(seen);
}

static void keep_stack(void *arg)
{
	ask_unwinder(arg);
	__asm__ volatile("" ::: "memory");
}

/*
 * The same function of two objects has frames of the same size: only return addresses distinguish
 * the stacks.
 */
static void test_other_callers_at_the_same_place(void **state)
{
	(void)state;
	static struct walked walked[2][2];
	for (int round = 0; round < 2; round++)
		for (int object = 0; object < 2; object++) {
			chain_function *path[] = { functions[0], functions[object * CHAIN_SHAPES],
						   functions[CHAIN_SHAPES], functions[0] };
			run_chain(path, 4, keep_stack, &walked[round][object]);
		}
	assert_int_equal(walked[0][0].frames[0].sp, walked[0][1].frames[0].sp);
	assert_int_equal(walked[0][0].frames[0].ip, walked[0][1].frames[0].ip);
	assert_int_not_equal(walked[0][0].hash, walked[0][1].hash);
	for (int object = 0; object < 2; object++)
		assert_int_equal(walked[0][object].hash, walked[1][object].hash);
}

static void test_order_counts(void **state)
{
	(void)state;
	static struct walked walked[2];
	for (volatile int i = 0; i < 2; i++) {
		chain_function *path[] = { functions[0], functions[i ? CHAIN_SHAPES : 1],
					   functions[i ? 1 : CHAIN_SHAPES], functions[2] };
		run_chain(path, 4, keep_stack, &walked[i]);
	}
	assert_int_equal(walked[0].n, walked[1].n);
	assert_int_not_equal(walked[0].hash, walked[1].hash);
}

/*
 * Frames of a chosen size, so that different callers leave the stack pointer at the same place.
 * Then remains of other frames lie at the same place, too. `flexible` is measured from bp, `rigid`
 * does not use it.
 */
enum { ROOM_STEP = 16, ROOM_LEAST = 64, ROOM_MOST = 1024 };

static unsigned room_bytes;

static __attribute__((noinline)) long call_next(struct chain *c, long left)
{
	if (left > 0)
		return (*c->path++)(c, left - 1);
	c->leaf(c->arg);
	return 1;
}

static __attribute__((noinline)) long flexible(struct chain *c, long left)
{
	volatile char *room = __builtin_alloca(room_bytes);
	__asm__ volatile("" ::"r"(room) : "memory");
	return call_next(c, left) + 1;
}

static __attribute__((noinline)) long thin(struct chain *c, long left)
{
	return call_next(c, left) + 1;
}

static __attribute__((noinline)) long rigid(struct chain *c, long left)
{
	volatile char room[176];
	__asm__ volatile("" ::"r"(room) : "memory");
	return call_next(c, left) + 1;
}

static struct {
	uint64_t wanted_sp; /* 0: the first place is wanted */
	uint64_t hash;	    /* 0: it has not been there */
	struct walked walked;
} placed;

static bool is_in_place(uint64_t sp)
{
	if (!placed.wanted_sp)
		placed.wanted_sp = sp;
	return sp == placed.wanted_sp;
}

/* Looks where it is first: a walk from elsewhere would leave other traces. */
static void check_in_place(void *arg)
{
	(void)arg;
	if (is_in_place((uint64_t)(uintptr_t)__builtin_dwarf_cfa())) {
		check_stack_into(&placed.walked);
		placed.hash = placed.walked.hash;
	}
	__asm__ volatile("" ::: "memory");
}

/* The same with nothing in between that would save bp. */
static void walk_in_place(void *arg)
{
	(void)arg;
	if (is_in_place((uint64_t)(uintptr_t)__builtin_dwarf_cfa()))
		placed.hash = walk_here();
	__asm__ volatile("" ::: "memory");
}

struct path {
	chain_function *const *functions;
	long calls;
};

/* Runs `path` with the room at which its leaf stands where the first one's stood. */
static uint64_t hash_in_place(struct path path, void (*leaf)(void *))
{
	placed.hash = 0;
	for (room_bytes = ROOM_LEAST; !placed.hash; room_bytes += ROOM_STEP) {
		assert_in_range(room_bytes, ROOM_LEAST, ROOM_MOST);
		run_chain(path.functions, path.calls, leaf, NULL);
	}
	return placed.hash;
}

/* Two stacks by turns: is what is known of one ever believed of the other? */
static void assert_told_apart(struct path a, struct path b, void (*leaf)(void *))
{
	uint64_t hash[2];
	placed.wanted_sp = 0;
	room_bytes = ROOM_MOST / 2;
	run_chain(a.functions, a.calls, leaf, NULL);
	for (volatile int iteration = 0; iteration < 8; iteration++) {
		uint64_t now = hash_in_place(iteration % 2 ? b : a, leaf);
		if (iteration < 2)
			hash[iteration] = now;
		assert_int_equal(now, hash[iteration % 2]);
	}
	assert_int_not_equal(hash[0], hash[1]);
}

/* The same inner frames at the same place, on callers of which only some are measured from bp. */
static void test_callers_change_and_inner_frames_stay(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* the sanitizer moves the frames */
#endif
	chain_function *const busy = functions[3]; /* saves bp, as thin and rigid do not */
	chain_function *const inner[][2] = {
		{ thin, busy }, { busy, thin }, { busy, busy }, { thin, thin }
	};
	for (volatile unsigned i = 0; i < 2 * sizeof(inner) / sizeof(*inner); i++) {
		chain_function *a = inner[i / 2][0], *b = inner[i / 2][1];
		void (*leaf)(void *) = i % 2 ? check_in_place : walk_in_place;
		/* the first one's bp is of no use to anybody */
		chain_function *dead[] = { busy, rigid, a, b };
		chain_function *alive[] = { busy, flexible, a, b };
		assert_told_apart((struct path){ dead, 4 }, (struct path){ alive, 4 }, leaf);
		/*
		 * In the room of one chain's large frame the other chain has two. Only bp shows
		 * which chain it is, since the return addresses of the first are unchanged: rigid's
		 * is the same for both of its callees.
		 */
		chain_function *one[] = { rigid, flexible, a, b };
		chain_function *two[] = { rigid, rigid, flexible, a, b };
		assert_told_apart((struct path){ one, 4 }, (struct path){ two, 5 }, leaf);
	}
}

static void test_repeated_stack_is_remembered(void **state)
{
	(void)state;
	struct unwind_counts before, after;
	uint64_t first = 0;
	unwind_count(&before);
	for (int i = 0; i < 100; i++) {
		uint64_t hash = walk_here();
		first = first ? first : hash;
		assert_int_equal(hash, first);
	}
	unwind_count(&after);
	assert_int_equal(after.walks - before.walks, 100);
	assert_true(after.memo_hits - before.memo_hits >= 98);
}

struct keeping {
	uint64_t with, number;
	uint32_t kept, keep;
};

static void walk_and_keep(void *arg)
{
	struct keeping *k = arg;
	struct unwind_regs regs = {
		.ip = (uint64_t)(uintptr_t)__builtin_return_address(0),
		.sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),
		.bp = *(uint64_t *)__builtin_frame_address(0),
	};
	k->number = unwind_walk(mine, &regs, k->with, &k->kept);
	if (k->keep)
		unwind_keep(mine, k->number, k->with, k->keep);
}

enum { PATHS = 6, DEEP = 30, KEEPING_ITERATIONS = 800, LEARNED_BY = 6 * PATHS };

/*
 * Iterations that keep and iterations that ask with something else; at the end one that only asks,
 * and one after objects are unloaded.
 */
static __attribute__((noinline)) struct keeping plan_of(unsigned iteration, unsigned variant)
{
	if (iteration == KEEPING_ITERATIONS + 1)
		unwind_objects_gone();
	if (iteration >= KEEPING_ITERATIONS)
		return (struct keeping){ .with = 1000 + variant % 2 };
	if (iteration & 1)
		return (struct keeping){ .with = 1005 + variant % 2 };
	return (struct keeping){ .with = 1000 + variant % 2, .keep = 1 + variant };
}

static __attribute__((noinline)) void check_kept(unsigned iteration, unsigned variant,
						 const struct keeping *k)
{
	bool asks_the_same = iteration >= KEEPING_ITERATIONS || !(iteration & 1);
	if (iteration == KEEPING_ITERATIONS + 1 || !asks_the_same)
		assert_int_equal(k->kept, 0);
	else if (iteration >= LEARNED_BY || k->kept)
		assert_int_equal(k->kept, 1 + variant);
	unwind_keep(mine, k->number + 1, k->with, 99); /* of no walk: nothing is kept */
}

/*
 * What was kept with a stack is returned for that stack and the same `with`, and for nothing else.
 */
static void test_what_is_kept_with_a_stack(void **state)
{
	(void)state;
	chain_function *path[DEEP];
	uint64_t numbers[PATHS] = { 0 };
	for (unsigned iteration = 0; iteration < KEEPING_ITERATIONS + 2; iteration++) {
		unsigned variant = iteration / 2 * 7 % PATHS, seed = 3, other = 50 + variant;
		for (int k = 0; k < DEEP; k++)
			path[k] = any_function(k < DEEP - 4 ? &seed : &other);
		struct keeping k = plan_of(iteration, variant);
		run_chain(path, DEEP, walk_and_keep,
			  &k); /* one place in the code: it is in the stacks */
		if (!numbers[variant])
			numbers[variant] = k.number;
		assert_int_equal(k.number, numbers[variant]);
		check_kept(iteration, variant, &k);
	}
	unwind_keep(NULL, 1, 1, 1);
}

static void walk_only(void *arg)
{
	(void)arg;
	walk_here();
	__asm__ volatile("" ::: "memory");
}

/* A hook may run inside the application's allocator. */
static void test_no_allocation(void **state)
{
	(void)state;
	struct unwind_counts before, after;
	unwind_objects_gone();
	unwind_count(&before);
	struct mallinfo2 heap = mallinfo2();
	for (int i = 0; i < CHAIN_SHAPES; i++)
		run_chain(&functions[i], 5, walk_only, NULL);
	struct mallinfo2 now = mallinfo2();
	unwind_count(&after);
	assert_true(after.learned >= before.learned + CHAIN_SHAPES);
	assert_int_equal(now.uordblks, heap.uordblks);
	assert_int_equal(now.hblkhd, heap.hblkhd);
}

static void check_depth(void *arg)
{
	static struct walked w;
	static struct stack s;
	ask_unwinder(&w);
	ask_libgcc(&s);
	assert_int_equal(w.n, DEPTH);
	assert_int_equal(w.flags, STACK_TRUNCATED);
	for (unsigned i = 1; i < w.n; i++)
		assert_int_equal(w.frames[i].ip, s.ip[i + 1]);
	*(uint64_t *)arg = w.hash;
}

static chain_function *deeper[60];

static void check_and_go_deeper(void *arg)
{
	check_stack(NULL);
	run_chain(deeper, 60, check_depth, arg);
}

static void test_depth_limit(void **state)
{
	(void)state;
	chain_function *path[400];
	uint64_t hash[3];
	unsigned seed = 5;
	for (int i = 0; i < 400; i++)
		path[i] = any_function(&seed);
	run_chain(path, 300, check_depth, &hash[0]);
	run_chain(path, 300, check_depth, &hash[1]);
	path[299] = path[299] == functions[0] ? functions[1] : functions[0];
	run_chain(path, 300, check_depth, &hash[2]);
	assert_int_equal(hash[0], hash[1]);
	assert_int_not_equal(hash[0], hash[2]);
	run_chain(path, 20, check_stack, NULL);
	/* the outer part is known, but not all of it belongs to the deeper stack */
	for (int i = 0; i < 60; i++)
		deeper[i] = any_function(&seed);
	run_chain(path, 100, check_and_go_deeper, &hash[0]);
	run_chain(path, 100, check_and_go_deeper, &hash[1]);
	assert_int_equal(hash[0], hash[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_chains),
		cmocka_unit_test(test_changing_inner_part),
		cmocka_unit_test(test_other_callers_at_the_same_place),
		cmocka_unit_test(test_order_counts),
		cmocka_unit_test(test_callers_change_and_inner_frames_stay),
		cmocka_unit_test(test_repeated_stack_is_remembered),
		cmocka_unit_test(test_what_is_kept_with_a_stack),
		cmocka_unit_test(test_no_allocation),
		cmocka_unit_test(test_depth_limit),
	};
	return cmocka_run_group_tests(tests, load_chains, NULL);
}
