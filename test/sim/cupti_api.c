/* API calls as activity records, external correlation, and the simple functions of the activity
 * API. */
#include "test/sim/cupti_sim.h"

#include "cupti_impl.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXTERNAL_KINDS (CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 + 1)
#define EXTERNAL_DEPTH 256

struct external {
	int depth[EXTERNAL_KINDS];
	uint64_t ids[EXTERNAL_KINDS][EXTERNAL_DEPTH];
	uint64_t told; /* the call for which the tops of the stacks were last recorded */
};

static __thread struct external *external;
static __thread uint32_t thread_id;
static _Atomic uint32_t process_id;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void child_after_fork(void)
{
	process_id = thread_id = 0;
}

static void fork_handler(void)
{
	pthread_atfork(NULL, NULL, child_after_fork);
}

/*
 * Returns the process id. Cached, as in the real CUPTI: a system call for each record would cost
 * more than everything else.
 */
uint32_t cupti_process_id(void)
{
	uint32_t id = atomic_load_explicit(&process_id, memory_order_relaxed);
	if (!id) {
		pthread_once(&fork_once, fork_handler);
		process_id = id = (uint32_t)getpid();
	}
	return id;
}

static uint32_t thread_id_now(void)
{
	CUpti_ActivityThreadIdType type;
	ct_cuptiGetThreadIdType(&type);
	if (type == CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT)
		return (uint32_t)pthread_self();
	if (!thread_id)
		thread_id = (uint32_t)syscall(SYS_gettid);
	return thread_id;
}

/*
 * Returns whether the call gets a record. The driver calls that the runtime makes get none: CUPTI
 * 13.0 records only the runtime's call (seen on an H100).
 */
static bool is_recorded(const struct sim_frame *frame)
{
	return cupti_api_on(frame->domain, frame->cbid) &&
	       !(frame->nested && frame->domain == SIM_DRIVER);
}

/* Stores the call's start on this CUPTI's clock in sink_data, at the index of the sink; 0: not
 * recorded. */
void cupti_api_enter(struct sim_sink *sink, struct sim_frame *frame)
{
	cupti_callback_enter(frame);
	frame->sink_data[sink->index] = is_recorded(frame) ? cupti_clock_now() : 0;
}

void cupti_api_exit(struct sim_sink *sink, struct sim_frame *frame, int status)
{
	uint64_t start = frame->sink_data[sink->index];
	CUpti_ActivityExternalCorrelation ids[EXTERNAL_KINDS];
	struct write writes[EXTERNAL_KINDS + 1];
	int count = 0;
	if (start && cupti_buffer_registered()) {
		/*
		 * Before the first API record of a call and the calls within it, write one record
		 * for the top of each stack.
		 */
		struct external *e = external;
		uint64_t call = (uint64_t)cupti_finalized() << 32 | frame->correlation;
		if (e && e->told != call &&
		    cupti_kind_on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
			for (int k = 1; k < EXTERNAL_KINDS; k++) {
				if (!e->depth[k])
					continue;
				ids[count] = (CUpti_ActivityExternalCorrelation){
					.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
					.externalKind = (CUpti_ExternalCorrelationKind)k,
					.externalId = e->ids[k][e->depth[k] - 1],
					.correlationId = frame->correlation
				};
				writes[count] =
					(struct write){ &ids[count],
							cupti_record_bytes(ids[count].kind) };
				count++;
			}
			e->told = call;
		}
		bool is_graph = strstr(frame->name, "GraphLaunch") != NULL;
		CUpti_ActivityAPI api = { .kind = frame->domain == SIM_RUNTIME
							  ? CUPTI_ACTIVITY_KIND_RUNTIME
							  : CUPTI_ACTIVITY_KIND_DRIVER,
					  .cbid = frame->cbid,
					  .start = start,
					  .end = cupti_clock_now(),
					  .processId = cupti_process_id(),
					  .threadId = thread_id_now(),
					  .correlationId =
						  is_graph ? cupti_graph_id(frame->correlation)
							   : frame->correlation,
					  .returnValue = (uint32_t)status };
		writes[count++] = (struct write){ &api, cupti_record_bytes(api.kind) };
		cupti_buffer_write(writes, count, 0, 0);
	}
	cupti_callback_exit(frame, status);
}

CUptiResult ct_cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
						      uint64_t id)
{
	if (kind < 1 || (int)kind >= EXTERNAL_KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!external)
		external = calloc(1, sizeof(*external));
	if (external->depth[kind] == EXTERNAL_DEPTH)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	external->ids[kind][external->depth[kind]++] = id;
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
						     uint64_t *last)
{
	if (kind < 1 || (int)kind >= EXTERNAL_KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!external || !external->depth[kind])
		return CUPTI_ERROR_QUEUE_EMPTY;
	uint64_t id = external->ids[kind][--external->depth[kind]];
	if (last)
		*last = id;
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
					      CUpti_BuffersCallbackCompleteFunc complete)
{
	if (!request || !complete)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return cupti_attach() ?: cupti_buffer_register(request, complete);
}

CUptiResult ct_cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback)
{
	CUptiResult rc = callback ? cupti_attach() : CUPTI_ERROR_INVALID_PARAMETER;
	if (!rc)
		cupti_clock_register(callback);
	return rc;
}

/* Writes a record of CUPTI's own overhead: the time that delivering a buffer took. */
static void overhead_write(uint64_t start)
{
	if (!cupti_kind_on(CUPTI_ACTIVITY_KIND_OVERHEAD))
		return;
	CUpti_ActivityOverhead3 o;
	memset(&o, 0, sizeof(o));
	o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
	o.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
	o.objectId.pt.processId = cupti_process_id();
	o.objectId.pt.threadId = thread_id_now();
	o.start = start;
	o.end = cupti_clock_now();
	struct write w = { &o, cupti_record_bytes(o.kind) };
	cupti_buffer_write(&w, 1, 0, 0);
}

CUptiResult ct_cuptiActivityFlushAll(uint32_t flag)
{
	uint64_t start = cupti_clock_now();
	if (!cupti_buffer_registered())
		return CUPTI_ERROR_INVALID_OPERATION;
	cupti_control_begin(true);
	cupti_buffer_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	overhead_write(start);
	cupti_control_end(true);
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	(void)context, (void)stream;
	return ct_cuptiActivityFlushAll(flag);
}

CUptiResult ct_cuptiActivityFlushPeriod(uint32_t ms)
{
	cupti_buffer_period(ms);
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	uint8_t *next = *record ? (uint8_t *)*record + cupti_record_bytes((*record)->kind) : buffer;
	if (next >= buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *count)
{
	(void)stream;
	/* dropped records are counted for all contexts together */
	*count = context ? 0 : cupti_dropped_take();
	return CUPTI_SUCCESS;
}

CUptiResult
ct_cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
					      uint32_t count)
{
	return config && count ? CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED
			       : CUPTI_ERROR_INVALID_PARAMETER;
}
