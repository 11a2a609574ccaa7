/*
 * What report.html shows beyond report.json: the times of all steps, a timeline of one step, flame
 * graphs, and memory over time. Collected from the analyzed steps of one process as they pass, in
 * bounded memory.
 */
#ifndef EXPORT_VIEWS_H
#define EXPORT_VIEWS_H

#include "core/analysis/analyzer.h"
#include "core/model/run.h"

#include <jansson.h>

struct views;

struct views *views_new(void);
void views_free(struct views *v);

/* Adds a recorded step that the report covers. Steps come in order of time. */
void views_add(struct views *v, const struct analyzed_step *step);

/*
 * Returns all views. The caller owns the reference. Times are in nanoseconds unless a name ends in
 * _ms. Members are left out if there is nothing to show:
 *   steps: {first: number of the first step, n, per: steps per point, ms, low_ms, high_ms: [mean,
 *     least and largest time of the steps of a point], shown: steps in the chart; longest: [step,
 *     ms, ...] of the longest steps that are not typical, longest first}
 *   flame: [{what: "gpu"|"cpu"|"blocked"|"bytes", total, names, kinds, tree}], see views_flame.h
 *   memory: {ns, windows: [begin, end, ...], series: [{name, device, span_ns, low, high: [least and
 *     largest bytes of each span_ns; null: not known yet]}]}
 *   timeline: see views_timeline.h
 */
json_t *views_json(const struct views *v, const struct run *run);

#endif
