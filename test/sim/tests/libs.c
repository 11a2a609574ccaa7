/*
 * The libraries' stand-ins: what a call launches, on which stream, how long it takes
 * (PROFSIM_KERNEL_TIMES), what queries return. Run with PROFSIM_TRUTH, which records what the
 * device did.
 */
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

/* What the host is told at once, and a launch. */
static void batched(cudaStream_t stream, unsigned id)
{
	void *handle, *memory = NULL;
	int info = 9;
	CALL(cublasCreate_v2, &handle);
	CALL(cublasSetStream_v2, handle, stream);
	CALL(cublasSgeqrfBatched, handle, 8, 8, memory, 8, memory, &info, 16);
	check_work("cublasSgeqrfBatched_kernel", 10, id);
	check(info == 0, "arguments of many factorisations are right", "%d", info);
	info = 9;
	CALL(cublasSgelsBatched, handle, 0, 8, 8, 1, memory, 8, memory, 8, &info, memory, 16);
	check(info == 0, "and of many solutions", "%d", info);
}

static int count_works(void)
{
	char line[1024];
	int n = 0;
	FILE *f = fopen(getenv("PROFSIM_TRUTH"), "r");
	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		fclose(f);
	return n;
}

static void semi_structured(cudaStream_t stream, unsigned id)
{
	enum { R_16F = 2, ROW = 1, ITERATIONS = 2 };
	static struct {
		char bytes[512];
	} handle, a, b, d, product, algorithm, plan;
	void *memory = NULL;
	size_t bytes = 0, buffer_bytes = 0;
	int iterations = 3, read = 0;
	CALL(cusparseLtInit, &handle);
	CALL(cusparseLtStructuredDescriptorInit, &handle, &a, 128l, 256l, 256l, 16, R_16F, ROW, 0);
	CALL(cusparseLtDenseDescriptorInit, &handle, &b, 256l, 64l, 64l, 16, R_16F, ROW);
	CALL(cusparseLtDenseDescriptorInit, &handle, &d, 128l, 64l, 64l, 16, R_16F, ROW);
	CALL(cusparseLtSpMMACompressedSize2, &handle, &a, &bytes, &buffer_bytes);
	check(bytes == 128 * 256 * 2 * 9 / 16, "half the numbers and their places", "%zu", bytes);
	CALL(cusparseLtSpMMACompress2, &handle, &a, 1, 0, memory, memory, memory, stream);
	check_work("sparse_compression_kernel_cusparselt", 10, id);
	CALL(cusparseLtMatmulDescriptorInit, &handle, &product, 0, 1, &a, &b, &d, &d, 2);
	CALL(cusparseLtMatmulAlgSelectionInit, &handle, &algorithm, &product, 0);
	CALL(cusparseLtMatmulAlgSetAttribute, &handle, &algorithm, ITERATIONS, &iterations, 4l);
	CALL(cusparseLtMatmulAlgGetAttribute, &handle, &algorithm, ITERATIONS, &read, 4l);
	check(read == 3, "an algorithm's attribute", "%d", read);
	CALL(cusparseLtMatmulPlanInit, &handle, &plan, &product, &algorithm);
	CALL(cusparseLtMatmul, &handle, &plan, memory, memory, memory, memory, memory, memory,
	     memory, &stream, 1);
	check_work("sm90_xmma_sparse_gemm_f16f16_f16f32_f32_nt_n", 10, id);
	int before = count_works();
	CALL(cusparseLtMatmulSearch, &handle, &plan, memory, memory, memory, memory, memory, memory,
	     memory, &stream, 1);
	check(count_works() - before == 3, "a search tries", "%d", count_works() - before);
}

/*
 * A file's bytes reach device memory and come back, fewer past its end, with no operation of the
 * device.
 */
static void files(void)
{
	struct {
		int type, unused, fd;
		void *operations;
	} descriptor = { .type = 1 };
	char text[] = "from the drive", back[sizeof(text)] = "";
	long (*move_in)(void *, void *, size_t, long, long) =
		(long (*)(void *, void *, size_t, long, long))dlsym(libs, "cuFileRead");
	long (*move_out)(void *, void *, size_t, long, long) =
		(long (*)(void *, void *, size_t, long, long))dlsym(libs, "cuFileWrite");
	FILE *f = tmpfile();
	char *memory;
	void *handle;
	NEED(cudaMalloc((void **)&memory, 4096));
	fwrite(text, sizeof(text), 1, f);
	fflush(f);
	descriptor.fd = fileno(f);
	int before = count_works();
	NEED(CALL(cuFileHandleRegister, &handle, &descriptor));
	long n = move_in(handle, memory, 4000, 0, 32), m = move_out(handle, memory, n, 100, 32);
	check(n == sizeof(text) && m == n && count_works() == before, "a file is read and written",
	      "%ld and %ld bytes", n, m);
	NEED(cudaMemcpy(back, memory + 32, sizeof(back), cudaMemcpyDeviceToHost));
	check(!strcmp(back, text), "what was read is there", "%s", back);
	fseek(f, 100, SEEK_SET);
	check(fread(back, sizeof(back), 1, f) == 1 && !strcmp(back, text), "and what was written",
	      "%s", back);
	CALL(cuFileHandleDeregister, handle);
	fclose(f);
	NEED(cudaFree(memory));
}

/* A process group's own allocator, and what it registers. */
static void collective_memory(void)
{
	int known = 7;
	void *memory = NULL, *handle = NULL, *back = NULL;
	struct cudaPointerAttributes a;
	NEED(CALL(ncclMemAlloc, &memory, 4096l));
	NEED(cudaPointerGetAttributes(&a, memory));
	check(a.type == cudaMemoryTypeDevice, "memory of NCCL's", "type %d", a.type);
	NEED(CALL(ncclCommWindowRegister, NULL, memory, 4096l, &handle, 0));
	NEED(CALL(ncclWinGetUserPtr, NULL, handle, &back));
	check(back == memory, "a window is of its memory", "%p", back);
	NEED(CALL(ncclMemFree, memory));
	(void)cudaPointerGetAttributes(&a, memory);
	check(a.type != cudaMemoryTypeDevice, "is given back", "type %d", a.type);
	NEED(CALL(ncclRedOpCreatePreMulSum, &known, memory, 0, 0, memory));
	check(known == 5, "an operator behind the built-in ones", "%d", known);
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

/*
 * As cuDNN's front end does: puts an operation into a graph, that into an engine, a configuration,
 * a plan.
 */
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

/*
 * Weights are adjacent: each matrix ends where the next begins, and all of them lie within the
 * space.
 */
/* `number`: bytes of one of cudnnDataType_t `data` */
static void recurrent(cudaStream_t stream, unsigned id, int data, size_t number)
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
	CALL(cudnnSetRNNDescriptor_v8, rnn, 0, LSTM, 0, 1, 0, data, 0, 0, INPUT, HIDDEN, PROJECTED,
	     LAYERS);
	CALL(cudnnGetRNNWeightSpaceSize, handle, rnn, &bytes);
	bool side_by_side = true;
	for (int i = 0; i < 2 * LAYERS * MATRICES; i++) {
		CALL(cudnnGetRNNWeightParams, handle, rnn, i / MATRICES, bytes, space, i % MATRICES,
		     matrix, &at, NULL, NULL);
		CALL(cudnnGetTensorNdDescriptor, matrix, 3, &type, &dimensions, sizes, strides);
		side_by_side = side_by_side && type == data && (char *)at - space == (long)expected;
		expected += number * (size_t)sizes[1] * (size_t)sizes[2];
	}
	expected += number * 2 * LAYERS * 2 * GATES * HIDDEN; /* the biases */
	check(side_by_side && expected == bytes, "weights lie side by side", "%zu of %zu bytes",
	      expected, bytes);
	CALL(cudnnRNNForward, handle, rnn);
	check_work("RNN_blockPersist_fp_LSTM_kernel", 10, id);
}

/* Data goes to the device and back, and a number goes to the host. */
static void vectors(cudaStream_t stream, unsigned id)
{
	float in[12], out[12] = { 0 }, *memory, norm = 7;
	void *handle, *light;
	int wanted = 0;
	for (int i = 0; i < 12; i++)
		in[i] = (float)i;
	NEED(cudaMalloc((void **)&memory, 4096));
	NEED(CALL(cublasSetMatrix, 3, 4, 4, in, 3, memory, 5));
	NEED(CALL(cublasGetMatrix, 3, 4, 4, memory, 5, out, 3));
	check(!memcmp(in, out, sizeof(in)), "a matrix goes to the device and back", "%g", out[11]);
	NEED(CALL(cublasSetVector, 4, 4, in, 3, memory, 1));
	NEED(CALL(cublasGetVector, 4, 4, memory, 1, out, 1));
	check(out[1] == 3 && out[3] == 9, "a vector with gaps", "%g, %g", out[1], out[3]);
	check(CALL(cublasSetMatrix, 3, 4, 4, in, 2, memory, 3) == 7, "a bad leading dimension",
	      "was taken");
	CALL(cublasCreate_v2, &handle);
	CALL(cublasSetStream_v2, handle, stream);
	NEED(CALL(cublasSaxpy_v2, handle, 4, in, memory, 1, memory, 1));
	check_work("cublasSaxpy_kernel", 10, id);
	NEED(CALL(cublasSnrm2_v2, handle, 4, memory, 1, &norm));
	check(!norm, "a norm comes to the host", "%g", norm);
	NEED(CALL(cublasLtCreate, &light));
	NEED(CALL(cublasLtDestroy, light));
	check(CALL(cublasGetSmCountTarget, handle, &wanted) == 15,
	      "a function that is missing says so", "it succeeded");
	CALL(cublasDestroy_v2, handle);
}

static void simple_fourier(cudaStream_t stream, unsigned id)
{
	enum { C2C = 0x29, R2C = 0x2a };
	int plan, bad;
	NEED(CALL(cufftPlan1d, &plan, 1024, C2C, 8));
	NEED(CALL(cufftSetStream, plan, stream));
	NEED(CALL(cufftExecC2C, plan, NULL, NULL, -1));
	check_work("regular_fft_1024_c2c_forward_kernel", 10, id);
	CALL(cufftDestroy, plan);
	NEED(CALL(cufftPlan2d, &plan, 32, 64, R2C));
	NEED(CALL(cufftSetStream, plan, stream));
	NEED(CALL(cufftExecR2C, plan, NULL, NULL));
	check_work("regular_fft_64_r2c_forward_kernel", 10, id);
	check(CALL(cufftPlan1d, &bad, 0, C2C, 1) == 8 && CALL(cufftPlan1d, &bad, 8, 7, 1) == 3 &&
		      CALL(cufftExecC2C, 4000, NULL, NULL, 1) == 1,
	      "plans that cuFFT refuses", "were taken");
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
	batched(stream, id);
	semi_structured(stream, id);
	files();
	collective_memory();
	fourier(stream, id);
	simple_fourier(stream, id);
	vectors(stream, id);
	convolution(stream, id, 10, "fprop_implicit_gemm_f16f16_f16f32_f32", 10);
	convolution(stream, id, 12, "dgrad_implicit_gemm_f16f16_f16f32_f32", 40.5);
	convolution(stream, id, 11, "wgrad_implicit_gemm_f16f16_f16f32_f32", 10);
	recurrent(stream, id, 0, sizeof(float));
	recurrent(stream, id, 2, sizeof(float) / 2); /* CUDNN_DATA_HALF */
	return check_failed;
}
