#include "test/steps/trial.h"

#include "core/runtime/iteration.h"
#include "core/runtime/token.h"
#include "test/steps/anchors.h"

#include <stdlib.h>

const char *const evidence_names[EVIDENCES] = { "launches", "names", "frames" };

/* Returns the hints that the engine gets about an event (core/steps/levels.h). */
static uint32_t hints_of(const struct program_event *e, enum evidence evidence)
{
	static const uint32_t of_what[] = {
		[WHAT_LAUNCH] = 0,
		[WHAT_H2D] = LEVEL_COPY | LEVEL_H2D,
		[WHAT_D2H] = LEVEL_COPY | LEVEL_D2H,
		[WHAT_D2D] = LEVEL_COPY,
		[WHAT_GRAPH] = LEVEL_GRAPH,
	};
	uint32_t hints = of_what[e->what] | (e->waited ? LEVEL_SYNCED : 0);
	if (evidence >= EVIDENCE_NAMES && e->what == WHAT_LAUNCH)
		hints |= LEVEL_NAMED | (e->named ? LEVEL_OPTIMIZER : 0);
	if (evidence >= EVIDENCE_FRAMES && e->phase == PHASE_OPTIMIZER)
		hints |= LEVEL_OPTIMIZER;
	return hints;
}

/* Added to all times, because a program does not begin when the machine starts. */
#define UP_NS 3600000000000ull

void trial_sequence(struct sequence *s, const struct program *p, enum evidence evidence)
{
	uint32_t mark = 0;
	*s = (struct sequence){ 0 };
	for (uint32_t i = 0; i <= p->n; i++) {
		for (; mark < p->n_marks && p->marks[mark].at <= i; mark++)
			sequence_end(s, p->marks[mark].ends);
		if (i == p->n)
			break;
		const struct program_event *e = &p->events[i];
		sequence_add(s, e->thread, e->token, hints_of(e, evidence));
		struct level_event *event = &s->events[s->n - 1].event;
		event->kernel = e->kernel;
		event->begin_ns = UP_NS + e->begin_ns;
		event->end_ns = UP_NS + e->end_ns;
		event->blocked_ns = e->blocked_ns;
	}
}

/* ---- Comparison with the truth ---- */

struct judge {
	const struct sequence *s;
	uint32_t *before; /* before[n]: number of boundaries among the first n events */
	uint32_t truth;	  /* END_STEP or END_OTHER */
	uint32_t from;	  /* events before this one are not judged */
	uint32_t thread;  /* the thread that launches the anchor */
};

static uint32_t boundaries(const struct judge *j, int64_t begin, int64_t end)
{
	int64_t n = j->s->n;
	begin = begin < 0 ? 0 : begin > n ? n : begin;
	end = end < 0 ? 0 : end > n ? n : end;
	return j->before[end] - j->before[begin];
}

static bool is_boundary(const struct judge *j, int64_t at)
{
	return at >= 0 && at < j->s->n && j->before[at + 1] > j->before[at];
}

static int32_t nearest(const struct judge *j, uint32_t end)
{
	for (int32_t d = 0; d < (int32_t)j->s->n; d++) {
		if (is_boundary(j, (int64_t)end - 1 + d))
			return d;
		if (is_boundary(j, (int64_t)end - 1 - d))
			return -d;
	}
	return INT32_MAX;
}

/*
 * Finds the next step by this truth, from mark `*at` on. The step lies between marks `*begin` and
 * `*at`. Returns false if there is none.
 */
static bool next_step(const struct judge *j, uint32_t *begin, uint32_t *at)
{
	const struct sequence *s = j->s;
	for (uint32_t k = *at + 1; k < s->n_marks; k++) {
		if (!(s->marks[k].ends & (j->truth | END_FREE)))
			continue;
		*begin = *at;
		*at = k;
		if (s->marks[k].ends & j->truth && s->marks[*begin].at >= j->from)
			return true;
	}
	return false;
}

static uint32_t first_mark(const struct judge *j)
{
	uint32_t k = 0;
	while (k < j->s->n_marks && !(j->s->marks[k].ends & (j->truth | END_FREE)))
		k++;
	return k;
}

static int compare_i32(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

static void judge_place(const struct judge *j, struct trial *t)
{
	int32_t *late = calloc(j->s->n_marks + 1, sizeof(*late));
	uint32_t begin, at = first_mark(j), n_in_place = 0;
	if (!late)
		abort();
	t->n_steps = 0;
	while (next_step(j, &begin, &at)) {
		late[t->n_steps++] = nearest(j, j->s->marks[at].at);
		n_in_place += is_boundary(j, (int64_t)j->s->marks[at].at - 1);
	}
	if (t->n_steps) {
		qsort(late, t->n_steps, sizeof(*late), compare_i32);
		t->late = late[t->n_steps / 2];
		t->in_place = (double)n_in_place / t->n_steps;
	}
	free(late);
}

/*
 * Moves `at` by `launches` launches of the anchor's thread; a negative number moves back. Launches
 * of other threads in between are not counted, because their number is random.
 */
static int64_t later(const struct judge *j, int64_t at, int32_t launches)
{
	const struct sequence *s = j->s;
	for (; launches > 0 && at < s->n; at++)
		launches -= s->events[at].thread == j->thread;
	for (; launches < 0 && at > 0; at--)
		launches += s->events[at - 1].thread == j->thread;
	return at;
}

/*
 * Returns how many of the `late` events after a true end belong to the anchor's thread. With
 * negative `late`, looks at events before the end and returns a negative number.
 */
static int32_t late_launches(const struct judge *j, int64_t at, int32_t late)
{
	int32_t n = 0;
	for (; late > 0 && at < j->s->n; at++, late--)
		n += j->s->events[at].thread == j->thread;
	for (; late < 0 && at > 0; at--, late++)
		n -= j->s->events[at - 1].thread == j->thread;
	return n;
}

/*
 * Returns the median distance of the nearest boundary from a true end, in launches of the anchor's
 * thread.
 */
static int32_t usual_late_launches(const struct judge *j)
{
	int32_t *late = calloc(j->s->n_marks + 1, sizeof(*late));
	uint32_t begin, at = first_mark(j), n = 0;
	if (!late)
		abort();
	while (next_step(j, &begin, &at)) {
		uint32_t end = j->s->marks[at].at;
		late[n++] = late_launches(j, end, nearest(j, end));
	}
	qsort(late, n, sizeof(*late), compare_i32);
	int32_t usual = n ? late[n / 2] : 0;
	free(late);
	return usual;
}

/*
 * Returns the share of the steps with exactly one boundary. A boundary that is a little late in
 * every step still occurs once per step. So the true steps are shifted before they are compared: by
 * `late` events and `launches` launches of the anchor's thread.
 */
static double one_per_step(const struct judge *j, int32_t late, int32_t launches)
{
	uint32_t begin, at = first_mark(j), n = 0, n_one = 0;
	while (next_step(j, &begin, &at)) {
		int64_t from = j->s->marks[begin].at, to = j->s->marks[at].at;
		n++;
		n_one += boundaries(j, later(j, from, launches) + late,
				    later(j, to, launches) + late) == 1;
	}
	return n ? (double)n_one / n : 0;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

static int32_t numbers_off(const struct judge *j, const struct sequence_result *r, int32_t late)
{
	int64_t n_true = 0, n = (int64_t)r->n_before;
	for (uint32_t k = first_mark(j); k < j->s->n_marks; k++)
		n_true += j->s->marks[k].at + (int64_t)late <= r->numbered_at &&
			  (j->s->marks[k].ends & j->truth);
	return (int32_t)(n - n_true);
}

static void judge_truth(struct judge *j, const struct sequence_result *r, struct trial *t)
{
	judge_place(j, t);
	double by_events = most(one_per_step(j, 0, 0), one_per_step(j, t->late, 0));
	t->one_per_step = most(by_events, one_per_step(j, 0, usual_late_launches(j)));
	t->numbers_off = numbers_off(j, r, t->late);
	struct anchors possible;
	anchors_count(&possible, j->s, (enum program_end)j->truth);
	t->has_place = possible.n_place > 0;
}

/* Fills in j->before. Counts boundaries as the library does. */
static void find_boundaries(struct judge *j, const struct level_choice *c)
{
	const struct iteration_anchors anchors = { c->anchor, c->backup, c->backup_within,
						   c->thread, c->apart,	 c->every };
	struct iteration iteration = { 0 };
	struct token_window windows[16] = { 0 };
	uint32_t at[16] = { 0 };
	j->before = calloc(j->s->n + 1, sizeof(*j->before));
	if (!j->before)
		abort();
	for (uint32_t i = 0; i < j->s->n; i++) {
		const struct sequence_event *e = &j->s->events[i];
		uint64_t hash =
			token_window_push_for(&windows[e->thread % 16], e->event.token, c->anchor);
		at[e->thread % 16]++;
		bool ends =
			iteration_is_moved(&iteration, &anchors, e->thread, hash) &&
			iteration_take(&iteration, &anchors, e->thread, at[e->thread % 16], hash);
		j->before[i + 1] = j->before[i] + ends;
	}
}

static double steps_begun(const struct sequence *s, uint32_t truth, uint32_t at)
{
	double n = 1;
	for (uint32_t k = 0; k < s->n_marks; k++)
		n += s->marks[k].at < at && s->marks[k].ends & truth;
	return n;
}

static void judge(const struct sequence *s, const struct sequence_result *r, struct trial *t)
{
	struct judge j = { .s = s,
			   .truth = END_STEP,
			   .from = t->locked ? r->locked_at : 0,
			   .thread = r->choice.thread };
	struct trial other = *t;
	find_boundaries(&j, &r->choice);
	judge_truth(&j, r, t);
	if (!t->n_steps) {
		j.from = 0;
		judge_truth(&j, r, t);
	}
	j.truth = END_OTHER;
	judge_truth(&j, r, &other);
	if (other.n_steps && other.one_per_step > t->one_per_step) {
		*t = other;
		t->truth = END_OTHER;
	}
	free(j.before);
}

/* Compares the first answer with the truth, from the time on at which it was given. */
static void judge_first(const struct sequence *s, const struct sequence_result *r, struct trial *t)
{
	struct sequence_result first = *r;
	struct trial judged = { .locked = true };
	first.choice = r->first;
	first.locked_at = first.numbered_at = r->tried_at;
	judge(s, &first, &judged);
	t->tried = true;
	t->first = r->first;
	t->first_one_per_step = judged.one_per_step;
}

void trial_run(struct trial *t, const struct sequence *s)
{
	struct sequence_result r;
	*t = (struct trial){ 0 };
	sequence_run(s, 1, false, &r);
	t->seconds = r.seconds;
	t->locked = r.locked;
	t->moved = r.moved;
	t->corrected = r.corrected;
	t->truth = END_STEP;
	uint32_t tried_at = r.tried_at, ended_at = r.locked ? r.locked_at : s->n;
	if (!r.locked)
		sequence_run(s, s->n ? s->n : 1, true, &r);
	t->answered = r.locked;
	if (r.locked) {
		t->confidence = r.choice.confidence;
		t->last = r.choice;
		judge(s, &r, t);
	}
	double steps = steps_begun(s, t->truth, ended_at);
	if (t->locked)
		t->steps = steps;
	if (t->corrected)
		t->steps_corrected = steps - steps_begun(s, t->truth, tried_at);
	if (r.locked && r.tried_at)
		judge_first(s, &r, t);
}
