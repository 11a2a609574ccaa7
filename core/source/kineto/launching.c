/* See launching.h. */
#include "core/source/kineto/launching.h"

#include "core/source/kineto/api.h"

#include <stdlib.h>
#include <string.h>

static int by_thread_and_time(const void *a, const void *b)
{
	const struct trace_span *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static const struct trace_span *span_at(const void *at, size_t bytes, size_t i)
{
	return (const void *)((const char *)at + i * bytes);
}

/* Returns whether a call within the span launches work. */
static bool has_launch(const struct trace *t, const struct trace_span *x)
{
	size_t i = bisect(t->calls.n, k,
			  t->calls.at[k].thread < x->thread ||
				  (t->calls.at[k].thread == x->thread &&
				   t->calls.at[k].begin_ns < x->begin_ns));
	for (; i < t->calls.n && t->calls.at[i].thread == x->thread &&
	       t->calls.at[i].end_ns <= x->end_ns;
	     i++)
		if (category_has_work(
			    api_category(strtab_text(&t->tables.names, t->calls.at[i].name))))
			return true;
	return false;
}

size_t launching_keep(const struct trace *t, void *at, size_t n, size_t bytes)
{
	size_t kept = 0;
	if (n)
		qsort(at, n, bytes, by_thread_and_time);
	for (size_t i = 0; i < n; i++) {
		const struct trace_span *x = span_at(at, bytes, i);
		if (!has_launch(t, x))
			continue;
		while (kept && span_at(at, bytes, kept - 1)->thread == x->thread &&
		       span_at(at, bytes, kept - 1)->end_ns >= x->end_ns)
			kept--;
		memmove((char *)at + kept++ * bytes, x, bytes);
	}
	return kept;
}

bool launching_next(struct launching_part *p, const void *at, size_t n, size_t bytes,
		    uint64_t begin_ns, uint64_t end_ns)
{
	while (p->next < n) {
		size_t from = p->next, all = n - from;
		uint32_t thread = span_at(at, bytes, from)->thread;
		const void *of = span_at(at, bytes, from);
		size_t end = bisect(all, i, span_at(of, bytes, i)->thread <= thread);
		p->first = from + bisect(end, i, span_at(of, bytes, i)->begin_ns < begin_ns);
		p->last = from + bisect(end, i, span_at(of, bytes, i)->begin_ns < end_ns);
		p->next = from + end;
		if (p->first < p->last)
			return true;
	}
	return false;
}
