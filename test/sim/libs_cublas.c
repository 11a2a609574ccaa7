/*
 * cuBLAS and cuBLASLt: matrix products (GEMMs) with grids and kernel names like those of the real
 * libraries, for the calls that PyTorch makes. The other functions of cuBLAS are generated and
 * launch one kernel per call. Runs on the application's threads.
 */
#include "test/sim/libs.h"

#include <stdio.h>

#define TILE		    64
#define CUBLAS_ALLOC_FAILED 3 /* also the error for a caller's descriptor that is too small */

LIBS_CREATE(cublasCreate_v2)

SIM_EXPORT int cublasDestroy_v2(void *handle);
SIM_EXPORT int cublasDestroy_v2(void *handle)
{
	struct libs_handle *h = handle;
	if (h && h->scratch)
		libs_free(h->scratch);
	free(handle);
	return 0;
}

LIBS_MEMBER(cublasSetStream_v2, cublasGetStream_v2, void *, stream)
LIBS_MEMBER(cublasSetMathMode, cublasGetMathMode, int, math_mode)
LIBS_MEMBER(cublasSetPointerMode_v2, cublasGetPointerMode_v2, int, pointer_mode)

static int gemm(void *stream, const char *type, int trans_a, int trans_b, long m, long n,
		long batch)
{
	char name[256];
	if (m <= 0 || n <= 0 || batch <= 0)
		return 0;
	snprintf(name, sizeof(name),
		 "sm90_xmma_gemm_%s_%c%c_n_tilesize64x64x32_stage4_aligned_execute_kernel__5x_"
		 "cublas",
		 type, trans_a ? 't' : 'n', trans_b ? 't' : 'n');
	return libs_launch(stream, name, (unsigned)((m + TILE - 1) / TILE),
			   (unsigned)((n + TILE - 1) / TILE),
			   batch > 65535 ? 65535 : (unsigned)batch, 128)
		       ? CUBLAS_FAILED
		       : 0;
}

/* `type`: cudaDataType_t. */
const char *libs_type_name(int type)
{
	switch (type) {
	case 0:
		return "f32f32_tf32f32_f32";
	case 1:
		return "f64f64_f64f64_f64";
	case 2:
		return "f16f16_f16f32_f32";
	case 3:
		return "i8i8_i8i32_f32";
	case 14:
		return "bf16bf16_bf16f32_f32";
	case 28:
		return "e4m3e4m3_e4m3f32_f32";
	case 29:
		return "e5m2e5m2_e5m2f32_f32";
	default:
		return "generic";
	}
}

#define GEMM(letter, type)                                                                         \
	SIM_EXPORT int cublas##letter##gemm_v2(struct libs_handle *h, int ta, int tb, int m,       \
					       int n, int k);                                      \
	SIM_EXPORT int cublas##letter##gemm_v2(struct libs_handle *h, int ta, int tb, int m,       \
					       int n, int k)                                       \
	{                                                                                          \
		(void)k;                                                                           \
		return gemm(h->stream, type, ta, tb, m, n, 1);                                     \
	}                                                                                          \
	SIM_EXPORT int cublas##letter##gemmBatched(struct libs_handle *h, int ta, int tb, int m,   \
						   int n, int k, const void *alpha, const void *a, \
						   int lda, const void *b, int ldb,                \
						   const void *beta, void *c, int ldc, int batch); \
	SIM_EXPORT int cublas##letter##gemmBatched(struct libs_handle *h, int ta, int tb, int m,   \
						   int n, int k, const void *alpha, const void *a, \
						   int lda, const void *b, int ldb,                \
						   const void *beta, void *c, int ldc, int batch)  \
	{                                                                                          \
		(void)k, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta, (void)c, \
			(void)ldc;                                                                 \
		return gemm(h->stream, type, ta, tb, m, n, batch);                                 \
	}                                                                                          \
	SIM_EXPORT int cublas##letter##gemmStridedBatched(                                         \
		struct libs_handle *h, int ta, int tb, int m, int n, int k, const void *alpha,     \
		const void *a, int lda, long long sa, const void *b, int ldb, long long sb,        \
		const void *beta, void *c, int ldc, long long sc, int batch);                      \
	SIM_EXPORT int cublas##letter##gemmStridedBatched(                                         \
		struct libs_handle *h, int ta, int tb, int m, int n, int k, const void *alpha,     \
		const void *a, int lda, long long sa, const void *b, int ldb, long long sb,        \
		const void *beta, void *c, int ldc, long long sc, int batch)                       \
	{                                                                                          \
		(void)k, (void)alpha, (void)a, (void)lda, (void)sa, (void)b, (void)ldb, (void)sb,  \
			(void)beta, (void)c, (void)ldc, (void)sc;                                  \
		return gemm(h->stream, type, ta, tb, m, n, batch);                                 \
	}

GEMM(S, "f32f32_tf32f32_f32")
GEMM(D, "f64f64_f64f64_f64")
GEMM(C, "c32c32_c32c32_c32")
GEMM(Z, "c64c64_c64c64_c64")

SIM_EXPORT int cublasGemmEx(struct libs_handle *h, int ta, int tb, int m, int n, int k,
			    const void *alpha, const void *a, int a_type, int lda, const void *b,
			    int b_type);
SIM_EXPORT int cublasGemmEx(struct libs_handle *h, int ta, int tb, int m, int n, int k,
			    const void *alpha, const void *a, int a_type, int lda, const void *b,
			    int b_type)
{
	(void)k, (void)alpha, (void)a, (void)lda, (void)b, (void)b_type;
	return gemm(h->stream, libs_type_name(a_type), ta, tb, m, n, 1);
}

SIM_EXPORT int cublasSgemmEx(struct libs_handle *h, int ta, int tb, int m, int n, int k,
			     const void *alpha, const void *a, int a_type, int lda);
SIM_EXPORT int cublasSgemmEx(struct libs_handle *h, int ta, int tb, int m, int n, int k,
			     const void *alpha, const void *a, int a_type, int lda)
{
	(void)k, (void)alpha, (void)a, (void)lda;
	return gemm(h->stream, libs_type_name(a_type), ta, tb, m, n, 1);
}

SIM_EXPORT int cublasGemmStridedBatchedEx(struct libs_handle *h, int ta, int tb, int m, int n,
					  int k, const void *alpha, const void *a, int a_type,
					  int lda, long long sa, const void *b, int b_type, int ldb,
					  long long sb, const void *beta, void *c, int c_type,
					  int ldc, long long sc, int batch);
SIM_EXPORT int cublasGemmStridedBatchedEx(struct libs_handle *h, int ta, int tb, int m, int n,
					  int k, const void *alpha, const void *a, int a_type,
					  int lda, long long sa, const void *b, int b_type, int ldb,
					  long long sb, const void *beta, void *c, int c_type,
					  int ldc, long long sc, int batch)
{
	(void)k, (void)alpha, (void)a, (void)lda, (void)sa, (void)b, (void)b_type, (void)ldb,
		(void)sb, (void)beta, (void)c, (void)c_type, (void)ldc, (void)sc;
	return gemm(h->stream, libs_type_name(a_type), ta, tb, m, n, batch);
}

/* ---- cuBLASLt ---- */

struct layout {
	int type, batch;
	uint64_t rows, columns;
};

struct matmul {
	int trans_a, trans_b, epilogue;
};

SIM_EXPORT int cublasLtCreate(void **out);
SIM_EXPORT int cublasLtCreate(void **out)
{
	return cublasCreate_v2(out);
}

SIM_EXPORT size_t cublasLtGetVersion(void);
SIM_EXPORT size_t cublasLtGetVersion(void)
{
	return LIBS_CUBLAS_VERSION;
}

SIM_EXPORT int cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows,
					  uint64_t columns, int64_t ld);
SIM_EXPORT int cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows,
					  uint64_t columns, int64_t ld)
{
	(void)ld;
	*out = calloc(1, 256);
	**out = (struct layout){ .type = type, .batch = 1, .rows = rows, .columns = columns };
	return 0;
}

SIM_EXPORT int cublasLtMatrixLayoutInit_internal(struct layout *layout, size_t bytes, int type,
						 uint64_t rows, uint64_t columns, int64_t ld);
SIM_EXPORT int cublasLtMatrixLayoutInit_internal(struct layout *layout, size_t bytes, int type,
						 uint64_t rows, uint64_t columns, int64_t ld)
{
	(void)ld;
	if (bytes < sizeof(*layout))
		return CUBLAS_ALLOC_FAILED;
	*layout = (struct layout){ .type = type, .batch = 1, .rows = rows, .columns = columns };
	return 0;
}

SIM_EXPORT int cublasLtMatrixLayoutDestroy(void *layout);
SIM_EXPORT int cublasLtMatrixLayoutDestroy(void *layout)
{
	return libs_destroy(layout);
}

SIM_EXPORT int cublasLtMatrixLayoutSetAttribute(struct layout *l, int attribute, const void *value,
						size_t bytes);
SIM_EXPORT int cublasLtMatrixLayoutSetAttribute(struct layout *l, int attribute, const void *value,
						size_t bytes)
{
	enum { BATCH_COUNT = 5 };
	if (attribute == BATCH_COUNT && bytes == sizeof(int))
		memcpy(&l->batch, value, sizeof(int));
	return 0;
}

/* The error for a buffer of the caller that is too small, as in the real library. */
#define CUBLAS_INVALID_VALUE 7

SIM_EXPORT int cublasLtMatrixLayoutGetAttribute(const struct layout *l, int attribute, void *value,
						size_t bytes, size_t *written);
SIM_EXPORT int cublasLtMatrixLayoutGetAttribute(const struct layout *l, int attribute, void *value,
						size_t bytes, size_t *written)
{
	enum { TYPE, ORDER, ROWS, COLUMNS, LEADING, BATCH_COUNT };
	const void *from = attribute == TYPE	      ? (const void *)&l->type
			   : attribute == ROWS	      ? (const void *)&l->rows
			   : attribute == COLUMNS     ? (const void *)&l->columns
			   : attribute == BATCH_COUNT ? (const void *)&l->batch
						      : NULL;
	size_t needed = attribute == ROWS || attribute == COLUMNS ? sizeof(uint64_t) : sizeof(int);
	if (!from || bytes < needed)
		return CUBLAS_INVALID_VALUE;
	memcpy(value, from, needed);
	if (written)
		*written = needed;
	return 0;
}

SIM_EXPORT int cublasLtMatmulDescCreate(struct matmul **out, int compute, int scale);
SIM_EXPORT int cublasLtMatmulDescCreate(struct matmul **out, int compute, int scale)
{
	(void)compute, (void)scale;
	*out = calloc(1, 512);
	return 0;
}

SIM_EXPORT int cublasLtMatmulDescInit_internal(struct matmul *desc, size_t bytes, int compute,
					       int scale);
SIM_EXPORT int cublasLtMatmulDescInit_internal(struct matmul *desc, size_t bytes, int compute,
					       int scale)
{
	(void)compute, (void)scale;
	if (bytes < sizeof(*desc))
		return CUBLAS_ALLOC_FAILED;
	memset(desc, 0, bytes);
	return 0;
}

SIM_EXPORT int cublasLtMatmulDescDestroy(void *desc);
SIM_EXPORT int cublasLtMatmulDescDestroy(void *desc)
{
	return libs_destroy(desc);
}

SIM_EXPORT int cublasLtMatmulDescSetAttribute(struct matmul *m, int attribute, const void *value,
					      size_t bytes);
SIM_EXPORT int cublasLtMatmulDescSetAttribute(struct matmul *m, int attribute, const void *value,
					      size_t bytes)
{
	enum { TRANSA = 3, TRANSB = 4, EPILOGUE = 7 };
	int *to = attribute == TRANSA	  ? &m->trans_a
		  : attribute == TRANSB	  ? &m->trans_b
		  : attribute == EPILOGUE ? &m->epilogue
					  : NULL;
	if (to && bytes >= sizeof(int))
		memcpy(to, value, sizeof(int));
	return 0;
}

SIM_EXPORT int cublasLtMatmulPreferenceCreate(void **out);
SIM_EXPORT int cublasLtMatmulPreferenceCreate(void **out)
{
	return libs_create(out);
}

SIM_EXPORT int cublasLtMatmulPreferenceInit_internal(void *preference, size_t bytes);
SIM_EXPORT int cublasLtMatmulPreferenceInit_internal(void *preference, size_t bytes)
{
	memset(preference, 0, bytes);
	return 0;
}

SIM_EXPORT int cublasLtMatmulPreferenceDestroy(void *preference);
SIM_EXPORT int cublasLtMatmulPreferenceDestroy(void *preference)
{
	return libs_destroy(preference);
}

/*
 * Returns one algorithm, of zeros, which needs no workspace. If there was none, PyTorch would warn
 * and use cuBLAS.
 */
#define HEURISTIC_BYTES 96

SIM_EXPORT int cublasLtMatmulAlgoGetHeuristic(void *h, void *op, void *a, void *b, void *c, void *d,
					      void *preference, int wanted, void *results,
					      int *got);
SIM_EXPORT int cublasLtMatmulAlgoGetHeuristic(void *h, void *op, void *a, void *b, void *c, void *d,
					      void *preference, int wanted, void *results, int *got)
{
	(void)h, (void)op, (void)a, (void)b, (void)c, (void)d, (void)preference;
	*got = wanted > 0;
	if (wanted > 0)
		memset(results, 0, HEURISTIC_BYTES);
	return 0;
}

SIM_EXPORT int cublasLtMatmul(void *h, struct matmul *op, const void *alpha, const void *a,
			      struct layout *a_layout, const void *b, struct layout *b_layout,
			      const void *beta, const void *c, struct layout *c_layout, void *d,
			      struct layout *d_layout, const void *algorithm, void *workspace,
			      size_t workspace_bytes, void *stream);
SIM_EXPORT int cublasLtMatmul(void *h, struct matmul *op, const void *alpha, const void *a,
			      struct layout *a_layout, const void *b, struct layout *b_layout,
			      const void *beta, const void *c, struct layout *c_layout, void *d,
			      struct layout *d_layout, const void *algorithm, void *workspace,
			      size_t workspace_bytes, void *stream)
{
	char type[96];
	(void)h, (void)alpha, (void)a, (void)b, (void)b_layout, (void)beta, (void)c, (void)c_layout,
		(void)d, (void)algorithm, (void)workspace, (void)workspace_bytes;
	snprintf(type, sizeof(type), "%s%s", libs_type_name(a_layout->type),
		 op->epilogue > 1 ? "_epilogue" : "");
	return gemm(stream, type, op->trans_a, op->trans_b, (long)d_layout->rows,
		    (long)d_layout->columns, d_layout->batch);
}
