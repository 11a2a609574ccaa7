/* Rereading a journal: afterwards, or at a process's end if its steps were not found before. */
#include "core/source/process/diagnostic.h"
#include "core/source/process/driver_flight.h"
#include "core/source/process/driver_parts.h"

/* Reads everything once to find out what a step is. */
static bool learn_from(struct driver *d, struct anchor *anchor)
{
	struct err e;
	struct driver *reading;
	const struct driver_sink nowhere = { .no_trace = true };
	if (driver_open(&reading, d->path, false, &nowhere, &e))
		return false;
	ingest_read(reading->ingest);
	ingest_finish(reading->ingest, false);
	bool is_known = learn_conclude(&reading->learn, reading->ingest);
	d->n_function_calls = reading->learn.function.n_calls;
	if (is_known) {
		const struct level_choice *choice = &reading->learn.choice;
		*anchor = (struct anchor){ .anchor = choice->anchor,
					   .backup = choice->backup,
					   .backup_within = choice->backup_within,
					   .apart = choice->apart,
					   .n_missed = choice->n_missed,
					   .is_late = choice->n_missed < 0,
					   .n_early_backups = choice->n_early_backups,
					   .end = choice->end,
					   .uses_schedule = true };
		driver_describe_choice(d, choice->confidence, choice->calls_per_step,
				       choice->boundary);
	}
	driver_close(reading);
	return is_known;
}

static bool find_anchor(struct driver *d, struct anchor *anchor)
{
	const struct journal_steps *s = driver_steps(d);
	uint32_t generation = atomic_load(&s->anchor_generation);
	bool is_void = generation && atomic_load(&s->void_generation) == generation;
	if (!generation && atomic_load(&s->slices)) {
		*anchor = (struct anchor){ 0 };
		explain_slices(d);
		return true;
	}
	if (!generation || is_void)
		return learn_from(d, anchor);
	*anchor = (struct anchor){
		.anchor = atomic_load(&s->anchor),
		.backup = atomic_load(&s->backup),
		.backup_within = atomic_load(&s->backup_within),
		.apart = atomic_load(&s->anchors_apart),
		.end = atomic_load(&s->end),
		.is_late = atomic_load(&s->is_late),
		.has_base = atomic_load(&s->base_generation) == generation,
		.base = atomic_load(&s->base),
		.generation = generation,
	};
	/* a library that never knew its step's number never recorded one */
	anchor->uses_schedule = atomic_load(&s->state) != STEP_STATE_LOCKED &&
				!atomic_load(&s->lost);
	driver_describe_told(d);
	return true;
}

struct reread {
	struct driver *d;
	struct anchor anchor;	   /* the last, or the only one */
	anchors earlier;	   /* of a program that went over to other work */
	anchor_generations voided; /* anchors that turned out to be the wrong ones */
};

/* Whatever the library locked is in the journal; of the last anchor the header knows more. */
static int find_anchors(struct driver *d, struct reread *r, struct err *e)
{
	const struct journal_steps *s = driver_steps(d);
	d->has_steps = find_anchor(d, &r->anchor);
	if (atomic_load(&s->void_generation))
		vec_push(&r->voided, atomic_load(&s->void_generation));
	if (atomic_load(&s->anchor_generation) < 2)
		return 0;
	int error = anchors_list(d->path, &r->earlier, &r->voided, e);
	if (error || !r->earlier.n)
		return error;
	if (!r->anchor.has_base ||
	    r->earlier.at[r->earlier.n - 1].generation == r->anchor.generation)
		r->anchor = r->earlier.at[--r->earlier.n];
	return 0;
}

/* The steps that no record of the library's begins. */
static void mark_learned(struct ingest *f, const char *path, const struct reread *r, struct err *e)
{
	for (size_t i = 0; i < r->earlier.n; i++)
		anchors_mark(f, path, &r->earlier.at[i], UINT64_MAX, e);
	anchors_mark(f, path, &r->anchor, UINT64_MAX, e);
}

static void reread_counted(void *context, struct ingest *f, uint32_t thread,
			   const struct rec_step *step)
{
	const struct reread *r = context;
	(void)thread;
	for (size_t i = 0; i < r->earlier.n; i++)
		anchor_mark_counted(f, step, &r->earlier.at[i]);
	anchor_mark_counted(f, step, &r->anchor);
}

static void reread_step(void *context, struct ingest *f, struct model_step *m)
{
	struct reread *r = context;
	driver_take_step(r->d, f, m);
}

static void reread_triggered(void *context, struct ingest *f, const struct rec_step *step)
{
	struct reread *r = context;
	driver_triggered(r->d, f, step);
}

/*
 * Opens the journal anew in place of what was read so far. That stays if there is no journal any
 * more.
 */
static int start_over(struct driver *d, struct reread *r, struct err *e)
{
	const struct ingest_sink sink = { .context = r,
					  .counted = reread_counted,
					  .triggered = reread_triggered,
					  .no_trace = d->sink.no_trace,
					  .step = reread_step };
	struct ingest *before = d->ingest, *anew = mem_zero(sizeof(*anew));
	int error = ingest_open(anew, d->path, false, &sink, e);
	if (error) {
		free(anew);
		return error;
	}
	d->ingest = anew;
	d->n_shown = 0;
	driver_flight_start(d, driver_take_kept);
	if (d->sink.restart)
		d->sink.restart(d->sink.context);
	ingest_close(before);
	free(before);
	return 0;
}

/* Everything as one step: better than nothing to look at. */
static int show_whole_run(struct driver *d, struct reread *r, struct err *e)
{
	struct ingest *f = d->ingest;
	struct ingest_counts counts = f->counts;
	uint64_t last_number = f->last_number;
	bool last_is_whole = f->last_is_whole, last_has_come = f->last_has_come;
	struct sample steps = f->run.step_ms;
	struct cost cost = f->run.cost;
	struct baseline baseline = f->run.baseline;
	uint64_t trains_from = f->run.trains_from;
	f->run.baseline = (struct baseline){ 0 }; /* it is kept */
	int error = start_over(d, r, e);
	if (error) {
		baseline_free(&baseline);
		return error;
	}
	f = d->ingest;
	f->sink.counted = NULL;
	f->one_step = true;
	ingest_read(f);
	ingest_finish(f, driver_was_killed(d));
	f->counts = counts; /* what was found out about steps stands */
	f->last_number = last_number;
	f->last_is_whole = last_is_whole;
	f->last_has_come = last_has_come;
	f->run.step_ms = steps;
	f->run.cost = cost;
	baseline_free(&f->run.baseline);
	f->run.baseline = baseline;
	f->run.trains_from = trains_from;
	f->recorded.n = 0;
	return 0;
}

static int reread_with(struct driver *d, struct reread *r, struct err *e)
{
	bool is_auto = driver_is_auto(d);
	d->has_steps = !is_auto;
	int error = is_auto ? find_anchors(d, r, e) : 0;
	if (!error)
		error = start_over(d, r, e);
	if (error)
		return error;
	struct ingest *f = d->ingest;
	for (size_t i = 0; i < r->voided.n; i++)
		ingest_void(f, r->voided.at[i]);
	for (size_t i = 0; i < r->earlier.n; i++)
		if (r->earlier.at[i].begins_training)
			ingest_train(f, r->earlier.at[i].generation);
	if (r->anchor.begins_training)
		ingest_train(f, r->anchor.generation);
	if (!is_auto)
		d->confidence = 1;
	if (r->anchor.anchor) {
		if (r->anchor.uses_schedule && !f->schedule.off)
			f->marks.at[0].action = (uint8_t)schedule_action(&f->schedule, 0);
		mark_learned(f, d->path, r, e);
	}
	ingest_read(f);
	ingest_finish(f, driver_was_killed(d));
	d->has_steps = d->has_steps && f->last_number != UINT64_MAX;
	if (d->n_shown && r->anchor.uses_schedule)
		explain_late_steps(d);
	if (!d->sink.wants_steps || d->n_shown || d->trouble.text[0])
		return 0;
	explain_nothing_recorded(d);
	return is_auto && !f->schedule.off ? show_whole_run(d, r, e) : 0;
}

int driver_reread_all(struct driver *d, struct err *e)
{
	struct reread r = { .d = d };
	int error = reread_with(d, &r, e);
	vec_free(&r.earlier);
	vec_free(&r.voided);
	return error;
}

int driver_reread(struct driver *d, struct err *e)
{
	int error = driver_reread_all(d, e);
	if (error)
		return error;
	d->is_finished = true;
	d->state = !driver_was_killed(d) ? PROCESS_ENDED
		   : driver_is_alive(d)	 ? PROCESS_RUNS
					 : PROCESS_KILLED;
	driver_flight_end(d, d->state == PROCESS_ENDED	? FLIGHT_EXIT
			     : d->state == PROCESS_RUNS ? FLIGHT_EXPORT
							: FLIGHT_CRASH);
	return 0;
}
