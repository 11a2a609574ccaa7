/*
 * The subcommands: one file each (cmd_*.c), which holds the command's table of options; one name
 * each in COMMANDS below. The tables drive parsing, the help, and what a mistyped option is
 * compared with.
 */
#ifndef EXPORT_COMMAND_H
#define EXPORT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum { EXIT_DONE = 0, EXIT_DATA = 1, EXIT_USAGE = 2 };

/* In the order of the help. */
#define COMMANDS(X) \
	X(run)      \
	X(report)   \
	X(whatif)   \
	X(export)   \
	X(info)     \
	X(trigger)  \
	X(env)      \
	X(collect)

/*
 * One option. Its value goes into the command's request: a flag sets a bool, a number from 1 to
 * `most` an unsigned, any other text a const char *, each at `offset`; or `take` does what is to be
 * done.
 */
struct command_option {
	const char *name;     /* "--top" */
	const char *argument; /* "N"; NULL: a flag */
	const char *help;     /* one line, or several; NULL: for profrun's own use, not shown */
	const char *setting;  /* the PROF_ variable that it stands for, shown after the help */
	bool repeats;	      /* may be given more than once */
	unsigned most;	      /* 0: not a number */
	size_t offset;
	/* Returns 0, or the exit status to end with after a line on stderr; COMMAND_DONE: with
	 * EXIT_DONE. `value`: NULL for a flag. */
	int (*take)(void *request, const struct command_option *o, const char *value);
};

#define COMMAND_DONE -1

struct command {
	const char *name, *operands, *summary;
	const struct command_option *options; /* ends with a row without a name; NULL: none */
	const char *wanted; /* what is asked when there is no operand; NULL: none is needed */
	/* Takes one operand; returns as command_option's. NULL: options end at the first operand,
	 * which is the application's command. */
	int (*operand)(void *request, const char *word);
	int (*run)(int argc, char **argv); /* argv[0] is not looked at; returns the exit status */
};

#define X(name) extern const struct command command_##name;
COMMANDS(X)
#undef X

/* Reads the command line into `request`. True: the command can run. False: end with *status, all is
 * said. Returns in *next, which may be NULL, the first word after the options. */
bool command_parse(const struct command *c, void *request, int argc, char **argv, int *next,
		   int *status);

/* Whether a word of the command line asks for the command's help; of a run's the application's
 * words do not count. */
bool command_wants_help(const struct command *c, int argc, char **argv);

/* "usage: report DIR... [--json] [--top N]", good until the next call. */
const char *command_usage(const struct command *c);

void command_print_usage(const struct command *c);
void command_print_options(const struct command *c);
void command_print_help(const struct command *c);
void command_print_version(void);

/* Prints a line for each option: command, option, argument, help, separated by tabs. For tests and
 * completions. */
void command_list_options(const struct command *c);

/* " (did you mean report?)" if `text` is a mistyped command, else "". Returns `to`. */
char *command_did_you_mean(char *to, size_t bytes, const char *text);

/* Print one line on stderr; return EXIT_USAGE or EXIT_DATA. */
__attribute__((format(printf, 1, 2))) int usage_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) int data_error(const char *format, ...);

#endif
