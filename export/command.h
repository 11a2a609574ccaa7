/* The subcommands: one file each (cmd_*.c), one row each in main.c. */
#ifndef EXPORT_COMMAND_H
#define EXPORT_COMMAND_H

#include <stddef.h>

enum { EXIT_DONE = 0, EXIT_DATA = 1, EXIT_USAGE = 2 };

struct command {
	const char *name, *usage, *summary, *details; /* details: a line for each option */
	int (*run)(int argc,
		   char **argv); /* argv[0] is the command's name; returns the exit status */
};

/* "usage: report DIR... [--json] [--top N]", good until the next call. */
const char *command_usage(const char *name);

/* " (did you mean profrun.sh report?)" of what is a mistyped command, else "". Returns `to`. */
char *command_did_you_mean(char *to, size_t bytes, const char *text);
enum { COMMAND_MEANT_BYTES = 64 };

/* One line on stderr; returns EXIT_USAGE or EXIT_DATA. */
__attribute__((format(printf, 1, 2))) int usage_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) int data_error(const char *format, ...);

int cmd_run(int argc, char **argv);
int cmd_collect(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_trigger(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_help(int argc, char **argv);

#endif
