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
 * - Its thread's next chunk is read. All chunks that were claimed before that one have been read,
 *   because chunks are read in the order of their claims. The work was delivered before that claim.
 * - Live: a whole pass was read since the pass that read it.
 * - CUPTI was flushed since the work began, and all that the flush delivered has been read.
 * - Steps no longer wait for work that is so late (ingest_ready.c).
 */
#include "core/source/journal/ingest.h"

/* Passes on the first n pieces of work, and of the others those that began until `ticks`. */
static void pass_on(struct ingest *f, struct ingest_thread *t, size_t n, uint64_t ticks)
{
	size_t n_left = 0, n_left_before = 0;
	for (size_t i = 0; i < t->held.n; i++) {
		const struct rec_gpu work = t->held.at[i];
		if (i < n || work.begin_ticks <= ticks) {
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

void ingest_hold_next_chunk(struct ingest *f, struct ingest_thread *t)
{
	if (!t->held.n)
		return;
	pass_on(f, t, t->held.n, 0);
	drop_empty(f);
}

void ingest_hold_end_pass(struct ingest *f)
{
	for (size_t k = 0; k < f->holders.n; k++) {
		struct ingest_thread *t = &f->threads.at[f->holders.at[k]];
		pass_on(f, t, t->n_read_before, 0);
		t->n_read_before = t->held.n;
	}
	drop_empty(f);
}

void ingest_hold_until(struct ingest *f, uint64_t ticks)
{
	for (size_t k = 0; k < f->holders.n; k++)
		pass_on(f, &f->threads.at[f->holders.at[k]], 0, ticks);
	drop_empty(f);
}
