/*
 * The cuSPARSE functions whose results matter: sizes of sparse matrices, and products whose buffer
 * size is queried first. The other functions that compute are generated and launch one kernel per
 * call. Runs on the application's threads.
 */
#include "test/sim/libs.h"

#define BUFFER_BYTES 16384 /* any size; nothing is computed in the buffer */

struct sparse {
	int64_t rows, columns, numbers;
};

static int matrix_make(void **out, int64_t rows, int64_t columns, int64_t numbers)
{
	struct sparse *m = malloc(sizeof(*m));
	*m = (struct sparse){ rows, columns, numbers };
	*out = m;
	return 0;
}

SIM_EXPORT int cusparseCreateCsr(void **out, int64_t rows, int64_t columns, int64_t numbers);
SIM_EXPORT int cusparseCreateCsr(void **out, int64_t rows, int64_t columns, int64_t numbers)
{
	return matrix_make(out, rows, columns, numbers);
}

SIM_EXPORT int cusparseCreateCoo(void **out, int64_t rows, int64_t columns, int64_t numbers);
SIM_EXPORT int cusparseCreateCoo(void **out, int64_t rows, int64_t columns, int64_t numbers)
{
	return matrix_make(out, rows, columns, numbers);
}

SIM_EXPORT int cusparseSpMatGetSize(const struct sparse *m, int64_t *rows, int64_t *columns,
				    int64_t *numbers);
SIM_EXPORT int cusparseSpMatGetSize(const struct sparse *m, int64_t *rows, int64_t *columns,
				    int64_t *numbers)
{
	*rows = m->rows;
	*columns = m->columns;
	*numbers = m->numbers;
	return 0;
}

SIM_EXPORT const char *cusparseGetErrorString(int status);
SIM_EXPORT const char *cusparseGetErrorString(int status)
{
	return status ? "execution failed" : "success";
}

/* C = A * B. Without a buffer, returns the required size; with one, launches the kernel. */
static int product(void *handle, const char *function, size_t *bytes, const void *buffer)
{
	if (buffer)
		return libs_compute(handle, function);
	*bytes = BUFFER_BYTES;
	return 0;
}

SIM_EXPORT int cusparseSpGEMM_workEstimation(void *handle, int op_a, int op_b, const void *alpha,
					     void *a, void *b, const void *beta, void *c, int type,
					     int algorithm, void *descriptor, size_t *bytes,
					     void *buffer);
SIM_EXPORT int cusparseSpGEMM_workEstimation(void *handle, int op_a, int op_b, const void *alpha,
					     void *a, void *b, const void *beta, void *c, int type,
					     int algorithm, void *descriptor, size_t *bytes,
					     void *buffer)
{
	(void)op_a, (void)op_b, (void)alpha, (void)a, (void)b, (void)beta, (void)c, (void)type,
		(void)algorithm, (void)descriptor;
	return product(handle, "cusparseSpGEMM_workEstimation", bytes, buffer);
}

/* Sets the number of nonzeros of the result. No kernel counts them here; the result gets as many as
 * the denser factor. */
SIM_EXPORT int cusparseSpGEMM_compute(void *handle, int op_a, int op_b, const void *alpha,
				      const struct sparse *a, const struct sparse *b,
				      const void *beta, struct sparse *c, int type, int algorithm,
				      void *descriptor, size_t *bytes, void *buffer);
SIM_EXPORT int cusparseSpGEMM_compute(void *handle, int op_a, int op_b, const void *alpha,
				      const struct sparse *a, const struct sparse *b,
				      const void *beta, struct sparse *c, int type, int algorithm,
				      void *descriptor, size_t *bytes, void *buffer)
{
	(void)op_a, (void)op_b, (void)alpha, (void)beta, (void)type, (void)algorithm,
		(void)descriptor;
	c->numbers = a->numbers > b->numbers ? a->numbers : b->numbers;
	return product(handle, "cusparseSpGEMM_compute", bytes, buffer);
}

/* Sets the number of nonzeros of a sum to its maximum: the nonzeros of both matrices together. */
SIM_EXPORT int cusparseXcsrgeam2Nnz(void *handle, int m, int n, void *a, int numbers_a,
				    const int *rows_a, const int *columns_a, void *b, int numbers_b,
				    const int *rows_b, const int *columns_b, void *c, int *rows_c,
				    int *numbers_c, void *work);
SIM_EXPORT int cusparseXcsrgeam2Nnz(void *handle, int m, int n, void *a, int numbers_a,
				    const int *rows_a, const int *columns_a, void *b, int numbers_b,
				    const int *rows_b, const int *columns_b, void *c, int *rows_c,
				    int *numbers_c, void *work)
{
	(void)m, (void)n, (void)a, (void)rows_a, (void)columns_a, (void)b, (void)rows_b,
		(void)columns_b, (void)c, (void)rows_c, (void)work;
	*numbers_c = numbers_a + numbers_b;
	return libs_compute(handle, "cusparseXcsrgeam2Nnz");
}
