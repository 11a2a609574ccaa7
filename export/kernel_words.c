/*
 * Shortens a demangled name. The name is read as components with "::" between them. A component is
 * an identifier, with or without template or function arguments; "(anonymous namespace)"; or
 * "{lambda(float)#1}". An identifier without arguments before another component is a namespace or
 * class, which is left out.
 */
#include "export/kernel_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 32 };

struct shortener {
	const char *at;
	char *to;
	size_t used, bytes;
	int depth;
};

static void put(struct shortener *s, const char *text, size_t n)
{
	size_t room = s->bytes - 1 - s->used;
	n = n < room ? n : room;
	memcpy(s->to + s->used, text, n);
	s->used += n;
	s->to[s->used] = 0;
}

static bool begins(const struct shortener *s, const char *text)
{
	return !strncmp(s->at, text, strlen(text));
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '~' || c == '$' || c == '.' || c < 0;
}

/* Returns the position after the bracket that closes `open`. */
static const char *after_bracket(const char *open)
{
	int depth = 0;
	for (const char *at = open; *at; at++) {
		depth += *at == '(' || *at == '{';
		depth -= *at == ')' || *at == '}';
		if (!depth)
			return at + 1;
	}
	return open + strlen(open);
}

static void skip_arguments(struct shortener *s)
{
	while (*s->at == '(')
		s->at = after_bracket(s->at);
	if (begins(s, " const"))
		s->at += strlen(" const");
}

static void shorten_list(struct shortener *s);

/* Writes "{lambda(float)#1}" as "lambda#1". */
static void shorten_lambda(struct shortener *s)
{
	const char *end = after_bracket(s->at), *number = end - 1;
	while (number > s->at && *number != '#')
		number--;
	put(s, "lambda", strlen("lambda"));
	if (*number == '#')
		put(s, number, (size_t)(end - 1 - number));
	s->at = end;
}

/*
 * Writes an identifier and its arguments, or nothing if it is a namespace or class. Returns whether
 * it wrote something.
 */
static bool shorten_word(struct shortener *s)
{
	const char *word = s->at;
	size_t used = s->used;
	while (is_word(*s->at))
		s->at++;
	size_t n = (size_t)(s->at - word);
	bool is_operator = n == strlen("operator") && !strncmp(word, "operator", n);
	bool is_plain = *s->at != '<' && *s->at != '(';
	put(s, word, n);
	if (*s->at == '<' && s->depth < DEEPEST)
		shorten_list(s);
	skip_arguments(s);
	if (begins(s, "::") && (is_plain || is_operator)) {
		s->used = used;
		s->to[used] = 0;
		return false;
	}
	return true;
}

static void shorten_components(struct shortener *s)
{
	bool is_first = true, is_left = true;
	for (;; is_first = false) {
		if (!is_first && is_left)
			put(s, "::", 2);
		if (*s->at == '(') { /* an anonymous namespace, or the type of a template
				      * argument */
			s->at = after_bracket(s->at);
			is_left = false;
		} else if (*s->at == '{') {
			shorten_lambda(s);
			is_left = true;
		} else {
			is_left = shorten_word(s);
		}
		if (!begins(s, "::"))
			return;
		s->at += 2;
	}
}

/* Shortens the names between '<' and '>'. If the list does not begin with '<', shortens all names
 * up to the end. */
static void shorten_list(struct shortener *s)
{
	bool is_inner = *s->at == '<';
	s->depth++;
	if (is_inner)
		put(s, s->at++, 1);
	while (*s->at && !(is_inner && *s->at == '>')) {
		if (is_word(*s->at) || *s->at == '(' || *s->at == '{')
			shorten_components(s);
		else
			put(s, s->at++, 1);
	}
	if (*s->at)
		put(s, s->at++, 1);
	s->depth--;
}

char *kernel_short(char *to, size_t bytes, const char *name)
{
	struct shortener s = { .at = name, .to = to, .bytes = bytes };
	to[0] = 0;
	if (begins(&s, "void "))
		s.at += strlen("void ");
	shorten_list(&s);
	if (!s.used)
		snprintf(to, bytes, "%s", name);
	for (size_t n = strlen(to); n && to[n - 1] == ' '; n--)
		to[n - 1] = 0; /* of "Memset (Device)" */
	return to;
}
