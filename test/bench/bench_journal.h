/*
 * Shared by the benchmarks that read a journal: a clock, and the names of what the launches in the
 * journal refer to.
 */
#ifndef TEST_BENCH_BENCH_JOURNAL_H
#define TEST_BENCH_BENCH_JOURNAL_H

#include "test/unit/journal_builder.h"

#include <stdio.h>
#include <time.h>

enum {
	CUPTI_SLOT = 9,
	KERNELS = 200,
	LAUNCH_NS = 4000,
	FIRST_TEXT = KERNELS + 1, /* id of the string that bench_add_codes() adds first */
};

static inline double bench_now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void bench_add_names(struct journal_builder *b)
{
	jb_thread(b, 1, 100, "main");
	jb_thread(b, CUPTI_SLOT, 109, "cupti");
	jb_device(b, 0, "Bench GPU");
	for (uint32_t i = 1; i <= KERNELS; i++) {
		char name[128];
		snprintf(name, sizeof(name),
			 "void at::native::vectorized_elementwise_kernel<%u, "
			 "at::native::Functor>(int)",
			 i);
		jb_string(b, i, name);
		jb_kernel(b, i, i);
	}
}

/* Adds `n` Python functions, with ids from 1 on. Half of them are the user's. */
static inline void bench_add_codes(struct journal_builder *b, uint32_t n)
{
	static const uint8_t table[] = { 0xf2, 2, 1 }; /* LINES_310 would do as well: one line */
	char text[128];
	for (uint32_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text),
			 i % 2 ? "/home/me/model_%u.py"
			       : "/usr/lib/python3/site-packages/torch/nn/module_%u.py",
			 i);
		jb_string(b, FIRST_TEXT + i, text);
		jb_code(b,
			&(struct dict_code){ .id = i + 1,
					     .file = FIRST_TEXT + i,
					     .name = FIRST_TEXT + i,
					     .first_line = 10,
					     .lines = LINES_311,
					     .table_bytes = sizeof(table) },
			table);
	}
}

#endif
