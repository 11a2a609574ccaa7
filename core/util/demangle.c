/*
 * Demangles names with libstdc++, and shortens the result.
 *
 * Names come from journals and ELF files, which may be damaged or crafted. A short name can stand
 * for gigabytes of text: 205 bytes of nested references give 34 MB. __cxa_demangle() has no limit
 * for its output. Therefore this file calls __gcclibcxx_demangle_callback(), on which
 * __cxa_demangle() is based. This function passes its output to a callback in pieces. Because it
 * allocates nothing, the callback can abort it with longjmp() without a leak. The function is in
 * libstdc++.a, but libstdc++.so does not export it.
 */
#include "core/util/demangle.h"

#include "core/util/vec.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdbool.h>

extern int __gcclibcxx_demangle_callback(const char *name,
					 void (*put)(const char *, size_t, void *), void *to);

/* Limits the depth of the recursion for a mangled name. From GCC 9 on, libstdc++ itself refuses
 * names that need too much recursion. */
static const size_t name_most_bytes = 1024;

/* Limit for the demangled text. Of 200,000 C++ and Rust names on a Debian system, the longest text
 * has 24,367 bytes. */
enum { TEXT_MOST_BYTES = 64 << 10 };

/* Limit for the number of conversion operators. The time to parse a name doubles with each
 * conversion operator that is nested in another one: 16 of them take 0.1 s. The limit for the text
 * does not help, because parsing prints nothing. */
static const size_t conversions_most = 8;

/* Limit for the number of references in a name with a parameter pack. The time to find the length
 * of the pack doubles with each type that refers twice to the type before it. */
static const size_t pack_references_most = 48;

/* Counts how often `part` occurs in the name. Occurrences may overlap. */
static size_t count(const char *name, const char *part)
{
	size_t n = 0;
	for (const char *p = name; (p = strstr(p, part)); p++)
		n++;
	return n;
}

/* Counts "S_", "S0_", ..., "SZZ_": references to earlier parts of the name. */
static size_t count_references(const char *name)
{
	size_t n = 0;
	for (const char *p = name; (p = strchr(p, 'S')); p++)
		n += p[1 + strspn(p + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '_';
	return n;
}

/* Returns true if the name is within the limits on parsing time. */
static bool is_bounded(const char *name)
{
	return strlen(name) <= name_most_bytes && count(name, "cvT") <= conversions_most &&
	       (!strstr(name, "Dp") || count_references(name) <= pack_references_most);
}

struct text {
	jmp_buf full;
	size_t n;
	char at[TEXT_MOST_BYTES];
};

/* The callback: appends a piece of text. Aborts the demangling if the text gets too long. */
static void put(const char *part, size_t n, void *to)
{
	struct text *t = to;
	if (n >= sizeof(t->at) - t->n)
		longjmp(t->full, 1);
	memcpy(t->at + t->n, part, n);
	t->n += n;
}

/* Returns the readable form of a mangled C++ name, or NULL if `name` is not mangled or exceeds a
 * limit. The caller frees the text. */
static char *demangle_cplusplus(const char *name)
{
	struct text text;
	text.n = 0;
	if (strncmp(name, "_Z", 2) != 0 || !is_bounded(name))
		return NULL;
	if (setjmp(text.full))
		return NULL;
	if (__gcclibcxx_demangle_callback(name, put, &text))
		return NULL;
	text.at[text.n] = 0;
	return mem_text(text.at);
}

/* ---- Rust ---- */

/* Rust's legacy mangling is that of C++, with a hash as the last component of the name: "::h" and
 * 16 hexadecimal digits. Returns the position of the hash in a demangled name; NULL: the name is
 * not from Rust. */
static char *rust_hash(char *text)
{
	size_t n = strlen(text);
	char *hash = n > 19 ? text + n - 19 : NULL;
	return hash && !strncmp(hash, "::h", 3) && strspn(hash + 3, "0123456789abcdef") == 16
		       ? hash
		       : NULL;
}

static const struct {
	const char *escape, *text;
} escapes[] = {
	{ "$SP$", "@" }, { "$BP$", "*" }, { "$RF$", "&" }, { "$LT$", "<" }, { "$GT$", ">" },
	{ "$LP$", "(" }, { "$RP$", ")" }, { "$C$", "," },  { "..", "::" },
};

/* Writes the text that the escape at `from` stands for, and advances *to. Returns the length of the
 * escape, or 0 if there is no escape at `from`. */
static size_t unescape(const char *from, char **to)
{
	for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++) {
		size_t n = strlen(escapes[i].escape);
		if (strncmp(from, escapes[i].escape, n) != 0)
			continue;
		for (const char *c = escapes[i].text; *c; c++)
			*(*to)++ = *c;
		return n;
	}
	unsigned code;
	int n = 0;
	if (sscanf(from, "$u%2x$%n", &code, &n) != 1 || n != 5 || !isprint((int)code))
		return 0;
	*(*to)++ = (char)code;
	return (size_t)n;
}

/* Removes the hash and replaces the escapes. This is done in place, because no escape is shorter
 * than the text that it stands for. */
static void clean_rust(char *text, char *hash)
{
	char *to = text;
	*hash = 0;
	for (const char *from = text; *from;) {
		if (!strncmp(from, "_$", 2) && (to == text || to[-1] == ':'))
			from++; /* '_' was added, because a component may not begin with '$' */
		size_t n = unescape(from, &to);
		if (!n)
			*to++ = *from;
		from += n ? n : 1;
	}
	*to = 0;
}

/* Returns the readable name, or NULL if `name` is not mangled or exceeds a limit. The caller frees
 * the name. */
static char *readable_name(const char *name, bool *is_rust)
{
	char *text = demangle_cplusplus(name);
	char *hash = text ? rust_hash(text) : NULL;
	*is_rust = hash;
	if (hash)
		clean_rust(text, hash);
	return text;
}

char *demangle(const char *name)
{
	bool is_rust;
	char *text = readable_name(name, &is_rust);
	return text ? text : mem_text(name);
}

/* ---- Removing return type and parameters, for which libstdc++ has no option ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns the length of the operator's name that begins at `at`, such as "operator()" or "operator
 * new"; 0 if there is none. `at` is a position in `text`. */
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
	/* "operator new" or a conversion operator: the rest of the name, or the type, extends to
	 * the parameters. */
	return n + strcspn(p, "(");
}

/* Returns the position after the bracket that closes the bracket at `p`; NULL if it is not
 * closed. */
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

/* Skips the qualifiers that may follow a parameter list. Returns the position after them. */
static const char *skip_qualifiers(const char *p)
{
	static const char *const qualifiers[] = { " const", " volatile", " &&", " &", " noexcept" };
	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
		if (!strncmp(p, qualifiers[i], strlen(qualifiers[i])))
			p += strlen(qualifiers[i]);
	return p;
}

/* Returns true if a bracket at `p` opens a parameter list. Such a bracket follows a name, template
 * arguments or an operator, but not "decltype". */
static bool opens_parameters(const char *text, const char *p)
{
	return *p == '(' && p > text && (is_word(p[-1]) || strchr(">)]}", p[-1])) &&
	       !(p - text >= 8 && !strncmp(p - 8, "decltype", 8));
}

/* Copies a readable name to `to`, without return type and parameters. Returns false if the form of
 * the name is not supported. */
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
		if (!strncmp(p, "(*", 2)) /* the function returns a function pointer */
			return false;
		if (!n && (opens_parameters(text, p) || (is_operator && *p == '('))) {
			p = skip_qualifiers(end);
			continue;
		}
		if (*p == ' ' && !is_operator) { /* the text before the blank was the return type */
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

/* Removes suffixes from a mangled name: those of functions that the compiler split or specialized,
 * such as ".cold" and ".llvm.123", and symbol versions, such as "@@VERSION". */
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

/* Limit for the number of unclosed brackets in a name. For each of them the rest of the name is
 * searched, so a hostile name could take quadratic time. Real names may have unclosed brackets,
 * too: the operator < in template arguments. */
static const unsigned unclosed_most = 16;

void demangle_shorten(char *name, size_t most)
{
	if (strlen(name) <= most)
		return;
	unsigned n_unclosed = 0;
	char *out = name;
	for (const char *p = name; *p;) {
		size_t n = operator_bytes(name, p);
		bool is_bracket = *p == '<' && n_unclosed < unclosed_most;
		const char *end = is_bracket ? skip_brackets(name, p) : NULL;
		n_unclosed += is_bracket && !end;
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
	bool is_rust;
	char *plain = mem_text(name);
	drop_clone_marks(plain);
	char *full = readable_name(plain, &is_rust);
	if (!full)
		return plain;
	free(plain);
	char *brief = is_rust ? NULL : mem_resize(NULL, strlen(full) + 1);
	if (brief && copy_brief(full, brief)) {
		free(full);
		return brief;
	}
	free(brief);
	return full;
}
