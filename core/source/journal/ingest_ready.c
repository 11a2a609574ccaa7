/*
 * Decides when steps are passed on. A step is ready when three things hold: the next step has
 * begun; calls that were under way at the step's end have had time to be written; and its GPU work
 * is complete. The work is complete if all of it is here, CUPTI was flushed, or the wait for it
 * timed out.
 */
#include "core/source/journal/ingest.h"

#include "core/util/bisect.h"
#include "core/util/memory_limit.h"

enum {
	/*
	 * Steps are closed when at least 1/READY_SHARE of the steps held are over, because each
	 * attempt scans all records held. Live it is 1/READY_SHARE_LIVE, because a user waits for
	 * the traces.
	 */
	READY_SHARE = 3,
	READY_SHARE_LIVE = 8,
	NEW_SHARE = 8, /* try again when the GPU work held has grown by 1/NEW_SHARE */
	/*
	 * The records of steps that wait for GPU work may take 1/HELD_SHARE of the memory limit.
	 * Passing the steps on takes up to four times as much again, for copies of the records and
	 * for pairing them. Of 512 MiB, a run with a full journal took 509 with an eighth.
	 */
	HELD_SHARE = 16,
};

/* How long to wait for GPU work if nothing shows that it will not arrive. */
#define WAIT_FOR_WORK_NS 30000000000ull

static uint64_t count_expected(struct ingest *f, uint64_t end)
{
	uint64_t n = 0;
	if (f->expected_of_ticks == end)
		return f->expected;
	ingest_cut_calls(f, end);
	for (size_t i = 0; i < f->threads.n; i++)
		for (size_t k = 0; k < f->threads.at[i].n_cut; k++)
			n += ingest_expects_work(f, &f->threads.at[i].calls.at[k]);
	f->expected_of_ticks = end;
	f->expected = n;
	f->works_at_last_try = 0;
	return n;
}

/* Returns the highest correlation id of the work so far. Ids wrap around. */
static uint32_t highest_id(const struct ingest *f)
{
	uint32_t id = f->works.n ? f->works.at[0].correlation : 0;
	for (size_t i = 1; i < f->works.n; i++)
		if ((int32_t)(f->works.at[i].correlation - id) > 0)
			id = f->works.at[i].correlation;
	return id;
}

/* Marks the calls held whose work was dropped: nothing needs to wait for it. */
static void mark_without(const struct ingest *f, const struct pair_thread *threads,
			 uint8_t *has_work)
{
	for (size_t i = 0; i < f->without.n; i++) {
		const struct pair_without *w = &f->without.at[i];
		const struct pair_thread *t = &threads[w->thread];
		size_t k = bisect(t->n_calls, c, t->calls[c].begin_ticks < w->begin_ticks);
		if (k < t->n_calls && t->calls[k].begin_ticks == w->begin_ticks)
			has_work[t->first + k] = 1;
	}
}

/*
 * Returns an array that says for each call, by its number, whether its GPU work is here or was
 * dropped. The caller frees it. The launch of a graph has many pieces of work, whose number is not
 * known. Its work counts once work of a later call is here, because CUPTI delivers in the order of
 * the ids.
 */
static uint8_t *find_work(struct ingest *f, uint64_t begin, uint64_t end)
{
	size_t n_calls = ingest_cut_calls(f, end);
	struct pair_thread *threads = ingest_cut_threads(f);
	uint32_t *call_of = mem_resize(NULL, f->works.n * sizeof(*call_of));
	uint8_t *has_work = mem_zero(n_calls);
	ingest_pair_by_order(f);
	ingest_match(f, threads, begin, end, call_of);
	uint32_t last = highest_id(f);
	for (size_t i = 0; i < f->works.n; i++) {
		const struct rec_gpu *work = &f->works.at[i];
		if (call_of[i] < n_calls && !(work->graph && work->correlation == last))
			has_work[call_of[i]] = 1;
	}
	mark_without(f, threads, has_work);
	free(call_of);
	free(threads);
	return has_work;
}

static size_t count_cut(const struct ingest *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->threads.n; i++)
		n += f->threads.at[i].n_cut;
	return n;
}

static uint64_t count_dropped(const struct ingest *f)
{
	uint64_t n = 0;
	for (size_t i = 0; i < f->dropped_works.n; i++)
		n += f->dropped_works.at[i].n;
	return n;
}

static bool all_work_is_here(struct ingest *f, uint64_t begin, uint64_t end, uint64_t expected)
{
	/* each attempt takes as much time as the pairing itself */
	if (f->works.n + count_dropped(f) < expected ||
	    f->works.n < f->works_at_last_try + f->works_at_last_try / NEW_SHARE)
		return false;
	f->works_at_last_try = f->works.n + 1;
	uint8_t *has_work = find_work(f, begin, end);
	size_t n_calls = count_cut(f), n_paired = 0;
	for (size_t i = 0; i < n_calls; i++)
		n_paired += has_work[i];
	free(has_work);
	return n_paired >= expected;
}

/* Returns whether calls that were under way at `end` have had time to be written. */
static bool is_past(const struct ingest *f, uint64_t end)
{
	return f->read_until_ticks >= end + timebase_ticks(&f->time, INGEST_GRACE_NS);
}

/* Returns whether the GPU work of a step that ended at `end` has been waited for long enough. */
static bool is_timed_out(const struct ingest *f, uint64_t end)
{
	return f->read_until_ticks >= end + timebase_ticks(&f->time, INGEST_GRACE_NS) +
					      timebase_ticks(&f->time, WAIT_FOR_WORK_NS);
}

/* Returns whether waiting for GPU work is useless: CUPTI was flushed, or the wait timed out. */
static bool is_given_up(const struct ingest *f, uint64_t end)
{
	return (f->flushed_ticks >= end && f->read_until_ticks >= f->flushed_usable_ticks) ||
	       is_timed_out(f, end);
}

static bool is_first_ready(struct ingest *f)
{
	uint64_t begin = f->marks.at[0].ticks, end = f->marks.at[1].ticks;
	uint64_t expected = count_expected(f, end);
	return !expected || all_work_is_here(f, begin, end, expected);
}

/*
 * Returns when the first call of the first n steps began whose GPU work has not arrived, or
 * UINT64_MAX.
 */
static uint64_t first_incomplete(struct ingest *f, size_t n)
{
	uint8_t *has_work = find_work(f, f->marks.at[0].ticks, f->marks.at[n].ticks);
	uint64_t first = UINT64_MAX;
	size_t number = 0;
	for (size_t i = 0; i < f->threads.n; i++) {
		const struct ingest_thread *t = &f->threads.at[i];
		for (size_t k = 0; k < t->n_cut; k++) {
			const struct rec_call *call = &t->calls.at[k];
			if (call->begin_ticks >= first)
				break; /* a thread's calls are in the order of their begins */
			if (!has_work[number + k] && ingest_expects_work(f, call))
				first = call->begin_ticks;
		}
		number += t->n_cut;
	}
	free(has_work);
	return first;
}

/*
 * Returns how many of the first n steps have all their GPU work. Scans all records held, so all of
 * these steps have to be passed on at once: one by one, the work would grow with the square of the
 * number of steps held. A collector that is late may hold ten thousand.
 */
static size_t count_complete(struct ingest *f, size_t n)
{
	uint64_t until = first_incomplete(f, n);
	size_t n_complete = 0;
	while (n_complete < n && f->marks.at[n_complete + 1].ticks <= until)
		n_complete++;
	f->works_at_group_try = n_complete ? 0 : f->works.n + 1;
	return n_complete;
}

static bool has_new_works(const struct ingest *f)
{
	return f->works.n >= f->works_at_group_try + f->works_at_group_try / NEW_SHARE;
}

/*
 * Returns whether the records held take so much memory that steps must not wait for lost GPU work.
 * A single piece of work that never comes, because the journal was full, would hold up all steps of
 * WAIT_FOR_WORK_NS: 680 MiB at 100,000 calls per second.
 */
static bool holds_too_much(const struct ingest *f)
{
	uint64_t bytes =
		f->n_pending * sizeof(struct rec_call) + f->works.n * sizeof(*f->works.at) +
		f->externals.n * sizeof(*f->externals.at) + f->apis.n * sizeof(*f->apis.at) +
		f->samples.n * sizeof(*f->samples.at) + f->marks.n * sizeof(*f->marks.at);
	return bytes > memory_limit_part(HELD_SHARE);
}

/* The time between the begins of the first call held and the last one whose GPU work is here. */
struct span {
	uint64_t begin, last; /* `last` is 0: no call's work is here */
};

static struct span find_read(struct ingest *f, uint64_t end)
{
	uint8_t *has_work = find_work(f, f->marks.at[0].ticks, end);
	struct span span = { .begin = UINT64_MAX };
	size_t number = 0;
	for (size_t i = 0; i < f->threads.n; i++) {
		const struct ingest_thread *t = &f->threads.at[i];
		size_t k = t->n_cut;
		if (k && t->calls.at[0].begin_ticks < span.begin)
			span.begin = t->calls.at[0].begin_ticks;
		while (k && !has_work[number + k - 1])
			k--;
		if (k && t->calls.at[k - 1].begin_ticks > span.last)
			span.last = t->calls.at[k - 1].begin_ticks;
		number += t->n_cut;
	}
	free(has_work);
	return span;
}

/*
 * Returns how many of the first n steps lie in the older half of the time whose GPU work has been
 * read. What is missing there was lost, or runs for as long as the younger half.
 */
static size_t count_read(struct ingest *f, size_t n)
{
	struct span read = find_read(f, f->marks.at[n].ticks);
	size_t n_read = 0;
	if (read.last <= read.begin)
		return 0;
	while (n_read < n &&
	       f->marks.at[n_read + 1].ticks <= read.begin + (read.last - read.begin) / 2)
		n_read++;
	return n_read;
}

/* Returns how many steps can be passed on. */
static size_t count_ready(struct ingest *f)
{
	size_t n_past = 0, n_given_up = 0;
	if (f->holds_unnumbered)
		return 0;
	while (n_past + 1 < f->marks.n && is_past(f, f->marks.at[n_past + 1].ticks))
		n_given_up += is_given_up(f, f->marks.at[++n_past].ticks);
	if (!n_past || n_past * (f->is_live ? READY_SHARE_LIVE : READY_SHARE) < f->marks.n - 1)
		return 0;
	if (n_given_up)
		return n_given_up;
	bool is_try = n_past > 1 && has_new_works(f);
	size_t n_complete = is_try ? count_complete(f, n_past) : 0;
	if (!n_complete && is_try && holds_too_much(f))
		n_complete = count_read(f, n_past);
	if (n_complete || !is_first_ready(f))
		return n_complete;
	n_complete = n_past > 1 ? count_complete(f, n_past) : 1;
	return n_complete ? n_complete : 1;
}

/* Takes the work that steps no longer wait for: ingest_hold.c holds it no longer. */
static void take_works(struct ingest *f, bool is_final)
{
	uint64_t until = 0;
	if (f->read_until_ticks >= f->flushed_usable_ticks)
		until = f->flushed_ticks;
	if (f->marks.n > 1 && is_timed_out(f, f->marks.at[1].ticks))
		until = f->read_until_ticks;
	ingest_hold_until(f, is_final ? UINT64_MAX : until);
}

void ingest_close_steps(struct ingest *f, bool is_final, bool killed)
{
	bool is_moving = f->is_live && !f->is_over;
	take_works(f, is_final);
	if (f->holds_steps && !is_final)
		return;
	for (size_t n; (n = is_final ? f->marks.n - 1 : count_ready(f)) && !reader_must_stop();) {
		if (f->is_live || is_final)
			timebase_set(&f->time, f->reader.header, is_moving);
		ingest_close_group(f, n);
	}
	if (!is_final) {
		ingest_drop_unwanted(f);
		return;
	}
	if (reader_must_stop())
		return;
	timebase_set(&f->time, f->reader.header, is_moving);
	ingest_pair_by_order(f);
	ingest_close_last(f, killed);
}
