/* The libraries' stand-ins: what a call launches, on which stream, how long it takes (PROFSIM_KERNEL_TIMES), what questions get. Run with
 * PROFSIM_TRUTH, which says what the device did. */
#include "test/sim/tests/check.h"

#include <dlfcn.h>
#include <stdint.h>

static void *libs;

/* The library's function; no header of it is needed, so it has no prototype. */
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#define CALL(name, ...) ((int (*)())dlsym(libs, #name))(__VA_ARGS__)

struct work {
	char name[256];
	unsigned stream;
	double us;
};

/* The last operation that the device was given. */
static struct work last(void)
{
	struct work w = { "none", 0, 0 };
	char line[1024], kind[32];
	long long start, end;
	FILE *f = fopen(getenv("PROFSIM_TRUTH"), "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%31s %255s %u %lld %lld", kind, w.name, &w.stream, &start,
			   &end) == 5)
			w.us = (double)(end - start) / 1e3;
	if (f)
		fclose(f);
	return w;
}

static void check_work(const char *name, double us, unsigned stream)
{
	struct work w = last();
	check(strstr(w.name, name) && w.us == us && stream == w.stream, name,
	      "%s in stream %u took %g us", w.name, w.stream, w.us);
}

static void solver(cudaStream_t stream, unsigned id)
{
	void *handle, *memory = NULL;
	int elements = -1;
	size_t device_bytes = 7, host_bytes = 7;
	CALL(cusolverDnCreate, &handle);
	CALL(cusolverDnSetStream, handle, stream);
	CALL(cusolverDnSgetrf_bufferSize, handle, 8, 8, memory, 8, &elements);
	check(elements > 0, "a factorisation asks for a buffer", "of %d", elements);
	CALL(cusolverDnXsyevd_bufferSize, handle, memory, 1, 0, 8l, 0, memory, 8l, 0, memory, 0,
	     &device_bytes, &host_bytes);
	check(device_bytes > 7 && host_bytes > 7, "or for two", "of %zu and %zu", device_bytes,
	      host_bytes);
	CALL(cusolverDnSgetrf, handle, 8, 8, memory, 8, memory, memory, memory);
	check_work("cusolverDnSgetrf_kernel", 300, id);
	CALL(cusolverDnDestroy, handle);
}

static void sparse(cudaStream_t stream, unsigned id)
{
	void *handle, *a, *b, *c, *memory = NULL, *buffer = &libs;
	int64_t rows = 0, columns = 0, numbers = 0;
	size_t bytes = 0;
	CALL(cusparseCreate, &handle);
	CALL(cusparseSetStream, handle, stream);
	CALL(cusparseCreateCsr, &a, 8l, 9l, 20l, memory, memory, memory, 0, 0, 0, 0);
	CALL(cusparseCreateCsr, &b, 9l, 7l, 30l, memory, memory, memory, 0, 0, 0, 0);
	CALL(cusparseCreateCsr, &c, 8l, 7l, 0l, memory, memory, memory, 0, 0, 0, 0);
	CALL(cusparseSpMM_bufferSize, handle, 0, 0, memory, a, memory, memory, memory, 0, 0,
	     &bytes);
	check(bytes > 0, "a sparse product asks for a buffer", "of none");
	CALL(cusparseSpMM, handle, 0, 0, memory, a, memory, memory, memory, 0, 0, memory);
	check_work("cusparseSpMM_kernel", 10, id);
	bytes = 0;
	CALL(cusparseSpGEMM_compute, handle, 0, 0, memory, a, b, memory, c, 0, 0, memory, &bytes,
	     NULL);
	check(bytes > 0 && !strstr(last().name, "SpGEMM"), "a question launches nothing", "%zu",
	      bytes);
	CALL(cusparseSpGEMM_compute, handle, 0, 0, memory, a, b, memory, c, 0, 0, memory, &bytes,
	     buffer);
	check_work("cusparseSpGEMM_compute_kernel", 10, id);
	CALL(cusparseSpMatGetSize, c, &rows, &columns, &numbers);
	check(rows == 8 && columns == 7 && numbers == 30, "a sparse product's size",
	      "%ld by %ld, %ld", (long)rows, (long)columns, (long)numbers);
}

static void fourier(cudaStream_t stream, unsigned id)
{
	enum { R_32F = 0, C_32F = 4 };
	long long sizes[] = { 16, 64 };
	int plan = 0;
	size_t bytes = 0;
	void *memory = NULL;
	CALL(cufftCreate, &plan);
	CALL(cufftSetStream, plan, stream);
	CALL(cufftXtMakePlanMany, plan, 2, sizes, memory, 1ll, 1ll, R_32F, memory, 1ll, 1ll, C_32F,
	     3ll, &bytes, C_32F);
	check(bytes > 0, "a plan asks for a buffer", "of none");
	CALL(cufftXtExec, plan, memory, memory, -1);
	check_work("regular_fft_64_r2c_forward_kernel__cufft", 10, id);
	check(!CALL(cufftDestroy, plan) && CALL(cufftXtExec, plan, memory, memory, -1),
	      "a plan that is gone does nothing", "it did");
}

/* As cuDNN's front end does: an operation into a graph, that into an engine, a configuration, a plan. */
static void convolution(cudaStream_t stream, unsigned id, int operation, const char *kernel,
			double us)
{
	enum {
		GRAPH = 15,
		ENGINE = 2,
		CONFIGURATION = 3,
		PLAN = 5,
		TENSOR = 17,
		TYPE_DESCRIPTOR = 15
	};
	static const int kinds[] = { GRAPH, ENGINE, CONFIGURATION, PLAN };
	void *handle, *tensor, *inner, *outer;
	int half = 2;
	CALL(cudnnCreate, &handle);
	CALL(cudnnSetStream, handle, stream);
	CALL(cudnnBackendCreateDescriptor, TENSOR, &tensor);
	CALL(cudnnBackendSetAttribute, tensor, 901, 1, 1l, &half);
	CALL(cudnnBackendCreateDescriptor, operation, &inner);
	CALL(cudnnBackendSetAttribute, inner, 0, TYPE_DESCRIPTOR, 1l, &tensor);
	for (int i = 0; i < 4; i++, inner = outer) {
		CALL(cudnnBackendCreateDescriptor, kinds[i], &outer);
		CALL(cudnnBackendSetAttribute, outer, 0, TYPE_DESCRIPTOR, 1l, &inner);
		CALL(cudnnBackendDestroyDescriptor, inner);
	}
	CALL(cudnnBackendExecute, handle, inner, NULL);
	check_work(kernel, us, id);
}

/* Weights lie side by side: each matrix ends where the next begins, and all of them within the space. */
static void recurrent(cudaStream_t stream, unsigned id)
{
	enum {
		LSTM = 2,
		GATES = 4,
		LAYERS = 2,
		INPUT = 32,
		HIDDEN = 64,
		PROJECTED = 16,
		MATRICES = 2 * GATES + 1
	};
	void *handle, *rnn, *matrix, *bias, *at;
	size_t bytes = 0, expected = 0;
	char *space = NULL;
	int type, dimensions, sizes[3], strides[3];
	CALL(cudnnCreate, &handle);
	CALL(cudnnSetStream, handle, stream);
	CALL(cudnnCreateRNNDescriptor, &rnn);
	CALL(cudnnCreateTensorDescriptor, &matrix);
	CALL(cudnnCreateTensorDescriptor, &bias);
	CALL(cudnnSetRNNDescriptor_v8, rnn, 0, LSTM, 0, 1, 0, 0, 0, 0, INPUT, HIDDEN, PROJECTED,
	     LAYERS);
	CALL(cudnnGetRNNWeightSpaceSize, handle, rnn, &bytes);
	bool side_by_side = true;
	for (int i = 0; i < 2 * LAYERS * MATRICES; i++) {
		CALL(cudnnGetRNNWeightParams, handle, rnn, i / MATRICES, bytes, space, i % MATRICES,
		     matrix, &at, NULL, NULL);
		CALL(cudnnGetTensorNdDescriptor, matrix, 3, &type, &dimensions, sizes, strides);
		side_by_side = side_by_side && (char *)at - space == (long)expected;
		expected += sizeof(float) * (size_t)sizes[1] * (size_t)sizes[2];
	}
	expected += sizeof(float) * 2 * LAYERS * 2 * GATES * HIDDEN; /* the biases */
	check(side_by_side && expected == bytes, "weights lie side by side", "%zu of %zu bytes",
	      expected, bytes);
	CALL(cudnnRNNForward, handle, rnn);
	check_work("RNN_blockPersist_fp_LSTM_kernel", 10, id);
}

int main(void)
{
	cudaStream_t stream;
	unsigned id;
	libs = dlopen("libprofsim_libs.so", RTLD_NOW);
	check(libs, "the libraries' stand-ins load", "%s", dlerror());
	if (!libs)
		return 1;
	NEED(cudaStreamCreate(&stream));
	launch(kernel_named("by_default"), NULL);
	id = last().stream;
	launch(kernel_named("mine"), stream);
	check(id != last().stream, "a stream of its own", "%u", id);
	id = last().stream;
	solver(stream, id);
	sparse(stream, id);
	fourier(stream, id);
	convolution(stream, id, 10, "fprop_implicit_gemm_f16f16_f16f32_f32", 10);
	convolution(stream, id, 12, "dgrad_implicit_gemm_f16f16_f16f32_f32", 40.5);
	convolution(stream, id, 11, "wgrad_implicit_gemm_f16f16_f16f32_f32", 10);
	recurrent(stream, id);
	return check_failed;
}
