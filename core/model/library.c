#include "core/model/library.h"

#include "core/model/collective.h"

#include <string.h>

/* ---- Facts ---- */

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
	if ((facts == FACTS_GEMM || facts == FACTS_OPERATOR) && type < N(gemm_types))
		name = gemm_types[type];
	if ((facts == FACTS_COLLECTIVE || facts == FACTS_MESSAGE) && collective_type(type))
		name = collective_type(type)->name;
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
	if (l->facts == FACTS_OPERATOR)
		return l->flops;
	if (l->facts != FACTS_GEMM || l->status)
		return 0;
	return (is_complex ? 8.0 : 2.0) * (double)l->m * (double)l->n * (double)l->k *
	       (double)l->batch;
}

static const struct collective *row_of(const struct model_library *l, const struct tables *d)
{
	return collective_of(strtab_text(&d->names, l->name));
}

double library_bytes(const struct model_library *l, const struct tables *d)
{
	if (l->facts != FACTS_COLLECTIVE && l->facts != FACTS_MESSAGE)
		return 0;
	const struct collective *row = row_of(l, d);
	const struct collective_type *type = collective_type(l->type);
	double parts = row && row->counts_one_part && l->n_ranks ? l->n_ranks : 1;
	return type ? parts * (double)l->count * type->bytes : 0;
}

double library_bus_factor(const struct model_library *l, const struct tables *d)
{
	const struct collective *row = row_of(l, d);
	if (!row || !l->n_ranks)
		return 0;
	double n = l->n_ranks;
	return row->links ? row->links * (n - 1) / n : 1;
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

static bool is_nccl_kernel(const struct model_step *m, const struct model_work *w)
{
	return w->kind == WORK_KERNEL &&
	       !strncmp(strtab_text(&m->tables->names, w->name), "nccl", strlen("nccl"));
}

/* PyTorch's collectives of lists of tensors also copy, before or after NCCL's kernel. Returns
 * whether the call launched such a kernel. */
static bool has_nccl_kernel(const struct model_library *l, const struct model_step *m)
{
	for (uint32_t i = l->first_call; i < l->first_call + l->n_calls; i++)
		for (uint32_t k = 0; k < m->calls.at[i].n_work; k++) {
			uint32_t work = m->links.at[m->calls.at[i].first_link + k];
			if (is_nccl_kernel(m, &m->works.at[work]))
				return true;
		}
	return false;
}

/* Links the library call to the CUDA calls that its thread made between its start and end. */
static void link_own(struct model_library *l, const struct model_step *m)
{
	const struct model_thread *t = &m->threads.at[l->thread];
	l->first_call = (uint32_t)(t->first + model_first_call(m, t, l->begin_ns));
	for (uint32_t i = l->first_call; i < t->first + t->n && m->calls.at[i].end_ns <= l->end_ns;
	     i++)
		l->n_calls++;
	bool is_nccl = is_nccl_work(l) && has_nccl_kernel(l, m);
	for (uint32_t i = l->first_call; i < l->first_call + l->n_calls; i++) {
		const struct model_call *c = &m->calls.at[i];
		for (uint32_t k = 0; k < c->n_work; k++) {
			uint32_t work = m->links.at[c->first_link + k];
			if (!is_nccl || is_nccl_kernel(m, &m->works.at[work]))
				add_work(l, m, work);
		}
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
