/* See facts.h. */
#include "core/source/process/facts.h"

#include "core/source/process/driver_parts.h"
#include "core/source/process/last_words.h"

#include <math.h>

static const char *state_name(enum process_state state)
{
	static const char *const names[] = { "running", "ended", "killed" };
	return names[state];
}

static const char *text_or_none(const char *text)
{
	return text ? text : "";
}

/* Returns the fact of that name, "" if it was not recorded. */
static const char *info(const struct driver *d, const char *name)
{
	return text_or_none(tables_fact(&d->ingest->dict.t, name));
}

static struct sample_summary *summary_of(const struct sample *s, struct arena *a)
{
	if (!s->n)
		return NULL;
	struct sample_summary *to = arena_zero(a, sizeof(*to));
	*to = sample_summarize(s);
	return to;
}

/*
 * Returns how many steps later than planned the schedule's first window was recorded. Shifts of
 * later windows do not count.
 */
static uint64_t steps_late(const struct ingest *f)
{
	uint64_t shift = atomic_load(&f->reader.header->steps.schedule_shift);
	if (!f->recorded.n || f->schedule.off)
		return 0;
	uint64_t first = schedule_first_recorded(&f->schedule) + f->schedule.warmup,
		 late = f->recorded.at[0] > first ? f->recorded.at[0] - first : 0;
	return late < shift ? late : shift;
}

static void fill_triggers(struct facts_steps *to, const struct driver *d, struct arena *a)
{
	static const char *const causes[TRIGGER_CAUSES] = { "none", "trigger", "signal",
							    "slow step" };
	list_make(a, &to->triggers, d->triggers.n);
	for (size_t i = 0; i < d->triggers.n; i++) {
		const struct driver_trigger *t = &d->triggers.at[i];
		to->triggers.at[i] = (struct facts_trigger){
			.by = t->cause < TRIGGER_CAUSES ? causes[t->cause] : "unknown",
			.n = (int64_t)t->n,
			.first = (int64_t)t->first,
		};
	}
}

/* Lists the steps that the flight recorder wrote, with the cause. */
static void fill_kept(struct facts_steps *to, const struct driver *d, struct arena *a)
{
	list_make(a, &to->kept, d->flight.kept.n);
	for (size_t i = 0; i < d->flight.kept.n; i++) {
		const struct flight_kept *k = &d->flight.kept.at[i];
		to->kept.at[i] = (struct facts_kept){ .why = flight_why_name(k->why),
						      .n = (int64_t)k->n,
						      .first = (int64_t)k->first,
						      .last = (int64_t)k->last };
	}
}

/*
 * An opening is cut into the right steps from its begin if it lasts to the end, or if its steps
 * include the first one that the schedule wants. Then no correction leaves out any.
 */
static void fill_corrected(struct facts_steps *to, const struct ingest *f,
			   const struct journal_steps *shared, struct arena *a)
{
	const struct ingest_opening *o = &f->opening;
	bool has_first = f->recorded.n && f->recorded.at[0] <= o->first_kept,
	     is_cut = o->is_any && (!o->end_ticks || has_first);
	if (!atomic_load(&shared->n_corrected) || is_cut)
		return;
	to->corrected = arena_zero(a, sizeof(*to->corrected));
	to->corrected->times = (int64_t)atomic_load(&shared->n_corrected);
	to->corrected->period_before = (int64_t)atomic_load(&shared->void_calls_per_step);
}

static struct facts_loop loop_of(const struct loop_name *name, struct arena *a)
{
	return (struct facts_loop){ .file = arena_text(a, name->file),
				    .function = arena_text(a, name->function),
				    .line = name->line ? (int64_t)name->line : -1,
				    .iterations = (int64_t)name->iterations,
				    .is_call = name->is_call,
				    .share = name->share > 0 ? name->share : NAN };
}

static struct facts_loops *loops_of(const struct loop_names *names, struct arena *a)
{
	struct facts_loops *to = arena_zero(a, sizeof(*to));
	to->step = loop_of(&names->step, a);
	to->per_step = names->per_step > 0 ? names->per_step : NAN;
	list_make(a, &to->outer, names->outer.n);
	for (size_t i = 0; i < names->outer.n; i++)
		to->outer.at[i] = loop_of(&names->outer.at[i], a);
	list_make(a, &to->inner, names->inner.n);
	for (size_t i = 0; i < names->inner.n; i++)
		to->inner.at[i] = loop_of(&names->inner.at[i], a);
	list_make(a, &to->others, names->others.n);
	for (size_t i = 0; i < names->others.n; i++)
		to->others.at[i] = loop_of(&names->others.at[i], a);
	if (names->instead) {
		to->instead = arena_zero(a, sizeof(*to->instead));
		*to->instead = loop_of(names->instead, a);
	}
	return to;
}

/* Fills in what is known only if steps were detected. */
static void fill_found_steps(struct facts_steps *to, const struct driver *d, struct arena *a)
{
	if (d->has_loops)
		to->loop = loops_of(&d->loops, a);
	to->confidence = d->confidence;
	to->last = (int64_t)d->ingest->last_number;
	if (driver_is_auto(d) && atomic_load(&driver_steps(d)->state) == STEP_STATE_LOST)
		to->lost_after = to->last;
	if (d->period) {
		to->period = d->period;
		to->boundary = level_boundary_name(d->boundary);
	}
}

/*
 * Returns the length of the opening if it ended before the process did, NAN otherwise. Without
 * steps, a schedule that records every step reports the whole run.
 */
static double opening_s(const struct ingest *f)
{
	uint64_t end = f->opening.end_ticks;
	bool is_whole = f->schedule.always && f->last_number == UINT64_MAX;
	if (!end || end <= f->first_ticks || is_whole)
		return NAN;
	return (double)timebase_length_ns(&f->time, end - f->first_ticks) / 1e9;
}

/*
 * Fills how long a run without steps took before its first CUDA call and after its last one. The
 * process's start is in ticks of 10 ms since boot (/proc/PID/stat). CLOCK_MONOTONIC leaves out the
 * time in which the machine was suspended: then the start lies after the first call, or before the
 * boot, and is not known.
 */
static void fill_around_unit(struct facts_steps *to, const struct ingest *f)
{
	const double tick_s = 0.01;
	const struct journal_header *h = f->reader.header;
	uint64_t ended = atomic_load(&h->ended_ticks);
	to->start_up_s = to->after_last_s = NAN;
	if (f->last_number != UINT64_MAX || f->unit_end_ns <= f->unit_begin_ns)
		return;
	double start_s = (double)h->process_start * tick_s,
	       begin_s = (double)f->unit_begin_ns / 1e9, end_s = (double)f->unit_end_ns / 1e9;
	if (h->process_start && begin_s >= start_s)
		to->start_up_s = begin_s - start_s;
	if (ended)
		to->after_last_s = fmax(0, (double)timebase_ns(&f->time, ended) / 1e9 - end_s);
}

static const char *action_of(const struct driver *d)
{
	switch (driver_action(d)) {
	case SCHED_RECORD:
	case SCHED_RECORD_AND_SAVE:
		return FACTS_RECORDS;
	case SCHED_WARMUP:
		return FACTS_WARMS_UP;
	default:
		return FACTS_SKIPS;
	}
}

/* Fills what is of interest only as long as the process runs. */
static void fill_now(struct facts_steps *to, const struct driver *d, struct arena *a)
{
	const struct baseline *b = &d->ingest->run.baseline;
	to->action = action_of(d);
	to->first_scheduled = driver_first_scheduled(d);
	list_make(a, &to->recent_ns, b->n < BASELINE_RECENT ? b->n : BASELINE_RECENT);
	for (size_t i = 0; i < to->recent_ns.n; i++) {
		uint64_t number = b->n - to->recent_ns.n + i;
		to->recent_ns.at[i] = llround((double)b->recent_ms[number % BASELINE_RECENT] * 1e6);
	}
}

static void fill_steps(struct facts_steps *to, const struct driver *d, struct arena *a)
{
	const struct ingest *f = d->ingest;
	const struct journal_steps *shared = &f->reader.header->steps;
	bool has_steps = f->last_number != UINT64_MAX;
	to->count = (int64_t)ingest_count_steps(f);
	to->detector = !has_steps	      ? "none"
		       : driver_has_slices(d) ? STEP_SLICES_NAME
					      : arena_text(a, step_detector_name(shared));
	list_make(a, &to->recorded, f->recorded.n);
	for (size_t i = 0; i < f->recorded.n; i++)
		to->recorded.at[i] = (int64_t)f->recorded.at[i];
	list_make(a, &to->traced, f->traced.n);
	for (size_t i = 0; i < f->traced.n; i++)
		to->traced.at[i] = (int64_t)f->traced.at[i];
	to->schedule_shift = (int64_t)atomic_load(&shared->schedule_shift);
	to->schedule_late = (int64_t)steps_late(f);
	to->opening_s = opening_s(f);
	fill_around_unit(to, f);
	to->step_ms = summary_of(&f->run.step_ms, a);
	to->recorded_step_ms = summary_of(&f->run.recorded_step_ms, a);
	if (atomic_load(&shared->slices))
		to->slices = (int64_t)atomic_load(&shared->slices);
	if (f->run.trains_from)
		to->trains_from = (int64_t)f->run.trains_from;
	fill_corrected(to, f, shared, a);
	if (has_steps)
		fill_found_steps(to, d, a);
	if (d->state == PROCESS_RUNS)
		fill_now(to, d, a);
	if (d->n_triggers)
		fill_triggers(to, d, a);
	if (f->schedule.flight)
		fill_kept(to, d, a);
}

static struct facts_records *records_of(const struct ingest *f, struct arena *a)
{
	const struct ingest_counts *c = &f->counts;
	struct facts_records *r = arena_zero(a, sizeof(*r));
	*r = (struct facts_records){ .records = (int64_t)c->records,
				     .calls = (int64_t)c->calls,
				     .launches = (int64_t)c->launches,
				     .kernels = (int64_t)c->works_by_kind[REC_KERNEL],
				     .memcpys = (int64_t)c->works_by_kind[REC_MEMCPY],
				     .memsets = (int64_t)c->works_by_kind[REC_MEMSET],
				     .gpu_syncs = (int64_t)c->works_by_kind[REC_GPU_SYNC],
				     .paired = (int64_t)c->paired };
	return r;
}

static struct facts_losses losses_of(const struct ingest *f)
{
	const struct ingest_counts *c = &f->counts;
	const struct journal_header *h = f->reader.header;
	return (struct facts_losses){
		.dropped = (int64_t)atomic_load(&h->dropped_records),
		.dropped_calls = (int64_t)atomic_load(&h->dropped_calls),
		.dropped_gpu = (int64_t)atomic_load(&h->dropped_gpu),
		.dropped_steps = (int64_t)atomic_load(&h->dropped_steps),
		.dropped_names = (int64_t)atomic_load(&h->dropped_dictionary),
		.dropped_by_cupti = (int64_t)c->gpu_lost,
		.calls_without_gpu_work = (int64_t)c->calls_without_work,
		.gpu_work_without_call = (int64_t)c->works_without_call,
		.late = (int64_t)c->late,
		.too_many_in_a_step = (int64_t)c->cut,
		.damaged_places = (int64_t)(f->reader.n_damaged + f->dict.n_damaged),
		.impossible_records = (int64_t)f->reader.n_impossible,
	};
}

#define WRONG_IDS                                                                                 \
	"some launches of CUDA graphs have no GPU times: CUPTI before 13.1 update 1 gives their " \
	"work wrong ids after the first window of recorded steps"

static const char *cupti_state(const struct ingest *f)
{
	static const char *const states[] = { "off", "on",	"on", "unavailable",
					      "on",  "yielded", "on" };
	if (f->gpu_state == GPU_OFF)
		return f->saw_gpu_on ? "used" : "not used";
	return f->gpu_state < sizeof(states) / sizeof(*states) ? states[f->gpu_state] : "unknown";
}

static void fill_devices(struct process_facts *to, const struct dict *dict, struct arena *a)
{
	list_make(a, &to->devices, dict->t.devices.n);
	for (size_t i = 0; i < dict->t.devices.n; i++)
		to->devices.at[i] =
			(struct facts_device){ dict->t.devices.at[i].id,
					       arena_text(a, dict->t.devices.at[i].name) };
}

static void fill_exception(struct process_facts *to, const struct journal_header *h,
			   struct arena *a)
{
	char *text = last_words_text(h);
	struct last_words words;
	last_words_find(text, &words);
	to->exception = arena_text(a, words.exception);
	to->exception_file = arena_text(a, words.line ? words.file : "");
	to->exception_line = words.line ? (int64_t)words.line : -1;
	free(text);
}

void driver_describe(const struct driver *d, struct process_facts *to, struct arena *a)
{
	const struct ingest *f = d->ingest;
	const struct journal_header *h = f->reader.header;
	char journal[sizeof("journal/.journal") + sizeof(d->stem)], damage[DRIVER_DAMAGE_BYTES];
	snprintf(journal, sizeof(journal), "journal/%s.journal", d->stem);
	to->pid = h->pid;
	to->ppid = h->ppid;
	to->state = state_name(d->state);
	to->rank = arena_text(a, info(d, "rank"));
	to->command = arena_text(a, info(d, "command"));
	to->version = arena_text(a, info(d, "version"));
	to->clock = h->clock.kind == CLOCK_KIND_TSC ? "tsc" : "monotonic";
	to->journal = arena_text(a, journal);
	to->journal_is_whole = !d->was_recycled;
	to->threads = (int64_t)f->dict.t.threads.n;
	fill_devices(to, &f->dict, a);
	fill_steps(&to->steps, d, a);
	to->records = records_of(f, a);
	to->losses = losses_of(f);
	to->cupti = (struct facts_cupti){ cupti_state(f), arena_text(a, info(d, "cupti")),
					  arena_text(a, info(d, "copies")),
					  arena_text(a, info(d, "times")),
					  f->counts.wrong_ids ? WRONG_IDS : "" };
	to->damage = arena_text(a, driver_damage(d, damage, sizeof(damage)));
	to->diagnostic = arena_text(a, d->diagnostic.text);
	to->trouble = arena_text(a, d->trouble.text);
	fill_exception(to, h, a);
}
