/* Sums the GPU work: kernels by name, copies by kind and line. */
#include "core/analysis/summary.h"
#include "core/util/kernel_name.h"

static uint64_t length_ns(const struct timeline_work *w)
{
	return w->end_ns - w->begin_ns;
}

/* ---- Kernels ---- */

struct kernel_sum {
	uint32_t name;
	uint64_t n, ns, graph_ns;
	double occupancy, occupancy_ns; /* sum weighted by time; the time for which it is known */
};

struct kernel_sums {
	struct map place;
	VEC(struct kernel_sum) at;
};

static struct kernel_sum *kernel_of(struct kernel_sums *s, uint32_t name)
{
	bool is_new;
	uint64_t *at = map_at(&s->place, name, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, (struct kernel_sum){ .name = name });
	}
	return &s->at.at[*at];
}

static int by_gpu_time(const void *a, const void *b)
{
	const struct finding_kernel *x = a, *y = b;
	if (x->gpu_ms != y->gpu_ms)
		return x->gpu_ms > y->gpu_ms ? -1 : 1;
	return strcmp(x->name, y->name); /* so that the order is the same in every run */
}

/* Values of `known` in uses_tensor_cores(), which caches the result by name, because a kernel runs
 * thousands of times. 0: not looked up yet. */
enum { TENSOR_NO = 1, TENSOR_YES };

static bool uses_tensor_cores(const struct timeline *t, uint8_t *known, uint32_t name)
{
	if (name >= t->tables->names.texts.n)
		return false;
	if (!known[name])
		known[name] = kernel_uses_tensor_cores(strtab_text(&t->tables->names, name))
				      ? TENSOR_YES
				      : TENSOR_NO;
	return known[name] == TENSOR_YES;
}

static void fill_devices(struct findings *f, double steps)
{
	const struct timeline *t = f->timeline;
	uint8_t *known = mem_zero(t->tables->names.texts.n);
	for (size_t i = 0; i < f->gpus.n; i++) {
		struct finding_gpu *gpu = &f->gpus.at[i];
		uint64_t n = 0, ns = 0, tensor_ns = 0;
		for (size_t k = 0; k < t->works.n; k++) {
			const struct timeline_work *w = &t->works.at[k];
			if (w->kind != WORK_KERNEL || w->device != gpu->device)
				continue;
			n++;
			ns += length_ns(w);
			if (uses_tensor_cores(t, known, w->name))
				tensor_ns += length_ns(w);
		}
		gpu->kernels = (double)n / steps;
		gpu->tensor_core_pct = ns ? 100.0 * (double)tensor_ns / (double)ns : -1;
	}
	free(known);
}

void summary_fill_kernels(struct findings *f)
{
	const struct timeline *t = f->timeline;
	double steps = findings_count_steps(t).with_gpu;
	struct kernel_sums sums = { 0 };
	uint64_t all_ns = 0;
	for (size_t i = 0; i < t->works.n; i++) {
		const struct timeline_work *w = &t->works.at[i];
		if (w->kind != WORK_KERNEL)
			continue;
		struct kernel_sum *sum = kernel_of(&sums, w->name);
		sum->n++;
		sum->ns += length_ns(w);
		sum->graph_ns += w->graph ? length_ns(w) : 0;
		if (w->occupancy) {
			sum->occupancy += (w->occupancy - 1) / 100.0 * (double)length_ns(w);
			sum->occupancy_ns += (double)length_ns(w);
		}
		all_ns += length_ns(w);
	}
	for (size_t i = 0; i < sums.at.n; i++) {
		const char *name = strtab_text(&t->tables->names, sums.at.at[i].name);
		double ns = (double)sums.at.at[i].ns;
		vec_push(&f->kernels,
			 (struct finding_kernel){
				 .name = name,
				 .per_step = (double)sums.at.at[i].n / steps,
				 .gpu_ms = ns / 1e6 / steps,
				 .graph_gpu_ms = (double)sums.at.at[i].graph_ns / 1e6 / steps,
				 .pct = all_ns ? 100.0 * ns / (double)all_ns : 0,
				 .occupancy_pct =
					 sums.at.at[i].occupancy / sums.at.at[i].occupancy_ns,
				 .tensor_core = kernel_uses_tensor_cores(name),
			 });
	}
	if (f->kernels.n)
		qsort(f->kernels.at, f->kernels.n, sizeof(*f->kernels.at), by_gpu_time);
	fill_devices(f, steps);
	vec_free(&sums.at);
	map_free(&sums.place);
}

/* ---- Copies ---- */

struct copy_sum {
	uint32_t name, site;
	uint64_t n, bytes, blocking_bytes, ns;
};

struct copy_sums {
	struct map place;
	VEC(struct copy_sum) at;
};

static struct copy_sum *copy_of(struct copy_sums *s, const struct timeline *t,
				const struct timeline_work *w)
{
	struct copy_sum fresh = { .name = w->name };
	bool is_new;
	const struct timeline_call *code = timeline_code(t, w);
	if (code)
		fresh.site = code->site;
	uint64_t *at = map_at(&s->place, (uint64_t)fresh.site << 32 | w->name, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, fresh);
	}
	return &s->at.at[*at];
}

static int by_bytes(const void *a, const void *b)
{
	const struct finding_copy *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	int by_kind = strcmp(x->kind, y->kind);
	return by_kind ? by_kind : strcmp(x->memory, y->memory);
}

/* Splits a name such as "Memcpy HtoD (Pageable -> Device)" into kind ("HtoD") and memory ("Pageable
 * -> Device"). */
static void split_name(struct timeline *t, uint32_t name, struct finding_copy *copy)
{
	char kind[32] = "", memory[64] = "";
	const char *text = strtab_text(&t->tables->names, name);
	if (sscanf(text, "Memcpy %31[^ (] (%63[^)]", kind, memory) < 1)
		snprintf(kind, sizeof(kind), "%.31s", text);
	copy->kind = strtab_text(&t->texts, strtab_intern(&t->texts, kind));
	copy->memory = strtab_text(&t->texts, strtab_intern(&t->texts, memory));
}

void summary_fill_copies(struct findings *f)
{
	struct timeline *t = f->timeline;
	double steps = findings_count_steps(t).with_gpu;
	struct copy_sums sums = { 0 };
	for (size_t i = 0; i < t->works.n; i++) {
		const struct timeline_work *w = &t->works.at[i];
		if (w->kind != WORK_MEMCPY)
			continue;
		struct copy_sum *sum = copy_of(&sums, t, w);
		sum->n++;
		sum->bytes += w->bytes;
		if (w->call != MODEL_NO_CALL && waits_holds_line(&t->waits, t, w->call))
			sum->blocking_bytes += w->bytes;
		sum->ns += length_ns(w);
	}
	for (size_t i = 0; i < sums.at.n; i++) {
		const struct copy_sum *s = &sums.at.at[i];
		struct finding_copy copy = {
			.site = s->site,
			.per_step = (double)s->n / steps,
			.bytes = (double)s->bytes / steps,
			.gb_per_s = s->ns ? (double)s->bytes / (double)s->ns : 0,
			/* Decided by bytes, so that small tensors copied next to a batch do not
			 * count. */
			.blocking = 2 * s->blocking_bytes > s->bytes,
		};
		split_name(t, s->name, &copy);
		vec_push(&f->copies, copy);
	}
	if (f->copies.n)
		qsort(f->copies.at, f->copies.n, sizeof(*f->copies.at), by_bytes);
	vec_free(&sums.at);
	map_free(&sums.place);
}
