/*
 * Walks threads. One track contains a thread's calls, and the ranges, operators and library calls
 * around them (spans). All of these nest; core/analysis/spans.h ensures this. Slices begin in order
 * of time. Before a slice begins, all slices that have ended by then are ended.
 */
#include "export/trace_walk_parts.h"

/* Position in a thread: indexes of the next call, span and mark. Each kind is ordered by start. */
struct thread_walk {
	struct walk *w;
	const struct model_thread *thread;
	const struct span_list *spans;
	size_t call, span, mark;
	uint64_t last_end_ns; /* end of the previous call */
	VEC(uint64_t) ends;   /* ends of the open slices, outermost first */
};

static void end_until(struct thread_walk *t, uint64_t ns)
{
	for (; t->ends.n && t->ends.at[t->ends.n - 1] <= ns; t->ends.n--)
		walk_end(t->w, t->ends.at[t->ends.n - 1]);
}

static void begin(struct thread_walk *t)
{
	walk_begin(t->w);
	vec_push(&t->ends, t->w->slice.end_ns);
}

static void begin_span(struct thread_walk *t, const struct span *s)
{
	struct walk *w = t->w;
	end_until(t, s->begin_ns);
	switch (s->kind) {
	case SPAN_RANGE:
		walk_range(w, &w->m->ranges.at[s->range]);
		break;
	case SPAN_LIBRARY:
		walk_library(w, &w->m->libraries.at[s->library]);
		break;
	default:
		walk_slice(w, TRACE_CATEGORY_OPERATOR, trace_word(&w->words, s->operator),
			   s->begin_ns, s->end_ns);
		w->slice.item = s->first_call;
		break;
	}
	w->slice.end_ns = s->end_ns;
	begin(t);
	t->span++;
}

static void begin_call(struct thread_walk *t, const struct model_call *c)
{
	uint64_t begin_ns;
	spans_clip(c, &begin_ns, &t->last_end_ns);
	end_until(t, begin_ns);
	walk_call(t->w, c, begin_ns, t->last_end_ns);
	begin(t);
	t->call++;
}

static void show_mark(struct thread_walk *t, const struct model_range *r)
{
	end_until(t, r->begin_ns);
	walk_range(t->w, r);
	walk_instant(t->w);
	t->mark++;
}

/* Returns true if the span is around the call. If both begin at the same time, the longer one is
 * around the other. */
static bool is_outer(const struct span *s, const struct model_call *c)
{
	return s->begin_ns < c->begin_ns || (s->begin_ns == c->begin_ns && s->end_ns >= c->end_ns);
}

/* Shows what begins next: a mark, a span or a call. Returns false if nothing is left. */
static bool show_next(struct thread_walk *t)
{
	const struct model_step *m = t->w->m;
	const struct span_list *spans = t->spans;
	const struct model_call *c =
		t->call < t->thread->n ? &m->calls.at[t->thread->first + t->call] : NULL;
	const struct span *s = t->span < spans->at.n ? &spans->at.at[t->span] : NULL;
	const struct model_range *mark =
		t->mark < spans->marks.n ? &m->ranges.at[spans->marks.at[t->mark]] : NULL;
	if (mark && (!c || mark->begin_ns < c->begin_ns) && (!s || mark->begin_ns < s->begin_ns))
		show_mark(t, mark);
	else if (s && (!c || is_outer(s, c)))
		begin_span(t, s);
	else if (c)
		begin_call(t, c);
	else
		return false;
	return true;
}

static void walk_thread(struct walk *w, size_t index)
{
	const struct model_thread *thread = &w->m->threads.at[index];
	char name[sizeof(thread->name) + 1];
	snprintf(name, sizeof(name), "%.*s", (int)sizeof(thread->name), thread->name);
	walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_THREAD,
					     .id = thread->tid,
					     .name = name,
					     .tid = thread->tid,
					     .begin_ns = w->m->begin_ns });
	struct thread_walk t = { .w = w,
				 .thread = thread,
				 .spans = &w->step->threads[index].spans };
	while (show_next(&t))
		;
	end_until(&t, UINT64_MAX);
	vec_free(&t.ends);
}

void walk_threads(struct walk *w)
{
	for (size_t i = 0; i < w->m->threads.n; i++) {
		walk_thread(w, i);
		walk_crossing_ranges(w, i);
	}
}
