/*
 * Derives the gain of a change from the gains of single steps. Recorded steps may be few, and some
 * of them disturbed: under other load a step takes several times as long, and most changes would
 * save much of that. So the gain is that of typical steps, which take at most 1.5 times the median,
 * without a tenth of them at either end. If a change takes effect in few steps only (a checkpoint),
 * the gain is the mean over all steps, and the result says so.
 */
#include "core/whatif/whatif_parts.h"

#include "core/util/sample.h"

#include <math.h>

/* Times the median: a longer step is not typical. */
#define LONGER 1.5

enum {
	FEW_OF = 3,   /* few steps: at most one third */
	TRIM_OF = 10, /* typical steps left out at either end: one tenth */
	AGAIN = 2,    /* a gain in a single step may be chance */
	/* Longer steps that recur regularly, with at most this period, count as typical. */
	PERIOD_MOST = 5,
};

/* Share of the mean gain: if typical steps gain more, the gain is not one of few steps. */
static const double spread = 0.2;

static double median_ns(const double *ns, uint32_t n)
{
	float *sorted = mem_resize(NULL, n * sizeof(*sorted));
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = (float)ns[i];
	sample_sort(sorted, n);
	double median = sample_percentile_of(sorted, n, 0.5);
	free(sorted);
	return median;
}

static bool are_few(uint32_t n, uint32_t of)
{
	return n && n * FEW_OF <= of;
}

static double mean_of_typical(const struct whatif *w)
{
	double sum = 0;
	for (uint32_t i = 0; i < w->replay.n_steps; i++)
		sum += w->is_typical[i] ? w->lengths_ns[i] : 0;
	return sum / w->n_typical;
}

/* Returns true if longer steps recur regularly, such as every third step, from the first period to
 * the last. */
static bool come_regularly(const struct whatif *w)
{
	uint32_t n = w->replay.n_steps, first = 0, period = 1, longer = 0;
	while (first < n && w->is_typical[first])
		first++;
	while (first + period < n && w->is_typical[first + period])
		period++;
	for (uint32_t i = first; i < n; i += period)
		longer += !w->is_typical[i];
	bool is_all = longer == n - w->n_typical && longer == (n - first + period - 1) / period;
	return is_all && first < period && longer > AGAIN && period <= PERIOD_MOST;
}

void whatif_choose_typical(struct whatif *w)
{
	uint32_t n = w->replay.n_steps;
	w->lengths_ns = mem_zero(n * sizeof(*w->lengths_ns));
	w->gains_ns = mem_zero(n * sizeof(*w->gains_ns));
	w->is_typical = mem_zero(n * sizeof(*w->is_typical));
	replay_step_lengths(&w->replay, w->lengths_ns);
	double most = LONGER * median_ns(w->lengths_ns, n);
	for (uint32_t i = 0; i < n; i++)
		w->n_typical += w->is_typical[i] = w->lengths_ns[i] <= most;
	/* there are several kinds of steps */
	if (w->n_typical < n && (!are_few(n - w->n_typical, n) || come_regularly(w))) {
		memset(w->is_typical, true, n * sizeof(*w->is_typical));
		w->n_typical = n;
	}
	w->recorded_ns = mean_of_typical(w);
}

void whatif_measure_typical(struct whatif *w)
{
	replay_step_lengths(&w->replay, w->lengths_ns);
	w->step_ns = mean_of_typical(w) * w->undisturbed_share;
}

/* ---- Gains ---- */

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Finds the gain of typical steps and its range. Both leave out the same steps, so the gain lies in
 * the range. */
static void find_typical(const struct whatif *w, struct whatif_result *out)
{
	double *sorted = mem_resize(NULL, w->n_typical * sizeof(*sorted)), sum = 0;
	uint32_t n = 0, trim = w->n_typical / TRIM_OF;
	for (uint32_t i = 0; i < w->replay.n_steps; i++)
		if (w->is_typical[i])
			sorted[n++] = w->gains_ns[i];
	qsort(sorted, n, sizeof(*sorted), by_value);
	for (uint32_t i = trim; i < n - trim; i++)
		sum += sorted[i];
	out->gain_ms = sum / (n - 2 * trim) / 1e6;
	out->low_ms = n > 1 ? sorted[trim] / 1e6 : 0;
	out->high_ms = n > 1 ? sorted[n - 1 - trim] / 1e6 : 0;
	free(sorted);
}

static bool is_touched(const struct whatif *w, uint32_t op)
{
	const struct replay_op *o = &w->replay.ops.at[op];
	bool is_any = w->edit.op[op] || w->edit.cut_ns[op] > 0;
	for (uint32_t i = o->first_work; w->is_scaled && i < o->first_work + o->n_work; i++)
		is_any |= w->edit.scale[i] < 1 || w->edit.scale[i] > 1;
	return is_any;
}

/* Counts the steps that the edit affects. */
static uint32_t count_touched(const struct whatif *w)
{
	const struct replay *r = &w->replay;
	uint32_t n = 0, last = UINT32_MAX;
	for (size_t k = 0; k < r->runs.n; k++, last = UINT32_MAX) {
		const struct replay_run *run = &r->runs.at[k];
		for (uint32_t i = run->first_op; i < run->first_op + run->n_ops; i++) {
			if (r->step[i] == last || !is_touched(w, i))
				continue;
			last = r->step[i];
			n++;
		}
	}
	return n;
}

/* Counts the steps that gain more than the mean. */
static uint32_t count_gaining(const struct whatif *w, double mean_ns)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < w->replay.n_steps; i++)
		n += w->gains_ns[i] > mean_ns;
	return n;
}

/*
 * Returns how many steps gain, if only few do; 0: typical steps gain. Work that continues after its
 * step may shift a gain to the next one, so if the edit affects few steps, the gain is theirs.
 * Calls that occur in every step but take long in few were disturbed in those, and do not count as
 * rare. The host's own work may take long in few steps because of the program.
 */
static uint32_t rare_steps(const struct whatif *w, double mean_ns, double typical_ms,
			   bool is_of_calls)
{
	uint32_t of = w->replay.n_steps, touched = count_touched(w),
		 gaining = count_gaining(w, mean_ns);
	if (mean_ns <= 0)
		return 0;
	if (are_few(touched, of))
		return touched;
	bool is_in_few = typical_ms * 1e6 < spread * mean_ns && are_few(gaining, of);
	return !is_of_calls && gaining >= AGAIN && is_in_few ? gaining : 0;
}

/* If all recorded steps were disturbed, it is not known which part of them was, and a gain might
 * exceed the length of an undisturbed step. So gains are scaled like the step. */
static void scale_to_undisturbed(const struct whatif *w, struct whatif_result *out)
{
	out->gain_ms *= w->undisturbed_share;
	out->typical_gain_ms *= w->undisturbed_share;
	out->mean_gain_ms *= w->undisturbed_share;
	out->low_ms *= w->undisturbed_share;
	out->high_ms *= w->undisturbed_share;
}

void whatif_find_gain(struct whatif *w, bool is_of_calls, struct whatif_result *out)
{
	double sum = 0;
	uint32_t n = w->replay.n_steps;
	replay_step_lengths(&w->replay, w->gains_ns);
	for (uint32_t i = 0; i < n; i++) {
		w->gains_ns[i] = w->lengths_ns[i] - w->gains_ns[i];
		sum += w->gains_ns[i];
	}
	find_typical(w, out);
	out->typical_gain_ms = out->gain_ms;
	out->mean_gain_ms = sum / n / 1e6;
	out->rare_steps = rare_steps(w, sum / n, out->gain_ms, is_of_calls);
	out->is_of_mean = w->is_of_mean = out->rare_steps;
	if (out->is_of_mean) {
		out->gain_ms = out->mean_gain_ms;
		out->low_ms = out->high_ms = 0;
	}
	scale_to_undisturbed(w, out);
}

/* ---- Which steps the gain refers to ---- */

void whatif_use_mean(struct whatif_result *out)
{
	out->is_of_mean = true;
	out->gain_ms = out->mean_gain_ms;
	out->low_ms = out->high_ms = 0;
	out->changed_ms = out->mean_ms - out->gain_ms;
	out->gain_pct = out->gain_ms / out->mean_ms * 100;
}

uint32_t whatif_gain_steps(const struct whatif *w)
{
	return w->is_of_mean ? w->replay.n_steps : w->n_typical;
}

bool whatif_gain_covers(const struct whatif *w, uint32_t op)
{
	return w->is_of_mean || w->is_typical[w->iteration[op]];
}

/* The replay counts the steps of each run from 0. */
void whatif_note_iterations(struct whatif *w)
{
	const struct replay *r = &w->replay;
	uint32_t first = 0;
	w->iteration = mem_zero(r->ops.n * sizeof(*w->iteration));
	for (size_t k = 0; k < r->runs.n; first += r->runs.at[k++].n_steps)
		for (uint32_t i = 0; i < r->runs.at[k].n_ops; i++)
			w->iteration[r->runs.at[k].first_op + i] =
				first + r->step[r->runs.at[k].first_op + i];
}
