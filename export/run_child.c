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

enum { COLLECTOR_NICE = 10 };

extern char **environ;

/* ---- The collector ---- */

/*
 * Gives the application's threads priority over the collector. Switches the collector to normal
 * scheduling, because it may have inherited real-time scheduling, and lowers its priority. Where
 * the kernel schedules sessions as groups (autogroup), lowers the priority of its session, too.
 */
static void give_way(void)
{
	static const struct sched_param none;
	sched_setscheduler(0, SCHED_OTHER, &none);
	setpriority(PRIO_PROCESS, 0, COLLECTOR_NICE);
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	dprintf(fd, "%d", COLLECTOR_NICE);
	close(fd);
}

/*
 * Turns this child into the collector. Moves the two pipes to descriptors 3 and 4, and opens
 * /dev/null as 0, 1 and 2. The pipes are first copied to descriptors from 10 on, because their own
 * numbers may be among the targets.
 */
__attribute__((noreturn)) static void become_collector(struct run *r, int control, int status)
{
	char program[PATH_MAX + 16], format[256];
	const char *formats = run_setting(r, "PROF_FORMAT");
	const char *argv[] = { "profrun",  "collect", "--control", "3",
			       "--status", "4",	      r->folder,   NULL };
	int nothing = open("/dev/null", O_RDWR);
	int high_control = fcntl(control, F_DUPFD, 10), high_status = fcntl(status, F_DUPFD, 10);
	for (int fd = 0; fd < 3; fd++)
		dup2(nothing, fd);
	dup2(high_control, 3);
	dup2(high_status, 4);
	descriptors_close_from(5);
	setsid();
	give_way();
	for (int s = 1; s < NSIG; s++) /* the launcher's parent may have ignored some signals */
		signal(s, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	snprintf(format, sizeof(format), "%s", formats && *formats ? formats : "perfetto");
	setenv("PROF_FORMAT", format, 1);
	unsetenv("LD_PRELOAD");
	snprintf(program, sizeof(program), "%s/profrun", r->home);
	execv(program, (char **)(uintptr_t)argv);
	_exit(127);
}

void run_start_collector(struct run *r)
{
	int control[2], status[2];
	if (pipe2(control, O_CLOEXEC))
		return;
	if (pipe2(status, O_CLOEXEC)) {
		close(control[0]);
		close(control[1]);
		return;
	}
	pid_t pid = fork();
	if (!pid)
		become_collector(r, control[0], status[1]);
	close(control[0]);
	close(status[1]);
	if (pid < 0) {
		fprintf(stderr,
			"profrun: cannot start the collector (%s): no traces are written during "
			"the run; write them later with `profrun.sh export %s`\n",
			strerror(errno), r->folder);
		close(control[1]);
		close(status[0]);
		return;
	}
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

/* Executes the command in this child. On failure writes errno to the pipe `told` and exits. */
__attribute__((noreturn)) static void become_application(struct run *r, const struct before *b,
							 int told)
{
	sigaction(SIGCHLD, &b->child, NULL);
	sigaction(SIGPIPE, &b->pipe, NULL);
	sigaction(SIGXFSZ, &r->file_size, NULL);
	sigprocmask(SIG_SETMASK, &b->mask, NULL);
	execvpe(r->command[0], r->command, r->environment.at);
	int error = errno;
	if (write(told, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static int refuse(const char *command, int error)
{
	char meant[SPELLING_MEANT_BYTES] = "";
	bool is_missing = error == ENOENT, is_word = !strchr(command, '/');
	if (is_missing && is_word)
		command_did_you_mean(meant, sizeof(meant), command);
	fprintf(stderr, "profrun: %s: %s%s\n", command,
		!is_missing ? strerror(error)
		: is_word   ? "command not found"
			    : "no such file",
		meant);
	return error == ENOENT || error == ENOTDIR ? 127 : 126;
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

int run_application(struct run *r, int *wait_status)
{
	struct before before;
	struct watchdog watchdog;
	struct progress progress;
	int told[2], error = 0;
	run_progress_start(r, &progress);
	hold_signals(&before, &progress);
	run_watchdog_start(&watchdog);
	if (pipe2(told, O_CLOEXEC))
		return refuse(r->command[0], errno);
	pid_t pid = fork();
	if (!pid)
		become_application(r, &before, told[1]);
	close(told[1]);
	if (pid < 0) {
		close(told[0]);
		return refuse(r->command[0], errno);
	}
	r->application = pid;
	tell_collector(r, pid);
	bool has_failed = read(told[0], &error, sizeof(error)) == sizeof(error);
	close(told[0]);
	*wait_status = wait_for(r, &before, &watchdog, &progress);
	run_progress_end(&progress);
	run_watchdog_end(&watchdog);
	return has_failed ? refuse(r->command[0], error) : 0;
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
