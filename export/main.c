/* `profrun COMMAND ...`: finds the command's row. profrun.sh is how people call it. */
#include "export/command.h"

#include "core/version.h"

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
	{ "run", "[options] [--] CMD [ARG...]",
	  "run CMD under the profiler; exit with CMD's own exit status", cmd_run },
	{ "report", "DIR... [--json] [--top N]",
	  "what a step takes, what binds it, which line costs what", cmd_report },
	{ "whatif", "DIR [--without FILE:LINE] [--kernel REGEX=FACTOR] [--free WHAT] [--json]",
	  "how long a step would take without a line, with faster kernels, ...", cmd_whatif },
	{ "export", "DIR --format F[,F...] [-o PATH]",
	  "write a run's traces again, from its journals alone", cmd_export },
	{ "info", "DIR|JOURNAL|TRACE", "what is in there: processes, steps, records, losses",
	  cmd_info },
	{ "trigger", "PID|DIR [--steps N]", "record steps of a running job now", cmd_trigger },
	{ "env", "", "every setting: name, default, range, unit, meaning", cmd_env },
	{ "collect", "DIR", "make traces while a run goes on (run starts this by itself)",
	  cmd_collect },
	{ "--version", NULL, NULL, cmd_version },
	{ "--help", NULL, NULL, cmd_help },
	{ "help", NULL, NULL, cmd_help },
};

enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

static int complain(int status, const char *format, va_list args)
{
	char text[1024];
	vsnprintf(text, sizeof(text), format, args);
	fprintf(stderr, "profrun: %s\n", text);
	return status;
}

int usage_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int status = complain(EXIT_USAGE, format, args);
	va_end(args);
	return status;
}

int data_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int status = complain(EXIT_DATA, format, args);
	va_end(args);
	return status;
}

int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("profrun " PROFRUN_VERSION);
	return EXIT_DONE;
}

int cmd_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("profrun.sh [options] [--] CMD [ARG...]    run CMD under the profiler; exit with "
	     "CMD's own exit status");
	for (size_t i = 1; i < N_COMMANDS; i++)
		if (commands[i].usage)
			printf("profrun.sh %-8s %-34s %s\n", commands[i].name, commands[i].usage,
			       commands[i].summary);
	puts("\noptions of a run:\n"
	     "  -o DIR         the run's folder (PROF_OUT)\n"
	     "  --schedule S   which steps are recorded (PROF_SCHEDULE)\n"
	     "  --step MODE    what a step is (PROF_STEP)\n"
	     "  --format F     formats written as steps close (PROF_FORMAT)\n"
	     "  --sim          run on the simulated GPU (PROF_SIM=1)\n"
	     "  --quiet        say nothing at the end\n"
	     "  --version      --help\n\n"
	     "settings by environment: profrun.sh env\n"
	     "traces open in https://ui.perfetto.dev");
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].run(argc > 1 ? argc - 1 : argc, argv + (argc > 1));
	char known[256] = "";
	for (size_t i = 0; i < N_COMMANDS; i++) {
		size_t used = strlen(known);
		if (commands[i].usage)
			snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
				 commands[i].name);
	}
	return usage_error("no command '%s'; there are %s", name, known);
}
