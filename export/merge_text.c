/* Prints how the ranks were put on one clock, and who comes last to which collective. */
#include "export/merge.h"

#include "export/report_words.h"
#include "export/textout.h"

#include <math.h>

enum { MS_BYTES = 32 };

/* ---- Clocks ---- */

static size_t ranks_of(const struct merge *m, size_t clock)
{
	size_t n = 0;
	for (size_t i = 0; i < m->ranks.n; i++)
		n += m->ranks.at[i].clock == clock;
	return n;
}

static const char *rank_with(const struct merge *m, size_t clock)
{
	for (size_t i = 0; i < m->ranks.n; i++)
		if (m->ranks.at[i].clock == clock)
			return m->ranks.at[i].name;
	return "";
}

static void describe(char *to, size_t bytes, const struct merge_clock *c)
{
	char shift[MS_BYTES], error[MS_BYTES];
	report_ms(shift, sizeof(shift), fabs((double)c->shift_ns / 1e6));
	switch (c->method) {
	case MERGE_REFERENCE:
		snprintf(to, bytes, "the common clock");
		break;
	case MERGE_COLLECTIVES:
		snprintf(to, bytes, "%s%s ms", c->shift_ns < 0 ? "-" : "+", shift);
		if (c->drift != 0)
			text_append(to, bytes, ", drift %+.3f ppm", c->drift * 1e6);
		text_append(to, bytes, ", from the ends of %llu collectives; error up to %s ms",
			    (unsigned long long)c->n_matched,
			    report_ms(error, sizeof(error), c->error_ns / 1e6));
		break;
	case MERGE_STEPS:
		snprintf(to, bytes,
			 "not known, as not all traces say when they were recorded: the first "
			 "steps are put at the same time");
		break;
	default:
		snprintf(to, bytes,
			 "%s%s ms, from the wall clocks: no collective in common; the error is "
			 "that of the machines' clocks and not known",
			 c->shift_ns < 0 ? "-" : "+", shift);
	}
}

/* Prints a line for each clock with ranks, for `top` of them. */
static void say_clocks(struct textout *o, const struct merge *m, unsigned top)
{
	char words[300], ms[MS_BYTES];
	bool is_first = true;
	size_t n_more = 0;
	double most_ns = 0;
	for (size_t i = 0; i < m->clocks.n; i++) {
		const struct merge_clock *c = &m->clocks.at[i];
		size_t n = ranks_of(m, i);
		if (!n)
			continue;
		if (!top) {
			n_more++;
			if (!isnan(most_ns) && !(c->error_ns <= most_ns))
				most_ns = c->error_ns;
			continue;
		}
		top--;
		describe(words, sizeof(words), c);
		const char *host = *c->host ? c->host : "unknown host",
			   *label = is_first ? "clocks   " : REPORT_UNDER;
		if (c->is_own)
			text_say(o, label, "%s on %s: %s", rank_with(m, i), host, words);
		else
			text_say(o, label, "%s (%zu rank%s): %s", host, n, n > 1 ? "s" : "", words);
		is_first = false;
	}
	if (n_more && isnan(most_ns))
		text_say(o, REPORT_UNDER, "%zu more clocks; the error of some is not known",
			 n_more);
	else if (n_more)
		text_say(o, REPORT_UNDER, "%zu more clocks; error up to %s ms", n_more,
			 report_ms(ms, sizeof(ms), most_ns / 1e6));
}

/* ---- Collectives ---- */

static const char *text_or_dash(const struct merge *m, uint32_t text)
{
	return text ? strtab_text(&m->texts, text) : "-";
}

static void add_row(struct text_table *t, const struct merge *m, const struct merge_row *r)
{
	char ms[MS_BYTES];
	double steps = (double)r->n_steps;
	table_cell(t, "%s", report_ms(ms, sizeof(ms), r->wait_ns / 1e6 / steps));
	table_cell(t, "%.4g", (double)r->n / steps);
	table_cell(t, "%s", text_or_dash(m, r->name));
	table_cell(t, "%s", text_or_dash(m, r->place));
	table_cell(t, "%s", m->ranks.at[r->last].name);
	table_cell(t, "%.0f %%", r->wait_ns > 0 ? 100 * r->last_ns / r->wait_ns : 0);
	table_cell(t, "%s", text_or_dash(m, r->before));
}

static void say_rows(struct textout *o, const struct merge *m, const merge_rows *rows, unsigned top)
{
	static const struct text_column columns[] = {
		{ "wait", COLUMN_NUMBER },     { "n", COLUMN_NUMBER },
		{ "collective", COLUMN_NAME }, { "line", COLUMN_PLACE },
		{ "last", COLUMN_WORD },       { "of wait", COLUMN_NUMBER },
		{ "it was at", COLUMN_PLACE },
	};
	struct text_table t;
	text_line(o, TEXT_PLAIN, "%s", "");
	text_line(o, TEXT_BOLD, "Who comes last to which collective, ms per step");
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < rows->n && i < top; i++)
		add_row(&t, m, &rows->at[i]);
	table_end(&t, o);
	if (rows->n > top)
		text_line(o, TEXT_DIM, "  %zu more", rows->n - top);
	text_wrap(o, TEXT_DIM, "  ",
		  "wait: how long the other ranks wait, on average; last: the rank for which they "
		  "wait longest, and its part of the wait; it was at: where that rank spent most "
		  "time since its collective before",
		  3);
}

void merge_text(struct textout *o, const struct merge *m, unsigned top)
{
	merge_rows rows = { 0 };
	uint64_t n_traces = 0;
	for (size_t i = 0; i < m->ranks.n; i++)
		n_traces += m->ranks.at[i].is_trace;
	say_clocks(o, m, top);
	merge_meet(&rows, m);
	if (rows.n)
		say_rows(o, m, &rows, top);
	else
		text_say(o, REPORT_UNDER, "%s",
			 n_traces ? "no collective has GPU times and a process group that two "
				    "ranks' traces name (old versions of PyTorch name none)"
				  : "no collective has GPU times on two ranks");
	vec_free(&rows);
}
