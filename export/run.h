/*
 * The parts of `profrun run`, which launches an application under the profiler: settings and
 * environment, the run's folder, the two child processes (collector and application), and the
 * summary at the end.
 */
#ifndef EXPORT_RUN_H
#define EXPORT_RUN_H

#include "core/runtime/err.h"
#include "core/util/vec.h"
#include "export/progress_words.h"

#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct run {
	char **command; /* the application's command line, NULL-terminated */
	bool is_quiet;
	double required_pct; /* of launches that must have GPU times; 0: not required */
	bool is_sim;
	bool profiles; /* false: profiling is impossible, and the application runs without it */
	char home[PATH_MAX];	   /* folder that contains this program, the library and sim/ */
	char folder[PATH_MAX];	   /* the run's folder, an absolute path */
	const char *wanted_folder; /* from the option -o; NULL: not given */
	bool folder_was_there;
	VEC(char *)
	settings;		 /* NAME=VALUE from options, which override the environment */
	VEC(char *) environment; /* the application's environment */
	pid_t application;	 /* pid; 0: not started */
	pid_t collector;
	int control, status; /* pipes to and from the collector; -1: no collector */
	/* Original action of SIGXFSZ, which the application gets back. The launcher ignores this
	 * signal, so that a write beyond `ulimit -f` fails with an error. */
	struct sigaction file_size;
};

/* run_env.c */
int run_check_settings(struct run *r);
void run_make_environment(struct run *r);
const char *run_setting(const struct run *r, const char *name);

/* run_folder.c. Chooses and makes the run's folder. On failure prints a message and clears
 * `profiles`. */
void run_make_folder(struct run *r);
/*
 * Removes the run's folder unless a process of the run left a journal in it. A folder that existed
 * before the run stays. Returns whether there was no journal. Stores in `was_used` whether a
 * process has tried to record, that is, whether DIR/journal exists.
 */
bool run_remove_folder(struct run *r, bool *was_used);

/* Removes the mark that a process has loaded the CUDA driver. Returns whether it was there. */
bool run_take_driver_mark(const struct run *r);
/* Writes to run.json what is known before the application starts: command, start, settings. */
void run_describe(const struct run *r);
/* Adds to run.json how the run ended. `wall_s`: its duration in seconds. */
void run_describe_end(const struct run *r, int wait_status, double wall_s);

/* run_child.c */
void run_start_collector(struct run *r);
/* Runs the command and waits for its end. Returns 0 and stores the status from waitpid(). If the
 * command does not start, prints a message and returns the launcher's exit status. */
int run_application(struct run *r, int *wait_status);
/* Ends this process with the exit status or the signal with which the application ended. */
__attribute__((noreturn)) void run_end_like(int wait_status);

/* run_watchdog.c: a child process that detects which signals were sent to the whole process group.
 * The caller has blocked the signals that it will ask about. */
struct watchdog {
	pid_t pid;	 /* 0 or less: there is no such child */
	int ask, answer; /* pipes to and from the child */
};
enum watchdog_saw {
	WATCHDOG_SAW_NOT,
	WATCHDOG_SAW,
	WATCHDOG_GONE, /* the child does not run, so the answer is unknown */
};
void run_watchdog_start(struct watchdog *w);
enum watchdog_saw run_watchdog_saw(const struct watchdog *w, int signal);
void run_watchdog_end(const struct watchdog *w);

/* run_progress.c: the status line while the application runs. */
struct progress {
	bool is_on;
	bool is_asked;		/* the collector has been asked and has not answered yet */
	unsigned rows, columns; /* of the terminal whose last row is the status line; `rows` 0: no
				 * row is */
	unsigned plain_width;	/* columns of the status line in the current row; 0: none */
	char latest[PROGRESS_BYTES],
		shown[PROGRESS_BYTES]; /* the collector's latest answer; the one that is shown */
};
enum { PROGRESS_EVERY_MS = 1000 };
/* Prints the start line if there is a terminal to show progress on. */
void run_progress_start(const struct run *r, struct progress *p);
/* Updates the status line. Call every PROGRESS_EVERY_MS. */
void run_progress_tick(const struct run *r, struct progress *p);
/* Removes the status line. The next run_progress_tick() shows it again. */
void run_progress_pause(struct progress *p);
void run_progress_end(struct progress *p);

/* The exit status if the application ended with 0 and fewer launches than required have GPU times.
 * env, nice, timeout and docker use it for failures of their own, so programs avoid it. */
enum { RUN_INCOMPLETE = 125 };

/* run_summary.c: waits for the collector and prints the summary. Returns 0, or RUN_INCOMPLETE. */
int run_finish(struct run *r, int wait_status, double wall_s);

#endif
