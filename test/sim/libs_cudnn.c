/*
 * cuDNN as far as plain PyTorch programs use it: handles and versions. The functions for
 * descriptors are generated; a descriptor is memory that is never read. Functions that compute
 * launch one kernel on the handle's stream. libs_cudnn_backend.c contains convolutions. Runs on the
 * application's threads.
 */
#include "test/sim/libs.h"

#define CUDNN_VERSION 92600

LIBS_CREATE(cudnnCreate)
LIBS_MEMBER(cudnnSetStream, cudnnGetStream, void *, stream)

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
