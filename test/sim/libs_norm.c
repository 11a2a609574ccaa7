/*
 * cuDNN's batch normalization: how much memory the caller must provide. The functions that compute
 * are generated. Runs on the application's threads.
 */
#include "test/sim/libs.h"

#define BUFFER_BYTES 1024 /* sizes of workspace and reserve space; nothing is computed in them */

/* The handles and descriptors do not change the answer. The last argument receives it. */
SIM_EXPORT int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *h, int mode, int ops,
									void *x, void *z, void *y,
									void *parameters,
									void *activation,
									size_t *bytes);
SIM_EXPORT int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *h, int mode, int ops,
									void *x, void *z, void *y,
									void *parameters,
									void *activation,
									size_t *bytes)
{
	(void)h, (void)mode, (void)ops, (void)x, (void)z, (void)y, (void)parameters,
		(void)activation;
	*bytes = BUFFER_BYTES;
	return 0;
}

SIM_EXPORT int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *h, int mode, int ops,
								 void *x, void *y, void *dy,
								 void *dz, void *dx,
								 void *parameters, void *activation,
								 size_t *bytes);
SIM_EXPORT int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *h, int mode, int ops,
								 void *x, void *y, void *dy,
								 void *dz, void *dx,
								 void *parameters, void *activation,
								 size_t *bytes)
{
	(void)h, (void)mode, (void)ops, (void)x, (void)y, (void)dy, (void)dz, (void)dx,
		(void)parameters, (void)activation;
	*bytes = BUFFER_BYTES;
	return 0;
}

SIM_EXPORT int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *h, int mode, int ops,
								    void *activation, void *x,
								    size_t *bytes);
SIM_EXPORT int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *h, int mode, int ops,
								    void *activation, void *x,
								    size_t *bytes)
{
	(void)h, (void)mode, (void)ops, (void)activation, (void)x;
	*bytes = BUFFER_BYTES;
	return 0;
}
