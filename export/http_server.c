/* See http_server.h. */
#include "export/http_server.h"

#include "core/runtime/clock.h"
#include "core/util/vec.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONNECTIONS = 32,   /* a browser makes six */
	STALLED_MS = 30000, /* a connection without progress is closed */
	LINGER_MS = 1000,   /* wait for the peer's close after the answer */
	LOOK_EVERY_MS = 1000,
	PIECE_BYTES = 1 << 20,
};

#define BARE_POLICY "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"

struct connection {
	int fd; /* -1: free */
	char in[HTTP_HEAD_MOST];
	size_t n_in;
	char *out; /* the head and `before`, later `after`; NULL: the request is not whole */
	size_t n_out, sent;
	bool is_head, is_lingering;
	struct http_response response;
	uint64_t moved_ms; /* when a byte was read or written last */
};

struct server {
	int socket;
	http_answer *answer;
	void *context;
	struct connection connections[CONNECTIONS];
	uint64_t now_ms, asked_ms;
};

static volatile sig_atomic_t ended_by;

static void note_end(int signal)
{
	ended_by = signal;
}

int http_listen(unsigned *port, struct err *e)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)*port),
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t bytes = sizeof(address);
	const int yes = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, CONNECTIONS) || getsockname(fd, (struct sockaddr *)&address, &bytes)) {
		int error = errno;
		if (fd >= 0)
			close(fd);
		return err_set(e, -error, "cannot listen on 127.0.0.1, port %u: %s", *port,
			       strerror(error));
	}
	*port = ntohs(address.sin_port);
	return fd;
}

static void drop(struct connection *c)
{
	close(c->fd);
	if (c->response.has_file)
		close(c->response.fd);
	free(c->response.location);
	free(c->response.before);
	free(c->response.after);
	free(c->out);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

/* The headers keep pages of other sites from reading or framing an answer, and the address with its
 * secret from being sent elsewhere. */
static void start_answer(struct connection *c)
{
	struct http_response *r = &c->response;
	unsigned long long bytes =
		length(r->before) + (r->has_file ? r->file_bytes : 0) + length(r->after);
	size_t room = length(r->before) + length(r->location) + length(r->policy) + 1024;
	c->out = mem_resize(NULL, room);
	c->n_out = (size_t)snprintf(
		c->out, room,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %llu\r\n"
		"Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
		"X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
		"Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: %s\r\n"
		"%s%s%s\r\n%s",
		(int)r->status, http_reason(r->status),
		r->type ? r->type : "text/plain; charset=utf-8", bytes,
		r->policy ? r->policy : BARE_POLICY, r->location ? "Location: " : "",
		r->location ? r->location : "", r->location ? "\r\n" : "",
		c->is_head || !r->before ? "" : r->before);
}

static void answer_error(struct http_response *r)
{
	char text[128];
	if (r->before || r->has_file || r->status == HTTP_OK || r->location)
		return;
	snprintf(text, sizeof(text), "%d %s\n", (int)r->status, http_reason(r->status));
	r->before = mem_text(text);
}

/* Returns false if the connection is over. */
static bool read_request(struct server *s, struct connection *c)
{
	struct http_request request;
	ssize_t n = recv(c->fd, c->in + c->n_in, sizeof(c->in) - c->n_in, 0);
	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	c->n_in += (size_t)n;
	c->moved_ms = s->now_ms;
	enum http_status status = http_parse(c->in, c->n_in, &request);
	if (status == HTTP_INCOMPLETE)
		return true;
	c->response.status = status;
	c->is_head = status == HTTP_OK && request.is_head;
	if (status == HTTP_OK) {
		s->answer(s->context, &request, &c->response);
		if (c->response.status == HTTP_OK || c->response.status == HTTP_FOUND)
			s->asked_ms = s->now_ms;
	}
	answer_error(&c->response);
	start_answer(c);
	return true;
}

/* Sends what is left of `out`. Returns 1 if it is sent, 0 if the socket is full, -1 on an error. */
static int send_text(struct connection *c)
{
	while (c->sent < c->n_out) {
		ssize_t n = send(c->fd, c->out + c->sent, c->n_out - c->sent, MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		c->sent += (size_t)n;
	}
	return 1;
}

/* A file that has become shorter ends the connection, which tells the browser. */
static int send_file(struct connection *c)
{
	struct http_response *r = &c->response;
	while (r->file_bytes) {
		size_t piece = r->file_bytes < PIECE_BYTES ? (size_t)r->file_bytes : PIECE_BYTES;
		ssize_t n = sendfile(c->fd, r->fd, NULL, piece);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return -1;
		r->file_bytes -= (uint64_t)n;
	}
	return 1;
}

/* Puts `after` in place of what was sent. Returns whether there is one. */
static bool turn_to_after(struct connection *c)
{
	struct http_response *r = &c->response;
	if (c->is_head || !r->after)
		return false;
	free(c->out);
	c->out = r->after;
	c->n_out = strlen(c->out);
	c->sent = 0;
	r->after = NULL;
	return true;
}

/* Returns false if the connection is over. Closing at once could reset it while the last bytes are
 * on their way, because the peer may have sent more than was read. */
static bool write_answer(struct server *s, struct connection *c)
{
	c->moved_ms = s->now_ms;
	for (;;) {
		int done = send_text(c);
		if (done > 0 && !c->is_head && c->response.has_file)
			done = send_file(c);
		if (done <= 0)
			return !done;
		if (turn_to_after(c))
			continue;
		shutdown(c->fd, SHUT_WR);
		c->is_lingering = true;
		return true;
	}
}

static bool linger(const struct connection *c)
{
	char text[4096];
	ssize_t n = recv(c->fd, text, sizeof(text), 0);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void serve_one(struct server *s, struct connection *c, short events)
{
	bool is_alive = true;
	if (c->is_lingering)
		is_alive = events ? linger(c) : s->now_ms - c->moved_ms < LINGER_MS;
	else if (events && !c->out)
		is_alive = read_request(s, c);
	else if (events)
		is_alive = write_answer(s, c);
	if (!is_alive || s->now_ms - c->moved_ms >= STALLED_MS)
		drop(c);
}

/* Returns a free place. If all are taken, frees that of the connection that has sent no request for
 * the longest time, so that idle ones cannot keep others away. NULL: all wait for their answers. */
static struct connection *find_place(struct server *s)
{
	struct connection *oldest = NULL;
	for (size_t i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &s->connections[i];
		if (c->fd < 0)
			return c;
		if (!c->out && (!oldest || c->moved_ms < oldest->moved_ms))
			oldest = c;
	}
	if (oldest)
		drop(oldest);
	return oldest;
}

static void accept_one(struct server *s)
{
	int fd = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *place = fd >= 0 ? find_place(s) : NULL;
	if (place) {
		place->fd = fd;
		place->moved_ms = s->now_ms;
	} else if (fd >= 0) {
		close(fd);
	}
}

/* Waits for the next events, and handles them. */
static void serve_once(struct server *s, const sigset_t *mask)
{
	const struct timespec wait = { .tv_sec = LOOK_EVERY_MS / 1000 };
	struct pollfd polled[CONNECTIONS + 1];
	for (size_t i = 0; i < CONNECTIONS; i++) {
		const struct connection *c = &s->connections[i];
		bool writes = c->out && !c->is_lingering;
		polled[i] = (struct pollfd){ .fd = c->fd, .events = writes ? POLLOUT : POLLIN };
	}
	polled[CONNECTIONS] = (struct pollfd){ .fd = s->socket, .events = POLLIN };
	bool is_any = ppoll(polled, CONNECTIONS + 1, &wait, mask) > 0;
	s->now_ms = clock_ms();
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (s->connections[i].fd >= 0)
			serve_one(s, &s->connections[i], is_any ? polled[i].revents : 0);
	if (is_any && polled[CONNECTIONS].revents)
		accept_one(s);
}

static bool is_sending(const struct server *s)
{
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (s->connections[i].fd >= 0 && s->connections[i].out)
			return true;
	return false;
}

/* A signal arrives only in ppoll(), so none is lost between a check and a wait. */
static void catch_signals(sigset_t *before)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t blocked;
	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++) {
		sigaction(ending[i], &(const struct sigaction){ .sa_handler = note_end }, NULL);
		sigaddset(&blocked, ending[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &blocked, before);
}

int http_serve(int socket, unsigned idle_s, http_answer *answer, void *context)
{
	struct server *s = mem_zero(sizeof(*s));
	sigset_t mask;
	s->socket = socket;
	s->answer = answer;
	s->context = context;
	for (size_t i = 0; i < CONNECTIONS; i++)
		s->connections[i].fd = -1;
	s->now_ms = s->asked_ms = clock_ms();
	catch_signals(&mask);
	while (!ended_by && (is_sending(s) || s->now_ms - s->asked_ms < idle_s * 1000ull))
		serve_once(s, &mask);
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (s->connections[i].fd >= 0)
			drop(&s->connections[i]);
	free(s);
	return ended_by;
}
