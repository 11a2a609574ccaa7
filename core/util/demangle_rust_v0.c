/*
 * A recursive descent through the grammar of RFC 2603. Anything unexpected sets `is_bad`, after which nothing is read or written;
 * depth and length are bounded, since references back can repeat a part many times over.
 */
#include "core/util/demangle_rust.h"
#include "core/util/vec.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>

enum { DEPTH_MOST = 64, TEXT_MOST_BYTES = 4096 };

struct parser {
	const char *name;
	size_t at;
	size_t n; /* written */
	unsigned depth;
	bool is_bad, is_silent;
	char *out;
};

static void path(struct parser *p, bool in_value);
static void type(struct parser *p);

static char peek(const struct parser *p)
{
	return p->is_bad ? 0 : p->name[p->at];
}

static char take(struct parser *p)
{
	char c = peek(p);
	if (c)
		p->at++;
	else
		p->is_bad = true;
	return c;
}

static bool take_if(struct parser *p, char c)
{
	if (peek(p) != c)
		return false;
	p->at++;
	return true;
}

static void put_bytes(struct parser *p, const char *text, size_t n)
{
	if (p->is_bad || p->is_silent)
		return;
	if (p->n + n >= TEXT_MOST_BYTES) {
		p->is_bad = true;
		return;
	}
	memcpy(p->out + p->n, text, n);
	p->n += n;
}

static void put(struct parser *p, const char *text)
{
	put_bytes(p, text, strlen(text));
}

static void put_number(struct parser *p, uint64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	put(p, text);
}

static uint64_t decimal(struct parser *p)
{
	uint64_t n = 0;
	if (take_if(p, '0'))
		return 0;
	if (!isdigit((unsigned char)peek(p)))
		p->is_bad = true;
	while (isdigit((unsigned char)peek(p)) && n < 1000000)
		n = n * 10 + (uint64_t)(take(p) - '0');
	return n;
}

/* "_" is 0, "0_" is 1. */
static uint64_t base_62(struct parser *p)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	uint64_t n = 0;
	if (take_if(p, '_'))
		return 0;
	while (!p->is_bad && !take_if(p, '_')) {
		char c = take(p);
		const char *digit = c ? strchr(digits, c) : NULL;
		if (!digit || n >= UINT64_MAX / 62)
			p->is_bad = true;
		else
			n = n * 62 + (uint64_t)(digit - digits);
	}
	return n + 1;
}

static uint64_t optional_base_62(struct parser *p, char tag)
{
	return take_if(p, tag) ? base_62(p) + 1 : 0;
}

struct word {
	const char *at;
	size_t n;
};

static struct word word(struct parser *p)
{
	take_if(p, 'u'); /* punycode: shown as it is */
	size_t n = decimal(p);
	take_if(p, '_');
	if (p->is_bad || strnlen(p->name + p->at, n) < n) {
		p->is_bad = true;
		return (struct word){ "", 0 };
	}
	struct word w = { p->name + p->at, n };
	p->at += n;
	return w;
}

/* What stands at an earlier place, read again. */
static void again(struct parser *p, size_t place, void (*what)(struct parser *, bool), bool flag)
{
	size_t back = p->at;
	if (place >= back) {
		p->is_bad = true;
		return;
	}
	p->at = place;
	what(p, flag);
	p->at = back;
}

static void type_again(struct parser *p, bool unused)
{
	(void)unused;
	type(p);
}

/* ---- Constants as arguments ---- */

static void constant(struct parser *p, bool unused)
{
	(void)unused;
	if (take_if(p, 'p')) {
		put(p, "_");
		return;
	}
	if (take_if(p, 'B')) {
		again(p, base_62(p), constant, false);
		return;
	}
	char kind = take(p);
	if (!strchr("abcehijlmnostxy", kind)) {
		p->is_bad = true; /* strings, structures */
		return;
	}
	if (take_if(p, 'n'))
		put(p, "-");
	uint64_t value = 0;
	while (!p->is_bad && !take_if(p, '_')) {
		char c = take(p);
		if (!isxdigit((unsigned char)c) || value >> 60)
			p->is_bad = true;
		else
			value = value * 16 +
				(uint64_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
	}
	if (kind == 'b')
		put(p, value ? "true" : "false");
	else
		put_number(p, value);
}

/* ---- Types ---- */

static const char *basic_type(char c)
{
	static const char *const names[26] = {
		['a' - 'a'] = "i8",   ['b' - 'a'] = "bool",  ['c' - 'a'] = "char",
		['d' - 'a'] = "f64",  ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",
		['h' - 'a'] = "u8",   ['i' - 'a'] = "isize", ['j' - 'a'] = "usize",
		['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",   ['n' - 'a'] = "i128",
		['o' - 'a'] = "u128", ['p' - 'a'] = "_",     ['s' - 'a'] = "i16",
		['t' - 'a'] = "u16",  ['u' - 'a'] = "()",    ['v' - 'a'] = "...",
		['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",   ['z' - 'a'] = "!",
	};
	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void list(struct parser *p, void (*item)(struct parser *))
{
	for (bool is_first = true; !p->is_bad && !take_if(p, 'E'); is_first = false) {
		if (!is_first)
			put(p, ", ");
		item(p);
	}
}

static void function_type(struct parser *p)
{
	optional_base_62(p, 'G');
	if (take_if(p, 'U'))
		put(p, "unsafe ");
	if (take_if(p, 'K') && !take_if(p, 'C'))
		word(p);
	put(p, "fn(");
	list(p, type);
	put(p, ")");
	if (take_if(p, 'u'))
		return;
	put(p, " -> ");
	type(p);
}

static void dyn_type(struct parser *p)
{
	put(p, "dyn ");
	optional_base_62(p, 'G');
	for (bool is_first = true; !p->is_bad && !take_if(p, 'E'); is_first = false) {
		if (!is_first)
			put(p, " + ");
		path(p, false);
		while (take_if(p, 'p')) { /* Iterator<Item = u8>: without its bindings */
			word(p);
			bool was_silent = p->is_silent;
			p->is_silent = true;
			type(p);
			p->is_silent = was_silent;
		}
	}
	if (!take_if(p, 'L'))
		p->is_bad = true;
	base_62(p);
}

static void reference(struct parser *p, const char *text)
{
	put(p, text);
	if (take_if(p, 'L'))
		base_62(p);
	type(p);
}

static void compound_type(struct parser *p, char c)
{
	switch (c) {
	case 'A':
	case 'S':
		put(p, "[");
		type(p);
		if (c == 'A') {
			put(p, "; ");
			constant(p, false);
		}
		put(p, "]");
		break;
	case 'T':
		put(p, "(");
		list(p, type);
		put(p, ")");
		break;
	case 'R':
		reference(p, "&");
		break;
	case 'Q':
		reference(p, "&mut ");
		break;
	case 'P':
		reference(p, "*const ");
		break;
	case 'O':
		reference(p, "*mut ");
		break;
	case 'F':
		function_type(p);
		break;
	case 'D':
		dyn_type(p);
		break;
	case 'B':
		again(p, base_62(p), type_again, false);
		break;
	default:
		p->is_bad = true;
	}
}

static void type(struct parser *p)
{
	if (++p->depth > DEPTH_MOST)
		p->is_bad = true;
	char c = peek(p);
	const char *basic = basic_type(c);
	if (basic) {
		p->at++;
		put(p, basic);
	} else if (c && strchr("CMXYNI", c)) {
		path(p, false);
	} else {
		compound_type(p, take(p));
	}
	p->depth--;
}

/* ---- Paths ---- */

static void argument(struct parser *p)
{
	if (take_if(p, 'L')) {
		base_62(p);
		put(p, "'_");
	} else if (take_if(p, 'K')) {
		constant(p, false);
	} else {
		type(p);
	}
}

/* Where an implementation stands says nothing that its type doesn't. */
static void skip_place(struct parser *p)
{
	bool was_silent = p->is_silent;
	p->is_silent = true;
	optional_base_62(p, 's');
	path(p, false);
	p->is_silent = was_silent;
}

static void nested(struct parser *p, bool in_value)
{
	char space = take(p);
	path(p, in_value);
	uint64_t number = optional_base_62(p, 's');
	struct word name = word(p);
	if (islower((unsigned char)space)) {
		put(p, "::");
		put_bytes(p, name.at, name.n);
		return;
	}
	put(p, space == 'C' ? "::{closure" : space == 'S' ? "::{shim" : "::{");
	if (name.n) {
		put(p, ":");
		put_bytes(p, name.at, name.n);
	}
	put(p, "#");
	put_number(p, number);
	put(p, "}");
}

static void implementation(struct parser *p, char c)
{
	if (c != 'Y')
		skip_place(p);
	put(p, "<");
	type(p);
	if (c != 'M') {
		put(p, " as ");
		path(p, false);
	}
	put(p, ">");
}

static void path(struct parser *p, bool in_value)
{
	if (++p->depth > DEPTH_MOST)
		p->is_bad = true;
	char c = take(p);
	struct word crate;
	switch (c) {
	case 'C':
		optional_base_62(p, 's');
		crate = word(p);
		put_bytes(p, crate.at, crate.n);
		break;
	case 'M':
	case 'X':
	case 'Y':
		implementation(p, c);
		break;
	case 'N':
		nested(p, in_value);
		break;
	case 'I':
		path(p, in_value);
		put(p, in_value ? "::<" : "<");
		list(p, argument);
		put(p, ">");
		break;
	case 'B':
		again(p, base_62(p), path, in_value);
		break;
	default:
		p->is_bad = true;
	}
	p->depth--;
}

char *demangle_rust_v0(const char *name)
{
	struct parser p = { .name = name, .out = mem_resize(NULL, TEXT_MOST_BYTES) };
	if (isdigit((unsigned char)peek(&p))) /* a later version of the form */
		p.is_bad = true;
	path(&p, true);
	if (p.is_bad) {
		free(p.out);
		return NULL;
	}
	p.out[p.n] = 0;
	return p.out;
}
