/* See kineto_parts.h: the GPU's work, and which annotations it belongs to. */
#include "export/kineto_parts.h"

#include "core/model/occupancy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	GPUS_ORDER = 5000000, /* order of the GPUs among the viewer's processes, as Kineto's */
	LANE_TIDS = 100000,   /* distance of the tracks of a stream whose work overlaps */
};

/* ---- Tracks ---- */

/* Names the GPU and the track of a stream. Returns the track's tid. */
static uint32_t stream_track(struct kineto_file *k, const struct model_work *w)
{
	const struct run_device *d = tables_device(k->m->tables, w->device);
	bool is_wait = w->kind == WORK_SYNC, has_stream = w->stream < 0x7fffffff;
	uint32_t tid = (is_wait ? KINETO_WAITS_TID : 0) + (has_stream ? w->stream : 1) +
		       w->lane * LANE_TIDS;
	char name[80], label[16];
	snprintf(label, sizeof(label), "GPU %u", w->device);
	kineto_name_process(k, w->device, d ? d->name : label, label, GPUS_ORDER + w->device);
	if (!has_stream)
		snprintf(name, sizeof(name), "Device %u (sync)", w->device);
	else if (w->lane)
		snprintf(name, sizeof(name), "stream %u (overlap %u)%s", w->stream, w->lane + 1,
			 is_wait ? " (sync)" : "");
	else
		snprintf(name, sizeof(name), "stream %u %s", w->stream, is_wait ? "(sync)" : "");
	kineto_name_track(k, w->device, tid, name, tid);
	return tid;
}

/* ---- Kernels, copies, memsets ---- */

static void write_occupancy(struct kineto_file *k, const struct model_work *w, uint32_t threads)
{
	struct occupancy o = occupancy_of(k->m->tables, w);
	if (!isfinite(o.blocks_per_sm) || !threads)
		return;
	kineto_arg_double(k, "blocks per SM", o.blocks_per_sm);
	kineto_arg_double(k, "warps per SM", o.blocks_per_sm * threads / OCCUPANCY_WARP);
	if (isfinite(o.pct))
		kineto_arg_int(k, "est. achieved occupancy %", (int64_t)(o.pct + 0.5));
}

static void kernel_args(struct kineto_file *k, const struct model_work *w)
{
	kineto_arg_three(k, "grid", w->grid);
	if (!w->kernel)
		return;
	const struct run_kernel *kernel = &k->m->tables->kernels.at[w->kernel - 1];
	kineto_arg_three(k, "block", kernel->block);
	kineto_arg_int(k, "registers per thread", kernel->registers);
	kineto_arg_int(k, "shared memory",
		       (int64_t)kernel->static_shared_bytes + kernel->dynamic_shared_bytes);
	write_occupancy(k, w, kernel->block[0] * kernel->block[1] * kernel->block[2]);
}

static void bytes_args(struct kineto_file *k, const struct model_work *w)
{
	uint64_t ns = w->end_ns > w->begin_ns ? w->end_ns - w->begin_ns : 0;
	kineto_arg_int(k, "bytes", (int64_t)w->bytes);
	if (ns)
		kineto_arg_double(k, "memory bandwidth (GB/s)", (double)w->bytes / (double)ns);
}

/* ---- Waits ---- */

/* Returns the call that recorded the event before the wait's call; MODEL_NO_CALL: none is known. */
static uint32_t recorded_by(const struct kineto_file *k, uint32_t wait)
{
	const struct model_call *c = &k->m->calls.at[wait];
	const struct kineto_record *at = k->records.at;
	size_t n = bisect(k->records.n, i,
			  at[i].event < c->handle ||
				  (at[i].event == c->handle && at[i].ns < c->begin_ns));
	return n && c->handle && at[n - 1].event == c->handle ? at[n - 1].call : MODEL_NO_CALL;
}

/*
 * HTA counts a wait with a stream as GPU work. So `stream` is -1, and `sync_stream` names the
 * stream that the call waited for.
 */
static void sync_args(struct kineto_file *k, const struct model_work *w, enum sync_type type)
{
	kineto_arg_text(k, "cuda_sync_kind", sync_words[type].kineto);
	kineto_arg_int(k, "stream", -1);
	if (w->stream < 0x7fffffff)
		kineto_arg_int(k, "sync_stream", w->stream);
	if (type != WAIT_TYPE_EVENT && type != WAIT_TYPE_STREAM_WAIT)
		return;
	uint32_t record = w->call < k->m->calls.n ? recorded_by(k, w->call) : MODEL_NO_CALL;
	if (record != MODEL_NO_CALL)
		kineto_arg_int(k, "wait_on_cuda_event_record_corr_id",
			       kineto_correlation(k, record));
	if (w->value)
		kineto_arg_int(k, "wait_on_cuda_event_id", w->value);
}

/* ---- Work ---- */

static const char *category_of(const struct model_work *w)
{
	static const char *const names[WORK_KINDS] = { [WORK_KERNEL] = "kernel",
						       [WORK_MEMCPY] = "gpu_memcpy",
						       [WORK_MEMSET] = "gpu_memset",
						       [WORK_SYNC] = "cuda_sync" };
	return names[w->kind];
}

static void write_args(struct kineto_file *k, const struct model_work *w, const char *name)
{
	if (w->kind == WORK_SYNC) {
		sync_args(k, w, sync_type_of_work(name));
		return;
	}
	kineto_arg_int(k, "stream", w->stream);
	if (w->kind == WORK_KERNEL)
		kernel_args(k, w);
	else
		bytes_args(k, w);
	if (w->graph)
		kineto_arg_int(k, "graph id", w->graph);
	if (w->node)
		kineto_arg_int(k, "graph node id", (int64_t)w->node);
}

void kineto_write_wait(struct kineto_file *k, uint32_t call, uint64_t end_ns)
{
	struct model_work w;
	enum sync_type type;
	if (!call_waits_of(&k->waits, k->m, call, &w, &type))
		return;
	uint32_t tid = stream_track(k, &w);
	kineto_begin(k, "cuda_sync", sync_words[type].kineto, w.device, tid, w.begin_ns, end_ns);
	kineto_arg_int(k, "device", w.device);
	kineto_arg_int(k, "correlation", kineto_correlation(k, call));
	sync_args(k, &w, type);
	kineto_end(k);
}

void kineto_gpu_slice(struct kineto_file *k, const struct trace_slice *s)
{
	const struct model_work *w = &k->m->works.at[s->item];
	const char *ours = strtab_text(&k->m->tables->names, w->name),
		   *name = w->kind == WORK_SYNC ? sync_words[sync_type_of_work(ours)].kineto : ours;
	bool has_call = w->call < k->m->calls.n;
	uint32_t tid = stream_track(k, w), external = has_call ? k->external_of_call[w->call] : 0,
		 correlation = kineto_correlation(k, has_call ? w->call
							      : (uint32_t)k->m->calls.n + s->item);
	kineto_begin(k, category_of(w), name, w->device, tid, s->begin_ns, s->end_ns);
	if (external)
		kineto_arg_int(k, "External id", external);
	kineto_arg_int(k, "device", w->device);
	kineto_arg_int(k, "context", w->context);
	kineto_arg_int(k, "correlation", correlation);
	write_args(k, w, name);
	if (w->kind == WORK_KERNEL && k->comm_of_work[s->item])
		kineto_comm_args(k, &k->m->libraries.at[k->comm_of_work[s->item] - 1]);
	kineto_end(k);
	if (has_call)
		kineto_arrow(k, 'f', correlation, w->device, tid, s->begin_ns);
}

/* ---- Annotations ---- */

static int by_annotation_and_stream(const void *a, const void *b, void *context)
{
	const struct kineto_covered *x = a, *y = b;
	const struct model_step *m = context;
	const struct model_work *v = &m->works.at[x->work], *w = &m->works.at[y->work];
	if (x->annotation != y->annotation)
		return x->annotation < y->annotation ? -1 : 1;
	if (v->device != w->device)
		return v->device < w->device ? -1 : 1;
	return v->stream < w->stream ? -1 : v->stream > w->stream;
}

/* Writes an annotation on a stream's track, from the begin of the first of its works to the end of
 * the last. */
static void write_annotation(struct kineto_file *k, const struct kineto_covered *at, size_t n)
{
	const struct kineto_annotation *a = &k->annotations.at[at->annotation];
	const struct model_work *first = &k->m->works.at[at->work];
	uint64_t begin_ns = UINT64_MAX, end_ns = 0;
	for (size_t i = 0; i < n; i++) {
		const struct model_work *w = &k->m->works.at[at[i].work];
		begin_ns = w->begin_ns < begin_ns ? w->begin_ns : begin_ns;
		end_ns = w->end_ns > end_ns ? w->end_ns : end_ns;
	}
	kineto_begin(k, "gpu_user_annotation", a->name, first->device, first->stream, begin_ns,
		     end_ns);
	kineto_arg_int(k, "External id", a->external);
	kineto_end(k);
}

static bool is_same_track(const struct kineto_file *k, const struct kineto_covered *a,
			  const struct kineto_covered *b)
{
	return !by_annotation_and_stream(a, b, (void *)(uintptr_t)k->m);
}

void kineto_write_covered(struct kineto_file *k)
{
	size_t n = 0, end;
	for (size_t i = 0; i < k->covered.n; i++)
		if (k->m->works.at[k->covered.at[i].work].kind != WORK_SYNC)
			k->covered.at[n++] = k->covered.at[i];
	if (n)
		qsort_r(k->covered.at, n, sizeof(*k->covered.at), by_annotation_and_stream,
			(void *)(uintptr_t)k->m);
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1;
		     end < n && is_same_track(k, &k->covered.at[i], &k->covered.at[end]);)
			end++;
		write_annotation(k, &k->covered.at[i], end - i);
	}
}
