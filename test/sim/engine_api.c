/*
 * API frames: what every exported function does at entry and exit. Handles correlation ids, planted
 * failures (PROFSIM_FAIL), CUPTI's sinks, and the truth file. Runs on the application's threads,
 * without engine_lock.
 */
#include "test/sim/engine.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;
struct sim_settings engine_settings;
volatile uint32_t engine_flags = ENGINE_COLD;

static __thread struct cu_thread self = { .capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL };
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t last_correlation;
static bool finalized; /* all CUPTIs were finalized; ids start again when one is attached */
static int truth_fd = -1;
static struct sim_sink *sinks[SIM_SINKS];

struct failure {
	char api[80];
	long at, seen;
	int error;
};
static struct failure failures[32];
static int failure_count;

struct cu_thread *engine_thread(void)
{
	return &self;
}

/* Returns a sink. The caller must read it only once, because cuptiFinalize on another thread may
 * remove it. */
static struct sim_sink *sink_at(int i)
{
	return __atomic_load_n(&sinks[i], __ATOMIC_ACQUIRE);
}

static void failures_read(const char *text)
{
	char copy[2048], *save = NULL;
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *one = strtok_r(copy, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		struct failure f = { .at = 0 };
		char error[80];
		if (sscanf(one, "%79[^:]:%ld:%79s", f.api, &f.at, error) == 3)
			f.error = sim_error_parse(error);
		if (f.error <= 0 || f.at < 1 || failure_count == 32)
			sim_log("PROFSIM_FAIL: %s is not API:N:ERROR (N from 1, ERROR a number or "
				"a name); "
				"ignored",
				one);
		else
			failures[failure_count++] = f;
	}
}

static void child_after_fork(void)
{
	engine_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	/*
	 * A context does not survive a fork. In the child, the real driver also returns an error
	 * from every call.
	 */
	if (engine_has_context())
		engine_flags |= ENGINE_FORKED;
}

static void cold_start(void)
{
	sim_settings_read(&engine_settings);
	failures_read(engine_settings.fail);
	if (*engine_settings.truth) {
		truth_fd = open(engine_settings.truth, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
				0644);
		if (truth_fd < 0)
			sim_log("PROFSIM_TRUTH=%s cannot be written: %s", engine_settings.truth,
				strerror(errno));
	}
	pthread_atfork(NULL, NULL, child_after_fork);
	uint32_t flags = engine_flags & ~ENGINE_COLD;
	engine_flags = failure_count ? flags | ENGINE_FAIL : flags;
}

/*
 * Returns whether a rule of PROFSIM_FAIL applies to a function. A rule covers all versions:
 * cuMemAlloc also means cuMemAlloc_v2. A rule for cudaLaunchKernel also covers nvcc's
 * __cudaLaunchKernel.
 */
static bool failure_matches(const char *rule, const char *api)
{
	if (!strncmp(rule, "__", 2))
		rule += 2;
	size_t length = strlen(rule);
	if (strncmp(rule, api, length))
		return false;
	api += length;
	return !*api || (api[0] == '_' && api[1] == 'v' && api[2] >= '0' && api[2] <= '9');
}

static int failure_due(const char *api)
{
	for (int i = 0; i < failure_count; i++) {
		struct failure *f = &failures[i];
		if (!failure_matches(f->api, api))
			continue;
		if (__atomic_add_fetch(&f->seen, 1, __ATOMIC_RELAXED) != f->at)
			continue;
		if (engine_settings.log >= 2)
			sim_log("%s: planted failure %d at call %ld", api, f->error, f->at);
		return f->error;
	}
	return 0;
}

uint32_t engine_correlation(struct cu_thread *thread)
{
	if (!thread->correlation)
		thread->correlation = __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
	return thread->correlation;
}

static int frame_enter_slow(struct sim_frame *frame)
{
	pthread_once(&once, cold_start);
	if (engine_flags & ENGINE_FORKED)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (engine_flags & ENGINE_SINK) {
		frame->correlation = engine_correlation(frame->thread);
		frame->observed = true;
		for (int i = 0; i < SIM_SINKS; i++) {
			struct sim_sink *sink = sink_at(i);
			if (sink)
				sink->api_enter(sink, frame);
		}
	}
	return engine_flags & ENGINE_FAIL ? failure_due(frame->name) : 0;
}

int engine_frame_enter(struct sim_frame *frame, bool per_thread)
{
	struct cu_thread *t = &self;
	frame->thread = t;
	frame->observed = false;
	frame->saved_per_thread = t->per_thread;
	t->per_thread = per_thread;
	/*
	 * A nested call, such as a driver call that the runtime makes, shares the outer call's
	 * correlation id.
	 */
	frame->nested = t->depth++ > 0;
	if (!frame->nested)
		t->correlation = 0;
	return SIM_UNLIKELY(engine_flags) ? frame_enter_slow(frame) : 0;
}

int engine_frame_leave(struct sim_frame *frame, int status)
{
	struct cu_thread *t = frame->thread;
	t->per_thread = frame->saved_per_thread;
	if (SIM_UNLIKELY(frame->observed)) {
		for (int i = SIM_SINKS - 1; i >= 0; i--) {
			struct sim_sink *sink = sink_at(i);
			if (sink)
				sink->api_exit(sink, frame, status);
		}
	}
	t->depth--;
	return status;
}

CUresult engine_missing(const char *name)
{
	static struct sim_said said;
	pthread_mutex_lock(&engine_lock);
	bool is_new = sim_say_once(&said, name);
	pthread_mutex_unlock(&engine_lock);
	if (is_new)
		sim_log("%s is not simulated", name);
	return CUDA_ERROR_NOT_SUPPORTED;
}

bool engine_watched(void)
{
	return (engine_flags & ENGINE_SINK) || truth_fd >= 0;
}

static const char *op_kind_name(const struct sim_op *op)
{
	static const char *const kinds[] = { "kernel", "memcpy", "memcpy_p2p", "memset",
					     "host",   NULL,	 NULL,	       NULL };
	static const char *const copies[] = { "memcpy",	    "memcpy_h2d", "memcpy_d2h",
					      "memcpy_h2a", "memcpy_a2h", "memcpy_a2a",
					      "memcpy_a2d", "memcpy_d2a", "memcpy_d2d",
					      "memcpy_h2h", "memcpy_p2p" };
	if (op->kind == SIM_OP_COPY && op->u.copy.kind < sizeof(copies) / sizeof(*copies))
		return copies[op->u.copy.kind];
	return kinds[op->kind];
}

/*
 * Writes a line with: kind name stream start_ns end_ns correlation device bytes pid. Writes it at
 * once, so that it survives a crash.
 */
static void truth_write(const struct sim_op *op)
{
	const char *kind = op_kind_name(op);
	if (truth_fd < 0 || !kind)
		return;
	char line[4400];
	int n = snprintf(line, sizeof(line), "%s %.4000s %u %lld %lld %u %u %llu %d\n", kind,
			 op->name ? op->name : "-", op->stream, (long long)op->start_ns,
			 (long long)op->end_ns, op->correlation, op->device,
			 (unsigned long long)op->bytes, (int)getpid());
	if (write(truth_fd, line, n) != n)
		truth_fd = -1;
}

void engine_publish(const struct sim_op *op)
{
	for (int i = 0; i < SIM_SINKS; i++) {
		struct sim_sink *sink = sink_at(i);
		if (sink)
			sink->op_submitted(sink, op);
	}
	if (op->resolved)
		truth_write(op);
}

void engine_publish_resolved(const struct sim_op *op)
{
	for (int i = 0; i < SIM_SINKS; i++) {
		struct sim_sink *sink = sink_at(i);
		if (sink)
			sink->op_resolved(sink, op->id, op->start_ns, op->end_ns);
	}
	truth_write(op);
}

static int sink_attach(struct sim_sink *sink)
{
	pthread_once(&once, cold_start);
	/* a call under way on another thread keeps its id */
	if (__atomic_exchange_n(&finalized, false, __ATOMIC_SEQ_CST))
		__atomic_store_n(&last_correlation, 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < SIM_SINKS; i++) {
		struct sim_sink *none = NULL;
		sink->index = i;
		if (__atomic_compare_exchange_n(&sinks[i], &none, sink, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST)) {
			__atomic_or_fetch(&engine_flags, ENGINE_SINK, __ATOMIC_SEQ_CST);
			return i;
		}
	}
	return -1;
}

static void sink_detach(struct sim_sink *sink)
{
	bool left = false;
	engine_graphs_break();
	__atomic_store_n(&sinks[sink->index], NULL, __ATOMIC_SEQ_CST);
	for (int i = 0; i < SIM_SINKS; i++)
		left |= sink_at(i) != NULL;
	if (left)
		return;
	__atomic_and_fetch(&engine_flags, ~(uint32_t)ENGINE_SINK, __ATOMIC_SEQ_CST);
	__atomic_store_n(&finalized, true, __ATOMIC_SEQ_CST);
}

static uint32_t tool_context_id(void *handle)
{
	pthread_mutex_lock(&engine_lock);
	struct context *c = engine_context_checked(handle);
	uint32_t id = c ? c->id : 0;
	pthread_mutex_unlock(&engine_lock);
	return id;
}

static int tool_context_device(void *handle)
{
	pthread_mutex_lock(&engine_lock);
	struct context *c = engine_context_checked(handle);
	int ordinal = c ? c->device->ordinal : -1;
	pthread_mutex_unlock(&engine_lock);
	return ordinal;
}

static int tool_stream_id(void *context, void *handle, uint32_t *id)
{
	struct cu_thread *t = engine_thread();
	struct context *saved = NULL;
	struct stream *s;
	if (context && t->stack_size) {
		saved = t->stack[t->stack_size - 1];
		t->stack[t->stack_size - 1] = context;
	}
	pthread_mutex_lock(&engine_lock);
	int rc = stream_find(handle, &s);
	if (!rc)
		*id = s->id;
	pthread_mutex_unlock(&engine_lock);
	if (saved)
		t->stack[t->stack_size - 1] = saved;
	return rc;
}

/* Returns the current context, even if it has a sticky error. */
static void *tool_current(void)
{
	struct context *c = NULL;
	CUresult rc = engine_context_current(&c);
	return c && rc == c->error ? c : NULL;
}

static int tool_current_device(void)
{
	struct context *c = tool_current();
	return c ? c->device->ordinal : -1;
}

const struct sim_tools engine_tools = {
	.size = sizeof(struct sim_tools),
	.settings = &engine_settings,
	.flags = &engine_flags,
	.enter = engine_frame_enter,
	.leave = engine_frame_leave,
	.attach = sink_attach,
	.detach = sink_detach,
	.context_id = tool_context_id,
	.stream_id = tool_stream_id,
	.context_device = tool_context_device,
	.variable_declare = engine_variable_declare,
	.current = tool_current,
	.current_device = tool_current_device,
	.meet = engine_meet,
	.device_read = engine_device_read,
	.device_write = engine_device_write,
	.graph_id = tool_graph_id,
	.exec_id = tool_exec_id,
	.node_id = tool_node_id,
};

/*
 * The private table of NVIDIA's driver that every real CUDA runtime asks for and cannot do without
 * (seen with CUDA 13.0). Others, such as NVRTC, ask for tables that they do not need.
 */
static const unsigned char runtime_table[] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
					       0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };

/* Says once which file has a CUDA runtime of its own. */
static void say_private_table(void)
{
	static bool said;
	void *frames[16];
	Dl_info caller = { NULL }, own = { NULL };
	if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		return;
	int n = backtrace(frames, 16), i = 0;
	dladdr((void *)say_private_table, &own);
	while (i < n && (!dladdr(frames[i], &caller) || caller.dli_fbase == own.dli_fbase))
		i++;
	sim_log("%s has a CUDA runtime of its own, which needs NVIDIA's driver; the simulated GPU "
		"runs programs that are built with nvcc -cudart shared, and stands in for the "
		"libraries that test/sim/README.md lists",
		i < n && caller.dli_fname ? caller.dli_fname : "the program");
}

CUresult sim_cuGetExportTable(const void **table, const CUuuid *id)
{
	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (memcmp(id->bytes, SIM_TOOLS_UUID, sizeof(id->bytes))) {
		if (!memcmp(id->bytes, runtime_table, sizeof(runtime_table)))
			say_private_table();
		return CUDA_ERROR_NOT_FOUND;
	}
	pthread_once(&once, cold_start);
	*table = &engine_tools;
	return CUDA_SUCCESS;
}

CUresult sim_cuGetErrorName(CUresult error, const char **text)
{
	*text = sim_error_name(false, error);
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGetErrorString(CUresult error, const char **text)
{
	*text = sim_error_name(false, error) ? sim_error_text(error) : NULL;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
