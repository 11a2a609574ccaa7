/* See html_charts.h: step times over the run. Labels are HTML over an SVG that is stretched to the
 * width of the page, so that text has the same size on every screen. */
#include "export/html_charts.h"

#include "export/html_cell.h"
#include "export/report_words.h"

#include <math.h>
#include <stdio.h>

enum { MARKS_MOST = 6, NUMBER_BYTES = 32 };

/* A step this many times as long as the 99th percentile would flatten all others, so it is marked
 * at the chart's upper edge. */
#define CLIPPED_TIMES 2.0

struct chart {
	const struct html_view *v;
	const json_t *steps; /* of the views */
	double first, n;     /* number of the first step; how many are shown */
	double top_ms;
};

static double x_of(const struct chart *c, double number)
{
	return (number - c->first + 0.5) / c->n * 1000;
}

static double y_of(const struct chart *c, double ms)
{
	return 200 - fmin(ms / c->top_ms, 1) * 200;
}

/* Writes an SVG path through a list of times. `per`: steps of a point. */
static void write_path(const struct chart *c, const char *key)
{
	const json_t *list = json_object_get(c->steps, key), *value;
	double per = html_number_at(c->steps, "per");
	size_t i;
	for (i = 0; (value = json_array_get(list, i)); i++)
		html_rawf(c->v->out, "%s%.1f %.1f", i ? "L" : "M",
			  x_of(c, c->first + fmin(((double)i + 0.5) * per, c->n) - 0.5),
			  y_of(c, json_number_value(value)));
}

/* Writes a span of steps as a rectangle of the class. */
static void write_span(const struct chart *c, const char *class, double first, double end, double y,
		       double height)
{
	double from = fmax(x_of(c, first - 0.5), 0), to = fmin(x_of(c, end - 0.5), 1000);
	if (to > from)
		html_rawf(c->v->out,
			  "<rect class=\"%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" "
			  "height=\"%.0f\"/>",
			  class, from, y, fmax(to - from, 0.8), height);
}

static void write_recorded(const struct chart *c)
{
	const json_t *list = html_at(c->v->process, "steps.recorded");
	size_t n = json_array_size(list);
	for (size_t i = 0; i < n;) {
		json_int_t first = json_integer_value(json_array_get(list, i)), last = first;
		while (++i < n && json_integer_value(json_array_get(list, i)) == last + 1)
			last++;
		write_span(c, "recorded", (double)first, (double)last + 1, 193, 7);
	}
}

static void write_drift(const struct chart *c)
{
	double first_ms = html_number_at(c->v->process, "baseline.drift.first_ms"),
	       last_ms = html_number_at(c->v->process, "baseline.drift.last_ms");
	if (isfinite(first_ms))
		html_rawf(c->v->out,
			  "<line class=\"drift\" x1=\"0\" y1=\"%.1f\" x2=\"1000\" y2=\"%.1f\"/>",
			  y_of(c, first_ms), y_of(c, last_ms));
}

static void write_plot(const struct chart *c)
{
	double p50 = html_number_at(c->v->process, "baseline.step_ms.p50"),
	       n_warm_up = html_number_at(c->v->process, "baseline.warm_up_ms.n");
	html_raw(c->v->out, "<svg viewBox=\"0 0 1000 200\" preserveAspectRatio=\"none\" "
			    "aria-hidden=\"true\">");
	if (n_warm_up > 0)
		write_span(c, "warm", c->first, c->first + n_warm_up, 0, 200);
	if (html_number_at(c->steps, "per") > 1) {
		html_raw(c->v->out, "<path class=\"range\" d=\"");
		write_path(c, "high_ms");
		html_raw(c->v->out, "\"/><path class=\"range\" d=\"");
		write_path(c, "low_ms");
		html_raw(c->v->out, "\"/>");
	}
	html_raw(c->v->out, "<path class=\"mean\" d=\"");
	write_path(c, "ms");
	html_raw(c->v->out, "\"/>");
	if (isfinite(p50))
		html_rawf(c->v->out,
			  "<line class=\"median\" x1=\"0\" y1=\"%.1f\" x2=\"1000\" y2=\"%.1f\"/>",
			  y_of(c, p50), y_of(c, p50));
	write_drift(c);
	write_recorded(c);
	html_raw(c->v->out, "</svg>");
}

/* Returns the `i`-th of the longest steps after the warm-up, and its time; both NAN after the last
 * one. */
static double longest(const struct chart *c, size_t i, double *of_ms)
{
	const json_t *list = json_object_get(c->steps, "longest");
	double n_warm_up = html_number_at(c->v->process, "baseline.warm_up_ms.n");
	*of_ms = NAN;
	for (size_t k = 0; k + 1 < json_array_size(list); k += 2) {
		double step = json_number_value(json_array_get(list, k));
		if (step < c->first + (n_warm_up > 0 ? n_warm_up : 0) || step >= c->first + c->n)
			continue;
		*of_ms = json_number_value(json_array_get(list, k + 1));
		if (!i--)
			return step;
	}
	return NAN;
}

/* Marks the longest steps, and labels the first one. */
static void write_marks(const struct chart *c)
{
	char ms[NUMBER_BYTES];
	double of_ms, step;
	for (size_t i = 0; i < MARKS_MOST && isfinite(step = longest(c, i, &of_ms)); i++) {
		double x = x_of(c, step) / 10, y = y_of(c, of_ms) / 2;
		bool to_left = x > 50;
		report_ms(ms, sizeof(ms), of_ms);
		html_rawf(c->v->out,
			  "<span class=\"mark\" style=\"left:%.2f%%;top:%.2f%%\" "
			  "title=\"step %.0f: %s ms\"></span>",
			  x, y, step, ms);
		if (!i)
			html_rawf(c->v->out,
				  "<span class=\"label%s\" style=\"%s:%.2f%%;top:%.2f%%\">step "
				  "%.0f: %s ms</span>",
				  to_left ? " left" : "", to_left ? "right" : "left",
				  to_left ? 100 - x : x, y, step, ms);
	}
}

/* ---- The legend, which also says in words what is marked ---- */

/* Writes where a slow step spent its time, if that is known. */
static void write_cause(const struct chart *c, double step)
{
	const json_t *pauses = html_at(c->v->process, "baseline.pauses"), *pause;
	struct html_out *o = c->v->out;
	size_t i;
	for (i = 0; (pause = json_array_get(pauses, i)); i++) {
		const char *cause = html_text_at(pause, "cause"), *noun = report_cause_noun(cause);
		if (html_number_at(pause, "step") != step)
			continue;
		if (*html_text_at(pause, "file")) {
			html_raw(o, ", ");
			html_place(c->v, pause);
		}
		if (*cause) {
			html_raw(o, ", ");
			html_text(o, *noun ? noun : cause);
		}
	}
}

static void write_outliers(const struct chart *c)
{
	struct html_out *o = c->v->out;
	double of_ms, step;
	size_t i = 0;
	for (; i < MARKS_MOST && isfinite(step = longest(c, i, &of_ms)); i++) {
		html_raw(o, i ? "; " : "<li><i class=\"key mark\"></i>longest steps: ");
		html_rawf(o, "%.0f (", step);
		html_number(o, HTML_MS, of_ms);
		html_raw(o, " ms");
		write_cause(c, step);
		html_raw(o, ")");
	}
	html_raw(o, i ? "</li>" : "");
}

static void write_drift_words(const struct chart *c)
{
	double first_ms = html_number_at(c->v->process, "baseline.drift.first_ms"),
	       last_ms = html_number_at(c->v->process, "baseline.drift.last_ms");
	struct html_out *o = c->v->out;
	if (!isfinite(first_ms))
		return;
	html_raw(o, "<li><i class=\"key drift\"></i>drift: steps become ");
	html_rawf(o, "%s, median ", last_ms > first_ms ? "longer" : "shorter");
	html_number(o, HTML_MS, first_ms);
	html_raw(o, " ms in the first fifth, ");
	html_number(o, HTML_MS, last_ms);
	html_raw(o, " ms in the last</li>");
}

static double most_ms(const json_t *steps)
{
	const json_t *value;
	double most = 0;
	size_t i;
	for (i = 0; (value = json_array_get(json_object_get(steps, "high_ms"), i)); i++)
		most = fmax(most, json_number_value(value));
	return most;
}

static void write_legend(const struct chart *c)
{
	struct html_out *o = c->v->out;
	double per = html_number_at(c->steps, "per"), n = html_number_at(c->steps, "n"),
	       n_warm_up = html_number_at(c->v->process, "baseline.warm_up_ms.n");
	html_raw(o, "<ul class=\"legend\"><li><i class=\"key mean\"></i>");
	html_rawf(o, per > 1 ? "mean of %.0f steps" : "step time", per);
	html_raw(o, per > 1 ? "</li><li><i class=\"key range\"></i>shortest and longest" : "");
	html_raw(o, "</li><li><i class=\"key median\"></i>median ");
	html_number(o, HTML_MS, html_number_at(c->v->process, "baseline.step_ms.p50"));
	html_raw(o, " ms</li><li><i class=\"key recorded\"></i>recorded steps</li>");
	if (n_warm_up > 0)
		html_rawf(o, "<li><i class=\"key warm\"></i>warm-up (%.0f step%s)</li>", n_warm_up,
			  n_warm_up > 1 ? "s" : "");
	write_outliers(c);
	write_drift_words(c);
	if (most_ms(c->steps) > c->top_ms) {
		html_raw(o, "<li>the longest times are cut at ");
		html_number(o, HTML_MS, c->top_ms);
		html_raw(o, " ms</li>");
	}
	if (n > c->n)
		html_rawf(o, "<li>the first %.0f of %.0f steps</li>", c->n, n);
	html_raw(o, "</ul>\n");
}

static double top_of(const struct html_view *v, const json_t *steps)
{
	double p99 = html_number_at(v->process, "baseline.step_ms.p99"), most = most_ms(steps);
	double clipped = isfinite(p99) ? p99 * CLIPPED_TIMES : most;
	return fmax(fmin(most, clipped) * 1.05, 1e-6);
}

void html_chart_steps(const struct html_view *v, const json_t *views)
{
	const json_t *steps = json_object_get(views, "steps");
	struct html_out *o = v->out;
	char top[NUMBER_BYTES], half[NUMBER_BYTES];
	if (!steps || html_number_at(steps, "shown") < 2)
		return;
	struct chart c = { v, steps, html_number_at(steps, "first"), html_number_at(steps, "shown"),
			   top_of(v, steps) };
	html_raw(o, "<section class=\"card wide\">");
	html_heading(v, "h3", "steps-chart", "Step times of the whole run");
	html_rawf(o,
		  "<figure class=\"steps\" data-process=\"%u\" data-top=\"%.9g\"><div "
		  "class=\"yaxis\">"
		  "<span>%s ms</span><span>%s</span><span>0</span></div><div class=\"plot\" "
		  "role=\"img\" aria-label=\"Step times of %.0f steps\">",
		  v->number, c.top_ms, report_ms(top, sizeof(top), c.top_ms),
		  report_ms(half, sizeof(half), c.top_ms / 2), c.n);
	write_plot(&c);
	write_marks(&c);
	html_rawf(o,
		  "</div><div class=\"xaxis\"><span>step "
		  "%.0f</span><span>%.0f</span></div></figure>\n",
		  c.first, c.first + c.n - 1);
	write_legend(&c);
	html_raw(o, "</section>\n");
}
