/* See http.h. */
#include "export/http.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *http_reason(enum http_status status)
{
	switch (status) {
	case HTTP_OK:
		return "OK";
	case HTTP_FOUND:
		return "Found";
	case HTTP_FORBIDDEN:
		return "Forbidden";
	case HTTP_NOT_FOUND:
		return "Not Found";
	case HTTP_BAD_METHOD:
		return "Method Not Allowed";
	case HTTP_TOO_LONG:
		return "Request Header Fields Too Large";
	case HTTP_BAD_VERSION:
		return "HTTP Version Not Supported";
	default:
		return "Bad Request";
	}
}

/* A piece of the request. */
struct part {
	const char *at;
	size_t n;
};

static bool is(struct part p, const char *text)
{
	return p.n == strlen(text) && !memcmp(p.at, text, p.n);
}

/* Cuts `rest` at its next line's end. Returns the line without it; `n` SIZE_MAX: there is none. */
static struct part next_line(struct part *rest)
{
	const char *end = memchr(rest->at, '\n', rest->n);
	if (!end)
		return (struct part){ rest->at, SIZE_MAX };
	struct part line = { rest->at, (size_t)(end - rest->at) };
	rest->n -= line.n + 1;
	rest->at = end + 1;
	line.n -= line.n && line.at[line.n - 1] == '\r';
	return line;
}

/* Cuts `line` after its next blank. Returns the word before it. */
static struct part next_word(struct part *line)
{
	const char *end = line->n ? memchr(line->at, ' ', line->n) : NULL;
	struct part word = { line->at, end ? (size_t)(end - line->at) : line->n };
	size_t taken = word.n + (end != NULL);
	line->at += taken;
	line->n -= taken;
	return word;
}

/* ---- The path ---- */

static int hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0'
	       : c >= 'a' && c <= 'f'	 ? c - 'a' + 10
	       : c >= 'A' && c <= 'F'	 ? c - 'A' + 10
					 : -1;
}

static bool decode(struct part p, char to[HTTP_PATH_BYTES])
{
	size_t used = 0;
	for (size_t i = 0; i < p.n; i++) {
		unsigned char c = (unsigned char)p.at[i];
		if (c == '%') {
			int high = i + 2 < p.n ? hex(p.at[i + 1]) : -1,
			    low = i + 2 < p.n ? hex(p.at[i + 2]) : -1;
			if (high < 0 || low < 0)
				return false;
			c = (unsigned char)(high * 16 + low);
			i += 2;
		}
		if (c < ' ' || c == 127 || c == '\\' || used + 1 == HTTP_PATH_BYTES)
			return false;
		to[used++] = (char)c;
	}
	to[used] = 0;
	return to[0] == '/';
}

/* Returns whether no component is empty, but for the last one, or is "." or "..". */
static bool is_plain(const char *path)
{
	for (const char *at = path; *at;) {
		size_t n = strcspn(++at, "/");
		if ((!n && at[n]) || (n == 1 && at[0] == '.') || (n == 2 && !memcmp(at, "..", 2)))
			return false;
		at += n;
	}
	return true;
}

static bool take_path(struct part target, char to[HTTP_PATH_BYTES])
{
	const char *query = target.n ? memchr(target.at, '?', target.n) : NULL;
	if (query)
		target.n = (size_t)(query - target.at);
	return decode(target, to) && is_plain(to);
}

/* ---- Headers ---- */

/* Takes the value of Host. Returns false if the header is bad, or was there before. */
static bool take_host(struct part value, char to[HTTP_HOST_BYTES])
{
	while (value.n && (value.at[0] == ' ' || value.at[0] == '\t')) {
		value.at++;
		value.n--;
	}
	while (value.n && (value.at[value.n - 1] == ' ' || value.at[value.n - 1] == '\t'))
		value.n--;
	if (to[0] || !value.n || value.n >= HTTP_HOST_BYTES || memchr(value.at, 0, value.n))
		return false;
	memcpy(to, value.at, value.n);
	to[value.n] = 0;
	return true;
}

static bool take_header(struct part line, struct http_request *r)
{
	static const char host[] = "Host";
	const char *colon = memchr(line.at, ':', line.n);
	size_t n = colon ? (size_t)(colon - line.at) : 0;
	if (!n || line.at[0] == ' ' || line.at[0] == '\t')
		return false;
	if (n != sizeof(host) - 1 || strncasecmp(line.at, host, n) != 0)
		return true;
	return take_host((struct part){ colon + 1, line.n - n - 1 }, r->host);
}

/* ---- The request ---- */

static enum http_status take_first_line(struct part line, struct http_request *r)
{
	struct part method = next_word(&line), target = next_word(&line);
	r->is_head = is(method, "HEAD");
	if (line.n < 5 || memcmp(line.at, "HTTP/", 5) != 0)
		return HTTP_BAD;
	if (!is(line, "HTTP/1.1") && !is(line, "HTTP/1.0"))
		return HTTP_BAD_VERSION;
	if (!r->is_head && !is(method, "GET"))
		return HTTP_BAD_METHOD;
	return take_path(target, r->path) ? HTTP_OK : HTTP_BAD;
}

enum http_status http_parse(const char *bytes, size_t n, struct http_request *r)
{
	struct part rest = { bytes, n < HTTP_HEAD_MOST ? n : HTTP_HEAD_MOST };
	const enum http_status unfinished = n < HTTP_HEAD_MOST ? HTTP_INCOMPLETE : HTTP_TOO_LONG;
	r->path[0] = r->host[0] = 0;
	struct part line = next_line(&rest);
	if (line.n == SIZE_MAX)
		return unfinished;
	enum http_status status = take_first_line(line, r);
	if (status != HTTP_OK)
		return status;
	for (;;) {
		line = next_line(&rest);
		if (line.n == SIZE_MAX)
			return unfinished;
		if (!line.n)
			return *r->host ? HTTP_OK : HTTP_BAD;
		if (!take_header(line, r))
			return HTTP_BAD;
	}
}

bool http_host_is_loopback(const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);
		if (strncasecmp(host, names[i], n) != 0)
			continue;
		if (!host[n])
			return true;
		size_t digits = strspn(host + n + 1, "0123456789");
		return host[n] == ':' && digits && !host[n + 1 + digits];
	}
	return false;
}
