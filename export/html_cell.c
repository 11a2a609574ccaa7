/* See html_cell.h. */
#include "export/html_cell.h"

#include "export/kernel_words.h"
#include "export/report_words.h"

#include <math.h>
#include <stdio.h>

enum { NUMBER_BYTES = 32, PLACE_BYTES = 1024, NAME_BYTES = 1024 };

/* ---- Numbers ---- */

void html_number(struct html_out *o, enum html_cell kind, double value)
{
	char text[NUMBER_BYTES];
	if (!isfinite(value)) {
		html_raw(o, "-");
		return;
	}
	if (kind == HTML_MS || kind == HTML_BAR_MS)
		report_ms(text, sizeof(text), value);
	else if (kind == HTML_ID)
		snprintf(text, sizeof(text), "%.0f", value);
	else if (kind == HTML_BYTES)
		report_bytes(text, sizeof(text), value);
	else if (value == round(value) && fabs(value) < 1e15)
		report_count(text, sizeof(text), (int64_t)value);
	else
		snprintf(text, sizeof(text), fabs(value) < 1 ? "%.2f" : "%.1f", value);
	html_rawf(o, "%s%s", text, kind == HTML_PERCENT ? " %" : "");
}

static void write_number(struct html_out *o, const struct html_column *c, double value, double most)
{
	html_raw(o, "<td class=\"n\"");
	if (isfinite(value))
		html_rawf(o, " data-v=\"%.9g\"", value);
	html_raw(o, ">");
	html_number(o, c->kind, value);
	if (most > 0 && value > 0)
		html_rawf(o, "<i class=\"bar\" style=\"width:%.1f%%\"></i>", value / most * 100);
	html_raw(o, "</td>");
}

/* ---- Places ---- */

static struct report_place place_of(const json_t *at)
{
	double line = html_number_at(at, "line");
	return (struct report_place){ .file = html_text_at(at, "file"),
				      .line = isfinite(line) ? (int64_t)line : -1,
				      .function = html_text_at(at, "function") };
}

void html_place(const struct html_view *v, const json_t *at)
{
	struct report_place place = place_of(at);
	char text[PLACE_BYTES];
	html_raw(v->out, "<span class=\"place\" title=\"");
	html_text(v->out, place.file);
	if (*place.file && place.line > 0)
		html_rawf(v->out, ":%lld", (long long)place.line);
	html_raw(v->out, "\">");
	html_text(v->out, report_place(text, sizeof(text), &place, v->cwd));
	html_raw(v->out, "</span>");
	if (*place.file && place.line >= 0 && *place.function) {
		html_raw(v->out, " <span class=\"function\">");
		html_text(v->out, place.function);
		html_raw(v->out, "</span>");
	}
}

/* Writes a stack, outermost frame last, which opens on a click. */
static void write_stack(const struct html_view *v, const json_t *frames)
{
	size_t i;
	const json_t *frame;
	html_rawf(v->out, "<details><summary>%zu frames</summary><ol class=\"stack\">",
		  json_array_size(frames));
	for (i = 0; (frame = json_array_get(frames, i)); i++) {
		struct report_place place = place_of(frame);
		html_rawf(v->out, "<li%s>",
			  json_is_true(json_object_get(frame, "is_library")) ? " class=\"lib\""
									     : "");
		html_text(v->out, place.function);
		if (*place.file) {
			html_raw(v->out, " <span class=\"function\">");
			html_text(v->out, report_short_path(place.file, v->cwd));
			if (place.line > 0)
				html_rawf(v->out, ":%lld", (long long)place.line);
			html_raw(v->out, "</span>");
		}
		html_raw(v->out, "</li>");
	}
	html_raw(v->out, "</ol></details>");
}

/* ---- Any cell ---- */

static const json_t *place_in(const struct html_column *c, const json_t *row)
{
	return *c->key == '.' ? row : html_at(row, c->key);
}

static bool is_place(const json_t *at)
{
	return *html_text_at(at, "file") || *html_text_at(at, "function");
}

bool html_cell_has(const struct html_column *c, const json_t *row)
{
	const json_t *value = html_at(row, c->key);
	switch (c->kind) {
	case HTML_PLACE:
		return is_place(place_in(c, row));
	case HTML_TRUTH:
		return json_is_true(value);
	case HTML_KERNELS:
	case HTML_NUMBERS:
	case HTML_STACK:
		return json_array_size(value);
	default:
		return json_is_number(value) || *html_text_at(row, c->key);
	}
}

static void write_words(struct html_out *o, const char *noun, const char *text)
{
	html_raw(o, "<td>");
	html_text(o, *noun ? noun : text);
	html_raw(o, "</td>");
}

static void write_kernel(struct html_out *o, const char *name)
{
	char text[NAME_BYTES];
	html_raw(o, "<td class=\"name\" title=\"");
	html_text(o, name);
	html_raw(o, "\">");
	html_text(o, kernel_short(text, sizeof(text), name));
	html_raw(o, "</td>");
}

/* Writes the kernels in order, one that follows itself once. */
static void write_kernels(struct html_out *o, const json_t *list)
{
	char text[NAME_BYTES];
	size_t n_all = json_array_size(list);
	html_raw(o, "<td class=\"name\">");
	for (size_t i = 0, n; i < n_all; i += n) {
		const char *name = json_string_value(json_array_get(list, i));
		n = 1;
		while (i + n < n_all &&
		       json_equal(json_array_get(list, i + n), json_array_get(list, i)))
			n++;
		html_raw(o, i ? " &gt; " : "");
		html_text(o, kernel_short(text, sizeof(text), name ? name : ""));
		if (n > 1)
			html_rawf(o, " &times;%zu", n);
	}
	html_raw(o, "</td>");
}

static void write_integers(struct html_out *o, const json_t *list)
{
	size_t i;
	const json_t *value;
	html_raw(o, "<td>");
	for (i = 0; (value = json_array_get(list, i)); i++)
		html_rawf(o, "%s%lld", i ? ", " : "", (long long)json_integer_value(value));
	html_raw(o, "</td>");
}

void html_cell_write(const struct html_view *v, const struct html_column *c, const json_t *row,
		     double most)
{
	const char *text = html_text_at(row, c->key);
	struct html_out *o = v->out;
	if (c->kind >= HTML_NUMBER) {
		write_number(o, c, html_number_at(row, c->key), most);
		return;
	}
	switch (c->kind) {
	case HTML_PLACE:
		html_raw(o, "<td class=\"at\">");
		if (is_place(place_in(c, row)))
			html_place(v, place_in(c, row));
		html_raw(o, "</td>");
		return;
	case HTML_CODE:
		html_raw(o, "<td class=\"source\"><code>");
		html_text(o, text);
		html_raw(o, "</code></td>");
		return;
	case HTML_CAUSE:
		write_words(o, report_cause_noun(text), text);
		return;
	case HTML_CAUSE_MEANING:
		write_words(o, report_cause_words(text), "");
		return;
	case HTML_WAIT:
		write_words(o, report_sync_noun(text), text);
		return;
	case HTML_VERDICT:
		write_words(o, report_verdict_noun(text), text);
		return;
	case HTML_LINK:
		write_words(o, report_critical_noun(text), text);
		return;
	case HTML_KERNEL:
		write_kernel(o, text);
		return;
	case HTML_TRUTH:
		html_raw(o, json_is_true(html_at(row, c->key)) ? "<td>yes</td>" : "<td></td>");
		return;
	case HTML_KERNELS:
		write_kernels(o, html_at(row, c->key));
		return;
	case HTML_NUMBERS:
		write_integers(o, html_at(row, c->key));
		return;
	case HTML_STACK:
		html_raw(o, "<td>");
		write_stack(v, html_at(row, c->key));
		html_raw(o, "</td>");
		return;
	default:
		html_raw(o, c->kind == HTML_NAME ? "<td class=\"name\">" : "<td>");
		html_text(o, text);
		html_raw(o, "</td>");
	}
}
