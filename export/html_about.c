/* See html_about.h. */
#include "export/html_about.h"

#include "core/util/text.h"
#include "export/html_cell.h"
#include "export/report_words.h"

#include <math.h>
#include <stdio.h>

enum { WORDS_BYTES = 600 };

/* ---- What is not available ---- */

static void write_gap(struct html_out *o, const char *what, const char *why)
{
	html_raw(o, "<div><dt>");
	html_text(o, what);
	html_raw(o, "</dt><dd>");
	html_text(o, why);
	html_raw(o, "</dd></div>\n");
}

void html_unavailable(const struct html_view *v, const struct report_process *p)
{
	if (!p->unavailable.n && p->views)
		return;
	html_raw(v->out, "<section class=\"card\">");
	html_heading(v, "h3", "unavailable", "Not available");
	html_raw(v->out, "<dl class=\"pairs\">");
	for (size_t i = 0; i < p->unavailable.n; i++)
		write_gap(v->out, p->unavailable.at[i].what, p->unavailable.at[i].why);
	if (!p->views)
		write_gap(v->out, "timeline, flame graphs, step times in order, memory over time",
			  strcmp(p->facts.state, "running") != 0
				  ? "the journal no longer has the records"
				  : "the process is still running: they are made at its end");
	html_raw(v->out, "</dl></section>\n");
}

/* ---- Our own cost ---- */

static void write_pair(struct html_out *o, const char *name, const char *value)
{
	if (*value)
		write_gap(o, name, value);
}

static void write_losses(const struct html_view *v)
{
	json_t *losses = json_object_get(json_object_get(v->process, "self"), "losses");
	char name[80];
	for (void *at = json_object_iter(losses); at; at = json_object_iter_next(losses, at)) {
		json_int_t n = json_integer_value(json_object_iter_value(at));
		if (n <= 0)
			continue;
		snprintf(name, sizeof(name), "%s", json_object_iter_key(at));
		for (char *c = name; *c; c++)
			*c = *c == '_' ? ' ' : *c;
		html_raw(v->out, "<div class=\"lost\"><dt>");
		html_text(v->out, name);
		html_rawf(v->out, "</dt><dd>%lld</dd></div>\n", (long long)n);
	}
}

void html_self(const struct html_view *v, const struct report_process *p)
{
	const struct report_self *self = &p->self;
	char words[WORDS_BYTES];
	html_raw(v->out, "<section class=\"card\">");
	html_heading(v, "h3", "self", "What profiling cost, and what was lost");
	html_raw(v->out, "<dl class=\"pairs\">");
	report_overhead(words, sizeof(words), &self->overhead);
	write_pair(v->out, "recording",
		   *words ? words : "not available: too few recorded or unrecorded steps");
	write_pair(v->out, "after recording", report_left(words, sizeof(words), &self->overhead));
	words[0] = 0;
	if (report_overhead_is_measured(&self->overhead) && self->ns_per_call > 0)
		snprintf(words, sizeof(words), "%.0f ns", self->ns_per_call);
	write_pair(v->out, "cost of a recorded call", words);
	write_pair(v->out, "CUPTI", self->cupti.state);
	write_pair(v->out, "CUPTI: reason", self->cupti.reason);
	if (self->cupti.own_ms >= REPORT_LEAST_MS) {
		report_ms(words, sizeof(words), self->cupti.own_ms);
		text_append(words, sizeof(words), " ms %s", html_per_step(v));
		write_pair(v->out, "CUPTI's own overhead", words);
	}
	write_pair(v->out, "captured",
		   report_captured(words, sizeof(words), &p->facts.completeness));
	for (size_t i = 0; i < p->facts.completeness.windows.n; i++)
		if (*p->facts.completeness.windows.at[i].why)
			write_pair(v->out, "incomplete",
				   report_lacking(words, sizeof(words),
						  &p->facts.completeness.windows.at[i],
						  &p->facts.steps));
	write_losses(v);
	if (!self->dropped)
		write_pair(v->out, "dropped records", "none");
	if (p->replay) {
		snprintf(words, sizeof(words), "%.1f %%", fabs(p->replay->error_pct));
		write_pair(v->out, "model error", words);
	}
	html_raw(v->out, "</dl></section>\n");
}

/* ---- The run ---- */

static void write_command(struct html_out *o, const struct report *r)
{
	html_raw(o, "<div><dt>command</dt><dd><code>");
	for (size_t i = 0; i < r->run.command.n; i++) {
		html_raw(o, i ? " " : "");
		html_text(o, r->run.command.at[i]);
	}
	html_raw(o, "</code></dd></div>\n");
}

static void write_settings(struct html_out *o, json_t *settings)
{
	for (void *at = json_object_iter(settings); at; at = json_object_iter_next(settings, at)) {
		const char *value = json_string_value(json_object_iter_value(at));
		write_pair(o, json_object_iter_key(at), value ? value : "");
	}
}

void html_settings(struct html_out *o, const struct report *r, const json_t *runfile)
{
	json_t *settings = json_object_get(json_object_get(runfile, "run"), "settings");
	char wall[40] = "";
	html_raw(o, "<section class=\"card\"><h3 id=\"settings\">The run and its settings</h3>"
		    "<dl class=\"pairs\">");
	write_command(o, r);
	write_pair(o, "folder", r->run.cwd);
	write_pair(o, "host", r->run.host);
	write_pair(o, "start", r->run.start);
	if (r->run.wall_s > 0)
		snprintf(wall, sizeof(wall), "%.1f s", r->run.wall_s);
	write_pair(o, "duration", wall);
	write_pair(o, "profrun", r->run.version);
	write_pair(o, "simulated GPU", r->run.simulated_gpu ? "yes" : "");
	html_raw(o, "</dl>");
	if (json_object_size(settings)) {
		html_raw(o, "<details><summary>Settings</summary><dl class=\"pairs\">");
		write_settings(o, settings);
		html_raw(o, "</dl></details>");
	}
	html_raw(o, "</section>\n");
}
