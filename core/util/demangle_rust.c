/*
 * Rust's names. The old form is C++'s with a hash as last part and escapes in the parts; it is told by the hash. The new one (v0, by
 * rustc's RFC 2603) is in demangle_rust_v0.c: libstdc++ knows neither.
 */
#include "core/util/demangle_rust.h"
#include "core/util/demangle.h"
#include "core/util/vec.h"

#include <ctype.h>
#include <stdbool.h>

static const char hash_mark[] = "17h";
enum { HASH_BYTES = 3 + 16 };

/* "_ZN" parts "17h" 16 hexadecimal digits "E". */
static bool is_old_form(const char *name)
{
	size_t n = strlen(name);
	if (strncmp(name, "_ZN", 3) != 0 || n < 3 + HASH_BYTES + 1 || name[n - 1] != 'E')
		return false;
	const char *hash = name + n - 1 - HASH_BYTES;
	return !strncmp(hash, hash_mark, sizeof(hash_mark) - 1) &&
	       strspn(hash + 3, "0123456789abcdef") == 16;
}

static const struct {
	const char *escape, *text;
} escapes[] = {
	{ "$SP$", "@" },  { "$BP$", "*" },  { "$RF$", "&" },   { "$LT$", "<" },	 { "$GT$", ">" },
	{ "$LP$", "(" },  { "$RP$", ")" },  { "$C$", "," },    { "$u7e$", "~" }, { "$u20$", " " },
	{ "$u27$", "'" }, { "$u5b$", "[" }, { "$u5d$", "]" },  { "$u7b$", "{" }, { "$u7d$", "}" },
	{ "$u3b$", ";" }, { "$u2b$", "+" }, { "$u22$", "\"" }, { "..", "::" },
};

/* One part, unescaped; what it became never is longer. */
static char *put_part(char *out, const char *part, size_t n)
{
	const char *end = part + n;
	if (n > 2 && part[0] == '_' && part[1] == '$') /* a part may not begin with '$' */
		part++;
	while (part < end) {
		size_t i = 0, count = sizeof(escapes) / sizeof(*escapes);
		while (i < count &&
		       strncmp(part, escapes[i].escape, strlen(escapes[i].escape)) != 0)
			i++;
		if (i == count) {
			*out++ = *part++;
			continue;
		}
		out = stpcpy(out, escapes[i].text);
		part += strlen(escapes[i].escape);
	}
	return out;
}

static char *demangle_old(const char *name)
{
	const char *end = name + strlen(name) - 1 - HASH_BYTES;
	char *text = mem_resize(NULL, 2 * strlen(name)), *out = text;
	for (const char *p = name + 3; p < end;) {
		size_t n = 0;
		while (isdigit((unsigned char)*p) && n < 100000)
			n = n * 10 + (size_t)(*p++ - '0');
		if (!n || n > (size_t)(end - p)) {
			free(text);
			return NULL;
		}
		if (out > text)
			out = stpcpy(out, "::");
		out = put_part(out, p, n);
		p += n;
	}
	*out = 0;
	return text;
}

char *demangle_rust(const char *name)
{
	if (is_old_form(name))
		return demangle_old(name);
	if (!strncmp(name, "_R", 2))
		return demangle_rust_v0(name + 2);
	return NULL;
}
