/*
 * cuDNN's batch normalisation: how much memory it asks its caller for. What computes is generated.
 * Application threads.
 */
#include "test/sim/libs.h"

#define BUFFER_BYTES 1024 /* workspace and reserve: nothing is computed in them */

/* Handles and descriptors, none of which changes the answer, then where it goes. */
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
