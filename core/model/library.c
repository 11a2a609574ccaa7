#include "core/model/library.h"

#include <string.h>

/* ---- Facts ---- */

/* The index is a ncclDataType_t. */
static const struct {
	const char *name;
	uint8_t bytes;
} nccl_types[] = {
	{ "i8", 1 },  { "u8", 1 },  { "i32", 4 }, { "u32", 4 },	 { "i64", 8 },	  { "u64", 8 },
	{ "f16", 2 }, { "f32", 4 }, { "f64", 8 }, { "bf16", 2 }, { "f8e4m3", 1 }, { "f8e5m2", 1 },
};

/* The index is an enum library_type. */
static const char *const gemm_types[] = {
	[LIBRARY_F32] = "f32",	 [LIBRARY_F64] = "f64",	       [LIBRARY_F16] = "f16",
	[LIBRARY_I8] = "i8",	 [LIBRARY_C32] = "c64",	       [LIBRARY_C64] = "c128",
	[LIBRARY_BF16] = "bf16", [LIBRARY_F8_E4M3] = "f8e4m3", [LIBRARY_F8_E5M2] = "f8e5m2",
};

#define N(array) (sizeof(array) / sizeof(*(array)))

const char *library_type_name(uint8_t facts, uint8_t type)
{
	const char *name = NULL;
	if (facts == FACTS_GEMM && type < N(gemm_types))
		name = gemm_types[type];
	if ((facts == FACTS_COLLECTIVE || facts == FACTS_MESSAGE) && type < N(nccl_types))
		name = nccl_types[type].name;
	return name ? name : "";
}

const char *library_family_name(uint8_t family)
{
	static const char *const names[] = {
#define X(id, name) name,
		RECORD_LIBRARIES(X)
#undef X
	};
	return family < LIBRARIES ? names[family] : "library";
}

double library_flops(const struct model_library *l)
{
	bool is_complex = l->type == LIBRARY_C32 || l->type == LIBRARY_C64;
	if (l->facts != FACTS_GEMM || l->status)
		return 0;
	return (is_complex ? 8.0 : 2.0) * (double)l->m * (double)l->n * (double)l->k *
	       (double)l->batch;
}

/* Source: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md */
static const struct {
	const char *name;
	bool counts_one_part; /* the call's `count` is one rank's part, 1/n of the total */
	/* with n ranks, the bytes that cross a link are the call's bytes * `links` * (n - 1) / n;
	 * 0: they are the call's bytes */
	uint8_t links;
} collectives[] = {
	{ "ncclAllReduce", false, 2 }, { "ncclBroadcast", false, 0 },
	{ "ncclBcast", false, 0 },     { "ncclReduce", false, 0 },
	{ "ncclAllGather", true, 1 },  { "ncclReduceScatter", true, 1 },
	{ "ncclAlltoAll", true, 1 },   { "ncclGather", true, 1 },
	{ "ncclScatter", true, 1 },    { "ncclSend", false, 0 },
	{ "ncclRecv", false, 0 },
};

/* Returns the row of the call's function, N(collectives) if there is no such row. */
static size_t collective_of(const struct model_library *l, const struct tables *d)
{
	const char *name = strtab_text(&d->names, l->name);
	size_t i = 0;
	while (i < N(collectives) && strcmp(collectives[i].name, name) != 0)
		i++;
	return i;
}

double library_bytes(const struct model_library *l, const struct tables *d)
{
	if (l->facts != FACTS_COLLECTIVE && l->facts != FACTS_MESSAGE)
		return 0;
	size_t i = collective_of(l, d);
	double parts =
		i < N(collectives) && collectives[i].counts_one_part && l->n_ranks ? l->n_ranks : 1;
	return l->type < N(nccl_types) ? parts * (double)l->count * nccl_types[l->type].bytes : 0;
}

double library_bus_factor(const struct model_library *l, const struct tables *d)
{
	size_t i = collective_of(l, d);
	if (i == N(collectives) || !l->n_ranks)
		return 0;
	double n = l->n_ranks;
	return collectives[i].links ? collectives[i].links * (n - 1) / n : 1;
}

/* ---- Launched GPU work ---- */

static bool is_nccl_work(const struct model_library *l)
{
	return l->facts == FACTS_COLLECTIVE || l->facts == FACTS_MESSAGE;
}

/* Adds the work at `index` to the GPU times of the library call. */
static void add_work(struct model_library *l, const struct model_step *m, uint32_t index)
{
	const struct model_work *w = &m->works.at[index];
	const struct model_work *longest = l->work == MODEL_NO_WORK ? NULL : &m->works.at[l->work];
	uint64_t ns = w->end_ns - w->begin_ns;
	if (w->kind == WORK_SYNC || w->flags & GPU_INCOMPLETE)
		return;
	/* prefer a kernel to the memset before it, even if the memset took longer */
	bool is_kernel = w->kind == WORK_KERNEL;
	if (!longest || (is_kernel && longest->kind != WORK_KERNEL) ||
	    (is_kernel == (longest->kind == WORK_KERNEL) &&
	     ns > longest->end_ns - longest->begin_ns))
		l->work = index;
	if (!l->gpu_end_ns || w->begin_ns < l->gpu_begin_ns)
		l->gpu_begin_ns = w->begin_ns;
	if (w->end_ns > l->gpu_end_ns)
		l->gpu_end_ns = w->end_ns;
	l->gpu_ns += ns;
}

/* Links the library call to the CUDA calls that its thread made between its start and end. */
static void link_own(struct model_library *l, const struct model_step *m)
{
	const struct model_thread *t = &m->threads.at[l->thread];
	l->first_call = (uint32_t)(t->first + model_first_call(m, t, l->begin_ns));
	for (uint32_t i = l->first_call; i < t->first + t->n && m->calls.at[i].end_ns <= l->end_ns;
	     i++) {
		const struct model_call *c = &m->calls.at[i];
		l->n_calls++;
		for (uint32_t k = 0; k < c->n_work; k++)
			add_work(l, m, m->links.at[c->first_link + k]);
	}
}

/*
 * Links the members of a group to the CUDA calls and the work of the call at `end`, which ended the
 * group and launched for all members. The members are the NCCL calls from `first` to `end` - 1 that
 * launched nothing themselves.
 */
static void link_group(struct model_step *m, size_t first, size_t end)
{
	const struct model_library *group = &m->libraries.at[end];
	double all = 0;
	size_t n = 0;
	for (size_t i = first; i < end; i++) {
		const struct model_library *l = &m->libraries.at[i];
		if (is_nccl_work(l) && !l->gpu_end_ns && !l->is_grouped) {
			all += library_bytes(l, m->tables);
			n++;
		}
	}
	for (size_t i = first; i < end; i++) {
		struct model_library *l = &m->libraries.at[i];
		if (!is_nccl_work(l) || l->gpu_end_ns || l->is_grouped)
			continue;
		double share = all > 0 ? library_bytes(l, m->tables) / all : 1.0 / (double)n;
		l->is_grouped = true;
		l->first_call = group->first_call;
		l->n_calls = group->n_calls;
		l->work = group->work;
		l->gpu_begin_ns = group->gpu_begin_ns;
		l->gpu_end_ns = group->gpu_end_ns;
		l->gpu_ns = (uint64_t)((double)group->gpu_ns * share);
	}
}

void library_link(struct model_step *m)
{
	/* index of the first library call that may belong to the next group: calls of the same
	 * thread after the last group that launched work */
	size_t first = 0;
	for (size_t i = 0; i < m->libraries.n; i++) {
		struct model_library *l = &m->libraries.at[i];
		link_own(l, m);
		if (l->thread != m->libraries.at[first].thread)
			first = i;
		if (l->facts == FACTS_GROUP_END && l->gpu_end_ns) {
			link_group(m, first, i);
			first = i;
		}
	}
}
