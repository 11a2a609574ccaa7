/*
 * Does what a framework does between two calls: it passes through its own memory and code, so that
 * nothing of a wrapper is in the nearest caches at the next call. COLD_PART: number of such calls
 * per launch.
 */
#ifndef TEST_BENCH_COLD_H
#define TEST_BENCH_COLD_H

#include "test/bench/bench.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	COLD_LINE = 64,
	COLD_DATA_BYTES = 8 << 20,
	COLD_CODE_BYTES = 1 << 20,
	COLD_LINES_BETWEEN = 3000 / COLD_PART, /* 190 KB between two launches, 13 MB in 70 */
	COLD_JUMPS_BETWEEN = 1500 / COLD_PART, /* 94 KB of code: three times an L1 */
};

static struct {
	char *data;
	uint8_t *code;
	uint32_t starts[COLD_CODE_BYTES / COLD_LINE / COLD_JUMPS_BETWEEN + 1], n_starts;
	uint32_t place;
} cold = { .place = 1 };

/* Chains of jumps between cache lines in random order; each ends with a return. */
static inline void cold_make_code(void)
{
	static uint32_t lines[COLD_CODE_BYTES / COLD_LINE];
	uint32_t n = COLD_CODE_BYTES / COLD_LINE;
	for (uint32_t i = 0; i < n; i++)
		lines[i] = i;
	for (uint32_t i = n - 1; i; i--) {
		uint32_t j = (uint32_t)rand() % (i + 1), line = lines[i];
		lines[i] = lines[j];
		lines[j] = line;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *at = cold.code + (size_t)lines[i] * COLD_LINE;
		if (i % COLD_JUMPS_BETWEEN == 0)
			cold.starts[cold.n_starts++] = lines[i];
		*at = 0xc3; /* ret */
		if ((i + 1) % COLD_JUMPS_BETWEEN && i + 1 < n) {
			int32_t distance = (int32_t)(lines[i + 1] - lines[i]) * COLD_LINE - 5;
			*at = 0xe9; /* jmp */
			memcpy(at + 1, &distance, sizeof(distance));
		}
	}
}

static inline void cold_pass(int i)
{
	void (*chain)(void);
	void *start = cold.code + (size_t)cold.starts[(uint32_t)i % cold.n_starts] * COLD_LINE;
	for (int k = 0; k < COLD_LINES_BETWEEN; k++) {
		cold.place = cold.place * 1664525u + 1013904223u;
		*(volatile char *)(cold.data + (cold.place >> 9) % COLD_DATA_BYTES);
	}
	memcpy(&chain, &start, sizeof(chain));
	chain();
}

/* Returns false if no memory can be both written and executed. */
static inline bool cold_make(void)
{
	cold.data = malloc(COLD_DATA_BYTES);
	cold.code = mmap(NULL, COLD_CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!cold.data || cold.code == MAP_FAILED)
		return false;
	memset(cold.data, 1, COLD_DATA_BYTES);
	cold_make_code();
	return true;
}

#endif
