/*
 * `profrun collect DIR`: the collector, which reads the journals and writes traces and reports
 * during the run. `profrun run` starts it in its own session, so that signals from the
 * application's terminal do not reach it. Through a pipe the launcher tells the collector which
 * process to watch and when that process ended. If the launcher is killed, the collector continues
 * alone. While step boundaries are being learned, the collector polls every 1 ms, because the
 * library waits for its answer. Otherwise the collector polls at least every 50 ms. A new journal
 * wakes it at once.
 */
#include "core/runtime/clock.h"
#include "core/runtime/config.h"
#include "core/source/process/journals.h"
#include "core/source/process/ranks_start.h"
#include "core/util/memory_limit.h"
#include "core/util/procfs.h"
#include "export/command.h"
#include "export/json_text.h"
#include "export/leftover_processes.h"
#include "export/low_priority.h"
#include "export/outfile.h"
#include "export/print.h"
#include "export/process.h"
#include "export/progress_words.h"
#include "export/report_exit.h"
#include "export/report_file.h"
#include "export/report_json.h"
#include "export/report_keep.h"
#include "export/report_ranks.h"
#include "export/runfile.h"
#include "export/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum {
	LEARNING_MS = 1,
	QUIET_POLLS = 50, /* after this many polls without a record, no process waits for an
			   * answer */
	BUSY_MS = 5,
	IDLE_MS = 50,
	SAVE_EVERY_MS = 1000,
	LIST_EVERY_MS = 20,	     /* how often to list the folder without inotify */
	LIST_WATCHED_EVERY_MS = 500, /* how often to list it with inotify, which may lose an
				      * event */
	ALIVE_EVERY_MS = 20,
	OPEN_PATIENCE_MS = 2000, /* a journal's file exists a moment before its header is written */
	ALONE_PATIENCE_MS = 2000, /* a launcher that was killed may just have started the
				   * application */
	LEFT_EVERY_MS = 500, /* how often to read all of /proc, which takes some milliseconds */
	READING_MS = 1000,   /* after SIGTERM */
	SETTLE_MS = 60, /* wait after the application's end for children that have just begun to use
		     * CUDA */
};

struct watched {
	char *path;
	struct process *process; /* NULL: not opened yet, or given up */
	unsigned n_quiet;	 /* polls since the last record */
	uint64_t found_ms;
	bool is_given_up;
	struct report_keep keep;
};

struct collector {
	const char *folder;
	struct output output;
	VEC(struct watched) watched;
	struct ranks_start start;
	VEC(char *) messages;
	struct watch watch;
	int control, status;	    /* pipes from and to the launcher; -1: none */
	uint32_t application;	    /* pid; 0: unknown */
	uint64_t application_start; /* start time in /proc; detects a reused pid */
	bool is_over, has_reported;
	bool can_end;  /* nothing is left to do */
	bool is_low;   /* this thread has low priority */
	bool is_late;  /* a journal was about to get full, and not all has been read since */
	bool is_saved; /* everything was saved after the last process ended */
	uint64_t now_ms, over_ms, saved_ms, listed_ms, asked_ms, left_ms;
	uint64_t alone_ms; /* when it was seen that the launcher has ended */
	size_t n_left;	   /* processes that the application left running, counted at left_ms */
	uint64_t n_known;  /* count_news() when run.json was saved last */
	double wall_s;	   /* duration of the run in seconds; 0: unknown */
	int signal;	   /* the signal that ended the application, 0: none */
	int exit_status;   /* with which the application ended, -1: not known */
	char line[256];	   /* the beginning of a line from the launcher */
	size_t n_line;
};

/*
 * SIGTERM: end within two seconds once the application has ended, with what has been read. One
 * second is for reading, the other for the report. Until the application's end the signal changes
 * nothing, because batch systems send it to all processes of a job, and the application may then
 * write a checkpoint.
 */
static struct {
	volatile sig_atomic_t is_asked;
	bool has_launcher;    /* it will name the application */
	uint32_t application; /* pid; 0: unknown */
	uint64_t application_start;
	uint64_t gone_ms; /* when it was seen that the application has ended; 0: not yet */
	bool is_needed;	  /* the second for reading is over */
} stopping;

static void note_stop(int unused)
{
	(void)unused;
	stopping.is_asked = 1;
}

static bool must_stop(void)
{
	if (!stopping.is_asked || stopping.is_needed)
		return stopping.is_needed;
	bool is_alive = stopping.application
				? procfs_is_alive(stopping.application, stopping.application_start)
				: stopping.has_launcher;
	if (!stopping.gone_ms && is_alive)
		return false;
	if (!stopping.gone_ms)
		stopping.gone_ms = clock_ms();
	stopping.is_needed = clock_ms() - stopping.gone_ms >= READING_MS;
	return stopping.is_needed;
}

static void say(struct collector *c, const char *text)
{
	vec_push(&c->messages, mem_text(text));
	print_err("profrun: %s\n", text);
}

/* ---- run.json ---- */

/* Returns a number that grows whenever run.json should be saved again. */
static uint64_t count_news(const struct collector *c)
{
	uint64_t n = c->messages.n;
	for (size_t i = 0; i < c->watched.n; i++)
		if (c->watched.at[i].process)
			n += 1 + c->watched.at[i].process->n_traces +
			     driver_is_finished(c->watched.at[i].process->driver) +
			     driver_boundaries(c->watched.at[i].process->driver);
	return n;
}

static void describe_ranks(const struct collector *c, json_t *root)
{
	const struct ranks_start *start = &c->start;
	journals_ranks left_out = journals_ranks_left_out(c->folder);
	json_t *list = json_array();
	for (size_t i = 0; i < left_out.n; i++)
		json_array_append_new(list, json_integer(left_out.at[i]));
	if (left_out.n)
		json_object_set(root, "ranks_left_out", list);
	json_decref(list);
	vec_free(&left_out);
	if (start->is_named)
		json_object_set_new(root, "ranks_start",
				    json_pack("{s:I, s:I, s:I}", "step", (json_int_t)start->start,
					      "ranks", (json_int_t)start->n_present, "of",
					      (json_int_t)start->n_expected));
}

static json_t *describe(const struct collector *c)
{
	json_t *root = runfile_load(c->folder), *processes = json_array(), *messages = json_array();
	for (size_t i = 0; i < c->watched.n; i++)
		if (c->watched.at[i].process)
			json_array_append_new(processes, process_to_json(c->watched.at[i].process));
	for (size_t i = 0; i < c->messages.n; i++)
		json_array_append_new(messages, json_string(c->messages.at[i]));
	json_object_set_new(root, "processes", processes);
	json_object_set_new(root, "messages", messages);
	describe_ranks(c, root);
	return root;
}

/* ---- The report ---- */

/* Adds how the run ended, which the launcher has reported. run.json contains this only later. */
static void add_end(const struct collector *c, struct report_run *run)
{
	if (!(c->wall_s > 0))
		return;
	run->wall_s = c->wall_s;
	run->pid = c->application;
	run->signal = c->signal ? c->signal : run->signal;
	run->exit_status = c->exit_status >= 0 && !c->signal ? c->exit_status : run->exit_status;
}

/* Makes the report of all processes. A process that is not analyzed yet appears only with its facts
 * (process_describe). */
static void make_report(const struct collector *c, struct report *r)
{
	report_start(r);
	report_read_run(r, c->folder);
	for (size_t i = 0; i < c->watched.n; i++)
		if (c->watched.at[i].process)
			report_add(r, report_keep_get(&c->watched.at[i].keep,
						      c->watched.at[i].process));
	report_compare(r);
	add_end(c, &r->run);
	report_exit_fill(r);
	report_omit_silent(r);
}

/*
 * Saves the report if a step was recorded since the last time. report_keep_update() limits the time
 * spent on this. Does nothing between the end of the run and the answer to the launcher, because
 * report_settled() saves everything with the answer.
 */
static void save_report_if_due(struct collector *c, bool is_last)
{
	struct err e;
	bool is_new = is_last && c->watched.n; /* the launcher may have reported how the run
					        * ended */
	if (!is_last && c->is_over && !c->has_reported && c->status >= 0)
		return;
	for (size_t i = 0; i < c->watched.n; i++) {
		struct watched *w = &c->watched.at[i];
		if (w->process)
			is_new |= report_keep_update(&w->keep, w->process, c->now_ms, is_last);
	}
	if (!is_new)
		return;
	struct report r;
	make_report(c, &r);
	if (report_save(c->folder, &r, &e) || (is_last && report_save_html(c->folder, &r, &e)))
		print_err("profrun: %s\n", e.text);
	report_free(&r);
}

static void save(struct collector *c)
{
	struct err e;
	json_t *root = describe(c);
	if (runfile_save(c->folder, root, &e))
		print_err("profrun: %s\n", e.text);
	json_decref(root);
	c->saved_ms = c->now_ms;
	c->n_known = count_news(c);
}

static void save_if_due(struct collector *c)
{
	if (c->now_ms - c->saved_ms >= SAVE_EVERY_MS && count_news(c) != c->n_known)
		save(c);
}

/* ---- Journals ---- */

static bool is_watched(const struct collector *c, const char *path)
{
	for (size_t i = 0; i < c->watched.n; i++)
		if (!strcmp(c->watched.at[i].path, path))
			return true;
	return false;
}

static void find_journals(struct collector *c)
{
	struct journals j;
	struct err e;
	bool has_news = watch_news(&c->watch, c->folder);
	uint64_t every_ms = c->watch.fd < 0 || c->is_over ? LIST_EVERY_MS : LIST_WATCHED_EVERY_MS;
	if (c->listed_ms && !has_news && c->now_ms - c->listed_ms < every_ms)
		return;
	c->listed_ms = c->now_ms;
	if (journals_list(&j, c->folder, &e))
		return;
	for (size_t i = 0; i < j.paths.n; i++)
		if (!is_watched(c, j.paths.at[i]))
			vec_push(&c->watched, (struct watched){ .path = mem_text(j.paths.at[i]),
								.found_ms = c->now_ms });
	journals_free(&j);
}

static void open_journal(struct collector *c, struct watched *w)
{
	struct err e;
	struct process *p = mem_zero(sizeof(*p));
	if (!process_open(p, &c->output, w->path, true, &e)) {
		w->process = p;
		return;
	}
	free(p);
	if (c->now_ms - w->found_ms < OPEN_PATIENCE_MS && !c->is_over)
		return;
	w->is_given_up = true;
	say(c, e.text);
}

/* Says how the journal of a process that has ended is damaged or was truncated. */
static void say_damage(struct collector *c, const struct process *p)
{
	char damage[DRIVER_DAMAGE_BYTES], text[PATH_MAX + DRIVER_DAMAGE_BYTES];
	if (!*driver_damage(p->driver, damage, sizeof(damage)))
		return;
	snprintf(text, sizeof(text), "%s: %s", driver_path(p->driver), damage);
	say(c, text);
}

/* Returns whether the application, or another process of the run, runs. A process that has called
 * exec counts with its newest journal. */
static bool is_anything_running(const struct collector *c)
{
	if (!c->application || procfs_is_alive(c->application, c->application_start))
		return true;
	for (size_t i = 0; i < c->watched.n; i++) {
		const struct process *p = c->watched.at[i].process;
		if (p && !driver_is_finished(p->driver) && driver_is_alive(p->driver))
			return true;
	}
	return false;
}

/* Reads one process's journal. `ask`: also check whether the process is alive. Returns after how
 * many milliseconds to read again. */
static int serve(struct collector *c, struct watched *w, bool ask)
{
	if (!w->process && !w->is_given_up)
		open_journal(c, w);
	struct process *p = w->process;
	if (!p || driver_is_finished(p->driver))
		return w->is_given_up || p ? IDLE_MS : LEARNING_MS;
	bool is_gone = ask && !driver_is_alive(p->driver);
	bool is_new = process_poll(p);
	w->n_quiet = is_new ? 0 : w->n_quiet + 1;
	if (driver_has_more(p->driver) || (is_gone && c->is_low && !is_anything_running(c)))
		return 0;
	if (is_gone) {
		process_finish(p);
		say_damage(c, p);
	}
	if (driver_is_learning(p->driver))
		return w->n_quiet < QUIET_POLLS ? LEARNING_MS : BUSY_MS;
	return is_new ? BUSY_MS : IDLE_MS;
}

static void serve_ranks(struct collector *c)
{
	VEC(struct driver *) all = { 0 };
	for (size_t i = 0; i < c->watched.n; i++) {
		const struct process *p = c->watched.at[i].process;
		vec_push(&all, p ? p->driver : NULL);
	}
	ranks_start_serve(&c->start, all.at, all.n, c->folder, c->now_ms);
	vec_free(&all);
}

static void note_late(struct collector *c)
{
	bool has_more = false, is_late = false;
	for (size_t i = 0; i < c->watched.n; i++) {
		const struct process *p = c->watched.at[i].process;
		has_more |= p && driver_has_more(p->driver);
		is_late |= p && driver_is_late(p->driver);
	}
	c->is_late = is_late || (c->is_late && has_more);
}

static int serve_all(struct collector *c)
{
	bool ask = c->now_ms - c->asked_ms >= ALIVE_EVERY_MS;
	int wait = c->watch.fd < 0 ? LIST_EVERY_MS : IDLE_MS;
	if (ask)
		c->asked_ms = c->now_ms;
	for (size_t i = 0; i < c->watched.n; i++) {
		int wanted = serve(c, &c->watched.at[i], ask);
		if (wanted < wait)
			wait = wanted;
	}
	note_late(c);
	serve_ranks(c);
	return wait;
}

/* Returns whether a process has ended of which not all has been read. */
static bool has_unread(const struct collector *c)
{
	for (size_t i = 0; i < c->watched.n; i++) {
		const struct process *p = c->watched.at[i].process;
		if (p && !driver_is_finished(p->driver) && !driver_is_alive(p->driver))
			return true;
	}
	return false;
}

static size_t count_running(const struct collector *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->watched.n; i++) {
		const struct watched *w = &c->watched.at[i];
		n += w->process ? !driver_is_finished(w->process->driver) : !w->is_given_up;
	}
	return n;
}

/* ---- The launcher ---- */

/* Returns the process with the most steps; with none, the first process that uses CUDA; NULL if
 * there is none. */
static const struct watched *main_process(const struct collector *c)
{
	const struct watched *found = NULL;
	for (size_t i = 0; i < c->watched.n; i++) {
		const struct watched *w = &c->watched.at[i];
		if (w->process && (!found || driver_boundaries(w->process->driver) >
						     driver_boundaries(found->process->driver)))
			found = w;
	}
	return found;
}

/* Answers the launcher with a line for its status line. The launcher asks again only after it has
 * read the answer, so the pipe is never full. */
static void tell_progress(struct collector *c)
{
	char text[PROGRESS_BYTES];
	struct arena arena = { 0 };
	struct process_facts facts;
	const struct watched *w = main_process(c);
	struct progress_state state = { .n_processes = c->watched.n };
	if (c->status < 0)
		return;
	if (w) {
		process_describe(w->process, &facts, &arena);
		state.facts = &facts;
		state.report = w->keep.report;
	}
	progress_answer_make(text, &state);
	if (write(c->status, text, strlen(text)) < 0 && errno != EPIPE)
		print_err("profrun: cannot answer the launcher: %s\n", strerror(errno));
	arena_free(&arena);
}

static void obey(struct collector *c, const char *line)
{
	unsigned pid;
	double wall_s;
	int signal, status;
	if (sscanf(line, "pid %u", &pid) == 1) {
		c->application = pid;
		c->application_start = procfs_start(pid);
		stopping.application = c->application;
		stopping.application_start = c->application_start;
	} else if (sscanf(line, "wall_s %lf", &wall_s) == 1) {
		c->wall_s = wall_s;
	} else if (sscanf(line, "signal %d", &signal) == 1) {
		c->signal = signal;
	} else if (sscanf(line, "status %d", &status) == 1) {
		c->exit_status = status;
	} else if (!strcmp(line, PROGRESS_QUESTION)) {
		tell_progress(c);
	} else if (!strcmp(line, "end")) {
		c->is_over = true;
		c->over_ms = c->now_ms;
	}
}

static void listen(struct collector *c)
{
	ssize_t n = read(c->control, c->line + c->n_line, sizeof(c->line) - 1 - c->n_line);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) { /* the launcher has ended or was killed */
		close(c->control);
		c->control = -1;
		c->alone_ms = c->now_ms;
		stopping.has_launcher = false;
		return;
	}
	c->n_line += (size_t)n;
	c->line[c->n_line] = 0;
	for (char *end; (end = strchr(c->line, '\n'));) {
		*end = 0;
		obey(c, c->line);
		c->n_line -= (size_t)(end + 1 - c->line);
		memmove(c->line, end + 1, c->n_line + 1);
	}
}

/* Without a launcher, the run is over when the application has ended. If the application's pid is
 * unknown, the run is over when the last process with a journal has ended. If there is no journal
 * either, the launcher was killed before it named the application, which may not have begun. */
static bool seems_over(const struct collector *c)
{
	if (c->application)
		return !procfs_is_alive(c->application, c->application_start);
	if (c->watched.n)
		return !count_running(c);
	return c->now_ms - c->alone_ms >= ALONE_PATIENCE_MS;
}

static void check_over(struct collector *c)
{
	if (c->is_over || c->control >= 0 || !seems_over(c))
		return;
	c->is_over = true;
	c->over_ms = c->now_ms;
}

/* Sends the launcher the content of run.json and the report. The launcher does not read run.json,
 * because saving it may have failed for lack of disk space. */
static void report_settled(struct collector *c, size_t n_running)
{
	if (c->has_reported || c->status < 0)
		return;
	save_report_if_due(c, true);
	save(c);
	json_t *root = describe(c);
	struct report r;
	make_report(c, &r);
	json_object_set_new(root, "report", report_to_json(&r));
	report_free(&r);
	char *text = json_text(root, JSON_COMPACT);
	if (dprintf(c->status, "settled %zu\n%s\n", n_running, text ? text : "") < 0 &&
	    errno != EPIPE)
		print_err("profrun: cannot report to the launcher: %s\n", strerror(errno));
	free(text);
	json_decref(root);
	close(c->status);
	c->status = -1;
	c->has_reported = true;
	c->is_saved = !n_running;
}

/*
 * Counts the processes that a script left running. If no process has a journal yet, one of these
 * may be the process to profile, so the collector waits for them. If a process has a journal, the
 * collector does not wait for these, because one of them may be a server; then returns 0.
 */
static size_t count_left(struct collector *c)
{
	if (c->watched.n)
		return 0;
	if (c->left_ms < c->over_ms || c->now_ms - c->left_ms >= LEFT_EVERY_MS) {
		c->n_left = leftover_processes(c->folder);
		c->left_ms = c->now_ms;
	}
	return c->n_left;
}

/*
 * Returns whether the collector can end: the run is over, and no process runs. Before that, the
 * folder must be listed and each process checked once more after the application's end. Then
 * answers the launcher, even if processes still run.
 */
static bool is_done(struct collector *c)
{
	if (must_stop() && !c->is_over) {
		c->is_over = true;
		c->over_ms = c->now_ms;
	}
	if (!c->is_over || c->now_ms - c->over_ms < SETTLE_MS || c->asked_ms < c->over_ms ||
	    c->listed_ms < c->over_ms || (!stopping.is_needed && has_unread(c)))
		return false;
	size_t n_running = count_running(c) + count_left(c);
	if (stopping.is_needed)
		say(c, "stopped by SIGTERM before all records were read: the figures are those of "
		       "the records read so far; `profrun export` reads what the journal still "
		       "has");
	report_settled(c, n_running);
	return !n_running || stopping.is_needed;
}

/* Does what there is to do now. Then waits, or notes that the collector can end. */
static void collect_once(struct collector *c)
{
	c->now_ms = clock_ms();
	find_journals(c);
	int wait = serve_all(c);
	save_if_due(c);
	save_report_if_due(c, false);
	check_over(c);
	c->can_end = is_done(c);
	if (c->can_end)
		return;
	if (c->is_over && wait > BUSY_MS)
		wait = BUSY_MS;
	struct pollfd p[] = { { .fd = c->control, .events = POLLIN },
			      { .fd = c->watch.fd, .events = POLLIN } };
	if (poll(p, 2, wait) > 0 && p[0].revents)
		listen(c);
}

/*
 * Returns whether the collector works with low priority: as long as there is an application that
 * needs the processor more. A collector that is late takes its share, because a full journal loses
 * records.
 */
static bool gives_way(const struct collector *c)
{
	return !c->can_end && !c->is_late && is_anything_running(c);
}

static void collect_gently(void *context)
{
	struct collector *c = context;
	c->is_low = true;
	while (gives_way(c))
		collect_once(c);
	c->is_low = false;
}

static void collect(struct collector *c)
{
	bool has_application = c->control >= 0;
	while (!c->can_end)
		if (has_application && gives_way(c))
			low_priority_run(collect_gently, c);
		else
			collect_once(c);
	if (c->is_saved)
		return;
	save_report_if_due(c, true);
	save(c);
}

/* ---- The command ---- */

static int take_folder(void *request, const char *word)
{
	struct collector *c = request;
	if (c->folder)
		return usage_error("collect takes one folder, got '%s' too", word);
	c->folder = word;
	return 0;
}

static int take_descriptor(void *request, const struct command_option *o, const char *value)
{
	*(int *)((char *)request + o->offset) = atoi(value);
	return 0;
}

/* Internal options, which the launcher passes. */
static const struct command_option options[] = {
	{ .name = "--control",
	  .argument = "FD",
	  .offset = offsetof(struct collector, control),
	  .take = take_descriptor },
	{ .name = "--status",
	  .argument = "FD",
	  .offset = offsetof(struct collector, status),
	  .take = take_descriptor },
	{ 0 },
};

static void release(struct collector *c)
{
	for (size_t i = 0; i < c->watched.n; i++) {
		if (c->watched.at[i].process)
			process_close(c->watched.at[i].process);
		report_process_drop(c->watched.at[i].keep.report);
		free(c->watched.at[i].process);
		free(c->watched.at[i].path);
	}
	for (size_t i = 0; i < c->messages.n; i++)
		free(c->messages.at[i]);
	vec_free(&c->watched);
	vec_free(&c->messages);
	output_free(&c->output);
	ranks_start_free(&c->start);
}

/* Sets the limits by PROF_KEEP_TRACES, PROF_KEEP_MB and PROF_COLLECTOR_MB. The launcher has already
 * reported bad values. */
static void set_limits(struct trace_limits *limits)
{
	struct config *config = mem_zero(sizeof(*config));
	config_read(config, environ, NULL, NULL);
	limits->files = (uint64_t)config_number(&config->keep_traces);
	limits->bytes = (uint64_t)config_number(&config->keep_mb) << 20;
	memory_limit_set((uint64_t)config_number(&config->collector_mb) << 20);
	free(config);
}

/* Returns whether a process has left a journal in the folder. Started by hand, the collector would
 * wait for ever for one in a folder that is no run. */
static bool has_journal(const char *folder)
{
	struct journals j;
	struct err e;
	bool is_any = !journals_list(&j, folder, &e) && j.paths.n;
	journals_free(&j);
	return is_any;
}

static int run(int argc, char **argv)
{
	struct collector c = { .control = -1, .status = -1, .exit_status = -1 };
	struct stat status;
	struct err e;
	const char *formats = getenv("PROF_FORMAT");
	int error;
	if (!command_parse(&command_collect, &c, argc, argv, NULL, &error))
		return error;
	if (stat(c.folder, &status) || !S_ISDIR(status.st_mode))
		return data_error("%s: no such folder", c.folder);
	if (c.control < 0 && !has_journal(c.folder))
		return usage_error("collect: %s is not the folder of a run: no journal is in it",
				   c.folder);
	outfile_sweep(c.folder);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGTERM, &(const struct sigaction){ .sa_handler = note_stop }, NULL);
	stopping.has_launcher = c.control >= 0;
	driver_ask_to_stop(must_stop);
	signal(SIGXFSZ,
	       SIG_IGN); /* a write beyond ulimit -f then fails, and the error is reported */
	c.output.analyses = true;
	snprintf(c.output.folder, sizeof(c.output.folder), "%s", c.folder);
	c.output.n_formats =
		exporters_parse(formats && *formats ? formats : "perfetto", c.output.formats, &e);
	if (c.output.n_formats < 0)
		c.output.n_formats = exporters_parse("perfetto", c.output.formats, &e);
	set_limits(&c.output.limits);
	watch_open(&c.watch, c.folder);
	collect(&c);
	watch_close(&c.watch);
	error = c.messages.n ? EXIT_DATA : EXIT_DONE;
	release(&c);
	return error;
}

const struct command command_collect = {
	.name = "collect",
	.operands = "DIR",
	.summary = "write traces during a run (started automatically by each run)",
	.options = options,
	.wanted = "which run's folder?",
	.operand = take_folder,
	.run = run,
};
