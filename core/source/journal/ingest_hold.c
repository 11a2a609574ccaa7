/*
 * Holds GPU work until all work that was delivered before it has been read.
 *
 * Work is paired in the order of its correlation ids, so work must not be paired before earlier
 * work has been read. Threads deliver GPU records in turn: CUPTI's own, and those that flush CUPTI.
 * The chunk of a thread that delivers rarely was claimed long ago, so it is read before the chunks
 * of other threads, but may contain the newest records. Records do not say when they were
 * delivered. Work is passed on to `works` when one of the following shows that all earlier work has
 * been read:
 *
 * - The next chunk of the thread that delivered it is read. All chunks that were claimed before
 *   that one have been read, because chunks are read in the order of their claims. The work was
 *   delivered before that claim.
 * - Live: a whole pass was read since the pass that read it.
 * - CUPTI was flushed since the work began, and all that the flush delivered has been read.
 * - Steps no longer wait for work that is so late (ingest_ready.c).
 *
 * When work is passed on, work with lower ids that other threads hold goes with it.
 */
#include "core/source/journal/ingest.h"

/* Returns whether id `a` is lower than `b` or the same. Ids wrap around. */
static bool is_up_to(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

/* Passes on the work that began until `ticks`, and if `has_id` is set, that with ids up to `id`. */
static void pass_on(struct ingest *f, struct ingest_thread *t, bool has_id, uint32_t id,
		    uint64_t ticks)
{
	size_t n_left = 0, n_left_before = 0;
	for (size_t i = 0; i < t->held.n; i++) {
		const struct rec_gpu work = t->held.at[i];
		if (work.begin_ticks <= ticks || (has_id && is_up_to(work.correlation, id))) {
			vec_push(&f->works, work);
			continue;
		}
		n_left_before += i < t->n_read_before;
		t->held.at[n_left++] = work;
	}
	if (n_left < t->held.n)
		f->records_paired = f->records_marked = UINT64_MAX; /* new work to pair */
	t->held.n = n_left;
	t->n_read_before = n_left_before;
}

/* Drops the threads that hold nothing from the list. */
static void drop_empty(struct ingest *f)
{
	size_t n = 0;
	for (size_t k = 0; k < f->holders.n; k++)
		if (f->threads.at[f->holders.at[k]].held.n)
			f->holders.at[n++] = f->holders.at[k];
	f->holders.n = n;
}

void ingest_hold(struct ingest *f, struct ingest_thread *t, const struct rec_gpu *work)
{
	if (!t->held.n)
		vec_push(&f->holders, (uint32_t)(t - f->threads.at));
	vec_push(&t->held, *work);
}

/* Of n pieces of work, returns the highest id. */
static uint32_t highest_id(const struct ingest_thread *t, size_t n)
{
	uint32_t id = t->held.at[0].correlation;
	for (size_t i = 1; i < n; i++)
		if (is_up_to(id, t->held.at[i].correlation))
			id = t->held.at[i].correlation;
	return id;
}

static void pass_on_up_to(struct ingest *f, uint32_t id)
{
	for (size_t k = 0; k < f->holders.n; k++)
		pass_on(f, &f->threads.at[f->holders.at[k]], true, id, 0);
	drop_empty(f);
}

void ingest_hold_next_chunk(struct ingest *f, struct ingest_thread *t)
{
	if (t->held.n)
		pass_on_up_to(f, highest_id(t, t->held.n));
}

void ingest_hold_end_pass(struct ingest *f)
{
	bool has_id = false;
	uint32_t id = 0;
	for (size_t k = 0; k < f->holders.n; k++) {
		const struct ingest_thread *t = &f->threads.at[f->holders.at[k]];
		uint32_t own = t->n_read_before ? highest_id(t, t->n_read_before) : 0;
		if (t->n_read_before && (!has_id || is_up_to(id, own)))
			id = own;
		has_id |= t->n_read_before > 0;
	}
	if (has_id)
		pass_on_up_to(f, id);
	for (size_t k = 0; k < f->holders.n; k++) {
		struct ingest_thread *t = &f->threads.at[f->holders.at[k]];
		t->n_read_before = t->held.n;
	}
}

void ingest_hold_until(struct ingest *f, uint64_t ticks)
{
	for (size_t k = 0; k < f->holders.n; k++)
		pass_on(f, &f->threads.at[f->holders.at[k]], false, 0, ticks);
	drop_empty(f);
}
