/*
 * Threads: their calls, and around these the ranges and operators that they lie in, all on one track. What is on it nests (core/analysis/spans.h
 * sees to that), so it is written as a walk: whatever begins next is begun once all that has ended by then is ended.
 */
#include "export/perfetto_trace.h"

/* ---- Calls ---- */

static const struct blob *launch_blob(struct trace *t, uint32_t launch)
{
	struct blob *blob = &t->launches[launch];
	if (!blob->n) {
		const struct launch_entry *l = &t->m->dict->launches.at[launch];
		struct pb b = { blob->bytes, blob->bytes, blob->bytes + sizeof(blob->bytes) };
		perfetto_arg_interned(&b, PERFETTO_ARG_KERNEL, perfetto_name(l->name) + 1);
		perfetto_arg_triple(&b, PERFETTO_ARG_GRID, l->grid);
		perfetto_arg_triple(&b, PERFETTO_ARG_BLOCK, l->block);
		if (l->shared_bytes)
			perfetto_arg_uint(&b, PERFETTO_ARG_SHARED, l->shared_bytes);
		blob->n = (uint8_t)pb_used(&b);
	}
	return blob;
}

static void write_call_facts(struct trace *t, const struct model_call *c)
{
	static const char *const copies[] = { NULL, "HtoD", "DtoH", "DtoD", "HtoH", "PtoP" };
	struct pb *b = &t->w.out;
	switch (c->category) {
	case CAT_LAUNCH:
		if (c->launch) {
			const struct blob *blob = launch_blob(t, c->launch - 1);
			memcpy(b->at, blob->bytes, blob->n);
			b->at += blob->n;
		}
		break;
	case CAT_MEMCPY:
		if (c->copy < sizeof(copies) / sizeof(*copies) && copies[c->copy])
			perfetto_arg_string(b, PERFETTO_ARG_KIND, copies[c->copy]);
		perfetto_write_bytes(b, c->bytes, 0);
		break;
	case CAT_MEMSET:
	case CAT_PREFETCH:
		perfetto_write_bytes(b, c->bytes, 0);
		break;
	case CAT_ALLOC:
	case CAT_FREE:
		perfetto_arg_pointer(b, PERFETTO_ARG_ADDRESS, c->handle);
		if (c->bytes)
			perfetto_write_bytes(b, c->bytes, 0);
		break;
	default:
		if (c->handle)
			perfetto_arg_pointer(b, PERFETTO_ARG_HANDLE, c->handle);
		break;
	}
	if (category_has_work(c->category) || c->stream)
		perfetto_arg_pointer(b, PERFETTO_ARG_STREAM, c->stream);
}

static void write_call(struct trace *t, const struct model_call *c)
{
	struct pb *b = &t->w.out;
	struct perfetto_stack *stack = perfetto_stack(&t->stacks, &t->w, c->stack);
	uint32_t api = perfetto_arg_text(
		&t->w, perfetto_name(t->m->dict->entry_point_names[c->entry_point]));
	if (c->launch)
		perfetto_arg_text(&t->w,
				  perfetto_name(t->m->dict->launches.at[c->launch - 1].name));
	perfetto_stack_define(&t->w, stack);
	uint32_t line = stack->word[STACK_WORD_LINE]
				? 0
				: perfetto_line_of_call(&t->stacks, &t->w, c,
							t->step->forward_site[c - t->m->calls.at]);
	if (line)
		line = perfetto_arg_text(&t->w, line);
	struct perfetto_place place = perfetto_event_begin(
		&t->w, c->begin_ns, TYPE_BEGIN, perfetto_name(c->name),
		perfetto_category(c->category), PERFETTO_EVENT_EXTRA + (size_t)c->n_work * 10);
	perfetto_stack_write(b, stack);
	if (line)
		perfetto_arg_interned(b, PERFETTO_ARG_LINE, line);
	perfetto_arg_interned(b, PERFETTO_ARG_API, api);
	write_call_facts(t, c);
	if (c->correlation)
		perfetto_arg_uint(b, PERFETTO_ARG_CORRELATION, c->correlation);
	if (c->device != DEVICE_UNKNOWN && category_has_work(c->category))
		perfetto_arg_uint(b, PERFETTO_ARG_DEVICE, c->device);
	if (c->status)
		perfetto_arg_uint(b, PERFETTO_ARG_STATUS, c->status);
	if (c->is_captured)
		perfetto_arg_uint(b, PERFETTO_ARG_CAPTURED, 1);
	if (c->polls)
		perfetto_arg_uint(b, PERFETTO_ARG_POLLS, c->polls);
	for (uint32_t k = 0; k < c->n_work; k++)
		pb_fixed64(b, EVENT_FLOW_IDS, t->flow + t->m->links.at[c->first_link + k]);
	perfetto_event_end(&t->w, place);
}

/* ---- The walk ---- */

/* What is left of a thread, each kind in the order of its begin. */
struct walk {
	struct trace *t;
	const struct model_thread *thread;
	const struct span_list *spans;
	size_t call, span, mark;
	uint64_t last_end_ns;
	VEC(uint64_t) ends; /* of what is open, outermost first */
};

static void end_until(struct walk *w, uint64_t ns)
{
	for (; w->ends.n && w->ends.at[w->ends.n - 1] <= ns; w->ends.n--)
		perfetto_slice_end(&w->t->w, w->ends.at[w->ends.n - 1]);
}

static void begin_span(struct walk *w, const struct span *s)
{
	struct trace *t = w->t;
	end_until(w, s->begin_ns);
	if (s->kind == SPAN_RANGE) {
		perfetto_write_range(t, &t->m->ranges.at[s->range]);
	} else if (s->kind == SPAN_LIBRARY) {
		perfetto_write_library(t, &t->m->libraries.at[s->library]);
	} else {
		uint32_t word = perfetto_word(&t->w, s->operator);
		perfetto_event_end(&t->w,
				   perfetto_event_begin(&t->w, s->begin_ns, TYPE_BEGIN, word,
							perfetto_category(PLACE_OPERATOR), 0));
	}
	vec_push(&w->ends, s->end_ns);
	w->span++;
}

static void begin_call(struct walk *w, const struct model_call *c)
{
	uint64_t begin_ns;
	spans_clip(c, &begin_ns, &w->last_end_ns);
	end_until(w, begin_ns);
	write_call(w->t, c);
	vec_push(&w->ends, w->last_end_ns);
	w->call++;
}

static void write_mark(struct walk *w, const struct model_range *r)
{
	end_until(w, r->begin_ns);
	perfetto_write_range(w->t, r);
	w->mark++;
}

/* Of a call and a span that begin together, the longer one is the outer one. */
static bool is_outer(const struct span *s, const struct model_call *c)
{
	return s->begin_ns < c->begin_ns || (s->begin_ns == c->begin_ns && s->end_ns >= c->end_ns);
}

static bool step(struct walk *w)
{
	const struct model_step *m = w->t->m;
	const struct span_list *spans = w->spans;
	const struct model_call *c =
		w->call < w->thread->n ? &m->calls.at[w->thread->first + w->call] : NULL;
	const struct span *s = w->span < spans->at.n ? &spans->at.at[w->span] : NULL;
	const struct model_range *mark =
		w->mark < spans->marks.n ? &m->ranges.at[spans->marks.at[w->mark]] : NULL;
	if (mark && (!c || mark->begin_ns < c->begin_ns) && (!s || mark->begin_ns < s->begin_ns))
		write_mark(w, mark);
	else if (s && (!c || is_outer(s, c)))
		begin_span(w, s);
	else if (c)
		begin_call(w, c);
	else
		return false;
	return true;
}

static void write_thread(struct trace *t, size_t index)
{
	struct pb *b = &t->w.out;
	const struct model_thread *thread = &t->m->threads.at[index];
	uint64_t uuid = perfetto_track_uuid(t, TRACK_KIND_THREAD, thread->tid);
	struct perfetto_place place = perfetto_track_begin(
		&t->w, uuid, perfetto_track_uuid(t, TRACK_KIND_PROCESS, 0), NULL);
	uint8_t *body = pb_begin(b, TRACK_THREAD);
	pb_uint(b, THREAD_PID, t->m->pid);
	pb_uint(b, THREAD_TID, thread->tid);
	if (thread->name[0])
		pb_bytes(b, THREAD_NAME, thread->name, strnlen(thread->name, sizeof(thread->name)));
	pb_end(b, body);
	perfetto_track_end(&t->w, place);
	perfetto_sequence(&t->w, uuid, t->m->begin_ns);
	struct walk w = { .t = t, .thread = thread, .spans = &t->step->threads[index].spans };
	while (step(&w))
		;
	end_until(&w, UINT64_MAX);
	vec_free(&w.ends);
}

void perfetto_write_threads(struct trace *t)
{
	for (size_t i = 0; i < t->m->threads.n; i++) {
		write_thread(t, i);
		perfetto_write_ranges_beside(t, i);
	}
}
