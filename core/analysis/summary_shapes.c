/* Sums the arithmetic of operators by the shapes of their inputs, and compares it with the device's
 * peaks (the roofline). */
#include "core/analysis/peak.h"
#include "core/analysis/summary.h"
#include "core/model/library.h"
#include "core/util/kernel_name.h"

struct shape_sum {
	uint32_t name, shape;
	uint8_t type;
	uint64_t n;
	double gpu_ns, flops, flops_most, bytes;
	double arithmetic_ns, memory_ns; /* at the device's peaks */
	bool is_peak_known;		 /* for all of them */
};

struct shape_sums {
	struct map place;
	VEC(struct shape_sum) at;
};

static struct shape_sum *sum_of(struct shape_sums *s, const struct timeline_library *l)
{
	bool is_new;
	/* a type has 6 bits, see enum library_type; names and shapes of a trace have fewer than
	 * 29 */
	uint64_t key = (uint64_t)l->name << 35 | (uint64_t)l->shape << 6 | l->type;
	uint64_t *at = map_at(&s->place, key, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, (struct shape_sum){ .name = l->name,
						     .shape = l->shape,
						     .type = l->type,
						     .is_peak_known = true });
	}
	return &s->at.at[*at];
}

static void add(struct shape_sums *s, const struct timeline *t, const struct timeline_library *l)
{
	const struct run_device *d = tables_device(t->tables, l->device);
	bool by_tensor_cores = kernel_uses_tensor_cores(strtab_text(&t->tables->names, l->kernel));
	double tflops = peak_tflops(d, l->type, by_tensor_cores), gbps = peak_memory_gbps(d);
	struct shape_sum *sum = sum_of(s, l);
	sum->n++;
	sum->gpu_ns += (double)l->gpu_ns;
	sum->flops += l->flops;
	sum->flops_most += l->flops_most;
	sum->bytes += l->moved_bytes;
	sum->is_peak_known = sum->is_peak_known && tflops > 0 && gbps > 0;
	sum->arithmetic_ns += tflops > 0 ? l->flops / tflops / 1e3 : 0;
	sum->memory_ns += gbps > 0 ? l->moved_bytes / gbps : 0;
}

static int by_gpu_time(const void *a, const void *b)
{
	const struct finding_shape *x = a, *y = b;
	if (x->gpu_ms != y->gpu_ms)
		return x->gpu_ms > y->gpu_ms ? -1 : 1;
	return (x->flops < y->flops) - (x->flops > y->flops);
}

void summary_fill_shapes(struct findings *f)
{
	const struct timeline *t = f->timeline;
	double steps = findings_count_steps(t).with_gpu;
	struct shape_sums sums = { 0 };
	for (size_t i = 0; i < t->libraries.n; i++)
		if (t->libraries.at[i].shape && t->libraries.at[i].gpu_ns)
			add(&sums, t, &t->libraries.at[i]);
	for (size_t i = 0; i < sums.at.n; i++) {
		const struct shape_sum *s = &sums.at.at[i];
		bool is_memory_bound = s->memory_ns > s->arithmetic_ns;
		double least_ns = is_memory_bound ? s->memory_ns : s->arithmetic_ns;
		vec_push(&f->shapes,
			 ((struct finding_shape){
				 .name = strtab_text(&t->tables->names, s->name),
				 .shape = strtab_text(&t->tables->names, s->shape),
				 .type = library_type_name(FACTS_OPERATOR, s->type),
				 .per_step = (double)s->n / steps,
				 .gpu_ms = s->gpu_ns / 1e6 / steps,
				 .flops = s->flops / steps,
				 .flops_most = s->flops_most / steps,
				 .bytes = s->bytes / steps,
				 .roofline_pct = s->is_peak_known ? 100 * least_ns / s->gpu_ns : 0,
				 .is_memory_bound = s->is_peak_known && is_memory_bound,
			 }));
	}
	if (f->shapes.n)
		qsort(f->shapes.at, f->shapes.n, sizeof(*f->shapes.at), by_gpu_time);
	vec_free(&sums.at);
	map_free(&sums.place);
}
