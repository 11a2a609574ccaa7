/*
 * Closes steps that are ready: builds each step and passes it on. Afterwards only records of later
 * steps are held.
 */
#include "core/source/journal/ingest.h"

#include "core/util/memory_limit.h"

enum {
	MOST_UNWANTED = 1 << 16,      /* calls held of a step that will not be passed on */
	MOST_NEAR_LIMIT = 1 << 18,    /* ... if memory is short: 13 MB, twice that with GPU work */
	MOST_WANTED = 8 << 20,	      /* calls held of a step that will be passed on: 400 MB */
	MOST_RECORDED_NUMBERS = 4096, /* step numbers listed; further ones are only counted */
};

/*
 * Splits the GPU work held. `cut` takes over the array with the step's work. Work of later steps,
 * which is little, moves to a new array.
 */
static void take_works(struct ingest *f, struct ingest_cut *cut)
{
	uint32_t *call_of = mem_resize(NULL, f->works.n * sizeof(*call_of));
	size_t n = f->works.n, n_later = 0;
	ingest_match(f, cut->threads, cut->begin_ticks, cut->end_ticks, call_of);
	for (size_t i = 0; i < n && !cut->is_last; i++)
		n_later += call_of[i] == PAIR_LATER;
	cut->works = f->works.at;
	memset(&f->works, 0, sizeof(f->works));
	if (n_later)
		vec_reserve(&f->works, n_later);
	for (size_t i = 0; i < n; i++) {
		uint32_t answer = call_of[i];
		if (answer == PAIR_LATER && cut->is_last)
			answer = PAIR_UNKNOWN;
		if (answer == PAIR_LATER) {
			vec_push(&f->works, cut->works[i]);
			continue;
		}
		call_of[cut->n_works] = answer;
		cut->works[cut->n_works++] = cut->works[i];
	}
	cut->call_of = call_of;
	ingest_note_gone(f, cut);
}

/*
 * Frees the step's work. Called before the step is passed on, so that the model can use the memory.
 */
static void drop_works(struct ingest_cut *cut)
{
	free(cut->works);
	free(cut->call_of);
	cut->works = NULL;
	cut->call_of = NULL;
	cut->n_works = 0;
}

#define KEEP_IF(v, item, condition)                              \
	do {                                                     \
		size_t kept_ = 0;                                \
		for (size_t i_ = 0; i_ < (v)->n; i_++) {         \
			__typeof__((v)->at) item = &(v)->at[i_]; \
			if (condition)                           \
				(v)->at[kept_++] = *item;        \
		}                                                \
		(v)->n = kept_;                                  \
	} while (0)

static bool is_of_later_call(const struct ingest *f, struct map_memo *thread_of_slot,
			     const struct rec_external *e)
{
	const uint64_t *i = map_find_again(thread_of_slot, e->thread);
	return !i || (int32_t)(e->seq - f->threads.at[*i].closed_seq) > 0;
}

/* Frees the records of the step. Its GPU work that arrives later counts as late. */
static void drop_cut(struct ingest *f, uint64_t end)
{
	for (size_t i = 0; i < f->threads.n; i++) {
		struct ingest_thread *t = &f->threads.at[i];
		t->closed_seq = ingest_last_seq(f, t, t->n_cut);
		f->n_pending -= t->n_cut;
		vec_shift(&t->calls, t->n_cut);
		if (!t->calls.n)
			/* otherwise the array would stay as large as for the largest step */
			vec_free(&t->calls);
		t->n_cut = 0;
	}
	struct map_memo memo = { .map = &f->thread_of_slot };
	KEEP_IF(&f->externals, e, is_of_later_call(f, &memo, e));
	if (!f->externals.n)
		vec_free(&f->externals);
	KEEP_IF(&f->apis, a, a->end_ticks >= end);
	if (!f->apis.n)
		vec_free(&f->apis);
	KEEP_IF(&f->overheads, o, o->begin_ticks >= end);
	KEEP_IF(&f->pools, p, p->ticks >= end);
	KEEP_IF(&f->samples, s, s->ticks >= end);
	if (!f->samples.n)
		vec_free(&f->samples);
	KEEP_IF(&f->cpu_waits, w, w->end_ticks >= end);
	KEEP_IF(&f->drops, d, d->first_ticks >= end);
	range_log_drop(&f->ranges, end);
	library_log_drop(&f->libraries, end);
	while (f->gpu_switches.n > 1 && f->gpu_switches.at[1].ticks <= f->marks.at[0].ticks)
		vec_shift(&f->gpu_switches, 1);
	f->expected_of_ticks = 0;
	f->works_at_last_try = 0;
}

static enum cost_kind cost_kind_of(const struct step_mark *mark, bool is_recorded)
{
	if (!mark->by_library)
		return COST_NEITHER;
	return is_recorded ? COST_RECORDED : mark->action == SCHED_NONE ? COST_PLAIN : COST_NEITHER;
}

void ingest_note_recorded(struct ingest *f, uint64_t number, bool is_traced)
{
	if (f->recorded.n < MOST_RECORDED_NUMBERS)
		vec_push(&f->recorded, number);
	if (is_traced && f->traced.n < MOST_RECORDED_NUMBERS)
		vec_push(&f->traced, number);
}

static void drop_step_times(struct ingest *f)
{
	baseline_free(&f->run.baseline);
	f->run.baseline = (struct baseline){ 0 };
	f->run.cost = (struct cost){ 0 };
	f->run.step_ms = f->run.recorded_step_ms = (struct sample){ 0 };
}

/*
 * Drops the step times collected so far if training begins with this step. The dropped times are
 * from an evaluation.
 */
static void check_training_begins(struct ingest *f, const struct step_mark *mark)
{
	for (size_t i = 0; i < f->trainings.n && mark->generation != f->run.training; i++) {
		if (f->trainings.at[i] != mark->generation)
			continue;
		f->run.training = mark->generation;
		f->run.trains_from = mark->number;
		double first_ms = f->run.baseline.first_ms;
		drop_step_times(f);
		f->run.baseline.first_ms = first_ms;
	}
}

/*
 * Returns whether the step's time is to be collected. Drops the times of time slices when the first
 * real step comes, so that the two never mix.
 */
static bool collects_time(struct ingest *f, const struct step_mark *mark)
{
	if (mark->is_slice) {
		f->n_slices++;
		return !f->has_real_steps;
	}
	if (!f->has_real_steps && f->n_slices)
		drop_step_times(f);
	f->has_real_steps = true;
	return true;
}

/*
 * Returns whether the first step's end is the end of the process. The library notes the end of the
 * last step only then, and Python with PyTorch takes a second to exit.
 */
static bool ends_with_process(const struct ingest *f)
{
	return f->marks.n > 1 && f->marks.at[1].is_outside && !f->marks.at[1].cuts &&
	       f->reader.header->steps.mode != STEP_MODE_API;
}

/* What the first and the last step contain, by mode. */
struct edge_steps {
	bool last_is_whole; /* the mode marks the begins of steps, so the last step is complete */
	bool first_has_start_up; /* step 0 includes everything before the first boundary */
};

static struct edge_steps edge_steps_of(const struct ingest *f)
{
	static const struct edge_steps by_mode[] = {
		[STEP_MODE_AUTO] = { .first_has_start_up = true },
		[STEP_MODE_KERNEL] = { .last_is_whole = true, .first_has_start_up = true },
		[STEP_MODE_GRAPH] = { .last_is_whole = true, .first_has_start_up = true },
		[STEP_MODE_NVTX] = { .last_is_whole = true, .first_has_start_up = true },
		[STEP_MODE_API] = { .last_is_whole = true },
	};
	uint32_t mode = f->reader.header->steps.mode;
	return mode < sizeof(by_mode) / sizeof(*by_mode) ? by_mode[mode]
							 : (struct edge_steps){ false };
}

/*
 * Returns which part of the loop the step is. A killed process's last step counts as whole, so that
 * the user sees in what the process died.
 */
static enum model_part part_of(const struct ingest *f, const struct ingest_cut *cut)
{
	struct edge_steps edge = edge_steps_of(f);
	if (f->one_step ||
	    (cut->is_last && (edge.last_is_whole || cut->is_killed || !f->counts.steps)))
		return MODEL_WHOLE;
	if (cut->is_last)
		return MODEL_REST;
	bool has_start_up = edge.first_has_start_up || cut->mark->action == SCHED_OPENING;
	return has_start_up && !cut->begin_ticks && !cut->mark->is_slice &&
			       f->marks.at[1].action >= SCHED_OPENING
		       ? MODEL_SET_UP
		       : MODEL_WHOLE;
}

/*
 * Returns whether only the end of the process ends this step. With PROF_STEP=api,
 * cudaProfilerStop() would have ended it before.
 */
static bool lasts_until_exit(const struct ingest *f, const struct ingest_cut *cut)
{
	if (f->one_step || cut->is_killed || f->reader.header->steps.mode == STEP_MODE_API)
		return false;
	return cut->is_last ? f->counts.steps > 0 : ends_with_process(f);
}

/* Returns whether the step is the whole run, or its end is not known otherwise. */
static bool ends_at_last_event(const struct ingest *f, const struct ingest_cut *cut)
{
	return lasts_until_exit(f, cut) || (ingest_is_whole_run(f, cut) && !cut->is_killed);
}

/*
 * Ends the step at the end of its last call or GPU work. What the CPU did after that is outside the
 * step. After the last call of a run, Python shuts down, which takes seconds if much was imported.
 */
static void end_at_last_event(struct model_step *m)
{
	uint64_t end_ns = m->begin_ns;
	for (size_t i = 0; i < m->calls.n; i++)
		end_ns = m->calls.at[i].end_ns > end_ns ? m->calls.at[i].end_ns : end_ns;
	for (size_t i = 0; i < m->works.n; i++)
		end_ns = m->works.at[i].end_ns > end_ns ? m->works.at[i].end_ns : end_ns;
	if (end_ns <= m->begin_ns || end_ns >= m->end_ns)
		return;
	m->end_ns = end_ns;
	size_t n = 0;
	for (size_t i = 0; i < m->samples.n; i++)
		if (m->samples.at[i].ns < end_ns)
			m->samples.at[n++] = m->samples.at[i];
	m->samples.n = n;
}

/*
 * Returns whether the next mark is not the end of this step. Marks may be missing where records
 * were dropped. Then the time between two marks is not a step time.
 */
static bool is_end_missing(const struct ingest *f, const struct step_mark *mark)
{
	return f->counts.dropped && f->marks.n > 1 && !f->marks.at[1].is_outside &&
	       f->marks.at[1].number != mark->number + 1;
}

static void note_end(struct ingest *f, const struct step_mark *mark, uint64_t end, bool is_recorded)
{
	/* the last step has no end in the journal */
	if (mark->is_outside || end == UINT64_MAX)
		return;
	memory_end_step(&f->run.memory);
	allocator_end_step(&f->run.allocator);
	if (ends_with_process(f) || is_end_missing(f, mark))
		return;
	uint64_t begin = mark->ticks ? mark->ticks : f->first_ticks;
	double ms = (double)timebase_length_ns(&f->time, end - begin) / 1e6;
	if (!mark->ticks) { /* the first step includes the start-up */
		f->run.baseline.first_ms = ms;
		return;
	}
	if (!collects_time(f, mark))
		return;
	baseline_add(&f->run.baseline, mark->number, ms, is_recorded);
	cost_add(&f->run.cost, ms, cost_kind_of(mark, is_recorded));
	sample_add(&f->run.step_ms, ms);
	if (!is_recorded)
		return;
	sample_add(&f->run.recorded_step_ms, ms);
	ingest_note_length(f, ms);
}

static void pass_on(struct ingest *f, uint64_t end, bool is_last, bool killed)
{
	struct step_mark mark = f->marks.at[0];
	mark.action = ingest_action_of(f, &mark, end);
	check_training_begins(f, &mark);
	struct ingest_cut cut = {
		.begin_ticks = mark.ticks,
		.end_ticks = end,
		.mark = &mark,
		.is_last = is_last,
		.is_killed = killed,
		.is_cut = is_last ? killed : f->marks.at[1].cuts,
	};
	cut.n_calls = ingest_cut_calls(f, end);
	if (ends_at_last_event(f, &cut))
		cut.n_calls -= ingest_leave_out_exit(f);
	cut.threads = ingest_cut_threads(f);
	bool is_recorded = cut.is_recorded = ingest_is_recorded(f, &mark, end);
	take_works(f, &cut);
	struct model_step m = { 0 };
	ingest_build(f, &cut, &m);
	m.part = part_of(f, &cut);
	m.has_no_end = m.is_cut || m.is_lost || lasts_until_exit(f, &cut);
	if (ends_at_last_event(f, &cut))
		end_at_last_event(&m);
	if (m.is_whole_run) {
		f->unit_begin_ns = m.begin_ns;
		f->unit_end_ns = m.end_ns;
	}
	bool is_any = cut.n_calls || cut.n_works;
	f->last_was_recorded = is_recorded;
	f->recorded_until_ticks = is_recorded ? end : f->recorded_until_ticks;
	drop_works(&cut);
	drop_cut(f, end);
	if (is_recorded && is_any) {
		if (!f->schedule.flight) /* the flight recorder passes on only a few of its steps */
			ingest_note_recorded(f, mark.number, m.is_traced);
		model_finish(&m);
		if (!f->sink.no_trace)
			model_count_in_flight(&m);
		if (f->sink.step)
			f->sink.step(f->sink.context, f, &m);
	}
	if (!cut.is_cut)
		note_end(f, &mark, end, is_recorded);
	model_free(&m);
	free(cut.threads);
}

void ingest_drop_unwanted(struct ingest *f)
{
	bool is_recorded = ingest_may_be_recorded(f);
	uint64_t most = is_recorded ? MOST_WANTED : f->opening.n_calls + MOST_UNWANTED;
	if (is_recorded && memory_limit_is_near()) /* not less than a step of any size can have */
		most = MOST_NEAR_LIMIT;
	if (f->n_pending < most || f->marks.n > 1)
		return;
	uint64_t grace = timebase_ticks(&f->time, INGEST_GRACE_NS);
	uint64_t end = f->read_until_ticks > grace ? f->read_until_ticks - grace : 0;
	if (f->read_until_ticks == 0 || end <= f->first_ticks)
		end = f->last_ticks;
	struct step_mark nothing = { .ticks = f->marks.at[0].ticks, .action = SCHED_NONE };
	struct ingest_cut cut = {
		.begin_ticks = nothing.ticks,
		.end_ticks = end,
		.mark = &nothing,
	};
	cut.n_calls = ingest_cut_calls(f, end);
	cut.threads = ingest_cut_threads(f);
	ingest_pair_by_order(f);
	take_works(f, &cut);
	struct model_step m = { 0 };
	ingest_build(f, &cut, &m); /* updates the memory held */
	model_free(&m);
	f->counts.cut += is_recorded ? cut.n_calls : 0;
	f->opening.n_calls = 0;
	f->opening.dropped_ticks = end;
	free(cut.threads);
	drop_works(&cut);
	drop_cut(f, end);
}

void ingest_close_first(struct ingest *f)
{
	if (reader_must_stop())
		return;
	pass_on(f, f->marks.at[1].ticks, false, false);
	f->counts.steps++;
	queue_shift(&f->marks, 1);
}

void ingest_close_last(struct ingest *f, bool killed)
{
	pass_on(f, UINT64_MAX, true, killed);
}
