/* Compares the step times of two runs. See diff.h. */
#include "export/diff.h"

#include "export/report_head.h"
#include "export/report_steps.h"
#include "export/report_words.h"

#include <math.h>

/* ---- What is compared ---- */

static const char *detector(const struct diff_side *s)
{
	return s->slowest->facts.steps.detector;
}

/* The clock, and not the program, sets the length of slices. */
static bool has_slices(const struct diff_side *s)
{
	return !strcmp(detector(s), "slices") || !strncmp(detector(s), "time", strlen("time"));
}

bool diff_is_whole_run(const struct diff_side *s)
{
	return report_is_unit(s->slowest) || !s->slowest->facts.steps.recorded.n;
}

bool diff_has_steps(const struct diff_side *s)
{
	return !report_is_unit(s->slowest) && !has_slices(s);
}

static const char *text(struct diff *d, const char *words)
{
	return arena_text(&d->arena, words);
}

static const char *write_command(struct diff *d, const struct report_run *run)
{
	char words[1000] = "";
	for (size_t i = 0; i < run->command.n; i++)
		text_append(words, sizeof(words), "%s%s", i ? " " : "",
			    report_short_path(run->command.at[i], run->cwd));
	return text(d, words);
}

static int64_t n_ranks(const struct report *r)
{
	int64_t n = 0;
	for (size_t i = 0; i < r->processes.n; i++)
		n += r->processes.at[i]->rank >= 0;
	return n;
}

/* Writes "rank 3", "mean of 8 ranks" or "process 12 of 3". */
static const char *write_process(struct diff *d, const struct diff_side *s)
{
	char words[120], name[40];
	size_t n_all = s->made.report.processes.n;
	if (s->compared.n > 1)
		snprintf(words, sizeof(words), "mean of %zu ranks%s", s->compared.n,
			 s->compared.n < n_all ? " that both have" : "");
	else if (n_all > 1)
		snprintf(words, sizeof(words), "%s, one of %zu processes",
			 report_name_of(name, sizeof(name), s->slowest), n_all);
	else
		report_name_of(words, sizeof(words), s->slowest);
	return text(d, words);
}

static const char *write_steps(struct diff *d, const struct diff_side *s)
{
	char words[200], how[100], numbers[120];
	const struct facts_steps *steps = &s->slowest->facts.steps;
	report_numbers(numbers, sizeof(numbers), steps->recorded.at, steps->recorded.n);
	if (report_is_unit(s->slowest))
		snprintf(words, sizeof(words), "no steps: figures are of the whole %s",
			 s->is_trace ? "trace" : "run");
	else if (diff_is_whole_run(s))
		snprintf(words, sizeof(words),
			 "steps %s; none recorded: other figures are of the whole run",
			 report_detector(how, sizeof(how), steps));
	else
		snprintf(words, sizeof(words), "steps %s; recorded: %s",
			 report_detector(how, sizeof(how), steps), numbers);
	return text(d, words);
}

static void describe(struct diff *d, struct diff_source *to, const struct diff_side *s)
{
	*to = (struct diff_source){
		.path = s->path,
		.tool = s->is_trace ? "torch.profiler" : "profrun",
		.command = write_command(d, &s->made.report.run),
		.process = write_process(d, s),
		.steps = write_steps(d, s),
		.processes = (int64_t)s->made.report.processes.n,
		.ranks = n_ranks(&s->made.report),
		.n_steps = (int64_t)s->slowest->baseline.lengths_ns.n,
	};
}

/* ---- Step times ---- */

static struct diff_step step_of(const struct difference *x)
{
	double pct = x->a > 0 ? 100 / x->a : NAN;
	return (struct diff_step){
		.a_ms = x->a,
		.b_ms = x->b,
		.change_ms = x->b - x->a,
		.change_pct = pct * (x->b - x->a),
		.interval_ms = { x->low, x->high },
		.interval_pct = { pct * x->low, pct * x->high },
	};
}

static float *lengths_ms(const struct report_process *p)
{
	size_t n = p->baseline.lengths_ns.n;
	float *ms = mem_resize(NULL, n * sizeof(*ms));
	for (size_t i = 0; i < n; i++)
		ms[i] = (float)((double)p->baseline.lengths_ns.at[i] / 1e6);
	return ms;
}

static struct differences compare(const struct report_process *a, const struct report_process *b)
{
	float *of_a = lengths_ms(a), *of_b = lengths_ms(b);
	struct differences found =
		difference_find(of_a, a->baseline.lengths_ns.n, of_b, b->baseline.lengths_ns.n);
	free(of_a);
	free(of_b);
	return found;
}

static bool has_lengths(const struct report_process *p)
{
	return p->baseline.lengths_ns.n > 0;
}

static struct diff_step *keep(struct diff *d, struct diff_step step)
{
	struct diff_step *to = arena_zero(&d->arena, sizeof(*to));
	*to = step;
	return to;
}

/* The figures of the lists are those of recorded steps. */
static void compare_recorded(struct diff *d, const struct sample_summary *a,
			     const struct sample_summary *b)
{
	if (a && b)
		d->recorded = keep(d, step_of(&(struct difference){ a->mean, b->mean, NAN, NAN }));
}

/* Returns a positive number if the step is clearly slower, a negative one if it is clearly
 * faster. */
static int direction(const struct diff_step *s)
{
	return (s->interval_ms.low > 0) - (s->interval_ms.high < 0);
}

/* The median does not see what happens in less than half of the steps, the mean does. */
static const char *verdict(const struct diff *d)
{
	int median = direction(d->median), mean = direction(d->mean);
	if (!isfinite(d->median->interval_ms.low))
		return "unknown";
	if (median && mean && median != mean)
		return "mixed";
	return median + mean > 0 ? "slower" : median + mean < 0 ? "faster" : "no difference";
}

static const char *why_unknown(const struct diff_side sides[DIFF_SIDES])
{
	static const char *const whole[] = { "A has no steps", "B has no steps" };
	static const char *const slices[] = {
		"A has slices of time in place of steps, and the clock sets their length",
		"B has slices of time in place of steps, and the clock sets their length",
	};
	static const char *const few[] = { "A has fewer than two steps after the warm-up",
					   "B has fewer than two steps after the warm-up" };
	for (int i = 0; i < DIFF_SIDES; i++) {
		if (report_is_unit(sides[i].slowest))
			return whole[i];
		if (has_slices(&sides[i]))
			return slices[i];
	}
	for (int i = 0; i < DIFF_SIDES; i++)
		if (sides[i].slowest->baseline.lengths_ns.n < 2)
			return few[i];
	return "";
}

static void fill_ranks(struct diff *d, const struct diff_side sides[DIFF_SIDES])
{
	size_t n = sides[DIFF_A].compared.n;
	if (n < 2)
		return;
	list_make(&d->arena, &d->ranks, n);
	d->ranks.n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct report_process *a = sides[DIFF_A].compared.at[i],
					    *b = sides[DIFF_B].compared.at[i];
		if (!has_lengths(a) || !has_lengths(b))
			continue;
		struct differences found = compare(a, b);
		d->ranks.at[d->ranks.n++] = (struct diff_rank){
			.rank = a->rank,
			.step = step_of(&found.median),
			.busy_pct = { a->gpu.n ? a->gpu.at[0].busy_pct : NAN,
				      b->gpu.n ? b->gpu.at[0].busy_pct : NAN },
		};
	}
}

void diff_steps(struct diff *to, const struct diff_side sides[DIFF_SIDES])
{
	const struct report_process *a = sides[DIFF_A].slowest, *b = sides[DIFF_B].slowest;
	for (int i = 0; i < DIFF_SIDES; i++)
		describe(to, &to->source[i], &sides[i]);
	to->unit = diff_is_whole_run(&sides[DIFF_A]) ? "run" : "step";
	to->verdict = "unknown";
	to->verdict_why = why_unknown(sides);
	if (!diff_has_steps(&sides[DIFF_A]) || !diff_has_steps(&sides[DIFF_B]) || !has_lengths(a) ||
	    !has_lengths(b))
		return;
	struct differences found = compare(a, b);
	to->median = keep(to, step_of(&found.median));
	to->mean = keep(to, step_of(&found.mean));
	to->verdict = verdict(to);
	compare_recorded(to, a->baseline.recorded_ms, b->baseline.recorded_ms);
	fill_ranks(to, sides);
}

/* ---- The gate ---- */

void diff_judge(struct diff *d, double pct)
{
	d->gate = arena_zero(&d->arena, sizeof(*d->gate));
	*d->gate = (struct diff_gate){ .pct = pct, .result = "passed", .why = d->verdict_why };
	if (!d->median || !isfinite(d->median->interval_pct.low)) {
		d->gate->result = "not judged";
		return;
	}
	if (d->median->interval_pct.low > pct || d->mean->interval_pct.low > pct)
		d->gate->result = "failed";
}
