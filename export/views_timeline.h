/* The timeline of one step, for report.html. */
#ifndef EXPORT_VIEWS_TIMELINE_H
#define EXPORT_VIEWS_TIMELINE_H

#include "core/util/map.h"
#include "core/util/strtab.h"
#include "export/trace_walk.h"

#include <jansson.h>

struct views_slice {
	uint64_t begin_ns, end_ns; /* from the step's begin */
	uint32_t name, detail;	   /* in `texts` */
	uint8_t category;	   /* enum trace_category */
};

struct views_track {
	uint32_t name;
	uint8_t kind;	 /* enum trace_track_kind */
	size_t first, n; /* slices */
};

struct views_arrow {
	uint32_t from, to; /* slices; UINT32_MAX: not in the timeline */
};

/* All zeros is empty. */
struct views_timeline {
	uint64_t step, ns;
	uint64_t shown_ns; /* slices that begin later were left out */
	struct strtab texts;
	VEC(struct views_track) tracks;
	VEC(struct views_slice) slices;
	struct map arrow_of; /* number of the arrow -> index in `arrows` + 1 */
	VEC(struct views_arrow) arrows;
};

/* Replaces the timeline by that of another step. */
void views_timeline_take(struct views_timeline *t, const struct analyzed_step *step);

/*
 * Returns {step, ns, shown_ns, texts, categories, tracks: [{name, kind, slices}], arrows}. The
 * caller owns the reference. `slices`: for each slice, ns from the previous slice's begin to this
 * one's, duration in ns, name, category, detail. Name and detail are indexes in `texts`, category
 * in `categories`. `arrows`: pairs of slices, counted over all tracks.
 */
json_t *views_timeline_json(const struct views_timeline *t);
void views_timeline_free(struct views_timeline *t);

#endif
