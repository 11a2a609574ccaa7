/*
 * Calls cuBLAS, cuBLASLt, cuDNN and NCCL, as a program that is linked to them does (plt) or one
 * that looks them up (dlsym). Prints a line with each result. `hollow`: asks for functions of
 * libraries that are not there. `ranks N`: N processes that meet in NCCL. `graph N`: captures
 * products into a graph, of which two are alike, and replays it N times.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct id {
	char bytes[128];
};

int cublasCreate_v2(void **handle) __attribute__((weak));
int cublasSetStream_v2(void *handle, void *stream) __attribute__((weak));
int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc) __attribute__((weak));
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
	__attribute__((weak));
int cublasLtMatmulDescCreate(void **desc, int compute, int scale) __attribute__((weak));
int cublasLtMatmul(void *h, void *op, const void *alpha, const void *a, void *a_layout,
		   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
		   void *d, void *d_layout, const void *algorithm, void *work, size_t work_bytes,
		   void *stream) __attribute__((weak));
int cudnnCreate(void **handle) __attribute__((weak));
int cudnnBackendExecute(void *handle, void *plan, void *pack) __attribute__((weak));
int ncclGetUniqueId(struct id *id) __attribute__((weak));
int ncclCommInitRank(void **comm, int ranks, struct id id, int rank) __attribute__((weak));
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *comm,
		  void *stream) __attribute__((weak));
int ncclGroupStart(void) __attribute__((weak));
int ncclGroupEnd(void) __attribute__((weak));
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, void *comm,
		  void *stream) __attribute__((weak));

#define CALL(function) \
	((__typeof__(&function))(by_name ? dlsym(RTLD_DEFAULT, #function) : (void *)function))

enum { FLOAT = 7, SUM = 0 };

static void use_blas(int by_name, void *stream, float *memory)
{
	void *handle, *layout_a, *layout_d, *desc, *dnn;
	float one = 1;
	cublasCreate_v2(&handle);
	cublasSetStream_v2(handle, stream);
	printf("gemm %d\n", CALL(cublasSgemm_v2)(handle, 0, 0, 64, 32, 16, &one, memory, 64, memory,
						 16, &one, memory, 64));
	/* A is k by m, transposed: 48 by 128 */
	cublasLtMatrixLayoutCreate(&layout_a, 14, 48, 128, 48);
	cublasLtMatrixLayoutCreate(&layout_d, 14, 128, 96, 128);
	cublasLtMatmulDescCreate(&desc, 68, 0);
	printf("matmul %d\n",
	       CALL(cublasLtMatmul)(handle, desc, &one, memory, layout_a, memory, layout_a, &one,
				    memory, layout_d, memory, layout_d, NULL, NULL, 0, stream));
	cudnnCreate(&dnn);
	printf("dnn %d\n", CALL(cudnnBackendExecute)(dnn, NULL, NULL));
}

static int use_nccl(int by_name, void *stream, float *memory, struct id id, int rank, int ranks)
{
	void *comm;
	if (CALL(ncclCommInitRank)(&comm, ranks, id, rank))
		return 1;
	for (int i = 0; i < 3; i++) {
		if (rank == 1)
			usleep(30000);
		if (CALL(ncclAllReduce)(memory, memory, 1000, FLOAT, SUM, comm, stream))
			return 1;
		if (cudaStreamSynchronize(stream))
			return 1;
	}
	CALL(ncclGroupStart)();
	CALL(ncclAllReduce)(memory, memory, 500, FLOAT, SUM, comm, stream);
	CALL(ncclBroadcast)(memory, memory, 250, FLOAT, ranks - 1, comm, stream);
	int status = CALL(ncclGroupEnd)();
	printf("nccl %d of %d: %d\n", rank, ranks, status);
	return cudaStreamSynchronize(stream);
}

static int work(int by_name, struct id id, int rank, int ranks)
{
	cudaStream_t stream;
	float *memory;
	cudaStreamCreate(&stream);
	cudaMalloc((void **)&memory, 1 << 20);
	if (ranks == 1)
		use_blas(by_name, stream, memory);
	return use_nccl(by_name, stream, memory, id, rank, ranks);
}

static int replay(int times)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	float *memory, one = 1;
	void *handle;
	cudaStreamCreate(&stream);
	cudaMalloc((void **)&memory, 1 << 20);
	cublasCreate_v2(&handle);
	cublasSetStream_v2(handle, stream);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
	for (int i = 0; i < 3; i++)
		cublasSgemm_v2(handle, 0, 0, 64, 32, i < 2 ? 16 : 8, &one, memory, 64, memory, 16,
			       &one, memory, 64);
	cudaMemsetAsync(memory, 0, 64, stream);
	int status = cudaStreamEndCapture(stream, &graph) || cudaGraphInstantiate(&exec, graph, 0);
	for (int i = 0; i < times && !status; i++)
		status = cudaGraphLaunch(exec, stream) || cudaStreamSynchronize(stream);
	return status;
}

static int hollow(void)
{
	static const char *const names[] = { "cublasSgemm_v2", "cublasLtMatmul", "ncclAllReduce",
					     "cudnnBackendExecute", "ncclNoSuchThing" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		printf("%s %s\n", names[i], dlsym(RTLD_DEFAULT, names[i]) ? "is there" : dlerror());
	return 0;
}

int main(int argc, char **argv)
{
	struct id id = { { 0 } };
	int ranks = argc > 2 ? atoi(argv[2]) : 1, status = 0;
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "hollow"))
		return hollow();
	if (!strcmp(argv[1], "graph"))
		return replay(ranks);
	if (ncclGetUniqueId(&id))
		return 1;
	for (int rank = 1; rank < ranks; rank++)
		if (!fork())
			return work(0, id, rank, ranks);
	status = work(!strcmp(argv[1], "dlsym"), id, 0, ranks);
	for (int rank = 1; rank < ranks; rank++) {
		int of_child;
		wait(&of_child);
		status |= of_child;
	}
	return status != 0;
}
