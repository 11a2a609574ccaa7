/*
 * The iterations that the calls of a running program show are those of the source, although the
 * compiler may have unrolled the loops. Runs the objects that flow_object.h describes.
 */
#include "core/flow/flow.h"
#include "test/unit/flow_object.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* With these options, compilers make no copies of calls and move none out of their loops. */
static const char *const plain[] = {
	"O0.so",
	"O1.so",
	"Os.so",
};
static const char *const optimized[] = {
	"O2.so",
	"O3.so",
	"unroll-O2.so",
	"unroll-O3.so",
};

static struct {
	uint64_t at[4096];
	size_t n;
} calls;

static int polls;

#define CALLED(name, value)                                                                 \
	int name(void);                                                                     \
	__attribute__((visibility("default"))) int name(void)                               \
	{                                                                                   \
		assert_true(calls.n < sizeof(calls.at) / sizeof(*calls.at));                \
		calls.at[calls.n++] = (uint64_t)(uintptr_t)__builtin_return_address(0) - 1; \
		return value;                                                               \
	}

CALLED(entry, 0)
CALLED(outer, 0)
CALLED(inner, 0)
CALLED(outer_end, 0)
CALLED(leave, 0)
CALLED(innermost, 0)
CALLED(poll_work, ++polls > 10)
CALLED(work, 0)
CALLED(skips, polls % 3 == 0)
CALLED(tail, 0)
CALLED(done, 0)
CALLED(first_loop, 0)
CALLED(between, 0)
CALLED(second_loop, 0)
CALLED(kind, ++polls % 9)
CALLED(case_0, 0)
CALLED(case_1, 0)
CALLED(case_2, 0)
CALLED(case_3, 0)
CALLED(case_4, 0)
CALLED(case_5, 0)
CALLED(case_6, 0)
CALLED(case_7, 0)
CALLED(other_case, 0)
CALLED(case_end, 0)
CALLED(setup, ++polls % 2)
CALLED(launch, 0)
CALLED(if_user, 0)
CALLED(user, 0)
CALLED(again, 0)
CALLED(both, 0)
CALLED(sweep, 0)
CALLED(stride, 0)
CALLED(element, 0)
CALLED(first, 0)
CALLED(then, 0)
CALLED(warm_up, 0)
CALLED(begin, 0)
CALLED(seldom, 0)
CALLED(end, 0)

enum { DEPTH_MOST = 8 };

/* An object that is loaded. */
struct loaded {
	struct object o;
	void *handle;
	const char *base;
};

/*
 * Adds up the iterations of the loops at each depth, from the calls that `function` made. Calls of
 * other functions do not count: at the end of a function, a call may be a jump.
 */
static void count(struct loaded *l, const char *function, size_t out[static DEPTH_MOST])
{
	struct flow *f = flow_of(&l->o, function, true);
	GElf_Sym symbol = find_symbol(&l->o, function);
	uint32_t around[DEPTH_MOST], before[DEPTH_MOST];
	size_t n_before = 0;
	uint64_t last = 0;
	memset(out, 0, DEPTH_MOST * sizeof(*out));
	for (size_t i = 0; i < calls.n; i++) {
		uint64_t at = flow_place(f, calls.at[i] - (uint64_t)(uintptr_t)l->base);
		if (at - symbol.st_value >= symbol.st_size)
			continue;
		size_t n = flow_loops_around(f, at, around, DEPTH_MOST), same = 0;
		while (same < n && same < n_before &&
		       around[n - 1 - same] == before[n_before - 1 - same])
			same++;
		if (last && same > 0 && !flow_is_forward(f, last, at))
			out[same - 1]++;
		for (size_t depth = same; depth < n; depth++)
			out[depth]++;
		memcpy(before, around, sizeof(before));
		n_before = n;
		last = at;
	}
	flow_free(f);
}

static bool load(struct loaded *l, const char *name)
{
	Dl_info info;
	*l = (struct loaded){ 0 };
	if (!open_object_or_skip(&l->o, name))
		return false;
	l->handle = dlopen(l->o.path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(l->handle);
	assert_int_not_equal(dladdr(dlsym(l->handle, "nested"), &info), 0);
	l->base = info.dli_fbase;
	return true;
}

static void unload(struct loaded *l)
{
	dlclose(l->handle);
	close_object(&l->o);
}

static void *function_of(const struct loaded *l, const char *name)
{
	void *function = dlsym(l->handle, name);
	assert_non_null(function);
	calls.n = 0;
	polls = 0;
	return function;
}

/* Calls the function with the number, and counts. */
static void run(struct loaded *l, const char *function, int n, size_t out[static DEPTH_MOST])
{
	((void (*)(int))function_of(l, function))(n);
	count(l, function, out);
}

static void nested_loops_count_each_depth(void **state)
{
	struct loaded l;
	size_t n[DEPTH_MOST];
	if (!load(&l, *state))
		return;
	((void (*)(int, int))function_of(&l, "nested"))(5, 4);
	count(&l, "nested", n);
	assert_int_equal(n[0], 5);
	assert_int_equal(n[1], 5 * 4);
	assert_int_equal(n[2], 5 * (1 + 2 + 3));
	run(&l, "breaks", 0, n);
	assert_int_equal(n[0], 11);
	assert_int_equal(n[1], 0);
	unload(&l);
}

/* Returns whether the call was made at one of the places that relocations have. */
static bool is_at(const struct loaded *l, size_t call, const uint64_t *places, size_t n)
{
	uint64_t at = calls.at[call] - (uint64_t)(uintptr_t)l->base;
	for (size_t i = 0; i < n; i++)
		if (at - places[i] < sizeof(int32_t)) /* the operand's bytes are the last ones */
			return true;
	return false;
}

/* The calls of one function, by where they were made. */
struct tally {
	size_t n_loops; /* around the innermost one of its calls */
	size_t inside;	/* that loop */
	size_t outside; /* of it: in a copy of the call */
};

static struct tally tally(struct loaded *l, const char *function, const char *called)
{
	struct flow *f = flow_of(&l->o, function, true);
	uint64_t at[PLACES_MOST];
	uint32_t loops[DEPTH_MOST];
	struct tally t = { 0 };
	size_t n_places = places(&l->o, function, called, at), depth[PLACES_MOST];
	for (size_t i = 0; i < n_places; i++) {
		depth[i] = flow_loops_around(f, flow_place(f, at[i]), loops, DEPTH_MOST);
		if (depth[i] > t.n_loops)
			t.n_loops = depth[i];
	}
	for (size_t i = 0; i < n_places; i++)
		for (size_t k = 0; k < calls.n; k++)
			if (is_at(l, k, &at[i], 1))
				*(depth[i] == t.n_loops ? &t.inside : &t.outside) += 1;
	flow_free(f);
	return t;
}

/*
 * GCC at -O3 makes the first call of innermost() before its loop, which begins with the second one.
 * So does -funroll-loops with the first call of second_loop().
 */
static void each_call_in_a_loop_is_an_iteration(void **state)
{
	struct loaded l;
	size_t n[DEPTH_MOST];
	if (!load(&l, *state))
		return;
	((void (*)(int, int))function_of(&l, "nested"))(5, 4);
	count(&l, "nested", n);
	struct tally t = tally(&l, "nested", "innermost");
	assert_true(t.n_loops >= 3);
	assert_int_equal(t.inside + t.outside, 5 * (1 + 2 + 3));
	assert_true(t.outside == 0 || t.outside == 5 * 3);
	assert_int_equal(n[t.n_loops - 1], t.inside);
	run(&l, "one_after_the_other", 9, n);
	t = tally(&l, "one_after_the_other", "second_loop");
	assert_int_equal(t.inside + t.outside, 10);
	assert_true(t.outside <= 1);
	assert_int_equal(n[0], 9 + t.inside);
	unload(&l);
}

static bool has_loop(struct loaded *l, const char *function)
{
	struct flow *f = flow_of(&l->o, function, true);
	bool has = flow_n_loops(f);
	flow_free(f);
	return has;
}

static void each_iteration_counts(void **state)
{
	static const int numbers[70];
	struct loaded l;
	size_t n[DEPTH_MOST];
	if (!load(&l, *state))
		return;
	run(&l, "switches", 18, n);
	assert_int_equal(n[0], 18);
	assert_int_equal(n[1], 2 * 18); /* 7 came up twice */
	for (int i = 1; i < 40; i++) {
		run(&l, "repeats", i, n);
		assert_int_equal(n[0], i);
		run(&l, "strided", 4 * i, n);
		assert_int_equal(n[0], i);
		run(&l, "pairs", i, n);
		assert_int_equal(n[0], i);
		((void (*)(const int *, const int *))function_of(&l, "each"))(numbers, numbers + i);
		count(&l, "each", n);
		assert_int_equal(n[0], i);
		((void (*)(int, int))function_of(&l, "decides"))(i, 3);
		count(&l, "decides", n);
		assert_int_equal(n[0], i);
	}
	run(&l, "known", 0, n);
	/* clang makes sixty calls in a row of it */
	assert_int_equal(n[0], has_loop(&l, "known") ? 60 : 0);
	unload(&l);
}

/* They look like unrolled loops, but the source has each of the calls. */
static void calls_that_the_source_repeats_are_one_iteration(void **state)
{
	struct loaded l;
	size_t n[DEPTH_MOST];
	if (!load(&l, *state))
		return;
	run(&l, "twice", 21, n);
	assert_int_equal(n[0], 21);
	run(&l, "colours", 21, n);
	assert_int_equal(n[0], 11);
	run(&l, "warms_up", 21, n);
	assert_int_equal(n[0], 21);
	unload(&l);
}

#define ADD(test, names) \
	FLOW_OBJECT_TESTS(tests + n, sizeof(tests) / sizeof(*tests) - n, test, names)

int main(void)
{
	struct CMUnitTest tests[256];
	size_t n = 0;
#ifdef __x86_64__
	n += ADD(nested_loops_count_each_depth, plain);
	n += ADD(each_call_in_a_loop_is_an_iteration, plain);
	n += ADD(each_call_in_a_loop_is_an_iteration, optimized);
	n += ADD(each_iteration_counts, plain);
	n += ADD(each_iteration_counts, optimized);
	n += ADD(calls_that_the_source_repeats_are_one_iteration, plain);
	n += ADD(calls_that_the_source_repeats_are_one_iteration, optimized);
#endif
	return _cmocka_run_group_tests("test_flow_runs", tests, n, NULL, NULL);
}
