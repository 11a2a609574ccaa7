/*
 * Finds the steps of a trace. The first of these that the trace has: its marks (ProfilerStep#N); an
 * annotation of the program that comes again and again and contains the launches; a pattern of the
 * launches.
 */
#ifndef CORE_KINETO_CUTS_H
#define CORE_KINETO_CUTS_H

#include "core/source/kineto/trace.h"
#include "core/steps/levels.h"

/* One step of the trace, or the whole trace. */
struct cut {
	uint64_t begin_ns, end_ns, number;
};

enum cuts_from {
	CUTS_NONE, /* no steps: the only cut is the whole trace */
	CUTS_MARKED,
	CUTS_ANNOTATED,
	CUTS_LAUNCHES,
};

struct cuts {
	VEC(struct cut) at; /* sorted by time, at least one */
	enum cuts_from from;
	/* CUTS_ANNOTATED: what the annotations of the steps have in common, in `tables.names` */
	uint32_t annotation;
	struct level_choice found; /* CUTS_LAUNCHES */
};

/*
 * `t`: sorted by nest_find(). `call_of`: of each work its index in t->calls, or MODEL_NO_CALL. Free
 * it with cuts_free().
 */
void cuts_find(struct cuts *c, struct trace *t, const uint32_t *call_of);
void cuts_free(struct cuts *c);

/* Returns the index of the step that the time lies in; at.n if there is none. */
size_t cuts_index(const struct cuts *c, uint64_t ns);
/* Returns what detected the steps, as in the field `detector` of a report. */
const char *cuts_detector(const struct cuts *c);
/* Returns how sure the steps are, from 0 to 1. */
double cuts_confidence(const struct cuts *c);

#endif
