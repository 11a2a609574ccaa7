/*
 * What a native stack costs: compares the unwinder with libunwind's unw_backtrace and glibc's
 * backtrace, on the same stacks in the same run. Figures are ns of processor time per call, the
 * median of nine rounds. If stacks change, the cost of the call chain itself is subtracted.
 */
#include "preload/unwind.h"
#include "test/bench/bench.h"
#include "test/unit/chain/chain.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, VARIANTS = 4096, DEEPEST = 64, FUNCTIONS = CHAIN_OBJECTS * CHAIN_SHAPES };

static struct unwind_thread *thread;
static chain_function *functions[FUNCTIONS];
static int (*unw_backtrace)(void **, int), (*glibc_backtrace)(void **, int);
static void *addresses[600];
static volatile uint64_t sink;

/* ---- Ways to take a stack ---- */

static __attribute__((noinline)) void by_nothing(void)
{
	sink = 1;
}

static __attribute__((noinline)) void by_unwinder(void)
{
	struct unwind_regs regs = {
		.ip = (uint64_t)(uintptr_t)__builtin_return_address(0),
		.sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),
		.bp = *(uint64_t *)__builtin_frame_address(0),
	};
	uint32_t kept;
	sink = unwind_walk(thread, &regs, 0, &kept);
}

static __attribute__((noinline)) void by_unw_backtrace(void)
{
	sink = (uint64_t)unw_backtrace(addresses, 512);
}

static __attribute__((noinline)) void by_glibc(void)
{
	sink = (uint64_t)glibc_backtrace(addresses, 512);
}

static const struct way {
	const char *name;
	void (*take)(void);
	int divide; /* fewer iterations for slow ways */
} ways[] = {
	{ "nothing", by_nothing, 1 },
	{ "profrun", by_unwinder, 1 },
	{ "unw_backtrace", by_unw_backtrace, 4 },
	{ "glibc backtrace", by_glibc, 40 },
};

enum { WAYS = sizeof(ways) / sizeof(*ways) };

/* ---- Measuring ---- */

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct measured {
	const struct way *way;
	double ns;
};

static void same_stack(void *arg)
{
	struct measured *m = arg;
	int iterations = 40000 / m->way->divide;
	double rounds[ROUNDS];
	for (int i = 0; i < 100; i++)
		m->way->take();
	for (int r = 0; r < ROUNDS; r++) {
		double begin = now_ns();
		for (int i = 0; i < iterations; i++)
			m->way->take();
		rounds[r] = (now_ns() - begin) / iterations;
	}
	m->ns = bench_median(rounds, ROUNDS);
}

static void once(void *arg)
{
	((struct measured *)arg)->way->take();
	__asm__ volatile("" ::: "memory");
}

/* The innermost calls of a path change with every iteration. */
struct changing {
	struct measured *m;
	int calls, variants;
	chain_function *(*paths)[DEEPEST];
};

static __attribute__((noinline)) void call_path(struct changing *c, int variant)
{
	struct chain chain = { c->paths[variant] + 1, once, c->m };
	c->paths[variant][0](&chain, c->calls - 1);
	__asm__ volatile("");
}

static void changing_stack(void *arg)
{
	struct changing *c = arg;
	int iterations = 12288 / c->m->way->divide;
	double rounds[ROUNDS];
	for (int i = 0; i < c->variants; i++)
		call_path(c, i);
	for (int r = 0; r < ROUNDS; r++) {
		double begin = now_ns();
		for (int i = 0; i < iterations; i++)
			call_path(c, i % c->variants);
		rounds[r] = (now_ns() - begin) / iterations;
	}
	c->m->ns = bench_median(rounds, ROUNDS);
}

static __attribute__((noinline)) void run(chain_function *const *path, int calls,
					  void (*leaf)(void *), void *arg)
{
	struct chain c = { path + 1, leaf, arg };
	if (calls)
		path[0](&c, calls - 1);
	else
		leaf(arg);
	__asm__ volatile("");
}

static void print_row(const char *name, const double *ns, double off, const char *target)
{
	printf("%-46s %8.1f %14.1f %16.1f %8.2f %8s\n", name, ns[1] - off, ns[2] - off, ns[3] - off,
	       (ns[1] - off) / (ns[2] - off), target);
}

/* Frames of main and its callers are below each chain. */
enum { OUTER_FRAMES = 6 };

static chain_function *any_function(void)
{
	return functions[rand() % FUNCTIONS];
}

static void bench_same(int frames)
{
	chain_function *path[DEEPEST];
	double ns[WAYS];
	char name[64];
	for (int i = 0; i < DEEPEST; i++)
		path[i] = any_function();
	for (int i = 0; i < WAYS; i++) {
		struct measured m = { .way = &ways[i] };
		run(path, frames - OUTER_FRAMES, same_stack, &m);
		ns[i] = m.ns;
	}
	snprintf(name, sizeof(name), "%d frames, same stack", frames);
	print_row(name, ns, ns[0], "60");
}

static void bench_changing(int frames, int inner, int variants, const char *target)
{
	static chain_function *paths[VARIANTS][DEEPEST];
	chain_function *outer[DEEPEST];
	double ns[WAYS];
	char name[64];
	for (int i = 0; i < DEEPEST; i++)
		outer[i] = any_function();
	for (int v = 0; v < variants; v++)
		for (int i = 0; i < inner; i++)
			paths[v][i] = any_function();
	for (int i = 0; i < WAYS; i++) {
		struct measured m = { .way = &ways[i] };
		struct changing c = { &m, inner, variants, paths };
		run(outer, frames - inner - OUTER_FRAMES, changing_stack, &c);
		ns[i] = m.ns;
	}
	snprintf(name, sizeof(name), "%d frames, inner %d of %d variants", frames, inner, variants);
	print_row(name, ns, ns[0], target);
}

/* Makes everything that is cached stale: a walk learns each of its addresses again. */
static void bench_learning(void)
{
	chain_function *path[DEEPEST];
	double rounds[ROUNDS];
	struct measured m = { .way = &ways[1] };
	for (int r = 0; r < ROUNDS; r++) {
		struct unwind_counts before, after;
		for (int i = 0; i < DEEPEST; i++)
			path[i] = any_function();
		run(path, DEEPEST, once, &m);
		unwind_objects_gone();
		unwind_count(&before);
		double begin = now_ns();
		run(path, DEEPEST, once, &m);
		rounds[r] = now_ns() - begin;
		unwind_count(&after);
		rounds[r] /= (double)(after.learned - before.learned);
	}
	printf("%-46s %8.0f %14s %16s %8s %8s\n", "an address seen for the first time",
	       bench_median(rounds, ROUNDS), "", "", "", "5000");
}

static void *open_or_die(const char *name, int flags)
{
	void *library = dlopen(name, flags);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return library;
}

static void load(const char *folder)
{
	char name[4096];
	for (int i = 0; i < CHAIN_OBJECTS; i++) {
		snprintf(name, sizeof(name), "%s/libchain%d.so", folder, i);
		memcpy(functions + i * CHAIN_SHAPES,
		       dlsym(open_or_die(name, RTLD_NOW), "chain_functions"),
		       CHAIN_SHAPES * sizeof(*functions));
	}
	void *libunwind = open_or_die("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	*(void **)&unw_backtrace = dlsym(libunwind, "unw_backtrace");
	*(void **)&glibc_backtrace = dlsym(open_or_die("libc.so.6", RTLD_NOW), "backtrace");
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: unwind_bench FOLDER-OF-CHAIN-OBJECTS\n");
		return 2;
	}
	load(argv[1]);
	if (!unwind_start(UNWIND_DEPTH_MOST) || !(thread = unwind_thread_new()))
		return 1;
	srand(3);
	printf("%-46s %8s %14s %16s %8s %8s\n", "native stack (ns)", ways[1].name, ways[2].name,
	       ways[3].name, "ratio", "target");
	for (int frames = 30; frames <= 60; frames += 30) {
		bench_same(frames);
		bench_changing(frames, 4, 16, "250");
		bench_changing(frames, 8, 16, "250");
		bench_changing(frames, 4, VARIANTS, "");
		bench_changing(frames, 8, VARIANTS, "");
		bench_changing(frames, frames - OUTER_FRAMES - 1, VARIANTS, "");
	}
	bench_learning();
	return 0;
}
