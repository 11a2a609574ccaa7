/* See line_flow.h. */
#include "core/symbols/line_flow.h"

#include <ctype.h>
#include <string.h>

enum {
	NAMES_MOST = 16,
	NAME_MOST = 64,
	/* A function that runs on for longer is not followed. */
	LINES_MOST = 64,
	/* lines of one statement */
	STATEMENT_MOST = 8,
};

/* The names whose values depend on the first line. */
struct names {
	char at[NAMES_MOST][NAME_MOST];
	size_t n;
};

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns the length of the name at `at`, with its attributes: "self.batch". */
static size_t dotted_length(const char *at)
{
	size_t n = 0;
	while (is_of_name(at[n]) || (n && at[n] == '.' && is_of_name(at[n + 1])))
		n++;
	return n;
}

static void add(struct names *names, const char *at, size_t n)
{
	if (!n || n >= NAME_MOST || names->n == NAMES_MOST)
		return;
	memcpy(names->at[names->n], at, n);
	names->at[names->n++][n] = '\0';
}

/* Adds the names of a list of targets such as "x, (y, self.z), buffer[i]", up to `end`. */
static void add_list(struct names *names, const char *at, const char *end)
{
	int in_index = 0;
	while (at < end) {
		size_t n = dotted_length(at);
		if (n && !in_index)
			add(names, at, n);
		in_index += (*at == '[') - (*at == ']');
		at += n ? n : 1;
		/* "name: type" */
		if (!in_index && *at == ':')
			return;
	}
}

/* Returns the first '=' that assigns, outside of brackets and strings; NULL: none. */
static const char *assignment(const char *text)
{
	int depth = 0;
	char quote = '\0';
	for (const char *at = text; *at; at++) {
		if (quote) {
			quote = *at == quote ? '\0' : quote;
			continue;
		}
		if (*at == '#')
			return NULL;
		if (*at == '\'' || *at == '"')
			quote = *at;
		depth += (*at == '(' || *at == '[' || *at == '{') -
			 (*at == ')' || *at == ']' || *at == '}');
		if (*at != '=' || depth)
			continue;
		bool compares = at[1] == '=' || (at > text && strchr("=!<>:", at[-1]) != NULL);
		if (!compares)
			return at;
		at += at[1] == '=';
	}
	return NULL;
}

static bool begins_with(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

/* Adds the list that a call grows: "rows" for "rows.append(x)". */
static void add_grown(struct names *names, const char *text)
{
	static const char *const methods[] = { ".append(", ".extend(", ".insert(" };
	size_t n = dotted_length(text);
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		size_t n_method = strlen(methods[i]) - 1;
		if (n > n_method && begins_with(text + n - n_method, methods[i]))
			add(names, text, n - n_method);
	}
}

static void add_targets(struct names *names, const char *text)
{
	const char *equals = assignment(text);
	const char *in = begins_with(text, "for ") ? strstr(text, " in ") : NULL;
	const char *as = begins_with(text, "with ") ? strstr(text, " as ") : NULL;
	if (in)
		add_list(names, text + strlen("for "), in);
	else if (as)
		add(names, as + strlen(" as "), dotted_length(as + strlen(" as ")));
	else if (equals)
		add_list(names, text, equals);
	else
		add_grown(names, text);
}

static bool mentions(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
		if ((at == text || (!is_of_name(at[-1]) && at[-1] != '.')) && !is_of_name(at[n]))
			return true;
	return false;
}

static bool mentions_any(const char *text, const struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		if (mentions(text, names->at[i]))
			return true;
	return false;
}

static bool goes_on(const char *text)
{
	size_t n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	return n && strchr("([{,\\", text[n - 1]) != NULL;
}

/* Returns the first line of the statement. */
static uint32_t statement_begin(struct frames *f, const char *file, uint32_t line)
{
	for (int i = 0; i < STATEMENT_MOST && line > 1; i++, line--)
		if (!goes_on(frames_source(f, file, line - 1)))
			break;
	return line;
}

static uint32_t statement_end(struct frames *f, const char *file, uint32_t line)
{
	for (int i = 0; i < STATEMENT_MOST && goes_on(frames_source(f, file, line)); i++)
		line++;
	return line;
}

bool line_flow_reaches(struct frames *f, const char *file, uint32_t from, uint32_t to)
{
	struct names names = { 0 };
	if (!from || from >= to || to - from > LINES_MOST)
		return false;
	uint32_t goal = statement_begin(f, file, to), last = statement_end(f, file, to);
	add_targets(&names, frames_source(f, file, statement_begin(f, file, from)));
	for (uint32_t line = from + 1; names.n && line <= last; line++) {
		if (!mentions_any(frames_source(f, file, line), &names))
			continue;
		if (line >= goal)
			return true;
		add_targets(&names, frames_source(f, file, statement_begin(f, file, line)));
	}
	return false;
}
