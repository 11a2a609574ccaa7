/* See cuts.h. */
#include "core/source/kineto/cuts.h"

#include "core/source/kineto/annotated.h"
#include "core/source/kineto/api.h"
#include "core/source/kineto/launches.h"

#include <stdlib.h>
#include <string.h>

/* ---- Marked steps ---- */

static int steps_by_begin(const void *a, const void *b)
{
	const struct trace_step *x = a, *y = b;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns the thread that has the most steps: a trace may mark them on several threads. */
static uint32_t thread_of_steps(const struct trace *t)
{
	struct map n_of = { 0 };
	uint64_t most = 0;
	uint32_t found = 0;
	for (size_t i = 0; i < t->steps.n; i++) {
		uint64_t *n = map_at(&n_of, t->steps.at[i].thread, NULL);
		if (++*n > most) {
			most = *n;
			found = t->steps.at[i].thread;
		}
	}
	map_free(&n_of);
	return found;
}

/* A step lasts until the next one begins, if that is the next number. torch.profiler ends a step's
 * annotation a few microseconds before. */
static void take_marks(struct cuts *c, struct trace *t)
{
	uint32_t thread = thread_of_steps(t);
	if (t->steps.n)
		qsort(t->steps.at, t->steps.n, sizeof(*t->steps.at), steps_by_begin);
	for (size_t i = 0; i < t->steps.n; i++) {
		const struct trace_step *s = &t->steps.at[i];
		struct cut *last = c->at.n ? &c->at.at[c->at.n - 1] : NULL;
		if (s->thread != thread || (last && s->begin_ns <= last->begin_ns))
			continue;
		if (last && (s->number == last->number + 1 || s->begin_ns < last->end_ns))
			last->end_ns = s->begin_ns;
		vec_push(&c->at, (struct cut){ s->begin_ns, s->end_ns, s->number });
	}
	c->from = c->at.n ? CUTS_MARKED : CUTS_NONE;
}

/* ---- Annotations and launches ---- */

/* A step lasts until the next one begins. */
static void take_annotations(struct cuts *c, const struct annotated *a)
{
	for (size_t i = 0; i < a->spans.n; i++) {
		bool is_last = i + 1 == a->spans.n;
		vec_push(&c->at, (struct cut){ a->spans.at[i].begin_ns,
					       is_last ? a->spans.at[i].end_ns
						       : a->spans.at[i + 1].begin_ns,
					       i });
	}
	c->from = CUTS_ANNOTATED;
	c->annotation = a->name;
}

/* Returns whether the calls from `begin_ns` to `end_ns` launch nearly as much as a whole step. */
static bool is_whole(const struct cuts *c, const struct trace *t, uint64_t begin_ns,
		     uint64_t end_ns)
{
	static const double share_least = 0.9;
	double n = 0;
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct trace_call *x = &t->calls.at[i];
		uint8_t category = api_category(strtab_text(&t->tables.names, x->name));
		n += x->begin_ns >= begin_ns && x->begin_ns < end_ns &&
		     (RECORD_TOKENS >> category & 1);
	}
	return n >= share_least * c->found.calls_per_step;
}

/* The trace may begin and end in the middle of a step. */
static void take_launches(struct cuts *c, const struct trace *t, const struct step_search *s)
{
	if (is_whole(c, t, t->begin_ns, s->begins_ns.at[0]))
		vec_push(&c->at, (struct cut){ t->begin_ns, s->begins_ns.at[0], 0 });
	for (size_t i = 0; i < s->begins_ns.n; i++) {
		bool is_last = i + 1 == s->begins_ns.n;
		uint64_t end_ns = is_last ? t->end_ns + 1 : s->begins_ns.at[i + 1],
			 number = c->at.n;
		if (!is_last || is_whole(c, t, s->begins_ns.at[i], end_ns))
			vec_push(&c->at, (struct cut){ s->begins_ns.at[i], end_ns, number });
	}
	c->from = c->at.n ? CUTS_LAUNCHES : CUTS_NONE;
}

/*
 * If a single annotation contains the launches, the trace is probably of one iteration, and what
 * comes again in it, such as a model's layers, is no step: only a sure pattern of the launches
 * counts then.
 */
static void find_launches(struct cuts *c, const struct trace *t, const uint32_t *call_of,
			  bool is_annotated_once)
{
	struct step_search s;
	bool is_found = launches_find_steps(&s, t, call_of);
	c->found = s.choice;
	if (is_found &&
	    (!is_annotated_once ||
	     levels_sure_alone(s.choice.confidence, s.choice.boundary) >= LAUNCHES_SURE))
		take_launches(c, t, &s);
	step_search_free(&s);
}

void cuts_find(struct cuts *c, struct trace *t, const uint32_t *call_of)
{
	struct annotated a = { 0 };
	memset(c, 0, sizeof(*c));
	take_marks(c, t);
	if (!c->at.n)
		annotated_find(&a, t);
	if (a.spans.n > 1)
		take_annotations(c, &a);
	if (!c->at.n)
		find_launches(c, t, call_of, a.spans.n);
	annotated_free(&a);
	if (!c->at.n)
		vec_push(&c->at, (struct cut){ t->begin_ns, t->end_ns + 1, 0 });
}

void cuts_free(struct cuts *c)
{
	vec_free(&c->at);
}

size_t cuts_index(const struct cuts *c, uint64_t ns)
{
	size_t i = bisect(c->at.n, k, c->at.at[k].begin_ns <= ns);
	return i && ns < c->at.at[i - 1].end_ns ? i - 1 : c->at.n;
}

double cuts_confidence(const struct cuts *c)
{
	return c->from == CUTS_LAUNCHES ? levels_sure_alone(c->found.confidence, c->found.boundary)
					: 1;
}

const char *cuts_detector(const struct cuts *c)
{
	static const char *const names[] = { [CUTS_NONE] = "none",
					     [CUTS_MARKED] = "ProfilerStep",
					     [CUTS_ANNOTATED] = "annotation",
					     [CUTS_LAUNCHES] = "auto" };
	return names[c->from];
}
