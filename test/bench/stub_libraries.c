/* Libraries whose calls do nothing, so that a call's cost is that of the wrapper. */
#include "test/bench/stub_libraries.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The linker must not merge the functions: bare and wrapped calls must end in the same code. */
#define DEFINE(symbol, parameters)                                    \
	EXPORT __attribute__((noinline, noipa)) int symbol parameters \
	{                                                             \
		return 0;                                             \
	}                                                             \
	EXPORT __attribute__((alias(#symbol))) int bare_##symbol parameters;
#pragma GCC diagnostic ignored "-Wunused-parameter"
STUB_LIBRARIES(DEFINE)

EXPORT int ncclCommInitRank(void **comm, int n_ranks, struct bench_nccl_id id, int rank)
{
	static char communicator;
	*comm = &communicator;
	return 0;
}

/* Every matrix is 64 by 64 of type 0, once. */
EXPORT int cublasLtMatrixLayoutGetAttribute(void *layout, int attribute, void *to, size_t bytes,
					    size_t *written)
{
	static const unsigned long values[] = { 0, 0, 64, 64, 64, 1 };
	memcpy(to, &values[attribute % 6], bytes);
	*written = bytes;
	return 0;
}
