/*
 * cuSPARSELt as PyTorch calls it for semi-structured sparsity. A product launches one kernel with a
 * name like that of the real library; a search launches it several times. All objects are memory of
 * the caller, 512 bytes each. Runs on the application's threads.
 */
#include "test/sim/libs.h"

#include <stdio.h>

enum {
	SUCCESS = 0,
	INVALID_VALUE = 3,
	EXECUTION_FAILED = 6,
}; /* cusparseStatus_t */

enum {
	ATTRIBUTE_ID,
	ATTRIBUTE_MAX_ID,
	ATTRIBUTE_ITERATIONS,
	ATTRIBUTE_SPLIT_K,
	ATTRIBUTE_SPLIT_K_MODE,
	ATTRIBUTE_SPLIT_K_BUFFERS,
	ATTRIBUTES,
}; /* cusparseLtMatmulAlgAttribute_t */

enum { TYPE_INT8 = 3, TYPE_E4M3 = 28, TYPE_E5M2 = 29 }; /* cudaDataType_t */

#define BUFFER_BYTES 16384 /* any size; nothing is computed in the buffer */
#define TILE	     128

struct matrix {
	int64_t rows, columns;
	int type;
};

struct product {
	int type, trans_a, trans_b;
	int64_t rows, columns; /* size of the result */
};

struct algorithm {
	int attributes[ATTRIBUTES];
};

struct plan {
	struct product product;
	int iterations; /* number of iterations of a search */
};

SIM_EXPORT int cusparseLtInit(void *handle);
SIM_EXPORT int cusparseLtInit(void *handle)
{
	(void)handle;
	return SUCCESS;
}

SIM_EXPORT int cusparseLtDenseDescriptorInit(const void *handle, struct matrix *m, int64_t rows,
					     int64_t columns, int64_t ld, uint32_t alignment,
					     int type, int order);
SIM_EXPORT int cusparseLtDenseDescriptorInit(const void *handle, struct matrix *m, int64_t rows,
					     int64_t columns, int64_t ld, uint32_t alignment,
					     int type, int order)
{
	(void)handle, (void)ld, (void)alignment, (void)order;
	*m = (struct matrix){ rows, columns, type };
	return SUCCESS;
}

SIM_EXPORT int cusparseLtStructuredDescriptorInit(const void *handle, struct matrix *m,
						  int64_t rows, int64_t columns, int64_t ld,
						  uint32_t alignment, int type, int order,
						  int sparsity);
SIM_EXPORT int cusparseLtStructuredDescriptorInit(const void *handle, struct matrix *m,
						  int64_t rows, int64_t columns, int64_t ld,
						  uint32_t alignment, int type, int order,
						  int sparsity)
{
	(void)sparsity;
	return cusparseLtDenseDescriptorInit(handle, m, rows, columns, ld, alignment, type, order);
}

SIM_EXPORT int cusparseLtMatDescriptorDestroy(const void *matrix);
SIM_EXPORT int cusparseLtMatDescriptorDestroy(const void *matrix)
{
	(void)matrix;
	return SUCCESS;
}

SIM_EXPORT int cusparseLtMatmulDescriptorInit(const void *handle, struct product *p, int op_a,
					      int op_b, const struct matrix *a, const void *b,
					      const void *c, const struct matrix *d, int compute);
SIM_EXPORT int cusparseLtMatmulDescriptorInit(const void *handle, struct product *p, int op_a,
					      int op_b, const struct matrix *a, const void *b,
					      const void *c, const struct matrix *d, int compute)
{
	(void)handle, (void)b, (void)c, (void)compute;
	*p = (struct product){ a->type, op_a, op_b, d->rows, d->columns };
	return SUCCESS;
}

SIM_EXPORT int cusparseLtMatmulDescSetAttribute(const void *handle, void *product, int attribute,
						const void *value, size_t bytes);
SIM_EXPORT int cusparseLtMatmulDescSetAttribute(const void *handle, void *product, int attribute,
						const void *value, size_t bytes)
{
	(void)handle, (void)product, (void)attribute, (void)value, (void)bytes;
	return SUCCESS;
}

SIM_EXPORT int cusparseLtMatmulAlgSelectionInit(const void *handle, struct algorithm *algorithm,
						const void *product, int standard);
SIM_EXPORT int cusparseLtMatmulAlgSelectionInit(const void *handle, struct algorithm *algorithm,
						const void *product, int standard)
{
	(void)handle, (void)product, (void)standard;
	*algorithm = (struct algorithm){ { [ATTRIBUTE_MAX_ID] = 1,
					   /* the real library's value */
					   [ATTRIBUTE_ITERATIONS] = 5,
					   [ATTRIBUTE_SPLIT_K] = 1,
					   [ATTRIBUTE_SPLIT_K_MODE] = 1 } };
	return SUCCESS;
}

static bool is_attribute(int attribute, size_t bytes)
{
	return attribute >= 0 && attribute < ATTRIBUTES && bytes == sizeof(int);
}

SIM_EXPORT int cusparseLtMatmulAlgSetAttribute(const void *handle, struct algorithm *algorithm,
					       int attribute, const void *value, size_t bytes);
SIM_EXPORT int cusparseLtMatmulAlgSetAttribute(const void *handle, struct algorithm *algorithm,
					       int attribute, const void *value, size_t bytes)
{
	(void)handle;
	if (!is_attribute(attribute, bytes))
		return INVALID_VALUE;
	memcpy(&algorithm->attributes[attribute], value, bytes);
	return SUCCESS;
}

SIM_EXPORT int cusparseLtMatmulAlgGetAttribute(const void *handle,
					       const struct algorithm *algorithm, int attribute,
					       void *value, size_t bytes);
SIM_EXPORT int cusparseLtMatmulAlgGetAttribute(const void *handle,
					       const struct algorithm *algorithm, int attribute,
					       void *value, size_t bytes)
{
	(void)handle;
	if (!is_attribute(attribute, bytes))
		return INVALID_VALUE;
	memcpy(value, &algorithm->attributes[attribute], bytes);
	return SUCCESS;
}

SIM_EXPORT int cusparseLtMatmulPlanInit(const void *handle, struct plan *plan,
					const struct product *product,
					const struct algorithm *algorithm);
SIM_EXPORT int cusparseLtMatmulPlanInit(const void *handle, struct plan *plan,
					const struct product *product,
					const struct algorithm *algorithm)
{
	(void)handle;
	*plan = (struct plan){ *product, algorithm->attributes[ATTRIBUTE_ITERATIONS] };
	return SUCCESS;
}

SIM_EXPORT int cusparseLtMatmulPlanDestroy(const void *plan);
SIM_EXPORT int cusparseLtMatmulPlanDestroy(const void *plan)
{
	(void)plan;
	return SUCCESS;
}

SIM_EXPORT int cusparseLtMatmulGetWorkspace(const void *handle, const void *plan, size_t *bytes);
SIM_EXPORT int cusparseLtMatmulGetWorkspace(const void *handle, const void *plan, size_t *bytes)
{
	(void)handle, (void)plan;
	*bytes = BUFFER_BYTES;
	return SUCCESS;
}

static unsigned tiles(int64_t elements)
{
	return (unsigned)((elements + TILE - 1) / TILE);
}

static int launch(const struct product *p, void *stream)
{
	char name[256];
	if (p->rows <= 0 || p->columns <= 0)
		return SUCCESS;
	snprintf(name, sizeof(name),
		 "sm90_xmma_sparse_gemm_%s_%c%c_n_tilesize128x128x128_cgasize1x1x1_"
		 "warpgroupsize1x1x1_execute_segment_k_off_kernel_5x_cusparselt",
		 libs_type_name(p->type), p->trans_a ? 't' : 'n', p->trans_b ? 't' : 'n');
	return libs_launch(stream, name, tiles(p->rows), tiles(p->columns), 1, 384)
		       ? EXECUTION_FAILED
		       : SUCCESS;
}

SIM_EXPORT int cusparseLtMatmul(const void *handle, const struct plan *plan, const void *alpha,
				const void *a, const void *b, const void *beta, const void *c,
				void *d, void *workspace, void *const *streams, int32_t n_streams);
SIM_EXPORT int cusparseLtMatmul(const void *handle, const struct plan *plan, const void *alpha,
				const void *a, const void *b, const void *beta, const void *c,
				void *d, void *workspace, void *const *streams, int32_t n_streams)
{
	(void)handle, (void)alpha, (void)a, (void)b, (void)beta, (void)c, (void)d, (void)workspace;
	return launch(&plan->product, n_streams > 0 ? streams[0] : NULL);
}

SIM_EXPORT int cusparseLtMatmulSearch(const void *handle, struct plan *plan, const void *alpha,
				      const void *a, const void *b, const void *beta, const void *c,
				      void *d, void *workspace, void *const *streams,
				      int32_t n_streams);
SIM_EXPORT int cusparseLtMatmulSearch(const void *handle, struct plan *plan, const void *alpha,
				      const void *a, const void *b, const void *beta, const void *c,
				      void *d, void *workspace, void *const *streams,
				      int32_t n_streams)
{
	int rc = SUCCESS;
	for (int i = 0; i < plan->iterations && !rc; i++)
		rc = cusparseLtMatmul(handle, plan, alpha, a, b, beta, c, d, workspace, streams,
				      n_streams);
	return rc;
}

static bool is_byte(int type)
{
	return type == TYPE_INT8 || type == TYPE_E4M3 || type == TYPE_E5M2;
}

/*
 * Returns the compressed size: half of the elements, plus two bits for the position of each. Byte
 * types need more in the real library's layout.
 */
SIM_EXPORT int cusparseLtSpMMACompressedSize2(const void *handle, const struct matrix *m,
					      size_t *bytes, size_t *buffer_bytes);
SIM_EXPORT int cusparseLtSpMMACompressedSize2(const void *handle, const struct matrix *m,
					      size_t *bytes, size_t *buffer_bytes)
{
	size_t element = is_byte(m->type) ? 1 : m->type == 0 ? 4 : 2;
	(void)handle;
	*bytes = (size_t)(m->rows * m->columns) * element * (element == 1 ? 10 : 9) / 16;
	*buffer_bytes = BUFFER_BYTES;
	return SUCCESS;
}

SIM_EXPORT int cusparseLtSpMMACompress2(const void *handle, const struct matrix *m, int is_a,
					int op, const void *dense, void *compressed, void *buffer,
					void *stream);
SIM_EXPORT int cusparseLtSpMMACompress2(const void *handle, const struct matrix *m, int is_a,
					int op, const void *dense, void *compressed, void *buffer,
					void *stream)
{
	(void)handle, (void)is_a, (void)op, (void)dense, (void)compressed, (void)buffer;
	return libs_launch(stream, "cutlass_3x_sparse_compression_kernel_cusparselt",
			   tiles(m->rows), tiles(m->columns), 1, 128)
		       ? EXECUTION_FAILED
		       : SUCCESS;
}
