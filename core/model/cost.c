/*
 * See cost.h. Step times are stored as logarithms, so a difference of two values stands for a
 * ratio.
 *
 * Each window gives one ratio: the median time of its recorded steps divided by the median time of
 * its neighbours, the unrecorded steps next to it. The steps of a window do not count one by one,
 * because they are not independent: other load on the machine lasts for many steps.
 *
 * With six windows or more, the result is the Hodges-Lehmann median of the ratios. With fewer
 * windows, the result is the mean of the ratios. Its error is then estimated from runs of
 * neighbours that are as long as a window. Such runs vary for every reason except recording. If
 * there is only one window, and it is faster than its neighbours or slower than recording can
 * explain, then the difference only shows other load on the machine.
 *
 * Outliers (evaluation, checkpoints) are left out: recorded steps that take more than 1.5 times the
 * median of the window's recorded steps, and neighbours that take more than 1.5 times the median of
 * the window's neighbours.
 */
#include "core/model/cost.h"

#include "core/util/sample.h"
#include "core/util/vec.h"

#include <math.h>

enum {
	/* number of steps after a window that do not count, because GPU timing stops and the last
	 * records arrive during them */
	SETTLING = 2,
	LEAST_PLAIN = 4,   /* a window with fewer neighbours does not count */
	LEAST_BEFORE = 32, /* with fewer steps before the first window, `left` is unknown */
	/* a window's neighbours are split into at least this number of runs (add_stretches()) */
	STRETCHES_LEAST = 8,
};

#define OUTLIER 0.405465f /* log(1.5) */
/* log(1.5): if the only window is slower than this, other load is a likelier cause */
#define DOUBTFUL 0.405465

/* ---- Collecting ---- */

static struct cost_window *newest_of(struct cost *c)
{
	return c->n_windows <= COST_WHOLE ? &c->whole[c->n_windows - 1] : &c->newest;
}

static const struct cost_window *window_at(const struct cost *c, uint64_t i)
{
	return i < COST_WHOLE ? &c->whole[i] : &c->newest;
}

/* The recorded steps and the neighbours of a window, without outliers, as logarithms of ms. */
struct cost_samples {
	float recorded[COST_WINDOW_STEPS], plain[2 * COST_NEAR];
	size_t n_recorded, n_plain;
};

static double median_of(const float *values, size_t n)
{
	float sorted[2 * COST_NEAR];
	memcpy(sorted, values, n * sizeof(*sorted));
	sample_sort(sorted, n);
	return n ? sample_percentile_of(sorted, n, 0.5) : 0;
}

/* Moves the values that are not outliers to the front and returns their number. */
static size_t remove_outliers(float *values, size_t n)
{
	float most = (float)median_of(values, n) + OUTLIER;
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (values[i] <= most)
			values[kept++] = values[i];
	return kept;
}

_Static_assert((int)COST_WINDOW_STEPS <= 2 * (int)COST_NEAR, "median_of() has room for either");

static void samples_of(const struct cost_window *w, struct cost_samples *s)
{
	memcpy(s->recorded, w->recorded, w->n_recorded * sizeof(*s->recorded));
	memcpy(s->plain, w->before, w->n_before * sizeof(*s->plain));
	memcpy(s->plain + w->n_before, w->after, w->n_after * sizeof(*s->plain));
	s->n_recorded = remove_outliers(s->recorded, w->n_recorded);
	s->n_plain = remove_outliers(s->plain, w->n_before + w->n_after);
}

/*
 * Writes the logarithm of the window's ratio. Returns false if the window has too few neighbours or
 * no recorded step.
 */
static bool ratio_of(const struct cost_window *w, float *ratio)
{
	struct cost_samples s;
	samples_of(w, &s);
	*ratio = (float)(median_of(s.recorded, s.n_recorded) - median_of(s.plain, s.n_plain));
	return s.n_recorded && s.n_plain >= LEAST_PLAIN;
}

/* Adds the ratio of the newest window. Called when the window gets no more neighbours. */
static void close_window(struct cost *c)
{
	float ratio;
	if (!c->n_windows || !ratio_of(newest_of(c), &ratio))
		return;
	uint64_t place = c->n_ratios++;
	if (place >= COST_WINDOWS)
		place = sample_next_random(&c->random) % c->n_ratios;
	if (place < COST_WINDOWS)
		c->ratios[place] = ratio;
}

static uint32_t at_most_near(uint64_t n)
{
	return n < COST_NEAR ? (uint32_t)n : COST_NEAR;
}

/*
 * Closes the previous window and begins a new one. Of the plain steps between the two, the first
 * half are neighbours of the previous window and the second half neighbours of the new window.
 */
static void open_window(struct cost *c)
{
	uint64_t n_of_last = c->n_windows ? c->n_near / 2 : 0;
	if (c->n_windows)
		newest_of(c)->n_after = at_most_near(n_of_last);
	close_window(c);
	c->n_windows++;
	struct cost_window *w = newest_of(c);
	*w = (struct cost_window){ .n_before = at_most_near(c->n_near - n_of_last) };
	for (uint32_t i = 0; i < w->n_before; i++)
		w->before[i] = c->near[--c->n_near % COST_NEAR];
	c->n_near = 0;
	c->is_recording = true;
}

static void add_recorded(struct cost *c, float value)
{
	if (!c->is_recording)
		open_window(c);
	struct cost_window *w = newest_of(c);
	if (w->n_recorded < COST_WINDOW_STEPS)
		w->recorded[w->n_recorded++] = value;
	c->n_recorded++;
	c->n_settling = SETTLING;
}

static void add_plain(struct cost *c, float value)
{
	struct cost_window *w = c->n_windows ? newest_of(c) : NULL;
	if (c->n_settling) {
		c->n_settling--;
		return;
	}
	c->near[c->n_near++ % COST_NEAR] = value;
	if (w && w->n_after < COST_NEAR)
		w->after[w->n_after++] = value;
	c->n_plain++;
}

void cost_add(struct cost *c, double ms, enum cost_kind kind)
{
	if (!(ms > 0))
		return;
	if (kind == COST_RECORDED) {
		add_recorded(c, (float)log(ms));
		return;
	}
	c->is_recording = false;
	if (kind == COST_PLAIN)
		add_plain(c, (float)log(ms));
}

/* ---- Result ---- */

static double percent(double logarithm)
{
	return expm1(logarithm) * 100;
}

/*
 * Splits the neighbours into runs of successive steps. Appends to `noise` by how much the median of
 * each run deviates from the median of all neighbours, and returns the new number of values. This
 * deviation shows how far the logarithm of a window's ratio would be from 0 if nothing was
 * recorded. It includes the correlation of successive steps. A run is as long as the window, but
 * not longer than an eighth of the neighbours. If the window is longer, its runs are shorter than
 * the window and vary more.
 */
static size_t add_stretches(const struct cost_samples *s, float *noise, size_t n)
{
	const float usual = (float)median_of(s->plain, s->n_plain);
	size_t most = s->n_plain / STRETCHES_LEAST,
	       length = s->n_recorded < most ? s->n_recorded : most;
	for (size_t i = 0; length && i + length <= s->n_plain; i += length)
		noise[n++] = (float)median_of(s->plain + i, length) - usual;
	return n;
}

static bool find_by_stretches(const struct cost *c, const float *ratios, size_t n_ratios,
			      struct interval *out)
{
	const uint64_t n_whole = c->n_windows < COST_WHOLE + 1 ? c->n_windows : COST_WHOLE + 1;
	float *noise = mem_resize(NULL, (size_t)n_whole * 2 * COST_NEAR * sizeof(*noise) + 1);
	size_t n = 0;
	for (uint64_t i = 0; i < n_whole; i++) {
		struct cost_samples s;
		samples_of(window_at(c, i), &s);
		if (s.n_plain >= LEAST_PLAIN)
			n = add_stretches(&s, noise, n);
	}
	bool is_known = interval_of_noise(ratios, n_ratios, noise, n, out);
	free(noise);
	return is_known;
}

static bool find_interval(const struct cost *c, struct cost_found *f, struct interval *out)
{
	struct cost all = *c;
	close_window(&all);
	size_t n = (size_t)(all.n_ratios < COST_WINDOWS ? all.n_ratios : COST_WINDOWS);
	if (interval_of_values(all.ratios, n, out))
		return true;
	if (!find_by_stretches(c, all.ratios, n, out))
		return false;
	f->is_doubtful = n == 1 && (out->high < 0 || out->middle > DOUBTFUL);
	f->pct = percent(out->middle);
	return !f->is_doubtful;
}

/* Returns the median time, in ms, of the neighbours of the newest window that has neighbours. */
static double plain_ms(const struct cost *c)
{
	struct cost_samples s = { .n_plain = 0 };
	uint64_t i = c->n_windows < COST_WHOLE + 1 ? c->n_windows : COST_WHOLE + 1;
	while (i && !s.n_plain)
		samples_of(window_at(c, --i), &s);
	return exp(median_of(s.plain, s.n_plain));
}

/*
 * Returns the mean time of recorded steps divided by the mean time of plain steps, in the windows
 * that are kept in full. If a program has several kinds of steps, the median recorded step and the
 * median plain step may be of different kinds. The ratio of the means does not have this problem.
 */
static double ratio_of_means(const struct cost *c)
{
	double recorded = 0, plain = 0, n_recorded = 0, n_plain = 0;
	uint64_t n = c->n_windows < COST_WHOLE + 1 ? c->n_windows : COST_WHOLE + 1;
	for (uint64_t i = 0; i < n; i++) {
		struct cost_samples s;
		samples_of(window_at(c, i), &s);
		if (s.n_plain < LEAST_PLAIN)
			continue;
		for (size_t k = 0; k < s.n_recorded; k++)
			recorded += exp((double)s.recorded[k]);
		for (size_t k = 0; k < s.n_plain; k++)
			plain += exp((double)s.plain[k]);
		n_recorded += (double)s.n_recorded;
		n_plain += (double)s.n_plain;
	}
	return n_recorded > 0 && n_plain > 0 ? recorded / n_recorded / (plain / n_plain) : 1;
}

/*
 * Returns whether the steps before window `w` already got longer or shorter, or are too few to
 * decide. In both cases a difference after the window says nothing about lasting overhead.
 */
static bool drifts(const struct cost_window *w)
{
	float near[COST_NEAR], far[COST_NEAR];
	size_t half = w->n_before / 2;
	struct interval i;
	if (w->n_before < LEAST_BEFORE)
		return true;
	memcpy(near, w->before, half * sizeof(*near));
	memcpy(far, w->before + half, half * sizeof(*far));
	const struct interval_pair pair = { near, far, remove_outliers(near, half),
					    remove_outliers(far, half) };
	return !interval_of_pairs(&pair, 1, &i) || i.low > 0 || i.high < 0;
}

/*
 * Compares the steps just before the first window with its last neighbours after it. By then the
 * window's records have been delivered. Later windows are not used, because an earlier window may
 * have slowed the steps before them.
 */
static struct cost_left find_left(const struct cost *c)
{
	float before[COST_LEFT], after[COST_LEFT];
	const struct cost_window *w = &c->whole[0];
	size_t n_before = w->n_before < COST_LEFT ? w->n_before : COST_LEFT,
	       n_after = w->n_after < COST_LEFT ? w->n_after : COST_LEFT;
	struct interval i;
	if (!c->n_windows || drifts(w))
		return (struct cost_left){ 0 };
	memcpy(before, w->before, n_before * sizeof(*before));
	memcpy(after, w->after + w->n_after - n_after, n_after * sizeof(*after));
	const struct interval_pair pair = { after, before, remove_outliers(after, n_after),
					    remove_outliers(before, n_before) };
	if (!interval_of_pairs(&pair, 1, &i))
		return (struct cost_left){ 0 };
	return (struct cost_left){ true, percent(i.middle), percent(i.low), percent(i.high) };
}

struct cost_found cost_find(const struct cost *c)
{
	struct cost_found f = { .n_recorded = c->n_recorded,
				.n_plain = c->n_plain,
				.n_windows = c->n_windows,
				.left = find_left(c) };
	struct interval i;
	f.is_known = find_interval(c, &f, &i);
	if (!f.is_known)
		return f;
	f.pct = percent(i.middle);
	f.low_pct = percent(i.low);
	f.high_pct = percent(i.high);
	f.ms = f.pct / 100 * plain_ms(c);
	f.ratio_of_means = ratio_of_means(c);
	return f;
}

double cost_ratio(const struct cost_found *f)
{
	if (!f->is_known || f->low_pct <= 0)
		return 1;
	return fmax(1, fmin(1 + f->pct / 100, f->ratio_of_means));
}

double cost_disturbed(const struct cost_found *f)
{
	return f->is_doubtful ? fmax(1, 1 + f->pct / 100) : 1;
}
