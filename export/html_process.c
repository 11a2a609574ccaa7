/* See html_process.h. */
#include "export/html_process.h"

#include "export/html_about.h"
#include "export/html_cell.h"
#include "export/html_charts.h"
#include "export/html_lists.h"
#include "export/html_overview.h"
#include "export/report_head.h"

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 40 };

static size_t write_lists(const struct html_view *v, const struct html_list *lists)
{
	size_t n = 0;
	for (; lists->path; lists++)
		n += html_list_write(v, lists);
	return n;
}

static void begin_group(const struct html_view *v, const char *id, const char *title)
{
	html_raw(v->out, "<section class=\"group\">");
	html_heading(v, "h2", id, title);
}

static void end_group(const struct html_view *v)
{
	html_raw(v->out, "</section>\n");
}

static void write_idle(const struct html_view *v)
{
	if (!json_array_size(json_object_get(v->process, "gpu")))
		return;
	begin_group(v, "idle", "GPU time");
	html_basis(v);
	write_lists(v, html_lists_idle);
	end_group(v);
}

static void write_syncs(const struct html_view *v)
{
	begin_group(v, "syncs", "Synchronization");
	html_basis(v);
	if (!write_lists(v, html_lists_syncs))
		html_raw(v->out, "<p>No call waits for the GPU.</p>");
	end_group(v);
}

static void write_timeline(const struct html_view *v, const json_t *views)
{
	const json_t *timeline = json_object_get(views, "timeline");
	double ns = html_number_at(timeline, "ns"), shown = html_number_at(timeline, "shown_ns"),
	       median_ms = html_number_at(v->process, "baseline.recorded_ms.p50");
	char title[80];
	if (!timeline)
		return;
	if (!v->is_unit)
		snprintf(title, sizeof(title), "Timeline of step %.0f",
			 html_number_at(timeline, "step"));
	else
		snprintf(title, sizeof(title), "Timeline");
	begin_group(v, "timeline", title);
	html_rawf(v->out, "<p class=\"note\">%s ",
		  v->is_unit ? "All that was recorded:" : "A recorded step of");
	html_number(v->out, HTML_MS, ns / 1e6);
	html_raw(v->out, " ms");
	if (isfinite(median_ms)) {
		html_raw(v->out, " (median of the recorded steps: ");
		html_number(v->out, HTML_MS, median_ms);
		html_raw(v->out, " ms)");
	}
	html_raw(v->out, ".");
	if (shown < ns) {
		html_raw(v->out, " These are too many calls for this page, which shows the first ");
		html_number(v->out, HTML_MS, shown / 1e6);
		html_raw(v->out, " ms. The traces have all of it.");
	}
	html_raw(v->out, "</p>\n");
	html_chart_timeline(v, views);
	end_group(v);
}

static void write_flames(const struct html_view *v, const json_t *views)
{
	if (!json_array_size(json_object_get(views, "flame")))
		return;
	begin_group(v, "flame", "Flame graphs");
	html_rawf(v->out, "<p class=\"note\">%s GPU time counts work that overlaps twice.</p>\n",
		  v->is_unit ? "Sums over the whole run." : "Means of all recorded steps.");
	html_chart_flames(v, views);
	end_group(v);
}

static void write_memory_pair(const struct html_view *v, const char *name, const char *path)
{
	double bytes = html_number_at(v->process, path);
	if (!(bytes > 0))
		return;
	html_rawf(v->out, "<div><dt>%s</dt><dd data-path=\"%s\" data-v=\"%.9g\">", name, path,
		  bytes);
	html_number(v->out, HTML_BYTES, bytes);
	html_raw(v->out, "</dd></div>");
}

static void write_memory(const struct html_view *v, const json_t *views)
{
	bool has_peak = html_number_at(v->process, "memory.device_peak_bytes") > 0 ||
			json_is_object(html_at(v->process, "memory.allocator"));
	if (!has_peak)
		return;
	begin_group(v, "memory", "Memory");
	html_raw(v->out, "<dl class=\"figures\">");
	write_memory_pair(v, "peak device memory", "memory.device_peak_bytes");
	write_memory_pair(v, "peak allocated by PyTorch", "memory.allocator.peak_bytes");
	write_memory_pair(v, "peak reserved by PyTorch", "memory.allocator.peak_reserved_bytes");
	write_memory_pair(v, "growth per step", "memory.growth.bytes_per_step");
	html_raw(v->out, "</dl>\n");
	html_chart_memory(v, views);
	write_lists(v, html_lists_memory);
	end_group(v);
}

/* Returns the phases, each followed by its named parts. The caller owns the reference. */
static json_t *phases_with_parts(const json_t *phases)
{
	json_t *rows = json_array();
	const json_t *phase, *part;
	size_t i, k;
	char name[120];
	for (i = 0; (phase = json_array_get(phases, i)); i++) {
		json_array_append(rows, (json_t *)phase);
		for (k = 0; (part = json_array_get(json_object_get(phase, "parts"), k)); k++) {
			json_t *row = json_copy((json_t *)part);
			snprintf(name, sizeof(name), "%.40s: %.70s", html_text_at(phase, "name"),
				 html_text_at(part, "name"));
			json_object_set_new(row, "name", json_string(name));
			json_array_append_new(rows, row);
		}
	}
	return rows;
}

static void write_phases(const struct html_view *v)
{
	json_t *rows = phases_with_parts(json_object_get(v->process, "phases"));
	if (json_array_size(rows)) {
		html_raw(v->out, "<section class=\"list\">");
		html_heading(v, "h3", html_list_phases.id, html_list_phases.title);
		html_rawf(v->out, "<p class=\"note\">%s</p>", html_list_phases.note);
		html_rows_write(v, &html_list_phases, rows);
		html_raw(v->out, "</section>\n");
	}
	json_decref(rows);
}

/* Writes the statistics of the step times, one row for each kind of step. */
static void write_step_times(const struct html_view *v)
{
	static const struct {
		const char *path, *name;
	} kinds[] = { { "baseline.step_ms", "without warm-up" },
		      { "baseline.warm_up_ms", "warm-up" },
		      { "baseline.recorded_ms", "recorded" } };
	json_t *rows = json_array();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const json_t *lengths = html_at(v->process, kinds[i].path);
		if (!json_is_object(lengths))
			continue;
		json_t *row = json_copy((json_t *)lengths);
		json_object_set_new(row, "name", json_string(kinds[i].name));
		json_array_append_new(rows, row);
	}
	if (json_array_size(rows)) {
		html_raw(v->out, "<section class=\"list\">");
		html_heading(v, "h3", html_list_steps.id, html_list_steps.title);
		html_rows_write(v, &html_list_steps, rows);
		html_raw(v->out, "</section>\n");
	}
	json_decref(rows);
}

static void write_tables(const struct html_view *v)
{
	begin_group(v, "tables", "Tables");
	html_basis(v);
	write_step_times(v);
	write_phases(v);
	write_lists(v, html_lists_tables);
	end_group(v);
}

static void write_trust(const struct html_view *v, const struct report_process *p)
{
	begin_group(v, "trust", "How far to trust it");
	html_raw(v->out, "<div class=\"columns\">");
	html_self(v, p);
	html_unavailable(v, p);
	html_raw(v->out, "</div>");
	end_group(v);
}

void html_process(const struct html_view *v, const struct report *r)
{
	const struct report_process *p = v->of;
	char name[NAME_BYTES];
	report_name_of(name, sizeof(name), p);
	html_rawf(v->out, "<article id=\"p%u\" class=\"process\" data-name=\"%s\">", v->number,
		  name);
	if (r->processes.n > 1)
		html_rawf(v->out, "<h2 class=\"process-name\">%c%s</h2>", name[0] - 'a' + 'A',
			  name + 1);
	html_overview(v, r, p);
	write_idle(v);
	write_syncs(v);
	write_timeline(v, p->views);
	write_flames(v, p->views);
	write_memory(v, p->views);
	write_tables(v);
	write_trust(v, p);
	html_raw(v->out, "</article>\n");
}
