/* Calls of libraries: what they were asked for, and what their GPU work makes of it. The launches lie within them. */
#include "core/model/library.h"
#include "export/perfetto_trace.h"

static void write_gemm(struct pb *b, const struct model_library *l)
{
	double flops = library_flops(l);
	perfetto_arg_uint(b, PERFETTO_ARG_M, l->m);
	perfetto_arg_uint(b, PERFETTO_ARG_N, l->n);
	perfetto_arg_uint(b, PERFETTO_ARG_K, l->k);
	perfetto_arg_uint(b, PERFETTO_ARG_BATCH, l->batch);
	perfetto_arg_uint(b, PERFETTO_ARG_FLOPS, (uint64_t)flops);
	if (l->gpu_ns && flops > 0)
		perfetto_arg_double(b, PERFETTO_ARG_TFLOPS, flops / (double)l->gpu_ns / 1e3);
}

static void write_nccl(struct pb *b, const struct model_library *l, const struct tables *d)
{
	double bytes = library_bytes(l, d), factor = library_bus_factor(l, d);
	perfetto_arg_uint(b, PERFETTO_ARG_COUNT, l->count);
	perfetto_arg_uint(b, PERFETTO_ARG_BYTES, (uint64_t)bytes);
	if (l->gpu_ns) {
		perfetto_arg_double(b, PERFETTO_ARG_GB_PER_S, bytes / (double)l->gpu_ns);
		if (factor > 0)
			perfetto_arg_double(b, PERFETTO_ARG_BUS_GB_PER_S,
					    bytes * factor / (double)l->gpu_ns);
	}
	if (l->comm)
		perfetto_arg_pointer(b, PERFETTO_ARG_COMM, l->comm);
	if (l->n_ranks) {
		perfetto_arg_uint(b, PERFETTO_ARG_RANK, l->rank);
		perfetto_arg_uint(b, PERFETTO_ARG_RANKS, l->n_ranks);
	}
	if (l->peer >= 0)
		perfetto_arg_uint(
			b, l->facts == FACTS_MESSAGE ? PERFETTO_ARG_PEER_RANK : PERFETTO_ARG_ROOT,
			(uint64_t)l->peer);
	if (l->sequence)
		perfetto_arg_uint(b, PERFETTO_ARG_SEQUENCE, l->sequence);
}

void perfetto_write_library(struct trace *t, const struct model_library *l)
{
	struct pb *b = &t->w.out;
	const char *type = library_type_name(l->facts, l->type);
	struct perfetto_place place =
		perfetto_event_begin(&t->w, l->begin_ns, TYPE_BEGIN, perfetto_name(l->name),
				     perfetto_category(PLACE_LIBRARY), PERFETTO_EVENT_EXTRA);
	perfetto_arg_string(b, PERFETTO_ARG_API, library_family_name(l->family));
	if (*type)
		perfetto_arg_string(b, PERFETTO_ARG_TYPE, type);
	if (l->facts == FACTS_GEMM && l->m)
		write_gemm(b, l);
	else if (l->facts == FACTS_COLLECTIVE || l->facts == FACTS_MESSAGE)
		write_nccl(b, l, t->m->tables);
	if (l->gpu_ns)
		perfetto_arg_double(b, PERFETTO_ARG_GPU_US, (double)l->gpu_ns / 1e3);
	if (l->status)
		perfetto_arg_uint(b, PERFETTO_ARG_STATUS, l->status);
	if (l->begins_before)
		perfetto_arg_uint(b, PERFETTO_ARG_BEGINS_BEFORE, 1);
	perfetto_event_end(&t->w, place);
}
