/*
 * cuDNN as far as plain PyTorch programs go: descriptors are memory, questions get the smallest answer, and what computes
 * launches one kernel on the handle's stream. Application threads.
 */
#include "test/sim/libs.h"

#include <stdio.h>

#define CUDNN_VERSION 92600

SIM_EXPORT int cudnnCreate(void **out);
SIM_EXPORT int cudnnCreate(void **out)
{
	*out = calloc(1, sizeof(struct libs_handle));
	return 0;
}

SIM_EXPORT int cudnnSetStream(struct libs_handle *h, void *stream);
SIM_EXPORT int cudnnSetStream(struct libs_handle *h, void *stream)
{
	h->stream = stream;
	return 0;
}

SIM_EXPORT int cudnnGetStream(struct libs_handle *h, void **stream);
SIM_EXPORT int cudnnGetStream(struct libs_handle *h, void **stream)
{
	*stream = h->stream;
	return 0;
}

SIM_EXPORT size_t cudnnGetVersion(void);
SIM_EXPORT size_t cudnnGetVersion(void)
{
	return CUDNN_VERSION;
}

SIM_EXPORT size_t cudnnGetCudartVersion(void);
SIM_EXPORT size_t cudnnGetCudartVersion(void)
{
	return 13020;
}

SIM_EXPORT const char *cudnnGetErrorString(int status);
SIM_EXPORT const char *cudnnGetErrorString(int status)
{
	return status ? "CUDNN_STATUS_EXECUTION_FAILED" : "CUDNN_STATUS_SUCCESS";
}

SIM_EXPORT void cudnnGetLastErrorString(char *text, size_t bytes);
SIM_EXPORT void cudnnGetLastErrorString(char *text, size_t bytes)
{
	if (bytes)
		*text = 0;
}

SIM_EXPORT int cudnnGetProperty(int type, int *value);
SIM_EXPORT int cudnnGetProperty(int type, int *value)
{
	static const int version[] = { CUDNN_VERSION / 10000, CUDNN_VERSION / 100 % 100,
				       CUDNN_VERSION % 100 };
	*value = version[type % 3];
	return 0;
}

/* ---- the backend API, by which PyTorch's convolutions come ---- */

enum { TYPE_INT64 = 3, TYPE_DESCRIPTOR = 15 };

SIM_EXPORT int cudnnBackendCreateDescriptor(int type, void **out);
SIM_EXPORT int cudnnBackendCreateDescriptor(int type, void **out)
{
	(void)type;
	return libs_create(out);
}

/* One of whatever is counted, zero for every number. */
SIM_EXPORT int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t wanted,
					int64_t *got, void *to);
SIM_EXPORT int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t wanted,
					int64_t *got, void *to)
{
	(void)descriptor, (void)name;
	int64_t count = type == TYPE_DESCRIPTOR || type == TYPE_INT64;
	if (count && to && type == TYPE_INT64 && wanted > 0)
		memset(to, 0, sizeof(int64_t));
	if (got)
		*got = count;
	return 0;
}

SIM_EXPORT int cudnnBackendExecute(struct libs_handle *h, void *plan, void *pack);
SIM_EXPORT int cudnnBackendExecute(struct libs_handle *h, void *plan, void *pack)
{
	(void)plan, (void)pack;
	return libs_launch(h->stream,
			   "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nchw_kernel__"
			   "5x_cudnn",
			   64, 1, 1, 128)
		       ? CUDNN_FAILED
		       : 0;
}
