/*
 * Detects whether a signal was sent to the whole process group. If so, the application has received
 * it, too. The kernel does not say to whom a signal was sent. Therefore the launcher starts a child
 * in the same group, which only blocks signals: a signal to the group is then pending in the child,
 * too. The child ends with the launcher, even if the launcher is killed.
 */
#include "export/descriptors.h"
#include "export/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long to wait before asking the child. The kernel delivers a signal to the processes of a
 * group one after another, within microseconds. */
enum { GROUP_NS = 2000000 };

/* Returns whether the blocked signal is pending, and clears it. Other signals stay pending: the
 * launcher may ask about them next. */
static bool take_pending(int signal)
{
	static const struct timespec now;
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, signal);
	return sigtimedwait(&one, NULL, &now) == signal;
}

/* Runs in the child. Reads signal numbers, and answers each with 1 if that signal is pending, else
 * 0. */
__attribute__((noreturn)) static void answer_questions(int ask, int answer)
{
	uint8_t wanted;
	prctl(PR_SET_NAME, "group");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	descriptors_close_others(0, ask, answer);
	while (read(ask, &wanted, 1) == 1) {
		uint8_t has_come = take_pending(wanted);
		if (write(answer, &has_come, 1) != 1)
			break;
	}
	_exit(0);
}

void run_watchdog_start(struct watchdog *w)
{
	int ask[2], answer[2];
	*w = (struct watchdog){ .pid = -1, .ask = -1, .answer = -1 };
	if (pipe2(ask, O_CLOEXEC))
		return;
	if (pipe2(answer, O_CLOEXEC)) {
		close(ask[0]);
		close(ask[1]);
		return;
	}
	w->pid = fork();
	if (!w->pid)
		answer_questions(ask[0], answer[1]);
	close(ask[0]);
	close(answer[1]);
	w->ask = ask[1];
	w->answer = answer[0];
}

enum watchdog_saw run_watchdog_saw(const struct watchdog *w, int signal)
{
	const struct timespec pause = { .tv_nsec = GROUP_NS };
	uint8_t number = (uint8_t)signal, has_come = 0;
	if (w->pid <= 0)
		return WATCHDOG_GONE;
	nanosleep(&pause, NULL);
	if (write(w->ask, &number, 1) != 1 || read(w->answer, &has_come, 1) != 1)
		return WATCHDOG_GONE;
	return has_come ? WATCHDOG_SAW : WATCHDOG_SAW_NOT;
}

void run_watchdog_end(const struct watchdog *w)
{
	if (w->ask >= 0)
		close(w->ask);
	if (w->answer >= 0)
		close(w->answer);
	while (w->pid > 0 && waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
