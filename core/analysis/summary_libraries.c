/* Sums the floating-point operations of lines, operators and kernels, and the collectives of each
 * line. */
#include "core/analysis/peak.h"
#include "core/analysis/summary.h"
#include "core/model/library.h"
#include "core/util/kernel_name.h"

enum { MOST_ARRIVALS = 4096 };

/* ---- Arithmetic ---- */

struct sum {
	double flops;
	double timed_flops, timed_ns; /* calls with GPU times only */
	double peak_ns;		      /* time of these calls at the device's peak rate */
	bool is_peak_known;	      /* the peak rate is known for all of these calls */
};

struct sums {
	struct map place;
	VEC(struct sum) at;
};

static void add(struct sums *s, uint64_t key, const struct timeline_library *l, double peak)
{
	bool is_new;
	uint64_t *at = map_at(&s->place, key, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, (struct sum){ .is_peak_known = true });
	}
	struct sum *sum = &s->at.at[*at];
	sum->flops += l->flops;
	if (!l->gpu_ns)
		return;
	sum->timed_flops += l->flops;
	sum->timed_ns += (double)l->gpu_ns;
	sum->is_peak_known = sum->is_peak_known && peak > 0;
	sum->peak_ns += peak > 0 ? l->flops / peak / 1e3 : 0;
}

static struct finding_arithmetic of(const struct sums *s, uint64_t key, double steps)
{
	const uint64_t *at = map_find(&s->place, key);
	struct finding_arithmetic a = { 0 };
	if (!at || *at >= s->at.n)
		return a;
	const struct sum *sum = &s->at.at[*at];
	a.flops = sum->flops / steps;
	if (sum->timed_ns > 0) {
		a.tflops = sum->timed_flops / sum->timed_ns / 1e3;
		a.peak_pct = sum->is_peak_known ? 100 * sum->peak_ns / sum->timed_ns : 0;
	}
	return a;
}

static void sums_free(struct sums *s)
{
	vec_free(&s->at);
	map_free(&s->place);
}

/* Returns a key for a text of a string table. The table stores each text only once, so the address
 * identifies the text. */
static uint64_t key_of(const char *text)
{
	return (uint64_t)(uintptr_t)text;
}

static double peak_of(const struct timeline *t, const struct timeline_library *l)
{
	const char *kernel = strtab_text(&t->tables->names, l->kernel);
	return peak_tflops(tables_device(t->tables, l->device), l->type,
			   kernel_uses_tensor_cores(kernel));
}

static void say_unknown_device(struct findings *f, const struct timeline_library *l)
{
	const struct run_device *d = tables_device(f->timeline->tables, l->device);
	const char *type = library_type_name(l->facts, l->type);
	if (!d)
		findings_unavailable(f, "% of peak", "the GPU model is not known");
	else if (!peak_has_device(d))
		findings_unavailable(f, "% of peak",
				     "profrun's table of peak TFLOP/s has no entry for %s (compute "
				     "capability %u.%u, %u multiprocessors)",
				     d->name, d->compute_major, d->compute_minor,
				     d->multiprocessors);
	else
		findings_unavailable(f, "% of peak",
				     "profrun's table has no peak TFLOP/s of %s for %s matrix "
				     "products",
				     d->name, *type ? type : "at least one data type of");
}

static void fill_arithmetic(struct findings *f)
{
	const struct timeline *t = f->timeline;
	struct step_counts steps = findings_count_steps(t);
	struct sums lines = { 0 }, operators = { 0 }, kernels = { 0 };
	const struct timeline_library *unknown = NULL;
	for (size_t i = 0; i < t->libraries.n; i++) {
		const struct timeline_library *l = &t->libraries.at[i];
		if (!(l->flops > 0))
			continue;
		double peak = l->gpu_ns ? peak_of(t, l) : 0;
		if (l->gpu_ns && !(peak > 0) && !unknown)
			unknown = l;
		add(&lines, l->site, l, peak);
		add(&operators, key_of(strtab_text(&t->texts, l->op)), l, peak);
		if (l->kernel)
			add(&kernels, key_of(strtab_text(&t->tables->names, l->kernel)), l, peak);
	}
	for (size_t i = 0; i < f->lines.n; i++)
		f->lines.at[i].arithmetic = of(&lines, f->lines.at[i].site, steps.all);
	for (size_t i = 0; i < f->operators.n; i++)
		f->operators.at[i].arithmetic =
			of(&operators, key_of(f->operators.at[i].name), steps.all);
	for (size_t i = 0; i < f->kernels.n; i++)
		f->kernels.at[i].arithmetic =
			of(&kernels, key_of(f->kernels.at[i].name), steps.with_gpu);
	if (unknown)
		say_unknown_device(f, unknown);
	sums_free(&lines);
	sums_free(&operators);
	sums_free(&kernels);
}

/* ---- Collectives ---- */

struct moved {
	uint32_t name, site, n_ranks;
	uint64_t n;
	double bytes, timed_bytes, timed_bus_bytes, timed_ns;
};

struct moves {
	VEC(struct moved) at; /* few entries: one per function, line and number of ranks */
};

static struct moved *move_of(struct moves *m, const struct timeline_library *l)
{
	size_t i = 0;
	while (i < m->at.n && (m->at.at[i].name != l->name || m->at.at[i].site != l->site ||
			       m->at.at[i].n_ranks != l->n_ranks))
		i++;
	if (i == m->at.n)
		vec_push(&m->at,
			 (struct moved){ .name = l->name, .site = l->site, .n_ranks = l->n_ranks });
	return &m->at.at[i];
}

static int by_gpu_time(const void *a, const void *b)
{
	const struct moved *x = a, *y = b;
	if (x->timed_ns != y->timed_ns)
		return x->timed_ns > y->timed_ns ? -1 : 1;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static void sum_moves(struct moves *moves, const struct timeline *t)
{
	for (size_t i = 0; i < t->libraries.n; i++) {
		const struct timeline_library *l = &t->libraries.at[i];
		if (!(l->bytes > 0))
			continue;
		struct moved *m = move_of(moves, l);
		m->n++;
		m->bytes += l->bytes;
		if (!l->gpu_ns)
			continue;
		m->timed_ns += (double)l->gpu_ns;
		m->timed_bytes += l->bytes;
		m->timed_bus_bytes += l->bytes * l->bus_factor;
	}
	if (moves->at.n)
		qsort(moves->at.at, moves->at.n, sizeof(*moves->at.at), by_gpu_time);
}

static void note_arrivals(struct findings *f, struct moves *moves)
{
	const struct timeline *t = f->timeline;
	for (size_t i = 0; i < t->libraries.n && f->arrivals.n < MOST_ARRIVALS; i++) {
		const struct timeline_library *l = &t->libraries.at[i];
		if (!(l->bytes > 0) || !l->comm || !l->sequence || !l->gpu_end_ns)
			continue;
		size_t row = (size_t)(move_of(moves, l) - moves->at.at);
		vec_push(&f->arrivals, (struct finding_arrival){ .row = (uint32_t)row,
								 .sequence = l->sequence,
								 .comm = l->comm,
								 .begin_ns = l->gpu_begin_ns,
								 .end_ns = l->gpu_end_ns,
								 .gpu_ns = l->gpu_ns });
	}
}

static void fill_collectives(struct findings *f)
{
	const struct timeline *t = f->timeline;
	struct step_counts steps = findings_count_steps(t);
	struct moves moves = { 0 };
	f->n_gpu_steps = steps.with_gpu;
	sum_moves(&moves, t);
	for (size_t i = 0; i < moves.at.n; i++) {
		const struct moved *m = &moves.at.at[i];
		double ns = m->timed_ns > 0 ? m->timed_ns : 1;
		vec_push(&f->collectives, (struct finding_collective){
						  .name = strtab_text(&t->tables->names, m->name),
						  .site = m->site,
						  .n_ranks = m->n_ranks,
						  .per_step = (double)m->n / steps.all,
						  .bytes = m->bytes / steps.all,
						  .gpu_ms = m->timed_ns / 1e6 / steps.with_gpu,
						  .gb_per_s = m->timed_bytes / ns,
						  .bus_gb_per_s = m->timed_bus_bytes / ns,
					  });
	}
	note_arrivals(f, &moves);
	vec_free(&moves.at);
}

void summary_fill_libraries(struct findings *f)
{
	fill_arithmetic(f);
	fill_collectives(f);
}
