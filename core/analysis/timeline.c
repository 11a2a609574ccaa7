/* Converts a step's model to flat arrays: the calls of all threads in one order, and the work of
 * all streams in one order. Each stack is looked up only once. */
#include "core/analysis/timeline.h"

#include "core/analysis/host_kinds.h"
#include "core/model/library.h"
#include "core/model/occupancy.h"
#include "core/symbols/stack_about.h"
#include "core/util/memory_limit.h"
#include "core/util/order.h"

#include <math.h>

void timeline_start(struct timeline *t, const struct tables *tables, struct frames *frames)
{
	memset(t, 0, sizeof(*t));
	t->tables = tables;
	t->frames = frames;
}

void timeline_free(struct timeline *t)
{
	strtab_free(&t->texts);
	map_free(&t->stack_of);
	vec_free(&t->steps);
	vec_free(&t->phases_of_step);
	vec_free(&t->calls);
	vec_free(&t->captured);
	vec_free(&t->works);
	vec_free(&t->libraries);
	vec_free(&t->work_of_call);
	vec_free(&t->streams);
	vec_free(&t->threads);
	vec_free(&t->overheads);
	vec_free(&t->earlier);
	vec_free(&t->samples);
	vec_free(&t->cpu_waits);
	vec_free(&t->stacks);
	waits_free(&t->waits);
	idle_sums_free(&t->idle);
	host_sums_free(&t->host);
	operator_sums_free(&t->operators);
	operator_runs_free(&t->runs);
	module_sums_free(&t->modules);
}

/* ---- Threads, streams, stacks ---- */

static uint32_t thread_of(struct timeline *t, const struct model_thread *m)
{
	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.at[i].tid == m->tid)
			return (uint32_t)i;
	struct timeline_thread thread = { .tid = m->tid };
	memcpy(thread.name, m->name, sizeof(thread.name));
	vec_push(&t->threads, thread);
	return (uint32_t)t->threads.n - 1;
}

static uint32_t stream_of(struct timeline *t, const struct model_stream *m)
{
	for (size_t i = 0; i < t->streams.n; i++) {
		const struct timeline_stream *s = &t->streams.at[i];
		if (s->stream == m->stream && s->device == m->device && s->context == m->context)
			return (uint32_t)i;
	}
	vec_push(&t->streams, (struct timeline_stream){ .device = m->device,
							.context = m->context,
							.stream = m->stream });
	return (uint32_t)t->streams.n - 1;
}

static bool has_python(struct frames *f, uint32_t stack)
{
	struct frame_list list = frames_of(f, stack);
	for (size_t i = 0; i < list.n; i++)
		if (list.at[i]->kind == FRAME_KIND_PYTHON)
			return true;
	return false;
}

struct timeline_stack timeline_stack(struct timeline *t, uint32_t stack)
{
	bool is_new;
	if (!stack)
		return (struct timeline_stack){ 0 };
	uint64_t *at = map_at(&t->stack_of, stack, &is_new);
	if (!is_new)
		return t->stacks.at[*at];
	*at = t->stacks.n;
	struct timeline_stack found = {
		.site = frames_site(t->frames, stack),
		.op = strtab_intern(&t->texts, frames_operator(t->frames, stack, false)),
		.outer_op = strtab_intern(&t->texts, frames_operator(t->frames, stack, true)),
		.module = module_sums_of_stack(&t->modules, t->frames, stack, &t->texts),
		.about = stack_about(t->frames, stack),
		.has_python = has_python(t->frames, stack),
	};
	found.known = frames_site_at(t->frames, found.site)->is_user ? STACK_OF_USER
		      : found.has_python			     ? STACK_OF_PYTHON
								     : STACK_OF_LIBRARY;
	vec_push(&t->stacks, found);
	return found;
}

void timeline_find_sites(struct timeline *t)
{
	for (size_t i = 0; i < t->stack_of.room; i++) {
		const struct map_slot *slot = &t->stack_of.slots[i];
		if (slot->used)
			t->stacks.at[slot->value].site =
				frames_site(t->frames, (uint32_t)slot->key);
	}
	t->backward_site = 0;
}

/* ---- Calls ---- */

/*
 * Returns the site of a call. A thread of the autograd engine has no user frames, so its calls get
 * the line that called backward(). This line is known from the thread that called backward(): its
 * last call there fills the first gradient, and then the thread waits for the engine.
 */
static uint32_t site_of_call(struct timeline *t, const struct timeline_stack *stack)
{
	if (timeline_calls_backward(t, stack->site, stack->about))
		t->backward_site = stack->site;
	bool is_lent = t->backward_site && timeline_lacks_line(t, stack->site, stack->about);
	return is_lent ? t->backward_site : stack->site;
}

static struct timeline_call make_call(struct timeline *t, const struct model_call *c,
				      uint32_t thread)
{
	struct timeline_stack stack = timeline_stack(t, c->stack);
	return (struct timeline_call){
		.begin_ns = c->begin_ns,
		.end_ns = c->end_ns,
		.stream = c->stream,
		.handle = c->handle,
		.bytes = c->bytes,
		.name = c->name,
		.stack = c->stack,
		.site = site_of_call(t, &stack),
		.op = stack.op,
		.outer_op = stack.outer_op,
		.about = stack.about,
		.thread = thread,
		.step = (uint32_t)t->steps.n,
		.status = c->status,
		.category = c->polls ? CAT_SYNC : c->category,
		.space = c->space,
		.device = c->device,
		.copy = c->copy,
		.is_captured = c->is_captured,
		.is_first_replay = c->is_first_replay,
	};
}

/* Appends the step's calls, sorted by start. Fills `call_of`: index of a call in the model -> index
 * in the timeline. */
static void add_calls(struct timeline *t, const struct model_step *m, uint32_t *call_of)
{
	struct order_key *keys = mem_resize(NULL, m->calls.n * sizeof(*keys));
	uint32_t *thread_of_call = mem_zero(m->calls.n * sizeof(*thread_of_call));
	for (size_t i = 0; i < m->calls.n; i++)
		keys[i] = (struct order_key){ m->calls.at[i].begin_ns, (uint32_t)i };
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct model_thread *thread = &m->threads.at[i];
		uint32_t number = thread_of(t, thread);
		for (size_t k = 0; k < thread->n; k++)
			thread_of_call[thread->first + k] = number;
	}
	order_sort(keys, m->calls.n);
	vec_reserve(&t->calls, m->calls.n);
	for (size_t i = 0; i < m->calls.n; i++) {
		uint32_t index = keys[i].index;
		call_of[index] = (uint32_t)t->calls.n;
		vec_push(&t->calls, make_call(t, &m->calls.at[index], thread_of_call[index]));
	}
	free(thread_of_call);
	free(keys);
}

/* Appends the captured calls, in the model's order. timeline_lend_sites() completes their sites. */
static void add_captured(struct timeline *t, const struct model_step *m)
{
	uint32_t backward_site = t->backward_site;
	vec_reserve(&t->captured, m->captured.n);
	for (size_t i = 0; i < m->captured.n; i++) {
		t->backward_site = 0; /* make_call() must not use that of other calls */
		struct timeline_call c = make_call(t, &m->captured.at[i], TIMELINE_NO_THREAD);
		c.is_captured = true;
		vec_push(&t->captured, c);
	}
	t->backward_site = backward_site;
}

/* ---- Works ---- */

static uint16_t sm_share(double blocks_per_sm)
{
	double share = fmin(blocks_per_sm, 1) * TIMELINE_SM_WHOLE;
	return isfinite(blocks_per_sm) ? (uint16_t)fmax(1, share) : 0;
}

static void add_work(struct timeline *t, const struct model_work *w, uint32_t stream, uint32_t call,
		     uint32_t origin)
{
	struct occupancy o = occupancy_of(t->tables, w);
	vec_push(&t->works, (struct timeline_work){
				    .begin_ns = w->begin_ns,
				    .end_ns = w->end_ns,
				    .bytes = w->bytes,
				    .name = w->name,
				    .kernel = w->kernel,
				    .call = call,
				    .origin = origin,
				    .graph = w->graph,
				    .stream = stream,
				    .step = (uint32_t)t->steps.n,
				    .kind = w->kind,
				    .device = w->device,
				    .source = w->source,
				    .target = w->target,
				    .flags = w->flags,
				    .sm_share = sm_share(o.blocks_per_sm),
				    .occupancy = isfinite(o.pct) ? (uint16_t)(1 + 100 * o.pct) : 0,
			    });
}

/* `first_captured`: index in t->captured of the step's first captured call. */
static void add_works(struct timeline *t, const struct model_step *m, const uint32_t *call_of,
		      uint32_t first_captured)
{
	struct order_key *keys = mem_resize(NULL, m->works.n * sizeof(*keys));
	uint32_t *stream_of_work = mem_zero(m->works.n * sizeof(*stream_of_work));
	size_t n = 0;
	for (size_t i = 0; i < m->streams.n; i++) {
		const struct model_stream *s = &m->streams.at[i];
		if (s->is_wait)
			continue;
		uint32_t number = stream_of(t, s);
		for (size_t k = s->first; k < s->first + s->n; k++) {
			keys[n++] = (struct order_key){ m->works.at[k].begin_ns, (uint32_t)k };
			stream_of_work[k] = number;
		}
	}
	order_sort(keys, n);
	vec_reserve(&t->works, n);
	for (size_t i = 0; i < n; i++) {
		const struct model_work *w = &m->works.at[keys[i].index];
		uint32_t call = w->call < m->calls.n ? call_of[w->call] : MODEL_NO_CALL;
		uint32_t origin = model_work_origin(m, w);
		add_work(t, w, stream_of_work[keys[i].index], call,
			 origin == MODEL_NO_CALL ? MODEL_NO_CALL : first_captured + origin);
	}
	free(stream_of_work);
	free(keys);
}

/* Returns true if the library function's calls were captured into a graph. Its work then runs only
 * when the graph is launched. */
static bool is_captured(const struct model_step *m, const struct model_library *l)
{
	for (uint32_t i = l->first_call; i < l->first_call + l->n_calls; i++)
		if (m->calls.at[i].is_captured)
			return true;
	return false;
}

static void add_library(struct timeline *t, const struct model_step *m,
			const struct model_library *l, const uint32_t *call_of)
{
	struct timeline_library to = {
		.gpu_begin_ns = l->gpu_begin_ns,
		.gpu_end_ns = l->gpu_end_ns,
		.gpu_ns = l->gpu_ns,
		.flops = library_flops(l),
		.bytes = library_bytes(l, m->tables),
		.flops_most = l->flops_most,
		.moved_bytes = l->moved_bytes,
		.shape = l->shape,
		.comm = l->comm,
		.sequence = l->sequence,
		.step = (uint32_t)t->steps.n,
		.name = l->name,
		.n_ranks = l->n_ranks,
		.facts = l->facts,
		.type = l->type,
		.device = DEVICE_UNKNOWN,
	};
	if ((!(to.flops > 0) && !(to.bytes > 0)) || !l->n_calls || is_captured(m, l))
		return;
	const struct timeline_call *call = &t->calls.at[call_of[l->first_call]];
	to.site = call->site;
	to.op = call->op;
	if (to.bytes > 0)
		to.bus_factor = library_bus_factor(l, m->tables);
	if (l->work != MODEL_NO_WORK) {
		to.kernel = m->works.at[l->work].name;
		to.device = m->works.at[l->work].device;
	}
	vec_push(&t->libraries, to);
}

/*
 * Sets the stream's handle from a call that launched work on the stream. A graph's work may run on
 * streams other than the one of the graph launch. So the handle of a graph launch is used only
 * until another kind of call shows the handle.
 */
static void learn_handle(struct timeline_stream *s, const struct timeline_call *c)
{
	bool is_guess = c->category == CAT_GRAPH;
	if (!c->stream || (s->handle && (is_guess || !s->is_guess)))
		return;
	s->handle = c->stream;
	s->is_guess = is_guess;
}

static void link_works(struct timeline *t, const struct timeline_step *step)
{
	struct timeline_work *works = &t->works.at[step->first_work];
	for (uint32_t i = 0; i < step->n_work; i++)
		if (works[i].call != MODEL_NO_CALL)
			t->calls.at[works[i].call].n_work++;
	for (uint32_t i = step->first_call; i < step->first_call + step->n_calls; i++) {
		struct timeline_call *c = &t->calls.at[i];
		c->first_work = (uint32_t)t->work_of_call.n;
		vec_reserve(&t->work_of_call, c->n_work);
		t->work_of_call.n += c->n_work;
		c->n_work = 0;
	}
	for (uint32_t i = 0; i < step->n_work; i++) {
		if (works[i].call == MODEL_NO_CALL)
			continue;
		struct timeline_call *c = &t->calls.at[works[i].call];
		t->work_of_call.at[c->first_work + c->n_work++] = step->first_work + i;
		learn_handle(&t->streams.at[works[i].stream], c);
	}
}

/* ---- Overheads and the whole step ---- */

/* `what` is a CUpti_ActivityOverheadKind >> 16; model_overhead_kind() has the names. */
enum timeline_overhead_kind timeline_overhead_kind(uint16_t what)
{
	switch (what) {
	case 0: /* 0: the driver compiles code; 4 and 5: it loads code */
	case 4:
	case 5:
		return OVERHEAD_MODULE;
	case 6:
		return OVERHEAD_QUEUE;
	default:
		return OVERHEAD_PROFILER;
	}
}

/* Returns the index of a thread that CUPTI names by its handle or by its tid. */
static uint32_t find_thread(const struct timeline *t, uint32_t name)
{
	uint32_t tid = name;
	for (size_t i = 0; i < t->tables->threads.n; i++)
		if (t->tables->threads.at[i].handle == name)
			tid = t->tables->threads.at[i].tid;
	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.at[i].tid == tid)
			return (uint32_t)i;
	return TIMELINE_NO_THREAD;
}

static uint64_t add_overheads(struct timeline *t, const struct model_step *m)
{
	uint64_t total_ns = 0;
	struct order_key *keys = mem_resize(NULL, m->overheads.n * sizeof(*keys));
	for (size_t i = 0; i < m->overheads.n; i++)
		keys[i] = (struct order_key){ m->overheads.at[i].begin_ns, (uint32_t)i };
	order_sort(keys, m->overheads.n);
	for (size_t i = 0; i < m->overheads.n; i++) {
		const struct model_overhead *o = &m->overheads.at[keys[i].index];
		if (o->end_ns <= o->begin_ns)
			continue;
		if (timeline_overhead_kind(o->what) == OVERHEAD_PROFILER)
			total_ns += o->end_ns - o->begin_ns;
		vec_push(&t->overheads,
			 (struct timeline_overhead){ .begin_ns = o->begin_ns,
						     .end_ns = o->end_ns,
						     .thread = find_thread(t, o->tid),
						     .step = (uint32_t)t->steps.n,
						     .what = o->what });
	}
	free(keys);
	return total_ns;
}

/* ---- Samples ---- */

/* Appends the step's samples, sorted by time. */
static void add_samples(struct timeline *t, const struct model_step *m)
{
	struct order_key *keys = mem_resize(NULL, m->samples.n * sizeof(*keys));
	for (size_t i = 0; i < m->samples.n; i++)
		keys[i] = (struct order_key){ m->samples.at[i].ns, (uint32_t)i };
	order_sort(keys, m->samples.n);
	for (size_t i = 0; i < m->samples.n; i++) {
		const struct model_sample *s = &m->samples.at[keys[i].index];
		struct timeline_stack stack = timeline_stack(t, s->stack);
		vec_push(&t->samples,
			 (struct timeline_sample){
				 .ns = s->ns,
				 .stack = s->stack,
				 .site = stack.site,
				 .holder_site = timeline_stack(t, s->holder).site,
				 .thread = thread_of(t, &m->threads.at[s->thread]),
				 .state = s->state,
				 .fetches = stack.about & ABOUT_FETCH,
				 .launches = stack.about & ABOUT_LAUNCHING,
				 .known = stack.known,
				 .kind = (uint8_t)host_kind_of(s->state, s->flags, stack.has_python,
							       stack.about),
			 });
	}
	free(keys);
}

static void add_cpu_waits(struct timeline *t, const struct model_step *m)
{
	t->cpu_waits.n = 0;
	for (size_t i = 0; i < m->cpu_waits.n; i++) {
		const struct model_cpu_wait *w = &m->cpu_waits.at[i];
		vec_push(&t->cpu_waits,
			 (struct timeline_cpu_wait){ w->begin_ns, w->end_ns, w->ns,
						     thread_of(t, &m->threads.at[w->thread]) });
	}
}

static void link_step(struct timeline *t, const struct model_step *m, struct timeline_step *step)
{
	for (size_t i = 0; i < m->earlier.n; i++)
		vec_push(&t->earlier, (struct timeline_earlier){ m->earlier.at[i].begin_ns,
								 m->earlier.at[i].end_ns,
								 m->earlier.at[i].device });
	step->n_calls = (uint32_t)(t->calls.n - step->first_call);
	step->n_work = (uint32_t)(t->works.n - step->first_work);
	step->n_samples = (uint32_t)(t->samples.n - step->first_sample);
	step->has_gpu = step->n_work > 0;
	step->was_yielded = m->was_yielded;
	vec_push(&t->steps, *step);
	link_works(t, step);
	timeline_find_waits(t, step);
	waits_add_step(&t->waits, t, step);
}

/*
 * Returns whether CUPTI delivered only a part of the step's GPU work, or none, before the process
 * was killed. Such steps are analyzed like steps without GPU times, because the GPU would seem
 * idle.
 */
static bool is_undelivered(const struct model_step *m)
{
	return m->launches.n_lacking[LACK_KILLED] && !m->is_whole_run;
}

uint32_t *timeline_add_events(struct timeline *t, const struct model_step *m)
{
	const struct timeline_step *last = t->steps.n ? &t->steps.at[t->steps.n - 1] : NULL;
	uint32_t *call_of = mem_resize(NULL, m->calls.n * sizeof(*call_of));
	struct timeline_step step = {
		.number = m->number,
		.begin_ns = m->begin_ns,
		.end_ns = m->end_ns,
		.cpu_end_ns = m->cpu_end_ns ? m->cpu_end_ns : m->end_ns,
		.first_call = (uint32_t)t->calls.n,
		.first_work = (uint32_t)t->works.n,
		.first_sample = (uint32_t)t->samples.n,
		.follows = last && last->number + 1 == m->number,
		.is_cut = m->is_cut,
		.is_whole_run = m->is_whole_run,
	};
	t->pid = m->pid;
	uint32_t first_captured = (uint32_t)t->captured.n;
	add_calls(t, m, call_of);
	add_captured(t, m);
	if (!is_undelivered(m))
		add_works(t, m, call_of, first_captured);
	timeline_lend_sites(t, first_captured, step.first_work);
	timeline_add_products(t, m, first_captured, step.first_work);
	for (size_t i = 0; i < m->libraries.n; i++)
		add_library(t, m, &m->libraries.at[i], call_of);
	step.overhead_ns = add_overheads(t, m);
	add_samples(t, m);
	add_cpu_waits(t, m);
	link_step(t, m, &step);
	return call_of;
}

/* ---- Room and rewinding ---- */

bool timeline_has_room(const struct timeline *t, const struct model_step *m)
{
	size_t n = t->calls.n + t->captured.n + t->works.n;
	return n + m->calls.n + m->captured.n + m->works.n <= TIMELINE_EVENTS_MOST &&
	       !memory_limit_is_near();
}

struct timeline_mark timeline_mark(const struct timeline *t)
{
	return (struct timeline_mark){
		.steps = t->steps.n,
		.calls = t->calls.n,
		.captured = t->captured.n,
		.works = t->works.n,
		.work_of_call = t->work_of_call.n,
		.libraries = t->libraries.n,
		.overheads = t->overheads.n,
		.earlier = t->earlier.n,
		.samples = t->samples.n,
		.waits = t->waits.at.n,
	};
}

void timeline_rewind(struct timeline *t, const struct timeline_mark *mark)
{
	t->steps.n = mark->steps;
	t->calls.n = mark->calls;
	t->captured.n = mark->captured;
	t->works.n = mark->works;
	t->work_of_call.n = mark->work_of_call;
	t->libraries.n = mark->libraries;
	t->overheads.n = mark->overheads;
	t->earlier.n = mark->earlier;
	t->samples.n = mark->samples;
	waits_truncate(&t->waits, mark->waits, mark->calls);
}
