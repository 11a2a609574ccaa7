/*
 * What is recorded: activity kinds, single API functions, attributes. Any thread.
 */
#include "test/sim/cupti_sim.h"

#include "cupti_impl.h"

#include <stdlib.h>
#include <unistd.h>

static bool kinds[256];
/* Whether a function is recorded, by domain and callback id. Switching a whole kind on or off sets
 * or clears all of its functions. */
static bool apis[2][2048];
/*
 * Whether functions of a domain get records at all: because a whole kind is on, or because single
 * functions were switched on before there was a context. Functions that are switched on later get
 * no records, although the header says otherwise (13.0 on an H100).
 */
static bool apis_live[2];
static CUpti_ActivityThreadIdType thread_id_type;

bool cupti_kind_on(CUpti_ActivityKind kind)
{
	return kinds[kind];
}

bool cupti_api_on(enum sim_domain domain, uint32_t cbid)
{
	return cbid < 2048 && apis[domain][cbid] && apis_live[domain];
}

/* At exit, reports what the consumer has not switched off. */
__attribute__((destructor)) static void tell_what_is_on(void)
{
	int n_kinds = 0, n_apis = 0;
	if (atoi(getenv("PROFSIM_LOG") ?: "0") < 1 || !cupti_tools)
		return;
	for (size_t i = 0; i < sizeof(kinds); i++)
		n_kinds += kinds[i];
	for (size_t i = 0; i < sizeof(apis) / 2; i++)
		n_apis += apis[0][i] + apis[1][i];
	sim_log("CUPTI at the end: %d kinds and %d functions are on", n_kinds, n_apis);
}

void cupti_switches_reset(void)
{
	memset(kinds, 0, sizeof(kinds));
	memset(apis, 0, sizeof(apis));
	memset(apis_live, 0, sizeof(apis_live));
}

/* the fault graph_ids: the id of the last call before kernels were switched off; 0: never */
static uint32_t stale_id, last_id;

uint32_t cupti_graph_id(uint32_t correlation)
{
	__atomic_store_n(&last_id, correlation, __ATOMIC_RELAXED);
	return cupti_mode()->graph_ids && stale_id ? stale_id : correlation;
}

/* Called before kernels are switched off. */
static void kernels_switching_off(void)
{
	stale_id = __atomic_load_n(&last_id, __ATOMIC_RELAXED);
	/* a mutex of CUPTI's that is never unlocked */
	while (cupti_mode()->disable_hangs)
		pause();
}

static CUptiResult kind_set(CUpti_ActivityKind kind, bool on)
{
	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || (int)kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	CUptiResult rc = cupti_attach();
	if (rc)
		return rc;
	/* serialized and concurrent kernel tracing exclude each other */
	if (on && kind == CUPTI_ACTIVITY_KIND_KERNEL &&
	    kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL])
		return CUPTI_ERROR_NOT_COMPATIBLE;
	if (on && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
	    kinds[CUPTI_ACTIVITY_KIND_KERNEL])
		return CUPTI_ERROR_NOT_COMPATIBLE;
	if (!on)
		cupti_copies_switching_off(kind);
	if (!on && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && kinds[kind])
		kernels_switching_off();
	kinds[kind] = on;
	if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER) {
		enum sim_domain domain = kind == CUPTI_ACTIVITY_KIND_RUNTIME ? SIM_RUNTIME
									     : SIM_DRIVER;
		memset(apis[domain], on, sizeof(apis[0]));
		apis_live[domain] = on;
	}
	return CUPTI_SUCCESS;
}

static CUptiResult kind_switch(CUpti_ActivityKind kind, bool on)
{
	cupti_control_begin(false);
	CUptiResult rc = kind_set(kind, on);
	cupti_control_end(false);
	return rc;
}

CUptiResult ct_cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return kind_switch(kind, true);
}

CUptiResult ct_cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	return kind_switch(kind, true);
}

CUptiResult ct_cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return kind_switch(kind, false);
}

CUptiResult ct_cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return context ? kind_switch(kind, true) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult ct_cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return context ? kind_switch(kind, false) : CUPTI_ERROR_INVALID_PARAMETER;
}

static CUptiResult api_set(enum sim_domain domain, CUpti_CallbackId cbid, uint8_t enable)
{
	CUptiResult rc = cupti_attach();
	if (!rc && cbid >= 2048)
		rc = CUPTI_ERROR_INVALID_PARAMETER;
	if (rc)
		return rc;
	apis[domain][cbid] = enable;
	if (enable && !cupti_tools->current())
		apis_live[domain] = true;
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return api_set(SIM_RUNTIME, cbid, enable);
}

CUptiResult ct_cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return api_set(SIM_DRIVER, cbid, enable);
}

CUptiResult ct_cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	if ((unsigned)type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	thread_id_type = type;
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	*type = thread_id_type;
	return CUPTI_SUCCESS;
}

/* Options that change nothing here, because the simulated records lack what they add. */
#define WITHOUT_EFFECT(option)                                     \
	CUptiResult ct_cuptiActivityEnable##option(uint8_t enable) \
	{                                                          \
		(void)enable;                                      \
		return CUPTI_SUCCESS;                              \
	}
WITHOUT_EFFECT(LatencyTimestamps)
WITHOUT_EFFECT(LaunchAttributes)
WITHOUT_EFFECT(AllSyncRecords)
WITHOUT_EFFECT(AllocationSource)
WITHOUT_EFFECT(DeviceGraph)
WITHOUT_EFFECT(CudaEventDeviceTimestamps)

CUptiResult ct_cuptiActivityEnableHWTrace(uint8_t enable)
{
	return enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

#define ATTRIBUTES 32
static uint64_t attributes[ATTRIBUTES] = {
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
	[CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] = 0,
	[CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER] = SIM_CUPTI >= 13,
};

CUptiResult ct_cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *bytes,
					 void *value)
{
	if ((unsigned)attribute >= ATTRIBUTES || !bytes || !value || *bytes > sizeof(uint64_t))
		return CUPTI_ERROR_INVALID_PARAMETER;
	attributes[attribute] = 0;
	memcpy(&attributes[attribute], value, *bytes);
	if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
		cupti_per_thread_set(*(uint8_t *)value);
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *bytes,
					 void *value)
{
	if ((unsigned)attribute >= ATTRIBUTES || !bytes || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*bytes > sizeof(uint64_t))
		*bytes = sizeof(uint64_t);
	memcpy(value, &attributes[attribute], *bytes);
	return CUPTI_SUCCESS;
}
