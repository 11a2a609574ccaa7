/*
 * The end of a run: waits until the collector has written everything, then prints a summary on
 * stderr.
 */
#include "core/runtime/clock.h"
#include "export/files_words.h"
#include "export/outfile.h"
#include "export/print.h"
#include "export/progress_words.h"
#include "export/report_exit.h"
#include "export/report_file.h"
#include "export/report_head.h"
#include "export/report_json.h"
#include "export/report_text.h"
#include "export/report_words.h"
#include "export/run.h"
#include "export/runfile.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_WITHIN_MS = 2000 }; /* after SIGTERM */

static volatile sig_atomic_t was_interrupted, was_terminated;

static void note_interrupt(int signal)
{
	if (signal == SIGTERM && !was_terminated)
		was_terminated = 1;
	else
		was_interrupted = 1;
}

/*
 * From now on lets interrupts end the wait for the collector. Drops pending interrupts, because
 * they were meant for the application, which has ended. Blocks interrupts, and stores in `during`
 * the signal mask for ppoll() that lets them through.
 */
static void heed_interrupts(sigset_t *during)
{
	static const int interrupts[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	static const struct timespec at_once;
	const struct sigaction noting = { .sa_handler = note_interrupt };
	sigset_t all;
	sigemptyset(&all);
	sigprocmask(SIG_BLOCK, NULL, during);
	for (size_t i = 0; i < sizeof(interrupts) / sizeof(*interrupts); i++) {
		struct sigaction now;
		if (sigaction(interrupts[i], NULL, &now) || now.sa_handler == SIG_IGN)
			continue;
		sigaction(interrupts[i], &noting, NULL);
		sigaddset(&all, interrupts[i]);
		sigdelset(during, interrupts[i]);
	}
	sigprocmask(SIG_BLOCK, &all, NULL);
	while (sigtimedwait(&all, NULL, &at_once) > 0)
		;
}

/*
 * Passes SIGTERM on to the collector, which then ends with what it has read. Returns how long to
 * wait for its answer; NULL: without a limit. `until_ms`: when the wait ends; 0: the signal has not
 * been passed on.
 */
static const struct timespec *patience(const struct run *r, uint64_t *until_ms)
{
	static struct timespec left;
	if (!was_terminated)
		return NULL;
	if (!*until_ms) {
		kill(r->collector, SIGTERM);
		*until_ms = clock_ms() + ANSWER_WITHIN_MS;
	}
	uint64_t now_ms = clock_ms(), ms = *until_ms > now_ms ? *until_ms - now_ms : 0;
	left = (struct timespec){ .tv_sec = (time_t)(ms / 1000),
				  .tv_nsec = (long)(ms % 1000) * 1000000 };
	return &left;
}

/* Reads more of the collector's answer. Returns false at its end, or after an interrupt. */
static bool hear(const struct run *r, const sigset_t *during, char *to, size_t room, size_t *n)
{
	static uint64_t until_ms;
	struct pollfd p = { .fd = r->status, .events = POLLIN };
	int ready = ppoll(&p, 1, patience(r, &until_ms), during);
	if (ready < 0)
		return errno == EINTR && !was_interrupted;
	if (!ready) {
		was_interrupted = 1;
		return false;
	}
	ssize_t got = read(r->status, to, room);
	*n += got > 0 ? (size_t)got : 0;
	return got > 0 || (got < 0 && errno == EINTR);
}

/*
 * Tells the collector that the run is over, and waits for its answer: "settled N", then run.json. N
 * is the number of processes that still run. Returns N, or -1 if the collector died or an interrupt
 * ended the wait. Stores run.json in `said`; the caller owns the reference.
 */
static long wait_for_collector(struct run *r, int wait_status, double wall_s, json_t **said)
{
	sigset_t during;
	VEC(char) text = { 0 };
	long running = -1;
	bool goes_on = r->status >= 0;
	if (r->control >= 0) {
		int told = dprintf(r->control, "wall_s %.6f\nsignal %d\nstatus %d\nend\n", wall_s,
				   WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0,
				   WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1);
		(void)told; /* if the collector is dead, there is no answer below */
	}
	heed_interrupts(&during);
	while (goes_on) {
		vec_reserve(&text, text.n + 65536);
		goes_on = hear(r, &during, text.at + text.n, 65536, &text.n);
	}
	vec_push(&text, 0);
	const char *answer = text.at, *rest;
	if (*progress_answer(answer) && strchr(answer, '\n')) /* the last one was not read */
		answer = strchr(answer, '\n') + 1;
	if (sscanf(answer, "settled %ld", &running) != 1)
		running = -1;
	rest = strchr(answer, '\n');
	*said = rest ? json_loads(rest, 0, NULL) : NULL;
	vec_free(&text);
	if (!running) /* the collector has saved everything and ends now */
		waitpid(r->collector, NULL, 0);
	return running;
}

static void say_steps(const struct process_facts *p)
{
	char text[80];
	const struct facts_steps *steps = &p->steps;
	if (!*steps->detector || !strcmp(steps->detector, "none"))
		return;
	print_err(", %lld steps, %s", (long long)steps->count,
		  report_detector(text, sizeof(text), steps));
	if (steps->step_ms)
		print_err(", median %.3f ms", steps->step_ms->p50);
}

static void say_losses(const struct process_facts *p, const char *who)
{
	const struct facts_losses *l = &p->losses;
	if (l->dropped)
		print_err("profrun: %s: %lld records dropped (%lld calls, %lld GPU records, %lld "
			  "step boundaries): the buffer (PROF_BUFFER_MB) or the disk was full\n",
			  who, (long long)l->dropped, (long long)l->dropped_calls,
			  (long long)l->dropped_gpu, (long long)l->dropped_steps);
	if (l->dropped_by_cupti)
		print_err("profrun: %s: CUPTI dropped %lld records\n", who,
			  (long long)l->dropped_by_cupti);
	if (l->calls_without_gpu_work || l->gpu_work_without_call)
		print_err("profrun: %s: %lld calls were not matched to their GPU work, and %lld "
			  "GPU "
			  "activities were not matched to a call\n",
			  who, (long long)l->calls_without_gpu_work,
			  (long long)l->gpu_work_without_call);
}

/* Prints how many traces are missing. A single failure is not printed, because say_process() has
 * printed it (`trouble`). */
static void say_missing_traces(const struct process_facts *p, const char *who)
{
	int64_t n_lacking = p->n_traces_left_out + p->n_traces_removed;
	if (n_lacking)
		print_err("profrun: %s: %lld recorded steps have no trace: the first steps have "
			  "one, later ones at growing distances (PROF_KEEP_TRACES, "
			  "PROF_KEEP_MB)\n",
			  who, (long long)n_lacking);
	if (p->n_traces_failed > 1)
		print_err("profrun: %s: %lld traces could not be written\n", who,
			  (long long)p->n_traces_failed);
}

static void say_text(const char *who, const char *text)
{
	if (*text)
		print_err("profrun: %s: %s\n", who, text);
}

/* Prints how many launches have GPU times, and why others in the first window have none. */
static void say_captured(const struct process_facts *p, const char *who)
{
	const struct facts_completeness *c = &p->completeness;
	char text[640];
	if (!c->windows.n)
		return;
	say_text(who, report_captured(text, sizeof(text), c));
	say_text(who, report_graph_lines(text, sizeof(text), c));
	for (size_t i = 0; i < c->windows.n; i++)
		if (*c->windows.at[i].why) {
			say_text(who,
				 report_lacking(text, sizeof(text), &c->windows.at[i], &p->steps));
			break;
		}
}

/* Prints one process's files and problems. `has_screen`: the report's first screen follows and is
 * about this process, so its steps are not printed here. */
static void say_process(const struct process_facts *p, const struct report_run *run,
			bool has_screen)
{
	char who[48], text[240];
	bool lacks_gpu_times = !strcmp(p->cupti.state, "unavailable") ||
			       !strcmp(p->cupti.state, "yielded");
	snprintf(who, sizeof(who), "process %lld", (long long)p->pid);
	if (!has_screen) {
		print_err("profrun: %s: %s", who, files_count(text, sizeof(text), p));
		say_steps(p);
		print_err("\n");
	}
	if (!has_screen)
		say_text(who, report_death(text, sizeof(text), run, p));
	say_text(who, files_emptiness(text, sizeof(text), p));
	say_text(who, p->diagnostic);
	if (lacks_gpu_times)
		say_text(who, p->cupti.reason);
	say_text(who, p->cupti.times);
	say_text(who, p->cupti.graph_ids);
	say_text(who, p->trouble);
	if (!has_screen)
		say_captured(p, who);
	say_missing_traces(p, who);
	say_losses(p, who);
}

enum { PROCESSES_SAID = 8, LINES_AROUND = 2 };

static struct textout summary_text(void)
{
	return (struct textout){ .to = stderr,
				 .margin = "  ",
				 .title_margin = "profrun: ",
				 .has_colour = text_wants_colour(STDERR_FILENO) };
}

/* Prints the report's first screen, with room for the lines before and after it. */
static void say_report(const struct report *report)
{
	struct textout o = summary_text();
	report_text_screen(&o, report, REPORT_SCREEN_LINES - LINES_AROUND);
}

/* Prints how the run ended, without a report. */
static void say_end(const struct runfile *file)
{
	struct textout o = summary_text();
	const struct report r = { .run = file->run };
	report_head_say(&o, &r, NULL);
}

static void say_left_out(const struct run *r, const struct runfile *file)
{
	char text[120];
	const char *setting = run_setting(r, "PROF_RANKS");
	size_t n = file->ranks_left_out.n;
	if (n)
		print_err("profrun: rank%s %s not profiled (PROF_RANKS=%s)\n", n > 1 ? "s" : "",
			  report_numbers(text, sizeof(text), file->ranks_left_out.at, n),
			  setting ? setting : "");
}

static bool has_files(const struct runfile *file, const struct exporter *x)
{
	for (size_t i = 0; i < file->processes.n; i++)
		if (files_of(&file->processes.at[i], x))
			return true;
	return false;
}

/* Returns the folder as the user would type it: relative to the current one if it is below. */
static const char *short_folder(const struct run *r)
{
	char cwd[PATH_MAX];
	size_t n = getcwd(cwd, sizeof(cwd)) ? strlen(cwd) : 0;
	return n > 1 && !strncmp(r->folder, cwd, n) && r->folder[n] == '/' ? r->folder + n + 1
									   : r->folder;
}

/* Writes a path, in quotes if it has a blank or another character that a shell would interpret.
 * Returns `to`. */
static char *quoted(char *to, size_t bytes, const char *folder, const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+=:,@%";
	bool is_plain = !folder[strspn(folder, plain)] || strchr(folder, '\'');
	snprintf(to, bytes, is_plain ? "%s/%s" : "'%s/%s'", folder, name);
	return to;
}

/* Writes which files there are: " (steps 12-14)" if there is one for each of these steps, else how
 * many. Returns `to`. */
static char *files_in_words(char *to, size_t bytes, const struct runfile *file,
			    const struct exporter *x)
{
	char numbers[120];
	int64_t n = 0;
	const struct facts_steps *s = file->processes.n == 1 ? &file->processes.at[0].steps : NULL;
	for (size_t i = 0; i < file->processes.n; i++)
		n += files_of(&file->processes.at[i], x);
	if (s && n && (size_t)n == s->traced.n)
		snprintf(to, bytes, " (step%s %s)", n > 1 ? "s" : "",
			 report_numbers(numbers, sizeof(numbers), s->traced.at, s->traced.n));
	else
		snprintf(to, bytes, " (%lld file%s)", (long long)n, n > 1 ? "s" : "");
	return to;
}

/* Returns the name of the report to look at: report.html, unless it could not be written. */
static const char *report_name(const struct run *r)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/report.html", r->folder);
	return access(path, F_OK) ? "report.txt" : "report.html";
}

/* Prints where the report and the files of each format are: in one line if they fit. Lines are not
 * cut, because users copy the paths. Returns whether there are any. */
static bool say_files(const struct run *r, const struct runfile *file, bool has_report)
{
	const struct exporter *x;
	const char *folder = short_folder(r);
	char words[140], where[PATH_MAX + 40];
	int column = 0;
	if (has_report)
		column = print_err("  Report: %s",
				   quoted(where, sizeof(where), folder, report_name(r)));
	for (size_t i = 0; (x = exporter_at(i)); i++) {
		char path[PATH_MAX + 32], text[PATH_MAX + 400];
		snprintf(path, sizeof(path), "%s/%s", r->folder, x->folder);
		if (!has_files(file, x) || access(path, F_OK)) /* none were written, or they were
							        * removed */
			continue;
		int n = snprintf(text, sizeof(text), "%c%ss: %s%s, open in %s",
				 toupper((unsigned char)*x->noun), x->noun + 1,
				 quoted(where, sizeof(where), folder, x->folder),
				 files_in_words(words, sizeof(words), file, x), x->viewer);
		bool fits = column && column + 4 + n <= TEXT_COLUMNS;
		if (!fits && column)
			print_err("\n");
		print_err("%s%s", fits ? "    " : "  ", text);
		column = fits ? column + 4 + n : 2 + n;
	}
	if (column)
		print_err("\n");
	return column;
}

static void say_all(const struct run *r, const struct runfile *file, const struct report *report)
{
	bool has_report = report_main_process(report);
	size_t n = file->processes.n;
	if (!has_report && !report_exit_is_bad(report))
		say_end(file);
	for (size_t i = 0; i < n && i < PROCESSES_SAID; i++)
		say_process(&file->processes.at[i], &file->run, n == 1 && has_report);
	if (n > PROCESSES_SAID)
		print_err("profrun: and %zu more processes, listed in run.json\n",
			  n - PROCESSES_SAID);
	for (size_t i = 0; i < file->messages.n; i++)
		print_err("profrun: %s\n", file->messages.at[i]);
	say_left_out(r, file);
	if (has_report || report_exit_is_bad(report))
		say_report(report);
	if (!say_files(r, file, has_report))
		print_err("profrun: the run is recorded in %s\n", r->folder);
}

/* Looks for the files of NVIDIA's kernel module, of Tegra's driver, and of WSL, which has no
 * module. */
static bool has_driver(void)
{
	return !access("/proc/driver/nvidia", F_OK) || !access("/dev/nvidiactl", F_OK) ||
	       !access("/dev/nvhost-ctrl", F_OK) || !access("/dev/dxg", F_OK);
}

static void say_never_used(const struct run *r, bool was_used, bool loaded_driver)
{
	const char *hint = "", *what = "never used CUDA";
	if (was_used) {
		print_err("profrun: nothing could be recorded for %s: it used CUDA, but no journal "
			  "could be "
			  "created\n",
			  r->command[0]);
		return;
	}
	if (loaded_driver)
		what = "loaded the CUDA driver, but made no call that profrun records";
	else if (r->is_sim)
		hint = " (for --sim a program must be built with nvcc -cudart shared)";
	else if (!has_driver())
		hint = "; no NVIDIA driver found: --sim runs the program on a simulated GPU";
	print_err("profrun: %s %s: nothing was recorded%s\n", r->command[0], what, hint);
}

/* Reads how the run ended, with the signal, from run.json into the report. Saves the report if no
 * process runs any more (`is_over`). */
static void report_signal(const struct run *r, struct report *report, bool is_over)
{
	struct err e;
	report_read_run(report, r->folder);
	report_exit_fill(report);
	if (is_over && report_save(r->folder, report, &e))
		print_err("profrun: %s\n", e.text);
}

static void say_not_waited(const struct run *r)
{
	if (!r->is_quiet)
		print_err("profrun: interrupted; traces are still being written. To see the report "
			  "later: profrun report %s\n",
			  r->folder);
}

static void say_running(long running)
{
	if (running > 0)
		print_err("profrun: %ld process%s of the run still running; traces are written as "
			  "each step ends\n",
			  running, running == 1 ? "" : "es");
}

static void say_collector_died(const struct run *r)
{
	print_err("profrun: the collector died; write the traces with `profrun export %s "
		  "--format "
		  "perfetto`\n",
		  r->folder);
}

/*
 * Returns how many percent of the launches have GPU times, at least: each dropped record counts as
 * a launch without them. 0: no launch was recorded.
 */
static double least_pct(const struct process_facts *p)
{
	const struct facts_completeness *c = &p->completeness;
	int64_t most = c->launches + p->losses.dropped;
	return c->launches ? 100.0 * (double)c->captured / (double)most : 0;
}

/* Prints why the run is not as complete as required. Returns RUN_INCOMPLETE. */
__attribute__((format(printf, 2, 3))) static int incomplete(const struct run *r, const char *format,
							    ...)
{
	char why[200];
	va_list args;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	print_err("profrun: --require-complete %g: %s\n", r->required_pct, why);
	return RUN_INCOMPLETE;
}

/* Compares each process that recorded launches with --require-complete. */
static int check_complete(const struct run *r, const struct runfile *file)
{
	bool is_any = false;
	for (size_t i = 0; i < file->processes.n; i++) {
		const struct process_facts *p = &file->processes.at[i];
		const struct facts_completeness *c = &p->completeness;
		if (!c->launches)
			continue;
		is_any = true;
		char dropped[60] = "";
		if (p->losses.dropped)
			snprintf(dropped, sizeof(dropped), ", and %lld records were dropped",
				 (long long)p->losses.dropped);
		if (least_pct(p) < r->required_pct)
			return incomplete(r, "process %lld: %lld of %lld launches have GPU times%s",
					  (long long)p->pid, (long long)c->captured,
					  (long long)c->launches, dropped);
	}
	return is_any ? 0 : incomplete(r, "no launch was recorded");
}

/* Ends a run that left a journal or still has running processes. `said`: the collector's answer,
 * NULL if the collector died. Returns 0, or RUN_INCOMPLETE. */
static int finish_seen(struct run *r, const json_t *said, int wait_status, long running)
{
	struct runfile file;
	struct report report;
	json_t *now = runfile_load(r->folder); /* contains how the run ended, which `said` does
					        * not */
	runfile_read(&file, said);
	fields_read(&report_run_fields, &file.run, json_object_get(now, "run"), &file.arena);
	json_decref(now);
	bool has_report = report_from_json(&report, json_object_get(said, "report"));
	if (WIFSIGNALED(wait_status) && has_report)
		report_signal(r, &report, !running);
	if (running < 0 && r->collector > 0 && waitpid(r->collector, NULL, 0) > 0)
		outfile_sweep(r->folder);
	if (!r->is_quiet && running >= 0)
		say_all(r, &file, &report);
	else if (!r->is_quiet)
		say_collector_died(r);
	if (!r->is_quiet)
		say_running(running);
	int error = !(r->required_pct > 0) ? 0
		    : running < 0	   ? incomplete(r, "the collector died")
					   : check_complete(r, &file);
	report_free(&report);
	runfile_free(&file);
	return error;
}

int run_finish(struct run *r, int wait_status, double wall_s)
{
	int error = 0;
	json_t *said;
	wall_s = round(wall_s * 1e6) / 1e6; /* the same in run.json and for the collector */
	long running = wait_for_collector(r, wait_status, wall_s, &said);
	bool is_any = json_array_size(json_object_get(said, "processes")), was_used;
	bool loaded_driver = run_take_driver_mark(r);
	if (was_interrupted) {
		run_describe_end(r, wait_status, wall_s);
		say_not_waited(r);
		error = r->required_pct > 0 ? incomplete(r, "interrupted") : 0;
	} else if (running <= 0 && !is_any && run_remove_folder(r, &was_used)) {
		if (!r->is_quiet)
			say_never_used(r, was_used, loaded_driver);
		error = r->required_pct > 0 ? incomplete(r, "no launch was recorded") : 0;
	} else {
		run_describe_end(r, wait_status, wall_s);
		error = finish_seen(r, said, wait_status, running);
	}
	json_decref(said);
	return error;
}
