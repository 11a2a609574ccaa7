/* `profrun env`: the table of settings, as core/runtime/config.def has it. */
#include "core/runtime/config.h"
#include "export/command.h"

#include <stdio.h>

int cmd_env(int argc, char **argv)
{
	if (argc > 1)
		return usage_error("env takes no arguments, got '%s'; the command env is run by: "
				   "profrun.sh -- env ...",
				   argv[1]);
	for (size_t i = 0; i < config_n_rows; i++) {
		const struct config_row *r = &config_rows[i];
		printf("%s\n    default  %s\n    range    %s%s%s\n    %s\n", r->name,
		       *r->fallback ? r->fallback : "(none)", r->range, *r->unit ? " " : "",
		       r->unit, r->meaning);
	}
	return EXIT_DONE;
}
