/* `profrun run [options] [--] CMD [ARG...]`: runs a command under the profiler. */
#include "core/runtime/config.h"
#include "export/command.h"
#include "export/print.h"
#include "export/run.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void push_setting(struct run *r, const char *name, const char *value)
{
	size_t bytes = strlen(name) + strlen(value) + 2;
	char *entry = mem_resize(NULL, bytes);
	snprintf(entry, bytes, "%s=%s", name, value);
	vec_push(&r->settings, entry);
}

static int add_setting(struct run *r, const char *option, const char *name, const char *value)
{
	struct err e;
	if (config_check(name, value, &e))
		return usage_error("%s: %s", option, e.text);
	push_setting(r, name, value);
	return 0;
}

static int take_setting(void *request, const struct command_option *o, const char *value)
{
	return add_setting(request, o->name, o->setting, value);
}

/* Accepts any path. run_make_folder() says so if it cannot be used, and the command runs. */
static int take_folder(void *request, const struct command_option *o, const char *value)
{
	struct run *r = request;
	r->wanted_folder = value;
	push_setting(r, o->setting, value);
	return 0;
}

static int take_sim(void *request, const struct command_option *o, const char *value)
{
	(void)value;
	return add_setting(request, o->name, "PROF_SIM", "1");
}

static int take_required(void *request, const struct command_option *o, const char *value)
{
	struct run *r = request;
	char *end;
	r->required_pct = strtod(value, &end);
	if (!*value || *end || !(r->required_pct > 0 && r->required_pct <= 100))
		return usage_error("%s takes a percentage above 0 and up to 100, not '%s'", o->name,
				   value);
	return 0;
}

static int take_version(void *request, const struct command_option *o, const char *value)
{
	(void)request;
	(void)o;
	(void)value;
	command_print_version();
	return COMMAND_DONE;
}

static const struct command_option options[] = {
	{ .name = "-o",
	  .argument = "DIR",
	  .help = "output folder of the run",
	  .setting = "PROF_OUT",
	  .take = take_folder },
	{ .name = "--schedule",
	  .argument = "S",
	  .help = "which steps are recorded",
	  .setting = "PROF_SCHEDULE",
	  .take = take_setting },
	{ .name = "--step",
	  .argument = "MODE",
	  .help = "how steps are detected",
	  .setting = "PROF_STEP",
	  .take = take_setting },
	{ .name = "--format",
	  .argument = "F[,F...]",
	  .help = "output formats, written as each step ends",
	  .setting = "PROF_FORMAT",
	  .values = FORMATS_WORDS,
	  .take = take_setting },
	{ .name = "--stacks",
	  .argument = "S",
	  .help = "which calls get a call stack",
	  .setting = "PROF_STACKS",
	  .take = take_setting },
	{ .name = "--sim",
	  .help = "run on the simulated GPU",
	  .setting = "PROF_SIM=1",
	  .take = take_sim },
	{ .name = "--require-complete",
	  .argument = "PCT",
	  .help = "exit with 125 if fewer launches have GPU times",
	  .take = take_required },
	{ .name = "--quiet",
	  .help = "print no summary at the end",
	  .offset = offsetof(struct run, is_quiet) },
	{ .name = "--version", .help = "show the version", .take = take_version },
	{ 0 },
};

/* Stores the path of this program in `to`. Without /proc, takes the path with which it was
 * executed. */
static bool find_program(char *to)
{
	const char *executed = (const char *)getauxval(AT_EXECFN);
	ssize_t n = readlink("/proc/self/exe", to, PATH_MAX - 1);
	if (n > 0)
		to[n] = 0;
	return n > 0 || (executed && realpath(executed, to));
}

/* Turns profiling off if this program's folder cannot be found. */
static void find_home(struct run *r)
{
	char program[PATH_MAX];
	if (find_program(program)) {
		snprintf(r->home, sizeof(r->home), "%s", dirname(program));
		return;
	}
	print_err("profrun: cannot find the path of the program profrun (%s); the application runs "
		  "without profiling\n",
		  strerror(errno));
	r->profiles = false;
}

/* Turns profiling off if the dynamic linker cannot load the library. The command still runs. */
static void check_library(struct run *r)
{
	char path[PATH_MAX + 32];
	if (!r->profiles)
		return;
	snprintf(path, sizeof(path), "%s/libprofrun.so", r->home);
	if (access(path, R_OK))
		print_err("profrun: %s does not exist (run make); the application runs without "
			  "profiling\n",
			  path);
	else if (strpbrk(path, ": "))
		print_err("profrun: %s has a space or colon in its path, which LD_PRELOAD does not "
			  "support; the application runs without profiling\n",
			  path);
	else
		return;
	r->profiles = false;
}

static int check_sim(const struct run *r)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/sim/libcuda.so.1", r->home);
	if (r->is_sim && access(path, R_OK))
		return data_error(
			"the simulated GPU has not been built (%s does not exist): run make", path);
	return 0;
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int run_profiled(struct run *r)
{
	int wait_status = 0, error;
	double begin = now_s();
	if (r->profiles) {
		run_describe(r);
		run_start_collector(r);
	}
	run_make_environment(r);
	error = run_application(r, &wait_status);
	if (error && r->profiles) {
		r->is_quiet = true; /* run_application() has printed the reason */
		run_finish(r, wait_status, 0);
	}
	if (error)
		return error;
	if (r->profiles)
		error = run_finish(r, wait_status, now_s() - begin);
	else
		error = r->required_pct > 0 ? RUN_INCOMPLETE : 0;
	fflush(NULL);
	if (error && WIFEXITED(wait_status) && !WEXITSTATUS(wait_status))
		return error;
	run_end_like(wait_status);
}

static void ignore_file_size(struct run *r)
{
	const struct sigaction ignored = { .sa_handler = SIG_IGN };
	sigaction(SIGXFSZ, &ignored, &r->file_size);
}

static int run(int argc, char **argv)
{
	static struct run r = { .profiles = true, .control = -1, .status = -1 };
	int error, command;
	if (!command_parse(&command_run, &r, argc, argv, &command, &error))
		return error;
	r.command = argv + command;
	error = run_check_settings(&r);
	if (!error) {
		find_home(&r);
		error = check_sim(&r);
	}
	if (error)
		return error;
	ignore_file_size(&r);
	check_library(&r);
	if (r.profiles)
		run_make_folder(&r);
	return run_profiled(&r);
}

const struct command command_run = {
	.name = "run",
	.operands = "[options] [--] CMD [ARG...]",
	.summary = "run CMD under the profiler; exit with CMD's own exit status",
	.options = options,
	.wanted = "which command?",
	.run = run,
};
