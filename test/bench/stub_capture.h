/* The capture of the stub runtime (stub_cudart.c), of which the stub driver tells. */
#ifndef TEST_BENCH_STUB_CAPTURE_H
#define TEST_BENCH_STUB_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

/* Any stream captures; `graph` is the handle of the newest graph. */
extern struct bare_capture {
	uintptr_t graph;
	size_t n_nodes;
	int is_on;
} bare_capture;

#endif
