/*
 * CUPTI with a consumer that does nothing: it enables the kinds and API calls that profrun asks
 * for, and discards every buffer. What it costs a program is the share of GPU timing that is not
 * profrun's. For bench_loop.py: bench_switch(1), (0).
 */
#include <cupti.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 20 };

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,	       CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,   CUPTI_ACTIVITY_KIND_OVERHEAD,
	CUPTI_ACTIVITY_KIND_MEMORY_POOL,       CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
};
static const char *const calls[] = { "cudaLaunchKernel", "cudaMemcpy", "cudaMemset",
				     "cuLaunchKernel",	 "cuMemcpy",   "cuMemset" };

static void CUPTIAPI request(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*bytes = *buffer ? BUFFER_BYTES : 0;
	*most = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			      size_t valid)
{
	(void)context, (void)stream, (void)bytes, (void)valid;
	free(buffer);
}

static void switch_calls(CUpti_CallbackDomain domain,
			 CUptiResult (*enable)(CUpti_CallbackId, uint8_t), uint8_t on)
{
	for (uint32_t id = 1; id < 2000; id++) {
		const char *name = NULL;
		if (cuptiGetCallbackName(domain, id, &name) || !name)
			continue;
		for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
			if (!strncmp(name, calls[i], strlen(calls[i])))
				enable(id, on);
	}
}

/* 0, or CUPTI's own error. */
__attribute__((visibility("default"))) int bench_switch(int on);
int bench_switch(int on)
{
	static bool registered;
	CUptiResult result = CUPTI_SUCCESS;
	if (!registered)
		result = cuptiActivityRegisterCallbacks(request, complete);
	registered = true;
	for (size_t i = 0; !result && i < sizeof(kinds) / sizeof(*kinds); i++)
		result = on ? cuptiActivityEnable(kinds[i]) : cuptiActivityDisable(kinds[i]);
	switch_calls(CUPTI_CB_DOMAIN_RUNTIME_API, cuptiActivityEnableRuntimeApi, (uint8_t)on);
	switch_calls(CUPTI_CB_DOMAIN_DRIVER_API, cuptiActivityEnableDriverApi, (uint8_t)on);
	if (!on)
		cuptiActivityFlushAll(0);
	return (int)result;
}
