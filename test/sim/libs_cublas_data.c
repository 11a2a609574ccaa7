/*
 * cuBLAS functions that move vectors and matrices between host and device, and those that return a
 * number to the host. Runs on the application's threads.
 */
#include "test/sim/libs.h"

#include <stdio.h>

enum { INVALID_VALUE = 7, MAPPING_ERROR = 11 }; /* cublasStatus_t */

static int status(int rc)
{
	return rc ? MAPPING_ERROR : 0;
}

/* Copies a matrix of `rows` x `columns` elements, stored by columns. */
static int matrix(long rows, long columns, long bytes, const void *from, long from_rows, void *to,
		  long to_rows, enum libs_direction direction, void *stream, bool waits)
{
	if (rows < 0 || columns < 0 || bytes <= 0 || from_rows < rows || to_rows < rows)
		return INVALID_VALUE;
	if (!rows || !columns)
		return 0;
	return status(libs_copy_2d(stream, to, (size_t)(to_rows * bytes), from,
				   (size_t)(from_rows * bytes), (size_t)(rows * bytes),
				   (size_t)columns, direction, waits));
}

/* Copies a vector of n elements; every from_step-th and to_step-th element of memory belongs to
 * it. */
static int vector(long n, long bytes, const void *from, long from_step, void *to, long to_step,
		  enum libs_direction direction, void *stream, bool waits)
{
	if (n < 0 || bytes <= 0 || from_step <= 0 || to_step <= 0)
		return INVALID_VALUE;
	if (from_step == 1 && to_step == 1)
		return matrix(n, 1, bytes, from, n, to, n, direction, stream, waits);
	return matrix(1, n, bytes, from, from_step, to, to_step, direction, stream, waits);
}

/* Defines a function with int sizes, and its twin with 64-bit sizes. */
#define MATRIX(name, type, direction)                                                           \
	SIM_EXPORT int name(type rows, type columns, type bytes, const void *from, type lda,    \
			    void *to, type ldb);                                                \
	SIM_EXPORT int name(type rows, type columns, type bytes, const void *from, type lda,    \
			    void *to, type ldb)                                                 \
	{                                                                                       \
		return matrix(rows, columns, bytes, from, lda, to, ldb, direction, NULL, true); \
	}
#define MATRIX_ASYNC(name, type, direction)                                                        \
	SIM_EXPORT int name(type rows, type columns, type bytes, const void *from, type lda,       \
			    void *to, type ldb, void *stream);                                     \
	SIM_EXPORT int name(type rows, type columns, type bytes, const void *from, type lda,       \
			    void *to, type ldb, void *stream)                                      \
	{                                                                                          \
		return matrix(rows, columns, bytes, from, lda, to, ldb, direction, stream, false); \
	}
#define VECTOR(name, type, direction)                                                              \
	SIM_EXPORT int name(type n, type bytes, const void *from, type incx, void *to, type incy); \
	SIM_EXPORT int name(type n, type bytes, const void *from, type incx, void *to, type incy)  \
	{                                                                                          \
		return vector(n, bytes, from, incx, to, incy, direction, NULL, true);              \
	}
#define VECTOR_ASYNC(name, type, direction)                                                       \
	SIM_EXPORT int name(type n, type bytes, const void *from, type incx, void *to, type incy, \
			    void *stream);                                                        \
	SIM_EXPORT int name(type n, type bytes, const void *from, type incx, void *to, type incy, \
			    void *stream)                                                         \
	{                                                                                         \
		return vector(n, bytes, from, incx, to, incy, direction, stream, false);          \
	}

MATRIX(cublasSetMatrix, int, LIBS_TO_DEVICE)
MATRIX(cublasSetMatrix_64, int64_t, LIBS_TO_DEVICE)
MATRIX(cublasGetMatrix, int, LIBS_TO_HOST)
MATRIX(cublasGetMatrix_64, int64_t, LIBS_TO_HOST)
MATRIX_ASYNC(cublasSetMatrixAsync, int, LIBS_TO_DEVICE)
MATRIX_ASYNC(cublasSetMatrixAsync_64, int64_t, LIBS_TO_DEVICE)
MATRIX_ASYNC(cublasGetMatrixAsync, int, LIBS_TO_HOST)
MATRIX_ASYNC(cublasGetMatrixAsync_64, int64_t, LIBS_TO_HOST)
VECTOR(cublasSetVector, int, LIBS_TO_DEVICE)
VECTOR(cublasSetVector_64, int64_t, LIBS_TO_DEVICE)
VECTOR(cublasGetVector, int, LIBS_TO_HOST)
VECTOR(cublasGetVector_64, int64_t, LIBS_TO_HOST)
VECTOR_ASYNC(cublasSetVectorAsync, int, LIBS_TO_DEVICE)
VECTOR_ASYNC(cublasSetVectorAsync_64, int64_t, LIBS_TO_DEVICE)
VECTOR_ASYNC(cublasGetVectorAsync, int, LIBS_TO_HOST)
VECTOR_ASYNC(cublasGetVectorAsync_64, int64_t, LIBS_TO_HOST)

/*
 * Computes a number, such as a norm. In the handle's host mode (0) the call copies the number from
 * the device and waits for it, as the real one does.
 */
int libs_number(void *handle, const char *function, void *result, size_t bytes, int value)
{
	struct libs_handle *h = handle;
	char number[16] = { 0 };
	int rc = libs_compute(handle, function);
	if (rc || !h || h->pointer_mode)
		return rc;
	if (!h->scratch && libs_allocate(&h->scratch, sizeof(number)))
		return CUBLAS_FAILED;
	if (libs_copy_2d(h->stream, number, bytes, h->scratch, bytes, bytes, 1, LIBS_TO_HOST,
			 false) ||
	    libs_wait(h->stream))
		return CUBLAS_FAILED;
	memset(result, 0, bytes);
	if (value)
		memcpy(result, &value, sizeof(value));
	return 0;
}

/* ---- facts ---- */

SIM_EXPORT int cublasGetVersion_v2(void *handle, int *version);
SIM_EXPORT int cublasGetVersion_v2(void *handle, int *version)
{
	(void)handle;
	*version = LIBS_CUBLAS_VERSION;
	return 0;
}

static int property(int type, int *value)
{
	if (type < 0 || type > 2)
		return INVALID_VALUE;
	const int parts[] = { LIBS_CUBLAS_VERSION / 10000, LIBS_CUBLAS_VERSION / 100 % 100,
			      LIBS_CUBLAS_VERSION % 100 };
	*value = parts[type];
	return 0;
}

SIM_EXPORT int cublasGetProperty(int type, int *value);
SIM_EXPORT int cublasGetProperty(int type, int *value)
{
	return property(type, value);
}

SIM_EXPORT int cublasLtGetProperty(int type, int *value);
SIM_EXPORT int cublasLtGetProperty(int type, int *value)
{
	return property(type, value);
}

SIM_EXPORT size_t cublasLtGetCudartVersion(void);
SIM_EXPORT size_t cublasLtGetCudartVersion(void)
{
	return 13000;
}

SIM_EXPORT size_t cublasGetCudartVersion(void);
SIM_EXPORT size_t cublasGetCudartVersion(void)
{
	return 13000;
}

static const char *status_name(int number)
{
	static const char *const names[] = {
		[0] = "CUBLAS_STATUS_SUCCESS",		 [1] = "CUBLAS_STATUS_NOT_INITIALIZED",
		[3] = "CUBLAS_STATUS_ALLOC_FAILED",	 [7] = "CUBLAS_STATUS_INVALID_VALUE",
		[8] = "CUBLAS_STATUS_ARCH_MISMATCH",	 [11] = "CUBLAS_STATUS_MAPPING_ERROR",
		[13] = "CUBLAS_STATUS_EXECUTION_FAILED", [14] = "CUBLAS_STATUS_INTERNAL_ERROR",
		[15] = "CUBLAS_STATUS_NOT_SUPPORTED",	 [16] = "CUBLAS_STATUS_LICENSE_ERROR",
	};
	bool is_known = number >= 0 && number < (int)(sizeof(names) / sizeof(*names));
	return is_known && names[number] ? names[number] : "CUBLAS_STATUS_UNKNOWN";
}

#define NAMES(function)                         \
	SIM_EXPORT const char *function(int);   \
	SIM_EXPORT const char *function(int rc) \
	{                                       \
		return status_name(rc);         \
	}
NAMES(cublasGetStatusName)
NAMES(cublasGetStatusString)
NAMES(cublasLtGetStatusName)
NAMES(cublasLtGetStatusString)

SIM_EXPORT int cublasLtDestroy(void *handle);
SIM_EXPORT int cublasLtDestroy(void *handle)
{
	free(handle);
	return 0;
}
