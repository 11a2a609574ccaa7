/* See listing.h. */
#include "export/listing.h"

#include "core/runtime/config.h"
#include "export/command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
#define X(name) &command_##name,
	COMMANDS(X)
#undef X
};

enum { N_COMMANDS = sizeof(commands) / sizeof(*commands), WORDS_BYTES = 512 };

/* ---- The words that a value can be ---- */

/* Returns how much of a word of a range a user types as it stands: "loop:" of "loop:FILE:LINE",
 * nothing of "FILE". */
static size_t fixed_part(const char *word, size_t n)
{
	bool is_number = true;
	for (size_t i = 0; i < n; i++)
		is_number &= isdigit((unsigned char)word[i]) != 0;
	if (is_number)
		return n;
	for (size_t i = 0; i < n; i++) {
		if (islower((unsigned char)word[i]) || isdigit((unsigned char)word[i]) ||
		    word[i] == '_' || word[i] == '-')
			continue;
		return i && (word[i] == ':' || word[i] == '=') ? i + 1 : 0;
	}
	return n;
}

/* Appends the words of `range`, such as "auto|off|path", to `to`, separated by blanks. */
static void add_words(char *to, size_t bytes, const char *range)
{
	for (const char *at = range; *at;) {
		size_t n = strcspn(at, "|"), fixed, used = strlen(to);
		const char *last = at;
		for (size_t i = 0; i < n; i++) /* the last of the words after "; or " */
			last = at[i] == ' ' ? at + i + 1 : last;
		/* in a range of words, "path" stands for any path */
		fixed = at == last && n == 4 && !memcmp(at, "path", n) ? 0 : fixed_part(at, n);
		if (fixed && used + fixed + 2 < bytes)
			snprintf(to + used, bytes - used, "%s%.*s", used ? " " : "", (int)fixed,
				 at);
		used = strlen(to);
		fixed = last > at ? fixed_part(last, n - (size_t)(last - at)) : 0;
		if (fixed && used + fixed + 2 < bytes)
			snprintf(to + used, bytes - used, " %.*s", (int)fixed, last);
		at += n + (at[n] == '|');
	}
}

static const struct config_row *find_setting(const char *name)
{
	size_t n = strcspn(name, "=");
	for (size_t i = 0; i < config_n_rows; i++)
		if (strlen(config_rows[i].name) == n && !memcmp(config_rows[i].name, name, n))
			return &config_rows[i];
	return NULL;
}

static void words_of_setting(const struct config_row *row, char to[WORDS_BYTES])
{
	*to = 0;
	if (row->type == CONFIG_WORD || row->type == CONFIG_CHECKED)
		add_words(to, WORDS_BYTES, row->range);
}

static void words_of_option(const struct command_option *o, char to[WORDS_BYTES])
{
	const struct config_row *row = o->setting ? find_setting(o->setting) : NULL;
	*to = 0;
	if (o->values)
		add_words(to, WORDS_BYTES, o->values);
	else if (o->argument && row)
		words_of_setting(row, to);
}

/* ---- The tables ---- */

static void list_commands(void)
{
	for (size_t i = 0; i < N_COMMANDS; i++) {
		const struct command *c = commands[i];
		printf("%s\t%s\t%s\t%s\n", c->name, command_usage(c) + strlen("usage: "),
		       c->summary, c->takes_latest ? "latest" : "");
	}
}

static void list_options(void)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		command_list_options(commands[i]);
}

static void list_values(void)
{
	char words[WORDS_BYTES];
	for (size_t i = 0; i < N_COMMANDS; i++) {
		const struct command_option *o = commands[i]->options;
		for (; o && o->name; o++) {
			words_of_option(o, words);
			if (o->help && *words)
				printf("%s\t%s\t%s\n", commands[i]->name, o->name, words);
		}
	}
}

static void list_settings(void)
{
	char words[WORDS_BYTES];
	for (size_t i = 0; i < config_n_rows; i++) {
		const struct config_row *r = &config_rows[i];
		words_of_setting(r, words);
		printf("%s\t%s\t%s\t%s\t%s\t%s\n", r->name, r->fallback, r->range, r->unit,
		       r->meaning, words);
	}
}

bool listing_print(const char *word)
{
	static const struct {
		const char *word;
		void (*print)(void);
	} lists[] = {
		{ "--list-commands", list_commands },
		{ "--list-options", list_options },
		{ "--list-values", list_values },
		{ "--list-settings", list_settings },
	};
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(lists[i].word, word))
			continue;
		lists[i].print();
		return true;
	}
	return false;
}
