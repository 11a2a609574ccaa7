/*
 * Finds the warm-up and the slow steps of a run. The length of a warm step is the median of the
 * run's second half. The warm-up consists of all steps before the first step that takes at most 1.5
 * times as long as a warm step. If the first half of the run has no such step, there is no warm-up.
 *
 * After the warm-up there may be two kinds of steps: many that take about the median, and few that
 * take many times as long. These few are the slow steps, or pauses. They are reported separately,
 * because figures per step do not show their cause.
 *
 * Steps may also become longer or shorter during the whole run. This is drift, unless other load on
 * the machine explains it.
 */
#include "core/analysis/step_times.h"

#include "core/analysis/host_kinds.h"

#include <math.h>

#define SLOW_FACTOR	 1.5
#define RARE_FACTOR	 3    /* times the median: shorter steps are normal variation */
#define RARE_MOST_SHARE	 0.25 /* of the steps: a larger share is not exceptional */
#define RARE_LEAST_SHARE 0.35 /* of the time: the pauses of a shared machine reach 0.3 */
/* Of the time, for fewer than RARE_LEAST slow steps. On two cores with a load of up to 13, the
 * longest step of a run of 57 to 2,400 steps took up to 0.11 of its time. */
#define FEW_LEAST_SHARE 0.15

enum {
	RARE_LEAST = 3,
	PAUSES_MOST = 16,
	/* Drift is a change of the median in one direction, from one fifth of the run to the next,
	 * but for the medians' errors. A fifth has at least PART_LEAST steps. */
	PARTS = 5,
	PART_LEAST = 5,
	/* At least this many of the four changes must each be a notable share of the whole: a
	 * warm-up that ends, or a machine that becomes busy, changes only once. */
	CHANGES_LEAST = 3,
};

#define MOST 0.8 /* of the steps: their drift is that of the run */

/* A change is notable if it is at least this share of an even one. */
#define NOTABLE 0.4

static struct sample_summary describe(const float *ms, size_t n)
{
	struct sample_summary s = { .n = (int64_t)n };
	double m2 = 0;
	if (!n)
		return s;
	float *sorted = mem_resize(NULL, n * sizeof(*sorted));
	memcpy(sorted, ms, n * sizeof(*sorted));
	sample_sort(sorted, n);
	for (size_t i = 0; i < n; i++) {
		double off = (double)ms[i] - s.mean;
		s.mean += off / (double)(i + 1);
		m2 += off * ((double)ms[i] - s.mean);
	}
	s.std = n > 1 ? sqrt(m2 / (double)(n - 1)) : 0;
	s.cv = s.mean > 0 ? s.std / s.mean : 0;
	s.min = (double)sorted[0];
	s.p50 = sample_percentile_of(sorted, n, 0.50);
	s.p95 = sample_percentile_of(sorted, n, 0.95);
	s.p99 = sample_percentile_of(sorted, n, 0.99);
	s.max = (double)sorted[n - 1];
	free(sorted);
	return s;
}

/*
 * Returns half the width of the 95 % interval of the median, from the order of the lengths: how far
 * the longest steps are from the median does not matter. `n_all`: the number of steps of which `ms`
 * are a sample.
 */
static double median_error(const float *ms, size_t n, double n_all)
{
	const double two_sided_95 = 1.96;
	if (n < 2)
		return 0;
	float *sorted = mem_resize(NULL, n * sizeof(*sorted));
	memcpy(sorted, ms, n * sizeof(*sorted));
	sample_sort(sorted, n);
	double off = fmin(0.5, two_sided_95 / 2 / sqrt(n_all)),
	       low = sample_percentile_of(sorted, n, 0.5 - off),
	       high = sample_percentile_of(sorted, n, 0.5 + off);
	free(sorted);
	return (high - low) / 2;
}

/* Returns the number of warm-up steps. */
static size_t count_warm_up(const struct baseline *b)
{
	size_t half = b->ms.n / 2, n = 0;
	if (!half)
		return 0;
	double warm_ms = describe(b->ms.at + half, b->ms.n - half).p50;
	while (n < half && (double)b->ms.at[n] > warm_ms * SLOW_FACTOR)
		n++;
	return n < half ? n : 0;
}

/* Returns the thread that makes the step's first launch, or its first call if it launches nothing.
 * A loader's thread may pin or copy the next batch before. */
static uint32_t main_thread(const struct timeline *t, const struct timeline_step *s)
{
	for (size_t i = s->first_call; i < (size_t)s->first_call + s->n_calls; i++)
		if (category_is_launch(t->calls.at[i].category))
			return t->calls.at[i].thread;
	return t->calls.at[s->first_call].thread;
}

/* Returns the length of a recorded step without the waits for a CPU, in ms, and adds these waits to
 * `waited_ms`. */
static float undisturbed_ms(const struct timeline *t, const struct timeline_step *s,
			    double *waited_ms)
{
	uint32_t thread = s->n_calls ? main_thread(t, s) : 0;
	double ms = (double)(s->end_ns - s->begin_ns) / 1e6, waited = 0;
	for (size_t i = s->first_call; i < (size_t)s->first_call + s->n_calls; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		if (c->thread == thread || c->is_backward)
			waited += (double)c->waited_before_ns + (double)c->waited_within_ns;
	}
	waited = fmin(waited / 1e6, ms);
	*waited_ms += waited;
	return (float)(ms - waited);
}

/* Returns whether a recorded step waited for a CPU for most of its time, and is no slow step
 * without these waits: other load makes a pause longer, whatever its cause. */
static bool is_long_by_load(const struct timeline *t, const struct timeline_step *s,
			    double median_ms)
{
	double waited_ms = 0, own_ms = (double)undisturbed_ms(t, s, &waited_ms);
	return own_ms < waited_ms && own_ms < RARE_FACTOR * median_ms;
}

/* The recorded length of a step differs a little from the one that was counted. */
static void find_recorded(struct finding_slow *s, const struct timeline *t, double median_ms)
{
	const size_t most = sizeof(s->recorded) / sizeof(*s->recorded);
	double between_ms = (s->least_ms + s->other_most_ms) / 2;
	for (size_t i = 0; t && i < t->steps.n; i++) {
		const struct timeline_step *step = &t->steps.at[i];
		if ((double)(step->end_ns - step->begin_ns) / 1e6 < between_ms)
			continue;
		if (s->n_recorded < most)
			s->recorded[s->n_recorded] = step->number;
		s->n_recorded++;
		s->n_of_load += is_long_by_load(t, step, median_ms);
	}
}

/*
 * Splits the sorted lengths into two groups, so that the variance between the groups is largest
 * (Otsu's method). Returns the number of lengths in the group of shorter steps, and their sum in
 * `below_ms`.
 */
static size_t split(const float *sorted, size_t n, double sum_ms, double *below_ms)
{
	size_t best = n;
	double sum = 0, most = 0;
	for (size_t i = 0; i + 1 < n; i++) {
		double below = (double)(i + 1), above = (double)(n - i - 1);
		sum += (double)sorted[i];
		double apart = (sum_ms - sum) / above - sum / below;
		if (below * above * apart * apart <= most)
			continue;
		most = below * above * apart * apart;
		best = i + 1;
		*below_ms = sum;
	}
	return best;
}

/*
 * Slow steps may be of two kinds, of which split() finds the longer one: an episode of 170 or 470
 * ms between steps of 4 ms. Moves the split down to a wider relative gap between neighbours, if the
 * steps above it are still rare. Returns the number of shorter steps, and corrects `below_ms`.
 */
static size_t split_lower(const float *sorted, size_t n, size_t split, double least_ms,
			  double *below_ms)
{
	size_t at = split;
	double most = split && split < n ? (double)(sorted[split] / sorted[split - 1]) : 0;
	for (size_t i = split < n ? split : 0; i-- > 1 && (double)sorted[i] >= least_ms;) {
		double times = (double)(sorted[i] / sorted[i - 1]);
		if (times <= most || (double)(n - i) > RARE_MOST_SHARE * (double)n)
			continue;
		most = times;
		at = i;
	}
	for (size_t i = at; i < split; i++)
		*below_ms -= (double)sorted[i];
	return at;
}

static struct finding_slow find_slow(const float *ms, size_t n, double median_ms)
{
	const struct finding_slow none = { 0 };
	double sum_ms = 0, other_ms = 0;
	float *sorted = mem_resize(NULL, n * sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		sum_ms += (double)(sorted[i] = ms[i]);
	sample_sort(sorted, n);
	size_t n_others = split(sorted, n, sum_ms, &other_ms);
	n_others = split_lower(sorted, n, n_others, RARE_FACTOR * median_ms, &other_ms);
	size_t n_slow = n - n_others;
	struct finding_slow s = { .n = n_slow, .n_of = n };
	s.least_ms = n_slow ? (double)sorted[n_others] : 0;
	s.other_most_ms = n_others ? (double)sorted[n_others - 1] : 0;
	free(sorted);
	double slow_ms = sum_ms - other_ms,
	       least_share = n_slow < RARE_LEAST ? FEW_LEAST_SHARE : RARE_LEAST_SHARE;
	if (!n_slow || (double)n_slow > RARE_MOST_SHARE * (double)n ||
	    s.least_ms < RARE_FACTOR * median_ms || slow_ms < least_share * sum_ms)
		return none;
	s.times = slow_ms / (double)n_slow / (other_ms / (double)n_others);
	s.pct = slow_ms / sum_ms * 100;
	return s;
}

double step_times_work(const struct timeline *t, double usual)
{
	float *n = mem_zero((t->steps.n + 1) * sizeof(*n));
	if (!(usual > 0) || !t->steps.n) {
		free(n);
		return 0;
	}
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		n[c->step] += RECORD_TOKENS >> c->category & 1 && !c->is_captured;
	}
	sample_sort(n, t->steps.n);
	double median = sample_percentile_of(n, t->steps.n, 0.5);
	free(n);
	return median / usual;
}

/* ---- Pauses ---- */

/* Returns the sample of the thread whose line and kind most of its samples from `begin_ns` to
 * `end_ns` have; NULL: there is none. What was seen in the same place of other steps is no evidence
 * of a pause. */
static const struct timeline_sample *most_frequent(const struct timeline *t,
						   const struct timeline_step *s, uint32_t thread,
						   uint64_t begin_ns, uint64_t end_ns)
{
	enum { SEEN_MOST = 1000 };
	const struct timeline_sample *seen[SEEN_MOST], *found = NULL;
	size_t n = 0, most = 0;
	for (size_t i = s->first_sample; i < (size_t)s->first_sample + s->n_samples; i++) {
		const struct timeline_sample *x = &t->samples.at[i];
		if (x->thread == thread && x->site && x->ns >= begin_ns && x->ns < end_ns &&
		    n < SEEN_MOST)
			seen[n++] = x;
	}
	for (size_t i = 0; i < n; i++) {
		size_t same = 0;
		for (size_t k = i; k < n; k++)
			same += seen[k]->site == seen[i]->site && seen[k]->kind == seen[i]->kind;
		if (same > most) {
			most = same;
			found = seen[i];
		}
	}
	return found;
}

/* Returns whether another thread waited for the GIL during most of the samples in which a thread
 * waited for a lock: the lock may be that thread, as where backward() waits for autograd's. */
static bool waits_for_gil(const struct timeline *t, const struct timeline_step *s,
			  uint64_t begin_ns, uint64_t end_ns)
{
	size_t n_gil = 0, n_lock = 0;
	for (size_t i = s->first_sample; i < (size_t)s->first_sample + s->n_samples; i++) {
		const struct timeline_sample *x = &t->samples.at[i];
		bool is_within = x->ns >= begin_ns && x->ns < end_ns;
		n_gil += is_within && x->state == SAMPLE_GIL;
		n_lock += is_within && x->state == SAMPLE_LOCK;
	}
	return n_gil * 2 > n_lock;
}

/* Sets the line of a gap in the step: the sampled line, otherwise that of the call after the gap,
 * `site`. */
static void set_gap(struct finding_pause *p, const struct timeline *t,
		    const struct timeline_step *s, uint32_t site, uint64_t begin_ns,
		    uint64_t end_ns)
{
	uint32_t thread = main_thread(t, s);
	const struct timeline_sample *x = most_frequent(t, s, thread, begin_ns, end_ns);
	p->is_sampled = x != NULL;
	p->is_gap = !x;
	p->site = x ? x->site : site;
	p->cause = x ? (uint8_t)host_kinds[x->kind].cause : IDLE_UNKNOWN;
	if (p->cause == IDLE_LOCK && waits_for_gil(t, s, begin_ns, end_ns))
		p->cause = IDLE_GIL;
}

/* Returns the line of the first call of the step after the given one; 0: that step was not
 * recorded. */
static uint32_t next_site(const struct timeline *t, uint32_t step)
{
	const struct timeline_step *s = &t->steps.at[step];
	if (step + 1 == t->steps.n || s[1].number != s->number + 1 || !s[1].n_calls)
		return 0;
	uint32_t thread = main_thread(t, &s[1]);
	for (size_t i = s[1].first_call;; i++) /* the thread makes a call in the step */
		if (t->calls.at[i].thread == thread)
			return t->calls.at[i].site;
}

/* Sets the line of a recorded step's longest call or longest gap between calls of one thread. Only
 * main_thread() counts: other threads may be idle. */
static void find_line(struct finding_pause *p, const struct timeline *t, uint32_t step,
		      double median_ms)
{
	const struct timeline_step *s = &t->steps.at[step];
	uint64_t longest_ns = 0, at_ns = s->begin_ns;
	uint32_t thread = s->n_calls ? main_thread(t, s) : 0;
	for (size_t i = s->first_call; i < s->first_call + s->n_calls; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		if (c->thread != thread)
			continue;
		uint64_t gap_ns = c->begin_ns > at_ns ? c->begin_ns - at_ns : 0,
			 call_ns = c->end_ns - c->begin_ns;
		if (gap_ns > call_ns && gap_ns > longest_ns) {
			set_gap(p, t, s, c->site, at_ns, c->begin_ns);
			longest_ns = gap_ns;
		} else if (call_ns > longest_ns) {
			p->is_gap = p->is_sampled = false;
			p->site = c->site;
			longest_ns = call_ns;
		}
		at_ns = c->end_ns;
	}
	/* after the last call, the CPU is on its way to the next step's first one */
	if (s->n_calls && at_ns < s->end_ns && s->end_ns - at_ns > longest_ns)
		set_gap(p, t, s, next_site(t, step), at_ns, s->end_ns);
	p->is_of_load = is_long_by_load(t, s, median_ms);
}

static void fill_pauses(struct findings *f, const struct baseline *b, size_t n_warm)
{
	for (size_t i = 0; i < b->n_longest && f->pauses.n < PAUSES_MOST; i++) {
		const struct baseline_long *from = &b->longest[i];
		struct finding_pause p = { .number = from->number, .ms = (double)from->ms };
		if (from->place < n_warm || p.ms < f->slow.least_ms)
			continue;
		for (uint32_t k = 0; f->timeline && k < f->timeline->steps.n; k++)
			if (f->timeline->steps.at[k].number == p.number)
				find_line(&p, f->timeline, k, f->baseline.p50);
		vec_push(&f->pauses, p);
	}
}

/* ---- Drift ---- */

/* The steps are in order as long as no place was reused. */
static size_t n_in_order(const struct baseline *b)
{
	return b->n <= BASELINE_KEPT ? b->ms.n : BASELINE_ORDERED;
}

/* Returns the drift of `n` steps in order. */
static struct finding_drift find_drift(const float *ms, size_t n)
{
	const struct finding_drift none = { 0 };
	double median[PARTS], error[PARTS];
	size_t part = n / PARTS, n_notable = 0;
	if (part < PART_LEAST)
		return none;
	for (size_t i = 0; i < PARTS; i++) {
		median[i] = describe(ms + i * part, part).p50;
		error[i] = median_error(ms + i * part, part, (double)part);
	}
	double all = median[PARTS - 1] - median[0],
	       times = median[PARTS - 1] / fmax(median[0], 1e-9);
	for (size_t i = 1; i < PARTS; i++) {
		double change = (median[i] - median[i - 1]) / all;
		/* On a busy machine, a median may be off by its error. */
		if (change * fabs(all) < -hypot(error[i], error[i - 1]))
			return none;
		n_notable += change * (PARTS - 1) >= NOTABLE;
	}
	bool is_apart = times >= STEP_TIMES_APART || times <= 1 / STEP_TIMES_APART;
	return is_apart && n_notable >= CHANGES_LEAST
		       ? (struct finding_drift){ median[0], median[PARTS - 1] }
		       : none;
}

/* The lengths of the recorded steps without their waits for a CPU, and the sum of these waits. */
struct undisturbed {
	VEC(float) ms;
	double waited_ms;
};

/*
 * Returns whether other load on the machine explains the drift of `n_all` steps: without their
 * waits for a CPU, the recorded steps drift less than by STEP_TIMES_APART in a whole run. If too
 * few were recorded to tell, whether they wait for a CPU as long as the steps drift.
 */
static bool is_of_load(const struct finding_drift *d, size_t n_all, const struct undisturbed *u)
{
	double change = d->last_ms - d->first_ms, share = (double)u->ms.n / (double)n_all;
	size_t part = u->ms.n / PARTS;
	if (part < PART_LEAST)
		return u->ms.n && u->waited_ms / (double)u->ms.n >= fabs(change);
	double first = describe(u->ms.at, part).p50,
	       last = describe(u->ms.at + (PARTS - 1) * part, part).p50,
	       times = change > 0 ? last / first : first / last;
	return u->waited_ms > 0 && times < 1 + (STEP_TIMES_APART - 1) * share;
}

/*
 * Returns the drift of all steps. If most of them were recorded, their lengths without waits for a
 * CPU decide, because other load makes lengths vary.
 */
static struct finding_drift find_drift_of_run(const struct timeline *t, const struct baseline *b)
{
	const struct finding_drift none = { 0 };
	struct undisturbed u = { 0 };
	size_t n = n_in_order(b), part = n / PARTS;
	struct finding_drift d = find_drift(b->ms.at, n);
	for (size_t i = 0; t && i < t->steps.n; i++)
		vec_push(&u.ms, undisturbed_ms(t, &t->steps.at[i], &u.waited_ms));
	if (part >= PART_LEAST && u.waited_ms > 0 && u.ms.n >= MOST * b->n) {
		struct finding_drift own = find_drift(u.ms.at, u.ms.n);
		d.first_ms = describe(b->ms.at, part).p50;
		d.last_ms = describe(b->ms.at + (PARTS - 1) * part, part).p50;
		if (!(own.first_ms > 0) || (own.last_ms > own.first_ms) != (d.last_ms > d.first_ms))
			d = own;
	} else if (d.first_ms > 0 && is_of_load(&d, b->n, &u)) {
		d = none;
	}
	vec_free(&u.ms);
	return d;
}

void step_times_without_waits(struct findings *f, const double *lengths_ns, size_t n)
{
	VEC(float) ms = { 0 };
	bool is_most = (double)n >= MOST * (double)f->baseline.n;
	for (size_t i = 0; i < n; i++)
		vec_push(&ms, (float)(lengths_ns[i] / 1e6));
	if (is_most && !(find_drift(ms.at, n).first_ms > 0))
		f->drift = (struct finding_drift){ 0 };
	double n_all = is_most ? (double)f->baseline.n : (double)n;
	if (n > 1)
		f->median_error_ms = fmin(f->median_error_ms, median_error(ms.at, n, n_all));
	vec_free(&ms);
}

/* Returns the number of steps in the timeline whose numbers are less than `end`. */
static uint64_t count_steps_before(const struct timeline *t, uint64_t end)
{
	uint64_t n = 0;
	for (size_t i = 0; t && i < t->steps.n; i++)
		n += !t->steps.at[i].is_whole_run && t->steps.at[i].number < end;
	return n;
}

void step_times_fill(struct findings *f, const struct baseline *b, const struct sample *recorded)
{
	size_t n_warm = count_warm_up(b);
	if (b->ms.n) {
		f->warm_up = describe(b->ms.at, n_warm);
		f->baseline = describe(b->ms.at + n_warm, b->ms.n - n_warm);
		f->baseline.n += (int64_t)(b->n - b->ms.n);
		f->median_error_ms =
			median_error(b->ms.at + n_warm, b->ms.n - n_warm, (double)f->baseline.n);
		f->slow = find_slow(b->ms.at + n_warm, b->ms.n - n_warm, f->baseline.p50);
		f->recorded_in_warm_up = b->last_recorded && b->last_recorded <= n_warm;
		if (n_warm)
			f->n_recorded_warm_up = count_steps_before(f->timeline, b->first + n_warm);
	}
	if (f->slow.n) {
		find_recorded(&f->slow, f->timeline, f->baseline.p50);
		fill_pauses(f, b, n_warm);
	}
	f->drift = find_drift_of_run(f->timeline, b);
	f->recorded = sample_summarize(recorded);
}
