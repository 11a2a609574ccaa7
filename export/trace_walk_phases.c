/*
 * Walks two kinds of tracks whose content is found from stacks alone. The step's phases get one
 * track for the main lane of threads, and one for each other lane that has phases. The modules that
 * were called are in a group, which the UI shows closed.
 */
#include "export/trace_walk_parts.h"

/* ---- Phases ---- */

static bool is_same_phase(const struct phase_span *a, const struct phase_span *b)
{
	return phase_of_part(a->part) == phase_of_part(b->part);
}

static void begin_slice(struct walk *w, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	walk_slice_named(w, TRACE_CATEGORY_PHASE, name, begin_ns, end_ns);
	walk_begin(w);
}

/* Shows `n` spans of one phase as one slice. Parts that have a name are slices within it. */
static void walk_phase(struct walk *w, const struct phase_span *at, size_t n)
{
	begin_slice(w, phase_name(phase_of_part(at->part)), at->begin_ns, at[n - 1].end_ns);
	for (size_t i = 0; i < n; i++) {
		const char *part = phase_part_name(at[i].part);
		if (!*part)
			continue;
		begin_slice(w, part, at[i].begin_ns, at[i].end_ns);
		walk_end(w, at[i].end_ns);
	}
	walk_end(w, at[n - 1].end_ns);
}

static void walk_lane(struct walk *w, const struct phase_lane *lane)
{
	const struct phase_span *at = &w->step->phases->spans.at[lane->first];
	for (size_t i = 0, n; i < lane->n; i += n) {
		for (n = 1; i + n < lane->n && is_same_phase(&at[i], &at[i + n]); n++)
			;
		walk_phase(w, &at[i], n);
	}
}

void walk_phases(struct walk *w)
{
	char name[64] = "Phases";
	for (size_t i = 0; i < w->step->phases->lanes.n; i++) {
		const struct phase_lane *lane = &w->step->phases->lanes.at[i];
		const struct model_thread *thread = &w->m->threads.at[lane->thread];
		if (!lane->has_phases)
			continue;
		if (i)
			snprintf(name, sizeof(name), "Phases, %.16s %u", thread->name, thread->tid);
		walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_PHASES,
						     .id = i ? thread->tid : 0,
						     .name = name,
						     .tid = thread->tid,
						     .begin_ns = w->m->begin_ns });
		walk_lane(w, lane);
	}
}

/* ---- Modules ---- */

static void walk_list(struct walk *w, const struct module_list *modules)
{
	VEC(uint64_t) ends = { 0 };
	for (size_t i = 0; i < modules->at.n; i++) {
		const struct module_span *s = &modules->at.at[i];
		for (; ends.n > s->depth; ends.n--)
			walk_end(w, ends.at[ends.n - 1]);
		walk_slice(w, TRACE_CATEGORY_MODULE, trace_word(&w->words, s->name), s->begin_ns,
			   s->end_ns);
		walk_uint(w, TRACE_ARG_CALLS, s->n_calls);
		walk_begin(w);
		vec_push(&ends, s->end_ns);
	}
	for (; ends.n; ends.n--)
		walk_end(w, ends.at[ends.n - 1]);
	vec_free(&ends);
}

void walk_modules(struct walk *w)
{
	const struct trace_track group = { .kind = TRACE_TRACK_MODULES,
					   .name = "Modules",
					   .is_group = true };
	char name[64];
	bool has_group = false;
	for (size_t i = 0; i < w->m->threads.n; i++) {
		const struct model_thread *thread = &w->m->threads.at[i];
		const struct module_list *modules = &w->step->threads[i].modules;
		if (!modules->at.n)
			continue;
		if (!has_group)
			walk_track(w, &group);
		has_group = true;
		snprintf(name, sizeof(name), "nn.Module, %.16s %u", thread->name, thread->tid);
		walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_MODULES,
						     .id = thread->tid,
						     .name = name,
						     .parent = &group,
						     .tid = thread->tid,
						     .begin_ns = w->m->begin_ns });
		walk_list(w, modules);
	}
}
