/* Makes the slices of library calls: their arguments, and the rates that follow from their GPU
 * time. The launches of a library call are slices within it. */
#include "core/model/library.h"
#include "export/trace_walk_parts.h"

/* A damaged journal may claim more than fits. */
static uint64_t whole(double x)
{
	return x < 0x1p64 ? (uint64_t)x : UINT64_MAX;
}

static void gemm_args(struct walk *w, const struct model_library *l)
{
	double flops = library_flops(l);
	walk_uint(w, TRACE_ARG_M, l->m);
	walk_uint(w, TRACE_ARG_N, l->n);
	walk_uint(w, TRACE_ARG_K, l->k);
	walk_uint(w, TRACE_ARG_BATCH, l->batch);
	walk_uint(w, TRACE_ARG_FLOPS, whole(flops));
	if (l->gpu_ns && flops > 0)
		walk_double(w, TRACE_ARG_TFLOPS, flops / (double)l->gpu_ns / 1e3);
}

static void nccl_rates(struct walk *w, const struct model_library *l, double bytes)
{
	double factor = library_bus_factor(l, w->m->tables);
	walk_double(w, TRACE_ARG_GB_PER_S, bytes / (double)l->gpu_ns);
	if (factor > 0)
		walk_double(w, TRACE_ARG_BUS_GB_PER_S, bytes * factor / (double)l->gpu_ns);
}

static void nccl_args(struct walk *w, const struct model_library *l)
{
	double bytes = library_bytes(l, w->m->tables);
	walk_uint(w, TRACE_ARG_COUNT, l->count);
	walk_uint(w, TRACE_ARG_BYTES, whole(bytes));
	if (l->gpu_ns)
		nccl_rates(w, l, bytes);
	if (l->comm)
		walk_pointer(w, TRACE_ARG_COMM, l->comm);
	if (l->n_ranks && l->rank != MODEL_NO_RANK)
		walk_uint(w, TRACE_ARG_RANK, l->rank);
	if (l->n_ranks)
		walk_uint(w, TRACE_ARG_RANKS, l->n_ranks);
	if (l->peer >= 0)
		walk_uint(w, l->facts == FACTS_MESSAGE ? TRACE_ARG_PEER_RANK : TRACE_ARG_ROOT,
			  (uint64_t)l->peer);
	if (l->sequence)
		walk_uint(w, TRACE_ARG_SEQUENCE, l->sequence);
}

void walk_library(struct walk *w, const struct model_library *l)
{
	const char *type = library_type_name(l->facts, l->type);
	walk_slice(w, TRACE_CATEGORY_LIBRARY, trace_word_of_name(l->name), l->begin_ns, l->end_ns);
	w->slice.item = (uint32_t)(l - w->m->libraries.at);
	walk_text(w, TRACE_ARG_API, library_family_name(l->family));
	if (*type)
		walk_text(w, TRACE_ARG_TYPE, type);
	if (l->facts == FACTS_GEMM && l->m)
		gemm_args(w, l);
	else if (l->facts == FACTS_COLLECTIVE || l->facts == FACTS_MESSAGE)
		nccl_args(w, l);
	if (l->gpu_ns)
		walk_double(w, TRACE_ARG_GPU_US, (double)l->gpu_ns / 1e3);
	if (l->status)
		walk_uint(w, TRACE_ARG_STATUS, l->status);
	if (l->begins_before)
		walk_uint(w, TRACE_ARG_BEGINS_BEFORE, 1);
}
