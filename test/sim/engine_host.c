/*
 * Host functions and stream callbacks: operations of a stream that run on the helper thread. Called
 * by the application's threads.
 */
#include "test/sim/engine.h"

struct host_call {
	CUhostFn function;
	CUstreamCallback callback;
	CUstream stream;
	void *data;
};

static void host_call_run(void *arg)
{
	struct host_call *call = arg;
	if (call->function)
		call->function(call->data);
	else
		call->callback(call->stream, CUDA_SUCCESS, call->data);
	free(call);
}

static CUresult host_submit(CUstream handle, const struct host_call *template)
{
	struct stream *s;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	bool capturing = !rc && capture_active(s);
	if (capturing)
		rc = template->function ? capture_host(s, template->function, template->data)
					: capture_forbids(s);
	pthread_mutex_unlock(&engine_lock);
	if (rc || capturing)
		return rc;
	struct host_call *call = malloc(sizeof(*call));
	*call = *template;
	struct op_request request = { .host = true, .action = host_call_run, .arg = call };
	request.desc.kind = SIM_OP_HOST;
	request.desc.name = "host_function";
	return stream_run(handle, &request, engine_settings.launch_us, NULL);
}

CUresult sim_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	struct host_call call = { .function = function, .data = data };
	return function ? host_submit(stream, &call) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data,
				 unsigned flags)
{
	struct host_call call = { .callback = callback, .stream = stream, .data = data };
	return callback && !flags ? host_submit(stream, &call) : CUDA_ERROR_INVALID_VALUE;
}
