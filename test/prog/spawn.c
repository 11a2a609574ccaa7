/*
 * Processes that start other programs, in every possible way. `leaf` is what they start: a little
 * CUDA work.
 */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/prog/modes.h"
#include "test/prog/work.h"

extern char **environ;
static char *leaf_argv[] = { "/proc/self/exe", "leaf", NULL };

static int leaf(void)
{
	printf("leaf %s\n", work_some(2) ? "good" : "bad");
	return 7;
}

static int waited(pid_t pid)
{
	int status = -1;
	waitpid(pid, &status, 0);
	printf("child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return 0;
}

/* The same pid runs one program with CUDA after another. */
static int by_exec(void)
{
	printf("before exec %s\n", work_some(3) ? "good" : "bad");
	fflush(stdout);
	execv(leaf_argv[0], leaf_argv);
	return 1;
}

static int by_vfork(void)
{
	work_some(1);
	fflush(stdout);
	pid_t pid = vfork();
	if (!pid) {
		execv(leaf_argv[0], leaf_argv);
		_exit(127);
	}
	work_some(1);
	return waited(pid);
}

/*
 * A vfork child shares its parent's memory until it exits. Its exit must not end the parent's
 * recording.
 */
static int by_failing_vfork(void)
{
	work_some(1);
	fflush(stdout);
	pid_t pid = vfork();
	if (!pid) {
		execv("/no/such/program", leaf_argv);
		_exit(9);
	}
	waited(pid);
	printf("parent %s\n", work_some(2) ? "good" : "bad");
	return 0;
}

static int by_spawn(void)
{
	pid_t pid;
	work_some(1);
	fflush(stdout);
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, leaf_argv, environ))
		return 1;
	return waited(pid);
}

static int by_system(void)
{
	work_some(1);
	fflush(stdout);
	return system("echo from a shell") != 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "leaf", leaf },      { "exec", by_exec },
		{ "vfork", by_vfork }, { "failing-vfork", by_failing_vfork },
		{ "spawn", by_spawn }, { "system", by_system },
		{ NULL, NULL }
	};
	return modes_run(modes, argc, argv);
}
