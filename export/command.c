/* Code that all subcommands share: parsing the command line by a table of options, printing help
 * from the same table, and error messages. */
#include "export/command.h"

#include "core/runtime/spelling.h"
#include "export/latest_run.h"
#include "export/print.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE_COLUMNS = 100 };

/* Every command has this option. */
static const struct command_option help_option = { .name = "--help", .help = "show this help" };
#define HELP_NAMES "-h, --help"

static int complain(int status, const char *format, va_list args)
{
	char text[1024];
	vsnprintf(text, sizeof(text), format, args);
	print_err("profrun: %s\n", text);
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

char *command_did_you_mean(char *to, size_t bytes, const char *text)
{
#define X(name) #name "|"
	return spelling_did_you_mean(to, bytes, text, COMMANDS(X));
#undef X
}

/* ---- Options ---- */

/* `run` is the default command of profrun.sh. Its users usually do not type "run", so messages omit
 * it. */
static bool is_run(const struct command *c)
{
	return !c->operand;
}

static const char *said_by(const struct command *c)
{
	static char text[40];
	snprintf(text, sizeof(text), "%s%s", is_run(c) ? "" : c->name, is_run(c) ? "" : ": ");
	return text;
}

/* Returns an option as the help shows it: "--json", "--top N". Valid until the next call. */
static const char *form_of(const struct command_option *o)
{
	static char text[80];
	snprintf(text, sizeof(text), "%s%s%s", o->name, o->argument ? " " : "",
		 o->argument ? o->argument : "");
	return text;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "-h") || !strcmp(word, help_option.name);
}

bool command_wants_help(const struct command *c, int argc, char **argv)
{
	for (int i = 1; i < argc && !is_run(c); i++)
		if (is_help(argv[i]))
			return true;
	return false;
}

/* Returns the option that `word` names, or NULL. Stores in `value` the VALUE of "--name=VALUE", or
 * NULL. Only long options have this form. */
static const struct command_option *find_option(const struct command *c, const char *word,
						const char **value)
{
	*value = NULL;
	for (const struct command_option *o = c->options; o && o->name; o++) {
		size_t n = strlen(o->name);
		if (!strcmp(word, o->name))
			return o;
		if (o->argument && o->name[1] == '-' && !strncmp(word, o->name, n) &&
		    word[n] == '=') {
			*value = word + n + 1;
			return o;
		}
	}
	return NULL;
}

static int refuse_option(const struct command *c, const char *word)
{
	char meant[SPELLING_MEANT_BYTES], name[40], known[400] = "--help";
	for (const struct command_option *o = c->options; o && o->name; o++) {
		size_t used = strlen(known);
		if (o->help)
			snprintf(known + used, sizeof(known) - used, "|%s", o->name);
	}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	spelling_did_you_mean(meant, sizeof(meant), name, known);
	if (is_run(c))
		return usage_error("no option '%s'%s; profrun --help lists them", word, meant);
	return usage_error("%s: no option '%s'%s; %s", c->name, word, meant, command_usage(c));
}

static int take_number(const struct command *c, const struct command_option *o, const char *value,
		       unsigned *to)
{
	char *end;
	unsigned long number = strtoul(value, &end, 10);
	if (!*value || *end || *value == '-' || !number || number > o->most)
		return usage_error("%s%s takes a number from 1 to %u, not '%s'", said_by(c),
				   o->name, o->most, value);
	*to = (unsigned)number;
	return 0;
}

static int take_option(const struct command *c, const struct command_option *o, const char *value,
		       void *request)
{
	void *to = (char *)request + o->offset;
	if (o->take)
		return o->take(request, o, value);
	if (o->most && value)
		return take_number(c, o, value, to);
	if (o->argument)
		*(const char **)to = value;
	else
		*(bool *)to = true;
	return 0;
}

/* Reads the option argv[*i], and moves *i to its last word. Returns what take_option() returns. */
static int read_option(const struct command *c, void *request, int argc, char **argv, int *i)
{
	const char *value;
	const struct command_option *o = find_option(c, argv[*i], &value);
	if (!o)
		return refuse_option(c, argv[*i]);
	if (o->argument && !value) {
		if (*i + 1 == argc)
			return usage_error("%s%s needs a %s: %s", said_by(c), o->name,
					   o->most ? "number" : "value", form_of(o));
		value = argv[++*i];
	}
	return take_option(c, o, value, request);
}

/* Passes the latest run to a command without an operand. Returns what command_parse() stores in
 * `status`. */
static int take_latest(const struct command *c, void *request)
{
	static char folder[NAME_MAX + 1]; /* the command keeps the pointer */
	if (!c->takes_latest)
		return usage_error("%s%s %s", said_by(c), c->wanted, command_usage(c));
	if (!latest_run(folder, sizeof(folder)))
		return usage_error("%s%s There is no run in the current folder; %s", said_by(c),
				   c->wanted, command_usage(c));
	print_err("profrun: latest run in this folder: %s\n", folder);
	return c->operand(request, folder);
}

bool command_parse(const struct command *c, void *request, int argc, char **argv, int *next,
		   int *status)
{
	int i = 1, n_operands = 0;
	*status = EXIT_DONE;
	for (; i < argc && !*status; i++) {
		bool is_option = argv[i][0] == '-' && argv[i][1];
		if (is_run(c) && (!is_option || !strcmp(argv[i], "--"))) {
			i += is_option;
			break;
		}
		if (is_option && is_help(argv[i])) {
			command_print_help(c);
			return false;
		}
		n_operands += !is_option;
		*status = is_option ? read_option(c, request, argc, argv, &i)
				    : c->operand(request, argv[i]);
	}
	if (!*status && c->wanted && (is_run(c) ? i >= argc : !n_operands))
		*status = take_latest(c, request);
	if (next)
		*next = i;
	if (!*status)
		return true;
	*status = *status == COMMAND_DONE ? EXIT_DONE : *status;
	return false;
}

/* ---- Help ---- */

const char *command_usage(const struct command *c)
{
	static char text[240];
	size_t used = (size_t)snprintf(text, sizeof(text), "usage: %s%s%s",
				       is_run(c) ? "profrun" : c->name, *c->operands ? " " : "",
				       c->operands);
	for (const struct command_option *o = c->options; o && o->name && !is_run(c); o++) {
		if (o->help && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, " [%s]%s",
						 form_of(o), o->repeats ? "..." : "");
	}
	return text;
}

void command_print_usage(const struct command *c)
{
	const char *at = command_usage(c) + strlen("usage: ");
	int column = printf("%s", is_run(c) ? "" : "profrun ");
	while (*at) { /* up to the next option */
		const char *next = strstr(at + 1, " [");
		int n = next ? (int)(next - at) : (int)strlen(at);
		if (column + n > USAGE_COLUMNS)
			column = printf("\n       ") - 1;
		column += printf("%.*s", n, at);
		at += n;
	}
	printf("\n    %s\n", c->summary);
}

/* Prints an option and its help. Further lines of the help go below the first one. */
static void print_option(const char *form, const struct command_option *o, int width)
{
	printf("  %-*s  ", width, form);
	for (const char *at = o->help;;) {
		size_t n = strcspn(at, "\n");
		printf("%.*s", (int)n, at);
		if (!at[n])
			break;
		printf("\n%*s", width + 4, "");
		at += n + 1;
	}
	if (o->setting)
		printf(" (%s)", o->setting);
	putchar('\n');
}

void command_print_options(const struct command *c)
{
	int width = (int)strlen(HELP_NAMES);
	for (const struct command_option *o = c->options; o && o->name; o++) {
		int n = (int)strlen(form_of(o));
		width = o->help && n > width ? n : width;
	}
	for (const struct command_option *o = c->options; o && o->name; o++)
		if (o->help)
			print_option(form_of(o), o, width);
	print_option(HELP_NAMES, &help_option, width);
}

void command_print_help(const struct command *c)
{
	command_print_usage(c);
	command_print_options(c);
}

void command_list_options(const struct command *c)
{
	for (const struct command_option *o = c->options; o && o->name; o++) {
		if (!o->help)
			continue;
		printf("%s\t%s\t%s\t", c->name, o->name, o->argument ? o->argument : "");
		for (const char *at = o->help; *at; at++)
			putchar(*at == '\n' ? ' ' : *at);
		putchar('\n');
	}
	printf("%s\t%s\t\t%s\n", c->name, help_option.name, help_option.help);
}
