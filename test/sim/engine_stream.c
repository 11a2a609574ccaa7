/*
 * Streams and events: order, the legacy default stream's barriers, waits and queries. Runs on the
 * application's threads.
 */
#include "test/sim/engine.h"

#include <stdio.h>

static struct event *free_events;
static uint32_t last_event_id;
static uint64_t last_record;

struct stream *stream_create_in(struct context *context, unsigned flags, int priority)
{
	struct stream *s = calloc(1, sizeof(*s));
	s->magic = STREAM_MAGIC;
	s->context = context;
	s->flags = flags;
	s->priority = priority;
	s->result.value = -1;
	s->id = context->next_stream_id++;
	s->next = context->streams;
	context->streams = s;
	return s;
}

struct result stream_result(struct stream *stream)
{
	struct result result = stream->result;
	stream->result.value = -1;
	return result;
}

static struct stream *stream_per_thread(struct context *context)
{
	struct cu_thread *t = engine_thread();
	if (!t->streams)
		t->streams = calloc(ENGINE_MAX_CONTEXTS, sizeof(*t->streams));
	struct stream **s = &t->streams[context->index];
	/* The thread's slot may contain the stream of an earlier context with the same index. */
	if (!*s || (*s)->context != context || (*s)->destroyed) {
		*s = stream_create_in(context, 0, 0);
		(*s)->per_thread = true;
	}
	return *s;
}

CUresult stream_find(CUstream handle, struct stream **stream)
{
	struct context *c;
	bool per_thread = handle == CU_STREAM_PER_THREAD ||
			  (!handle && engine_thread()->per_thread);
	if (per_thread || !handle || handle == CU_STREAM_LEGACY) {
		CUresult rc = engine_context_current(&c);
		if (!rc)
			*stream = per_thread ? stream_per_thread(c) : c->legacy;
		return rc;
	}
	struct stream *s = (struct stream *)handle;
	if (s->magic != STREAM_MAGIC || s->destroyed)
		return CUDA_ERROR_INVALID_HANDLE;
	*stream = s;
	return s->context->error;
}

/* Sets `deps` to what the next operation of a stream waits for. The legacy stream waits for every
 * blocking stream of its context, and blocking streams wait for the legacy stream. */
int stream_dependencies(struct stream *stream, struct when *deps)
{
	int count = 0;
	deps[count++] = stream->tail;
	if (stream->legacy) {
		for (struct stream *s = stream->context->streams; s && count < OP_MAX_DEPS;
		     s = s->next)
			if (s != stream && !(s->flags & CU_STREAM_NON_BLOCKING) && !s->capture)
				deps[count++] = s->tail;
	} else if (!(stream->flags & CU_STREAM_NON_BLOCKING)) {
		deps[count++] = stream->context->legacy->tail;
	}
	return count;
}

struct when stream_submit(struct stream *stream, struct op_request *request)
{
	struct when deps[OP_MAX_DEPS];
	int count = stream_dependencies(stream, deps);
	request->desc.stream = stream->id;
	request->desc.context = stream->context->id;
	request->desc.device = stream->context->device->ordinal;
	struct when end = op_submit(request, deps, count);
	op_assign(&stream->tail, end);
	return op_reference(end);
}

struct when stream_moment(struct stream *stream)
{
	struct when deps[OP_MAX_DEPS];
	int count = stream_dependencies(stream, deps);
	return op_join(deps, count);
}

/* Notes a launch. A stream holds PROFSIM_QUEUE operations; the next launch waits until the oldest
 * has ended. */
void stream_queue_note(struct stream *stream, int64_t end_ns, int64_t *wait_ns)
{
	uint32_t size = (uint32_t)engine_settings.queue;
	if (!stream->queue)
		stream->queue = calloc(size, sizeof(*stream->queue));
	int64_t *slot = &stream->queue[stream->queue_next];
	if (*slot > *wait_ns)
		*wait_ns = *slot;
	*slot = end_ns;
	stream->queue_next = stream->queue_next + 1 == size ? 0 : stream->queue_next + 1;
}

/* Requires engine_lock on entry and releases it. */
CUresult stream_run_locked(struct stream *stream, struct op_request *request, int64_t host_end,
			   struct when *end)
{
	int64_t queue_wait = 0;
	request->not_before_ns = host_end + engine_ns(engine_settings.latency_us);
	struct when moment = stream_submit(stream, request);
	if (request->desc.resolved)
		stream_queue_note(stream, request->desc.end_ns, &queue_wait);
	pthread_mutex_unlock(&engine_lock);
	if (!request->silent && engine_watched())
		engine_publish(&request->desc);
	if (request->desc.resolved && request->action)
		request->action(request->arg);
	op_published(&moment);
	if (queue_wait > host_end)
		host_end = queue_wait;
	if (end)
		*end = moment;
	else if (moment.op) {
		pthread_mutex_lock(&engine_lock);
		op_release(&moment);
		pthread_mutex_unlock(&engine_lock);
	}
	if (host_end)
		sim_wait_until(host_end);
	return CUDA_SUCCESS;
}

CUresult stream_run(CUstream handle, struct op_request *request, double cost_us, struct when *end)
{
	struct stream *s;
	int64_t host_end = sim_now_ns() + engine_ns(cost_us);
	request->desc.correlation = engine_correlation(engine_thread());
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	if (rc) {
		pthread_mutex_unlock(&engine_lock);
		return rc;
	}
	return stream_run_locked(s, request, host_end, end);
}

void engine_sync_publish(enum sim_sync_type type, uint32_t stream, struct event *event,
			 int64_t start_ns, int status, struct context *context)
{
	if (!(engine_flags & ENGINE_SINK))
		return;
	struct sim_op op = { .kind = SIM_OP_SYNC, .resolved = true, .start_ns = start_ns };
	op.end_ns = sim_now_ns();
	op.stream = stream;
	op.context = context->id;
	op.device = context->device->ordinal;
	op.correlation = engine_correlation(engine_thread());
	op.u.sync.type = type;
	op.u.sync.event = event ? event->id : 0;
	op.u.sync.event_sync = event ? event->record_sequence : 0;
	op.u.sync.status = status;
	engine_publish(&op);
}

/* ---- streams ---- */

CUresult sim_cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	struct context *c;
	if (!stream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = engine_context_current(&c);
	if (!rc)
		*stream = (CUstream)stream_create_in(c, flags,
						     priority < -5  ? -5
						     : priority > 0 ? 0
								    : priority);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuStreamCreate(CUstream *stream, unsigned flags)
{
	return sim_cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult sim_cuStreamDestroy_v2(CUstream handle)
{
	struct stream *s;
	if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	if (!rc) {
		/*
		 * The stream's work continues. The legacy stream's barriers and synchronizations of
		 * the context still wait for it.
		 */
		struct when both[2] = { s->context->legacy->tail, s->tail };
		if (!(s->flags & CU_STREAM_NON_BLOCKING) && !op_is_known(&s->tail))
			op_assign(&s->context->legacy->tail, op_join(both, 2));
		if (s->tail.ns > s->context->orphans_ns)
			s->context->orphans_ns = s->tail.ns;
		for (struct stream **at = &s->context->streams; *at; at = &(*at)->next)
			if (*at == s) {
				*at = s->next;
				break;
			}
		/*
		 * The struct itself stays, so that a later use of the handle is an error and not a
		 * crash.
		 */
		s->destroyed = true;
		op_release(&s->tail);
		free(s->queue);
		s->queue = NULL;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

static CUresult stream_take_moment(CUstream handle, struct when *moment, uint32_t *id,
				   struct context **context)
{
	struct stream *s;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	if (!rc)
		rc = capture_forbids(s);
	if (!rc) {
		*moment = stream_moment(s);
		*id = s->id;
		*context = s->context;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuStreamSynchronize(CUstream handle)
{
	struct when moment;
	struct context *c;
	uint32_t id;
	int64_t start = sim_now_ns();
	CUresult rc = stream_take_moment(handle, &moment, &id, &c);
	if (rc)
		return rc;
	op_wait(moment, (c->flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC);
	engine_sync_publish(SIM_SYNC_STREAM, id, NULL, start, 0, c);
	return CUDA_SUCCESS;
}

static CUresult moment_query(struct when moment)
{
	bool passed = op_passed(moment);
	if (moment.op) {
		pthread_mutex_lock(&engine_lock);
		op_release(&moment);
		pthread_mutex_unlock(&engine_lock);
	}
	return passed ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult sim_cuStreamQuery(CUstream handle)
{
	struct when moment;
	struct context *c;
	uint32_t id;
	CUresult rc = stream_take_moment(handle, &moment, &id, &c);
	return rc ?: moment_query(moment);
}

#define STREAM_GETTER(name, type, expression)             \
	CUresult sim_##name(CUstream handle, type *value) \
	{                                                 \
		struct stream *s;                         \
		pthread_mutex_lock(&engine_lock);         \
		CUresult rc = stream_find(handle, &s);    \
		if (!rc)                                  \
			*value = (expression);            \
		pthread_mutex_unlock(&engine_lock);       \
		return rc;                                \
	}

STREAM_GETTER(cuStreamGetPriority, int, s->priority)
STREAM_GETTER(cuStreamGetFlags, unsigned, s->flags)
STREAM_GETTER(cuStreamGetCtx, CUcontext, (CUcontext)s->context)
STREAM_GETTER(cuStreamGetDevice, CUdevice, s->context->device->ordinal)
STREAM_GETTER(cuStreamGetId, unsigned long long, s->id)

CUresult sim_cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute,
				  CUstreamAttrValue *value)
{
	struct stream *s;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	if (!rc && ((unsigned)attribute >= 16 || !value))
		rc = CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		*value = s->attributes[attribute];
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute,
				  const CUstreamAttrValue *value)
{
	struct stream *s;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	if (!rc && ((unsigned)attribute >= 16 || !value))
		rc = CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		s->attributes[attribute] = *value;
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuStreamCopyAttributes(CUstream to, CUstream from)
{
	struct stream *a, *b;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(to, &a) ?: stream_find(from, &b);
	if (!rc)
		memcpy(a->attributes, b->attributes, sizeof(a->attributes));
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t bytes,
				    unsigned flags)
{
	struct stream *s;
	(void)address, (void)bytes, (void)flags;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

/* ---- events ---- */

struct event *event_checked(CUevent handle)
{
	struct event *e = (struct event *)handle;
	return e && e->magic == EVENT_MAGIC ? e : NULL;
}

CUresult sim_cuEventCreate(CUevent *event, unsigned flags)
{
	struct context *c;
	if (!event)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = engine_context_current(&c);
	if (!rc) {
		struct event *e = free_events;
		if (e)
			free_events = e->next_free;
		else
			e = malloc(sizeof(*e));
		*e = (struct event){ .magic = EVENT_MAGIC, .flags = flags, .context = c };
		e->id = ++last_event_id;
		*event = (CUevent)e;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuEventDestroy_v2(CUevent handle)
{
	pthread_mutex_lock(&engine_lock);
	struct event *e = event_checked(handle);
	if (e) {
		op_release(&e->at);
		capture_event_forget(e);
		e->magic = 0;
		e->next_free = free_events;
		free_events = e;
	}
	pthread_mutex_unlock(&engine_lock);
	return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned flags)
{
	struct stream *s;
	int64_t now = sim_now_ns();
	pthread_mutex_lock(&engine_lock);
	struct event *e = event_checked(handle);
	CUresult rc = e ? stream_find(stream, &s) : CUDA_ERROR_INVALID_HANDLE;
	if (!rc && capture_active(s)) {
		rc = capture_event_record(s, e, flags);
	} else if (!rc && e->context->device != s->context->device) {
		rc = CUDA_ERROR_INVALID_HANDLE;
	} else if (!rc) {
		struct op_request request = { .silent = true };
		request.not_before_ns = now + engine_ns(engine_settings.latency_us);
		capture_event_forget(e);
		op_assign(&e->at, stream_submit(s, &request));
		e->recorded = true;
		e->stream_id = s->id;
		e->record_sequence = ++last_record;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuEventRecord(CUevent event, CUstream stream)
{
	return sim_cuEventRecordWithFlags(event, stream, 0);
}

CUresult sim_cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
	struct stream *s;
	int64_t start = sim_now_ns();
	pthread_mutex_lock(&engine_lock);
	struct event *e = event_checked(event);
	CUresult rc = e ? stream_find(handle, &s) : CUDA_ERROR_INVALID_HANDLE;
	bool waits = false;
	if (!rc && (capture_active(s) || e->capture_nodes)) {
		rc = capture_event_wait(s, e, flags);
	} else if (!rc && e->recorded) {
		struct when both[2] = { s->tail, e->at };
		op_assign(&s->tail, op_join(both, 2));
		waits = true;
	}
	pthread_mutex_unlock(&engine_lock);
	if (waits)
		engine_sync_publish(SIM_SYNC_WAIT_EVENT, s->id, e, start, 0, s->context);
	return rc;
}

/* Gets the moment that an event marks. The caller passes it to op_wait() or moment_query(), which
 * free the reference. */
static CUresult event_moment(CUevent handle, struct event **event, struct when *moment)
{
	pthread_mutex_lock(&engine_lock);
	struct event *e = *event = event_checked(handle);
	CUresult rc = !e		 ? CUDA_ERROR_INVALID_HANDLE
		      : e->capture_nodes ? CUDA_ERROR_CAPTURED_EVENT
					 : e->context->error;
	*moment = rc ? (struct when){ .ns = 0 } : op_reference(e->at);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuEventSynchronize(CUevent handle)
{
	int64_t start = sim_now_ns();
	struct event *e;
	struct when moment;
	CUresult rc = event_moment(handle, &e, &moment);
	if (rc)
		return rc;
	op_wait(moment, e->flags & CU_EVENT_BLOCKING_SYNC);
	engine_sync_publish(SIM_SYNC_EVENT, e->stream_id, e, start, 0, e->context);
	return CUDA_SUCCESS;
}

CUresult sim_cuEventQuery(CUevent handle)
{
	struct event *e;
	struct when moment;
	CUresult rc = event_moment(handle, &e, &moment);
	return rc ?: moment_query(moment);
}

CUresult sim_cuEventElapsedTime_v2(float *ms, CUevent first, CUevent second)
{
	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult rc = sim_cuEventQuery(first) ?: sim_cuEventQuery(second);
	struct event *a = (struct event *)first, *b = (struct event *)second;
	if (rc && rc != CUDA_ERROR_NOT_READY)
		return rc;
	if (!a->recorded || !b->recorded || (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (rc)
		return rc;
	pthread_mutex_lock(&engine_lock);
	struct when from = op_reference(a->at), to = op_reference(b->at);
	pthread_mutex_unlock(&engine_lock);
	*ms = (float)((to.ns - from.ns) / 1e6);
	return CUDA_SUCCESS;
}

CUresult sim_cuEventElapsedTime(float *ms, CUevent first, CUevent second)
{
	return sim_cuEventElapsedTime_v2(ms, first, second);
}
