/* The driver's error log: callbacks can be registered, but the simulated driver logs nothing. */
#include "test/sim/engine.h"

CUresult sim_cuLogsRegisterCallback(CUlogsCallback callback, void *data, CUlogsCallbackHandle *out)
{
	static char handles[2];
	(void)data;
	if (!callback)
		return CUDA_ERROR_INVALID_VALUE;
	if (out)
		*out = (CUlogsCallbackHandle)(void *)handles;
	return CUDA_SUCCESS;
}

CUresult sim_cuLogsUnregisterCallback(CUlogsCallbackHandle handle)
{
	return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
