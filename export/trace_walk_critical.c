/* Walks the step's critical path, one slice per span. Each moment of the step is in one slice, or
 * in a gap of less than CRITICAL_SHOWN_NS between two pieces of GPU work. */
#include "export/trace_walk_parts.h"

#include "core/whatif/critical_spans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the word "kernel: NAME". The name alone would make a query that counts slices by name
 * count the kernel twice. */
static uint32_t word_of(struct walk *w, const struct critical_span *s)
{
	const char *kind = critical_kinds[s->kind].noun,
		   *name = trace_word_text(&w->words, trace_word_of_name(s->name));
	size_t bytes = strlen(kind) + strlen(name) + sizeof(": ");
	char *text = mem_resize(NULL, bytes);
	snprintf(text, bytes, "%s: %s", kind, name);
	uint32_t word = trace_word(&w->words, text);
	free(text);
	return word;
}

static void walk_span(struct walk *w, const struct critical_span *s)
{
	bool is_short_work = s->kind == CRITICAL_KERNEL && !s->name;
	if (s->name)
		walk_slice(w, TRACE_CATEGORY_CRITICAL, word_of(w, s), s->begin_ns, s->end_ns);
	else
		walk_slice_named(w, TRACE_CATEGORY_CRITICAL,
				 is_short_work ? "short GPU work" : critical_kinds[s->kind].noun,
				 s->begin_ns, s->end_ns);
	if (s->site)
		walk_word(w, TRACE_ARG_LINE, trace_line_of_site(&w->stacks, s->site));
	if (is_short_work)
		walk_uint(w, TRACE_ARG_COUNT, s->count);
	walk_leaf(w);
}

void walk_critical(struct walk *w)
{
	const struct critical_spans *spans = w->step->critical;
	if (!spans || !spans->at.n)
		return;
	walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_CRITICAL,
					     .id = spans->lane,
					     .name = "Critical path",
					     .begin_ns = w->m->begin_ns });
	for (size_t i = 0; i < spans->at.n; i++)
		walk_span(w, &spans->at.at[i]);
}
