/*
 * The subcommands. Each has a file cmd_*.c with its table of options, and a name in COMMANDS below.
 * The table is used to parse the command line, to print help, and to suggest the right option for a
 * mistyped one.
 */
#ifndef EXPORT_COMMAND_H
#define EXPORT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum { EXIT_DONE = 0, EXIT_DATA = 1, EXIT_USAGE = 2 };

/* In the order in which the help lists them. */
#define COMMANDS(X) \
	X(run)      \
	X(report)   \
	X(whatif)   \
	X(diff)     \
	X(merge)    \
	X(export)   \
	X(info)     \
	X(open)     \
	X(trigger)  \
	X(top)      \
	X(env)      \
	X(collect)

/*
 * One option. command_parse() stores its value in the command's request at `offset`: a flag as
 * bool, a number from 1 to `most` as unsigned, any other text as const char *. If `take` is set,
 * `take` handles the value instead.
 */
struct command_option {
	const char *name;     /* "--top" */
	const char *argument; /* name of the value in the help, "N"; NULL: a flag without a value */
	const char *help;     /* one or more lines; NULL: an internal option, which is not shown */
	const char *setting;  /* the PROF_ variable that the option sets, shown after the help */
	const char *values;   /* words that the value can be, separated by '|'; NULL: any text */
	bool repeats;	      /* may be given more than once */
	unsigned most;	      /* largest value of a number; 0: not a number */
	size_t offset;
	/* Handles the value, which is NULL for a flag. Returns 0 to continue, COMMAND_DONE to end
	 * with EXIT_DONE, or, after a line on stderr, the exit status to end with. */
	int (*take)(void *request, const struct command_option *o, const char *value);
};

#define COMMAND_DONE -1

struct command {
	const char *name, *operands, *summary;
	const struct command_option *options; /* ends with a row without a name; NULL: no options */
	const char *wanted; /* error message if there is no operand; NULL: no operand is needed */
	bool takes_latest;  /* without an operand, the operand is the latest run (latest_run.h) */
	/* Takes one operand. Returns what `take` of an option returns. NULL: options end at the
	 * first operand, where the application's command begins. */
	int (*operand)(void *request, const char *word);
	int (*run)(int argc, char **argv); /* ignores argv[0]; returns the exit status */
};

#define X(name) extern const struct command command_##name;
COMMANDS(X)
#undef X

/*
 * Parses the command line into `request`. Returns true if the command can run. Returns false if the
 * program should exit with *status; then everything has been printed. Stores in *next the index of
 * the first word after the options; `next` may be NULL.
 */
bool command_parse(const struct command *c, void *request, int argc, char **argv, int *next,
		   int *status);

/* Returns whether a word of the command line asks for the command's help. Always false for `run`,
 * because the words may belong to the application. */
bool command_wants_help(const struct command *c, int argc, char **argv);

/* Returns "usage: report DIR... [--json] [--top N]", valid until the next call. */
const char *command_usage(const struct command *c);

void command_print_usage(const struct command *c);
void command_print_options(const struct command *c);
void command_print_help(const struct command *c);
void command_print_version(void);

/* Prints a line for each option: command, option, argument, help, separated by tabs
 * (export/listing.h). */
void command_list_options(const struct command *c);

/* Writes " (did you mean report?)" if `text` is a mistyped command, else "". Returns `to`. */
char *command_did_you_mean(char *to, size_t bytes, const char *text);

/* Print one line on stderr. usage_error() returns EXIT_USAGE, data_error() returns EXIT_DATA. */
__attribute__((format(printf, 1, 2))) int usage_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) int data_error(const char *format, ...);

#endif
