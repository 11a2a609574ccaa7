/* `profrun COMMAND ...`: finds the command's row. profrun.sh is how people call it. */
#include "export/command.h"

#include "core/runtime/config.h"
#include "core/runtime/version.h"

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Names that are taken for what is to come must not run a system's command of that name until then. */
static int cmd_reserved(int argc, char **argv)
{
	(void)argc;
	return usage_error("%s: not in this version; to profile a program of that name: "
			   "profrun.sh -- %s ...",
			   argv[0], argv[0]);
}

static const struct command commands[] = {
	{ "run", "[options] [--] CMD [ARG...]",
	  "run CMD under the profiler; exit with CMD's own exit status",
	  "  -o DIR         the run's folder (PROF_OUT)\n"
	  "  --schedule S   which steps are recorded (PROF_SCHEDULE)\n"
	  "  --step MODE    what a step is (PROF_STEP)\n"
	  "  --format F     formats written as steps close (PROF_FORMAT)\n"
	  "  --stacks S     of which calls stacks are taken (PROF_STACKS)\n"
	  "  --sim          run on the simulated GPU (PROF_SIM=1)\n"
	  "  --quiet        say nothing at the end\n"
	  "  --version      --help\n",
	  cmd_run },
	{ "report", "DIR... [--json] [--top N]",
	  "what a step takes, what binds it, which line costs what",
	  "  --json         as JSON: what DIR/report.json holds\n"
	  "  --top N        that many rows of each list\n",
	  cmd_report },
	{ "whatif",
	  "DIR [--without FILE:LINE]... [--kernel REGEX=FACTOR]... [--free WHAT]... [--json]",
	  "how long a step would take without a line, with faster kernels, ...",
	  "  --without FILE:LINE     that line does not wait; beside it: is gone as a whole,\n"
	  "                          and: the host does nothing before its calls\n"
	  "  --kernel REGEX=FACTOR   kernels with such a name take FACTOR times as long\n"
	  "  --free WHAT             launch, input, alloc, copy, collective or sync costs nothing\n"
	  "  --json                  the answer as JSON\n",
	  cmd_whatif },
	{ "export", "DIR --format F[,F...] [-o PATH]",
	  "write a run's traces again, from its journals alone",
	  "  --format F     the formats, separated by commas: see PROF_FORMAT\n"
	  "  -o PATH        write PATH/<rank or pid>/step-<N>.*, not into the run's folder\n",
	  cmd_export },
	{ "info", "DIR|JOURNAL|TRACE", "what is in there: processes, steps, records, losses", "",
	  cmd_info },
	{ "trigger", "PID|DIR [--steps N]", "record steps of a running job now",
	  "  --steps N      that many, not those of the schedule\n", cmd_trigger },
	{ "env", "", "every setting: name, default, range, unit, meaning", "", cmd_env },
	{ "collect", "DIR", "make traces while a run goes on (run starts this by itself)", "",
	  cmd_collect },
	{ "diff", NULL, NULL, NULL, cmd_reserved },
	{ "merge", NULL, NULL, NULL, cmd_reserved },
	{ "--version", NULL, NULL, NULL, cmd_version },
	{ "--help", NULL, NULL, NULL, cmd_help },
	{ "help", NULL, NULL, NULL, cmd_help },
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

/* ---- Help ---- */

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

const char *command_usage(const char *name)
{
	static char text[160];
	snprintf(text, sizeof(text), "usage: %s %s", name, find(name)->usage);
	return text;
}

/* "run" goes without saying. */
static void print_usage(const struct command *c)
{
	bool is_run = c->run == cmd_run;
	printf("profrun.sh %s%s%s\n    %s\n", is_run ? "" : c->name,
	       is_run || !*c->usage ? "" : " ", c->usage, c->summary);
}

static int print_help(const struct command *c)
{
	print_usage(c);
	fputs(c->details, stdout);
	return EXIT_DONE;
}

static void list_commands(char *to, size_t bytes, const char *between)
{
	to[0] = 0;
	for (size_t i = 0; i < N_COMMANDS; i++) {
		size_t used = strlen(to);
		if (commands[i].usage)
			snprintf(to + used, bytes - used, "%s%s", i ? between : "",
				 commands[i].name);
	}
}

char *command_did_you_mean(char *to, size_t bytes, const char *text)
{
	char known[256];
	list_commands(known, sizeof(known), "|");
	return config_did_you_mean(to, bytes, text, known);
}

static int no_command(const char *name)
{
	char known[256];
	list_commands(known, sizeof(known), ", ");
	return usage_error("no command '%s'; there are %s", name, known);
}

int cmd_help(int argc, char **argv)
{
	const struct command *c = argc > 1 ? find(argv[1]) : NULL;
	if (c && c->usage)
		return print_help(c);
	if (argc > 1)
		return c ? c->run(1, argv + 1) : no_command(argv[1]);
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (commands[i].usage)
			print_usage(&commands[i]);
	printf("\noptions of a run:\n%s\n"
	       "those of a command: profrun.sh COMMAND --help\n"
	       "settings by environment: profrun.sh env\n"
	       "traces open in https://ui.perfetto.dev\n",
	       find("run")->details);
	return EXIT_DONE;
}

/* Not of a run: there the word may be the application's. */
static bool asks_for_help(const struct command *c, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (c->usage && c->run != cmd_run && !strcmp(argv[i], "--help"))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";
	const struct command *c = find(name);
	int more = argc > 1;
	if (!c)
		return no_command(name);
	return asks_for_help(c, argc - more, argv + more) ? print_help(c)
							  : c->run(argc - more, argv + more);
}
