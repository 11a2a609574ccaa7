/*
 * See ingest.h. Reads the records and stores each where its step will look for it. The reader has
 * already skipped damaged records.
 */
#include "core/source/journal/ingest.h"

#include "core/source/journal/stacks.h"

#include "core/runtime/clock.h"
#include "core/symbols/frames.h"
#include "core/util/memory_limit.h"

#include <stdlib.h>

enum {
	/* Not live: how long after a flush its records may have been written. */
	FLUSH_DELIVERY_NS = 1000000000,
	/*
	 * Live: the records of a slice. Reading them and passing on their steps takes 10 ms of CPU
	 * time. So meanwhile the collector answers the launcher, serves other processes, and sees
	 * that the application has ended.
	 */
	SLICE_RECORDS = 4096,
};

void ingest_forget_stacks(struct ingest *f)
{
	frames_free(f->run.frames);
	f->run.frames = NULL;
}

void ingest_close(struct ingest *f)
{
	for (size_t i = 0; i < f->threads.n; i++) {
		vec_free(&f->threads.at[i].calls);
		vec_free(&f->threads.at[i].held);
	}
	vec_free(&f->threads);
	map_free(&f->thread_of_slot);
	queue_free(&f->marks);
	vec_free(&f->voided);
	vec_free(&f->works);
	vec_free(&f->holders);
	vec_free(&f->tail);
	vec_free(&f->externals);
	vec_free(&f->apis);
	vec_free(&f->overheads);
	vec_free(&f->pools);
	vec_free(&f->samples);
	vec_free(&f->cpu_waits);
	vec_free(&f->drops);
	vec_free(&f->dropped_works);
	vec_free(&f->without);
	range_log_free(&f->ranges);
	library_log_free(&f->libraries);
	vec_free(&f->shapes);
	graph_table_free(&f->graphs);
	vec_free(&f->gpu_switches);
	vec_free(&f->recorded);
	vec_free(&f->traced);
	vec_free(&f->opening.kept_ms);
	blocks_free(&f->blocks);
	run_free(&f->run);
	vec_free(&f->trainings);
	once_free(&f->once);
	ingest_forget_stacks(f);
	dict_free(&f->dict);
	reader_close(&f->reader);
}

static struct ingest_thread *thread_of(struct ingest *f, uint32_t slot)
{
	bool is_new;
	uint64_t *at = map_at(&f->thread_of_slot, slot, &is_new);
	if (is_new) {
		*at = f->threads.n;
		vec_push(&f->threads, (struct ingest_thread){ .slot = slot });
	}
	return &f->threads.at[*at];
}

/* Sets the action of the first step from the schedule, which the library noted in the journal. */
static void learn_schedule(struct ingest *f)
{
	const char *text = tables_fact(&f->dict.t, "PROF_SCHEDULE");
	if (f->knows_schedule || !text || schedule_parse(text, &f->schedule, NULL))
		return;
	f->knows_schedule = true;
	f->opening.first_kept = schedule_first_active(&f->schedule);
	if (f->marks.at[0].number == 0 && !f->marks.at[0].is_outside)
		f->marks.at[0].action = (uint8_t)schedule_action(&f->schedule, 0);
}

static void read_dictionary(struct ingest *f, bool is_final)
{
	const struct dict_head *record;
	bool is_any = false;
	while ((record = reader_next_dictionary(&f->reader, is_final))) {
		dict_add(&f->dict, record);
		is_any = true;
	}
	if (is_any && !f->one_step)
		learn_schedule(f);
}

int ingest_open(struct ingest *f, const char *path, bool live, const struct ingest_sink *sink,
		struct err *e)
{
	memset(f, 0, sizeof(*f));
	int error = reader_open(&f->reader, path, live, e);
	if (error)
		return error;
	f->is_live = live;
	f->is_rest = !live && f->reader.n_freed;
	f->sink = *sink;
	f->last_number = UINT64_MAX;
	queue_push(&f->marks, (struct step_mark){ .action = SCHED_NONE });
	f->run.tables = &f->dict.t;
	f->run.frames = frames_new(journal_stacks(&f->dict), &f->dict.t);
	f->run.pid = f->reader.header->pid;
	f->blocks.allocator = &f->run.allocator;
	timebase_set(&f->time, f->reader.header, live);
	schedule_parse(SCHEDULE_DEFAULT, &f->schedule, NULL);
	f->opening.first_kept = schedule_first_active(&f->schedule);
	if (!live)
		read_dictionary(f, true);
	return 0;
}

static void saw(struct ingest *f, uint64_t ticks)
{
	if (!f->first_ticks || ticks < f->first_ticks)
		f->first_ticks = ticks;
	if (ticks > f->last_ticks)
		f->last_ticks = ticks;
}

bool ingest_takes_call(const struct ingest *f, const struct rec_call *c)
{
	return dict_category(&f->dict, c->hook) != CAT_ALLOC || c->status ||
	       plausible_bytes(c->bytes);
}

static void take_graph(struct ingest *f, uint32_t slot, const struct rec_head *head)
{
	if (head->kind == REC_NODE)
		graph_table_node(&f->graphs, (const struct rec_node *)head);
	else
		graph_table_event(&f->graphs, (const struct rec_graph *)head);
	if (f->sink.graph)
		f->sink.graph(f->sink.context, slot, head);
}

static void take_gpu_switch(struct ingest *f, const struct rec_gpu_state *s);

/*
 * Of a journal whose first records were overwritten, it is not known when GPU timing began, and
 * whose work the first GPU records are. But if there are any, it was on; and work that begins after
 * a wait for the GPU was launched after this wait.
 */
static void note_wait(struct ingest *f, const struct rec_call *c)
{
	if (f->gpu_switches.n || !f->counts.works || c->status ||
	    !dict_waits_for_work(&f->dict, c->hook))
		return;
	take_gpu_switch(f, &(struct rec_gpu_state){ .state = GPU_ON,
						    .ticks = c->begin_ticks + record_duration(c) });
}

static void take_call(struct ingest *f, struct ingest_thread *t, const struct rec_call *record)
{
	uint8_t category = dict_category(&f->dict, record->hook);
	struct rec_call own = *record;
	const struct rec_call *c = &own;
	if (record_is_captured(&own, category)) {
		own.detail &= ~REC_CALL_CAPTURED;
		own.kind = REC_NODE;
	}
	if (!ingest_takes_call(f, c)) {
		f->reader.n_impossible++;
		return;
	}
	saw(f, c->begin_ticks);
	/*
	 * After days, seq wraps around, and an old closed_seq would compare as newer than the call.
	 */
	if (!t->calls.n && category_has_work(category) && c->seq - t->closed_seq >= 1u << 30)
		t->closed_seq = c->seq - 1;
	f->counts.calls++;
	f->counts.calls_by_category[category < CAT_COUNT ? category : CAT_COUNT]++;
	f->counts.launches += category_has_work(category) && c->kind != REC_NODE;
	f->n_pending++;
	once_add(&f->once, &f->run, &f->dict, &f->time, c);
	if (f->is_rest)
		note_wait(f, c);
	if (f->sink.call)
		f->sink.call(f->sink.context, f, t->slot, c);
	vec_push(&t->calls, *c);
}

void ingest_add_mark(struct ingest *f, const struct step_mark *mark)
{
	struct step_mark *first = &f->marks.at[0];
	if (f->one_step)
		return;
	f->saw_outside |= mark->is_outside;
	if (!mark->number && !first->number && !first->ticks && !f->saw_outside) {
		first->action = mark->action; /* the library marks the first step too */
		return;
	}
	if (mark->ticks <= first->ticks) {
		f->counts.late++;
		return;
	}
	queue_push(&f->marks, *mark);
	size_t i = f->marks.n - 1;
	for (; i > 1 && f->marks.at[i - 1].ticks > mark->ticks; i--)
		f->marks.at[i] = f->marks.at[i - 1];
	f->marks.at[i] = *mark;
	if (!mark->is_outside && (f->last_number == UINT64_MAX || mark->number > f->last_number))
		f->last_number = mark->number;
}

bool ingest_is_void(const struct ingest *f, uint32_t generation)
{
	for (size_t i = 0; i < f->voided.n; i++)
		if (f->voided.at[i] == generation)
			return true;
	return generation && generation <= f->voided_until;
}

void ingest_train(struct ingest *f, uint32_t generation)
{
	for (size_t i = 0; i < f->trainings.n; i++)
		if (f->trainings.at[i] == generation)
			return;
	vec_push(&f->trainings, generation);
}

void ingest_void(struct ingest *f, uint32_t generation)
{
	size_t n = 1;
	vec_push(&f->voided, generation);
	f->last_number = f->marks.at[0].number ? f->marks.at[0].number : UINT64_MAX;
	for (size_t i = 1; i < f->marks.n; i++) {
		const struct step_mark mark = f->marks.at[i];
		if (mark.generation == generation)
			continue;
		f->marks.at[n++] = mark;
		if (!mark.is_outside)
			f->last_number = mark.number;
	}
	f->marks.n = n;
	f->last_is_whole = false;
}

uint64_t ingest_count_steps(const struct ingest *f)
{
	bool is_learned = f->reader.header->steps.mode == STEP_MODE_AUTO;
	if (f->last_number == UINT64_MAX)
		return 0;
	return f->last_number + (!is_learned || f->last_is_whole || f->last_has_come);
}

static void take_step(struct ingest *f, struct ingest_thread *t, const struct rec_step *s)
{
	saw(f, s->ticks);
	if (s->event == STEP_COUNTED) {
		if (f->sink.counted)
			f->sink.counted(f->sink.context, f, t->slot, s);
		return;
	}
	if (s->event == STEP_OPENING_ENDED) {
		ingest_end_opening(f, s->ticks);
		return;
	}
	if (s->event == STEP_NUMBERED && s->action & NUMBERED_TRAINING)
		ingest_train(f, s->generation);
	if (s->event == STEP_NUMBERED || s->event == STEP_BACKUP || s->event == STEP_EVERY ||
	    s->event == STEP_CORRECTED)
		return;
	if (s->event == STEP_TRIGGERED) {
		if (f->sink.triggered)
			f->sink.triggered(f->sink.context, f, s);
		return;
	}
	if (ingest_is_void(f, s->generation))
		return;
	bool is_begin = s->event == STEP_BEGIN;
	f->opening.is_any |= is_begin && (s->action == SCHED_OPENING || f->schedule.always);
	if (f->is_marked)
		return;
	if (s->event == STEP_OUTSIDE || (is_begin && s->number))
		f->last_is_whole = s->event == STEP_OUTSIDE;
	ingest_add_mark(f, &(struct step_mark){
				   .ticks = s->ticks,
				   .number = is_begin ? s->number : UINT64_MAX,
				   .generation = s->generation,
				   .action = is_begin ? s->action : SCHED_NONE,
				   .is_outside = !is_begin,
				   .by_library = is_begin,
				   .is_slice = is_begin && s->detail,
				   .cuts = s->event == STEP_CUT,
			   });
}

static void take_gpu_switch(struct ingest *f, const struct rec_gpu_state *s)
{
	bool is_on = s->state == GPU_ON || s->state == GPU_ON_BUT_COPIES;
	const struct gpu_switch *off =
		f->gpu_switches.n ? &f->gpu_switches.at[f->gpu_switches.n - 1] : NULL;
	bool resumes = is_on && off && !off->is_on && s->first_id && s->first_id == f->last_on_id;
	const struct gpu_switch new = {
		.ticks = s->ticks,
		.is_on = is_on,
		.lacks_copies = s->state == GPU_ON_BUT_COPIES,
		.is_yielded = s->state == GPU_YIELDED,
		.first_id = s->first_id,
		.resumes = resumes,
		.resumes_whole = resumes && s->ticks == off->ticks + 1,
	};
	f->last_on_id = is_on ? s->first_id : f->last_on_id;
	vec_push(&f->gpu_switches, new);
	size_t i = f->gpu_switches.n - 1;
	if (!i || f->gpu_switches.at[i - 1].ticks <= new.ticks)
		f->gpu_state = s->state;
	for (; i && f->gpu_switches.at[i - 1].ticks > new.ticks; i--)
		f->gpu_switches.at[i] = f->gpu_switches.at[i - 1];
	f->gpu_switches.at[i] = new;
	f->saw_gpu_on |= new.is_on;
	f->expected_of_ticks = 0;
}

static void take_gpu_state(struct ingest *f, const struct rec_gpu_state *s)
{
	saw(f, s->ticks);
	switch (s->state) {
	case GPU_ON:
	case GPU_ON_BUT_COPIES:
	case GPU_OFF:
	case GPU_YIELDED:
	case GPU_UNAVAILABLE:
		take_gpu_switch(f, s);
		break;
	case GPU_FLUSHED:
		if (s->ticks > f->flushed_ticks)
			f->flushed_ticks = s->ticks;
		f->flushed_usable_ticks =
			f->is_live ? clock_ticks(f->time.kind)
				   : s->ticks + timebase_ticks(&f->time, FLUSH_DELIVERY_NS);
		break;
	case GPU_DROPPED:
		f->was_full = true;
		vec_push(&f->dropped_works,
			 ((struct pair_dropped){ s->first_id, (uint32_t)(s->detail >> 32),
						 (uint32_t)s->detail }));
		break;
	case GPU_LOST:
		f->counts.gpu_lost += s->detail;
		break;
	default:
		break;
	}
}

/* Does not update first_ticks, because a range may begin before anything was recorded. */
static void take_range(struct ingest *f, uint32_t slot, const struct rec_range *r)
{
	if (r->ticks > f->last_ticks)
		f->last_ticks = r->ticks;
	range_log_take(&f->ranges, slot, r);
}

static void take_shape(struct ingest *f, const struct rec_library *l)
{
	if (l->gemm.shape > REC_SHAPES_MOST)
		return;
	while (f->shapes.n <= l->gemm.shape)
		vec_push(&f->shapes, (struct rec_library){ 0 });
	f->shapes.at[l->gemm.shape] = *l;
}

/* `shape` lies where other kinds of calls have a reserved field, which is 0. */
static void take_library(struct ingest *f, uint32_t slot, const struct rec_library *l)
{
	if (l->gemm.shape) {
		take_shape(f, l);
		return;
	}
	saw(f, l->begin_ticks);
	saw(f, l->end_ticks);
	library_log_take(&f->libraries, slot, l);
}

static void take_record(struct ingest *f, struct ingest_thread *t, const struct rec_head *head)
{
	f->counts.records++;
	switch (head->kind) {
	case REC_CALL:
		take_call(f, t, (const struct rec_call *)head);
		break;
	case REC_STEP:
		take_step(f, t, (const struct rec_step *)head);
		break;
	case REC_DROPPED:
		vec_push(&f->drops, *(const struct rec_dropped *)head);
		f->counts.dropped += ((const struct rec_dropped *)head)->count;
		break;
	case REC_GPU_STATE:
		take_gpu_state(f, (const struct rec_gpu_state *)head);
		break;
	case REC_EXTERNAL:
		vec_push(&f->externals, *(const struct rec_external *)head);
		break;
	case REC_API:
		vec_push(&f->apis, *(const struct rec_api *)head);
		break;
	case REC_KERNEL:
	case REC_MEMCPY:
	case REC_MEMSET:
	case REC_GPU_SYNC:
		f->counts.works += head->kind != REC_GPU_SYNC;
		f->counts.works_by_kind[head->kind]++;
		ingest_hold(f, t, (const struct rec_gpu *)head);
		break;
	case REC_NODE:
	case REC_GRAPH:
		take_graph(f, t->slot, head);
		break;
	case REC_OVERHEAD:
		vec_push(&f->overheads, *(const struct rec_overhead *)head);
		break;
	case REC_POOL:
		vec_push(&f->pools, *(const struct rec_pool *)head);
		break;
	case REC_SAMPLE:
		vec_push(&f->samples, *(const struct rec_sample *)head);
		break;
	case REC_THREAD:
		if (f->sink.thread)
			f->sink.thread(f->sink.context, t->slot, (const struct rec_thread *)head);
		break;
	case REC_CPU_WAIT:
		vec_push(&f->cpu_waits, *(const struct rec_cpu_wait *)head);
		break;
	case REC_RANGE:
		take_range(f, t->slot, (const struct rec_range *)head);
		break;
	case REC_LIBRARY:
		take_library(f, t->slot, (const struct rec_library *)head);
		break;
	case REC_BLOCK:
		saw(f, ((const struct rec_block *)head)->ticks);
		blocks_take(&f->blocks, t->slot, (const struct rec_block *)head);
		break;
	case REC_MEMORY:
		blocks_take_totals(&f->blocks, (const struct rec_memory *)head);
		break;
	default: /* a kind of record from a newer version */
		break;
	}
}

/*
 * Returns the time in the record, 0 if it has none. If it has a start and an end, returns the
 * begin. The record was written then or later.
 */
static uint64_t record_ticks(const struct rec_head *head)
{
	switch (head->kind) {
	case REC_CALL:
		return ((const struct rec_call *)head)->begin_ticks;
	case REC_STEP:
		return ((const struct rec_step *)head)->ticks;
	case REC_DROPPED: /* if the journal is full, all chunks begin with one */
		return ((const struct rec_dropped *)head)->last_ticks;
	case REC_GPU_STATE:
		return ((const struct rec_gpu_state *)head)->ticks;
	case REC_RANGE:
		return ((const struct rec_range *)head)->ticks;
	case REC_LIBRARY:
		return ((const struct rec_library *)head)->begin_ticks;
	case REC_BLOCK:
		return ((const struct rec_block *)head)->ticks;
	case REC_MEMORY:
		return ((const struct rec_memory *)head)->ticks;
	case REC_NODE:
		return ((const struct rec_node *)head)->begin_ticks;
	case REC_GRAPH:
		return ((const struct rec_graph *)head)->ticks;
	case REC_KERNEL:
	case REC_MEMCPY:
	case REC_MEMSET:
		return ((const struct rec_gpu *)head)->begin_ticks;
	default:
		return 0;
	}
}

/*
 * Sets read_until_ticks from the first record of a chunk. Chunks come in the order in which they
 * were claimed. So everything that was written before this record is in chunks that have been read.
 * Live, more may have been written to those since the pass began.
 */
static void note_read_until(struct ingest *f, const struct reader_batch *batch,
			    const struct rec_head *first)
{
	uint64_t begun = record_ticks(first);
	bool is_sure = !f->is_live || (batch->is_start && begun < f->pass_ticks);
	if (is_sure && begun > f->read_until_ticks)
		f->read_until_ticks = begun;
}

static void take_batch(struct ingest *f, struct reader_batch *batch)
{
	const struct rec_head *head = reader_next_record(&f->reader, batch);
	if (!head)
		return;
	note_read_until(f, batch, head);
	struct ingest_thread *t = thread_of(f, batch->thread);
	if (batch->is_start)
		ingest_hold_next_chunk(f, t);
	for (; head; head = reader_next_record(&f->reader, batch))
		take_record(f, t, head);
}

static void tag_finished(struct ingest *f)
{
	for (size_t i = f->reader.finished.n; i > 0 && !f->reader.finished.at[i - 1].tag; i--)
		f->reader.finished.at[i - 1].tag = f->last_ticks;
}

static void begin_pass(struct ingest *f)
{
	f->is_in_pass = true;
	f->pass_ticks = f->is_live ? clock_ticks(f->time.kind) : 0;
	once_set_clock(&f->once, &f->time);
	reader_begin_pass(&f->reader);
}

/* Reads at least `most` records of a pass, or all that it has left. Returns whether it ended. */
static bool read_pass(struct ingest *f, uint64_t most, bool is_final)
{
	struct reader_batch batch;
	uint64_t end = most < UINT64_MAX ? f->counts.records + most : most;
	if (!f->is_in_pass)
		begin_pass(f);
	read_dictionary(f, is_final);
	while (f->is_in_pass && f->counts.records < end) {
		f->is_in_pass = reader_next_batch(&f->reader, &batch);
		if (!f->is_in_pass)
			break;
		read_dictionary(f, is_final);
		take_batch(f, &batch);
		if (!f->is_live || memory_limit_is_near())
			ingest_close_steps(f, false, false);
	}
	tag_finished(f);
	if (f->is_live && !f->is_in_pass) {
		f->read_until_ticks = f->pass_ticks;
		ingest_hold_end_pass(f);
	}
	return !f->is_in_pass;
}

bool ingest_read(struct ingest *f)
{
	bool is_whole = read_pass(f, f->is_live ? SLICE_RECORDS : UINT64_MAX, false);
	if (f->is_live)
		ingest_close_steps(f, false, false);
	return is_whole;
}

void ingest_read_all(struct ingest *f)
{
	while (f->is_in_pass)
		ingest_read(f);
	while (!ingest_read(f))
		;
}

void ingest_finish(struct ingest *f, bool killed)
{
	if (f->is_in_pass)
		read_pass(f, UINT64_MAX, false);
	read_pass(f, UINT64_MAX, true);
	f->is_over = true;
	f->is_killed = killed;
	ingest_close_steps(f, true, killed);
}

/*
 * Keeps the chunks of recorded steps under way in the journal, although their records are in memory
 * here. Frees them only if the library is about to run out of chunks.
 */
uint32_t ingest_recycle(struct ingest *f)
{
	uint32_t n_free = reader_count_free(&f->reader), total = f->reader.n_chunks, freed = 0,
		 kept = 0;
	if (n_free >= total / 4)
		return 0;
	bool is_wanted = (f->holds_steps || ingest_may_be_recorded(f)) && n_free >= total / 16;
	for (size_t i = 0; i < f->reader.finished.n; i++) {
		struct reader_finished *c = &f->reader.finished.at[i];
		if (is_wanted && c->tag >= f->marks.at[0].ticks) {
			f->reader.finished.at[kept++] = *c;
			continue;
		}
		reader_free_chunk(&f->reader, c->index);
		freed++;
	}
	f->reader.finished.n = kept;
	return freed;
}
