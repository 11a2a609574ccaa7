/*
 * Starts the two children of a run: the collector and the application. The application stays in the
 * launcher's process group and keeps the signal actions, signal mask and open files that the
 * launcher was started with. The collector gets its own session (setsid) and none of the
 * application's files. Afterwards the launcher only waits, and forwards signals that were sent to
 * it alone.
 */
#include "core/runtime/spelling.h"
#include "export/command.h"
#include "export/descriptors.h"
#include "export/print.h"
#include "export/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OOM_SCORE_MOST = 1000 };

extern char **environ;

/* ---- The collector ---- */

/*
 * Switches the collector to normal scheduling, because it may have inherited real-time scheduling.
 * It lowers its priority itself (low_priority.h). If memory runs out, the kernel ends the collector
 * before any process of the application.
 */
static void give_way(void)
{
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0) {
		dprintf(score, "%d", OOM_SCORE_MOST);
		close(score);
	}
	static const struct sched_param none;
	sched_setscheduler(0, SCHED_OTHER, &none);
}

/* Frees the descriptors 0, 1 and 2 of the application's files. Without /dev/null they become copies
 * of the end of a pipe that is only read: closed, their numbers would be given to output files, and
 * messages would be written into those. */
static void leave_standard_files(int only_read)
{
	int nothing = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(nothing >= 0 ? nothing : only_read, fd);
}

/* Takes as many descriptors as the hard limit allows. The application's limit may be low. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* The launcher's parent may have ignored or blocked some signals. Those that users send to the run
 * are meant for the application. */
static void set_collector_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t none;
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
}

/* Keeps the two pipes open in the program profrun, on any descriptors. Their other ends are closed
 * first, because there may be no further descriptor. Returns false if there is none. */
static bool take_pipes(const int *control, const int *status, int *reads, int *writes)
{
	close(control[1]);
	close(status[0]);
	*reads = descriptors_above_standard(control[0]);
	*writes = descriptors_above_standard(status[1]);
	if (*reads < 0 || *writes < 0)
		return false;
	leave_standard_files(*reads);
	descriptors_close_others(STDERR_FILENO + 1, *reads, *writes);
	return fcntl(*reads, F_SETFD, 0) >= 0 && fcntl(*writes, F_SETFD, 0) >= 0;
}

__attribute__((noreturn)) static void become_collector(struct run *r, const int *control,
						       const int *status)
{
	char program[PATH_MAX + 16], format[256], from[12], to[12];
	const char *formats = run_setting(r, "PROF_FORMAT");
	const char *argv[] = { "profrun",  "collect", "--control", from,
			       "--status", to,	      r->folder,   NULL };
	int reads, writes;
	if (!take_pipes(control, status, &reads, &writes))
		_exit(127);
	snprintf(from, sizeof(from), "%d", reads);
	snprintf(to, sizeof(to), "%d", writes);
	raise_descriptor_limit();
	setsid();
	give_way();
	set_collector_signals();
	snprintf(format, sizeof(format), "%s", formats && *formats ? formats : "perfetto");
	setenv("PROF_FORMAT", format, 1);
	unsetenv("LD_PRELOAD");
	snprintf(program, sizeof(program), "%s/profrun", r->home);
	execv(program, (char **)(uintptr_t)argv);
	_exit(127);
}

static void close_pipe(const int *ends)
{
	close(ends[0]);
	close(ends[1]);
}

/* Without pipes to the collector, the run is not profiled. Only a lack of descriptors prevents
 * them, and then the library and the application would lack some, too. */
static void go_unprofiled(struct run *r, int error)
{
	bool was_used;
	print_err("profrun: cannot start the collector (%s; see ulimit -n): the application runs "
		  "without profiling\n",
		  strerror(error));
	run_remove_folder(r, &was_used);
	r->profiles = false;
}

void run_start_collector(struct run *r)
{
	int control[2], status[2];
	if (pipe2(control, O_CLOEXEC)) {
		go_unprofiled(r, errno);
		return;
	}
	if (pipe2(status, O_CLOEXEC)) {
		int error = errno;
		close_pipe(control);
		go_unprofiled(r, error);
		return;
	}
	pid_t pid = fork();
	if (!pid)
		become_collector(r, control, status);
	if (pid < 0) {
		print_err("profrun: cannot start the collector (%s): no traces are written during "
			  "the run; write them later with `profrun export %s`\n",
			  strerror(errno), r->folder);
		close_pipe(control);
		close_pipe(status);
		return;
	}
	close(control[0]);
	close(status[1]);
	r->collector = pid;
	r->control = control[1];
	r->status = status[0];
}

static void tell_collector(struct run *r, pid_t application)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "pid %d\n", (int)application);
	if (r->control >= 0 && write(r->control, line, (size_t)n) < 0) {
		close(r->control); /* the collector has died; run_finish() reports this */
		r->control = -1;
	}
}

/* ---- The application ---- */

/* Signals that are sent to the launcher but meant for the application. Signals that stop and
 * continue processes need no forwarding, because they act on the whole process group. */
static const int passed_on[] = { SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM,
				 SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM };

struct before {
	sigset_t mask, waited;	      /* the former mask; the signals that wait_for() receives */
	struct sigaction child, pipe; /* former actions of SIGCHLD and SIGPIPE */
};

static void hold_unless_ignored(struct before *b, int signal)
{
	struct sigaction now;
	if (!sigaction(signal, NULL, &now) && now.sa_handler != SIG_IGN)
		sigaddset(&b->waited, signal);
}

/*
 * Blocks SIGCHLD and the signals to forward, so that wait_for() can receive them. Saves the former
 * mask and actions for the application. A signal that was ignored stays ignored, in the launcher
 * and in the application.
 */
static void hold_signals(struct before *b, const struct progress *p)
{
	sigemptyset(&b->waited);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		hold_unless_ignored(b, passed_on[i]);
	sigaddset(&b->waited, SIGCHLD);
	if (p->is_on)
		hold_unless_ignored(b, SIGTSTP);
	const struct sigaction plain = { .sa_handler = SIG_DFL },
			       ignored = { .sa_handler = SIG_IGN };
	sigaction(SIGCHLD, &plain,
		  &b->child); /* while SIGCHLD is ignored, wait() returns no child's status */
	sigaction(SIGPIPE, &ignored, &b->pipe);
	sigprocmask(SIG_BLOCK, &b->waited, &b->mask);
}

static int refuse(const char *command, int error)
{
	char meant[SPELLING_MEANT_BYTES] = "";
	bool is_missing = error == ENOENT, is_word = !strchr(command, '/');
	if (is_missing && is_word)
		command_did_you_mean(meant, sizeof(meant), command);
	print_err("profrun: %s: %s%s\n", command,
		  !is_missing ? strerror(error)
		  : is_word   ? "command not found"
			      : "no such file",
		  meant);
	return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

/* Executes the command in this process. On failure writes errno to the pipe `told` and exits; if
 * there is no pipe (-1), prints the message itself. */
__attribute__((noreturn)) static void become_application(struct run *r, const struct before *b,
							 int told)
{
	sigaction(SIGCHLD, &b->child, NULL);
	sigaction(SIGPIPE, &b->pipe, NULL);
	sigaction(SIGXFSZ, &r->file_size, NULL);
	sigprocmask(SIG_SETMASK, &b->mask, NULL);
	execvpe(r->command[0], r->command, r->environment.at);
	int error = errno;
	if (told < 0 || write(told, &error, sizeof(error)) < 0)
		_exit(refuse(r->command[0], error));
	_exit(127);
}

/*
 * Forwards a signal unless the application has received or sent it. A signal to the process group,
 * for example from a terminal, has reached the application already. A signal that the kernel sent
 * to the launcher alone is forwarded, because it is meant for the application. Examples are the
 * signals of a timer that was set before profrun was executed, and of a closed terminal. Without
 * the watchdog's answer, signals from the kernel count as sent to the group.
 */
static void pass_on(const siginfo_t *info, pid_t application, const struct watchdog *w)
{
	enum watchdog_saw saw = run_watchdog_saw(w, info->si_signo);
	bool is_for_group = saw == WATCHDOG_GONE ? info->si_code == SI_KERNEL : saw == WATCHDOG_SAW;
	if (!is_for_group && info->si_pid != application)
		kill(application, info->si_signo);
}

/* Stops the launcher, as Ctrl-Z does, after removing its status line. SIGTSTP, unlike SIGSTOP, has
 * no effect where no shell could continue the process. */
static void stop(struct progress *p)
{
	sigset_t one;
	run_progress_pause(p);
	sigemptyset(&one);
	sigaddset(&one, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &one, NULL); /* stops here */
	sigprocmask(SIG_BLOCK, &one, NULL);
}

/* Waits until a signal comes. Returns its number, 0 if it is time to update the status line. */
static int next_signal(const struct before *b, const struct progress *p, siginfo_t *info)
{
	static const struct timespec every = { .tv_sec = PROGRESS_EVERY_MS / 1000 };
	int got = p->is_on ? sigtimedwait(&b->waited, info, &every) : sigwaitinfo(&b->waited, info);
	return got > 0 ? got : 0;
}

static int wait_for(const struct run *r, const struct before *b, const struct watchdog *w,
		    struct progress *p)
{
	int status;
	for (;;) {
		siginfo_t info;
		if (waitpid(r->application, &status, WNOHANG) == r->application)
			return status;
		int got = next_signal(b, p, &info);
		if (!got)
			run_progress_tick(r, p);
		else if (got == SIGTSTP)
			stop(p);
		else if (got != SIGCHLD)
			pass_on(&info, r->application, w);
	}
}

/* Executes the command in place of the launcher, without profiling, because no process can be made
 * (ulimit -u). The application must have no child that it did not start. */
__attribute__((noreturn)) static void become_unprofiled(struct run *r, const struct before *b,
							const struct watchdog *w, int error)
{
	bool was_used;
	print_err("profrun: cannot start another process (%s): the application runs without "
		  "profiling\n",
		  strerror(error));
	run_watchdog_end(w);
	if (r->collector > 0) {
		kill(r->collector, SIGKILL);
		waitpid(r->collector, NULL, 0);
	}
	if (r->profiles)
		run_remove_folder(r, &was_used);
	r->profiles = false;
	r->environment.n = 0;
	run_make_environment(r);
	become_application(r, b, -1);
}

/* Waits until the command is executed. Returns 0, or the error that prevented it. `told`: the pipe
 * on which the child reports the error; -1: there is no pipe. */
static int wait_for_start(int told)
{
	int error = 0;
	if (told < 0)
		return 0;
	if (read(told, &error, sizeof(error)) != sizeof(error))
		error = 0;
	close(told);
	return error;
}

int run_application(struct run *r, int *wait_status)
{
	struct before before;
	struct watchdog watchdog;
	struct progress progress;
	int told[2];
	run_progress_start(r, &progress);
	hold_signals(&before, &progress);
	run_watchdog_start(&watchdog);
	if (pipe2(told, O_CLOEXEC))
		told[0] = told[1] = -1;
	pid_t pid = fork();
	if (!pid)
		become_application(r, &before, told[1]);
	if (pid < 0) {
		int error = errno;
		run_progress_end(&progress);
		become_unprofiled(r, &before, &watchdog, error);
	}
	if (told[1] >= 0)
		close(told[1]);
	r->application = pid;
	tell_collector(r, pid);
	int error = wait_for_start(told[0]);
	*wait_status = wait_for(r, &before, &watchdog, &progress);
	run_progress_end(&progress);
	run_watchdog_end(&watchdog);
	return error ? refuse(r->command[0], error) : 0;
}

void run_end_like(int wait_status)
{
	if (!WIFSIGNALED(wait_status))
		_exit(WEXITSTATUS(wait_status));
	int s = WTERMSIG(wait_status);
	const struct rlimit no_core = { 0, 0 }; /* the application has already dumped core */
	sigset_t one;
	setrlimit(RLIMIT_CORE, &no_core);
	signal(s, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, s);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	kill(getpid(), s);
	_exit(128 + s);
}
