/* See html_overview.h. */
#include "export/html_overview.h"

#include "export/html_cell.h"
#include "export/html_charts.h"
#include "export/html_lists.h"
#include "export/html_said.h"
#include "export/report_bound.h"
#include "export/report_exit.h"
#include "export/report_gains.h"
#include "export/report_steps.h"
#include "export/report_words.h"

#include <math.h>
#include <stdio.h>

enum { EVIDENCE_FIRST = 4 };

/* ---- Key figures ---- */

static const struct figure {
	const char *path, *name, *unit;
	enum html_cell kind;
} figures[] = {
	{ "baseline.step_ms.p50", "median step", " ms", HTML_MS },
	{ "baseline.step_ms.p95", "p95 step", " ms", HTML_MS },
	{ "steps.count", "steps", "", HTML_NUMBER },
	{ "gpu.0.busy_pct", "GPU utilization", "", HTML_PERCENT },
	{ "gpu.0.kernels_per_step", "kernels", "", HTML_NUMBER },
	{ "memory.device_peak_bytes", "peak device memory", "", HTML_BYTES },
	{ "self.overhead_pct", "recording overhead", "", HTML_PERCENT },
};

static double figure_of(const json_t *process, const char *path)
{
	if (strncmp(path, "gpu.0.", 6) != 0)
		return html_number_at(process, path);
	return html_number_at(json_array_get(json_object_get(process, "gpu"), 0), path + 6);
}

/* A figure that is 0 may be unknown. */
static bool has_figure(const struct html_view *v, const struct figure *f, double value)
{
	if (!strcmp(f->path, "self.overhead_pct"))
		return report_overhead_is_measured(&v->of->self.overhead);
	return isfinite(value) && (value > 0 || (f->kind != HTML_BYTES && !v->is_unit));
}

static void write_figure_name(const struct html_view *v, const struct figure *f)
{
	bool is_of_gpu = !strncmp(f->path, "gpu.0.", 6) &&
			 json_array_size(json_object_get(v->process, "gpu")) > 1;
	html_rawf(v->out, "<div><dt>%s", f->name);
	if (!strcmp(f->name, "kernels"))
		html_rawf(v->out, " %s", html_per_step(v));
	if (is_of_gpu)
		html_rawf(v->out, ", GPU %.0f",
			  html_number_at(json_array_get(html_at(v->process, "gpu"), 0), "device"));
}

static void write_figures(const struct html_view *v)
{
	html_raw(v->out, "<dl class=\"figures\">");
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		const struct figure *f = &figures[i];
		double value = figure_of(v->process, f->path);
		if (!has_figure(v, f, value))
			continue;
		write_figure_name(v, f);
		html_rawf(v->out, "</dt><dd data-path=\"%s\" data-v=\"%.9g\">", f->path, value);
		html_number(v->out, f->kind, value);
		html_rawf(v->out, "%s</dd></div>", f->unit);
	}
	html_raw(v->out, "</dl>\n");
}

/* ---- What limits the process ---- */

static void write_confidence(const struct html_view *v, const char *words)
{
	double confidence = html_number_at(v->process, "bound.confidence");
	html_rawf(v->out,
		  "<p class=\"confidence\" data-path=\"bound.confidence\" data-v=\"%.9g\">"
		  "<meter min=\"0\" max=\"1\" value=\"%.3f\"></meter> ",
		  confidence, confidence);
	html_text(v->out, words);
	html_raw(v->out, "</p>");
}

static void write_evidence(const struct html_view *v, const struct report_process *p)
{
	const json_t *text;
	size_t i;
	html_raw(v->out, "<ul class=\"evidence\">");
	if (report_bound_needs_quiet(p))
		html_rawf(v->out, "<li>%s</li>", report_bound_quiet);
	for (i = 0; (text = json_array_get(html_at(v->process, "bound.evidence"), i)); i++) {
		if (i == EVIDENCE_FIRST)
			html_raw(v->out, "</ul><details><summary>More evidence</summary>"
					 "<ul class=\"evidence\">");
		html_raw(v->out, "<li>");
		html_text(v->out, json_string_value(text));
		html_raw(v->out, "</li>");
	}
	html_raw(v->out, i > EVIDENCE_FIRST ? "</ul></details>" : "</ul>");
}

static void write_stall(const struct html_view *v)
{
	const json_t *stall = html_at(v->process, "bound.stall");
	if (!json_is_object(stall))
		return;
	html_raw(v->out, "<p class=\"stall\">Largest fixable stall: ");
	html_text(v->out, report_resource_noun(html_text_at(stall, "cause")));
	html_raw(v->out, " at ");
	html_place(v, stall);
	html_raw(v->out, ", <b>");
	html_number(v->out, HTML_MS, html_number_at(stall, "ms_per_step"));
	html_rawf(v->out, " ms</b> %s</p>", html_per_step(v));
}

static void write_bound(const struct html_view *v, const struct report_process *p)
{
	struct bound_words words;
	double start_up = report_start_up_pct(p);
	html_raw(v->out, "<section class=\"card bound\">");
	html_heading(v, "h3", "bound", "What limits the job");
	if (start_up > 50)
		html_rawf(v->out,
			  "<p class=\"verdict\">start-up: %.0f %% of the time passes before the "
			  "first CUDA call</p>",
			  start_up);
	report_bound_words(&words, p, v->cwd);
	html_raw(v->out, "<p class=\"verdict\" data-verdict=\"");
	html_text(v->out, p->bound.verdict);
	html_raw(v->out, "\">");
	html_text(v->out, *words.limit ? words.limit : "Bottleneck unclear");
	html_raw(v->out, "</p>");
	if (*words.meaning) {
		html_raw(v->out, "<p class=\"meaning\">");
		html_text(v->out, words.meaning);
		html_raw(v->out, "</p>");
	}
	if (*words.confidence)
		write_confidence(v, words.confidence);
	for (size_t i = 0; !*words.limit && i < p->unavailable.n; i++) {
		if (strcmp(p->unavailable.at[i].what, "bottleneck") != 0)
			continue;
		html_raw(v->out, "<p>");
		html_text(v->out, p->unavailable.at[i].why);
		html_raw(v->out, "</p>");
	}
	write_evidence(v, p);
	write_stall(v);
	html_raw(v->out, "</section>\n");
}

/* ---- Estimated savings ---- */

static void say_heading(struct textout *to, const struct html_said_of *of)
{
	report_gains_heading(to, of->process);
}

static void say_sum(struct textout *to, const struct html_said_of *of)
{
	report_gains_sum(to, of->process, of->process->advice.n);
}

static void write_interval(const struct html_view *v, const json_t *advice)
{
	const json_t *range = json_object_get(advice, "interval_ms");
	if (json_array_size(range) != 2)
		return;
	html_raw(v->out, " <span class=\"interval\">");
	html_number(v->out, HTML_MS, json_number_value(json_array_get(range, 0)));
	html_raw(v->out, " to ");
	html_number(v->out, HTML_MS, json_number_value(json_array_get(range, 1)));
	html_raw(v->out, "</span>");
}

static void write_code(const struct html_view *v, const json_t *advice)
{
	const char *source = html_text_at(advice, "source");
	if (!*html_text_at(advice, "where"))
		return;
	html_raw(v->out, "<p class=\"where\">");
	html_place(v, advice);
	html_raw(v->out, "</p>");
	if (!*source)
		return;
	html_raw(v->out, "<pre><code>");
	html_text(v->out, source);
	html_raw(v->out, "</code></pre>");
}

static void write_advice(const struct html_view *v, const struct report_process *p, size_t i)
{
	const json_t *advice = json_array_get(json_object_get(v->process, "advice"), i);
	bool is_rare = json_is_number(json_object_get(advice, "rare_steps"));
	double ms = html_number_at(advice, "expected_ms_per_step"),
	       all = !p->replay ? 0
		     : is_rare	? p->replay->mean_ms
				: p->replay->step_ms;
	html_rawf(v->out, "<li data-v=\"%.9g\"><div class=\"gain\"><b>", ms);
	html_number(v->out, HTML_MS, ms);
	html_raw(v->out, " ms</b>");
	if (all > 0)
		html_rawf(v->out,
			  " <span>%.0f %%</span><i class=\"bar\" style=\"width:%.1f%%\"></i>",
			  ms / all * 100, fmin(ms / all * 100, 100));
	write_interval(v, advice);
	html_raw(v->out, "</div><div class=\"change\">");
	html_raw(v->out, "<p class=\"what\">");
	html_text(v->out, html_text_at(advice, "what"));
	html_raw(v->out, "</p>");
	write_code(v, advice);
	html_raw(v->out, "<p class=\"why\">");
	html_text(v->out, html_text_at(advice, "why"));
	html_raw(v->out, "</p></div></li>\n");
}

static void write_savings(const struct html_view *v, const struct html_said_of *of)
{
	html_raw(v->out, "<section class=\"card savings\">");
	html_heading(v, "h3", "savings", "Estimated savings by line");
	if (!of->process->advice.n) {
		html_raw(v->out, "<p>");
		html_text(v->out, report_gains_none(of->process));
		html_raw(v->out, "</p></section>\n");
		return;
	}
	html_said(v->out, "note", say_heading, of);
	html_raw(v->out, "<ol class=\"advice\">");
	for (size_t i = 0; i < of->process->advice.n; i++)
		write_advice(v, of->process, i);
	html_raw(v->out, "</ol>");
	html_said(v->out, "note", say_sum, of);
	html_raw(v->out, "</section>\n");
}

/* ---- All of it ---- */

static void say_exit(struct textout *to, const struct html_said_of *of)
{
	report_exit_say(to, of->report, of->process);
}

static void say_steps(struct textout *to, const struct html_said_of *of)
{
	report_steps_say(to, of->process, of->cwd);
}

void html_overview(const struct html_view *v, const struct report *r,
		   const struct report_process *p)
{
	const struct html_said_of of = { r, p, v->cwd };
	html_said(v->out, "alert", say_exit, &of);
	if (*p->facts.damage) {
		html_raw(v->out, "<p class=\"alert\">");
		html_text(v->out, p->facts.damage);
		html_raw(v->out, "</p>");
	}
	write_figures(v);
	html_raw(v->out, "<div class=\"first\">");
	write_bound(v, p);
	write_savings(v, &of);
	html_chart_steps(v, p->views);
	html_chart_step(v);
	html_raw(v->out, "</div>\n<details class=\"steps-words\"><summary>Which steps these are"
			 "</summary>\n");
	html_said(v->out, "said", say_steps, &of);
	html_raw(v->out, "</details>\n");
}
