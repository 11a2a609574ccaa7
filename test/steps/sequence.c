/* Runs step learning on launch sequences, and compares its answers with the true steps. */
#include "test/steps/sequence.h"

#include "core/runtime/iteration.h"
#include "core/runtime/token.h"
#include "test/steps/grow.h"

#include <stdlib.h>
#include <time.h>

void sequence_add(struct sequence *s, uint32_t thread, uint64_t token, uint32_t hints)
{
	s->events = must_grow(s->events, s->n, &s->allocated, sizeof(*s->events));
	s->events[s->n++] = (struct sequence_event){
		.event = { .token = token,
			   .begin_ns = s->now_ns,
			   .end_ns = s->now_ns + SEQUENCE_BUSY_NS,
			   .hints = hints },
		.thread = thread,
	};
	s->now_ns += SEQUENCE_APART_NS;
}

void sequence_end(struct sequence *s, uint32_t ends)
{
	s->marks = must_grow(s->marks, s->n_marks, &s->marks_allocated, sizeof(*s->marks));
	s->marks[s->n_marks++] = (struct program_mark){ s->n, ends };
	if (!(ends & END_STEP))
		return;
	s->ends = must_grow(s->ends, s->n_ends, &s->ends_allocated, sizeof(*s->ends));
	s->ends[s->n_ends++] = s->n;
}

void sequence_end_step(struct sequence *s)
{
	sequence_end(s, END_STEP | END_OTHER);
}

void sequence_free(struct sequence *s)
{
	free(s->events);
	free(s->ends);
	free(s->marks);
	*s = (struct sequence){ 0 };
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * Counts the anchor and its backup as the library does. Sets boundary[i] to whether event i ends a
 * step, and returns the number of boundaries.
 */
static uint32_t sequence_boundaries(const struct sequence *s, const struct level_choice *c,
				    bool *boundary)
{
	const struct iteration_anchors anchors = { c->anchor, c->backup, c->backup_within,
						   c->thread, c->apart,	 c->every };
	struct iteration iteration = { 0 };
	struct token_window windows[16] = { 0 };
	uint32_t at[16] = { 0 };
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct sequence_event *e = &s->events[i];
		uint64_t hash =
			token_window_push_for(&windows[e->thread % 16], e->event.token, c->anchor);
		at[e->thread % 16]++;
		boundary[i] =
			iteration_is_moved(&iteration, &anchors, e->thread, hash) &&
			iteration_take(&iteration, &anchors, e->thread, at[e->thread % 16], hash);
		n += boundary[i];
	}
	return n;
}

static int32_t nearest(const bool *boundary, uint32_t n, uint32_t at)
{
	for (uint32_t d = 0; d < n; d++) {
		if (at + d < n && boundary[at + d])
			return (int32_t)d;
		if (at >= d && boundary[at - d])
			return -(int32_t)d;
	}
	return INT32_MAX;
}

static int compare_i32(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

static uint32_t count_true(const bool *flags, uint32_t begin, uint32_t end)
{
	uint32_t n = 0;
	for (uint32_t i = begin; i < end; i++)
		n += flags[i];
	return n;
}

static void sequence_compare(const struct sequence *s, struct sequence_result *r)
{
	bool *boundary = calloc(s->n + 1, sizeof(*boundary));
	int32_t *late = calloc(s->n_ends + 1, sizeof(*late));
	uint32_t n_one = 0, n_exact = 0;
	if (!boundary || !late)
		abort();
	r->looks = sequence_boundaries(s, &r->choice, boundary);
	for (uint32_t k = 0; k + 1 < s->n_ends; k++) {
		if (s->ends[k] < r->locked_at)
			continue;
		uint32_t n_in_step = count_true(boundary, s->ends[k], s->ends[k + 1]);
		late[r->n_steps++] = nearest(boundary, s->n, s->ends[k + 1] - 1);
		n_one += n_in_step == 1;
		n_exact += boundary[s->ends[k + 1] - 1];
	}
	if (r->n_steps) {
		qsort(late, r->n_steps, sizeof(*late), compare_i32);
		r->typical_late = late[r->n_steps / 2];
		r->one_per_step = (double)n_one / r->n_steps;
		r->exact = (double)n_exact / r->n_steps;
	}
	free(boundary);
	free(late);
}

static double sequence_steps_before(const struct sequence *s, uint32_t at)
{
	for (uint32_t k = 1; k < s->n_ends; k++)
		if (s->ends[k] >= at)
			return k + (double)((int64_t)at - s->ends[k - 1]) /
					   (s->ends[k] - s->ends[k - 1]);
	return s->n_ends;
}

static void note_numbers(struct sequence_result *r, uint32_t at)
{
	r->numbered_at = at;
	r->n_before = r->choice.count;
}

static void note_change(struct sequence_result *r, uint32_t at)
{
	note_numbers(r, at);
	if (r->choice.change == LEVEL_MOVED) {
		r->moved = true;
		return;
	}
	r->corrected = true;
	r->locked_at = at;
}

void sequence_run(const struct sequence *s, uint32_t batch, bool conclude,
		  struct sequence_result *r)
{
	struct levels *l = levels_new();
	if (!l)
		abort();
	*r = (struct sequence_result){ 0 };
	double begin = now_s();
	for (uint32_t i = 0; i < s->n; i++) {
		if (levels_feed(l, s->events[i].thread, &s->events[i].event))
			abort();
		if ((i + 1) % batch && i + 1 < s->n)
			continue;
		uint32_t n_changes = r->choice.n_changes;
		bool locked = levels_vote(l, &r->choice);
		if (locked && !r->locked) {
			r->tried_at = r->locked_at = i + 1;
			note_numbers(r, i + 1);
			r->first = r->choice;
		}
		if (locked && r->choice.n_changes != n_changes)
			note_change(r, i + 1);
		r->locked = locked;
	}
	uint32_t n_changes = r->choice.n_changes;
	if (r->locked && r->choice.is_provisional) {
		bool stands = levels_conclude(l, &r->choice);
		if (r->choice.n_changes != n_changes)
			note_change(r, s->n);
		r->locked = stands && (r->choice.n_changes == n_changes || !r->corrected);
	}
	if (conclude && !r->locked) {
		r->locked = levels_conclude(l, &r->choice);
		note_numbers(r, s->n);
		r->locked_at = 0; /* an export from the journal divides all launches into steps */
	}
	r->seconds = now_s() - begin;
	levels_free(l);
	if (!r->locked)
		return;
	r->locked_steps = sequence_steps_before(s, r->locked_at);
	sequence_compare(s, r);
}
