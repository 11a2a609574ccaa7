/* `profrun whatif DIR ...`: prints how long a step would take after the given changes. */
#include "core/whatif/whatif.h"
#include "export/command.h"
#include "export/foreign.h"
#include "export/print.h"
#include "export/process.h"
#include "export/report_json.h"
#include "export/report_words.h"
#include "export/run_journals.h"
#include "export/work_progress.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

struct request {
	const char *path;
	bool is_json;
	VEC(struct whatif_change) changes;
	VEC(const char *) asked; /* options and their values, as the user typed them */
};

typedef int parse_change(const char *text, struct whatif_change *c, struct err *e);

static int take_change(struct request *r, const struct command_option *o, const char *value,
		       parse_change *parse)
{
	struct err e;
	struct whatif_change c = { 0 };
	if (parse(value, &c, &e))
		return usage_error("whatif: %s: %s", o->name, e.text);
	vec_push(&r->changes, c);
	vec_push(&r->asked, o->name);
	vec_push(&r->asked, value);
	return 0;
}

static int take_without(void *request, const struct command_option *o, const char *value)
{
	return take_change(request, o, value, whatif_parse_without);
}

static int take_kernel(void *request, const struct command_option *o, const char *value)
{
	return take_change(request, o, value, whatif_parse_kernel);
}

static int take_free(void *request, const struct command_option *o, const char *value)
{
	return take_change(request, o, value, whatif_parse_free);
}

static int take_path(void *request, const char *word)
{
	struct request *r = request;
	if (r->path)
		return usage_error("whatif takes one folder or trace, got '%s' too", word);
	r->path = word;
	return 0;
}

#define FREE_WORD(id, name, text) name "|"

static const struct command_option options[] = {
	{ .name = "--without",
	  .argument = "FILE:LINE",
	  .help = "remove the waits of this line; also shows the savings without\nthe whole line, "
		  "and without the CPU work before its calls",
	  .repeats = true,
	  .take = take_without },
	{ .name = "--kernel",
	  .argument = "REGEX=FACTOR",
	  .help = "kernels whose names match REGEX take FACTOR times as long",
	  .repeats = true,
	  .take = take_kernel },
	{ .name = "--free",
	  .argument = "WHAT",
	  .help = "WHAT costs nothing: launch, host, input, alloc, copy, collective or sync",
	  .values = WHATIF_FREES(FREE_WORD),
	  .repeats = true,
	  .take = take_free },
	{ .name = "--json",
	  .help = "print the result as JSON",
	  .offset = offsetof(struct request, is_json) },
	{ 0 },
};

static bool parse(int argc, char **argv, struct request *r, int *status)
{
	if (!command_parse(&command_whatif, r, argc, argv, NULL, status))
		return false;
	if (!r->changes.n)
		*status = usage_error("whatif: no change given (--without, --kernel or --free); %s",
				      command_usage(&command_whatif));
	return r->changes.n;
}

/* ---- Choosing the process ---- */

/* The process that is asked about: from a journal, or from a trace of another tool. */
struct subject {
	struct process *process; /* NULL: a trace */
	struct foreign *trace;	 /* NULL: a process */
	struct analysis *analysis;
};

static double recorded_ms(struct analysis *a)
{
	const struct timeline *t = analysis_timeline(a);
	double sum_ns = 0;
	for (size_t i = 0; i < t->steps.n; i++)
		sum_ns += (double)(t->steps.at[i].end_ns - t->steps.at[i].begin_ns);
	return t->steps.n ? sum_ns / (double)t->steps.n / 1e6 : 0;
}

static void drop(struct subject *s)
{
	if (s->process) {
		process_close(s->process);
		free(s->process);
	}
	foreign_close(s->trace);
	*s = (struct subject){ 0 };
}

/* Keeps the one whose recorded steps are longer, as the report does. */
static void keep_slower(struct subject *slowest, struct subject *s)
{
	bool is_slower = !slowest->analysis ||
			 recorded_ms(s->analysis) > recorded_ms(slowest->analysis);
	drop(is_slower ? slowest : s);
	if (is_slower)
		*slowest = *s;
}

static struct subject choose_journal(const struct journals *j, struct output *out, int *status)
{
	struct subject slowest = { 0 };
	for (size_t i = 0; i < j->paths.n; i++) {
		struct process *p = mem_zero(sizeof(*p));
		struct err e;
		work_progress_about(j->paths.at[i], i, j->paths.n);
		if (process_export(p, out, j->paths.at[i], &e)) {
			data_error("%s", e.text);
			free(p);
			continue;
		}
		if (process_complain_of_damage(p))
			*status = EXIT_DATA;
		struct subject s = { .process = p, .analysis = p->analysis };
		keep_slower(&slowest, &s);
	}
	return slowest;
}

static struct subject choose_trace(const char *path, int *status)
{
	struct subject slowest = { 0 };
	struct foreign_files files;
	foreign_list(&files, path);
	for (size_t i = 0; i < files.paths.n; i++) {
		struct subject s = { 0 };
		struct err e;
		work_progress_about(files.paths.at[i], i, files.paths.n);
		if (foreign_open(&s.trace, files.paths.at[i], NULL, &e)) {
			data_error("%s", e.text);
			continue;
		}
		if (*kineto_damage(foreign_trace(s.trace)))
			*status = data_error("%s: %s", files.paths.at[i],
					     kineto_damage(foreign_trace(s.trace)));
		s.analysis = foreign_analysis(s.trace);
		keep_slower(&slowest, &s);
	}
	foreign_files_free(&files);
	return slowest;
}

/* ---- The answer ---- */

struct answer {
	struct whatif_result with, line,
		before; /* with: removes the lines' waits; line: removes the lines as a whole;
			 * before: removes the CPU work before the lines */
	bool has_line;
	uint32_t pid;
};

/* Replays the requested changes, but with `kind` in place of WHATIF_WAIT. */
static int ask_of_lines(const struct request *r, struct timeline *t, uint8_t kind,
			const struct whatif_result *with, struct whatif_result *out, struct err *e)
{
	VEC(struct whatif_change) asked = { 0 };
	for (size_t i = 0; i < r->changes.n; i++) {
		vec_push(&asked, r->changes.at[i]);
		if (asked.at[i].kind == WHATIF_WAIT)
			asked.at[i].kind = kind;
	}
	int error = whatif_run(t, asked.at, asked.n, out, e);
	vec_free(&asked);
	if (!error && with->is_of_mean) /* use the mean, as `with` does: a line may run in every
					 * step but wait in few of them */
		whatif_use_mean(out);
	return error;
}

static int ask(const struct request *r, struct analysis *of, struct answer *a, struct err *e)
{
	struct timeline *t = analysis_timeline(of);
	a->pid = t->pid;
	for (size_t i = 0; i < r->changes.n; i++)
		a->has_line |= r->changes.at[i].kind == WHATIF_WAIT;
	int error = whatif_run(t, r->changes.at, r->changes.n, &a->with, e);
	a->has_line &= !a->with.is_sampled;
	if (error || !a->has_line)
		return error;
	error = ask_of_lines(r, t, WHATIF_LINE, &a->with, &a->line, e);
	return error ? error : ask_of_lines(r, t, WHATIF_BEFORE, &a->with, &a->before, e);
}

static json_t *result(const struct whatif_result *x)
{
	return json_pack("{s:o, s:o, s:o, s:i, s:b, s:o, s:o}", "changed_ms",
			 report_json_number(x->changed_ms, 1e-4), "gain_ms",
			 report_json_number(x->gain_ms, 1e-4), "gain_pct",
			 report_json_number(x->gain_pct, 1e-2), "rare_steps", (int)x->rare_steps,
			 "of_mean", x->is_of_mean, "calls_per_step",
			 report_json_number(x->calls, 1e-3), "works_per_step",
			 report_json_number(x->works, 1e-3));
}

static void print_answer(const struct request *r, const struct answer *a)
{
	json_t *asked = json_array();
	for (size_t i = 0; i < r->asked.n; i++)
		json_array_append_new(asked, report_json_text(r->asked.at[i]));
	json_t *o = json_pack("{s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
			      REPORT_SCHEMA, "pid", (json_int_t)a->pid, "asked", asked,
			      "measured_ms", report_json_number(a->with.measured_ms, 1e-4),
			      "replayed_ms", report_json_number(a->with.replayed_ms, 1e-4),
			      "error_pct", report_json_number(a->with.error_pct, 1e-2),
			      "recorded_ms", report_json_number(a->with.recorded_ms, 1e-4),
			      "step_ms", report_json_number(a->with.step_ms, 1e-4), "mean_ms",
			      report_json_number(a->with.mean_ms, 1e-4));
	json_t *with = result(&a->with);
	json_object_update(o, with);
	json_decref(with);
	json_object_set_new(o, "whole_line", a->has_line ? result(&a->line) : json_null());
	json_object_set_new(o, "before_line", a->has_line ? result(&a->before) : json_null());
	print_json(o);
	json_decref(o);
}

static void print_gain(const char *what, const struct whatif_result *x)
{
	char ms[32], gain[32];
	report_ms(ms, sizeof(ms), x->changed_ms);
	report_ms(gain, sizeof(gain), x->gain_ms < 0 ? -x->gain_ms : x->gain_ms);
	print_out("%-24s %10s ms   %s %s ms (%.1f %%)\n", what, ms,
		  x->gain_ms < 0 ? "longer by" : "shorter by", gain,
		  x->gain_pct < 0 ? -x->gain_pct : x->gain_pct);
	if (x->rare_steps)
		print_out("%-24s %10s      in only %u of %.0f steps; compared with the mean step, "
			  "%s "
			  "ms\n",
			  "", "", x->rare_steps, x->steps, report_ms(ms, sizeof(ms), x->mean_ms));
	else if (x->is_of_mean)
		print_out("%-24s %10s      also compared with the mean step\n", "", "");
}

static void print_text(const struct answer *a)
{
	char recorded[32], measured[32], replayed[32], step[32];
	const struct whatif_result *x = &a->with;
	print_out("%-24s %10s ms   process %u, %.0f recorded steps\n", "typical step",
		  report_ms(recorded, sizeof(recorded), x->recorded_ms), a->pid, x->steps);
	if (x->step_ms < x->recorded_ms)
		print_out("%-24s %10s ms   changes are compared with this step time\n",
			  "without recording", report_ms(step, sizeof(step), x->step_ms));
	print_gain(a->has_line	   ? "without the wait"
		   : x->is_sampled ? "without the line's time"
				   : "with the change",
		   x);
	if (a->has_line) {
		print_gain("without the whole line", &a->line);
		print_gain("without CPU work before", &a->before);
	}
	print_out("%-24s %10s ms   measured: %s ms on average; model error %.1f %%\n",
		  "replayed unchanged", report_ms(replayed, sizeof(replayed), x->replayed_ms),
		  report_ms(measured, sizeof(measured), x->measured_ms), fabs(x->error_pct));
}

/* Ends the work that answer_for() has started. */
static int answer(const struct request *r, struct analysis *of)
{
	struct answer a = { 0 };
	struct err e;
	int error = ask(r, of, &a, &e);
	work_progress_end();
	if (error)
		return data_error("%s", e.text);
	if (r->is_json)
		print_answer(r, &a);
	else
		print_text(&a);
	return EXIT_DONE;
}

static int answer_for(const struct request *r)
{
	struct subject s = { 0 };
	struct journals j = { 0 };
	struct output out = { .analyses = true };
	struct err e;
	int status = EXIT_DONE;
	work_progress_start();
	if (foreign_is_at(r->path))
		s = choose_trace(r->path, &status);
	else if (run_journals(&j, r->path, &e))
		data_error("%s", e.text);
	else
		s = choose_journal(&j, &out, &status);
	int answered = EXIT_DATA;
	if (s.analysis)
		answered = answer(r, s.analysis);
	else
		work_progress_end();
	drop(&s);
	journals_free(&j);
	output_free(&out);
	return answered ? answered : status;
}

static int run(int argc, char **argv)
{
	struct request r = { 0 };
	int status;
	if (parse(argc, argv, &r, &status))
		status = answer_for(&r);
	vec_free(&r.changes);
	vec_free(&r.asked);
	return status;
}

const struct command command_whatif = {
	.name = "whatif",
	.operands = "[DIR|TRACE]",
	.summary = "estimate how long a step would take without a line, with faster kernels, ...",
	.options = options,
	.wanted = "which run's folder?",
	.takes_latest = true,
	.operand = take_path,
	.run = run,
};
