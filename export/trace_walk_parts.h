/*
 * Shared by the parts of the walk, which are the only files that include this header: trace_walk.c
 * (the process, the step, counters, notes), trace_walk_critical.c (the critical path),
 * trace_walk_threads.c (threads), trace_walk_calls.c (calls of a thread), trace_walk_ranges.c
 * (NVTX), trace_walk_libraries.c, trace_walk_phases.c (phases, modules), trace_walk_samples.c,
 * trace_walk_gpu.c (streams), trace_walk_idle.c, trace_walk_overheads.c and trace_walk_tools.c.
 */
#ifndef EXPORT_TRACE_WALK_PARTS_H
#define EXPORT_TRACE_WALK_PARTS_H

#include "export/trace_stacks.h"
#include "export/trace_walk.h"

struct walk {
	const struct trace_visitor *visitor;
	void *context;
	const struct analyzed_step *step;
	const struct model_step *m; /* step->model */
	struct trace_words words;
	struct trace_stacks stacks;
	uint64_t now_ns; /* time of the track's last event; time never runs backwards within a
			  * track */
	/* Groups of tracks, one per device, if there are several devices. A single device has no
	 * group, because the UI would show the group closed. */
	struct trace_track *gpus; /* index: the device */
	bool has_one_device;
	/* the slice that is being made */
	struct trace_slice slice;
	struct trace_arg args[TRACE_ARGS_MOST];
};

/* Begins a track. The events that follow belong to this track. */
static inline void walk_track(struct walk *w, const struct trace_track *t)
{
	w->now_ns = t->begin_ns;
	if (w->visitor->track)
		w->visitor->track(w->context, t);
}

/* ---- A slice: first walk_slice() or walk_slice_named(), then arguments, then walk_begin() ---- */

static inline void walk_slice(struct walk *w, enum trace_category category, uint32_t word,
			      uint64_t begin_ns, uint64_t end_ns)
{
	w->slice = (struct trace_slice){ .begin_ns = begin_ns,
					 .end_ns = end_ns,
					 .word = word,
					 .category = category,
					 .item = TRACE_NO_ITEM,
					 .args = w->args };
}

/* Like walk_slice(), for a name that occurs once or rarely. `text` must stay valid until the slice
 * has begun. */
static inline void walk_slice_named(struct walk *w, enum trace_category category, const char *text,
				    uint64_t begin_ns, uint64_t end_ns)
{
	walk_slice(w, category, 0, begin_ns, end_ns);
	w->slice.text = text;
}

static inline struct trace_arg *walk_arg(struct walk *w, enum trace_arg_name name,
					 enum trace_arg_kind kind)
{
	struct trace_arg *arg = &w->args[w->slice.n_args++];
	arg->name = (uint8_t)name;
	arg->kind = (uint8_t)kind;
	return arg;
}

static inline void walk_uint(struct walk *w, enum trace_arg_name name, uint64_t value)
{
	walk_arg(w, name, TRACE_UINT)->uint = value;
}

static inline void walk_pointer(struct walk *w, enum trace_arg_name name, uint64_t value)
{
	walk_arg(w, name, TRACE_POINTER)->uint = value;
}

static inline void walk_double(struct walk *w, enum trace_arg_name name, double value)
{
	walk_arg(w, name, TRACE_DOUBLE)->real = value;
}

static inline void walk_text(struct walk *w, enum trace_arg_name name, const char *text)
{
	walk_arg(w, name, TRACE_TEXT)->text = text;
}

/* Adds a word as an argument, or nothing if `word` is 0. */
static inline void walk_word(struct walk *w, enum trace_arg_name name, uint32_t word)
{
	if (word)
		walk_arg(w, name, TRACE_WORD)->word = word;
}

static inline void walk_triple(struct walk *w, enum trace_arg_name name, const uint32_t value[3])
{
	walk_arg(w, name, TRACE_TRIPLE)->triple = value;
}

/* Adds the number of bytes as an argument, and GB/s if the duration `ns` is not 0. */
void walk_bytes(struct walk *w, uint64_t bytes, uint64_t ns);

/* Moves the slice so that the track's time does not run backwards. */
static inline void walk_keep_time(struct walk *w)
{
	struct trace_slice *s = &w->slice;
	s->begin_ns = s->begin_ns > w->now_ns ? s->begin_ns : w->now_ns;
	s->end_ns = s->end_ns > s->begin_ns ? s->end_ns : s->begin_ns;
	w->now_ns = s->begin_ns;
}

static inline void walk_begin(struct walk *w)
{
	walk_keep_time(w);
	if (w->visitor->slice)
		w->visitor->slice(w->context, &w->slice);
}

/* Ends the innermost open slice. */
static inline void walk_end(struct walk *w, uint64_t ns)
{
	w->now_ns = ns > w->now_ns ? ns : w->now_ns;
	if (w->visitor->slice_end)
		w->visitor->slice_end(w->context, w->now_ns);
}

/* Begins and ends a slice that contains no other slice. */
static inline void walk_leaf(struct walk *w)
{
	walk_begin(w);
	walk_end(w, w->slice.end_ns);
}

static inline void walk_instant(struct walk *w)
{
	walk_keep_time(w);
	if (w->visitor->instant)
		w->visitor->instant(w->context, &w->slice);
}

/* ---- The parts ---- */

/* Makes a call's slice, which the caller then begins. */
void walk_call(struct walk *w, const struct model_call *c, uint64_t begin_ns, uint64_t end_ns);
/* Makes a range's slice, or a mark's instant. */
void walk_range(struct walk *w, const struct model_range *r);
void walk_library(struct walk *w, const struct model_library *l);

void walk_critical(struct walk *w);
void walk_phases(struct walk *w);
void walk_modules(struct walk *w);
void walk_threads(struct walk *w);
void walk_samples(struct walk *w);
/* Walks those ranges of a thread that cross other ranges. They get separate tracks. */
void walk_crossing_ranges(struct walk *w, size_t thread);
void walk_started_ranges(struct walk *w);
void walk_gpus(struct walk *w);
/* `rank`: position of the next track below its parent. The function advances it with each track. */
void walk_idle(struct walk *w, uint32_t *rank);
void walk_overheads(struct walk *w);

/* Returns the device's group, or NULL if the device's tracks are directly below the process. */
const struct trace_track *walk_gpu_group(const struct walk *w, uint32_t device);

#endif
