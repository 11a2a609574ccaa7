/* `profrun report DIR... [--json] [--top N]`: what the run says, in words or as JSON, on stdout. */
#include "export/command.h"
#include "export/journals.h"
#include "export/report_json.h"
#include "export/report_make.h"
#include "export/report_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
	bool is_json;
	unsigned top;
	VEC(const char *) paths;
};

static int parse_top(struct request *r, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	if (!*text || *end || *text == '-' || !value || value > 1000000)
		return usage_error("report: --top takes a number of rows from 1, not '%s'", text);
	r->top = (unsigned)value;
	return 0;
}

static int parse(int argc, char **argv, struct request *r)
{
	for (int i = 1; i < argc; i++) {
		int error = 0;
		if (!strcmp(argv[i], "--json"))
			r->is_json = true;
		else if (!strcmp(argv[i], "--top"))
			error = i + 1 < argc ? parse_top(r, argv[++i])
					     : usage_error("report: --top needs a number of rows");
		else if (argv[i][0] == '-' && argv[i][1])
			error = usage_error("report: no option '%s'; %s", argv[i],
					    command_usage("report"));
		else
			vec_push(&r->paths, argv[i]);
		if (error)
			return error;
	}
	return r->paths.n ? 0
			  : usage_error("report: which run's folder? %s", command_usage("report"));
}

static int make(const char *path, struct report_made *made)
{
	struct stat status;
	struct err e;
	int error;
	if (stat(path, &status))
		return data_error("%s: no such folder", path);
	if (!S_ISDIR(status.st_mode) && !journals_is_one(path))
		return data_error("%s: cannot read this file as a run: only profrun's own folders "
				  "and journals, yet",
				  path);
	error = S_ISDIR(status.st_mode) ? report_make(path, made, &e)
					: report_make_from_journal(path, made, &e);
	return error ? data_error("%s", e.text) : 0;
}

static void print_text(const struct request *r, const struct report_made *made)
{
	struct textout o = { .to = stdout, .has_colour = text_wants_colour(STDOUT_FILENO) };
	report_text_all(&o, &made->report, r->top);
}

static int report_one(const struct request *r, const char *path, json_t *list)
{
	struct report_made made = { 0 };
	int status = make(path, &made);
	if (status)
		return status;
	for (size_t i = 0; i < made.diagnostics.n; i++)
		fprintf(stderr, "profrun: %s\n", made.diagnostics.at[i]);
	if (made.has_bad_journal)
		status = EXIT_DATA;
	if (r->is_json)
		json_array_append_new(list, report_to_json(&made.report));
	else
		print_text(r, &made);
	report_made_free(&made);
	return status;
}

/* One folder is an object, several are a list of them. */
static void print_json(const json_t *list, size_t n_wanted)
{
	const json_t *what = n_wanted == 1 ? json_array_get(list, 0) : list;
	if (!what)
		return;
	json_dumpf(what, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	putchar('\n');
}

int cmd_report(int argc, char **argv)
{
	struct request r = { .top = REPORT_TOP };
	int status = parse(argc, argv, &r);
	json_t *list = json_array();
	for (size_t i = 0; !status && i < r.paths.n; i++) {
		if (i && !r.is_json)
			putchar('\n');
		status = report_one(&r, r.paths.at[i], list);
	}
	if (r.is_json)
		print_json(list, r.paths.n);
	if (!status && (fflush(stdout) || ferror(stdout)))
		status = data_error("the report could not be written to stdout");
	json_decref(list);
	vec_free(&r.paths);
	return status;
}
