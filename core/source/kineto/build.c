/* See build.h. */
#include "core/source/kineto/build.h"

#include "core/runtime/schedule.h"
#include "core/source/kineto/api.h"
#include "core/source/kineto/comms.h"
#include "core/source/kineto/event_waits.h"
#include "core/source/kineto/shapes.h"

#include <stdlib.h>
#include <string.h>

/* ---- GPU work ---- */

static void find_calls(struct cutting *c)
{
	const struct trace *t = c->t;
	struct map call_of = { 0 };
	for (size_t i = 0; i < t->calls.n; i++)
		if (t->calls.at[i].correlation)
			*map_at(&call_of, t->calls.at[i].correlation, NULL) = i;
	c->call_of = mem_resize(NULL, t->works.n * sizeof(*c->call_of));
	for (size_t i = 0; i < t->works.n; i++) {
		uint32_t correlation = t->works.at[i].correlation;
		const uint64_t *at = correlation ? map_find(&call_of, correlation) : NULL;
		c->call_of[i] = at ? (uint32_t)*at : MODEL_NO_CALL;
	}
	map_free(&call_of);
}

/* Sets the number below which a correlation is of a call that was made before the trace began. */
static void find_first(struct cutting *c)
{
	c->first_correlation = UINT32_MAX;
	for (size_t i = 0; i < c->t->calls.n; i++) {
		uint32_t correlation = c->t->calls.at[i].correlation;
		if (correlation && correlation < c->first_correlation)
			c->first_correlation = correlation;
	}
}

/* Returns whether the work was launched before the trace began. It only keeps the GPU busy in the
 * first steps: it is no work of theirs. */
static bool is_earlier(const struct cutting *c, size_t i)
{
	const struct model_work *w = &c->t->works.at[i];
	return c->cuts.from != CUTS_NONE && c->call_of[i] == MODEL_NO_CALL && w->correlation &&
	       w->correlation < c->first_correlation && w->kind != WORK_SYNC;
}

/* Work belongs to the step of its call. Without a call, it belongs to the step in which it runs. */
static size_t cut_of_work(const struct cutting *c, size_t i)
{
	uint32_t call = c->call_of[i];
	if (is_earlier(c, i))
		return c->cuts.at.n;
	return cuts_index(&c->cuts, call == MODEL_NO_CALL ? c->t->works.at[i].begin_ns
							  : c->t->calls.at[call].begin_ns);
}

static void sort_works(struct cutting *c)
{
	size_t n = c->t->works.n;
	uint32_t *cut_of = mem_resize(NULL, n * sizeof(*cut_of));
	c->order = mem_resize(NULL, n * sizeof(*c->order));
	c->first = mem_zero((c->cuts.at.n + 3) * sizeof(*c->first));
	for (size_t i = 0; i < n; i++) {
		cut_of[i] = (uint32_t)cut_of_work(c, i);
		c->first[cut_of[i] + 2]++;
	}
	for (size_t i = 2; i < c->cuts.at.n + 3; i++)
		c->first[i] += c->first[i - 1];
	for (size_t i = 0; i < n; i++)
		c->order[c->first[cut_of[i] + 1]++] = (uint32_t)i;
	free(cut_of);
}

/* Returns when the last event of a CPU thread ended. */
static uint64_t cpu_end_ns(const struct trace *t)
{
	uint64_t end_ns = t->begin_ns;
	for (size_t i = 0; i < t->slices.n; i++)
		end_ns = t->slices.at[i].end_ns > end_ns ? t->slices.at[i].end_ns : end_ns;
	for (size_t i = 0; i < t->steps.n; i++)
		end_ns = t->steps.at[i].end_ns > end_ns ? t->steps.at[i].end_ns : end_ns;
	for (size_t i = 0; i < t->calls.n; i++)
		end_ns = t->calls.at[i].end_ns > end_ns ? t->calls.at[i].end_ns : end_ns;
	return end_ns;
}

static void list_earlier(struct cutting *c)
{
	for (size_t i = 0; i < c->t->works.n; i++) {
		const struct model_work *w = &c->t->works.at[i];
		if (is_earlier(c, i))
			vec_push(&c->tail,
				 (struct model_earlier){ w->begin_ns, w->end_ns, w->device });
	}
}

static void list_slices(struct cutting *c)
{
	for (size_t i = 0; i < c->t->slices.n; i++) {
		uint8_t category = c->t->slices.at[i].category;
		if (category == EVENT_ANNOTATION)
			vec_push(&c->ranges, (uint32_t)i);
		else if (category == EVENT_OPERATOR)
			vec_push(&c->operators, (uint32_t)i);
	}
}

void cutting_start(struct cutting *c, struct trace *t, struct frames *frames, struct stacks *stacks,
		   const char *path)
{
	memset(c, 0, sizeof(*c));
	c->t = t;
	c->frames = frames;
	find_calls(c);
	captures_mark(t, c->call_of);
	shapes_find(t);
	captures_find(&c->captures, t, stacks, c->call_of, path);
	cuts_find(&c->cuts, t, c->call_of);
	find_first(c);
	sort_works(c);
	list_earlier(c);
	c->cpu_end_ns = cpu_end_ns(t);
	list_slices(c);
	comms_number(c);
	event_waits_find(t);
}

void cutting_end(struct cutting *c)
{
	vec_free(&c->ranges);
	vec_free(&c->operators);
	vec_free(&c->tail);
	live_blocks_free(&c->blocks);
	captures_free(&c->captures);
	free(c->order);
	free(c->first);
	free(c->call_of);
	c->order = c->call_of = NULL;
	c->first = NULL;
}

void cutting_free(struct cutting *c)
{
	cutting_end(c);
	cuts_free(&c->cuts);
}

/* ---- One step ---- */

struct build {
	struct cutting *c;
	const struct cut *cut;
	struct model_step *m;
	struct map thread_of;  /* index in t->threads -> index in m->threads */
	struct map base_of;    /* first call of a capture -> its index in m->captured */
	struct map product_of; /* index in captures.products + 1 -> the same in m->products */
};

static uint32_t thread_of(struct build *b, uint32_t thread)
{
	bool is_new;
	uint64_t *at = map_at(&b->thread_of, thread, &is_new);
	if (is_new) {
		const struct trace_thread *from = &b->c->t->threads.at[thread];
		struct model_thread to = { .tid = (uint32_t)from->tid, .first = b->m->calls.n };
		*at = b->m->threads.n;
		memcpy(to.name, from->name, sizeof(to.name));
		vec_push(&b->m->threads, to);
	}
	return (uint32_t)*at;
}

static uint32_t thread_in_step(void *build, uint32_t thread)
{
	return thread_of(build, thread);
}

static struct model_call call_of(const struct build *b, const struct trace_call *from)
{
	const char *name = strtab_text(&b->m->tables->names, from->name);
	return (struct model_call){
		.begin_ns = from->begin_ns,
		.end_ns = from->end_ns,
		.name = from->name,
		.correlation = from->correlation,
		.stack = from->stack,
		.polls = from->polls,
		.is_captured = from->is_captured,
		.stream = from->stream,
		.handle = from->event,
		.category = api_category(name),
		.space = api_space(name),
		.entry_point = !strncmp(name, "cu", 2) && strncmp(name, "cuda", 4)
				       ? ENTRY_POINT_DRIVER
				       : ENTRY_POINT_RUNTIME,
		.device = DEVICE_UNKNOWN,
		.copy = COPY_UNKNOWN,
	};
}

/* The calls are sorted by thread and time. */
static void build_calls(struct build *b)
{
	struct trace *t = b->c->t;
	for (size_t thread = 0, from = 0; thread < t->threads.n; thread++) {
		size_t n = t->calls.n - from;
		struct trace_call *calls = t->calls.at + from;
		size_t end = bisect(n, i, calls[i].thread <= thread),
		       first = bisect(end, i, calls[i].begin_ns < b->cut->begin_ns),
		       last = bisect(end, i, calls[i].begin_ns < b->cut->end_ns);
		from += end;
		if (first >= last)
			continue;
		uint32_t to = thread_of(b, (uint32_t)thread);
		b->m->threads.at[to].n = last - first;
		for (size_t i = first; i < last; i++) {
			calls[i].number = (uint32_t)b->m->calls.n;
			vec_push(&b->m->calls, call_of(b, &calls[i]));
		}
	}
}

/* Takes device and stream of a call from its GPU work. A trace has them only there. */
static void place_call(struct model_call *call, const struct model_work *w,
		       const struct strtab *names)
{
	if (w->kind == WORK_SYNC || call->device != DEVICE_UNKNOWN)
		return;
	call->device = w->device;
	call->stream = w->stream;
	call->bytes = w->bytes;
	if (w->kind == WORK_MEMCPY)
		call->copy = api_copy(strtab_text(names, w->name));
}

static void build_earlier(struct build *b)
{
	struct cutting *c = b->c;
	size_t n = 0;
	for (size_t i = 0; i < c->tail.n; i++) {
		if (c->tail.at[i].end_ns <= b->cut->begin_ns)
			continue;
		vec_push(&b->m->earlier, c->tail.at[i]);
		c->tail.at[n++] = c->tail.at[i];
	}
	c->tail.n = n;
}

/* Returns the number of a captured call's product in m->products; 0: it has none. */
static uint32_t product_of(struct build *b, const struct captured_call *x)
{
	bool is_new;
	if (!x->product)
		return 0;
	uint64_t *at = map_at(&b->product_of, x->product, &is_new);
	if (is_new) {
		vec_push(&b->m->products, b->c->captures.products.at[x->product - 1]);
		*at = b->m->products.n;
	}
	return (uint32_t)*at;
}

/* Returns the index in m->captured of a call that was captured. */
static uint32_t captured_of(struct build *b, uint32_t call)
{
	const struct captures *captures = &b->c->captures;
	const struct capture *capture = captures_of_call(captures, call);
	bool is_new;
	uint64_t *base = map_at(&b->base_of, capture->first, &is_new);
	if (is_new)
		*base = b->m->captured.n;
	for (uint32_t i = 0; is_new && i < capture->n; i++) {
		const struct captured_call *x = &captures->calls.at[capture->first + i];
		const char *name = strtab_text(&b->m->tables->names, x->name);
		/* the times only say the order: the capture may be of another trace */
		uint64_t ns = b->cut->begin_ns + 2 * b->m->captured.n;
		vec_push(&b->m->captured, ((struct model_call){
						  .begin_ns = ns,
						  .end_ns = ns + 1,
						  .name = x->name,
						  .stack = x->stack,
						  .category = api_category(name),
						  .space = api_space(name),
						  .device = DEVICE_UNKNOWN,
						  .copy = COPY_UNKNOWN,
						  .is_captured = true,
					  }));
		vec_push(&b->m->product_of, product_of(b, x));
	}
	return (uint32_t)*base + call - capture->first;
}

/* Finds the captured call of a graph's node. */
static void find_origin(struct build *b, struct model_work *w, size_t work)
{
	uint32_t call = b->c->call_of[work], origin = b->c->captures.origin_of[work];
	const struct trace *t = b->c->t;
	if (call == MODEL_NO_CALL || w->kind == WORK_SYNC ||
	    api_category(strtab_text(&t->tables.names, t->calls.at[call].name)) != CAT_GRAPH)
		return;
	b->m->graphs.n++;
	if (origin == MODEL_NO_CALL) {
		b->m->graphs.n_lacking[GRAPH_LACK_NODE]++;
		return;
	}
	w->origin = captured_of(b, origin);
	b->m->graphs.n_named++;
}

static void build_works(struct build *b, size_t cut)
{
	struct cutting *c = b->c;
	for (size_t i = c->first[cut]; i < c->first[cut + 1]; i++) {
		struct model_work w = c->t->works.at[c->order[i]];
		uint32_t call = c->call_of[c->order[i]];
		if (call != MODEL_NO_CALL)
			w.call = c->t->calls.at[call].number;
		else
			b->m->n_works_without_call += w.kind != WORK_SYNC;
		find_origin(b, &w, c->order[i]);
		if (w.call < b->m->calls.n)
			place_call(&b->m->calls.at[w.call], &w, &b->m->tables->names);
		if (w.kind != WORK_SYNC && w.end_ns > b->cut->end_ns)
			vec_push(&c->tail,
				 (struct model_earlier){ w.begin_ns, w.end_ns, w.device });
		vec_push(&b->m->works, w);
	}
}

static bool waits_for_stream(const struct build *b, const struct model_call *c)
{
	const char *name = strtab_text(&b->m->tables->names, c->name);
	return (c->category == CAT_SYNC || c->category == CAT_QUERY) && strstr(name, "Stream");
}

/*
 * Finds the streams that calls wait for. A synchronization record of the trace says it. Otherwise
 * it is the stream of the thread's last call with work: a framework waits for what it launched.
 */
static void place_waits(struct build *b)
{
	struct model_step *m = b->m;
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->kind == WORK_SYNC && w->call < m->calls.n && w->stream != UINT32_MAX) {
			m->calls.at[w->call].stream = w->stream;
			m->calls.at[w->call].device = w->device;
		}
	}
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct model_call *last = NULL;
		for (size_t k = 0; k < m->threads.at[i].n; k++) {
			struct model_call *c = &m->calls.at[m->threads.at[i].first + k];
			if (c->device != DEVICE_UNKNOWN && !waits_for_stream(b, c))
				last = c;
			if (!last || c->device != DEVICE_UNKNOWN || !waits_for_stream(b, c))
				continue;
			c->stream = last->stream;
			c->device = last->device;
		}
	}
}

static void build_ranges(struct build *b)
{
	const struct trace *t = b->c->t;
	for (size_t i = 0; i < b->c->ranges.n; i++) {
		const struct trace_slice *s = &t->slices.at[b->c->ranges.at[i]];
		if (s->end_ns <= b->cut->begin_ns || s->begin_ns >= b->cut->end_ns)
			continue;
		struct model_range r = {
			.begin_ns = s->begin_ns,
			.end_ns = s->end_ns,
			.id = b->c->ranges.at[i] + 1,
			.name = s->name,
			.thread = thread_of(b, s->thread),
			.kind = MODEL_RANGE_NESTED,
			.begins_before = s->begin_ns<b->cut->begin_ns, .ends_after = s->end_ns> b
						 ->cut->end_ns,
		};
		r.begin_ns = r.begins_before ? b->cut->begin_ns : r.begin_ns;
		r.end_ns = r.ends_after ? b->cut->end_ns : r.end_ns;
		vec_push(&b->m->ranges, r);
	}
}

static int samples_by_thread(const void *a, const void *b)
{
	const struct model_sample *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void build_samples(struct build *b)
{
	const struct trace *t = b->c->t;
	for (size_t thread = 0, from = 0; thread < t->threads.n; thread++) {
		size_t n = t->samples.n - from;
		const struct model_sample *of = t->samples.at + from;
		size_t end = bisect(n, i, of[i].thread <= thread),
		       first = bisect(end, i, of[i].ns < b->cut->begin_ns),
		       last = bisect(end, i, of[i].ns < b->cut->end_ns);
		from += end;
		for (size_t i = first; i < last; i++) {
			struct model_sample sample = of[i];
			sample.thread = thread_of(b, sample.thread);
			vec_push(&b->m->samples, sample);
		}
	}
	if (b->m->samples.n)
		qsort(b->m->samples.at, b->m->samples.n, sizeof(*b->m->samples.at),
		      samples_by_thread);
}

static int operators_by_thread(const void *a, const void *b)
{
	const struct model_operator *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

/* The slices are sorted by thread and time. An operator belongs to the step in which it begins. */
static void build_operators(struct build *b)
{
	const struct trace *t = b->c->t;
	const uint32_t *list = b->c->operators.at;
	for (size_t thread = 0, from = 0; thread < t->threads.n; thread++) {
		size_t n = b->c->operators.n - from;
		const uint32_t *of = list + from;
		size_t end = bisect(n, i, t->slices.at[of[i]].thread <= thread),
		       first = bisect(end, i, t->slices.at[of[i]].begin_ns < b->cut->begin_ns),
		       last = bisect(end, i, t->slices.at[of[i]].begin_ns < b->cut->end_ns);
		from += end;
		for (size_t i = first; i < last; i++) {
			const struct trace_slice *s = &t->slices.at[of[i]];
			vec_push(&b->m->operators,
				 (struct model_operator){ s->begin_ns, s->end_ns, s->name,
							  thread_of(b, s->thread) });
		}
	}
	if (b->m->operators.n)
		qsort(b->m->operators.at, b->m->operators.n, sizeof(*b->m->operators.at),
		      operators_by_thread);
}

static int ranges_by_thread(const void *a, const void *b)
{
	const struct model_range *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Counts the launches, and which of them have work in the trace. */
static void count_launches(struct build *b)
{
	struct model_step *m = b->m;
	uint8_t *has_work = mem_zero(m->calls.n);
	for (size_t i = 0; i < m->works.n; i++)
		if (m->works.at[i].kind != WORK_SYNC && m->works.at[i].call < m->calls.n)
			has_work[m->works.at[i].call] = 1;
	for (size_t i = 0; i < m->calls.n; i++) {
		uint8_t category = m->calls.at[i].category;
		if (m->calls.at[i].is_captured)
			continue;
		m->n_calls_without_work += category_has_work(category) && !has_work[i];
		if (category != CAT_LAUNCH && category != CAT_GRAPH)
			continue;
		m->launches.n++;
		m->launches.n_captured += has_work[i];
		m->launches.n_lacking[LACK_UNKNOWN] += !has_work[i];
	}
	free(has_work);
	b->c->n_calls_without_work += m->n_calls_without_work;
	b->c->n_works_without_call += m->n_works_without_call;
}

static void describe(struct build *b)
{
	const struct trace *t = b->c->t;
	struct model_step *m = b->m;
	m->tables = &t->tables;
	m->frames = b->c->frames;
	m->pid = (uint32_t)t->pid;
	m->command = "";
	m->clock = (struct model_clock){ .realtime_ns = t->origin_ns };
	m->number = b->cut->number;
	m->action = SCHED_RECORD;
	m->is_traced = true;
	m->detector = cuts_detector(&b->c->cuts);
	m->is_whole_run = b->c->cuts.from == CUTS_NONE;
	m->begin_ns = b->cut->begin_ns;
	m->end_ns = b->cut->end_ns;
	uint64_t cpu_end_ns = b->c->cpu_end_ns;
	m->cpu_end_ns = cpu_end_ns < m->end_ns ? cpu_end_ns : m->end_ns;
}

void cutting_build(struct cutting *c, size_t i, struct model_step *m)
{
	struct build b = { .c = c, .cut = &c->cuts.at.at[i], .m = m };
	memset(m, 0, sizeof(*m));
	describe(&b);
	build_calls(&b);
	build_earlier(&b);
	build_works(&b, i);
	place_waits(&b);
	build_ranges(&b);
	build_operators(&b);
	build_samples(&b);
	live_blocks_build(&c->blocks, c->t, m, thread_in_step, &b);
	shapes_build(c, m, thread_in_step, &b);
	comms_build(c, m, thread_in_step, &b);
	if (m->ranges.n)
		qsort(m->ranges.at, m->ranges.n, sizeof(*m->ranges.at), ranges_by_thread);
	count_launches(&b);
	map_free(&b.thread_of);
	map_free(&b.base_of);
	map_free(&b.product_of);
	model_finish(m);
}
