/*
 * CUPTI's foundation: its mode, the connection to the engine, versions, errors, ids. See
 * cupti_sim.h.
 */
#include "test/sim/cupti_sim.h"

#include "cupti_impl.h"

#include <dlfcn.h>
#include <stdio.h>

pthread_mutex_t cupti_lock = PTHREAD_MUTEX_INITIALIZER;
const struct sim_tools *cupti_tools;

static struct cupti_mode mode;
static pthread_once_t mode_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t attach_lock = PTHREAD_MUTEX_INITIALIZER;
static bool attached;
static uint32_t finalized;
static int controls_under_way, flushes_under_way;

static void mode_read(void)
{
	const char *text = getenv("PROFSIM_CUPTI") ?: "ok";
	mode.busy = !strcmp(text, "busy");
	mode.missing = !strcmp(text, "missing");
	if (!strncmp(text, "drop:", 5))
		mode.drop_every = strtol(text + 5, NULL, 10);
	if (!strncmp(text, "full:", 5))
		mode.buffer_records = strtol(text + 5, NULL, 10);
	mode.no_device_sync = !strcmp(text, "no-device-sync");
	mode.disable_hangs = !strcmp(text, "disable-hangs");
	mode.flush_crashes = !strcmp(text, "flush-crashes");
	mode.graph_ids = !strcmp(text, "graph-ids");
	if (!strncmp(text, "zero-times:", 11))
		mode.zero_every = strtol(text + 11, NULL, 10);
	if (mode.no_device_sync || mode.disable_hangs || mode.flush_crashes || mode.zero_every)
		mode.version = 130000; /* CUDA 13.0; fixed in its update 1, the last one in 13.1 */
	if (mode.graph_ids)
		mode.version = 130100; /* CUDA 13.1; fixed in its update 1 */
}

const struct cupti_mode *cupti_mode(void)
{
	pthread_once(&mode_once, mode_read);
	return &mode;
}

bool cupti_absent(void)
{
	return cupti_mode()->missing;
}

int ct_missing(const char *name)
{
	static struct sim_said said;
	if (cupti_absent())
		return CUPTI_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&cupti_lock);
	bool is_new = sim_say_once(&said, name);
	pthread_mutex_unlock(&cupti_lock);
	if (is_new)
		sim_log("%s is not simulated", name);
	return CUPTI_ERROR_NOT_SUPPORTED;
}

static void op_submitted(struct sim_sink *sink, const struct sim_op *op)
{
	(void)sink;
	cupti_record_op(op);
}

static void op_resolved(struct sim_sink *sink, uint64_t id, int64_t start_ns, int64_t end_ns)
{
	(void)sink;
	cupti_buffer_resolve(id, start_ns, end_ns);
	cupti_copy_resolve(id, end_ns);
}

static struct sim_sink sink = { .api_enter = cupti_api_enter,
				.api_exit = cupti_api_exit,
				.op_submitted = op_submitted,
				.op_resolved = op_resolved };

static CUptiResult tools_find(void)
{
	const void *tools;
	CUuuid id;
	CUresult (*table)(const void **, const CUuuid *);
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver)
		return CUPTI_ERROR_UNKNOWN;
	*(void **)&table = dlsym(driver, "cuGetExportTable");
	memcpy(id.bytes, SIM_TOOLS_UUID, sizeof(id.bytes));
	if (!table || table(&tools, &id))
		return CUPTI_ERROR_UNKNOWN;
	cupti_tools = tools;
	return CUPTI_SUCCESS;
}

CUptiResult cupti_attach(void)
{
	CUptiResult rc = CUPTI_SUCCESS;
	if (cupti_mode()->busy)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	pthread_mutex_lock(&attach_lock);
	if (!cupti_tools)
		rc = tools_find();
	if (!rc && !attached) {
		cupti_clock_note();
		attached = cupti_tools->attach(&sink) >= 0;
		if (!attached)
			rc = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	}
	pthread_mutex_unlock(&attach_lock);
	return rc;
}

uint32_t cupti_finalized(void)
{
	return __atomic_load_n(&finalized, __ATOMIC_RELAXED);
}

void cupti_control_begin(bool flushes)
{
	int under_way = __atomic_add_fetch(&controls_under_way, 1, __ATOMIC_SEQ_CST);
	int n_flushes = __atomic_add_fetch(&flushes_under_way, flushes, __ATOMIC_SEQ_CST);
	if (under_way > 1 && n_flushes && cupti_mode()->flush_crashes) {
		sim_log("cuptiActivityFlushAll runs at the same time as another call: crash");
		abort();
	}
}

void cupti_control_end(bool flushes)
{
	__atomic_sub_fetch(&flushes_under_way, flushes, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&controls_under_way, 1, __ATOMIC_SEQ_CST);
}

CUptiResult ct_cuptiFinalize(void)
{
	cupti_control_begin(false);
	pthread_mutex_lock(&attach_lock);
	if (attached)
		cupti_tools->detach(&sink);
	__atomic_add_fetch(&finalized, 1, __ATOMIC_RELAXED);
	attached = false;
	pthread_mutex_unlock(&attach_lock);
	cupti_switches_reset();
	cupti_copies_reset();
	cupti_callback_reset();
	cupti_buffer_flush(true);
	cupti_buffer_forget();
	cupti_clock_reset();
	cupti_control_end(false);
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	/* 28 is the version of CUDA 12.9 */
	*version = cupti_mode()->version ? cupti_mode()->version
		   : SIM_CUPTI == 12	 ? 28
					 : CUPTI_API_VERSION;
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiGetTimestamp(uint64_t *timestamp)
{
	*timestamp = cupti_clock_now();
	return CUPTI_SUCCESS;
}

static const struct {
	int result;
	const char *name;
} result_names[] = {
#include "errors_cupti.def"
};

CUptiResult ct_cuptiGetResultString(CUptiResult result, const char **text)
{
	for (size_t i = 0; i < sizeof(result_names) / sizeof(*result_names); i++)
		if (result_names[i].result == (int)result) {
			*text = result_names[i].name;
			return CUPTI_SUCCESS;
		}
	return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult ct_cuptiGetErrorMessage(CUptiResult result, const char **text)
{
	return ct_cuptiGetResultString(result, text);
}

CUptiResult ct_cuptiGetLastError(void)
{
	return CUPTI_SUCCESS;
}

CUptiResult ct_cuptiGetContextId(CUcontext context, uint32_t *id)
{
	CUptiResult rc = cupti_attach();
	*id = rc ? 0 : cupti_tools->context_id(context);
	return rc ?: *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult ct_cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
	CUptiResult rc = cupti_attach();
	if (rc)
		return rc;
	int device = cupti_tools->context_device(context ?: cupti_tools->current());
	*id = (uint32_t)device;
	return device >= 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult ct_cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
				  uint32_t *id)
{
	CUptiResult rc = cupti_attach();
	if (rc)
		return rc;
	if (!stream && per_thread)
		stream = CU_STREAM_PER_THREAD;
	return cupti_tools->stream_id(context, stream, id) ? CUPTI_ERROR_INVALID_STREAM
							   : CUPTI_SUCCESS;
}

CUptiResult ct_cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *id)
{
	return ct_cuptiGetStreamIdEx(context, stream, 0, id);
}

CUptiResult ct_cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	CUptiResult rc = cupti_attach();
	if (!rc && (!id || cupti_tools->graph_id(graph, id)))
		rc = CUPTI_ERROR_INVALID_PARAMETER;
	return rc;
}

CUptiResult ct_cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
	CUptiResult rc = cupti_attach();
	if (!rc && (!id || cupti_tools->exec_id(exec, id)))
		rc = CUPTI_ERROR_INVALID_PARAMETER;
	return rc;
}

CUptiResult ct_cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	CUptiResult rc = cupti_attach();
	if (!rc && (!id || cupti_tools->node_id(node, id)))
		rc = CUPTI_ERROR_INVALID_PARAMETER;
	return rc;
}
