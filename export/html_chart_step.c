/* See html_charts.h: bars of where a step goes. */
#include "export/html_charts.h"

#include "export/html_cell.h"
#include "export/report_words.h"

#include <math.h>
#include <stdio.h>

enum { PARTS_MOST = 32 };

struct part {
	char class[40];
	const char *name;
	double ms;
};

struct bar {
	struct part at[PARTS_MOST];
	size_t n;
};

static void add(struct bar *b, const char *class, const char *key, const char *name, double ms)
{
	if (!(ms > 0))
		return;
	for (size_t i = 0; i < b->n; i++)
		if (!strcmp(b->at[i].name, name)) {
			b->at[i].ms += ms;
			return;
		}
	if (b->n == PARTS_MOST)
		return;
	struct part *p = &b->at[b->n++];
	*p = (struct part){ .name = name, .ms = ms };
	snprintf(p->class, sizeof(p->class), "%s%s", class, key);
	for (char *c = p->class; *c; c++) /* a cause or phase may not be a class's name */
		if (!strchr("abcdefghijklmnopqrstuvwxyz-_ ", *c))
			*c = '-';
}

static double sum(const struct bar *b)
{
	double ms = 0;
	for (size_t i = 0; i < b->n; i++)
		ms += b->at[i].ms;
	return ms;
}

static void write_bar(struct html_out *o, const struct bar *b, const char *title, int64_t device)
{
	double all = sum(b);
	if (!(all > 0))
		return;
	html_raw(o, "<div class=\"stacked\"><h4>");
	html_text(o, title);
	if (device >= 0)
		html_rawf(o, " %lld", (long long)device);
	html_raw(o, " <span class=\"sum\">");
	html_number(o, HTML_MS, all);
	html_raw(o, " ms</span></h4><div class=\"bar-of-step\">");
	for (size_t i = 0; i < b->n; i++) {
		const struct part *p = &b->at[i];
		html_rawf(o, "<i class=\"%s\" style=\"width:%.3f%%\" title=\"", p->class,
			  p->ms / all * 100);
		html_text(o, p->name);
		html_raw(o, ": ");
		html_number(o, HTML_MS, p->ms);
		html_raw(o, " ms\"></i>");
	}
	html_raw(o, "</div><ul class=\"legend\">");
	for (size_t i = 0; i < b->n; i++) {
		const struct part *p = &b->at[i];
		html_rawf(o, "<li><i class=\"key %s\"></i>", p->class);
		html_text(o, p->name);
		html_raw(o, " <b>");
		html_number(o, HTML_MS, p->ms);
		html_rawf(o, "</b> ms, %.0f %%</li>", p->ms / all * 100);
	}
	html_raw(o, "</ul></div>\n");
}

/* A bar of one device: what it runs, then why it idles. */
static void write_gpu(const struct html_view *v, const json_t *gpu)
{
	struct bar b = { .n = 0 };
	double device = html_number_at(gpu, "device");
	const json_t *row;
	size_t i;
	for (i = 0; (row = json_array_get(json_object_get(v->process, "gpu_use"), i)); i++)
		if (html_number_at(row, "device") == device)
			add(&b, "use-", html_text_at(row, "what"), html_text_at(row, "what"),
			    html_number_at(row, "ms_per_step"));
	if (!b.n)
		add(&b, "use-computation", "", "busy", html_number_at(gpu, "busy_ms_per_step"));
	for (i = 0; (row = json_array_get(json_object_get(v->process, "idle"), i)); i++) {
		const char *cause = html_text_at(row, "cause"), *noun = report_cause_noun(cause);
		if (html_number_at(row, "device") == device)
			add(&b, "idle cause-", cause, *noun ? noun : cause,
			    html_number_at(row, "ms_per_step"));
	}
	write_bar(v->out, &b, "GPU", (int64_t)device);
}

static void write_phases(const struct html_view *v)
{
	struct bar b = { .n = 0 };
	const json_t *row;
	size_t i;
	for (i = 0; (row = json_array_get(json_object_get(v->process, "phases"), i)); i++)
		add(&b, "phase-", html_text_at(row, "name"), html_text_at(row, "name"),
		    html_number_at(row, "host_ms_per_step"));
	write_bar(v->out, &b, "CPU, by phase", -1);
}

void html_chart_step(const struct html_view *v)
{
	const json_t *gpu;
	size_t i;
	if (!json_array_size(json_object_get(v->process, "gpu")) &&
	    !json_array_size(json_object_get(v->process, "phases")))
		return;
	html_raw(v->out, "<section class=\"card wide\">");
	html_heading(v, "h3", "step-bar",
		     v->is_unit ? "Where the time of the run goes" : "Where a step goes");
	html_basis(v);
	for (i = 0; (gpu = json_array_get(json_object_get(v->process, "gpu"), i)); i++)
		write_gpu(v, gpu);
	write_phases(v);
	html_raw(v->out, "</section>\n");
}
