/* `profrun [COMMAND] ...`: finds the command and runs it. Users call profrun.sh, which starts this
 * program. */
#include "export/command.h"
#include "export/listing.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
#define X(name) &command_##name,
	COMMANDS(X)
#undef X
};

enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static int no_command(const char *name)
{
	char known[256] = "";
	for (size_t i = 0; i < N_COMMANDS; i++) {
		size_t used = strlen(known);
		snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
			 commands[i]->name);
	}
	return usage_error("no command '%s'; the commands are %s", name, known);
}

static int print_all_help(void)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		command_print_usage(commands[i]);
	printf("\noptions of a run:\n");
	command_print_options(&command_run);
	printf("\nreport, whatif, export, info and open without DIR take the latest run in the "
	       "current folder\noptions of a command: profrun COMMAND --help\nsettings "
	       "(environment "
	       "variables): profrun env\ntraces open in https://ui.perfetto.dev\n");
	return EXIT_DONE;
}

static int help(const char *name)
{
	const struct command *c = name ? find(name) : NULL;
	if (!name)
		return print_all_help();
	if (!c)
		return no_command(name);
	command_print_help(c);
	return EXIT_DONE;
}

static int print_version(void)
{
	command_print_version();
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "--help";
	if (!strcmp(word, "-h") || !strcmp(word, "--help") || !strcmp(word, "help"))
		return help(argc > 2 ? argv[2] : NULL);
	if (!strcmp(word, "--version"))
		return print_version();
	if (listing_print(word))
		return EXIT_DONE;
	const struct command *c = find(word);
	if (!c) /* options of a run, or the application's command */
		return command_run.run(argc, argv);
	if (command_wants_help(c, argc - 1, argv + 1)) {
		command_print_help(c);
		return EXIT_DONE;
	}
	return c->run(argc - 1, argv + 1);
}
