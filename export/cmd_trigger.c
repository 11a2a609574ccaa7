/*
 * `profrun trigger PID|DIR [--steps N]`: requests that a running job records steps. Writes the
 * request into the job's journals (core/source/process/target.h). Waits up to 2 s for the answer,
 * which names the steps.
 */
#include "core/source/process/target.h"
#include "core/util/procfs.h"
#include "export/command.h"
#include "export/print.h"
#include "export/ranks_meet.h"
#include "export/run_journals.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	STEPS_MOST = 1000000,
	ANSWER_WITHIN_MS = 2000,
	LOOK_EVERY_MS = 5,
	WATCH_MS = 50, /* how long the speed of ranks is measured; 50 ms contain a hundred steps
		        * of 0.4 ms */
};

/* A running process that is asked to record steps. */
struct asked {
	struct target *target;
	char folder[PATH_MAX];
	bool can_be_asked;
};

struct asking {
	unsigned n_steps; /* 0: the number in the schedule */
	const char *what; /* PID or DIR */
	VEC(struct asked) targets;
	VEC(struct rank_look) looks; /* one for each of `targets`, in the same order */
	size_t n_over;		     /* number of journals of ended processes */
	int status;
};

/* ---- Which processes to ask ---- */

/*
 * Adds the journal's process if it is running. `pid`: only if it is that process; 0: any process.
 */
static void add_journal(struct asking *a, const char *folder, const char *path, uint32_t pid)
{
	struct asked added = { 0 };
	struct err e;
	if (target_open(&added.target, path, &e)) {
		a->status = data_error("%s", e.text);
		return;
	}
	bool is_wanted = !pid || target_pid(added.target) == pid;
	if (is_wanted && target_is_alive(added.target)) {
		target_read_facts(added.target);
		snprintf(added.folder, sizeof(added.folder), "%s", folder);
		vec_push(&a->targets, added);
		return;
	}
	a->n_over += is_wanted;
	target_close(added.target);
}

static int add_folder(struct asking *a, const char *folder, uint32_t pid)
{
	struct journals j;
	struct err e;
	if (run_journals(&j, folder, &e))
		return data_error("%s", e.text);
	for (size_t i = 0; i < j.paths.n; i++)
		add_journal(a, folder, j.paths.at[i], pid);
	journals_free(&j);
	return 0;
}

/* Adds the process and its descendants: a shell, a launcher or profrun may have started the
 * job. */
static int add_process(struct asking *a, uint32_t pid)
{
	struct procfs_family family = { 0 };
	char folder[PATH_MAX];
	if (!procfs_start(pid))
		return data_error("there is no process %u", pid);
	procfs_family(pid, &family);
	for (size_t i = 0; i < family.pids.n; i++)
		if (procfs_journal_folder(family.pids.at[i], folder, sizeof(folder)))
			add_folder(a, folder, family.pids.at[i]);
	vec_free(&family.pids);
	if (!a->targets.n && !a->n_over)
		return data_error("process %u is not profiled, and neither is any process that it "
				  "started: none has a journal. Either none has made a CUDA call "
				  "yet, or PROF_RANKS excludes this process",
				  pid);
	return 0;
}

static int find_targets(struct asking *a, const char *what)
{
	struct stat status;
	bool is_number = what[strspn(what, "0123456789")] == 0;
	int error;
	if (!stat(what, &status) && S_ISDIR(status.st_mode))
		error = add_folder(a, what, 0);
	else if (is_number && strlen(what) < 10)
		error = add_process(a, (uint32_t)atol(what));
	else
		return data_error("%s: no such run: neither a run's folder nor a process ID", what);
	if (!error && !a->targets.n && !a->status)
		return data_error("%s: the run has ended: there is no process left to record",
				  what);
	return error ? error : a->status;
}

/* ---- Asking ---- */

static const char *who(const struct asked *t)
{
	static char text[32];
	snprintf(text, sizeof(text), "process %u", target_pid(t->target));
	return text;
}

/* Returns whether the process can be asked; otherwise prints why not. Without a collector, step
 * boundaries cannot be learned. If they are known, steps can be recorded, and exported later. */
static bool can_be_asked(struct asking *a, const struct asked *t)
{
	bool is_learning = target_is_learning(t->target);
	if (!target_accepts_file(t->target)) {
		a->status = data_error(
			"%s cannot be triggered: its PROF_TRIGGER does not include file%s", who(t),
			target_accepts_signal(t->target) ? "; it includes signal, so use kill -USR2"
							 : "");
		return false;
	}
	if (target_has_collector(t->target))
		return true;
	a->status = data_error("%s: no traces are written, because its collector has ended; start "
			       "another with `profrun collect %s &`%s",
			       who(t), t->folder, is_learning ? ", then run trigger again" : "");
	return !is_learning;
}

/* ---- Several ranks ---- */

/* Notes each rank's current step. Returns the number of ranks. */
static size_t look_at_ranks(struct asking *a)
{
	size_t n = 0;
	for (size_t i = 0; i < a->targets.n; i++) {
		const struct asked *t = &a->targets.at[i];
		struct rank_look *look = &a->looks.at[i];
		look->was_one = look->is_one;
		look->then = look->now;
		look->is_one = t->can_be_asked && target_is_rank(t->target);
		look->now = target_step(t->target);
		n += look->is_one;
	}
	return n;
}

/* Returns the step with which all ranks can begin. 0: each rank begins when it sees the request. */
static uint64_t common_step(struct asking *a)
{
	const struct timespec pause = { .tv_nsec = WATCH_MS * 1000000L };
	if (look_at_ranks(a) < 2)
		return 0;
	nanosleep(&pause, NULL);
	look_at_ranks(a);
	return ranks_meet(a->looks.at, a->looks.n);
}

static void ask(struct asking *a)
{
	/* Check all processes before reading the ranks' steps: a check may wait for a collector,
	 * and meanwhile the ranks would advance. */
	for (size_t i = 0; i < a->targets.n; i++) {
		a->targets.at[i].can_be_asked = can_be_asked(a, &a->targets.at[i]);
		vec_push(&a->looks, (struct rank_look){ 0 });
	}
	uint64_t from = common_step(a);
	for (size_t i = 0; i < a->targets.n; i++)
		if (a->targets.at[i].can_be_asked)
			target_request(a->targets.at[i].target, a->n_steps,
				       a->looks.at[i].is_one ? from : 0);
}

static bool is_awaited(const struct asked *t)
{
	return target_was_requested(t->target) && !target_has_answered(t->target);
}

static void wait_for_answers(const struct asking *a)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_MS * 1000000L };
	for (int waited = 0; waited < ANSWER_WITHIN_MS; waited += LOOK_EVERY_MS) {
		bool are_all = true;
		for (size_t i = 0; i < a->targets.n; i++)
			are_all &= !is_awaited(&a->targets.at[i]);
		if (are_all)
			return;
		nanosleep(&pause, NULL);
	}
}

/* ---- The answer ---- */

static void say_window(const struct asked *t, const struct target_window *w, const char *what)
{
	unsigned long long first = w->first, n = w->n;
	print_out("%s: %s", who(t), what);
	if (n == 1)
		print_out(" %llu is recorded", first);
	else
		print_out("s %llu to %llu are recorded", first, first + n - 1);
	if (w->n_warmup)
		print_out(", after %u warm-up step%s", w->n_warmup, w->n_warmup == 1 ? "" : "s");
	print_out("; traces go to %s/traces\n", t->folder);
}

static void say_kept(const struct asked *t, unsigned long long n)
{
	print_out("%s: the steps kept by the flight recorder are written", who(t));
	if (n)
		print_out(", and the next %llu", n);
	print_out("; traces go to %s/traces\n", t->folder);
}

static void say_unanswered(const struct asked *t)
{
	print_out("%s: the request was sent, but within %d s %s; %s, and traces go to "
		  "%s/traces\n",
		  who(t), ANSWER_WITHIN_MS / 1000,
		  target_is_learning(t->target) ? "no step was detected" : "no new step began",
		  target_has_flight(t->target) ? "the steps kept by the flight recorder are written"
					       : "recording starts with the next step",
		  t->folder);
}

static void say(const struct asked *t)
{
	if (!target_has_answered(t->target)) {
		say_unanswered(t);
		return;
	}
	struct target_window w = target_window(t->target);
	if (w.answer == TARGET_KEPT)
		say_kept(t, w.n);
	else
		say_window(t, &w,
			   w.answer == TARGET_SLICES ? "no steps detected yet: time slice"
						     : "step");
}

/* ---- The command ---- */

static int take_what(void *request, const char *word)
{
	struct asking *a = request;
	if (a->what)
		return usage_error("trigger takes one process or folder, got '%s' too; %s", word,
				   command_usage(&command_trigger));
	a->what = word;
	return 0;
}

static const struct command_option options[] = {
	{ .name = "--steps",
	  .argument = "N",
	  .help = "record N steps instead of the number in the schedule",
	  .most = STEPS_MOST,
	  .offset = offsetof(struct asking, n_steps) },
	{ 0 },
};

static int run(int argc, char **argv)
{
	struct asking a = { 0 };
	int error;
	if (!command_parse(&command_trigger, &a, argc, argv, NULL, &error))
		return error;
	error = find_targets(&a, a.what);
	if (!error) {
		ask(&a);
		wait_for_answers(&a);
	}
	for (size_t i = 0; i < a.targets.n; i++) {
		if (target_was_requested(a.targets.at[i].target))
			say(&a.targets.at[i]);
		target_close(a.targets.at[i].target);
	}
	vec_free(&a.targets);
	vec_free(&a.looks);
	return error ? error : a.status;
}

const struct command command_trigger = {
	.name = "trigger",
	.operands = "PID|DIR",
	.summary = "record the next steps of a running job",
	.options = options,
	.wanted = "which process or run's folder?",
	.operand = take_what,
	.run = run,
};
