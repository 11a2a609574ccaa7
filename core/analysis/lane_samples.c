/* See lane_samples.h. */
#include "core/analysis/lane_samples.h"

#include "core/symbols/await_site.h"
#include "core/symbols/stack_about.h"

enum {
	/* Samples of different threads at most this far apart belong to one moment: the library
	 * samples all threads one after the other, in some 10 us each. */
	MOMENT_NS = 300000,
	/* In a shorter time between two calls the CPU is on its way to the next call. */
	BETWEEN_LEAST_NS = 50000,
	MEMBERS_MOST = 16,
};

/* The samples of one lane at one moment. */
struct moment {
	const struct timeline_sample *members[MEMBERS_MOST];
	size_t n;
};

struct sweep {
	const struct timeline *t;
	const struct lanes *lanes;
	const struct timeline_step *step;
	struct lane_samples *out;
	uint64_t *until_ns; /* by lane: when its calls that have begun end */
	struct moment *moment;
	bool follows; /* `ends` and `tail` are those of the step right before */
};

void lane_samples_free(struct lane_samples *s)
{
	vec_free(&s->at);
	vec_free(&s->first);
	vec_free(&s->before);
	vec_free(&s->ends);
	vec_free(&s->tail);
	vec_free(&s->unsampled);
	map_free(&s->known);
	map_free(&s->running);
}

static bool is_running(const struct timeline_sample *s)
{
	return s->state == SAMPLE_RUNNING;
}

/* Returns whether `a` shows better than `b` what the lane does. If no thread runs, one that waits
 * for a lock may wait for another thread of the lane, whose own wait is then the cause. */
static bool is_better(const struct timeline_sample *a, const struct timeline_sample *b)
{
	bool a_waits = a->state == SAMPLE_LOCK, b_waits = b->state == SAMPLE_LOCK;
	if (is_running(a) != is_running(b))
		return is_running(a);
	if (a_waits != b_waits)
		return b_waits;
	return a->known > b->known;
}

/* Adds the sample that stands for the moment. A thread without lines of the user or of Python works
 * for the thread that waits for it, so it gets that thread's line. */
static void close_moment(struct sweep *w, uint32_t lane)
{
	struct moment *m = &w->moment[lane];
	if (!m->n)
		return;
	const struct timeline_sample *best = m->members[0], *lender = NULL;
	for (size_t i = 1; i < m->n; i++)
		if (is_better(m->members[i], best))
			best = m->members[i];
	for (size_t i = 0; i < m->n; i++)
		if (m->members[i]->known >= (lender ? lender->known : STACK_OF_PYTHON))
			lender = m->members[i];
	const struct timeline_sample *from = best->known >= STACK_OF_PYTHON || !lender ? best
										       : lender;
	bool launches = best->kind == HOST_NATIVE && from->launches;
	vec_push(&w->out->at, (struct lane_sample){ .ns = best->ns,
						    .stack = from->stack,
						    .site = from->site,
						    .lane = lane,
						    .kind = launches ? HOST_FRAMEWORK : best->kind,
						    .fetches = from->fetches,
						    .is_of_step = true });
	w->out->n++;
	m->n = 0;
}

static void add_sample(struct sweep *w, const struct timeline_sample *s)
{
	uint32_t lane = w->lanes->of_thread[s->thread];
	struct moment *m = &w->moment[lane];
	bool is_over = m->n == MEMBERS_MOST;
	for (size_t i = 0; i < m->n; i++)
		is_over |= m->members[i]->thread == s->thread;
	if (m->n && (is_over || s->ns - m->members[0]->ns > MOMENT_NS))
		close_moment(w, lane);
	m->members[m->n++] = s;
}

/* Takes the calls and samples in the order of time. Calls of the step before may still be
 * running. */
static void sweep(struct sweep *w)
{
	const struct timeline *t = w->t;
	size_t call = w->step->first_call;
	for (uint32_t lane = 0; w->follows && lane < w->lanes->n; lane++)
		w->until_ns[lane] = w->out->ends.at[lane].end_ns;
	for (size_t i = 0; w->follows && i < w->out->tail.n; i++)
		vec_push(&w->out->at, w->out->tail.at[i]);
	for (size_t i = w->step->first_sample; i < t->samples.n; i++) {
		const struct timeline_sample *s = &t->samples.at[i];
		/* a run without steps ends with its last call, and may have samples after it */
		if (s->ns >= w->step->end_ns)
			continue;
		for (; call < t->calls.n && t->calls.at[call].begin_ns <= s->ns; call++) {
			const struct timeline_call *c = &t->calls.at[call];
			uint64_t *until_ns = &w->until_ns[w->lanes->of_thread[c->thread]];
			*until_ns = c->end_ns > *until_ns ? c->end_ns : *until_ns;
		}
		if (w->until_ns[w->lanes->of_thread[s->thread]] <= s->ns)
			add_sample(w, s);
	}
	for (uint32_t lane = 0; lane < w->lanes->n; lane++)
		close_moment(w, lane);
}

static int by_lane(const void *a, const void *b)
{
	const struct lane_sample *x = a, *y = b;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void sort(struct lane_samples *s, uint32_t n_lanes)
{
	if (s->at.n)
		qsort(s->at.at, s->at.n, sizeof(*s->at.at), by_lane);
	s->first.n = 0;
	for (uint32_t lane = 0, i = 0; lane <= n_lanes; lane++) {
		while (i < s->at.n && s->at.at[i].lane < lane)
			i++;
		vec_push(&s->first, i);
	}
}

/* ---- What comes next ---- */

/* What follows in a lane, seen from a call backwards. */
struct ahead {
	size_t calls;	/* how many more calls may lie before a batch's copy; 0: no copy follows */
	size_t samples; /* end of the samples that are not looked at yet, in `at` */
	bool is_pass;	/* the next call is part of a pass or an optimizer's step */
	uint32_t stack; /* of the next call */
};

/*
 * Takes the samples between the call and the lane's next call: those that fetch something are data
 * loading if a batch's copy follows. A framework is only on its way to a launch if its pass makes
 * the next call: an optimizer whose parameters are on the CPU works.
 */
static void settle_kinds(struct sweep *w, uint32_t lane, uint64_t from_ns, struct ahead *a)
{
	struct lane_samples *s = w->out;
	for (; a->samples > s->first.at[lane] && s->at.at[a->samples - 1].ns >= from_ns;
	     a->samples--) {
		struct lane_sample *x = &s->at.at[a->samples - 1];
		if (x->fetches && a->calls && x->kind != HOST_GC)
			x->kind = HOST_LOADER;
		if (x->kind == HOST_FRAMEWORK && !a->is_pass)
			x->kind = HOST_PYTHON;
		if (x->kind == HOST_LOOP && a->stack && await_site(w->t->frames, a->stack))
			x->site = await_site(w->t->frames, a->stack);
	}
}

static void go_before(struct ahead *a, const struct timeline_call *c)
{
	if (timeline_is_batch(c))
		a->calls = TIMELINE_BATCH_CALLS;
	else if (category_has_work(c->category) || c->wait)
		a->calls = 0;
	else if (a->calls)
		a->calls--;
	a->is_pass = c->about & (ABOUT_PASS | ABOUT_WORKER);
	a->stack = c->stack;
}

/* Goes backwards through the step's calls. After the last one, the next step is assumed to begin
 * like this one. */
static void find_inputs(struct sweep *w)
{
	const struct timeline_step *step = w->step;
	struct lane_samples *s = w->out;
	struct ahead *ahead = mem_zero(w->lanes->n * sizeof(*ahead));
	size_t end = (size_t)step->first_call + step->n_calls;
	for (int round = 0; round < 2; round++) {
		for (uint32_t lane = 0; lane < w->lanes->n; lane++)
			ahead[lane].samples = s->first.at[round ? lane + 1 : lane];
		for (size_t i = end; i-- > step->first_call;) {
			const struct timeline_call *c = &w->t->calls.at[i];
			uint32_t lane = w->lanes->of_thread[c->thread];
			settle_kinds(w, lane, c->begin_ns, &ahead[lane]);
			go_before(&ahead[lane], c);
		}
	}
	for (uint32_t lane = 0; lane < w->lanes->n; lane++)
		settle_kinds(w, lane, 0, &ahead[lane]);
	free(ahead);
}

/* ---- Weights ---- */

/* Ends the lane's time outside calls that began at until_ns. Notes in each of its samples how much
 * such time came before it, and adds the time to the lane's sum. */
static void end_outside(struct sweep *w, uint32_t lane, uint64_t end_ns, uint64_t *sum_ns,
			size_t *at)
{
	struct lane_samples *s = w->out;
	uint64_t begin_ns = w->until_ns[lane];
	end_ns = end_ns > begin_ns ? end_ns : begin_ns;
	for (; *at < s->first.at[lane + 1] && s->at.at[*at].ns < end_ns; ++*at) {
		uint64_t ns = s->at.at[*at].ns;
		s->at.at[*at].weight_ns = *sum_ns + (ns > begin_ns ? ns - begin_ns : 0);
	}
	*sum_ns += end_ns - begin_ns;
}

/* Sets the weights of the lane's samples, which add up to its time outside calls, `sum_ns`. If the
 * step before was not recorded, the time before the first sample is left out: a thread is sampled
 * only after its first launch. Returns the sum of the weights. */
static uint64_t weigh_lane(struct lane_samples *s, uint32_t lane, uint64_t sum_ns, bool follows)
{
	size_t first = s->first.at[lane];
	uint64_t begin_ns = 0, from_ns;
	if (!follows)
		begin_ns = s->at.at[first].weight_ns;
	from_ns = begin_ns;
	for (size_t i = s->first.at[lane]; i < s->first.at[lane + 1]; i++) {
		struct lane_sample *x = &s->at.at[i];
		bool is_last = i + 1 == s->first.at[lane + 1];
		uint64_t until_ns = is_last ? sum_ns : x->weight_ns;
		if (!is_last)
			until_ns += (x[1].weight_ns - x->weight_ns) / 2;
		x->weight_ns = x->is_of_step ? until_ns - from_ns : 0;
		if (x->is_of_step)
			from_ns = until_ns;
	}
	return sum_ns - begin_ns;
}

static bool has_samples_of_step(const struct lane_samples *s, uint32_t lane)
{
	/* those of the step before come first */
	size_t end = s->first.at[lane + 1];
	return end > s->first.at[lane] && s->at.at[end - 1].is_of_step;
}

/* Weighs the lane's samples, and lets the first one of the step stand for steps without samples: if
 * steps are shorter than the time between two samples, most steps have none. */
static uint64_t weigh(struct lane_samples *s, uint32_t lane, uint64_t sum_ns, bool follows)
{
	struct lane_unsampled *before = &s->unsampled.at[lane];
	size_t i = s->first.at[lane];
	if (!follows)
		*before = (struct lane_unsampled){ 0 };
	if (!has_samples_of_step(s, lane)) {
		before->ns += before->follows ? sum_ns : 0;
		return 0;
	}
	sum_ns = weigh_lane(s, lane, sum_ns, follows);
	while (!s->at.at[i].is_of_step)
		i++;
	s->at.at[i].weight_ns += before->ns;
	sum_ns += before->ns;
	*before = (struct lane_unsampled){ .follows = true };
	return sum_ns;
}

/* Weighs the samples, and sums the time in which the sampled lanes were in no call. */
static void weigh_samples(struct sweep *w)
{
	const struct timeline_step *step = w->step;
	uint32_t n_lanes = w->lanes->n;
	uint64_t *sum_ns = mem_zero(n_lanes * sizeof(*sum_ns));
	size_t *at = mem_zero(n_lanes * sizeof(*at));
	for (uint32_t lane = 0; lane < n_lanes; lane++) {
		w->until_ns[lane] = step->begin_ns;
		at[lane] = w->out->first.at[lane];
	}
	for (size_t i = step->first_call; i < (size_t)step->first_call + step->n_calls; i++) {
		const struct timeline_call *c = &w->t->calls.at[i];
		uint32_t lane = w->lanes->of_thread[c->thread];
		uint64_t begin_ns = c->begin_ns < step->cpu_end_ns ? c->begin_ns : step->cpu_end_ns;
		end_outside(w, lane, begin_ns, &sum_ns[lane], &at[lane]);
		if (c->end_ns > w->until_ns[lane])
			w->until_ns[lane] = c->end_ns;
	}
	for (uint32_t lane = 0; lane < n_lanes; lane++) {
		end_outside(w, lane, step->cpu_end_ns, &sum_ns[lane], &at[lane]);
		w->out->outside_ns += weigh(w->out, lane, sum_ns[lane], w->follows);
	}
	free(sum_ns);
	free(at);
}

/* ---- Before each call ---- */

static uint64_t pack(struct before_call b)
{
	return (uint64_t)b.site << 8 | b.kind;
}

static struct before_call unpack(uint64_t word)
{
	return (struct before_call){ .site = (uint32_t)(word >> 8), .kind = (uint8_t)word };
}

/* Returns a number for two successive calls; 0: the stack of the first one is unknown. */
static uint64_t key_between(uint32_t last, uint32_t next)
{
	return last ? (uint64_t)last << 32 | next : 0;
}

struct before_call lane_samples_between(const struct lane_samples *s, uint32_t last, uint32_t next)
{
	uint64_t key = key_between(last, next);
	const uint64_t *found = key ? map_find(&s->known, key) : NULL;
	return found ? unpack(*found) : (struct before_call){ 0 };
}

/* Returns the kind and the line that most of the `n` samples have. */
static struct before_call most_frequent(const struct lane_sample *samples, size_t n)
{
	size_t of_kind[HOST_KINDS_N] = { 0 }, most = 0;
	struct before_call found = { 0 };
	for (size_t i = 0; i < n; i++)
		if (++of_kind[samples[i].kind] > of_kind[found.kind])
			found.kind = samples[i].kind;
	for (size_t i = 0; i < n; i++) {
		size_t same = 0;
		for (size_t k = i; k < n && samples[i].kind == found.kind && k < i + 1000; k++)
			same += samples[k].kind == found.kind && samples[k].site == samples[i].site;
		if (same > most) {
			most = same;
			found.site = samples[i].site;
		}
		if (most > n / 2)
			break;
	}
	return found;
}

/*
 * Notes the lines of the calls before and after the sample. A running thread without a stack gets
 * the stack of the last one that was sampled between the same lines. So each function gets the part
 * of the running time that it has of the samples with stacks.
 */
static void set_between(struct lane_samples *s, struct lane_sample *x, uint32_t after,
			uint32_t before)
{
	uint64_t key = (uint64_t)after << 32 | before;
	if (!x->stack) {
		x->after = after;
		x->before = before;
	}
	if (x->kind != HOST_NATIVE || !key)
		return;
	if (x->stack) {
		*map_at(&s->running, key, NULL) = (uint64_t)x->stack << 32 | x->site;
	} else if (map_find(&s->running, key)) {
		uint64_t found = *map_find(&s->running, key);
		x->stack = (uint32_t)(found >> 32);
		x->site = (uint32_t)found;
		x->after = x->before = 0;
	}
}

static struct before_call find_before(struct lane_samples *s, struct lane_end last,
				      const struct timeline_call *c, uint32_t lane, size_t *at)
{
	size_t end = s->first.at[lane + 1], from;
	struct before_call found = { 0 };
	while (*at < end && s->at.at[*at].ns < last.end_ns)
		++*at;
	for (from = *at; *at < end && s->at.at[*at].ns < c->begin_ns; ++*at)
		set_between(s, &s->at.at[*at], last.site, c->site);
	if (c->begin_ns < last.end_ns + BETWEEN_LEAST_NS)
		return found;
	uint64_t key = key_between(last.stack, c->stack);
	if (*at > from)
		found = most_frequent(&s->at.at[from], *at - from);
	if (*at > from && key)
		*map_at(&s->known, key, NULL) = pack(found);
	else if (*at == from)
		found = lane_samples_between(s, last.stack, c->stack);
	return found;
}

/* The samples after a lane's last call, from at[lane] on, come before the next step's first call:
 * that step is assumed to begin like this one. */
static void find_after_calls(struct sweep *w, const size_t *at)
{
	struct lane_samples *s = w->out;
	uint32_t *first =
		mem_zero(w->lanes->n * sizeof(*first)); /* by lane: its first call's line */
	for (size_t i = w->step->first_call + w->step->n_calls; i-- > w->step->first_call;) {
		const struct timeline_call *c = &w->t->calls.at[i];
		first[w->lanes->of_thread[c->thread]] = c->site;
	}
	for (uint32_t lane = 0; lane < w->lanes->n; lane++)
		for (size_t k = at[lane]; k < s->first.at[lane + 1]; k++)
			set_between(s, &s->at.at[k], s->ends.at[lane].site, first[lane]);
	free(first);
}

/* Finds what the CPU did before each call. Leaves the lanes' last calls in `ends`. */
static void find_before_calls(struct sweep *w)
{
	struct lane_samples *s = w->out;
	size_t *at = mem_zero(w->lanes->n * sizeof(*at));
	if (!w->follows) {
		s->ends.n = 0;
		while (s->ends.n < w->lanes->n)
			vec_push(&s->ends, (struct lane_end){ 0 });
	}
	for (uint32_t lane = 0; lane < w->lanes->n; lane++)
		at[lane] = s->first.at[lane];
	s->before.n = 0;
	for (size_t i = w->step->first_call; i < w->t->calls.n; i++) {
		const struct timeline_call *c = &w->t->calls.at[i];
		uint32_t lane = w->lanes->of_thread[c->thread];
		struct lane_end none = { 0 }, *last = lane < s->ends.n ? &s->ends.at[lane] : &none;
		struct lane_end from = *last;
		if (!from.end_ns)
			from.end_ns = w->step->begin_ns;
		vec_push(&s->before, find_before(s, from, c, lane, &at[lane]));
		if (c->end_ns >= last->end_ns)
			*last = (struct lane_end){ c->end_ns, c->stack, c->site };
	}
	find_after_calls(w, at);
	free(at);
}

/* Keeps the samples after the lanes' last calls for the next step. */
static void keep_tail(struct sweep *w)
{
	struct lane_samples *s = w->out;
	s->tail.n = 0;
	for (size_t i = 0; i < s->at.n; i++) {
		struct lane_sample x = s->at.at[i];
		if (x.ns < s->ends.at[x.lane].end_ns)
			continue;
		x.is_of_step = false;
		vec_push(&s->tail, x);
	}
	s->number = w->step->number;
}

void lane_samples_find(struct lane_samples *s, const struct timeline *t, const struct lanes *lanes)
{
	struct sweep w = {
		.t = t,
		.lanes = lanes,
		.step = &t->steps.at[t->steps.n - 1],
		.out = s,
		.until_ns = mem_zero(lanes->n * sizeof(*w.until_ns)),
		.moment = mem_zero(lanes->n * sizeof(*w.moment)),
	};
	w.follows = s->ends.n == lanes->n && s->number + 1 == w.step->number;
	while (s->unsampled.n < lanes->n)
		vec_push(&s->unsampled, (struct lane_unsampled){ 0 });
	s->at.n = 0;
	s->n = 0;
	s->outside_ns = 0;
	sweep(&w);
	sort(s, lanes->n);
	find_inputs(&w);
	weigh_samples(&w);
	find_before_calls(&w);
	keep_tail(&w);
	free(w.until_ns);
	free(w.moment);
}
