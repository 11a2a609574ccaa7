/* Charts of report.html as static SVG and HTML. The script makes some of them interactive. */
#ifndef EXPORT_HTML_CHARTS_H
#define EXPORT_HTML_CHARTS_H

#include "export/html_table.h"

/* Writes the times of all steps: recorded steps, warm-up, outliers and drift are marked. `views`:
 * see views.h. */
void html_chart_steps(const struct html_view *v, const json_t *views);

/* Writes bars of where a step goes: each GPU's work and idle time by cause, and the CPU's phases.
 * Each bar is as long as a step. */
void html_chart_step(const struct html_view *v);

/* Writes device memory over the recorded time. */
void html_chart_memory(const struct html_view *v, const json_t *views);

/* Write what the timeline and the flame graphs show without the script. */
void html_chart_timeline(const struct html_view *v, const json_t *views);
void html_chart_flames(const struct html_view *v, const json_t *views);

#endif
