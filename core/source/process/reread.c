/*
 * Rereads a journal: offline, or when a process has ended and its steps were not detected while it
 * ran. Learned steps need two passes: the first finds the anchors and their occurrences, the second
 * builds the steps. All other steps need one pass.
 */
#include "core/source/process/diagnostic.h"
#include "core/source/process/driver_flight.h"
#include "core/source/process/driver_parts.h"
#include "core/steps/launch_log.h"
#include "core/util/work.h"

#include <errno.h>

struct reread {
	struct driver *d;
	struct anchor anchor;	   /* the newest anchor, often the only one */
	anchors earlier;	   /* anchors that the library counted with before it */
	anchor_generations voided; /* generations of anchors that proved wrong */
	uint32_t voided_until;	   /* all generations up to this one are void as well */
	struct launch_log log;
	bool has_log;
	/* The begins of the steps, if the loops decide; takes the place of an anchor. */
	loop_begins begins;
	uint64_t end_ticks;  /* of the last of them */
	struct learn *learn; /* the first pass feeds it; NULL: nothing to learn */
};

/*
 * Returns whether the run has an opening. If the schedule records every step, no step is marked as
 * one of the opening.
 */
static bool has_opening(const struct reread *r)
{
	return r->log.opening.is_any || r->d->ingest->schedule.always;
}

/* ---- The first pass ---- */

static void feed(void *context, uint32_t slot, const struct rec_call *c)
{
	struct reread *r = context;
	struct ingest *f = r->d->ingest;
	f->opening.is_any |= has_opening(r);
	f->opening.end_ticks = r->log.opening.end_ticks;
	if (ingest_takes_call(f, c))
		learn_feed(r->learn, f, slot, c);
}

static void feed_thread(void *context, uint32_t slot, const struct rec_thread *record)
{
	struct reread *r = context;
	learn_feed_thread(r->learn, r->d->ingest, slot, record);
}

static void feed_graph(void *context, uint32_t slot, const struct rec_head *record)
{
	struct reread *r = context;
	learn_feed_graph(r->learn, r->d->ingest, slot, record);
}

static int read_first(struct reread *r, struct err *e)
{
	const struct launch_log_sink sink = {
		.context = r, .call = feed, .thread = feed_thread, .graph = feed_graph
	};
	r->has_log = true;
	return launch_log_read(&r->log, r->d->path, r->learn ? &sink : NULL, e);
}

static void take_begins(struct reread *r, struct loop_choice *choice)
{
	r->begins = choice->begins;
	r->end_ticks = choice->end_ticks;
	r->anchor.uses_schedule = true;
	memset(&choice->begins, 0, sizeof(choice->begins));
}

/* Determines from all launches what a step is. Returns false if they contain no steps. */
static bool conclude(struct reread *r)
{
	struct driver *d = r->d;
	const struct level_choice *choice = &r->learn->choice;
	work_begin("detecting steps", 0);
	r->learn->keeps_numbers = r->log.has_triggers || driver_has_request(d);
	bool is_known = learn_conclude(r->learn, d->ingest);
	d->n_function_calls = r->learn->function.n_calls;
	if (!is_known)
		return false;
	driver_describe_choice(d, choice->confidence, choice->calls_per_step, choice->boundary);
	driver_describe_loops(d, r->learn, &(struct anchor_counts){ choice->anchor, 0 });
	if (r->learn->by_loops) {
		take_begins(r, &r->learn->loops.choice);
		return true;
	}
	r->anchor = (struct anchor){ .anchor = choice->anchor,
				     .backup = choice->backup,
				     .backup_within = choice->backup_within,
				     .apart = choice->apart,
				     .n_missed = choice->n_missed,
				     .is_late = choice->n_missed < 0,
				     .n_early_backups = choice->n_early_backups,
				     .end = choice->end,
				     .uses_schedule = true };
	return true;
}

/*
 * If all steps are in the opening, the loop shows exactly where they begin. What the library
 * counted is not needed then, and may be wrong.
 */
static bool use_begins(struct reread *r)
{
	struct driver *d = r->d;
	bool is_all_opening = has_opening(r) && !r->log.opening.end_ticks && !r->log.has_triggers &&
			      !driver_has_request(d);
	/* then its traces have the steps that were counted */
	bool collector_was_killed = atomic_load(&driver_header(d)->collector);
	if (!is_all_opening || collector_was_killed ||
	    !learn_loops_decide(r->learn, d->ingest, r->anchor.anchor, d->confidence))
		return false;
	const struct level_choice *choice = &r->learn->choice;
	driver_describe_choice(d, choice->confidence, choice->calls_per_step, choice->boundary);
	r->voided_until = r->anchor.generation;
	return true;
}

/* Takes the newest anchor that the library received, from the journal's header. */
static void take_told(struct reread *r)
{
	struct driver *d = r->d;
	const struct journal_steps *s = driver_steps(d);
	uint32_t generation = atomic_load(&s->anchor_generation);
	r->anchor = (struct anchor){
		.anchor = atomic_load(&s->anchor),
		.backup = atomic_load(&s->backup),
		.backup_within = atomic_load(&s->backup_within),
		.apart = atomic_load(&s->anchors_apart),
		.every = atomic_load(&s->anchor_every),
		.lead = atomic_load(&s->anchor_lead),
		.end = atomic_load(&s->end),
		.is_late = atomic_load(&s->is_late),
		.has_base = atomic_load(&s->base_generation) == generation,
		.base = atomic_load(&s->base),
		.generation = generation,
		/* a library that never had absolute step numbers never recorded a step */
		.uses_schedule = !step_state_is_counting(atomic_load(&s->state)) &&
				 !atomic_load(&s->lost),
	};
	driver_describe_told(d);
	bool by_loops = use_begins(r);
	driver_describe_loops(d, r->learn,
			      &(struct anchor_counts){ r->anchor.anchor, r->anchor.every });
	if (by_loops)
		take_begins(r, &r->learn->loops.choice);
	d->has_steps = true;
}

/* `is_told`: the library has received an anchor, so only the loops are learned. */
static int learn_anchor(struct reread *r, bool is_told, struct err *e)
{
	struct learn learn;
	learn_start(&learn);
	learn.has_base = is_told;
	learn.wanted_loop = r->d->sink.step_loop;
	learn_loops_drop_after(&learn.loops); /* nothing counts launches any more */
	r->learn = &learn;
	int error = read_first(r, e);
	if (!error && is_told)
		take_told(r);
	else if (!error)
		r->d->has_steps = conclude(r);
	learn_stop(&learn);
	r->learn = NULL;
	return error;
}

static bool is_void(const struct reread *r, uint32_t generation)
{
	for (size_t i = 0; i < r->voided.n; i++)
		if (r->voided.at[i] == generation)
			return true;
	return generation && generation <= r->voided_until;
}

/*
 * Takes the anchors that the journal's records list, which are all that the library locked. The
 * last one replaces the anchor from the header, unless the header's anchor has a base and is not
 * listed, or replaces the last one, whose steps are void. The library may have ended before it
 * received that anchor.
 */
static void take_listed(struct reread *r)
{
	for (size_t i = 0; i < r->log.voided.n; i++)
		vec_push(&r->voided, r->log.voided.at[i]);
	for (size_t i = 0; i < r->log.anchors.n; i++)
		if (!is_void(r, r->log.anchors.at[i].generation))
			vec_push(&r->earlier, r->log.anchors.at[i]);
	if (r->earlier.n && (!r->anchor.has_base ||
			     r->earlier.at[r->earlier.n - 1].generation == r->anchor.generation))
		r->anchor = r->earlier.at[--r->earlier.n];
}

/* Ignores all steps of the library, as the user wants those of another loop. */
static int use_other(struct reread *r, uint32_t generation, struct err *e)
{
	const char *loop = r->d->sink.step_loop;
	r->voided_until = generation;
	return r->begins.n
		       ? 0
		       : err_set(e, -ENOENT,
				 "--step loop:%.100s: the recording shows no loop at this line; "
				 "the report without --step names the loops",
				 loop);
}

static int find_anchors(struct reread *r, struct err *e)
{
	struct driver *d = r->d;
	const struct journal_steps *s = driver_steps(d);
	uint32_t generation = atomic_load(&s->anchor_generation),
		 void_generation = atomic_load(&s->void_generation);
	if (!generation && atomic_load(&s->slices)) {
		d->has_steps = true;
		explain_slices(d);
		return 0;
	}
	bool is_other = d->sink.step_loop,
	     is_told = generation && void_generation != generation && !is_other;
	int error = learn_anchor(r, is_told, e);
	if (error)
		return error;
	if (void_generation)
		vec_push(&r->voided, void_generation);
	if (is_other)
		return use_other(r, generation, e);
	if (generation >= 2 && !r->begins.n)
		take_listed(r);
	return 0;
}

/* Marks the learned steps that no STEP_BEGIN of the library marks. */
static void mark_learned(struct ingest *f, const struct reread *r)
{
	if (r->anchor.uses_schedule && !f->schedule.off)
		f->marks.at[0].action = (uint8_t)schedule_action(&f->schedule, 0);
	if (r->begins.n) {
		anchors_mark_begins(f, &r->begins, r->end_ticks);
		return;
	}
	for (size_t i = 0; i < r->earlier.n; i++)
		anchors_mark(f, &r->log, &r->earlier.at[i]);
	anchors_mark(f, &r->log, &r->anchor);
}

/* ---- The pass that builds steps ---- */

static void reread_counted(void *context, struct ingest *f, uint32_t thread,
			   const struct rec_step *step)
{
	const struct reread *r = context;
	(void)thread;
	if (f->is_marked)
		return;
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

static struct ingest_sink sink_of(struct reread *r)
{
	return (struct ingest_sink){ .context = r,
				     .counted = reread_counted,
				     .triggered = reread_triggered,
				     .no_trace = r->d->sink.no_trace,
				     .step = reread_step };
}

/*
 * Opens the journal again, and replaces everything read so far. Keeps what was read if the journal
 * cannot be opened any more.
 */
static int start_over(struct driver *d, struct reread *r, struct err *e)
{
	const struct ingest_sink sink = sink_of(r);
	struct ingest *before = d->ingest, *anew = mem_zero(sizeof(*anew));
	int error = ingest_open(anew, d->path, false, &sink, e);
	if (error) {
		free(anew);
		return error;
	}
	d->ingest = anew;
	d->n_shown = d->n_traced = 0;
	driver_flight_start(d, driver_take_kept);
	if (d->sink.restart)
		d->sink.restart(d->sink.context);
	ingest_close(before);
	free(before);
	return 0;
}

/*
 * Clears the counts that make no sense if the whole run is one step: the recorded step numbers, and
 * the calls dropped because a step had too many.
 */
static void forget_counts_of_one_step(struct ingest *f)
{
	f->counts.cut = 0;
	f->recorded.n = 0;
}

/*
 * Passes on the whole run as one step, so that the user has something to look at. This takes a
 * third pass, because only the second one determines which steps are recorded and how long the
 * steps are.
 */
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
	/* moved to `baseline`, so start_over() must not free it */
	f->run.baseline = (struct baseline){ 0 };
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
	f->counts = counts; /* keep what the second pass determined about steps */
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

/*
 * Returns whether the journal has no steps and nothing recorded. Then the second pass would build
 * no step and determine nothing about steps, so it can be skipped.
 */
static bool has_only_a_whole_run(const struct reread *r)
{
	return r->has_log && !r->anchor.anchor && !r->begins.n && !r->log.has_steps &&
	       (!r->log.has_gpu_work || r->log.opening.is_any) &&
	       r->d->ingest->marks.at[0].action <= SCHED_OPENING;
}

/* Returns the number of the last step in the opening. It has no end, or none in the opening. */
static uint64_t last_in_opening(const struct reread *r)
{
	const struct ingest *f = r->d->ingest;
	uint64_t last = 0, end = r->log.opening.end_ticks;
	for (size_t i = 0; i < r->log.generations.n; i++) {
		const struct logged_generation *g = &r->log.generations.at[i];
		if (g->last_in_opening > last && !is_void(r, g->generation))
			last = g->last_in_opening;
	}
	for (size_t i = 0; i < f->marks.n; i++) {
		const struct step_mark *mark = &f->marks.at[i];
		if (!mark->is_outside && mark->number > last && (!end || mark->ticks <= end))
			last = mark->number;
	}
	return last;
}

/* Returns whether the schedule or a request wants a step before `last`. */
static bool wants_steps(const struct reread *r, uint64_t last)
{
	const struct ingest *f = r->d->ingest;
	bool is_any = false;
	for (size_t i = 0; i < r->log.generations.n && !is_any; i++) {
		const struct logged_generation *g = &r->log.generations.at[i];
		is_any = g->has_wanted && !is_void(r, g->generation);
	}
	for (size_t i = 0; i < f->marks.n && !is_any; i++)
		is_any = f->marks.at[i].action > SCHED_OPENING && f->marks.at[i].number < last;
	return is_any;
}

/* If the schedule wants none of the run's steps, shows those of the opening. */
static void show_opening(const struct reread *r)
{
	struct ingest *f = r->d->ingest;
	uint64_t last = last_in_opening(r);
	if (r->log.opening.is_any && !f->schedule.off && !wants_steps(r, last))
		ingest_keep_opening(f, last);
}

static void read_steps(struct driver *d)
{
	ingest_read(d->ingest);
	ingest_finish(d->ingest, driver_was_killed(d));
}

static int reread_with(struct driver *d, struct reread *r, struct err *e)
{
	struct ingest *f = d->ingest;
	bool is_auto = driver_is_auto(d);
	d->has_steps = !is_auto;
	int error = is_auto ? find_anchors(r, e) : read_first(r, e);
	if (error)
		return error;
	f->opening.is_any = has_opening(r);
	f->opening.end_ticks = r->log.opening.end_ticks;
	for (size_t i = 0; i < r->voided.n; i++)
		ingest_void(f, r->voided.at[i]);
	f->voided_until = r->voided_until;
	for (size_t i = 0; i < r->earlier.n; i++)
		if (r->earlier.at[i].begins_training)
			ingest_train(f, r->earlier.at[i].generation);
	if (r->anchor.begins_training)
		ingest_train(f, r->anchor.generation);
	if (!is_auto)
		d->confidence = 1;
	if (r->anchor.anchor || r->begins.n)
		mark_learned(f, r);
	bool shows_whole = d->sink.wants_steps && !f->schedule.off;
	f->one_step = shows_whole && has_only_a_whole_run(r);
	show_opening(r);
	launch_log_free(&r->log);
	read_steps(d);
	d->has_steps = d->has_steps && f->last_number != UINT64_MAX;
	if (f->one_step) {
		forget_counts_of_one_step(f);
		explain_nothing_recorded(d);
		return 0;
	}
	if (r->begins.n && f->opening.end_ticks)
		explain_uncounted(d);
	else if (d->n_shown && r->anchor.uses_schedule)
		explain_late_steps(d);
	if (!d->sink.wants_steps || d->n_shown || d->trouble.text[0])
		return 0;
	explain_nothing_recorded(d);
	return shows_whole ? show_whole_run(d, r, e) : 0;
}

int driver_reread_all(struct driver *d, bool is_fresh, struct err *e)
{
	struct reread r = { .d = d };
	int error = is_fresh ? 0 : start_over(d, &r, e);
	if (is_fresh)
		d->ingest->sink = sink_of(&r);
	if (!error)
		error = reread_with(d, &r, e);
	launch_log_free(&r.log);
	vec_free(&r.begins);
	vec_free(&r.earlier);
	vec_free(&r.voided);
	return error;
}

int driver_reread(struct driver *d, struct err *e)
{
	int error = driver_reread_all(d, true, e);
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
