/*
 * `libs_bench STATE`: what the wrapper of a library's function costs over the bare call, both in
 * the same process and round. Prints a line for each of four functions: NCCL's looks up its
 * communicator, cuBLAS's has nothing to look up, cuBLASLt's asks the library for its layouts,
 * cuDNN's has no facts. Run by libs_bench.sh under the library in each of its states.
 */
#include "test/bench/bench.h"
#include "test/bench/stub_libraries.h"

#include <cuda_runtime_api.h>

enum { ROUNDS = 31, CALLS = 50000, MEASURED = 4 };

static void *comm;
static char memory[64];

#define TIME(name, call)                                 \
	static double time_##name(void)                  \
	{                                                \
		double begin = bench_now_ns();           \
		for (int i = 0; i < CALLS; i++)          \
			call;                            \
		return (bench_now_ns() - begin) / CALLS; \
	}
#define BOTH(symbol, ...) \
	TIME(symbol, symbol(__VA_ARGS__)) TIME(bare_##symbol, bare_##symbol(__VA_ARGS__))

BOTH(ncclAllReduce, memory, memory, 16, 7, 0, comm, NULL)
BOTH(cublasSgemm_v2, memory, 0, 0, 64, 64, 64, memory, memory, 64, memory, 64, memory, memory, 64)
BOTH(cublasLtMatmul, memory, memory, memory, memory, memory, memory, memory, memory, memory, memory,
     memory, memory, NULL, NULL, 0, NULL)
BOTH(cudnnBackendExecute, memory, memory, memory)

static const struct {
	const char *name;
	double (*bare)(void), (*wrapped)(void);
} measured[MEASURED] = {
#define ROW(symbol, parameters) { #symbol, time_bare_##symbol, time_##symbol },
	STUB_LIBRARIES(ROW)
#undef ROW
};

static void measure(const char *state, int i)
{
	double bare[ROUNDS], wrapped[ROUNDS], added[ROUNDS];
	for (int r = 0; r < ROUNDS; r++) {
		bare[r] = measured[i].bare();
		wrapped[r] = measured[i].wrapped();
		added[r] = wrapped[r] - bare[r];
	}
	printf("%-20s %-10s %7.1f %7.1f %7.1f\n", measured[i].name, state,
	       bench_median(bare, ROUNDS), bench_median(wrapped, ROUNDS),
	       bench_median(added, ROUNDS));
}

int main(int argc, char **argv)
{
	struct bench_nccl_id id = { "libs_bench" };
	void *p;
	if (argc < 2)
		return 2;
	cudaMalloc(&p, 64); /* the first call arms the library */
	ncclCommInitRank(&comm, 8, id, 0);
	bench_map_journal((uint64_t)ROUNDS * CALLS * MEASURED * sizeof(struct rec_library));
	for (int i = 0; i < MEASURED; i++)
		measure(argv[1], i);
	return 0;
}
