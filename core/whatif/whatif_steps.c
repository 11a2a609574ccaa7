/*
 * Derives the gain of a change from the gains of single steps. Often only few steps are recorded,
 * and some of them are disturbed: if other programs load the machine, a step takes several times as
 * long, and most changes would seem to save much of that time. Therefore the gain is a mean over
 * the typical steps, which take at most 1.5 times the median. If many steps take longer than that,
 * as with a data loader that delivers several batches at once, typical steps take at most 1.5 times
 * the 90th percentile. Otherwise, the 10 % of the typical steps with the lowest gain and the 10 %
 * with the highest gain are left out. If a change takes effect in few steps only, such as steps
 * with a checkpoint, the gain is the mean over all steps, and whatif_result.is_of_mean is set.
 */
#include "core/whatif/whatif_parts.h"

#include "core/util/sample.h"

#include <math.h>

/* A step that takes more than LONGER times the median is not typical. If such steps are part of the
 * program's normal steps, the LONG_SHARE quantile takes the place of the median. */
#define LONGER	   1.5
#define LONG_SHARE 0.9

enum {
	FEW_OF = 3,   /* steps are few if they are at most one third of all steps */
	TRIM_OF = 10, /* one tenth of the typical steps is left out at either end */
	AGAIN = 2,    /* in fewer steps than this, a gain may be chance */
	/* Longer steps count as typical if they recur with a period of at most this number of
	 * steps. */
	PERIOD_MOST = 5,
};

/* If typical steps gain at least this share of the mean gain, the change does not take effect in
 * few steps only. */
static const double spread = 0.2;

static double quantile_ns(const double *ns, uint32_t n, double share)
{
	float *sorted = mem_resize(NULL, n * sizeof(*sorted));
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = (float)ns[i];
	sample_sort(sorted, n);
	double quantile = sample_percentile_of(sorted, n, share);
	free(sorted);
	return quantile;
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

/* Returns true if the longer steps recur regularly during all recorded steps, for example in every
 * third step. The first one may have any length: the work before it was not recorded. */
static bool come_regularly(const struct whatif *w)
{
	uint32_t n = w->replay.n_steps, first = 1, period = 1, longer = 0,
		 n_long = n - w->n_typical - !w->is_typical[0];
	while (first < n && w->is_typical[first])
		first++;
	while (first + period < n && w->is_typical[first + period])
		period++;
	for (uint32_t i = first; i < n; i += period)
		longer += !w->is_typical[i];
	bool is_all = longer == n_long && longer == (n - first + period - 1) / period;
	return is_all && first <= period && longer > AGAIN && period <= PERIOD_MOST;
}

static void mark_up_to(struct whatif *w, double most_ns)
{
	w->n_typical = 0;
	for (uint32_t i = 0; i < w->replay.n_steps; i++)
		w->n_typical += w->is_typical[i] = w->lengths_ns[i] <= most_ns;
}

void whatif_choose_typical(struct whatif *w)
{
	uint32_t n = w->replay.n_steps;
	w->lengths_ns = mem_zero(n * sizeof(*w->lengths_ns));
	w->gains_ns = mem_zero(n * sizeof(*w->gains_ns));
	w->is_typical = mem_zero(n * sizeof(*w->is_typical));
	replay_step_lengths(&w->replay, w->lengths_ns);
	double median = quantile_ns(w->lengths_ns, n, 0.5);
	w->most_times = LONGER;
	/* Steps of several threads overlap: where half of them end together with another one, the
	 * time from one end to the next says nothing of a single step. */
	mark_up_to(w, median > 0 ? LONGER * median : INFINITY);
	/* If longer steps are not few, or recur regularly, they belong to the program's normal
	 * steps. Only steps that are longer than those, too, are left out. */
	if (w->n_typical < n && (!are_few(n - w->n_typical, n) || come_regularly(w))) {
		double most = LONGER * quantile_ns(w->lengths_ns, n, LONG_SHARE);
		mark_up_to(w, most);
		w->most_times = median > 0 ? most / median : 0;
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

/*
 * Returns whether long steps are a normal part of the program. Then the steps with the highest
 * gains are not extreme: they are the long ones. One step in four that waits for four batches has
 * the whole gain, and without a tenth of the steps it would lose 40 % of it.
 */
static bool is_uneven(const struct whatif *w)
{
	return w->most_times > LONGER;
}

/* Sets gain_ms, low_ms and high_ms for the typical steps. Leaves out extreme gains, unless the
 * steps are uneven. The gain lies in the range. */
static void find_typical(const struct whatif *w, struct whatif_result *out)
{
	double *sorted = mem_resize(NULL, w->n_typical * sizeof(*sorted)), sum = 0;
	uint32_t n = 0, trim = w->n_typical / TRIM_OF, left_out = is_uneven(w) ? 0 : trim;
	for (uint32_t i = 0; i < w->replay.n_steps; i++)
		if (w->is_typical[i])
			sorted[n++] = w->gains_ns[i];
	qsort(sorted, n, sizeof(*sorted), by_value);
	for (uint32_t i = left_out; i < n - left_out; i++)
		sum += sorted[i];
	out->gain_ms = sum / (n - 2 * left_out) / 1e6;
	out->low_ms = n > 1 ? fmin(sorted[trim] / 1e6, out->gain_ms) : 0;
	out->high_ms = n > 1 ? fmax(sorted[n - 1 - trim] / 1e6, out->gain_ms) : 0;
	free(sorted);
}

/* Returns true if the edit affects the op or its GPU work. */
static bool is_touched(const struct whatif *w, uint32_t op)
{
	const struct replay_op *o = &w->replay.ops.at[op];
	bool is_any = w->edit.op[op] || w->edit.cut_ns[op] > 0 || whatif_is_moved(w, op);
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

/* Counts the steps that gain more than the mean gain. */
static uint32_t count_gaining(const struct whatif *w, double mean_ns)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < w->replay.n_steps; i++)
		n += w->gains_ns[i] > mean_ns;
	return n;
}

/*
 * Returns the number of steps in which the change takes effect, if they are few; 0: the change
 * takes effect in typical steps. If the edit affects few steps, the result is the number of these
 * steps. Other steps may gain, because work that continues after its step may shift the gain to the
 * next step.
 *
 * If the edit affects more steps but few of them gain, the result depends on the edit. Calls that
 * occur in most steps but take long in few steps were disturbed in these steps, so the result is 0.
 * The host's own work may take long in few steps because of the program, so the result is the
 * number of these steps.
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

/* If other load made all recorded steps longer, it is not known which part of a step is longer. A
 * gain might then exceed the length of an undisturbed step. Therefore gains are multiplied by the
 * same factor as the step length. */
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

/* r->step counts the steps of each run from 0, but w->iteration counts the steps of all runs. */
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
