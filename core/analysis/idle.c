/* Finds the gaps of each device in a step: the times in which none of the device's work runs.
 * idle_cause.c finds the cause of a gap. */
#include "core/analysis/idle.h"

#include "core/util/order.h"

typedef VEC(struct idle_item) idle_items;

struct idle_tracker {
	struct idle_host *host;
	/* Work that was still running, or had not begun, when the last step ended. */
	idle_items pending;
	/* Queues that were assumed in a step and last longer than it (inherit_queue()). */
	idle_items inherited;
	VEC(uint32_t) devices;
	uint64_t number; /* number of the last step */
	bool has_step;
};

struct idle_tracker *idle_tracker_new(void)
{
	struct idle_tracker *k = mem_zero(sizeof(*k));
	k->host = idle_host_new();
	return k;
}

void idle_tracker_free(struct idle_tracker *k)
{
	if (!k)
		return;
	idle_host_free(k->host);
	vec_free(&k->pending);
	vec_free(&k->inherited);
	vec_free(&k->devices);
	free(k);
}

void idle_tracker_forget_step(struct idle_tracker *k)
{
	idle_host_forget_step(k->host);
	for (size_t i = 0; i < k->pending.n; i++)
		k->pending.at[i].work = IDLE_NO_WORK;
}

void idle_step_free(struct idle_step *s)
{
	vec_free(&s->spans);
	vec_free(&s->waits);
	vec_free(&s->devices);
}

/* ---- One device ---- */

struct walk {
	struct idle_tracker *k;
	const struct timeline *t;
	const struct timeline_step *step;
	const struct idle_item *items; /* the device's work, sorted by start */
	size_t n, i;
	uint64_t until_ns;	      /* when all work that has begun will have ended */
	const struct idle_item *last; /* work that ends at until_ns; NULL: none or unrecorded */
	struct idle_device device;
};

static void take_begun(struct walk *w, uint64_t at_ns)
{
	for (; w->i < w->n && w->items[w->i].begin_ns <= at_ns; w->i++) {
		if (w->items[w->i].end_ns <= w->until_ns)
			continue;
		w->until_ns = w->items[w->i].end_ns;
		w->last = &w->items[w->i];
	}
}

/* Returns when the device's next work was launched. Unrecorded work counts as launched when the
 * step began. */
static uint64_t next_launched_ns(const struct walk *w)
{
	const struct idle_item *next = &w->items[w->i];
	if (!next->is_known)
		return w->step->begin_ns;
	uint32_t call = next->work == IDLE_NO_WORK ? MODEL_NO_CALL
						   : w->t->works.at[next->work].call;
	return call == MODEL_NO_CALL ? next->begin_ns : w->t->calls.at[call].end_ns;
}

/*
 * At the start of a window the CPU may be far ahead of the device, which then works off a queue of
 * unrecorded work. If the first recorded work began more than IDLE_QUEUED_NS after its launch, the
 * device is assumed to have been busy until then. This queue may last longer than the step. If
 * there are no steps, this time does not count: nothing of it was recorded. Returns when the
 * device's time begins.
 */
static uint64_t inherit_queue(struct walk *w)
{
	take_begun(w, w->step->begin_ns);
	if (w->until_ns > w->step->begin_ns || w->i == w->n ||
	    w->items[w->i].begin_ns < next_launched_ns(w) + IDLE_QUEUED_NS)
		return w->step->begin_ns;
	if (w->step->is_whole_run)
		return w->items[w->i].begin_ns;
	w->until_ns = w->items[w->i].begin_ns;
	w->last = NULL;
	vec_push(&w->k->inherited, (struct idle_item){ .begin_ns = w->step->begin_ns,
						       .end_ns = w->until_ns,
						       .work = IDLE_NO_WORK,
						       .device = w->device.device });
	return w->step->begin_ns;
}

static void add_busy(struct walk *w, uint64_t ns)
{
	w->device.busy_ns += ns;
	w->device.before_ns += w->last && w->last->is_known ? 0 : ns;
}

/* Explains the gap that begins at `at_ns`. Returns the end of the gap. */
static uint64_t explain_gap(struct walk *w, uint64_t at_ns)
{
	const struct idle_item *next = w->i < w->n ? &w->items[w->i] : NULL;
	struct idle_gap gap = {
		.begin_ns = at_ns,
		.end_ns = w->step->end_ns,
		.device = w->device.device,
		.is_after_collective = w->last && w->last->is_collective,
		.before = w->last,
		.after = next,
		.step = w->step,
	};
	if (next && next->begin_ns < gap.end_ns)
		gap.end_ns = next->begin_ns;
	idle_host_explain(w->k->host, &gap);
	w->device.idle_ns += gap.end_ns - at_ns;
	return gap.end_ns;
}

static void walk_device(struct walk *w, bool follows, struct idle_step *out)
{
	uint64_t end_ns = w->step->end_ns, at_ns;
	idle_host_begin_device(w->k->host, w->device.device);
	at_ns = follows ? w->step->begin_ns : inherit_queue(w);
	w->device.span_ns = end_ns - at_ns;
	while (at_ns < end_ns) {
		take_begun(w, at_ns);
		if (w->until_ns <= at_ns) {
			at_ns = explain_gap(w, at_ns);
			continue;
		}
		uint64_t until_ns = w->until_ns < end_ns ? w->until_ns : end_ns;
		add_busy(w, until_ns - at_ns);
		at_ns = until_ns;
	}
	idle_host_end_device(w->k->host);
	vec_push(&out->devices, w->device);
}

/* ---- The step ---- */

static void note_device(struct idle_tracker *k, uint32_t device)
{
	size_t i = 0;
	while (i < k->devices.n && k->devices.at[i] < device)
		i++;
	if (i < k->devices.n && k->devices.at[i] == device)
		return;
	vec_push(&k->devices, 0);
	memmove(&k->devices.at[i + 1], &k->devices.at[i],
		(k->devices.n - 1 - i) * sizeof(*k->devices.at));
	k->devices.at[i] = device;
}

/* Collects all work that may keep a device busy in the step. */
static void gather(struct idle_tracker *k, const struct timeline *t,
		   const struct timeline_step *step, size_t first_earlier, idle_items *items)
{
	for (size_t i = 0; i < k->pending.n; i++)
		vec_push(items, k->pending.at[i]);
	for (uint32_t i = step->first_work; i < step->first_work + step->n_work; i++) {
		const struct timeline_work *w = &t->works.at[i];
		vec_push(items, (struct idle_item){ w->begin_ns, w->end_ns, i, w->device, true,
						    idle_work_is_collective(t, w) });
		note_device(k, w->device);
	}
	for (size_t i = first_earlier; i < t->earlier.n; i++) {
		const struct timeline_earlier *e = &t->earlier.at[i];
		vec_push(items, (struct idle_item){ .begin_ns = e->begin_ns,
						    .end_ns = e->end_ns,
						    .work = IDLE_NO_WORK,
						    .device = e->device });
	}
}

/* Copies the items of one device to `out`, sorted by start. Returns their number. */
static size_t pick_device(const idle_items *items, uint32_t device, struct idle_item *out)
{
	struct order_key *keys = mem_resize(NULL, items->n * sizeof(*keys));
	size_t n = 0;
	for (size_t i = 0; i < items->n; i++)
		if (items->at[i].device == device)
			keys[n++] = (struct order_key){ items->at[i].begin_ns, (uint32_t)i };
	order_sort(keys, n);
	for (size_t i = 0; i < n; i++)
		out[i] = items->at[keys[i].index];
	free(keys);
	return n;
}

static void keep_pending(struct idle_tracker *k, const idle_items *items, uint64_t end_ns)
{
	k->pending.n = 0;
	for (size_t i = 0; i < items->n; i++)
		if (items->at[i].end_ns > end_ns)
			vec_push(&k->pending, items->at[i]);
}

void idle_explain_step(struct idle_tracker *k, const struct timeline *t, size_t first_earlier,
		       struct idle_step *out)
{
	const struct timeline_step *step = &t->steps.at[t->steps.n - 1];
	bool follows = k->has_step && k->number + 1 == step->number;
	idle_items items = { 0 };
	out->spans.n = out->waits.n = out->devices.n = 0;
	if (!follows)
		k->pending.n = 0;
	gather(k, t, step, first_earlier, &items);
	idle_host_begin_step(k->host, t, out, follows);
	struct idle_item *of_device = mem_resize(NULL, items.n * sizeof(*of_device));
	for (size_t i = 0; step->has_gpu && i < k->devices.n; i++) {
		struct walk w = { .k = k,
				  .t = t,
				  .step = step,
				  .items = of_device,
				  .device.device = k->devices.at[i] };
		w.n = pick_device(&items, w.device.device, of_device);
		walk_device(&w, follows, out);
	}
	idle_host_end_step(k->host);
	for (size_t i = 0; i < k->inherited.n; i++)
		vec_push(&items, k->inherited.at[i]);
	k->inherited.n = 0;
	keep_pending(k, &items, step->end_ns);
	k->number = step->number;
	k->has_step = true;
	free(of_device);
	vec_free(&items);
}
