/*
 * Closes steps. A step is passed on when the next one has begun, calls under way at its end have
 * had time to be written, and its GPU work is complete: it is all here, CUPTI was flushed, or the
 * wait for it timed out. Afterwards only records of later steps are held.
 */
#include "core/source/journal/ingest.h"

#include "core/source/journal/pair_first.h"
#include "core/util/bisect.h"

enum {
	GRACE_NS = 200000000,	 /* for other threads' calls that were under way at the boundary */
	MOST_UNWANTED = 1 << 16, /* calls held of a step that will not be shown */
	MOST_WANTED = 8 << 20,	 /* calls held of a step that will be shown: 400 MB */
	MOST_RECORDED_NUMBERS = 4096, /* listed by number; further ones are only counted */
	/* Steps are closed when at least 1/READY_SHARE of those held are over: each attempt scans
	 * everything held. Live it is 1/READY_SHARE_LIVE, because a user waits for the traces. */
	READY_SHARE = 3,
	READY_SHARE_LIVE = 8,
	NEW_SHARE = 8, /* try again when the GPU work held has grown by 1/NEW_SHARE */
};

/* How long to wait for GPU work without any sign that it will not arrive. */
#define WAIT_FOR_WORK_NS 30000000000ull

/* A copy of zero bytes is a call and takes a seq number, but makes no GPU work (seen on an H100;
 * JAX makes some). For copies of unknown kind the size may be unknown (batched box copies). */
static bool moves_nothing(uint8_t category, const struct rec_call *c)
{
	return !c->arg &&
	       (category == CAT_MEMSET || (category == CAT_MEMCPY && c->detail != COPY_UNKNOWN));
}

bool ingest_expects_work(const struct ingest *f, const struct rec_call *c)
{
	uint8_t category = dict_category(&f->dict, c->hook);
	if (c->status || !category_has_work(category) || moves_nothing(category, c))
		return false;
	for (size_t i = f->gpu_switches.n; i > 0; i--) {
		const struct gpu_switch *s = &f->gpu_switches.at[i - 1];
		if (c->begin_ticks >= s->ticks)
			return s->is_on && !(s->lacks_copies && category == CAT_MEMCPY);
	}
	return false;
}

size_t ingest_cut_calls(struct ingest *f, uint64_t end)
{
	size_t total = 0;
	for (size_t i = 0; i < f->threads.n; i++) {
		struct ingest_thread *t = &f->threads.at[i];
		t->n_cut = bisect(t->calls.n, k, t->calls.at[k].begin_ticks < end);
		total += t->n_cut;
	}
	return total;
}

struct pair_thread *ingest_cut_threads(const struct ingest *f)
{
	struct pair_thread *threads = mem_zero(f->threads.n * sizeof(*threads));
	uint32_t first = 0;
	for (size_t i = 0; i < f->threads.n; i++) {
		const struct ingest_thread *t = &f->threads.at[i];
		const struct run_thread *named = tables_thread(&f->dict.t, t->slot);
		threads[i] = (struct pair_thread){
			.slot = t->slot,
			.tid = named ? named->tid : 0,
			.handle = named ? named->handle : 0,
			.calls = t->calls.at,
			.n_calls = t->n_cut,
			.first = first,
			.closed_seq = t->closed_seq,
		};
		first += (uint32_t)t->n_cut;
	}
	return threads;
}

bool ingest_expects(const void *ingest, const struct rec_call *call)
{
	return ingest_expects_work(ingest, call);
}

void ingest_match(const struct ingest *f, const struct pair_thread *threads, uint64_t begin,
		  uint64_t end, uint32_t *call_of)
{
	const struct pair_input in = {
		.dict = &f->dict,
		.threads = threads,
		.n_threads = f->threads.n,
		.externals = f->externals.at,
		.n_externals = f->externals.n,
		.apis = f->apis.at,
		.n_apis = f->apis.n,
		.works = f->works.at,
		.n_works = f->works.n,
		.begin_ticks = begin,
		.end_ticks = end,
		.expects_work = ingest_expects,
		.context = f,
	};
	pair_match(&in, call_of);
	for (size_t i = 0; i < f->gpu_switches.n; i++) {
		uint64_t ticks = f->gpu_switches.at[i].ticks;
		if (f->gpu_switches.at[i].is_on && ticks >= begin && ticks < end)
			pair_first(&in, ticks, call_of);
	}
}

/* ---- Ready? ---- */

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

/* Returns for each call, by its number, whether it has GPU work. The caller frees the array. */
static uint8_t *find_work(struct ingest *f, uint64_t begin, uint64_t end)
{
	size_t n_calls = ingest_cut_calls(f, end);
	struct pair_thread *threads = ingest_cut_threads(f);
	uint32_t *call_of = mem_resize(NULL, f->works.n * sizeof(*call_of));
	uint8_t *has_work = mem_zero(n_calls);
	ingest_pair_by_order(f);
	ingest_match(f, threads, begin, end, call_of);
	for (size_t i = 0; i < f->works.n; i++)
		if (call_of[i] < n_calls)
			has_work[call_of[i]] = 1;
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

static bool all_work_is_here(struct ingest *f, uint64_t begin, uint64_t end, uint64_t expected)
{
	/* each attempt costs as much as the pairing itself */
	if (f->works.n < expected ||
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

/* Whether calls that were under way at `end` have had time to be written. */
static bool is_past(const struct ingest *f, uint64_t end)
{
	return f->read_until_ticks >= end + timebase_ticks(&f->time, GRACE_NS);
}

/* Whether no more GPU work is expected to arrive, complete or not. */
static bool is_given_up(const struct ingest *f, uint64_t end)
{
	if (f->flushed_ticks >= end && f->read_until_ticks >= f->flushed_usable_ticks)
		return true;
	return f->read_until_ticks >= end + timebase_ticks(&f->time, GRACE_NS) +
					      timebase_ticks(&f->time, WAIT_FOR_WORK_NS);
}

static bool is_first_ready(struct ingest *f)
{
	uint64_t begin = f->marks.at[0].ticks, end = f->marks.at[1].ticks;
	uint64_t expected = count_expected(f, end);
	return !expected || all_work_is_here(f, begin, end, expected);
}

/* Whether all calls of the first n steps that should have GPU work have it. */
static bool are_ready(struct ingest *f, size_t n)
{
	bool is_all = true;
	if (f->works.n < f->works_at_group_try + f->works_at_group_try / NEW_SHARE)
		return false;
	uint8_t *has_work = find_work(f, f->marks.at[0].ticks, f->marks.at[n].ticks);
	size_t number = 0;
	for (size_t i = 0; i < f->threads.n; i++) {
		const struct ingest_thread *t = &f->threads.at[i];
		for (size_t k = 0; k < t->n_cut && is_all; k++)
			is_all = has_work[number + k] || !ingest_expects_work(f, &t->calls.at[k]);
		number += t->n_cut;
	}
	free(has_work);
	f->works_at_group_try = is_all ? 0 : f->works.n + 1;
	return is_all;
}

/* Returns how many steps can be passed on. */
static size_t count_ready(struct ingest *f)
{
	size_t n_past = 0, n_given_up = 0;
	while (n_past + 1 < f->marks.n && is_past(f, f->marks.at[n_past + 1].ticks))
		n_given_up += is_given_up(f, f->marks.at[++n_past].ticks);
	if (!n_past || n_past * (f->is_live ? READY_SHARE_LIVE : READY_SHARE) < f->marks.n - 1)
		return 0;
	if (n_given_up)
		return n_given_up;
	if (n_past > 1 && are_ready(f, n_past))
		return n_past;
	return is_first_ready(f);
}

/* ---- Passing on ---- */

/* Splits the GPU work held. The array goes to `cut` with the step's work; that of later steps,
 * little of it, moves to a new array. */
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

/* Called before the step is shown, to have its memory for the model. */
static void drop_works(struct ingest_cut *cut)
{
	free(cut->works);
	free(cut->call_of);
	cut->works = NULL;
	cut->call_of = NULL;
	cut->n_works = 0;
}

uint32_t ingest_last_seq(const struct ingest *f, const struct ingest_thread *t, size_t n_calls)
{
	for (size_t k = n_calls; k > 0; k--) {
		const struct rec_call *c = &t->calls.at[k - 1];
		if (category_has_work(dict_category(&f->dict, c->hook)))
			return c->seq;
	}
	return t->closed_seq;
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

/* Frees the records of the cut. Work that arrives later for its calls counts as late. */
static void drop_cut(struct ingest *f, uint64_t end)
{
	for (size_t i = 0; i < f->threads.n; i++) {
		struct ingest_thread *t = &f->threads.at[i];
		t->closed_seq = ingest_last_seq(f, t, t->n_cut);
		f->n_pending -= t->n_cut;
		vec_shift(&t->calls, t->n_cut);
		if (!t->calls.n)
			vec_free(&t->calls); /* else it would stay as large as the largest step */
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
	KEEP_IF(&f->drops, d, d->first_ticks >= end);
	range_log_drop(&f->ranges, end);
	library_log_drop(&f->libraries, end);
	while (f->gpu_switches.n > 1 && f->gpu_switches.at[1].ticks <= f->marks.at[0].ticks)
		vec_shift(&f->gpu_switches, 1);
	f->expected_of_ticks = 0;
	f->works_at_last_try = 0;
}

static enum cost_kind cost_kind_of(const struct step_mark *mark)
{
	if (!mark->by_library)
		return COST_NEITHER;
	return mark->action == SCHED_NONE		 ? COST_PLAIN
	       : ingest_action_is_recorded(mark->action) ? COST_RECORDED
							 : COST_NEITHER;
}

void ingest_note_recorded(struct ingest *f, uint64_t number)
{
	if (f->recorded.n < MOST_RECORDED_NUMBERS)
		vec_push(&f->recorded, number);
}

static void drop_step_times(struct ingest *f)
{
	baseline_free(&f->run.baseline);
	f->run.baseline = (struct baseline){ 0 };
	f->run.cost = (struct cost){ 0 };
	f->run.step_ms = f->run.recorded_step_ms = (struct sample){ 0 };
}

/* Drops the step times of an evaluation when the training after it begins. */
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

/* Returns whether the step's time is to be collected. The times of time slices are dropped once
 * there are steps, so that the two never mix. */
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

/* Whether the first step's end is that of the process. The last step's end is recorded only then,
 * and Python with PyTorch takes a second to exit. */
static bool ends_with_process(const struct ingest *f)
{
	return f->marks.n > 1 && f->marks.at[1].is_outside && !f->marks.at[1].cuts &&
	       f->reader.header->steps.mode != STEP_MODE_API;
}

/* What a mode's first and last step contain. */
struct edge_steps {
	bool last_is_whole;	 /* the mode marks begins, so the last step is complete */
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

/* A killed process's last step counts as whole, to show what the process died in. */
static enum model_part part_of(const struct ingest *f, const struct ingest_cut *cut)
{
	struct edge_steps edge = edge_steps_of(f);
	if (f->one_step ||
	    (cut->is_last && (edge.last_is_whole || cut->is_killed || !f->counts.steps)))
		return MODEL_WHOLE;
	if (cut->is_last)
		return MODEL_REST;
	return edge.first_has_start_up && !cut->begin_ticks && !cut->mark->is_slice &&
			       ingest_action_is_recorded(f->marks.at[1].action)
		       ? MODEL_SET_UP
		       : MODEL_WHOLE;
}

/* Whether this step ends only with the process; cudaProfilerStop would have ended it before. */
static bool lasts_until_exit(const struct ingest *f, const struct ingest_cut *cut)
{
	if (f->one_step || cut->is_killed || f->reader.header->steps.mode == STEP_MODE_API)
		return false;
	return cut->is_last ? f->counts.steps > 0 : ends_with_process(f);
}

/* Ends such a step with its last call or GPU work. What the CPU did after that is outside the
 * step. */
static void end_at_last_event(struct model_step *m)
{
	uint64_t end_ns = m->begin_ns;
	for (size_t i = 0; i < m->calls.n; i++)
		end_ns = m->calls.at[i].end_ns > end_ns ? m->calls.at[i].end_ns : end_ns;
	for (size_t i = 0; i < m->works.n; i++)
		end_ns = m->works.at[i].end_ns > end_ns ? m->works.at[i].end_ns : end_ns;
	if (end_ns > m->begin_ns && end_ns < m->end_ns)
		m->end_ns = end_ns;
}

/* Whether the next mark is not this step's end: where records were dropped, marks may be missing
 * and the time between two marks is not a step time. */
static bool is_end_missing(const struct ingest *f, const struct step_mark *mark)
{
	return f->counts.dropped && f->marks.n > 1 && !f->marks.at[1].is_outside &&
	       f->marks.at[1].number != mark->number + 1;
}

static void note_end(struct ingest *f, const struct step_mark *mark, uint64_t end, bool is_recorded)
{
	/* the last step has no end of its own */
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
	baseline_add(&f->run.baseline, ms, is_recorded);
	cost_add(&f->run.cost, ms, cost_kind_of(mark));
	sample_add(&f->run.step_ms, ms);
	if (is_recorded)
		sample_add(&f->run.recorded_step_ms, ms);
}

static void pass_on(struct ingest *f, uint64_t end, bool is_last, bool killed)
{
	struct step_mark mark = f->marks.at[0];
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
	cut.threads = ingest_cut_threads(f);
	bool is_recorded = (ingest_action_is_recorded(mark.action) && !mark.is_outside) ||
			   f->one_step;
	take_works(f, &cut);
	struct model_step m = { 0 };
	ingest_build(f, &cut, &m);
	m.part = part_of(f, &cut);
	m.has_no_end = m.is_cut || m.is_lost || lasts_until_exit(f, &cut);
	if (lasts_until_exit(f, &cut))
		end_at_last_event(&m);
	bool is_any = cut.n_calls || cut.n_works;
	drop_works(&cut);
	drop_cut(f, end);
	if (is_recorded && is_any) {
		if (!f->schedule.flight) /* the flight recorder shows only few of its steps */
			ingest_note_recorded(f, mark.number);
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

/* Frees calls in the middle of a long step, so that memory stays bounded. */
static void drop_unwanted(struct ingest *f)
{
	bool is_recorded = ingest_action_is_recorded(f->marks.at[0].action) || f->one_step;
	if (f->n_pending < (is_recorded ? MOST_WANTED : MOST_UNWANTED) || f->marks.n > 1)
		return;
	uint64_t grace = timebase_ticks(&f->time, GRACE_NS);
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
	free(cut.threads);
	drop_works(&cut);
	drop_cut(f, end);
}

void ingest_close_first(struct ingest *f)
{
	pass_on(f, f->marks.at[1].ticks, false, false);
	f->counts.steps++;
	queue_shift(&f->marks, 1);
}

void ingest_close_steps(struct ingest *f, bool is_final, bool killed)
{
	bool is_moving = f->is_live && !f->is_over;
	if (f->holds_steps && !is_final)
		return;
	for (size_t n; (n = is_final ? f->marks.n - 1 : count_ready(f));) {
		if (f->is_live || is_final)
			timebase_set(&f->time, f->reader.header, is_moving);
		ingest_close_group(f, n);
	}
	if (!is_final) {
		drop_unwanted(f);
		return;
	}
	timebase_set(&f->time, f->reader.header, is_moving);
	ingest_pair_by_order(f);
	pass_on(f, UINT64_MAX, true, killed);
}
