/* The parts of `profrun run`: options and environment, the run's folder, the collector, the
 * application, the summary at the end. */
#ifndef EXPORT_RUN_H
#define EXPORT_RUN_H

#include "core/runtime/err.h"
#include "core/util/vec.h"

#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct run {
	char **command; /* NULL-terminated */
	bool is_quiet;
	bool is_sim;
	bool profiles; /* false: profiling is impossible, and the application runs without it */
	char home[PATH_MAX];   /* of this program, the library and sim/ */
	char folder[PATH_MAX]; /* absolute */
	bool folder_was_there;
	VEC(char *)
	settings;		 /* NAME=VALUE from options, which override the environment */
	VEC(char *) environment; /* of the application */
	pid_t application;	 /* 0: not started */
	pid_t collector;
	int control, status; /* pipes to and from the collector, -1 without one */
	/* SIGXFSZ's original action; here it is ignored, and a write fails instead (ulimit -f) */
	struct sigaction file_size;
};

/* run_env.c */
int run_check_settings(struct run *r);
void run_make_environment(struct run *r);
const char *run_setting(const struct run *r, const char *name);

/* run_folder.c: chooses and makes the folder; clears `profiles`, after a message, if that fails. */
void run_make_folder(struct run *r);
/* Removes the folder if no process of the run left anything in it. Returns whether it did.
 * `was_used`: a process has tried to write there. */
bool run_remove_folder(struct run *r, bool *was_used);
/* Writes the first half of run.json. */
void run_describe(const struct run *r);
/* Adds how the run ended. */
void run_describe_end(const struct run *r, int wait_status, double wall_s);

/* run_child.c */
void run_start_collector(struct run *r);
/* Runs the command. Returns 0 and its wait status, or, after a message, the exit status for a
 * command that did not start. */
int run_application(struct run *r, int *wait_status);
/* Ends this process as the application ended. */
__attribute__((noreturn)) void run_end_like(int wait_status);

/* run_watchdog.c: tells which signals were sent to the whole process group. `held` are blocked. */
struct watchdog {
	pid_t pid; /* 0 or less: none */
	int ask, answer;
};
enum watchdog_saw {
	WATCHDOG_SAW_NOT,
	WATCHDOG_SAW,
	WATCHDOG_GONE, /* not running: unknown */
};
void run_watchdog_start(struct watchdog *w, const sigset_t *held);
enum watchdog_saw run_watchdog_saw(const struct watchdog *w, int signal);
void run_watchdog_end(const struct watchdog *w);

/* run_summary.c: waits for the collector and prints the summary. */
void run_finish(struct run *r, int wait_status, double wall_s);

#endif
