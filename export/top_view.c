/* See top_view.h. */
#include "export/top_view.h"

#include "export/progress_words.h"
#include "export/report_head.h"
#include "export/report_words.h"
#include "export/sparkline.h"

#include <math.h>
#include <time.h>

enum {
	NUMBER_BYTES = 32,
	WORDS_BYTES = 120,
	PLACE_BYTES = 600,
	TABLE_COLUMNS = 69, /* without the sparkline */
	SPARK_LEAST = 11,   /* columns; as many as fit on 80 */
	SPARK_MOST = 64,    /* BASELINE_RECENT */
	SPARK_BYTES = SPARK_MOST * 4,
	LINES_MOST = 5, /* hottest lines */
	LEAST_ROWS = 3, /* of the table, on a small screen */
	DETAIL_ROWS = 15,
	EVIDENCE_MOST = 1,
	LIMIT_LINES = 2,
	LIMIT_COLUMNS = 15,
	GAPS_MOST = 2,
	STILL_S = 5,
};

/* ---- Order ---- */

static double gpu_pct(const struct live_process *p)
{
	return p->report && p->report->gpu.n ? p->report->gpu.at[0].busy_pct : NAN;
}

static int64_t drops(const struct live_process *p)
{
	const struct facts_losses *l = p->facts ? &p->facts->losses : NULL;
	return l ? l->dropped + l->dropped_by_cupti : -1;
}

/* The value by which rows are sorted, smallest first. Unknown values come last. */
static double sort_value(const struct top_row *r, enum top_sort sort)
{
	double value = sort == TOP_BY_STEP_MS ? -r->p.step_ms
		       : sort == TOP_BY_GPU   ? gpu_pct(&r->p)
		       : sort == TOP_BY_STEPS ? (r->p.steps < 0 ? NAN : (double)r->p.steps)
		       : sort == TOP_BY_DROPS ? -(double)drops(&r->p)
					      : 0;
	return isnan(value) ? INFINITY : value;
}

static bool is_before(const struct top_row *a, const struct top_row *b, enum top_sort sort)
{
	double x = sort_value(a, sort), y = sort_value(b, sort);
	if (x < y || x > y)
		return x < y;
	int order = strcmp(a->p.job->folder, b->p.job->folder);
	return order ? order < 0 : a->p.pid < b->p.pid;
}

/* Keeps the selected process selected. There are few rows. */
void top_sort_rows(struct top_view *v)
{
	uint32_t pid = v->selected < v->rows.n ? v->rows.at[v->selected].p.pid : 0;
	for (size_t i = 1; i < v->rows.n; i++)
		for (size_t k = i; k && is_before(&v->rows.at[k], &v->rows.at[k - 1], v->sort);
		     k--) {
			struct top_row moved = v->rows.at[k];
			v->rows.at[k] = v->rows.at[k - 1];
			v->rows.at[k - 1] = moved;
		}
	for (size_t i = 0; i < v->rows.n; i++)
		if (v->rows.at[i].p.pid == pid)
			v->selected = i;
}

/* ---- The table ---- */

static const char *sort_name(enum top_sort sort)
{
	static const char *const names[TOP_SORTS] = { "by run", "slowest first",
						      "lowest GPU utilization first",
						      "fewest steps first", "most drops first" };
	return names[sort];
}

static size_t spark_columns(const struct picture *p)
{
	size_t room = p->columns > TABLE_COLUMNS + SPARK_LEAST ? p->columns - TABLE_COLUMNS
							       : SPARK_LEAST;
	return room < SPARK_MOST ? room : SPARK_MOST;
}

static void draw_head(struct picture *p, const struct top_view *v)
{
	size_t n_runs = 0;
	for (size_t i = 0; i < v->rows.n; i++) {
		bool is_new = true;
		for (size_t k = 0; k < i; k++)
			is_new &= v->rows.at[k].p.run != v->rows.at[i].p.run;
		n_runs += is_new;
	}
	char now[NUMBER_BYTES] = "";
	time_t seconds = time(NULL);
	struct tm broken;
	if (localtime_r(&seconds, &broken))
		strftime(now, sizeof(now), "%H:%M:%S", &broken);
	picture_line(p, TEXT_BOLD, "profrun top  %s  %zu process%s of %zu run%s, %s", now,
		     v->rows.n, v->rows.n == 1 ? "" : "es", n_runs, n_runs == 1 ? "" : "s",
		     sort_name(v->sort));
	picture_line(p, TEXT_DIM, "%7s %4s %9s %8s %*s %5s %-15s %8s %5s", "PID", "RANK", "STEPS",
		     "STEP MS", (int)spark_columns(p), "RECENT", "GPU", "LIMITED BY", "PEAK MEM",
		     "DROPS");
}

static char *percent(char *to, size_t bytes, double pct)
{
	snprintf(to, bytes, isnan(pct) ? "-" : "%.0f %%", pct);
	return to;
}

static char *memory(char *to, size_t bytes, const struct live_process *p)
{
	bool is_device;
	int64_t peak = p->report ? report_peak_bytes(&p->report->memory, &is_device) : 0;
	snprintf(to, bytes, "-");
	return peak > 0 ? report_bytes(to, bytes, (double)peak) : to;
}

/* text_width() counts a block as one column, "%*s" as several bytes. */
static char *recent(char *to, const struct live_process *p, size_t columns, bool has_blocks)
{
	bool is_any = p->facts && p->facts->steps.recent_ns.n;
	if (is_any)
		return sparkline(to, SPARK_BYTES, p->facts->steps.recent_ns.at,
				 p->facts->steps.recent_ns.n, columns, has_blocks);
	snprintf(to, SPARK_BYTES, "%*s", (int)columns, "-");
	return to;
}

static void draw_row(struct picture *p, const struct top_view *v, size_t i)
{
	const struct live_process *x = &v->rows.at[i].p;
	char steps[NUMBER_BYTES], ms[NUMBER_BYTES], spark[SPARK_BYTES], gpu[NUMBER_BYTES],
		limit[WORDS_BYTES] = "", fitted[TEXT_BYTES], mem[NUMBER_BYTES], lost[NUMBER_BYTES];
	if (x->report)
		report_limit(limit, sizeof(limit), &x->report->bound);
	picture_line(p, v->rows.at[i].still_s > STILL_S ? TEXT_RED : TEXT_PLAIN,
		     "%7u %4.4s %9s %8s %s %5s %-15s %8s %5s", x->pid, *x->rank ? x->rank : "-",
		     x->steps >= 0 ? report_count(steps, sizeof(steps), x->steps) : "-",
		     report_ms_or_dash(ms, sizeof(ms), x->step_ms),
		     recent(spark, x, spark_columns(p), v->has_blocks),
		     percent(gpu, sizeof(gpu), gpu_pct(x)),
		     text_fit(fitted, sizeof(fitted), *limit ? limit : "-", LIMIT_COLUMNS,
			      CUT_TAIL),
		     memory(mem, sizeof(mem), x),
		     drops(x) >= 0 ? report_count(lost, sizeof(lost), drops(x)) : "-");
}

/* Draws at most `most` rows, so that the selected one is among them. */
static void draw_table(struct picture *p, const struct top_view *v, size_t most)
{
	size_t first = v->selected >= most ? v->selected - most + 1 : 0;
	draw_head(p, v);
	for (size_t i = first; i < v->rows.n && i - first < most; i++) {
		draw_row(p, v, i);
		if (most < v->rows.n || i == v->selected)
			p->lines[p->n - 1].is_selected = i == v->selected;
	}
}

/* ---- Details of one process ---- */

static void draw_steps(struct picture *p, const struct top_row *r)
{
	const struct process_facts *f = r->p.facts;
	const struct sample_summary *ms = f->steps.step_ms;
	char count[NUMBER_BYTES], p50[NUMBER_BYTES], p95[NUMBER_BYTES], detector[WORDS_BYTES],
		action[WORDS_BYTES], lengths[WORDS_BYTES] = "", still[WORDS_BYTES] = "";
	if (r->p.steps < 0) {
		picture_line(p, TEXT_PLAIN, "  steps     %s",
			     progress_action(action, sizeof(action), &f->steps));
		return;
	}
	if (ms)
		snprintf(lengths, sizeof(lengths), " of %s ms (median; p95 %s)",
			 report_ms(p50, sizeof(p50), ms->p50),
			 report_ms(p95, sizeof(p95), ms->p95));
	if (r->still_s > STILL_S)
		snprintf(still, sizeof(still), "; no step began for %.0f s", r->still_s);
	picture_line(p, TEXT_PLAIN, "  steps     %s%s, %s",
		     report_count(count, sizeof(count), r->p.steps), lengths,
		     report_detector(detector, sizeof(detector), &f->steps));
	picture_line(p, *still ? TEXT_RED : TEXT_PLAIN, "  now       %s%s",
		     progress_action(action, sizeof(action), &f->steps), still);
}

static void draw_gpus(struct picture *p, const struct report_process *r)
{
	char text[TEXT_BYTES] = "", numbers[WORDS_BYTES], of[2 * WORDS_BYTES] = "";
	const struct facts_steps *s = &r->facts.steps;
	for (size_t i = 0; i < r->gpu.n; i++)
		text_append(text, sizeof(text), "%sGPU %lld %.0f %%", i ? ", " : "utilization ",
			    (long long)r->gpu.at[i].device, r->gpu.at[i].busy_pct);
	if (s->recorded.n)
		snprintf(of, sizeof(of), " (recorded steps %s)",
			 report_numbers(numbers, sizeof(numbers), s->recorded.at, s->recorded.n));
	picture_line(p, TEXT_PLAIN, "  GPU       %s%s", *text ? text : "-", of);
}

static void draw_limit(struct picture *p, const struct report_process *r)
{
	char limit[WORDS_BYTES], between[4 * WORDS_BYTES], confidence[NUMBER_BYTES] = "",
							   text[TEXT_BYTES];
	const struct report_bound *b = &r->bound;
	report_limit(limit, sizeof(limit), b);
	if (!*limit)
		return;
	if (!b->between.n)
		snprintf(confidence, sizeof(confidence), " (confidence %.0f %%)",
			 b->confidence * 100);
	snprintf(text, sizeof(text), "%s%s%s%s", limit, confidence, b->between.n ? ": " : "",
		 b->between.n ? report_between(between, sizeof(between), b) : "");
	picture_wrap(p, TEXT_BOLD, "  limit     ", text, LIMIT_LINES);
	for (size_t i = 0; i < b->evidence.n && i < EVIDENCE_MOST; i++)
		picture_wrap(p, TEXT_PLAIN, "            - ", b->evidence.at[i], LIMIT_LINES);
}

static void draw_memory(struct picture *p, const struct report_process *r)
{
	char bytes[NUMBER_BYTES];
	bool is_device;
	int64_t peak = report_peak_bytes(&r->memory, &is_device);
	if (peak > 0)
		picture_line(p, TEXT_PLAIN, "  memory    peak %s of %s",
			     report_bytes(bytes, sizeof(bytes), (double)peak),
			     is_device ? "device memory" : "PyTorch's allocator");
}

static void draw_lines(struct picture *p, const struct report_process *r, const char *cwd)
{
	char ms[NUMBER_BYTES], place[PLACE_BYTES], fitted[TEXT_BYTES];
	if (!r->host.n)
		return;
	picture_line(p, TEXT_BOLD, "  CPU between calls, ms per step");
	for (size_t i = 0; i < r->host.n && i < LINES_MOST; i++) {
		const struct report_host *h = &r->host.at[i];
		report_host_place(place, sizeof(place), h, cwd);
		picture_line(p, TEXT_PLAIN, "  %8s  %-9.9s %s",
			     report_ms_or_dash(ms, sizeof(ms), h->self_ms), h->kind,
			     text_fit(fitted, sizeof(fitted), place, p->columns - 22, CUT_HEAD));
	}
}

static void draw_gaps(struct picture *p, const struct report_process *r)
{
	char text[TEXT_BYTES];
	for (size_t i = 0; i < r->unavailable.n && i < GAPS_MOST; i++) {
		snprintf(text, sizeof(text), "%s: %s", r->unavailable.at[i].what,
			 r->unavailable.at[i].why);
		picture_wrap(p, TEXT_DIM, "  -         ", text, LIMIT_LINES);
	}
}

/* Says why columns are "-". */
static void draw_reasons(struct picture *p, const struct live_process *x)
{
	if (!x->has_collector)
		picture_line(p, TEXT_RED,
			     "  -         its collector has ended; `profrun.sh collect DIR &` "
			     "starts "
			     "another");
	else if (!x->facts)
		picture_line(p, TEXT_DIM, "  -         the collector has saved no figures yet");
	else if (!x->report || !x->report->gpu.n)
		picture_wrap(p, TEXT_DIM, "  -         ",
			     "GPU, limit, memory and lines are known after the first recorded "
			     "steps",
			     LIMIT_LINES);
	if (x->report)
		draw_gaps(p, x->report);
}

static void draw_details(struct picture *p, const struct top_row *r)
{
	const struct live_process *x = &r->p;
	picture_line(p, TEXT_BOLD, "process %u%s%s: %s", x->pid, *x->rank ? ", rank " : "", x->rank,
		     *x->command ? report_own_command(x->command) : "-");
	picture_line(p, TEXT_PLAIN, "  run       %s", x->job->folder);
	if (x->facts)
		draw_steps(p, r);
	if (x->report) {
		draw_gpus(p, x->report);
		draw_limit(p, x->report);
		draw_memory(p, x->report);
		draw_lines(p, x->report, x->run->report.run.cwd);
	}
	draw_reasons(p, x);
}

/* ---- The whole ---- */

static void draw_keys(struct picture *p, const struct top_view *v)
{
	static const char keys[] = "up/down select   t record the next steps   s sort   q quit";
	picture_skip_to(p, p->rows - 1);
	p->n = p->n < p->rows ? p->n : p->rows - 1;
	picture_line(p, *v->message ? TEXT_GREEN : TEXT_DIM, "%s", *v->message ? v->message : keys);
}

void top_draw(struct picture *p, const struct top_view *v)
{
	size_t room = p->rows > DETAIL_ROWS + LEAST_ROWS ? p->rows - DETAIL_ROWS : LEAST_ROWS;
	draw_table(p, v, room);
	picture_line(p, TEXT_PLAIN, "%s", "");
	if (v->selected < v->rows.n)
		draw_details(p, &v->rows.at[v->selected]);
	else
		picture_line(p, TEXT_PLAIN, "No profiled job is running any more.");
	draw_keys(p, v);
}

void top_draw_all(struct picture *p, const struct top_view *v)
{
	draw_table(p, v, v->rows.n);
	for (size_t i = 0; i < v->rows.n; i++) {
		picture_line(p, TEXT_PLAIN, "%s", "");
		draw_details(p, &v->rows.at[i]);
	}
}
