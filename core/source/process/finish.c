/*
 * Ends a driver whose process has just ended: reads the rest of its journal and decides whether to
 * reread it.
 */
#include "core/source/process/diagnostic.h"
#include "core/source/process/driver_flight.h"
#include "core/source/process/driver_parts.h"

#include "core/runtime/clock.h"

/* The process's own reading at its exit may have met the collector's (note_clock in driver.c). */
static void note_closing_clock(struct driver *d)
{
	struct journal_header *h = driver_header(d);
	if (d->was_seen_alive || !h->clock.last.ticks)
		h->clock.last = clock_point(h->clock.kind);
}

/*
 * Returns whether loops decide what a step is. Inside the opening, the stacks show exactly where
 * each step begins. The anchor may be a few launches off, or missing from some steps.
 */
static bool loops_decide(struct driver *d)
{
	const struct journal_steps *steps = driver_steps(d);
	return driver_is_all_opening(d) && !reader_must_stop() &&
	       learn_loops_decide(&d->learn, d->ingest, atomic_load(&steps->anchor),
				  atomic_load(&steps->confidence_permille) / 1000.0);
}

static void describe_loops(struct driver *d)
{
	const struct journal_steps *steps = driver_steps(d);
	const struct anchor_counts counted = { atomic_load(&steps->anchor),
					       atomic_load(&steps->anchor_every) };
	driver_describe_loops(d, &d->learn, &counted);
}

static void finish(struct driver *d)
{
	struct err e;
	bool killed = driver_was_killed(d);
	bool is_auto = driver_is_auto(d);
	note_closing_clock(d);
	ingest_read_all(d->ingest);
	if (is_auto && learn_tell(&d->learn, d->ingest))
		driver_fix_backwards(d);
	if (is_auto && !d->was_recycled)
		learn_end_provisional(&d->learn, d->ingest);
	/* the library has overwritten a part of a recycled journal, so it cannot be reread */
	bool is_locked = !is_auto || d->learn.has_base || d->was_recycled ||
			 d->learn.continues_numbers || atomic_load(&driver_steps(d)->slices);
	if (is_auto && loops_decide(d))
		is_locked = false;
	d->is_finished = true;
	d->state = killed ? PROCESS_KILLED : PROCESS_ENDED;
	d->confidence = 1;
	if (is_auto)
		driver_describe_told(d);
	if (is_auto)
		describe_loops(d);
	if (is_locked) {
		ingest_finish(d->ingest, killed);
		d->has_steps = d->ingest->last_number != UINT64_MAX;
		explain_slices(d);
		if (d->n_traced || d->trouble.text[0])
			return;
	}
	if (reader_must_stop())
		return;
	/*
	 * Either the process ended before its steps were locked, or the schedule wants none of its
	 * steps. Rereading the whole journal may find more, or shows the steps of the opening.
	 */
	atomic_store(&driver_header(d)->collector, 0);
	d->is_live = false;
	if (!d->was_recycled && driver_reread_all(d, false, &e))
		driver_note_trouble(d, &e);
}

/*
 * Shrinks the journal only if the process was seen alive earlier. Only then is it certain that it
 * is dead now. Otherwise it may still be writing, under a pid that is unknown here.
 */
void driver_finish(struct driver *d)
{
	struct err e;
	finish(d);
	driver_flight_end(d, d->state == PROCESS_KILLED ? FLIGHT_CRASH : FLIGHT_EXIT);
	if (d->was_seen_alive && reader_shrink(d->path, &e))
		driver_note_trouble(d, &e);
}
