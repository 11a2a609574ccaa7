/*
 * Processes that start others in unusual ways. The output does not depend on which process is
 * faster.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/prog/modes.h"
#include "test/prog/work.h"

extern char **environ;

static int status_of(pid_t pid)
{
	int status = -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Twice forked, in a session of its own, with no descriptor but the pipe: prints nothing itself. */
static void become_daemon(int to)
{
	if (setsid() < 0 || fork())
		_exit(0);
	umask(0);
	if (chdir("/"))
		_exit(1);
	for (int fd = 0; fd < 256; fd++)
		if (fd != to)
			close(fd);
	open("/dev/null", O_RDWR);
	dup(0);
	dup(0);
	char good = work_some(50) ? 'y' : 'n';
	if (write(to, &good, 1) != 1)
		_exit(1);
	exit(0);
}

static int start_daemon(void)
{
	int ends[2];
	char answer = '?';
	fflush(stdout);
	if (pipe(ends))
		return 9;
	pid_t pid = fork();
	if (!pid) {
		close(ends[0]);
		become_daemon(ends[1]);
	}
	close(ends[1]);
	int status = status_of(pid);
	ssize_t n = read(ends[0], &answer, 1);
	printf("daemon: %d %d %c\n", status, (int)n, answer);
	return read(ends[0], &answer, 1) != 0; /* until the daemon has ended */
}

/* One program after another in the same process: chain N. */
static int exec_chain(void)
{
	const char *left = getenv("CHAIN_LEFT") ?: "12";
	int n = atoi(left), good = work_some(3);
	char text[16];
	printf("link %d %s\n", n, good ? "good" : "bad");
	fflush(stdout);
	if (!n)
		return 7;
	snprintf(text, sizeof(text), "%d", n - 1);
	setenv("CHAIN_LEFT", text, 1);
	char *arguments[] = { "life_processes", "exec-chain", NULL };
	if (n % 3 == 0)
		execv("/proc/self/exe", arguments);
	else if (n % 3 == 1)
		execve("/proc/self/exe", arguments, environ);
	else
		fexecve(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), arguments, environ);
	return 9;
}

/* Two children at each of three levels; every process uses CUDA after it has forked. */
static int forks_tree(int level)
{
	int good = 1;
	pid_t children[2];
	for (int i = 0; level && i < 2; i++) {
		children[i] = fork();
		if (!children[i])
			_exit(forks_tree(level - 1));
	}
	good &= work_some(2);
	for (int i = 0; level && i < 2; i++)
		good &= status_of(children[i]) == 0;
	return !good;
}

static int tree(void)
{
	fflush(stdout);
	printf("tree %s\n", forks_tree(3) ? "bad" : "good");
	return 0;
}

static atomic_int must_stop;

static void *keeps_launching(void *kernel)
{
	while (!must_stop)
		work_launch(kernel, 1, NULL);
	MUST(cudaDeviceSynchronize());
	return NULL;
}

/* Forks while other threads are in CUDA calls. The children use no CUDA. */
static int fork_among_threads(void)
{
	pthread_t threads[3];
	const void *kernel = work_kernel("spin_5us");
	int sum = 0;
	fflush(stdout);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, keeps_launching, (void *)kernel);
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();
		if (!pid && i % 2)
			_exit(3);
		else if (!pid)
			execl("/bin/sh", "sh", "-c", "exit 3", NULL);
		sum += status_of(pid);
		usleep(500);
	}
	must_stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("forks: %d\n", sum);
	return 0;
}

/* A process that glibc has not seen begin: no handler of pthread_atfork has run. */
static int raw_clone(void)
{
	int sum = 0;
	fflush(stdout);
	work_some(2);
	for (int i = 0; i < 20; i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
		if (!pid)
			syscall(SYS_exit_group, 2);
		sum += status_of(pid);
	}
	printf("clones: %d, %s\n", sum, work_some(2) ? "good" : "bad");
	return 0;
}

static int leaf(void)
{
	return work_some(2) ? 7 : 1;
}

static int spawns(void)
{
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t actions;
	sigset_t all;
	int sum = 0;
	char *arguments[] = { "life_processes", "leaf", NULL };
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addclose(&actions, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	work_some(1);
	for (int i = 0; i < 8; i++) {
		pid_t pid;
		if (posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments, environ))
			return 9;
		sum += status_of(pid);
	}
	printf("spawned: %d\n", sum);
	return 0;
}

static int vforks(void)
{
	volatile int sum = 0;
	char *arguments[] = { "life_processes", "leaf", NULL };
	work_some(1);
	for (volatile int i = 0; i < 8; i++) {
		pid_t pid = vfork();
		if (!pid) {
			if (i % 2)
				execv("/proc/self/exe", arguments);
			_exit(9);
		}
		sum += status_of(pid);
	}
	printf("vforked: %d, %s\n", sum, work_some(2) ? "good" : "bad");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = { { "daemon", start_daemon },
					     { "exec-chain", exec_chain },
					     { "tree", tree },
					     { "fork-among-threads", fork_among_threads },
					     { "raw-clone", raw_clone },
					     { "leaf", leaf },
					     { "spawns", spawns },
					     { "vforks", vforks },
					     { NULL, NULL } };
	return modes_run(modes, argc, argv);
}
