#include "core/analysis/summary_run.h"

#include "core/analysis/step_lengths.h"
#include "core/analysis/step_times.h"
#include "core/analysis/summary.h"
#include "core/analysis/summary_growth.h"
#include "core/symbols/stack_about.h"

/* ---- Memory, by line ---- */

struct bytes {
	struct map place;
	VEC(struct finding_block) at;
};

static void add_bytes(struct bytes *b, uint32_t site, double bytes)
{
	bool is_new;
	uint64_t *at = map_at(&b->place, site, &is_new);
	if (is_new) {
		*at = b->at.n;
		vec_push(&b->at, (struct finding_block){ .site = site });
	}
	b->at.at[*at].bytes += bytes;
}

static int by_bytes(const void *a, const void *b)
{
	const struct finding_block *x = a, *y = b;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static uint32_t site_of(const struct findings *f, const struct memory_place *p)
{
	return p->stack ? frames_site(f->timeline->frames, p->stack) : 0;
}

/* Returns true for segments of a framework's allocator. The lists have the blocks in these segments
 * already. */
static bool is_shown_as_blocks(const struct findings *f, const struct memory_place *p)
{
	return f->allocator.is_recorded && p->stack &&
	       stack_about(f->timeline->frames, p->stack) & ABOUT_ALLOCATOR;
}

static void fill_peak(struct findings *f, const struct memory *m)
{
	struct bytes sums = { 0 };
	for (size_t i = 0; i < m->places.n; i++) {
		const struct memory_place *p = &m->places.at[i];
		int64_t bytes = m->at_peak ? p->device_bytes : p->device_peak_bytes;
		if (bytes > 0 && !is_shown_as_blocks(f, p))
			add_bytes(&sums, site_of(f, p), (double)bytes);
	}
	f->device_peak_bytes = (uint64_t)m->device_peak_bytes;
	for (size_t i = 0; i < sums.at.n; i++)
		vec_push(&f->at_peak, sums.at.at[i]);
	if (f->at_peak.n)
		qsort(f->at_peak.at, f->at_peak.n, sizeof(*f->at_peak.at), by_bytes);
	vec_free(&sums.at);
	map_free(&sums.place);
}

static void fill_leaks(struct findings *f, const struct memory *m)
{
	struct bytes sums = { 0 };
	const struct memory_place *most = NULL;
	double most_bytes = 0;
	for (size_t i = 0; i < m->places.n; i++) {
		const struct memory_place *p = &m->places.at[i];
		double bytes = memory_growth_rate(&p->growth, m->n_steps);
		if (is_shown_as_blocks(f, p))
			continue;
		if (memory_growth_is_leak(&p->growth, m->n_steps))
			add_bytes(&sums, site_of(f, p), bytes);
		if (bytes <= most_bytes)
			continue;
		most = p;
		most_bytes = bytes;
	}
	/* Memory grows, but in many places that each grow slowly. The place that grows most stands
	 * for all of them. */
	if (!sums.at.n && !f->leaks.n && most && memory_growth_is_leak(&m->growth, m->n_steps))
		add_bytes(&sums, site_of(f, most), memory_growth_rate(&m->growth, m->n_steps));
	for (size_t i = 0; i < sums.at.n; i++)
		vec_push(&f->leaks, sums.at.at[i]);
	if (f->leaks.n)
		qsort(f->leaks.at, f->leaks.n, sizeof(*f->leaks.at), by_bytes);
	vec_free(&sums.at);
	map_free(&sums.place);
}

/*
 * Returns the number of allocations in the run that succeeded only after memory was freed. A
 * framework with its own memory limit frees memory before the driver reports an error; the stacks
 * of these frees show that. torch.cuda.empty_cache() frees memory in the same functions, but at the
 * user's request, so its frees do not count.
 */
static double count_retries(const struct findings *f, const struct memory *m)
{
	double n = 0;
	for (size_t i = 0; i < m->places.n; i++) {
		const struct memory_place *p = &m->places.at[i];
		uint32_t about = p->n_made_room ? stack_about(f->timeline->frames, p->stack) : 0;
		if (about & ABOUT_MAKING_ROOM && !(about & ABOUT_EMPTY_CACHE))
			n += (double)p->n_made_room;
	}
	/* Frees outside the recorded steps have no stack. The same share of them is assumed to be
	 * retries. */
	if (m->n_reused_known)
		n *= (double)m->n_reused / (double)m->n_reused_known;
	return n + (double)m->n_retries;
}

static void fill_cost(struct findings *f, const struct cost *c)
{
	if (f->recorded_in_warm_up) {
		findings_unavailable(f, "recording overhead",
				     "all recorded steps are warm-up steps (the run's first %llu "
				     "steps): there are no comparable unrecorded steps",
				     (unsigned long long)f->warm_up.n);
		return;
	}
	f->cost = cost_find(c);
	if (f->cost.is_doubtful)
		findings_unavailable(f, "recording overhead",
				     "the steps of the only recorded window differ by %+.0f %% "
				     "from the steps around it, probably due to other load on "
				     "the machine; "
				     "record several windows (repeat= in PROF_SCHEDULE)",
				     f->cost.pct);
	else if (!f->cost.is_known && c->n_recorded)
		findings_unavailable(f, "recording overhead",
				     "too few steps to compare: %llu recorded, %llu unrecorded "
				     "after warm-up and step detection",
				     (unsigned long long)c->n_recorded,
				     (unsigned long long)c->n_plain);
}

void summary_fill_run(struct findings *f, const struct run *run)
{
	const struct memory *m = &run->memory;
	step_times_fill(f, &run->baseline, &run->recorded_step_ms);
	step_lengths_fill(f, &run->baseline);
	if (run->baseline.n > run->baseline.ms.n)
		findings_unavailable(f, "steps",
				     "percentiles are from a sample of %zu of %llu steps",
				     run->baseline.ms.n, (unsigned long long)run->baseline.n);
	summary_fill_once(f, run);
	fill_cost(f, &run->cost);
	fill_peak(f, m);
	fill_leaks(f, m);
	summary_fill_growth(f, run);
	f->retries = m->n_steps ? count_retries(f, m) / (double)m->n_steps : 0;
}
