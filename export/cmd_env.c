/* `profrun env`: prints the settings in core/runtime/config.def. */
#include "core/runtime/config.h"
#include "export/command.h"
#include "export/print.h"

#include <stdio.h>

static int take_nothing(void *request, const char *word)
{
	(void)request;
	return usage_error("env takes no arguments, got '%s'; to profile the program env: "
			   "profrun -- env ...",
			   word);
}

static int run(int argc, char **argv)
{
	int status;
	if (!command_parse(&command_env, NULL, argc, argv, NULL, &status))
		return status;
	for (size_t i = 0; i < config_n_rows; i++) {
		const struct config_row *r = &config_rows[i];
		print_out("%s\n", r->name);
		print_out("    default  %s\n", *r->fallback ? r->fallback : "(none)");
		print_out("    range    %s%s%s\n", r->range, *r->unit ? " " : "", r->unit);
		print_out("    %s\n", r->meaning);
	}
	return EXIT_DONE;
}

const struct command command_env = {
	.name = "env",
	.operands = "",
	.summary = "list every setting: name, default, range, unit, meaning",
	.operand = take_nothing,
	.run = run,
};
