/* Parses the head of an HTTP/1.x request, and writes the head of a response. Knows no sockets. */
#ifndef EXPORT_HTTP_H
#define EXPORT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_HEAD_MOST = 16384, HTTP_PATH_BYTES = 2048, HTTP_HOST_BYTES = 256 };

enum http_status {
	HTTP_INCOMPLETE = 0, /* the head has not come whole yet */
	HTTP_OK = 200,
	HTTP_FOUND = 302,
	HTTP_BAD = 400,
	HTTP_FORBIDDEN = 403,
	HTTP_NOT_FOUND = 404,
	HTTP_BAD_METHOD = 405,
	HTTP_TOO_LONG = 431,
	HTTP_BAD_VERSION = 505,
};

struct http_request {
	bool is_head; /* HEAD instead of GET */
	/* Without the query, decoded, and without empty, "." and ".." components, control
	 * characters and backslashes. Begins with '/'. */
	char path[HTTP_PATH_BYTES];
	char host[HTTP_HOST_BYTES]; /* the header Host: never empty */
};

/* Parses a request's first `n` bytes. Fills `r` and returns HTTP_OK if the head is whole and of a
 * form that is answered; else HTTP_INCOMPLETE, or the status of an error. */
enum http_status http_parse(const char *bytes, size_t n, struct http_request *r);

/* Returns whether the header Host names this machine's loopback interface, with any port, because a
 * forwarded port may have another number. A page of another site that resolves its name to
 * 127.0.0.1 still sends its own name. */
bool http_host_is_loopback(const char *host);

/* Returns "Not Found" for 404. */
const char *http_reason(enum http_status status);

#endif
