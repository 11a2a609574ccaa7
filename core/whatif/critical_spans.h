/* The critical path of one step alone, as a trace shows it: with few spans, even if the path has a
 * link for each launch. */
#ifndef CORE_CRITICAL_SPANS_H
#define CORE_CRITICAL_SPANS_H

#include "core/whatif/critical.h"

/* Shorter GPU work, and a shorter delay of GPU work, has no span of its own. */
enum { CRITICAL_SHOWN_NS = 10000 };

/* Spans do not overlap. Between two of them there is at most a short delay of GPU work. */
struct critical_span {
	uint64_t begin_ns, end_ns;
	uint32_t name;	/* in tables->names: of GPU work; 0: the span is named after its kind */
	uint32_t site;	/* the line of GPU work or of a waiting call; 0: none, or not known */
	uint32_t count; /* links in it */
	/* enum critical_kind; CRITICAL_CPU: CUDA calls, too; CRITICAL_KERNEL without a name: any
	 * short GPU work */
	uint8_t kind;
};

struct critical_spans {
	VEC(struct critical_span) at; /* in order of time */
	/* The path may end after the step, when the next one has begun. Paths of steps with the
	 * same lane do not overlap. */
	uint32_t lane;
	/* private: */
	VEC(uint64_t) lane_end_ns;
	struct critical_path path;
	struct critical_before before;
};

/*
 * Finds the spans of the timeline's newest step. Steps must be given in order of time, because the
 * GPU work of a step may wait for that of steps before it. There are none if the step cannot be
 * replayed, has more than REPLAY_OPS_MOST calls, or memory is short.
 */
void critical_spans_find(struct critical_spans *s, const struct timeline *t);
void critical_spans_free(struct critical_spans *s);

#endif
