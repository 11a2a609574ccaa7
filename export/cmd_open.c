/*
 * `profrun open [DIR]`: serves a run's report and traces to the user's browser, on the loopback
 * interface. The link that is printed works once: it leads to an address with another secret, which
 * no other user can see in the list of processes.
 */
#include "core/util/path.h"
#include "core/util/text.h"
#include "export/command.h"
#include "export/http_server.h"
#include "export/open_browser.h"
#include "export/open_page.h"
#include "export/print.h"
#include "export/report_file.h"
#include "export/report_page.h"
#include "export/report_words.h"
#include "export/run_journals.h"
#include "export/served_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	SECRET_BYTES = 16, /* random bytes; twice as many characters */
	SECRET_TEXT = 2 * SECRET_BYTES + 1,
	IDLE_S = 1800, /* long enough to read a report between two traces */
	IDLE_MOST_S = 1000000,
	PORT_MOST = 65535,
	TEXT_MOST = 1 << 20,
};

#define PERFETTO_UI "https://ui.perfetto.dev"

struct opened {
	const char *path, *ui;
	unsigned port, idle_s;
	bool no_browser;
	int folder; /* descriptor */
	bool has_journals;
	char *made;		   /* report.html of a job that has ended without one */
	char once[SECRET_TEXT];	   /* of the link; "": it was used */
	char used[SECRET_TEXT];	   /* the link's secret, once it was used */
	char session[SECRET_TEXT]; /* begins the path of everything else */
	char title[TEXT_BYTES];
};

/* ---- Secrets ---- */

static bool make_secret(char to[SECRET_TEXT])
{
	unsigned char bytes[SECRET_BYTES];
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(to + 2 * i, SECRET_TEXT - 2 * i, "%02x", bytes[i]);
	return true;
}

/* Compares the next component of the path in constant time, so that time says nothing about how
 * many characters were right. Moves *path to what follows the secret, if it is the component. */
static bool takes_secret(const char **path, const char *secret)
{
	const char *at = *path + 1;
	size_t n = strcspn(at, "/");
	unsigned char differs = 0;
	if (!*secret || n != SECRET_TEXT - 1)
		return false;
	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(at[i] ^ secret[i]);
	if (differs)
		return false;
	*path = at + n;
	return true;
}

static void say_link(const struct opened *o)
{
	print_err("    http://127.0.0.1:%u/%s\n", o->port, o->once);
}

/* ---- Answers ---- */

static bool has_file(const struct opened *o, const char *name)
{
	uint64_t bytes;
	int fd = served_open(o->folder, name, &bytes);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool has_page(const struct opened *o)
{
	return o->has_journals || has_file(o, "report.html");
}

static char *read_text(const struct opened *o, const char *name)
{
	uint64_t bytes;
	int fd = served_open(o->folder, name, &bytes);
	size_t wanted = fd >= 0 && bytes < TEXT_MOST ? (size_t)bytes : 0, got = 0;
	char *text = mem_zero(wanted + 1);
	for (ssize_t n = 1; got < wanted && n > 0; got += n > 0 ? (size_t)n : 0)
		n = read(fd, text + got, wanted - got);
	if (fd >= 0)
		close(fd);
	return text;
}

static void answer_page(const struct opened *o, struct http_response *to)
{
	char *text = read_text(o, "report.txt");
	struct open_page page = {
		.title = o->title, .ui = o->ui, .text = text, .has_html = has_page(o)
	};
	served_list(o->folder, &page.files);
	to->status = HTTP_OK;
	to->type = "text/html; charset=utf-8";
	to->policy = OPEN_PAGE_POLICY;
	to->before = open_page_html(&page);
	served_free(&page.files);
	free(text);
}

static void answer_script(struct http_response *to)
{
	to->status = HTTP_OK;
	to->type = "text/javascript; charset=utf-8";
	to->before = mem_text(open_page_script);
}

static const char *type_of(const char *name)
{
	static const struct {
		const char *suffix, *type;
	} types[] = {
		{ ".html", "text/html; charset=utf-8" },
		{ ".txt", "text/plain; charset=utf-8" },
		{ ".json", "application/json" },
	};
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot && i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(dot, types[i].suffix))
			return types[i].type;
	return "application/octet-stream";
}

static void answer_file(const struct opened *o, const char *name, struct http_response *to)
{
	int fd = served_open(o->folder, name, &to->file_bytes);
	to->status = fd >= 0 ? HTTP_OK : HTTP_NOT_FOUND;
	if (fd < 0)
		return;
	to->fd = fd;
	to->has_file = true;
	to->type = type_of(name);
}

static void answer_report(const struct opened *o, struct http_response *to)
{
	answer_file(o, "report.html", to);
	to->policy = OPEN_REPORT_POLICY;
	to->after = mem_text(open_page_link);
}

/*
 * Makes the page that the run does not have: its job still runs, or has ended together with the
 * collector. The page of a running job is made for each request, because it soon becomes old.
 */
static void answer_made(struct opened *o, struct http_response *to)
{
	bool is_running = false;
	char *page = o->made ? mem_text(o->made) : report_page_make(o->path, &is_running);
	if (!page) {
		answer_page(o, to);
		return;
	}
	if (!is_running && !o->made)
		o->made = mem_text(page);
	to->status = HTTP_OK;
	to->type = type_of("report.html");
	to->policy = OPEN_REPORT_POLICY;
	to->before = page;
	to->after = mem_text(is_running ? open_page_links_running : open_page_link);
}

/* Leads from the link to the session. */
static void answer_link(struct opened *o, struct http_response *to)
{
	char location[SECRET_TEXT + 32];
	snprintf(location, sizeof(location), "/%s/%s", o->session,
		 has_page(o) ? "report.html" : "");
	to->status = HTTP_FOUND;
	to->location = mem_text(location);
	memcpy(o->used, o->once, sizeof(o->used));
	o->once[0] = 0;
}

static void answer_session(struct opened *o, const char *path, struct http_response *to)
{
	if (!strcmp(path, "/"))
		answer_page(o, to);
	else if (!strcmp(path, "/open.js"))
		answer_script(to);
	else if (!strcmp(path, "/report.html") && has_file(o, "report.html"))
		answer_report(o, to);
	else if (!strcmp(path, "/report.html") && o->has_journals)
		answer_made(o, to);
	else if (*path == '/')
		answer_file(o, path + 1, to);
	else
		to->status = HTTP_NOT_FOUND;
}

/* A link that was used once may have been seen by others. The user gets another one, on the
 * terminal. */
static void renew_link(struct opened *o)
{
	o->used[0] = 0;
	if (!make_secret(o->once))
		return;
	print_err("profrun: the link was opened a second time, and works only once; another "
		  "one:\n");
	say_link(o);
}

static void answer(void *context, const struct http_request *r, struct http_response *to)
{
	struct opened *o = context;
	const char *path = r->path;
	to->status = HTTP_FORBIDDEN;
	if (!http_host_is_loopback(r->host))
		return;
	if (takes_secret(&path, o->session))
		answer_session(o, path, to);
	else if (takes_secret(&path, o->once) && !r->is_head)
		answer_link(o, to);
	else if (takes_secret(&path, o->used))
		renew_link(o);
}

/* ---- The command ---- */

static void describe(struct opened *o)
{
	struct report r;
	report_start(&r);
	report_read_run(&r, o->path);
	for (size_t i = 0; i < r.run.command.n; i++)
		text_append(o->title, sizeof(o->title), "%s%s", i ? " " : "",
			    i ? r.run.command.at[i] : path_base(r.run.command.at[i]));
	if (!*o->title)
		snprintf(o->title, sizeof(o->title), "%s", o->path);
	report_free(&r);
}

static void say_how(const struct opened *o)
{
	char address[64 + SECRET_TEXT];
	snprintf(address, sizeof(address), "http://127.0.0.1:%u/%s", o->port, o->once);
	bool is_shown = !o->no_browser && browser_is_here() && browser_start(address);
	print_err("profrun: %s\n", is_shown
					   ? "opened in the browser; if not, open this link, which "
					     "works once:"
					   : "open this link, which works once:");
	say_link(o);
	browser_say_forward(o->port);
	print_err("profrun: Ctrl-C ends it; it also ends after %u s without a request\n",
		  o->idle_s);
}

static int serve(struct opened *o)
{
	struct err e;
	int socket = http_listen(&o->port, &e);
	if (socket < 0)
		return data_error("%s", e.text);
	if (!make_secret(o->once) || !make_secret(o->session)) {
		close(socket);
		return data_error("no random numbers: %s", strerror(errno));
	}
	describe(o);
	say_how(o);
	if (!http_serve(socket, o->idle_s, answer, o))
		print_err("profrun: ended after %u s without a request\n", o->idle_s);
	close(socket);
	return EXIT_DONE;
}

static bool has_journals(const struct opened *o)
{
	struct journals j;
	struct err e;
	bool is_any = !run_journals(&j, o->path, &e);
	if (is_any)
		journals_free(&j);
	return is_any;
}

/* Returns whether the folder is a run's: it has journals, or a report of them. */
static bool is_run(const struct opened *o)
{
	return o->has_journals || has_file(o, "run.json") || has_file(o, "report.json");
}

static int take_path(void *request, const char *word)
{
	struct opened *o = request;
	if (o->path)
		return usage_error("open takes one folder, got '%s' too; %s", word,
				   command_usage(&command_open));
	o->path = word;
	return 0;
}

static int take_ui(void *request, const struct command_option *o, const char *value)
{
	struct opened *opened = request;
	size_t n = strlen(value);
	if (strncmp(value, "http://", 7) != 0 && strncmp(value, "https://", 8) != 0)
		return usage_error("%s %s: expected an address that begins with https:// or "
				   "http://",
				   o->name, value);
	while (n && value[n - 1] == '/')
		n--;
	char *ui = mem_text(value); /* kept until the end */
	ui[n] = 0;
	opened->ui = ui;
	return 0;
}

static const struct command_option options[] = {
	{ .name = "--port",
	  .argument = "N",
	  .help = "listen on this port of 127.0.0.1 instead of any free one",
	  .most = PORT_MOST,
	  .offset = offsetof(struct opened, port) },
	{ .name = "--no-browser",
	  .help = "start no browser, only print the link",
	  .offset = offsetof(struct opened, no_browser) },
	{ .name = "--idle",
	  .argument = "SECONDS",
	  .help = "end after this time without a request (1800)",
	  .most = IDLE_MOST_S,
	  .offset = offsetof(struct opened, idle_s) },
	{ .name = "--ui",
	  .argument = "URL",
	  .help = "use this copy of Perfetto's UI instead of " PERFETTO_UI,
	  .take = take_ui },
	{ 0 },
};

static int run(int argc, char **argv)
{
	struct opened o = { .ui = PERFETTO_UI, .idle_s = IDLE_S };
	int status;
	if (!command_parse(&command_open, &o, argc, argv, NULL, &status))
		return status;
	o.folder = open(o.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o.folder < 0)
		return data_error("%s: %s", o.path,
				  errno == ENOTDIR ? "not a run's folder" : "no such folder");
	o.has_journals = has_journals(&o);
	status = is_run(&o) ? serve(&o) : data_error("%s: not the folder of a run", o.path);
	close(o.folder);
	free(o.made);
	return status;
}

const struct command command_open = {
	.name = "open",
	.operands = "[DIR]",
	.summary = "show a run's report and traces in a browser",
	.options = options,
	.wanted = "which run's folder?",
	.takes_latest = true,
	.operand = take_path,
	.run = run,
};
