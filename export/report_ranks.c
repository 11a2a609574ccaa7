/*
 * See report_ranks.h. Ranks that exchange data in every step all have equally long steps, even if
 * only one of them is slow. But the slow rank arrives last at a collective, so it does not wait,
 * and spends the least time in collectives. The reason is the phase in which the slow rank takes
 * longer than the others.
 */
#include "export/report_ranks.h"

#include "export/report_meetings.h"
#include "export/report_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32 };

/* A wait that is shorter than this share of the step, or than this time, is noise. */
static const double worth_share = 0.05, worth_least_ms = 0.05;

/* ---- From the processes ---- */

/* Returns the mean length of the recorded steps, to which all other figures of the ranks refer. If
 * it is not known, returns the median of all steps. */
static double step_ms(const struct report_process *p)
{
	const struct report_baseline *b = &p->baseline;
	return b->recorded_ms ? b->recorded_ms->mean : b->step_ms ? b->step_ms->p50 : 0;
}

/*
 * Returns the GPU time in kernels of collectives plus the GPU idle time caused by collectives. If
 * such kernels overlap, on several streams or devices, their sum may be longer than the step. The
 * rank did not wait longer than the step.
 */
static double collective_ms(const struct report_process *p)
{
	double sum = 0;
	for (size_t i = 0; i < p->kernels.n; i++)
		if (!strncmp(p->kernels.at[i].name, "nccl", strlen("nccl")))
			sum += report_or_zero(p->kernels.at[i].gpu_ms);
	for (size_t i = 0; i < p->idle.n; i++)
		if (!strcmp(p->idle.at[i].cause, "collective"))
			sum += p->idle.at[i].ms;
	return step_ms(p) > 0 ? fmin(sum, step_ms(p)) : sum;
}

static double phase_ms(const struct report_process *p, const char *name)
{
	for (size_t i = 0; i < p->phases.n; i++)
		if (!strcmp(p->phases.at[i].name, name))
			return p->phases.at[i].host_ms;
	return 0;
}

/* Fills what the rank's first device did during the step. */
static void read_use(struct report_rank *r, const struct report_process *p)
{
	for (size_t i = 0; i < p->use.n; i++) {
		const struct report_use *u = &p->use.at[i];
		if (u->device != p->gpu.at[0].device)
			continue;
		bool computes = strstr(u->what, "computation"),
		     communicates = strstr(u->what, "communication");
		if (computes && communicates)
			r->overlap_ms += u->ms;
		else if (computes)
			r->computation_ms += u->ms;
		else if (communicates)
			r->communication_ms += u->ms;
	}
	double rest_ms = r->step_ms - r->computation_ms - r->overlap_ms - r->communication_ms;
	r->rest_ms = fmax(0, rest_ms);
}

static struct report_rank read_rank(const struct report_process *p)
{
	const struct sample_summary *lengths = p->baseline.step_ms ? p->baseline.step_ms
								   : p->baseline.recorded_ms;
	struct report_rank r = { .rank = p->rank,
				 .pid = p->facts.pid,
				 .step_ms = step_ms(p),
				 .p95_ms = lengths ? lengths->p95 : 0,
				 .gpu_busy_pct = p->gpu.at[0].busy_pct,
				 .collective_ms = collective_ms(p),
				 .verdict = p->bound.verdict,
				 .waits = p->waits };
	for (size_t i = 0; i < REPORT_PHASES; i++)
		r.phase_ms[i] = phase_ms(p, report_phase_names[i]);
	read_use(&r, p);
	return r;
}

static int by_number(const void *a, const void *b)
{
	const struct report_rank *x = a, *y = b;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Fills in the list of ranks. Returns false if this is not a job of several ranks. */
static bool read_ranks(struct report_ranks *all, const struct report *r, struct arena *a)
{
	list_make(a, &all->list, r->processes.n);
	all->list.n = 0;
	for (size_t i = 0; i < r->processes.n; i++) {
		const struct report_process *p = r->processes.at[i];
		if (p->rank >= 0 && p->gpu.n)
			all->list.at[all->list.n++] = read_rank(p);
	}
	if (all->list.n < 2)
		return false;
	qsort(all->list.at, all->list.n, sizeof(*all->list.at), by_number);
	for (size_t i = 1; i < all->list.n; i++)
		if (!by_number(&all->list.at[i - 1], &all->list.at[i]))
			return false;
	return true;
}

/* ---- Which rank the others wait for ---- */

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Returns the median of one figure over all ranks except `left_out`. `offset`: the figure's offset
 * in struct report_rank. */
static double median_of_others(const struct report_ranks *all, size_t left_out, size_t offset)
{
	double *values = mem_zero(all->list.n * sizeof(*values)), median = 0;
	size_t n = 0;
	for (size_t i = 0; i < all->list.n; i++)
		if (i != left_out)
			memcpy(&values[n++], (const char *)&all->list.at[i] + offset,
			       sizeof(*values));
	if (n) {
		qsort(values, n, sizeof(*values), by_value);
		median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
	}
	free(values);
	return median;
}

/* Returns the phase in which the rank exceeds the median of the others most. Stores in `more_ms` by
 * how much. */
static size_t longest_phase(const struct report_ranks *all, size_t rank, double *more_ms)
{
	size_t most = 0;
	*more_ms = -INFINITY;
	for (size_t i = 0; i < REPORT_PHASES; i++) {
		size_t offset = offsetof(struct report_rank, phase_ms) + i * sizeof(double);
		double ms = all->list.at[rank].phase_ms[i] - median_of_others(all, rank, offset);
		if (ms <= *more_ms)
			continue;
		*more_ms = ms;
		most = i;
	}
	return most;
}

static struct report_straggler *find_straggler(const struct report_ranks *all, struct arena *a)
{
	size_t last = 0;
	double more_ms;
	for (size_t i = 1; i < all->list.n; i++)
		if (all->list.at[i].collective_ms < all->list.at[last].collective_ms)
			last = i;
	const struct report_rank *r = &all->list.at[last];
	double waited_ms =
		median_of_others(all, last, offsetof(struct report_rank, collective_ms)) -
		r->collective_ms;
	if (waited_ms < worth_least_ms || waited_ms < worth_share * r->step_ms)
		return NULL;
	struct report_straggler *s = arena_zero(a, sizeof(*s));
	size_t phase = longest_phase(all, last, &more_ms);
	bool is_host = more_ms >= waited_ms / 4; /* otherwise the CPU is not the reason */
	*s = (struct report_straggler){ r->rank, waited_ms,
					is_host ? report_phase_names[phase] : "",
					is_host ? more_ms : NAN };
	return s;
}

void report_compare(struct report *r)
{
	struct report_ranks *all = arena_zero(&r->arena, sizeof(*all));
	report_meetings_join(r);
	r->ranks = NULL;
	if (!read_ranks(all, r, &r->arena))
		return;
	all->straggler = find_straggler(all, &r->arena);
	r->ranks = all;
}

/* ---- In words ---- */

const struct report_process *report_ranks_straggler(const struct report *r)
{
	const struct report_straggler *s = r->ranks ? r->ranks->straggler : NULL;
	for (size_t i = 0; s && i < r->processes.n; i++)
		if (r->processes.at[i]->rank == s->rank)
			return r->processes.at[i];
	return NULL;
}

void report_ranks_say_straggler(struct textout *o, const struct report *r)
{
	char text[200], ms[NUMBER_BYTES], more[NUMBER_BYTES];
	const struct report_straggler *s = r->ranks ? r->ranks->straggler : NULL;
	if (!s)
		return;
	report_ms(ms, sizeof(ms), s->ms);
	size_t used = (size_t)snprintf(text, sizeof(text),
				       "wait %s ms per recorded step for rank %lld", ms,
				       (long long)s->rank);
	if (!strcmp(s->phase, "other"))
		snprintf(text + used, sizeof(text) - used,
			 ": its code outside of all phases takes %s ms longer than on the other "
			 "ranks",
			 report_ms(more, sizeof(more), s->phase_ms));
	else if (*s->phase)
		snprintf(text + used, sizeof(text) - used,
			 ": its %s phase is %s ms longer than on the other ranks", s->phase,
			 report_ms(more, sizeof(more), s->phase_ms));
	text_wrap(o, TEXT_RED, "ranks    ", text, 2);
}

void report_ranks_say(struct textout *o, const struct report *r)
{
	static const struct text_column columns[] = {
		{ "rank", COLUMN_NUMBER },     { "step", COLUMN_NUMBER },
		{ "GPU util", COLUMN_NUMBER }, { "collectives", COLUMN_NUMBER },
		{ "data", COLUMN_NUMBER },     { "forward", COLUMN_NUMBER },
		{ "backward", COLUMN_NUMBER }, { "bottleneck", COLUMN_TEXT },
	};
	enum { PHASES_SHOWN = 3 }; /* data, forward, backward */
	struct text_table t;
	char ms[NUMBER_BYTES];
	if (!r->ranks || !r->ranks->list.n)
		return;
	text_line(o, TEXT_PLAIN, "%s", "");
	text_line(o, TEXT_BOLD, "All %zu ranks, ms per recorded step", r->ranks->list.n);
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < r->ranks->list.n; i++) {
		const struct report_rank *x = &r->ranks->list.at[i];
		table_cell(&t, "%lld", (long long)x->rank);
		table_cell(&t, "%s", report_ms(ms, sizeof(ms), x->step_ms));
		table_cell(&t, "%.0f %%", x->gpu_busy_pct);
		table_cell(&t, "%s", report_ms(ms, sizeof(ms), x->collective_ms));
		for (size_t k = 0; k < PHASES_SHOWN; k++)
			table_cell(&t, "%s", report_ms(ms, sizeof(ms), x->phase_ms[k]));
		table_cell(&t, "%s", report_verdict_or_unclear(x->verdict));
	}
	table_end(&t, o);
}

void report_ranks_say_use(struct textout *o, const struct report *r)
{
	static const struct text_column columns[] = {
		{ "rank", COLUMN_NUMBER },	 { "computes", COLUMN_NUMBER },
		{ "both", COLUMN_NUMBER },	 { "communicates", COLUMN_NUMBER },
		{ "other", COLUMN_NUMBER },	 { "waits", COLUMN_NUMBER },
		{ "waited for", COLUMN_NUMBER }, { "comes last", COLUMN_NUMBER },
	};
	struct text_table t;
	char ms[NUMBER_BYTES];
	if (!r->ranks || !r->ranks->list.n)
		return;
	text_line(o, TEXT_PLAIN, "%s", "");
	text_line(o, TEXT_BOLD, "%s", "GPU time and waits by rank, ms per recorded step");
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < r->ranks->list.n; i++) {
		const struct report_rank *x = &r->ranks->list.at[i];
		const double values[] = { x->computation_ms, x->overlap_ms,    x->communication_ms,
					  x->rest_ms,	     x->waits.wait_ms, x->waits.late_ms };
		table_cell(&t, "%lld", (long long)x->rank);
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++)
			table_cell(&t, "%s", report_ms_or_dash(ms, sizeof(ms), values[k]));
		if (isfinite(x->waits.last_pct))
			table_cell(&t, "%.0f %%", x->waits.last_pct);
		else
			table_cell(&t, "-");
	}
	table_end(&t, o);
	text_wrap(o, TEXT_DIM, "  ",
		  "both: computes and communicates at once; waits: for other ranks, within its "
		  "collectives; waited for: how long the others wait for it, on average; comes "
		  "last: share of its collectives",
		  3);
}
