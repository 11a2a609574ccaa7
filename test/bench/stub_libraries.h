/*
 * The functions of NVIDIA's libraries that libs_bench calls, each under two names: the library's,
 * and one with the prefix `bare_`, which has no wrapper. X(symbol, (parameters))
 */
#ifndef TEST_BENCH_STUB_LIBRARIES_H
#define TEST_BENCH_STUB_LIBRARIES_H

#include <stddef.h>

struct bench_nccl_id {
	char bytes[128];
};

#define STUB_LIBRARIES(X)                                                                         \
	X(ncclAllReduce,                                                                          \
	  (const void *from, void *to, size_t count, int type, int op, void *comm, void *stream)) \
	X(cublasSgemm_v2,                                                                         \
	  (void *handle, int transa, int transb, int m, int n, int k, const void *alpha,          \
	   const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc))   \
	X(cublasLtMatmul,                                                                         \
	  (void *handle, void *operation, const void *alpha, const void *a, void *a_layout,       \
	   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,        \
	   void *d, void *d_layout, const void *algorithm, void *workspace,                       \
	   size_t workspace_bytes, void *stream))                                                 \
	X(cudnnBackendExecute, (void *handle, void *plan, void *pack))

#define DECLARE(symbol, parameters) int symbol parameters, bare_##symbol parameters;
STUB_LIBRARIES(DECLARE)
#undef DECLARE

int ncclCommInitRank(void **comm, int n_ranks, struct bench_nccl_id id, int rank);
int cublasLtMatrixLayoutGetAttribute(void *layout, int attribute, void *to, size_t bytes,
				     size_t *written);

#endif
