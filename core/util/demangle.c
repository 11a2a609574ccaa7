/* libstdc++'s demangler: the same names that every other tool shows. It knows no option to leave parameters out. */
#include "core/util/demangle.h"

#include "core/util/vec.h"

#include <ctype.h>
#include <stdbool.h>

extern char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);

char *demangle(const char *name)
{
	char *readable = demangle_rust(name);
	if (readable)
		return readable;
	int status = -1;
	if (!strncmp(name, "_Z", 2))
		readable = __cxa_demangle(name, NULL, NULL, &status);
	return readable && !status ? readable : mem_text(name);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The length of an operator's name at `at`, which may hold brackets and blanks; 0: none stands here. */
static size_t operator_bytes(const char *text, const char *at)
{
	static const char keyword[] = "operator";
	const size_t n = sizeof(keyword) - 1;
	if (strncmp(at, keyword, n) || is_word(at[n]) || (at > text && is_word(at[-1])))
		return 0;
	const char *p = at + n;
	if (!strncmp(p, "()", 2) || !strncmp(p, "[]", 2))
		return n + 2;
	if (ispunct((unsigned char)*p) && *p != '(')
		return n + strspn(p, "+-*/%^&|~!=<>,");
	/* operator new, and conversions: a type stands up to the parameters */
	return n + strcspn(p, "(");
}

/* Past the bracket that closes the one at `p`; NULL where there is none. */
static const char *skip_brackets(const char *text, const char *p)
{
	int depth = 0;
	for (; *p; p++) {
		size_t n = operator_bytes(text, p);
		if (n) {
			p += n - 1;
			continue;
		}
		if (strchr("<([{", *p))
			depth++;
		else if (strchr(">)]}", *p) && !(*p == '>' && p[-1] == '-') && !--depth)
			return p + 1;
	}
	return NULL;
}

/* Past what may stand behind a parameter list. */
static const char *skip_qualifiers(const char *p)
{
	static const char *const qualifiers[] = { " const", " volatile", " &&", " &", " noexcept" };
	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
		if (!strncmp(p, qualifiers[i], strlen(qualifiers[i])))
			p += strlen(qualifiers[i]);
	return p;
}

/* Whether a bracket opens parameters: they follow a name, a template's arguments or an operator. */
static bool opens_parameters(const char *text, const char *p)
{
	return *p == '(' && p > text && (is_word(p[-1]) || strchr(">)]}", p[-1])) &&
	       !(p - text >= 8 && !strncmp(p - 8, "decltype", 8));
}

/* Copies a readable name without return type and parameters; false where its form is an unknown one. */
static bool copy_brief(const char *text, char *to)
{
	char *out = to;
	bool is_operator = false;
	for (const char *p = text; *p && strncmp(p, " [clone", 7) != 0;) {
		size_t n = operator_bytes(text, p);
		const char *end = p + 1;
		if (n) {
			is_operator = true;
			end = p + n;
		} else if (strchr("<([{", *p)) {
			end = skip_brackets(text, p);
			if (!end)
				return false;
		}
		if (!strncmp(p, "(*", 2)) /* a function that returns a pointer to one */
			return false;
		if (!n && (opens_parameters(text, p) || (is_operator && *p == '('))) {
			p = skip_qualifiers(end);
			continue;
		}
		if (*p == ' ' && !is_operator) { /* what stood before it was a type */
			out = to;
			p++;
			continue;
		}
		if (*p == '*' || *p == '&') {
			p++;
			continue;
		}
		memcpy(out, p, (size_t)(end - p));
		out += end - p;
		p = end;
	}
	*out = 0;
	return out > to;
}

/* Parts that the compiler split off or made for constants: ".cold", ".part.0", ".constprop.1", ".llvm.123", "@@VERSION". */
static void drop_clone_marks(char *name)
{
	static const char *const marks[] = { ".cold",  ".part.",      ".constprop.", ".isra.",
					     ".llvm.", ".localalias", ".lto_priv.",  "@" };
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		char *at = strstr(name, marks[i]);
		if (at && at > name)
			*at = 0;
	}
}

void demangle_shorten(char *name, size_t most)
{
	if (strlen(name) <= most)
		return;
	char *out = name;
	for (const char *p = name; *p;) {
		size_t n = operator_bytes(name, p);
		const char *end = *p == '<' ? skip_brackets(name, p) : NULL;
		if (end && end - p > 5) {
			memcpy(out, "<...>", 5);
			out += 5;
			p = end;
			continue;
		}
		n = n ? n : 1;
		memmove(out, p, n);
		out += n;
		p += n;
	}
	*out = 0;
}

char *demangle_function(const char *name)
{
	char *plain = mem_text(name);
	drop_clone_marks(plain);
	char *rust = demangle_rust(plain);
	if (rust || strncmp(plain, "_Z", 2) != 0) {
		if (rust)
			free(plain);
		return rust ? rust : plain;
	}
	char *full = demangle(plain);
	free(plain);
	char *brief = mem_resize(NULL, strlen(full) + 1);
	if (!copy_brief(full, brief)) {
		free(brief);
		return full;
	}
	free(full);
	return brief;
}
