/* See html_charts.h: the timeline and the flame graphs as they are without the script, which
 * replaces them by interactive ones. */
#include "export/html_charts.h"

#include "export/html_cell.h"

#include <math.h>
#include <stdio.h>

enum {
	FRAMES_MOST = 220, /* 50 KB */
	SHARE_LEAST =
		150, /* a frame of less than 1/SHARE_LEAST of the width has no room for text */
	ROW_PX = 18,
	WIDTH = 1000, /* of the timeline; slices closer together than 1 are drawn as one */
};

static double number_in(const json_t *list, size_t i)
{
	return json_number_value(json_array_get(list, i));
}

/* ---- The timeline ---- */

struct run_of_slices {
	double from, to;
	size_t category;
};

static void flush_run(const struct html_view *v, const json_t *timeline,
		      const struct run_of_slices *r)
{
	const char *category = json_string_value(
		json_array_get(json_object_get(timeline, "categories"), r->category));
	if (r->to >= r->from)
		html_rawf(v->out, "<rect class=\"c-%s\" x=\"%.1f\" width=\"%.1f\" height=\"10\"/>",
			  category ? category : "", r->from, fmax(r->to - r->from, 0.5));
}

/* Draws the outermost slices of a track. */
static void write_track(const struct html_view *v, const json_t *timeline, const json_t *track)
{
	const json_t *slices = json_object_get(track, "slices");
	double ns = fmax(html_number_at(timeline, "shown_ns"), 1), at = 0, end = -1;
	struct run_of_slices run = { 0, -1, 0 };
	for (size_t i = 0; i + 4 < json_array_size(slices); i += 5) {
		at += number_in(slices, i);
		double from = at / ns * WIDTH, to = (at + number_in(slices, i + 1)) / ns * WIDTH;
		size_t category = (size_t)number_in(slices, i + 3);
		if (from < end)
			continue;
		end = to;
		if (run.to < run.from || category != run.category || from > run.to + 1) {
			flush_run(v, timeline, &run);
			run = (struct run_of_slices){ from, to, category };
		}
		run.to = fmin(to, WIDTH);
	}
	flush_run(v, timeline, &run);
}

void html_chart_timeline(const struct html_view *v, const json_t *views)
{
	const json_t *timeline = json_object_get(views, "timeline"), *track;
	struct html_out *o = v->out;
	size_t i;
	if (!json_array_size(json_object_get(timeline, "tracks")))
		return;
	html_rawf(o, "<div class=\"timeline\" data-process=\"%u\">", v->number);
	for (i = 0; (track = json_array_get(json_object_get(timeline, "tracks"), i)); i++) {
		html_raw(o, "<div class=\"track\"><span>");
		html_text(o, html_text_at(track, "name"));
		html_rawf(o,
			  "</span><svg viewBox=\"0 0 %d 10\" preserveAspectRatio=\"none\" "
			  "aria-hidden=\"true\">",
			  WIDTH);
		write_track(v, timeline, track);
		html_raw(o, "</svg></div>\n");
	}
	html_raw(o, "</div>\n");
}

/* ---- Flame graphs ---- */

static const struct {
	const char *what, *title;
} titles[] = {
	{ "gpu", "GPU time, by the code that launched it" },
	{ "cpu", "CPU time between CUDA calls" },
	{ "blocked", "Blocked time" },
	{ "bytes", "Device memory allocated" },
};

static void write_frame(const struct html_view *v, const json_t *graph, size_t i, double left)
{
	double total = html_number_at(graph, "total");
	const json_t *tree = json_object_get(graph, "tree");
	size_t name = (size_t)number_in(tree, i + 1);
	const char *text = json_string_value(json_array_get(json_object_get(graph, "names"), name)),
		   *kinds = html_text_at(graph, "kinds");
	html_rawf(v->out,
		  "<i class=\"f-%c\" style=\"left:%.2f%%;width:%.2f%%;top:%.0fpx\" title=\"",
		  kinds[name], left / total * 100, number_in(tree, i + 2) / total * 100,
		  number_in(tree, i) * ROW_PX);
	html_text(v->out, text);
	html_raw(v->out, "\">");
	html_text(v->out, text);
	html_raw(v->out, "</i>");
}

/* Returns from which value on no more than FRAMES_MOST frames are shown. */
static double least_shown(const json_t *tree, double total)
{
	double least = total / SHARE_LEAST;
	for (size_t n = SIZE_MAX; n > FRAMES_MOST; least *= n > FRAMES_MOST ? 1.5 : 1) {
		n = 0;
		for (size_t i = 0; i + 2 < json_array_size(tree); i += 3)
			n += number_in(tree, i + 2) >= least;
	}
	return least;
}

static size_t deepest_shown(const json_t *tree, double least)
{
	size_t deepest = 0;
	for (size_t i = 0; i + 2 < json_array_size(tree); i += 3) {
		size_t depth = (size_t)number_in(tree, i);
		if (number_in(tree, i + 2) >= least && depth > deepest)
			deepest = depth;
	}
	return deepest;
}

static void write_frames(const struct html_view *v, const json_t *graph)
{
	const json_t *tree = json_object_get(graph, "tree");
	double least = least_shown(tree, html_number_at(graph, "total"));
	VEC(double) lefts = { 0 }; /* by depth: where the next node of that depth begins */
	html_rawf(v->out, "<div class=\"frames\" style=\"height:%zupx\">",
		  (deepest_shown(tree, least) + 1) * ROW_PX);
	for (size_t i = 0; i + 2 < json_array_size(tree); i += 3) {
		size_t depth = (size_t)number_in(tree, i);
		vec_at_id(&lefts, depth + 1);
		double left = lefts.at[depth];
		lefts.at[depth] += number_in(tree, i + 2);
		lefts.at[depth + 1] = left;
		if (number_in(tree, i + 2) >= least)
			write_frame(v, graph, i, left);
	}
	vec_free(&lefts);
	html_raw(v->out, "</div>");
}

static void write_flame(const struct html_view *v, const json_t *graph, const char *title)
{
	struct html_out *o = v->out;
	const char *what = html_text_at(graph, "what");
	double total = html_number_at(graph, "total");
	html_rawf(o, "<div class=\"flame\" data-process=\"%u\" data-what=\"%s\"><h4>", v->number,
		  what);
	html_text(o, title);
	html_raw(o, " <span class=\"sum\">");
	if (!strcmp(what, "bytes"))
		html_number(o, HTML_BYTES, total);
	else
		html_number(o, HTML_MS, total / 1e6);
	html_rawf(o, "%s %s", strcmp(what, "bytes") ? " ms" : "", html_per_step(v));
	html_raw(o, "</span></h4>");
	write_frames(v, graph);
	html_raw(o, "</div>\n");
}

void html_chart_flames(const struct html_view *v, const json_t *views)
{
	const json_t *graph;
	size_t i;
	for (i = 0; (graph = json_array_get(json_object_get(views, "flame"), i)); i++)
		for (size_t k = 0; k < sizeof(titles) / sizeof(*titles); k++)
			if (!strcmp(html_text_at(graph, "what"), titles[k].what))
				write_flame(v, graph, titles[k].title);
}
