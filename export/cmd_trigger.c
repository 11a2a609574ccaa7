/*
 * `profrun trigger [PID|DIR] [--steps N]`: requests that a running job records steps. Waits up to
 * 2 s for the answer, which names the steps. Without an operand, lists the running jobs.
 */
#include "export/command.h"
#include "export/live.h"
#include "export/print.h"
#include "export/report_head.h"
#include "export/report_words.h"
#include "export/textout.h"
#include "export/trigger_ask.h"

#include <time.h>
#include <unistd.h>

enum { STEPS_MOST = 1000000, LOOK_EVERY_MS = 5, NUMBER_BYTES = 32 };

struct request {
	unsigned n_steps; /* 0: the number in the schedule */
	const char *what; /* PID or DIR; NULL: not given */
};

static void wait_for_answers(const struct asking *a)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_MS * 1000000L };
	for (int waited = 0; waited < TRIGGER_ANSWER_MS && asking_is_awaited(a);
	     waited += LOOK_EVERY_MS)
		nanosleep(&pause, NULL);
}

static int ask_all(const struct jobs *jobs, unsigned n_steps)
{
	struct asking a = { .n_steps = n_steps };
	char answer[TRIGGER_WORDS_BYTES];
	int status = jobs->status;
	for (size_t i = 0; i < jobs->all.n; i++)
		asking_add(&a, &jobs->all.at[i]);
	asking_send(&a);
	for (size_t i = 0; i < a.all.n; i++)
		if (*a.all.at[i].why)
			status = data_error("%s", a.all.at[i].why);
	wait_for_answers(&a);
	for (size_t i = 0; i < a.all.n; i++)
		if (a.all.at[i].is_asked)
			print_out("%s\n", asking_answer(answer, &a.all.at[i]));
	asking_free(&a);
	return status;
}

static int trigger(const struct request *r)
{
	struct jobs jobs = { 0 };
	int error = jobs_add(&jobs, r->what);
	if (!error && !jobs.all.n && !jobs.status)
		error = data_error("%s: the run has ended: there is no process left to record",
				   r->what);
	error = error || !jobs.all.n ? error | jobs.status : ask_all(&jobs, r->n_steps);
	jobs_free(&jobs);
	return error;
}

/* ---- The list of running jobs ---- */

static void add_row(struct text_table *t, const struct live *live, const struct job *job)
{
	struct live_process p = live_process(live, job);
	char count[NUMBER_BYTES], ms[NUMBER_BYTES];
	table_cell(t, "%u", p.pid);
	table_cell(t, "%s", *p.rank ? p.rank : "-");
	table_cell(t, "%s", p.steps >= 0 ? report_count(count, sizeof(count), p.steps) : "-");
	table_cell(t, "%s", report_ms_or_dash(ms, sizeof(ms), p.step_ms));
	table_cell(t, "%s", *p.command ? report_own_command(p.command) : "-");
}

/* The folder is printed whole, because users copy it. */
static void list_run(const struct live *live, const struct jobs *jobs, const char *folder)
{
	static const struct text_column columns[] = {
		{ "PID", COLUMN_NUMBER },   { "rank", COLUMN_NUMBER },
		{ "steps", COLUMN_NUMBER }, { "step ms", COLUMN_NUMBER },
		{ "command", COLUMN_NAME },
	};
	struct textout o = { .to = stdout, .has_colour = text_wants_colour(STDOUT_FILENO) };
	struct text_table t;
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < jobs->all.n; i++)
		if (!strcmp(jobs->all.at[i].folder, folder))
			add_row(&t, live, &jobs->all.at[i]);
	print_out("%s\n", folder);
	table_end(&t, &o);
}

static int list(void)
{
	struct jobs jobs = { .is_silent = true };
	struct live live = { 0 };
	jobs_add_user(&jobs);
	live_read(&live, &jobs);
	for (size_t i = 0; i < live.runs.n; i++)
		list_run(&live, &jobs, live.runs.at[i].folder);
	int status = jobs.all.n ? EXIT_DONE : live_say_none();
	if (!status) {
		print_out("\nTo record the next steps of a process: profrun trigger PID\n");
		print_out("To record those of all processes of a run: profrun trigger DIR\n");
	}
	live_free(&live);
	jobs_free(&jobs);
	return status;
}

/* ---- The command ---- */

static int take_what(void *request, const char *word)
{
	struct request *r = request;
	if (r->what)
		return usage_error("trigger takes one process or folder, got '%s' too; %s", word,
				   command_usage(&command_trigger));
	r->what = word;
	return 0;
}

static const struct command_option options[] = {
	{ .name = "--steps",
	  .argument = "N",
	  .help = "record N steps instead of the number in the schedule",
	  .most = STEPS_MOST,
	  .offset = offsetof(struct request, n_steps) },
	{ 0 },
};

static int run(int argc, char **argv)
{
	struct request r = { 0 };
	int error;
	if (!command_parse(&command_trigger, &r, argc, argv, NULL, &error))
		return error;
	if (!r.what && r.n_steps)
		return usage_error("which process or run's folder? profrun trigger lists the "
				   "running ones; %s",
				   command_usage(&command_trigger));
	return r.what ? trigger(&r) : list();
}

const struct command command_trigger = {
	.name = "trigger",
	.operands = "[PID|DIR]",
	.summary = "record the next steps of a running job, or list the running jobs",
	.options = options,
	.operand = take_what,
	.run = run,
};
