/*
 * PTX: the text from which the driver compiles machine code. Only what is declared at module scope
 * is read. See engine_image_formats.h.
 */
#include "test/sim/engine_image_formats.h"

#include <ctype.h>

/* A directive (.visible), a name, a number, a string, or one other character. */
struct token {
	const char *text;
	size_t length; /* 0: the end of the PTX */
};

/* Skips white space and comments. */
static const char *blank_skip(const char *at)
{
	for (;;) {
		while (isspace((unsigned char)*at))
			at++;
		if (at[0] == '/' && at[1] == '/')
			at += strcspn(at, "\n");
		else if (at[0] == '/' && at[1] == '*')
			at = strstr(at, "*/") ? strstr(at, "*/") + 2 : at + strlen(at);
		else
			return at;
	}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_$%.", c));
}

/* Reads the next token, and moves `at` past it. */
static struct token token_read(const char **at)
{
	struct token t = { blank_skip(*at), 1 };
	if (!*t.text)
		t.length = 0;
	else if (*t.text == '"')
		t.length = 1 + strcspn(t.text + 1, "\"") + 1;
	else
		while (is_word(*t.text) && is_word(t.text[t.length]))
			t.length++;
	if (t.length > 1)
		t.length = strnlen(t.text, t.length);
	*at = t.text + t.length;
	return t;
}

static bool token_is(struct token t, const char *text)
{
	return t.length == strlen(text) && !strncmp(t.text, text, t.length);
}

static void symbol_add(struct token name, size_t bytes, bool is_kernel, struct image *out)
{
	char *copy = strndup(name.text, name.length);
	image_add(out, copy, bytes, is_kernel);
	free(copy);
}

/* Moves `at`, which is after an opening brace, past the closing one. */
static void braces_skip(const char **at)
{
	struct token t;
	for (int depth = 1; depth && (t = token_read(at)).length;)
		depth += *t.text == '{' ? 1 : *t.text == '}' ? -1 : 0;
}

/* Returns the size of a type such as .f64 or .b8, and the length of a vector (.v2) as a negative
 * number; 0: another token. */
static long type_bytes(struct token t)
{
	char *end;
	if (token_is(t, ".texref") || token_is(t, ".samplerref") || token_is(t, ".surfref"))
		return 8;
	if (t.length < 3 || t.text[0] != '.' || !strchr("bsufv", t.text[1]))
		return 0;
	long number = strtol(t.text + 2, &end, 10);
	if (end != t.text + t.length)
		return 0;
	return t.text[1] == 'v' ? -number : number / 8;
}

/*
 * Reads the variables of one declaration, from after the state space (.global, .const) to the
 * semicolon. A variable that another module defines has no size here.
 */
static void variables_read(const char **at, bool is_extern, struct image *out)
{
	struct token t, name = { NULL, 0 };
	size_t bytes = 0, elements = 1, lanes = 1;
	while ((t = token_read(at)).length) {
		long type = type_bytes(t);
		if (type > 0)
			bytes = (size_t)type;
		else if (type < 0)
			lanes = (size_t)-type;
		else if (token_is(t, ".align"))
			token_read(at);
		else if (*t.text == '(') /* .attribute(.managed) */
			*at += strcspn(*at, ")");
		else if (*t.text == '[')
			elements *= strtoul(blank_skip(*at), NULL, 0) ?: 1;
		else if (*t.text == '{')
			braces_skip(at);
		else if (!name.length &&
			 (isalpha((unsigned char)*t.text) || *t.text == '_' || *t.text == '$'))
			name = t;
		if (*t.text != ',' && *t.text != ';')
			continue;
		if (name.length && bytes && !is_extern)
			symbol_add(name, bytes * lanes * elements, false, out);
		name.length = 0;
		elements = 1;
		if (*t.text == ';')
			return;
	}
}

bool image_is_ptx(const char *text)
{
	return !strncmp(blank_skip(text), ".version", 8);
}

bool image_read_ptx(const char *text, struct image *out)
{
	const char *at = text;
	bool is_extern = false;
	struct token t;
	while ((t = token_read(&at)).length) {
		if (token_is(t, ".target")) {
			t = token_read(&at);
			if (!strncmp(t.text, "sm_", 3))
				out->ptx_version = atoi(t.text + 3);
		} else if (token_is(t, ".entry")) {
			symbol_add(token_read(&at), 0, true, out);
		} else if (token_is(t, ".extern")) {
			is_extern = true;
		} else if (token_is(t, ".global") || token_is(t, ".const")) {
			variables_read(&at, is_extern, out);
			is_extern = false;
		} else if (*t.text == '{') {
			braces_skip(&at);
			is_extern = false;
		} else if (*t.text == ';') {
			is_extern = false;
		}
	}
	return out->ptx_version > 0;
}
