/*
 * Kernel launches: shape, duration, submission. Kernel parameters are never read. Runs on the
 * application's threads.
 */
#include "test/sim/engine.h"

CUresult kernel_describe(const struct launch *l, struct op_request *request)
{
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	struct kernel *k = l->kernel;
	if (!k)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!threads || threads > 1024 || l->block[2] > 64 || !l->grid[0] || !l->grid[1] ||
	    !l->grid[2] || l->grid[0] > 2147483647u || l->grid[1] > 65535 || l->grid[2] > 65535 ||
	    l->shared > 232448)
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_op *d = &request->desc;
	d->kind = SIM_OP_KERNEL;
	d->name = k->name;
	memcpy(d->u.kernel.grid, l->grid, sizeof(l->grid));
	memcpy(d->u.kernel.block, l->block, sizeof(l->block));
	memcpy(d->u.kernel.cluster, l->cluster, sizeof(l->cluster));
	d->u.kernel.static_shared = k->attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
	d->u.kernel.dynamic_shared = l->shared;
	d->u.kernel.registers = k->attributes[CU_FUNC_ATTRIBUTE_NUM_REGS];
	d->u.kernel.cooperative = l->cooperative;
	request->duration_ns = k->duration_ns >= 0 ? k->duration_ns
						   : engine_ns(engine_settings.kernel_us);
	return CUDA_SUCCESS;
}

bool engine_meet(void *handle, sim_meeting *meets, void *arg)
{
	struct stream *s;
	struct cu_thread *thread = engine_thread();
	pthread_mutex_lock(&engine_lock);
	bool is_captured = !stream_find((CUstream)handle, &s) && capture_active(s);
	pthread_mutex_unlock(&engine_lock);
	thread->meets = is_captured ? NULL : meets;
	thread->meeting = arg;
	return !is_captured;
}

static CUresult kernel_launch(const struct launch *launch, CUstream stream)
{
	struct op_request request = { .duration_ns = 0 };
	struct stream *s;
	int64_t host_end = sim_now_ns() + engine_ns(engine_settings.launch_us);
	CUresult rc = kernel_describe(launch, &request);
	if (rc)
		return rc;
	struct cu_thread *thread = engine_thread();
	request.desc.correlation = engine_correlation(thread);
	request.meets = thread->meets;
	request.arg = thread->meeting;
	thread->meets = NULL;
	pthread_mutex_lock(&engine_lock);
	rc = stream_find(stream, &s);
	if (!rc && capture_active(s))
		rc = capture_kernel(s, launch);
	else if (!rc) {
		__atomic_add_fetch(&s->context->kernels, 1, __ATOMIC_RELAXED);
		s->result = launch->kernel->result;
		return stream_run_locked(s, &request, host_end, NULL);
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

#define LAUNCH(f, cooperates)                                            \
	struct launch launch = { .kernel = kernel_checked(f),            \
				 .grid = { grid_x, grid_y, grid_z },     \
				 .block = { block_x, block_y, block_z }, \
				 .shared = shared,                       \
				 .cooperative = cooperates }

CUresult sim_cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
			    CUstream stream, void **params, void **extra)
{
	(void)params, (void)extra;
	LAUNCH(f, false);
	return kernel_launch(&launch, stream);
}

CUresult sim_cuLaunchCooperativeKernel(CUfunction f, unsigned grid_x, unsigned grid_y,
				       unsigned grid_z, unsigned block_x, unsigned block_y,
				       unsigned block_z, unsigned shared, CUstream stream,
				       void **params)
{
	(void)params;
	LAUNCH(f, true);
	return kernel_launch(&launch, stream);
}

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	(void)params, (void)extra;
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	struct launch launch = { .kernel = kernel_checked(f),
				 .grid = { c->gridDimX, c->gridDimY, c->gridDimZ },
				 .block = { c->blockDimX, c->blockDimY, c->blockDimZ },
				 .shared = c->sharedMemBytes };
	for (unsigned i = 0; i < c->numAttrs; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];
		if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			launch.cooperative = a->value.cooperative;
		if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			launch.cluster[0] = a->value.clusterDim.x;
			launch.cluster[1] = a->value.clusterDim.y;
			launch.cluster[2] = a->value.clusterDim.z;
		}
	}
	return kernel_launch(&launch, c->hStream);
}

CUresult sim_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned count,
						  unsigned flags)
{
	CUresult rc = CUDA_SUCCESS;
	(void)flags;
	for (unsigned i = 0; i < count && !rc; i++) {
		CUDA_LAUNCH_PARAMS *p = &list[i];
		rc = sim_cuLaunchCooperativeKernel(p->function, p->gridDimX, p->gridDimY,
						   p->gridDimZ, p->blockDimX, p->blockDimY,
						   p->blockDimZ, p->sharedMemBytes, p->hStream,
						   p->kernelParams);
	}
	return rc;
}
