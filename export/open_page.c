/* See open_page.h. */
#include "export/open_page.h"

#include "core/util/text.h"
#include "export/exporter.h"
#include "export/perfetto_first_look.h"
#include "export/report_words.h"

#include <ctype.h>
#include <stdarg.h>

enum { NUMBER_BYTES = 32 };

/*
 * The window must be opened while the click is handled, or the browser blocks it. The trace is
 * fetched meanwhile. The UI answers PONG to PING as soon as it can take a trace.
 * https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui
 */
const char open_page_script[] =
	"'use strict';\n"
	"const ui = document.body.dataset.ui, look = document.body.dataset.look;\n"
	"const say = text => { document.getElementById('said').textContent = text; };\n"
	"\n"
	"function post(view, message) {\n"
	"  const origin = new URL(ui).origin;\n"
	"  const timer = setInterval(() => view.postMessage('PING', origin), 100);\n"
	"  addEventListener('message', function heard(event) {\n"
	"    if (event.source !== view || event.origin !== origin || event.data !== 'PONG')\n"
	"      return;\n"
	"    clearInterval(timer);\n"
	"    removeEventListener('message', heard);\n"
	"    view.postMessage({perfetto: message}, origin);\n"
	"    say('');\n"
	"  });\n"
	"}\n"
	"\n"
	"async function show(link) {\n"
	"  const view = window.open(`${ui}/#!/?startupCommands=${encodeURIComponent(look)}`);\n"
	"  if (!view)\n"
	"    return say('The browser blocked the new window. Allow pop-ups for this page.');\n"
	"  say('Waiting for Perfetto ...');\n"
	"  const answer = await fetch(link.href);\n"
	"  if (!answer.ok)\n"
	"    return say(`The trace cannot be read (${answer.status}).`);\n"
	"  const name = link.dataset.trace;\n"
	"  post(view, {buffer: await answer.arrayBuffer(), title: name,\n"
	"              fileName: name.replaceAll('/', '-'), downloadable: true});\n"
	"}\n"
	"\n"
	"document.addEventListener('click', event => {\n"
	"  const link = event.target.closest('a[data-trace]');\n"
	"  if (!link)\n"
	"    return;\n"
	"  event.preventDefault();\n"
	"  show(link).catch(error => say(`The trace cannot be read: profrun open has ended? "
	"(${error})`));\n"
	"});\n"
	"document.querySelector('a[data-trace]')?.focus();\n";

#define LINKS(links)                                                                           \
	"\n<style>#profrun-links { position: fixed; right: 1em; bottom: 1em; z-index: 9999 } " \
	"#profrun-links a { display: inline-block; margin-left: .5em; padding: .4em .8em; "    \
	"border-radius: .4em; background: #1a4f8b; color: #fff; font: 14px sans-serif; "       \
	"text-decoration: none } @media print { #profrun-links { display: none } }</style>"    \
	"<div id=\"profrun-links\">" links "<a href=\"./\">Traces in Perfetto</a></div>\n"

const char open_page_link[] = LINKS("");
const char open_page_links_running[] = LINKS("<a href=\"report.html\">Newer figures</a>");

static const char style[] =
	"body { font: 15px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; "
	"color: #1b1b1b; background: #fff }\n"
	"h1 { font-size: 1.3em } h2 { font-size: 1.1em; margin-top: 1.5em }\n"
	"a { color: #1a4f8b } li span { color: #555 }\n"
	"pre { overflow-x: auto; background: #f3f3f3; padding: 1em; font-size: 13px }\n"
	"#said { font-weight: bold; min-height: 1.5em }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"body { color: #eee; background: #191919 } a { color: #8ab8ee } li span { color: #bbb }\n"
	"pre { background: #262626 } }\n";

/* ---- HTML ---- */

struct html {
	VEC(char) text;
};

static void add_bytes(struct html *h, const char *bytes, size_t n)
{
	vec_reserve(&h->text, n + 1);
	memcpy(h->text.at + h->text.n, bytes, n);
	h->text.n += n;
	h->text.at[h->text.n] = 0;
}

static void add(struct html *h, const char *text)
{
	add_bytes(h, text, strlen(text));
}

/* Adds a text of the profiled program: cleaned, and without a meaning in HTML. */
static void add_text(struct html *h, const char *text)
{
	char *clean = mem_zero(strlen(text) + 16);
	text_clean(clean, strlen(text) + 16, text);
	for (const char *at = clean; *at; at++) {
		char number[8];
		if (!strchr("<>&\"'", *at)) {
			add_bytes(h, at, 1);
			continue;
		}
		snprintf(number, sizeof(number), "&#%d;", *at);
		add(h, number);
	}
	free(clean);
}

/* Adds a file's name as an address. */
static void add_address(struct html *h, const char *name)
{
	for (const char *at = name; *at; at++) {
		char code[8];
		if (isalnum((unsigned char)*at) || strchr("/-._~", *at))
			snprintf(code, sizeof(code), "%c", *at);
		else
			snprintf(code, sizeof(code), "%%%02X", (unsigned char)*at);
		add(h, code);
	}
}

/* Adds lines of text; newlines stay. */
static void add_lines(struct html *h, const char *text)
{
	char *all = mem_text(text), *next = all;
	for (char *line; (line = strsep(&next, "\n"));) {
		add_text(h, line);
		add(h, "\n");
	}
	free(all);
}

/* ---- The page ---- */

static const char *base_of(const struct exporter *x, const char *name)
{
	return name + strlen(x->folder) + 1;
}

static void add_file(struct html *h, const struct exporter *x, const struct served_file *f)
{
	char size[NUMBER_BYTES];
	bool is_trace = x == &exporter_perfetto;
	add(h, "<li><a href=\"");
	add_address(h, f->name);
	if (is_trace) {
		add(h, "\" data-trace=\"");
		add_text(h, base_of(x, f->name));
	}
	add(h, is_trace ? "\">" : "\" download>");
	add_text(h, base_of(x, f->name));
	add(h, "</a> <span>");
	add(h, report_bytes(size, sizeof(size), (double)f->bytes));
	if (is_trace) {
		add(h, "</span> <a href=\"");
		add_address(h, f->name);
		add(h, "\" download>download</a></li>\n");
	} else {
		add(h, "</span></li>\n");
	}
}

static bool is_in(const struct exporter *x, const char *name)
{
	size_t n = strlen(x->folder);
	return !strncmp(name, x->folder, n) && name[n] == '/';
}

static void add_format(struct html *h, const struct open_page *p, const struct exporter *x)
{
	bool is_any = false;
	for (size_t i = 0; i < p->files.all.n; i++) {
		const struct served_file *f = &p->files.all.at[i];
		if (!is_in(x, f->name))
			continue;
		if (!is_any) {
			add(h, "<h2>");
			add_text(h, x == &exporter_perfetto
					    ? "Traces: a click opens one in Perfetto"
					    : x->folder);
			add(h, "</h2>\n<ul>\n");
		}
		is_any = true;
		add_file(h, x, f);
	}
	if (is_any)
		add(h, "</ul>\n");
}

static void add_more(struct html *h, size_t n)
{
	char text[80];
	if (!n)
		return;
	snprintf(text, sizeof(text), "<p>%zu more files are in the run's folder.</p>\n", n);
	add(h, text);
}

static void add_head(struct html *h, const struct open_page *p)
{
	add(h, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
	add_text(h, p->title);
	add(h, "</title>\n<style>\n");
	add(h, style);
	add(h, "</style>\n</head>\n<body data-ui=\"");
	add_text(h, p->ui);
	add(h, "\" data-look=\"");
	add_text(h, PERFETTO_FIRST_LOOK);
	add(h, "\">\n<h1>");
	add_text(h, p->title);
	add(h, "</h1>\n<p>");
	if (p->has_html)
		add(h, "<a href=\"report.html\">Report</a>, ");
	add(h,
	    "<a href=\"report.txt\">report as text</a>, <a href=\"report.json\">report.json</a>, "
	    "<a href=\"run.json\">run.json</a></p>\n<p id=\"said\" role=\"status\"></p>\n");
}

char *open_page_html(const struct open_page *p)
{
	struct html h = { 0 };
	const struct exporter *x;
	add_head(&h, p);
	for (size_t i = 0; (x = exporter_at(i)); i++)
		add_format(&h, p, x);
	add_more(&h, p->files.n_more);
	if (!p->has_html && *p->text) {
		add(&h, "<h2>Report</h2>\n<pre>");
		add_lines(&h, p->text);
		add(&h, "</pre>\n");
	}
	add(&h, "<script src=\"open.js\"></script>\n</body>\n</html>\n");
	return h.text.at;
}
