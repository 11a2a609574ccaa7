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
	const json_t *points = json_object_get(series, "points");
	double most = 0;
	for (size_t k = 1; k < json_array_size(points); k += 2)
		most = fmax(most, (double)integer_at(points, k));
	return most;
}

static double most_of_all(const json_t *list)
{
	const json_t *one;
	double most = 0;
	size_t i;
	json_array_foreach(list, i, one) most = fmax(most, most_of(one));
	return most;
}

static void write_series(struct html_out *o, const json_t *points, double ns, double top,
			 size_t colour)
{
	double x = 0, y = 200;
	html_rawf(o, "<path class=\"memory m%zu\" d=\"", colour % COLOURS);
	for (size_t k = 0; k + 1 < json_array_size(points); k += 2) {
		x = (double)integer_at(points, k) / ns * 1000;
		y = 200 - (double)integer_at(points, k + 1) / top * 200;
		if (k)
			html_rawf(o, "H%.1fV%.1f", x, y);
		else
			html_rawf(o, "M%.1f %.1f", x, y);
	}
	html_raw(o, "H1000\"/>");
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
	json_array_foreach(json_object_get(memory, "series"), i, one)
	{
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
	json_array_foreach(series, i, one)
		write_series(o, json_object_get(one, "points"), ns, top, i);
	html_rawf(o,
		  "</svg></div><div class=\"xaxis\"><span>0 s</span><span>%.3g s</span></div>"
		  "</figure>\n",
		  ns / 1e9);
	write_legend(o, memory);
	html_raw(o, "</section>\n");
}
