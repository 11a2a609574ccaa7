/*
 * See report_html.h. The page contains report.json, and its tables are made from it, so that both
 * have the same figures. Tables and charts work without the script, which adds sorting, searching
 * and zooming.
 */
#include "export/report_html.h"

#include "core/analysis/idle_causes.h"
#include "core/util/text.h"
#include "export/html_about.h"
#include "export/html_assets.h"
#include "export/html_cell.h"
#include "export/html_lists.h"
#include "export/html_process.h"
#include "export/outfile.h"
#include "export/report_head.h"
#include "export/report_json.h"
#include "export/report_text.h"
#include "export/report_words.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* When the page is this large, further processes get no details, only their row in the table of
 * processes. */
enum { DETAILS_BYTES = 1 << 20 };

struct page {
	struct html_out *out;
	const struct report *report;
	const json_t *root; /* report.json */
	VEC(size_t) shown;  /* processes with details: indexes in report.json */
};

static struct html_view view_of(const struct page *p, size_t process)
{
	const struct report *r = p->report;
	const struct report_process *of = process < r->processes.n ? r->processes.at[process]
								   : NULL;
	const json_t *list = json_object_get(p->root, "processes");
	return (struct html_view){ .out = p->out,
				   .process = json_array_get(list, process),
				   .of = of,
				   .cwd = r->run.cwd,
				   .number = (unsigned)process,
				   .is_unit = of && report_is_unit(of) };
}

/* ---- The run ---- */

static void write_straggler(const struct page *p)
{
	const json_t *straggler = html_at(p->root, "ranks.straggler");
	const char *phase = html_text_at(straggler, "phase");
	if (!json_is_object(straggler))
		return;
	html_rawf(p->out, "<p class=\"alert\">The other ranks wait for rank %.0f, ",
		  html_number_at(straggler, "rank"));
	html_number(p->out, HTML_MS, html_number_at(straggler, "ms_per_step"));
	html_raw(p->out, " ms per step.");
	if (*phase) {
		bool is_other = !strcmp(phase, "other");
		html_raw(p->out, is_other ? " Its code outside of all phases" : " Its ");
		html_text(p->out, is_other ? "" : phase);
		html_raw(p->out, is_other ? " takes " : " phase takes ");
		html_number(p->out, HTML_MS, html_number_at(straggler, "phase_ms"));
		html_raw(p->out, " ms longer than on the other ranks.");
	}
	html_raw(p->out, "</p>\n");
}

static bool has_ended(const struct report_run *run)
{
	return run->signal >= 0 || run->exit_status >= 0;
}

/* Says which figures the page has if processes still run, and when it was made. */
static void write_running(const struct page *p)
{
	size_t n = report_running(p->report);
	time_t now = time(NULL);
	struct tm broken;
	char text[32];
	if (!n)
		return;
	html_raw(p->out, "<p class=\"running card\">");
	if (has_ended(&p->report->run))
		html_rawf(p->out, "%zu process%s still running. ", n, n == 1 ? " is" : "es are");
	else
		html_raw(p->out, "The job is still running. ");
	html_raw(p->out, "These are the figures of the steps that were analyzed");
	if (gmtime_r(&now, &broken) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &broken))
		html_rawf(p->out, " until %s", text);
	html_raw(p->out, ". report.html, which is written at the end, has all of them, and the "
			 "timeline and flame graphs.</p>\n");
}

/* Writes the ranks side by side, or the processes of a run without ranks. */
static void write_processes(const struct page *p)
{
	const struct html_view v = view_of(p, 0);
	bool has_ranks = p->report->ranks;
	const struct html_list *list = has_ranks ? &html_list_ranks : &html_list_processes;
	if (p->report->processes.n < 2)
		return;
	html_rawf(p->out, "<section class=\"group\"><h2 id=\"%s\">%s</h2>", list->id, list->title);
	write_straggler(p);
	html_rows_write(&v, list, html_at(p->root, list->path));
	html_raw(p->out, "</section>\n");
}

static bool has_id(const struct html_out *body, const char *id)
{
	char attribute[60];
	int n = snprintf(attribute, sizeof(attribute), " id=\"%s\"", id);
	return memmem(body->text.at, body->text.n, attribute, (size_t)n);
}

/* Writes links to the parts that the page has. */
static void write_nav(struct html_out *o, const struct html_out *body, size_t first)
{
	static const struct {
		const char *id, *title;
		bool is_of_process;
	} links[] = {
		{ "ranks", "Ranks", false },	      { "processes", "Processes", false },
		{ "bound", "Overview", true },	      { "idle", "GPU time", true },
		{ "syncs", "Synchronization", true }, { "timeline", "Timeline", true },
		{ "flame", "Flame graphs", true },    { "memory", "Memory", true },
		{ "tables", "Tables", true },	      { "trust", "Trust", true },
		{ "settings", "Settings", false },
	};
	char id[40];
	html_raw(o, "<nav aria-label=\"Parts of the report\">");
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		if (links[i].is_of_process)
			snprintf(id, sizeof(id), "p%zu-%s", first, links[i].id);
		else
			snprintf(id, sizeof(id), "%s", links[i].id);
		if (has_id(body, id))
			html_rawf(o, "<a href=\"#%s\">%s</a>", id, links[i].title);
	}
	html_raw(o, "</nav>\n");
}

static void write_end(struct html_out *o, const struct report *r)
{
	const struct report_run *run = &r->run;
	if (run->signal >= 0)
		html_rawf(o, "<span class=\"bad\">ended by signal %lld</span>",
			  (long long)run->signal);
	else if (run->exit_status >= 0)
		html_rawf(o, "<span%s>exit status %lld</span>",
			  run->exit_status ? " class=\"bad\"" : "", (long long)run->exit_status);
	else if (report_running(r))
		html_raw(o, "<span class=\"running\">still running</span>");
	if (run->wall_s > 0)
		html_rawf(o, "<span>%.1f s</span>", run->wall_s);
}

static void write_head(const struct page *p, const struct report_process *main_one)
{
	char command[TEXT_BYTES];
	struct html_out *o = p->out;
	report_head_command(command, sizeof(command), p->report, main_one);
	html_raw(o, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n"
		    "<link rel=\"icon\" href=\"data:,\">\n<title>");
	html_text(o, command);
	html_raw(o, " - profrun</title>\n<style>\n");
	html_raw(o, html_style);
	html_raw(o, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the report"
		    "</a>\n<header><div><h1>");
	html_text(o, command);
	html_raw(o, "</h1><p class=\"facts\">");
	write_end(o, p->report);
	if (*p->report->run.host) {
		html_raw(o, "<span>");
		html_text(o, p->report->run.host);
		html_raw(o, "</span>");
	}
	if (*p->report->run.start) {
		html_raw(o, "<span>");
		html_text(o, p->report->run.start);
		html_raw(o, "</span>");
	}
	if (p->report->run.simulated_gpu)
		html_raw(o, "<span>simulated GPU</span>");
	html_raw(o, "</p></div><div class=\"tools\"><select id=\"process\" class=\"js\" "
		    "aria-label=\"Process\"></select><button id=\"theme\" class=\"js\" "
		    "type=\"button\">Dark</button></div></header>\n");
}

/* Returns the names of idle causes by their nouns, which the timeline shows. The caller owns the
 * reference. */
static json_t *causes_by_noun(void)
{
	json_t *causes = json_object();
	for (size_t i = 0; i < IDLE_CAUSES_N; i++)
		json_object_set_new(causes, idle_causes[i].noun, json_string(idle_causes[i].name));
	return causes;
}

/* Writes what the script reads: report.json, and the views of the processes with details. */
static void write_data(const struct page *p)
{
	json_t *views = json_object();
	char key[24];
	for (size_t i = 0; i < p->shown.n; i++) {
		json_t *of = p->report->processes.at[p->shown.at[i]]->views;
		snprintf(key, sizeof(key), "%zu", p->shown.at[i]);
		json_object_set(views, key, of ? of : json_null());
	}
	json_object_set_new(views, "causes", causes_by_noun());
	html_raw(p->out, "<script type=\"application/json\" id=\"report-json\">");
	html_json(p->out, p->root);
	html_raw(p->out, "</script>\n<script type=\"application/json\" id=\"views-json\">");
	html_json(p->out, views);
	html_raw(p->out, "</script>\n<script>\n");
	html_raw(p->out, html_script);
	html_raw(p->out, "</script>\n");
	json_decref(views);
}

/* Writes the process that the first screen is about, then the others while there is room. */
static void write_details(struct page *p, size_t first)
{
	size_t n = p->report->processes.n;
	for (size_t i = 0; i < n; i++) {
		size_t process = i == 0 ? first : i <= first ? i - 1 : i;
		if (i && p->out->text.n > DETAILS_BYTES)
			break;
		const struct html_view v = view_of(p, process);
		html_process(&v, p->report);
		vec_push(&p->shown, process);
	}
	if (p->shown.n < n)
		html_rawf(p->out,
			  "<p class=\"note\">This page has the details of %zu of %zu processes. "
			  "report.json has all of them.</p>\n",
			  p->shown.n, n);
}

static size_t index_of(const struct report *r, const struct report_process *p)
{
	for (size_t i = 0; i < r->processes.n; i++)
		if (r->processes.at[i] == p)
			return i;
	return 0;
}

void report_html(struct html_out *o, const struct report *r, const json_t *runfile)
{
	const struct report_process *main_one = report_main_process(r);
	json_t *root = report_to_json(r);
	struct html_out body = { { 0 } };
	struct page p = { .out = &body, .report = r, .root = root };
	size_t first = index_of(r, main_one);
	write_running(&p);
	write_processes(&p);
	if (r->processes.n)
		write_details(&p, first);
	else
		html_raw(&body, "<p>No process of this run has figures to report.</p>\n");
	html_settings(&body, r, runfile);
	p.out = o;
	write_head(&p, main_one);
	write_nav(o, &body, first);
	html_raw(o, "<main id=\"main\">\n");
	html_append(o, &body);
	html_raw(o, "</main>\n");
	write_data(&p);
	html_raw(o, "</body>\n</html>\n");
	vec_free(&p.shown);
	html_free(&body);
	json_decref(root);
}

int report_html_save(const char *path, const struct report *r, const json_t *runfile, struct err *e)
{
	struct html_out page = { { 0 } };
	struct outfile out;
	int error = outfile_open(&out, path, 0, e);
	if (error)
		return error;
	report_html(&page, r, runfile);
	outfile_write(&out, page.text.at, page.text.n);
	html_free(&page);
	return outfile_refresh(&out, e);
}
