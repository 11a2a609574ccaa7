/*
 * A small HTTP server for one user, on the loopback interface. It answers GET and HEAD, closes each
 * connection after its answer, and serves several at once in one thread. A library would be a
 * further dependency of the tool, which must run wherever it is copied to; what a browser needs
 * from this server is little.
 */
#ifndef EXPORT_HTTP_SERVER_H
#define EXPORT_HTTP_SERVER_H

#include "core/runtime/err.h"
#include "export/http.h"

#include <stdint.h>

/* An answer: `before`, then the file, then `after`. All zeros but `status` is an empty one. */
struct http_response {
	enum http_status status;
	const char *type;     /* MIME type; NULL: text */
	const char *policy;   /* Content-Security-Policy; NULL: nothing may be loaded */
	char *location;	      /* of HTTP_FOUND; NULL: none. The server frees it. */
	char *before, *after; /* texts; NULL: none. The server frees them. */
	bool has_file;
	int fd; /* of the file; the server closes it */
	uint64_t file_bytes;
};

typedef void http_answer(void *context, const struct http_request *request,
			 struct http_response *response);

/* Listens on 127.0.0.1. `*port` 0: any free port, which is then stored there. Returns the socket,
 * or -errno with one line in `e`. */
int http_listen(unsigned *port, struct err *e);

/*
 * Serves until SIGINT, SIGTERM or SIGHUP arrives, or no request was answered without an error for
 * `idle_s` seconds. Returns the signal; 0: idle. The caller closes the socket.
 */
int http_serve(int socket, unsigned idle_s, http_answer *answer, void *context);

#endif
