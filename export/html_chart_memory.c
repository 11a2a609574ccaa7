/* See html_charts.h: memory over the recorded time. */
#include "export/html_charts.h"

#include "export/html_cell.h"

#include <math.h>

enum { COLOURS = 6 };

static int64_t integer_at(const json_t *list, size_t i)
{
	return (int64_t)json_integer_value(json_array_get(list, i));
}

static double most_of(const json_t *series)
{
	const json_t *value;
	double most = 0;
	size_t i;
	for (i = 0; (value = json_array_get(json_object_get(series, "high"), i)); i++)
		most = fmax(most, json_number_value(value));
	return most;
}

static double most_of_all(const json_t *list)
{
	const json_t *one;
	double most = 0;
	size_t i;
	for (i = 0; (one = json_array_get(list, i)); i++)
		most = fmax(most, most_of(one));
	return most;
}

/* Draws the band between the least and the largest value of each span. */
static void write_series(struct html_out *o, const json_t *series, double ns, double top,
			 size_t colour)
{
	const json_t *low = json_object_get(series, "low"), *high = json_object_get(series, "high");
	double width = html_number_at(series, "span_ns") / ns * 1000;
	size_t n = json_array_size(high), first = 0;
	while (first < n && json_is_null(json_array_get(high, first)))
		first++;
	if (first == n)
		return;
	html_rawf(o, "<path class=\"memory m%zu\" d=\"M%.1f %.1f", colour % COLOURS,
		  (double)first * width, 200 - (double)integer_at(high, first) / top * 200);
	for (size_t i = first; i < n; i++)
		html_rawf(o, "V%.1fH%.1f", 200 - (double)integer_at(high, i) / top * 200,
			  fmin((double)(i + 1) * width, 1000));
	for (size_t i = n; i-- > first;)
		html_rawf(o, "V%.1fH%.1f", 200 - (double)integer_at(low, i) / top * 200,
			  (double)i * width);
	html_raw(o, "Z\"/>");
}

static void write_unrecorded(struct html_out *o, const json_t *windows, double ns)
{
	for (size_t i = 1; i + 1 < json_array_size(windows); i += 2) {
		double from = (double)integer_at(windows, i) / ns * 1000,
		       to = (double)integer_at(windows, i + 1) / ns * 1000;
		html_rawf(o,
			  "<rect class=\"warm\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"200\"/>",
			  from, fmax(to - from, 0));
	}
}

static void write_legend(struct html_out *o, const json_t *memory)
{
	const json_t *one;
	size_t i;
	html_raw(o, "<ul class=\"legend\">");
	for (i = 0; (one = json_array_get(json_object_get(memory, "series"), i)); i++) {
		html_rawf(o, "<li><i class=\"key m%zu\"></i>", i % COLOURS);
		html_text(o, html_text_at(one, "name"));
		if (json_object_get(one, "device"))
			html_rawf(o, ", GPU %.0f", html_number_at(one, "device"));
		html_raw(o, ": at most ");
		html_number(o, HTML_BYTES, most_of(one));
		html_raw(o, "</li>");
	}
	if (json_array_size(json_object_get(memory, "windows")) > 2)
		html_raw(o, "<li><i class=\"key warm\"></i>not recorded</li>");
	html_raw(o, "</ul>\n");
}

void html_chart_memory(const struct html_view *v, const json_t *views)
{
	const json_t *memory = json_object_get(views, "memory"),
		     *series = json_object_get(memory, "series"), *one;
	struct html_out *o = v->out;
	double ns = fmax(html_number_at(memory, "ns"), 1), top = most_of_all(series) * 1.05;
	size_t i;
	if (!json_array_size(series) || !(top > 0))
		return;
	html_raw(o, "<section class=\"card wide\">");
	html_heading(v, "h3", "memory-chart", "Memory over the recorded steps");
	html_rawf(o,
		  "<figure class=\"steps memory\" data-process=\"%u\"><div class=\"yaxis\"><span>",
		  v->number);
	html_number(o, HTML_BYTES, top);
	html_raw(o, "</span><span>");
	html_number(o, HTML_BYTES, top / 2);
	html_raw(o, "</span><span>0</span></div><div class=\"plot\" role=\"img\" "
		    "aria-label=\"Memory over time\"><svg viewBox=\"0 0 1000 200\" "
		    "preserveAspectRatio=\"none\" aria-hidden=\"true\">");
	write_unrecorded(o, json_object_get(memory, "windows"), ns);
	for (i = 0; (one = json_array_get(series, i)); i++)
		write_series(o, one, ns, top, i);
	html_rawf(o,
		  "</svg></div><div class=\"xaxis\"><span>0 s</span><span>%.3g s</span></div>"
		  "</figure>\n",
		  ns / 1e9);
	write_legend(o, memory);
	html_raw(o, "</section>\n");
}
