/* See critical_spans.h. */
#include "core/whatif/critical_spans.h"

#include "core/util/memory_limit.h"

/* ---- From links to spans ---- */

static bool is_gpu(uint8_t kind)
{
	return kind == CRITICAL_KERNEL || kind == CRITICAL_COPY || kind == CRITICAL_COLLECTIVE ||
	       kind == CRITICAL_DELAY;
}

static struct critical_span span_of(const struct timeline *t, const struct critical_link *l)
{
	struct critical_span s = {
		.begin_ns = l->begin_ns, .end_ns = l->end_ns, .count = 1, .kind = l->kind
	};
	bool is_short = l->end_ns - l->begin_ns < CRITICAL_SHOWN_NS;
	if (l->kind == CRITICAL_CALL)
		s.kind = CRITICAL_CPU;
	else if (is_gpu(l->kind) && is_short)
		s.kind = CRITICAL_KERNEL;
	else if (is_gpu(l->kind) && l->kind != CRITICAL_DELAY)
		s.name = t->works.at[l->work].name;
	if (l->work != REPLAY_NONE && !(is_gpu(l->kind) && is_short))
		s.site = timeline_line(t, &t->works.at[l->work]);
	else if (l->kind == CRITICAL_WAIT)
		s.site = t->calls.at[l->call].site;
	return s;
}

/* Returns whether both are one span: CPU code with its calls, or short GPU work. */
static bool is_one(const struct critical_span *a, const struct critical_span *b)
{
	return a->kind == b->kind && !a->name && !b->name &&
	       (a->kind == CRITICAL_CPU || a->kind == CRITICAL_KERNEL);
}

/* A short delay is part of the short work around it. It makes no span between long work. */
static bool is_left_out(const struct critical_span *last, const struct critical_link *l)
{
	return l->kind == CRITICAL_DELAY && l->end_ns - l->begin_ns < CRITICAL_SHOWN_NS &&
	       !(last && last->kind == CRITICAL_KERNEL && !last->name);
}

static void add_link(struct critical_spans *s, const struct timeline *t,
		     const struct critical_link *l)
{
	struct critical_span *last = s->at.n ? &s->at.at[s->at.n - 1] : NULL;
	struct critical_span span = span_of(t, l);
	if (is_left_out(last, l))
		return;
	if (!last || !is_one(last, &span)) {
		vec_push(&s->at, span);
		return;
	}
	last->end_ns = span.end_ns;
	last->count++;
}

/* ---- A step ---- */

static void add_before(struct critical_before *b, const struct timeline *t,
		       const struct timeline_step *step)
{
	for (uint32_t i = step->first_work; i < step->first_work + step->n_work; i++) {
		const struct timeline_work *w = &t->works.at[i];
		vec_at_id(&b->stream_end_ns, w->stream);
		if (w->end_ns > b->stream_end_ns.at[w->stream])
			b->stream_end_ns.at[w->stream] = w->end_ns;
	}
}

static void choose_lane(struct critical_spans *s)
{
	uint64_t begin_ns = s->path.links.at[0].begin_ns;
	s->lane = 0;
	while (s->lane < s->lane_end_ns.n && s->lane_end_ns.at[s->lane] > begin_ns)
		s->lane++;
	vec_at_id(&s->lane_end_ns, s->lane);
	s->lane_end_ns.at[s->lane] = s->path.links.at[s->path.links.n - 1].end_ns;
}

/* The model takes about 200 bytes per launch, and the collector's memory has a limit. */
static bool has_room(const struct timeline_step *step)
{
	return step->n_calls <= REPLAY_OPS_MOST && !memory_limit_is_near();
}

void critical_spans_find(struct critical_spans *s, const struct timeline *t)
{
	const struct timeline_step *step = &t->steps.at[t->steps.n - 1];
	s->at.n = s->path.links.n = 0;
	if (has_room(step)) {
		struct replay r;
		replay_build_steps(&r, t, t->steps.n - 1, 1);
		if (r.runs.n)
			critical_find(&s->path, &r, 0, &s->before);
		replay_free(&r);
	}
	add_before(&s->before, t, step);
	for (size_t i = 0; i < s->path.links.n; i++)
		add_link(s, t, &s->path.links.at[i]);
	if (s->path.links.n)
		choose_lane(s);
}

void critical_spans_free(struct critical_spans *s)
{
	vec_free(&s->at);
	vec_free(&s->lane_end_ns);
	vec_free(&s->before.stream_end_ns);
	critical_free(&s->path);
}
