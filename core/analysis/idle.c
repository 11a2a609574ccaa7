/* The union of a device's work within the recorded steps, its gaps, and the books that must balance. */
#include "core/analysis/idle.h"

#include "core/analysis/summary.h"
#include "core/util/order.h"

/* ---- Gaps ---- */

enum { BEHIND_NS = 1000000 }; /* work that lay in the queue for so long waited for other work */

struct walk {
	struct idle *idle;
	struct idle_host *host;
	const struct timeline *t;
	const struct order_key *keys; /* the device's works by begin; beyond the works: `earlier` */
	size_t n, i;
	uint64_t until_ns; /* the end of all that has begun */
	uint32_t last;	   /* the work that ends then */
	struct idle_device device;
};

static uint32_t known_work(const struct walk *w, uint32_t index)
{
	return index < w->t->works.n ? index : IDLE_NO_WORK;
}

static void take_begun(struct walk *w, uint64_t at_ns)
{
	for (; w->i < w->n && w->keys[w->i].ns <= at_ns; w->i++) {
		uint32_t index = w->keys[w->i].index;
		uint64_t end_ns = index < w->t->works.n
					  ? w->t->works.at[index].end_ns
					  : w->t->earlier.at[index - w->t->works.n].end_ns;
		if (end_ns <= w->until_ns)
			continue;
		w->until_ns = end_ns;
		w->last = known_work(w, index);
	}
}

/* When what the device does next was launched; what is not among the works was before the recorded steps. */
static uint64_t next_launched_ns(const struct walk *w, const struct timeline_step *step)
{
	uint32_t work = known_work(w, w->keys[w->i].index);
	uint32_t call = work == IDLE_NO_WORK ? MODEL_NO_CALL : w->t->works.at[work].call;
	if (call != MODEL_NO_CALL)
		return w->t->calls.at[call].end_ns;
	return work == IDLE_NO_WORK ? step->begin_ns : w->keys[w->i].ns;
}

/* A host far ahead: until the first work of these steps begins the device works off what was launched long before, unseen. */
static void inherit_queue(struct walk *w, const struct timeline_step *step)
{
	take_begun(w, step->begin_ns);
	if (w->until_ns > step->begin_ns || w->i == w->n ||
	    w->keys[w->i].ns < next_launched_ns(w, step) + BEHIND_NS)
		return;
	w->until_ns = w->keys[w->i].ns;
	w->last = IDLE_NO_WORK;
}

static bool is_last(const struct timeline *t, const struct timeline_step *step)
{
	size_t next = (size_t)(step - t->steps.at) + 1;
	return next == t->steps.n || !t->steps.at[next].follows;
}

/* A host far ahead leaves work behind; where the next step was not recorded, it is in no step's busy time. */
static void note_late(struct walk *w, const struct timeline_step *step)
{
	const struct timeline_step *last = step;
	while (!is_last(w->t, last))
		last++;
	for (size_t i = step->first_work; i < (size_t)step->first_work + step->n_work; i++) {
		const struct timeline_work *work = &w->t->works.at[i];
		uint64_t from_ns = work->begin_ns > last->end_ns ? work->begin_ns : last->end_ns;
		if (work->device == w->device.device && work->end_ns > from_ns)
			w->device.late_ns += work->end_ns - from_ns;
	}
}

static void walk_step(struct walk *w, const struct timeline_step *step)
{
	uint64_t at_ns = step->begin_ns;
	if (!step->follows)
		inherit_queue(w, step);
	vec_push(&w->idle->steps,
		 (struct finding_gpu_step){ .device = w->device.device,
					    .step = (uint32_t)(step - w->t->steps.at) });
	w->device.span_ns += step->end_ns - step->begin_ns;
	note_late(w, step);
	while (at_ns < step->end_ns) {
		take_begun(w, at_ns);
		if (w->until_ns > at_ns) {
			uint64_t end_ns = w->until_ns < step->end_ns ? w->until_ns : step->end_ns;
			w->device.busy_ns += end_ns - at_ns;
			w->device.before_ns += w->last == IDLE_NO_WORK ? end_ns - at_ns : 0;
			w->idle->steps.at[w->idle->steps.n - 1].busy_ns += end_ns - at_ns;
			at_ns = end_ns;
			continue;
		}
		struct idle_gap gap = {
			.begin_ns = at_ns,
			.end_ns = step->end_ns,
			.device = w->device.device,
			.before = w->last,
			.after = w->i < w->n ? known_work(w, w->keys[w->i].index) : IDLE_NO_WORK,
			.step = step,
			.is_last_step = is_last(w->t, step),
		};
		if (w->i < w->n && w->keys[w->i].ns < gap.end_ns)
			gap.end_ns = w->keys[w->i].ns;
		w->idle->at_ns = at_ns;
		idle_host_explain(w->host, &gap);
		w->device.idle_ns += gap.end_ns - at_ns;
		at_ns = gap.end_ns;
	}
}

static void walk_device(struct idle *idle, struct idle_host *host, const struct timeline *t,
			uint32_t device)
{
	struct order_key *keys = mem_resize(NULL, (t->works.n + t->earlier.n) * sizeof(*keys));
	struct walk w = { .idle = idle,
			  .host = host,
			  .t = t,
			  .keys = keys,
			  .last = IDLE_NO_WORK,
			  .device.device = device };
	for (size_t i = 0; i < t->works.n; i++)
		if (t->works.at[i].device == device)
			keys[w.n++] = (struct order_key){ t->works.at[i].begin_ns, (uint32_t)i };
	for (size_t i = 0; i < t->earlier.n; i++)
		if (t->earlier.at[i].device == device)
			keys[w.n++] = (struct order_key){ t->earlier.at[i].begin_ns,
							  (uint32_t)(t->works.n + i) };
	order_sort(keys, w.n);
	idle_host_rewind(host);
	for (size_t i = 0; i < t->steps.n; i++)
		if (t->steps.at[i].has_gpu)
			walk_step(&w, &t->steps.at[i]);
	vec_push(&idle->devices, w.device);
	free(keys);
}

void idle_account(struct idle *idle, const struct timeline *t, const struct waits *waits,
		  bool keeps_spans)
{
	bool has_work[DEVICE_UNKNOWN + 1] = { false };
	*idle = (struct idle){ .keeps_spans = keeps_spans,
			       .of_call = mem_zero(t->calls.n * sizeof(*idle->of_call)) };
	for (size_t i = 0; i < t->works.n; i++)
		has_work[t->works.at[i].device] = true;
	struct idle_host *host = idle_host_new(idle, t, waits);
	for (uint32_t device = 0; device <= DEVICE_UNKNOWN; device++)
		if (has_work[device])
			walk_device(idle, host, t, device);
	idle_host_free(host);
}

void idle_free(struct idle *idle)
{
	vec_free(&idle->devices);
	vec_free(&idle->pieces);
	vec_free(&idle->steps);
	vec_free(&idle->spans);
	map_free(&idle->place);
	free(idle->of_call);
	idle->of_call = NULL;
}

/* ---- The books ---- */

const struct idle_device *idle_find_wrong(const struct idle *idle)
{
	for (size_t i = 0; i < idle->devices.n; i++) {
		const struct idle_device *d = &idle->devices.at[i];
		uint64_t sum_ns = 0;
		for (size_t k = 0; k < idle->pieces.n; k++)
			if (idle->pieces.at[k].device == d->device)
				sum_ns += idle->pieces.at[k].ns;
		if (sum_ns != d->idle_ns || d->busy_ns + d->idle_ns != d->span_ns)
			return d;
	}
	return NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct finding_idle *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* The user's own line before any other, then the one with most. */
static bool is_better(const struct findings *f, const struct idle_piece *p, uint64_t most_ns,
		      bool most_is_user)
{
	bool is_user = frames_site_at(f->timeline->frames, p->site)->is_user;
	return is_user != most_is_user ? is_user : p->ns > most_ns;
}

static void fill_causes(struct findings *f, const struct idle *idle, const struct idle_device *d,
			double steps)
{
	for (int cause = 0; cause < IDLE_CAUSES_N; cause++) {
		struct finding_idle row = { .cause = (uint8_t)cause, .device = d->device };
		uint64_t most_ns = 0;
		bool is_user = false;
		for (size_t i = 0; i < idle->pieces.n; i++) {
			const struct idle_piece *p = &idle->pieces.at[i];
			if (p->device != d->device || p->cause != cause)
				continue;
			row.ns += p->ns;
			if (!p->site || !is_better(f, p, most_ns, is_user))
				continue;
			most_ns = p->ns;
			is_user = frames_site_at(f->timeline->frames, p->site)->is_user;
			row.site = p->site;
		}
		row.ms = (double)row.ns / 1e6 / steps;
		row.pct = d->span_ns ? 100.0 * (double)row.ns / (double)d->span_ns : 0;
		if (row.ns)
			vec_push(&f->idle, row);
	}
}

void idle_fill(struct findings *f, const struct idle *idle)
{
	for (size_t i = 0; i < idle->steps.n; i++)
		vec_push(&f->gpu_steps, idle->steps.at[i]);
	double steps = findings_count_steps(f->timeline).with_gpu;
	for (size_t i = 0; i < idle->devices.n; i++) {
		const struct idle_device *d = &idle->devices.at[i];
		struct finding_gpu gpu = {
			.device = d->device,
			.busy_ns = d->busy_ns,
			.idle_ns = d->idle_ns,
			.span_ns = d->span_ns,
			.busy_ms = (double)d->busy_ns / 1e6 / steps,
			.idle_ms = (double)d->idle_ns / 1e6 / steps,
			.before_ms = (double)d->before_ns / 1e6 / steps,
			.late_ms = (double)d->late_ns / 1e6 / steps,
			.tensor_core_pct = -1,
		};
		if (d->span_ns)
			gpu.busy_pct = 100.0 * (double)d->busy_ns / (double)d->span_ns;
		vec_push(&f->gpus, gpu);
		fill_causes(f, idle, d, steps);
	}
	if (f->idle.n)
		qsort(f->idle.at, f->idle.n, sizeof(*f->idle.at), by_time);
}
