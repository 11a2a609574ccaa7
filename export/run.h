/* The parts of `profrun run`: options and environment, the run's folder, the collector, the application, the last words. */
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
	bool profiles;	       /* false: something stands in the way; the application runs bare */
	char home[PATH_MAX];   /* where this program, the library and sim/ are */
	char folder[PATH_MAX]; /* absolute */
	bool folder_was_there;
	VEC(char *)
	settings; /* NAME=VALUE from options, after which the environment's do not count */
	VEC(char *) environment; /* the application's */
	pid_t application;	 /* 0: it was not started */
	pid_t collector;
	int control, status; /* pipes to and from the collector, -1 without one */
	struct sigaction
		file_size; /* what SIGXFSZ did; here a write fails instead (ulimit -f), which is said */
};

/* run_env.c */
int run_check_settings(struct run *r);
void run_make_environment(struct run *r);
const char *run_setting(const struct run *r, const char *name);

/* run_folder.c: chooses and makes it; clears `profiles` where that cannot be done (said). */
void run_make_folder(struct run *r);
/* Takes it away if no process of the run left anything. True if it did; `was_used`: one of them wanted to leave something. */
bool run_remove_folder(struct run *r, bool *was_used);
/* The first half of run.json. */
void run_describe(const struct run *r);
/* How it ended. */
void run_describe_end(const struct run *r, int wait_status, double wall_s);

/* run_child.c */
void run_start_collector(struct run *r);
/* Runs the command; 0 and its wait status, or the exit status of a command that could not be started (said). */
int run_application(struct run *r, int *wait_status);
/* Ends this process as the application ended. */
__attribute__((noreturn)) void run_end_like(int wait_status);

/* run_watchdog.c: which signals came to the whole process group. `held` are blocked. */
struct watchdog {
	pid_t pid; /* not above 0: there is none */
	int ask, answer;
};
enum watchdog_saw {
	WATCHDOG_SAW_NOT,
	WATCHDOG_SAW,
	WATCHDOG_GONE, /* there is none, or it was killed: nobody knows */
};
void run_watchdog_start(struct watchdog *w, const sigset_t *held);
enum watchdog_saw run_watchdog_saw(const struct watchdog *w, int signal);
void run_watchdog_end(const struct watchdog *w);

/* run_summary.c: waits for the collector and says what came out. */
void run_finish(struct run *r, int wait_status, double wall_s);

#endif
