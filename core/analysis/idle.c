/* Finds the gaps of each device in a step: the times in which none of the device's work runs.
 * idle_cause.c finds the cause of a gap. */
#include "core/analysis/idle_queue.h"

/* What a device has to run after the last step. */
struct idle_device_work {
	uint32_t device;
	bool is_used; /* a recorded step launched work on it */
	/* of the work that had begun when the last step ended: the one that ends last */
	bool has_running;
	struct idle_item running;
	struct idle_queue queue; /* work that had not begun */
};

struct idle_tracker {
	struct idle_host *host;
	VEC(struct idle_device_work) devices; /* sorted by device */
	uint64_t number, end_ns;	      /* of the last step */
	uint64_t n_items;		      /* number of the next piece of work */
	/* number of the first piece of work of the step; number of the first with a valid index */
	uint64_t first_of_step, first_valid;
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
	for (size_t i = 0; i < k->devices.n; i++)
		vec_free(&k->devices.at[i].queue.heap);
	vec_free(&k->devices);
	free(k);
}

void idle_tracker_forget_step(struct idle_tracker *k)
{
	idle_host_forget_step(k->host);
	k->first_valid = k->n_items;
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
	struct idle_device_work *of;
	uint64_t until_ns;     /* when all work that has begun will have ended */
	bool has_last;	       /* the work that ends at until_ns is recorded */
	struct idle_item last; /* that work */
	struct idle_item next; /* see next_work() */
	struct idle_device device;
};

static void begin_work(struct walk *w, const struct idle_item *item)
{
	/* work that ended within an earlier step, after work that lasts longer */
	if (item->number < w->k->first_of_step && item->end_ns <= w->k->end_ns)
		return;
	if (item->end_ns <= w->until_ns)
		return;
	w->until_ns = item->end_ns;
	w->last = *item;
	w->has_last = true;
}

static void take_begun(struct walk *w, uint64_t at_ns)
{
	const struct idle_item *first;
	while ((first = idle_queue_first(&w->of->queue)) && first->begin_ns <= at_ns) {
		const struct idle_item item = idle_queue_pop(&w->of->queue);
		begin_work(w, &item);
	}
}

/* The timeline may no longer contain the step that launched the work. */
static void forget_old_index(const struct walk *w, struct idle_item *item)
{
	if (item->number < w->k->first_valid)
		item->work = IDLE_NO_WORK;
}

/* Returns the device's next work, NULL if there is none. */
static const struct idle_item *next_work(struct walk *w)
{
	const struct idle_item *first = idle_queue_first(&w->of->queue);
	if (!first)
		return NULL;
	w->next = *first;
	forget_old_index(w, &w->next);
	return &w->next;
}

/* Returns when the device's next work was launched. Unrecorded work counts as launched when the
 * step began. */
static uint64_t launched_ns(const struct walk *w, const struct idle_item *next)
{
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
	const struct idle_item *next = next_work(w);
	if (w->until_ns > w->step->begin_ns || !next ||
	    next->begin_ns < launched_ns(w, next) + IDLE_QUEUED_NS)
		return w->step->begin_ns;
	if (w->step->is_whole_run)
		return next->begin_ns;
	w->until_ns = next->begin_ns;
	w->has_last = false;
	return w->step->begin_ns;
}

static void add_busy(struct walk *w, uint64_t ns)
{
	w->device.busy_ns += ns;
	w->device.before_ns += w->has_last && w->last.is_known ? 0 : ns;
}

/* Explains the gap that begins at `at_ns`. Returns the end of the gap. */
static uint64_t explain_gap(struct walk *w, uint64_t at_ns)
{
	const struct idle_item *next = next_work(w);
	forget_old_index(w, &w->last);
	struct idle_gap gap = {
		.begin_ns = at_ns,
		.end_ns = w->step->end_ns,
		.device = w->device.device,
		.is_after_collective = w->has_last && w->last.is_collective,
		.before = w->has_last ? &w->last : NULL,
		.after = next,
		.step = w->step,
	};
	if (next && next->begin_ns < gap.end_ns)
		gap.end_ns = next->begin_ns;
	idle_host_explain(w->k->host, &gap);
	w->device.idle_ns += gap.end_ns - at_ns;
	return gap.end_ns;
}

static void begin_device(struct walk *w)
{
	if (w->of->has_running)
		begin_work(w, &w->of->running);
	w->of->has_running = false;
}

/* Notes what runs on into the next step: a piece of work, or a queue that was assumed. */
static void end_device(struct walk *w)
{
	w->of->has_running = w->until_ns > w->step->end_ns;
	w->of->running = w->has_last ? w->last
				     : (struct idle_item){ .begin_ns = w->step->begin_ns,
							   .end_ns = w->until_ns,
							   .work = IDLE_NO_WORK,
							   .device = w->device.device };
}

static void walk_device(struct walk *w, bool follows, struct idle_step *out)
{
	uint64_t end_ns = w->step->end_ns, at_ns;
	idle_host_begin_device(w->k->host, w->device.device);
	begin_device(w);
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
	end_device(w);
	idle_host_end_device(w->k->host);
	vec_push(&out->devices, w->device);
}

/* ---- The step ---- */

static struct idle_device_work *work_of(struct idle_tracker *k, uint32_t device)
{
	size_t i = 0;
	while (i < k->devices.n && k->devices.at[i].device < device)
		i++;
	if (i < k->devices.n && k->devices.at[i].device == device)
		return &k->devices.at[i];
	vec_push(&k->devices, (struct idle_device_work){ 0 });
	memmove(&k->devices.at[i + 1], &k->devices.at[i],
		(k->devices.n - 1 - i) * sizeof(*k->devices.at));
	k->devices.at[i] = (struct idle_device_work){ .device = device };
	return &k->devices.at[i];
}

static struct idle_device_work *add_work(struct idle_tracker *k, struct idle_item item)
{
	struct idle_device_work *of = work_of(k, item.device);
	item.number = k->n_items++;
	idle_queue_push(&of->queue, &item);
	return of;
}

/* Adds the work of the step, and earlier work that was read with it. */
static void gather(struct idle_tracker *k, const struct timeline *t,
		   const struct timeline_step *step, size_t first_earlier)
{
	k->first_of_step = k->n_items;
	for (uint32_t i = step->first_work; i < step->first_work + step->n_work; i++) {
		const struct timeline_work *w = &t->works.at[i];
		add_work(k, (struct idle_item){ w->begin_ns, w->end_ns, 0, i, w->device, true,
						idle_work_is_collective(t, w) })
			->is_used = true;
	}
	for (size_t i = first_earlier; i < t->earlier.n; i++) {
		const struct timeline_earlier *e = &t->earlier.at[i];
		add_work(k, (struct idle_item){ .begin_ns = e->begin_ns,
						.end_ns = e->end_ns,
						.work = IDLE_NO_WORK,
						.device = e->device });
	}
}

static void drop_work(struct idle_tracker *k)
{
	for (size_t i = 0; i < k->devices.n; i++) {
		k->devices.at[i].queue.heap.n = 0;
		k->devices.at[i].has_running = false;
	}
}

void idle_explain_step(struct idle_tracker *k, const struct timeline *t, size_t first_earlier,
		       struct idle_step *out)
{
	const struct timeline_step *step = &t->steps.at[t->steps.n - 1];
	bool follows = k->has_step && k->number + 1 == step->number;
	out->spans.n = out->waits.n = out->devices.n = 0;
	if (!follows)
		drop_work(k);
	gather(k, t, step, first_earlier);
	idle_host_begin_step(k->host, t, out, follows);
	for (size_t i = 0; step->has_gpu && i < k->devices.n; i++) {
		if (!k->devices.at[i].is_used)
			continue;
		struct walk w = { .k = k,
				  .t = t,
				  .step = step,
				  .of = &k->devices.at[i],
				  .device.device = k->devices.at[i].device };
		walk_device(&w, follows, out);
	}
	idle_host_end_step(k->host);
	k->number = step->number;
	k->end_ns = step->end_ns;
	k->has_step = true;
}
