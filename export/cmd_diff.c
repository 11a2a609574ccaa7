/* `profrun diff A B [--json] [--fail-above PCT]`: prints what became slower or faster. */
#include "export/command.h"
#include "export/diff.h"
#include "export/fields.h"
#include "export/print.h"
#include "export/report_text.h"
#include "export/work_progress.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { DIFF_SCHEMA = 1 };

struct request {
	const char *paths[DIFF_SIDES];
	int n_paths;
	bool is_json, has_gate;
	unsigned top;
	double pct;
};

static int take_path(void *request, const char *word)
{
	struct request *r = request;
	if (r->n_paths == DIFF_SIDES)
		return usage_error("diff takes two folders or traces, got '%s' too", word);
	r->paths[r->n_paths++] = word;
	return 0;
}

static int take_pct(void *request, const struct command_option *o, const char *value)
{
	struct request *r = request;
	char *end;
	r->pct = strtod(value, &end);
	r->has_gate = true;
	if (end == value || *end || !isfinite(r->pct) || r->pct < 0)
		return usage_error("diff: %s takes a percentage of 0 or more, not '%s'", o->name,
				   value);
	return 0;
}

static const struct command_option options[] = {
	{ .name = "--json",
	  .help = "print the result as JSON",
	  .offset = offsetof(struct request, is_json) },
	{ .name = "--fail-above",
	  .argument = "PCT",
	  .help = "exit with status 1 if the step became slower by more than PCT\npercent, with "
		  "2 if that cannot be judged",
	  .take = take_pct },
	{ .name = "--top",
	  .argument = "N",
	  .help = "show N rows of each list",
	  .most = 1000000,
	  .offset = offsetof(struct request, top) },
	{ 0 },
};

/* Any trouble has the status of wrong usage, because 1 means that the step became slower. */
static int trouble(const char *text)
{
	return usage_error("diff: %s", text);
}

static int open_side(struct diff_side *s, const char *path)
{
	struct err e = { "" };
	int status = EXIT_DONE;
	if (diff_side_open(s, path, &e))
		return trouble(e.text);
	for (size_t i = 0; i < s->made.diagnostics.n; i++)
		print_err("profrun: %s\n", s->made.diagnostics.at[i]);
	if (s->made.has_bad_journal)
		status = trouble("the figures cover only what could be read");
	return status;
}

static void print(const struct request *r, const struct diff *d)
{
	struct textout o = { .to = stdout, .has_colour = text_wants_colour(STDOUT_FILENO) };
	if (!r->is_json) {
		diff_text(&o, d, r->top);
		return;
	}
	json_t *root = fields_write(&diff_fields, d);
	json_object_set_new(root, "schema", json_integer(DIFF_SCHEMA));
	print_json(root);
	json_decref(root);
}

/* Returns the exit status of the gate. */
static int pass_gate(const struct diff *d)
{
	const struct diff_gate *g = d->gate;
	if (!g || !strcmp(g->result, "passed"))
		return EXIT_DONE;
	if (strcmp(g->result, "failed") != 0)
		return usage_error("diff: cannot judge whether the step became slower: %s", g->why);
	print_err("profrun: diff: the step became slower by more than %g %% (median %+.1f %%, mean "
		  "%+.1f %%)\n",
		  g->pct, d->median->change_pct, d->mean->change_pct);
	return EXIT_DATA;
}

static int compare(const struct request *r, struct diff_side sides[DIFF_SIDES])
{
	struct diff d;
	struct err e;
	if (diff_choose(sides, &e))
		return trouble(e.text);
	diff_make(&d, sides);
	if (r->has_gate)
		diff_judge(&d, r->pct);
	print(r, &d);
	int status = pass_gate(&d);
	diff_free(&d);
	return status;
}

static int compare_paths(const struct request *r)
{
	struct diff_side sides[DIFF_SIDES] = { 0 };
	int bad = EXIT_DONE, status = EXIT_DONE;
	work_progress_start();
	for (int i = 0; i < DIFF_SIDES; i++) {
		int opened = open_side(&sides[i], r->paths[i]);
		bad = opened ? opened : bad;
	}
	work_progress_end();
	if (sides[DIFF_A].is_opened && sides[DIFF_B].is_opened)
		status = compare(r, sides);
	for (int i = 0; i < DIFF_SIDES; i++)
		diff_side_free(&sides[i]);
	return bad ? bad : status;
}

static int run(int argc, char **argv)
{
	struct request r = { .top = REPORT_TOP };
	int status;
	if (!command_parse(&command_diff, &r, argc, argv, NULL, &status))
		return status;
	if (r.n_paths < DIFF_SIDES)
		return usage_error("diff: which two runs? %s", command_usage(&command_diff));
	status = compare_paths(&r);
	if (!status && (fflush(stdout) || ferror(stdout)))
		status = trouble("the result could not be written to stdout");
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.operands = "DIR|TRACE DIR|TRACE",
	.summary = "compare two runs: step time, and what became slower or faster",
	.options = options,
	.wanted = "which two runs?",
	.operand = take_path,
	.run = run,
};
