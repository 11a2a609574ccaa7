/*
 * Walks the host samples of each thread, on a track of its own: the functions that were seen on the
 * thread's stack, outermost first, as slices that nest. A function's slice lasts as long as samples
 * that follow each other show it. The category says that these slices are sampled: unlike all other
 * slices, their edges are estimates.
 */
#include "export/trace_walk_parts.h"

#include "core/analysis/host_kinds.h"
#include "core/util/path.h"

enum {
	/* Samples further apart do not belong together. By default they are 1 ms apart, and up to 2
	 * ms if the machine is busy; threads are not sampled during their CUDA calls. */
	TOGETHER_NS = 5000000,
	/* how far the first and the last sample of a run reach */
	REACH_NS = 500000,
	FRAMES_MOST = 128,
};

struct sampled {
	uint64_t begin_ns, end_ns;
	struct frame_list frames;
	const char *state; /* what the thread did in the innermost function; NULL: it ran */
};

struct samples {
	struct walk *w;
	struct sampled *at;
};

/* Returns the function of the sample at this depth, from 0 for the outermost; NULL: none. */
static const struct frame *frame_at(const struct sampled *s, size_t depth)
{
	return depth < s->frames.n ? s->frames.at[s->frames.n - 1 - depth] : NULL;
}

static bool is_same(const struct frame *a, const struct frame *b)
{
	return a == b || (a && b && !strcmp(a->function, b->function) && !strcmp(a->file, b->file));
}

static bool is_same_state(const struct sampled *a, const struct sampled *b)
{
	return a->state == b->state;
}

/* Walks what the thread did in its innermost function, if it did not run. */
static void walk_states(struct samples *s, size_t first, size_t end)
{
	for (size_t i = first, n; i < end; i = n) {
		for (n = i + 1; n < end && is_same_state(&s->at[i], &s->at[n]); n++)
			;
		if (!s->at[i].state)
			continue;
		walk_slice_named(s->w, TRACE_CATEGORY_SAMPLE, s->at[i].state, s->at[i].begin_ns,
				 s->at[n - 1].end_ns);
		walk_leaf(s->w);
	}
}

static void walk_functions(struct samples *s, size_t first, size_t end, size_t depth)
{
	char line[512];
	for (size_t i = first, n; i < end; i = n) {
		const struct frame *frame = frame_at(&s->at[i], depth);
		for (n = i + 1; n < end && is_same(frame, frame_at(&s->at[n], depth)); n++)
			;
		if (!frame || depth == FRAMES_MOST) {
			walk_states(s, i, n);
			continue;
		}
		walk_slice_named(s->w, TRACE_CATEGORY_SAMPLE, frame->function, s->at[i].begin_ns,
				 s->at[n - 1].end_ns);
		if (frame->line)
			snprintf(line, sizeof(line), "%s:%u", path_base(frame->file), frame->line);
		else
			snprintf(line, sizeof(line), "%s", frame->module);
		walk_text(s->w, TRACE_ARG_LINE, line);
		walk_uint(s->w, TRACE_ARG_SAMPLES, n - i);
		walk_begin(s->w);
		walk_functions(s, i, n, depth + 1);
		walk_end(s->w, s->at[n - 1].end_ns);
	}
}

/* Returns what the thread did, NULL if it ran. */
static const char *state_of(const struct model_sample *s)
{
	enum host_kind kind = host_kind_of(s->state, s->flags, true, 0);
	return kind == HOST_PYTHON ? NULL : host_kinds[kind].noun;
}

/* Walks `n` samples that belong together. Each one lasts from the middle between it and the sample
 * before to the middle between it and the next one. */
static void walk_run(struct walk *w, const struct model_sample *from, size_t n)
{
	struct samples s = { .w = w, .at = mem_zero(n * sizeof(*s.at)) };
	for (size_t i = 0; i < n; i++) {
		uint64_t ns = from[i].ns, before_ns = REACH_NS, after_ns = REACH_NS;
		if (i)
			before_ns = ns - s.at[i - 1].end_ns;
		if (i + 1 < n)
			after_ns = (from[i + 1].ns - ns) / 2;
		if (ns < w->m->begin_ns + before_ns)
			before_ns = ns - w->m->begin_ns;
		if (ns + after_ns > w->m->end_ns)
			after_ns = w->m->end_ns > ns ? w->m->end_ns - ns : 0;
		s.at[i] = (struct sampled){ .begin_ns = ns - before_ns,
					    .end_ns = ns + after_ns,
					    .state = state_of(&from[i]) };
		if (w->m->frames && from[i].stack)
			s.at[i].frames = frames_of(w->m->frames, from[i].stack);
	}
	walk_functions(&s, 0, n, 0);
	free(s.at);
}

static void begin_track(struct walk *w, uint32_t thread)
{
	char name[64];
	const struct model_thread *t = &w->m->threads.at[thread];
	snprintf(name, sizeof(name), "Samples, %.16s %u", t->name, t->tid);
	walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_SAMPLES,
					     .id = t->tid,
					     .name = name,
					     .tid = t->tid,
					     .begin_ns = w->m->begin_ns });
}

void walk_samples(struct walk *w)
{
	const struct model_step *m = w->m;
	for (size_t i = 0, n; i < m->samples.n; i += n) {
		const struct model_sample *s = &m->samples.at[i];
		if (!i || s->thread != s[-1].thread)
			begin_track(w, s->thread);
		for (n = 1; i + n < m->samples.n && s[n].thread == s->thread &&
			    s[n].ns - s[n - 1].ns <= TOGETHER_NS;)
			n++;
		walk_run(w, s, n);
	}
}
