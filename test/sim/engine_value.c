/*
 * Stream memory operations: writing a word in stream order, and waiting for a word that the host or
 * another stream writes.
 */
#include "test/sim/engine.h"

struct value {
	uintptr_t address;
	uint64_t number;
	unsigned flags;
	bool wide;
};

static void value_write(void *arg)
{
	struct value *v = arg;
	if (v->wide)
		__atomic_store_n((uint64_t *)v->address, v->number, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint32_t *)v->address, (uint32_t)v->number, __ATOMIC_RELEASE);
	pthread_mutex_lock(&engine_lock);
	if (memory_kind_of((void *)v->address, NULL) == SIM_MEMORY_DEVICE)
		extent_write(v->address, v->wide ? 8 : 4, 0);
	pthread_mutex_unlock(&engine_lock);
	free(v);
}

static bool value_holds(const struct value *v)
{
	uint64_t now = v->wide ? __atomic_load_n((uint64_t *)v->address, __ATOMIC_ACQUIRE)
			       : __atomic_load_n((uint32_t *)v->address, __ATOMIC_ACQUIRE);
	switch (v->flags & 3) {
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == v->number;
	case CU_STREAM_WAIT_VALUE_AND:
		return now & v->number;
	case CU_STREAM_WAIT_VALUE_NOR:
		return ~(now | v->number);
	default:
		return v->wide ? (int64_t)(now - v->number) >= 0
			       : (int32_t)((uint32_t)now - (uint32_t)v->number) >= 0;
	}
}

/* Polls the word until it has the value. Nobody knows beforehand when the word is written, so this
 * runs as a host function on the helper thread. */
static void value_wait(void *arg)
{
	struct value *v = arg;
	while (!value_holds(v))
		sim_sleep_until(sim_now_ns() + 20000);
	free(v);
}

static CUresult value_submit(CUstream stream, CUdeviceptr address, uint64_t number, unsigned flags,
			     bool wide, bool wait)
{
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	pthread_mutex_unlock(&engine_lock);
	if (!a || address % (wide ? 8 : 4))
		return CUDA_ERROR_INVALID_VALUE;
	struct value *v = malloc(sizeof(*v));
	*v = (struct value){ address, number, flags, wide };
	struct op_request request = { .silent = true, .arg = v, .host = wait };
	request.action = wait ? value_wait : value_write;
	CUresult rc = stream_run(stream, &request, engine_settings.launch_us, NULL);
	if (rc)
		free(v);
	return rc;
}

#define STREAM_VALUE(name, type, is_wide, is_wait)                                    \
	CUresult sim_cuStream##name(CUstream stream, CUdeviceptr address, type value, \
				    unsigned flags)                                   \
	{                                                                             \
		return value_submit(stream, address, value, flags, is_wide, is_wait); \
	}
STREAM_VALUE(WriteValue32_v2, cuuint32_t, false, false)
STREAM_VALUE(WriteValue64_v2, cuuint64_t, true, false)
STREAM_VALUE(WaitValue32_v2, cuuint32_t, false, true)
STREAM_VALUE(WaitValue64_v2, cuuint64_t, true, true)

CUresult sim_cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list,
				   unsigned flags)
{
	CUresult rc = flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	for (unsigned i = 0; i < count && !rc; i++) {
		CUstreamBatchMemOpParams *p = &list[i];
		bool wide = p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 ||
			    p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
		bool wait = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
			    p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
		if (p->operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES ||
		    p->operation == CU_STREAM_MEM_OP_BARRIER)
			continue;
		rc = value_submit(stream, p->waitValue.address,
				  wide ? p->waitValue.value64 : p->waitValue.value,
				  p->waitValue.flags, wide, wait);
	}
	return rc;
}
