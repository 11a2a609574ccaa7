/* `profrun report DIR|TRACE... [--json] [--html FILE] [--top N] [--compat PEER]`: prints the report
 * as text or JSON, or writes it as HTML. */
#include "export/command.h"
#include "export/compat.h"
#include "export/print.h"
#include "export/report_html.h"
#include "export/report_json.h"
#include "export/report_make.h"
#include "export/report_text.h"
#include "export/runfile.h"
#include "export/work_progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct request {
	bool is_json;
	unsigned top;
	const char *sort;		  /* heading of a column; NULL: not given */
	const char *html;		  /* path of the page to write; NULL: none */
	const char *step_loop;		  /* of --step loop:FILE:LINE; NULL: not given */
	const struct compat_peer *compat; /* NULL: profrun's own report */
	VEC(const char *) paths;
};

static int take_path(void *request, const char *word)
{
	struct request *r = request;
	vec_push(&r->paths, word);
	return 0;
}

/* Takes the loop of `--step loop:FILE:LINE`. The other modes need calls that were not recorded. */
static int take_step(void *request, const struct command_option *o, const char *value)
{
	static const char word[] = "loop:";
	struct request *r = request;
	size_t n = strlen(word);
	if (strncmp(value, word, n) != 0 || !strchr(value + n, ':'))
		return usage_error("%s %s: expected loop:FILE:LINE, as the report names a loop",
				   o->name, value);
	r->step_loop = value + n;
	return 0;
}

static int take_compat(void *request, const struct command_option *o, const char *value)
{
	struct request *r = request;
	r->compat = compat_find(value);
	return r->compat ? 0 : usage_error("%s %s: expected %s", o->name, value, compat_names);
}

static const struct command_option options[] = {
	{ .name = "--json",
	  .help = "print JSON, the same as in DIR/report.json",
	  .offset = offsetof(struct request, is_json) },
	{ .name = "--html",
	  .argument = "FILE",
	  .help = "write the report as one HTML page, the same as DIR/report.html",
	  .offset = offsetof(struct request, html) },
	{ .name = "--top",
	  .argument = "N",
	  .help = "show N rows of each list",
	  .most = 1000000,
	  .offset = offsetof(struct request, top) },
	{ .name = "--sort",
	  .argument = "COLUMN",
	  .help = "sort the lists that have this column by it",
	  .offset = offsetof(struct request, sort) },
	{ .name = "--compat",
	  .argument = "TOOL",
	  .help = "print what another tool computes from a trace: hta, tensorboard",
	  .values = compat_names,
	  .take = take_compat },
	{ .name = "--step",
	  .argument = "loop:FILE:LINE",
	  .help = "steps are the iterations of this loop",
	  .take = take_step },
	{ 0 },
};

static int print_text(const struct request *r, const struct report_made *made)
{
	struct textout o = { .to = stdout, .has_colour = text_wants_colour(STDOUT_FILENO) };
	if (!report_text_all(&o, &made->report, r->top, r->sort))
		return usage_error("--sort %s: no list of this report has a column of this name; "
				   "the headings of the lists are the names",
				   r->sort);
	return EXIT_DONE;
}

static int report_compat(const struct request *r, const char *path, json_t *list)
{
	struct textout o = { .to = stdout, .has_colour = text_wants_colour(STDOUT_FILENO) };
	struct err e;
	if (compat_report(r->compat, path, r->is_json ? list : NULL, &o, r->top, &e))
		return data_error("%s", e.text);
	return EXIT_DONE;
}

static int write_html(const struct request *r, const char *path, const struct report *report)
{
	struct err e;
	json_t *runfile = runfile_load(path);
	int error = report_html_save(r->html, report, runfile, &e);
	json_decref(runfile);
	return error ? data_error("%s", e.text) : EXIT_DONE;
}

static int report_one(const struct request *r, const char *path, json_t *list)
{
	struct report_made made = { 0 };
	struct err e;
	int status = EXIT_DONE;
	if (r->compat)
		return report_compat(r, path, list);
	work_progress_start();
	int error = report_make_any(path, r->step_loop, &made, &e);
	work_progress_end();
	if (error)
		return data_error("%s", e.text);
	for (size_t i = 0; i < made.diagnostics.n; i++)
		print_err("profrun: %s\n", made.diagnostics.at[i]);
	if (made.has_bad_journal)
		status = EXIT_DATA;
	if (r->html && write_html(r, path, &made.report))
		status = EXIT_DATA;
	if (r->is_json)
		json_array_append_new(list, report_to_json(&made.report));
	else if (!r->html && print_text(r, &made))
		status = EXIT_USAGE;
	report_made_free(&made);
	return status;
}

/* Prints the report of one folder as an object, those of several folders as a list of objects. */
static void print_reports(const json_t *list, const struct request *r)
{
	const json_t *what = r->paths.n == 1 ? json_array_get(list, 0) : list;
	if (what && r->compat)
		print_json_exact(what);
	else if (what)
		print_json(what);
}

static int run(int argc, char **argv)
{
	struct request r = { .top = REPORT_TOP };
	int status;
	if (!command_parse(&command_report, &r, argc, argv, NULL, &status)) {
		vec_free(&r.paths);
		return status;
	}
	if (r.html && (r.paths.n > 1 || r.compat)) {
		vec_free(&r.paths);
		return usage_error("report --html FILE takes one run or trace, and no --compat");
	}
	if (r.sort && (r.is_json || r.html || r.compat)) {
		vec_free(&r.paths);
		return usage_error(
			"report --sort COLUMN sorts the text report: it takes no --json, "
			"--html or --compat");
	}
	json_t *list = json_array();
	for (size_t i = 0; !status && i < r.paths.n; i++) {
		if (i && !r.is_json)
			print_out("\n");
		status = report_one(&r, r.paths.at[i], list);
	}
	if (r.is_json)
		print_reports(list, &r);
	if (!status && (fflush(stdout) || ferror(stdout)))
		status = data_error("the report could not be written to stdout");
	json_decref(list);
	vec_free(&r.paths);
	return status;
}

const struct command command_report = {
	.name = "report",
	.operands = "[DIR|TRACE...]",
	.summary = "print step time, bottleneck, estimated savings and time by line",
	.options = options,
	.wanted = "which run's folder?",
	.takes_latest = true,
	.operand = take_path,
	.run = run,
};
