/* `profrun run [options] [--] CMD [ARG...]`. */
#include "core/runtime/config.h"
#include "export/command.h"
#include "export/run.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct {
	const char *option, *setting;
} valued[] = {
	{ "-o", "PROF_OUT" },	       { "--schedule", "PROF_SCHEDULE" }, { "--step", "PROF_STEP" },
	{ "--format", "PROF_FORMAT" }, { "--stacks", "PROF_STACKS" },
};

static int add_setting(struct run *r, const char *option, const char *name, const char *value)
{
	struct err e;
	size_t bytes = strlen(name) + strlen(value) + 2;
	if (config_check(name, value, &e))
		return usage_error("%s: %s", option, e.text);
	char *entry = mem_resize(NULL, bytes);
	snprintf(entry, bytes, "%s=%s", name, value);
	vec_push(&r->settings, entry);
	return 0;
}

/* An option with a value: how many words it took, 0: it is none; below 0: usage error (said). */
static int take_valued(struct run *r, int argc, char **argv, int i)
{
	for (size_t k = 0; k < sizeof(valued) / sizeof(*valued); k++) {
		size_t length = strlen(valued[k].option);
		if (!strcmp(argv[i], valued[k].option)) {
			if (i + 1 == argc) {
				usage_error("%s needs a value", argv[i]);
				return -1;
			}
			return add_setting(r, valued[k].option, valued[k].setting, argv[i + 1]) ? -1
												: 2;
		}
		if (valued[k].option[1] == '-' && !strncmp(argv[i], valued[k].option, length) &&
		    argv[i][length] == '=')
			return add_setting(r, valued[k].option, valued[k].setting,
					   argv[i] + length + 1)
				       ? -1
				       : 1;
	}
	return 0;
}

static int no_option(const char *word)
{
	char meant[CONFIG_MEANT_BYTES], name[40];
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	return usage_error("no option '%s'%s; profrun.sh --help lists them", word,
			   config_did_you_mean(meant, sizeof(meant), name,
					       "--schedule|--step|--format|--stacks|--sim|--quiet|"
					       "--help|--version"));
}

/* Options end at the first word that is none: what follows is the application's. */
static int parse(struct run *r, int argc, char **argv)
{
	int i = 1;
	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		int taken = take_valued(r, argc, argv, i);
		if (taken < 0)
			return EXIT_USAGE;
		if (taken) {
			i += taken;
			continue;
		}
		const char *word = argv[i++];
		if (!strcmp(word, "--"))
			break;
		if (!strcmp(word, "--sim"))
			add_setting(r, word, "PROF_SIM", "1");
		else if (!strcmp(word, "--quiet"))
			r->is_quiet = true;
		else
			return no_option(word);
	}
	if (i == argc)
		return usage_error("which command? usage: profrun.sh [options] [--] CMD [ARG...]");
	r->command = argv + i;
	return 0;
}

static int find_home(struct run *r)
{
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (n <= 0)
		return data_error("cannot tell where this program is: %s", strerror(errno));
	program[n] = 0;
	snprintf(r->home, sizeof(r->home), "%s", dirname(program));
	return 0;
}

/* What the dynamic linker cannot be told makes a run without profiling, not a failure. */
static void check_library(struct run *r)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/libprofrun.so", r->home);
	if (access(path, R_OK))
		fprintf(stderr,
			"profrun: %s is not there (run make); the application runs on without "
			"profiling\n",
			path);
	else if (strpbrk(path, ": "))
		fprintf(stderr,
			"profrun: %s has a space or colon in its name, which LD_PRELOAD cannot "
			"carry; the application runs on "
			"without profiling\n",
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
		return data_error("the simulated GPU is not there (%s): run make", path);
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
		r->is_quiet = true; /* the one line has been said */
		run_finish(r, wait_status, 0);
	}
	if (error)
		return error;
	if (r->profiles)
		run_finish(r, wait_status, now_s() - begin);
	fflush(NULL);
	run_end_like(wait_status);
}

static void ignore_file_size(struct run *r)
{
	const struct sigaction ignored = { .sa_handler = SIG_IGN };
	sigaction(SIGXFSZ, &ignored, &r->file_size);
}

int cmd_run(int argc, char **argv)
{
	static struct run r = { .profiles = true, .control = -1, .status = -1 };
	if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "--help")))
		return argv[1][2] == 'v' ? cmd_version(1, argv) : cmd_help(1, argv);
	int error = parse(&r, argc, argv);
	if (!error)
		error = run_check_settings(&r);
	if (!error)
		error = find_home(&r);
	if (!error)
		error = check_sim(&r);
	if (error)
		return error;
	ignore_file_size(&r);
	check_library(&r);
	if (r.profiles)
		run_make_folder(&r);
	return run_profiled(&r);
}
