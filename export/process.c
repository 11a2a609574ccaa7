/* See process.h. */
#include "export/process.h"

#include "core/runtime/clock.h"
#include "core/source/journal/damage.h"
#include "core/util/path.h"
#include "export/journals.h"
#include "export/process_diagnostic.h"
#include "export/process_flight.h"
#include "export/procfs.h"

#include <errno.h>
#include <unistd.h>

void output_free(struct output *o)
{
	for (size_t i = 0; i < o->taken.n; i++)
		free(o->taken.at[i]);
	vec_free(&o->taken);
}

/* ---- Writing traces ---- */

static bool take_name(struct output *o, const char *name)
{
	for (size_t i = 0; i < o->taken.n; i++)
		if (!strcmp(o->taken.at[i], name))
			return false;
	vec_push(&o->taken, mem_text(name));
	return true;
}

/* The rank, if it is a plain number and no other process of the run has it; a worker inherits its parent's. */
static void choose_name(struct process *p)
{
	const char *rank = tables_fact(&p->ingest.dict.t, "rank");
	if (p->name[0])
		return;
	if (rank && *rank && strlen(rank) < 10 && strspn(rank, "0123456789") == strlen(rank) &&
	    take_name(p->output, rank))
		snprintf(p->name, sizeof(p->name), "%s", rank);
	else
		snprintf(p->name, sizeof(p->name), "%s", p->stem);
}

static void write_with(struct process *p, int format, const struct analyzed_step *step)
{
	const struct exporter *x = p->output->formats[format];
	char relative[192], path[PATH_MAX];
	struct err e;
	snprintf(relative, sizeof(relative), "%s%s%s/step-%llu%s",
		 p->output->is_plain ? "" : x->folder, p->output->is_plain ? "" : "/", p->name,
		 (unsigned long long)step->model->number, x->suffix);
	if (snprintf(path, sizeof(path), "%s/%s", p->output->folder, relative) >=
	    (int)sizeof(path)) {
		if (!p->trouble.text[0])
			err_set(&p->trouble, 0, "%.100s...: the name is too long",
				p->output->folder);
		return;
	}
	if (x->write_step(step, path, &e)) {
		p->n_failed++;
		if (!p->trouble.text[0])
			p->trouble = e;
		return;
	}
	p->n_traces++;
	p->files[format].n++;
	p->files[format].n_empty += x->is_empty && x->is_empty(step->model);
	trace_keep_add(&p->traces, &p->output->limits, p->output->folder, relative);
}

static void show_step(void *context, struct model_step *m)
{
	struct process *p = context;
	if (!p->analysis)
		return;
	const struct analyzed_step *step = analysis_step(p->analysis, m);
	choose_name(p);
	for (int i = 0; i < p->output->n_formats; i++)
		write_with(p, i, step);
}

static void on_step(void *context, struct ingest *f, struct model_step *m)
{
	struct process *p = context;
	p->n_shown++;
	if (!f->schedule.flight) {
		show_step(p, m);
		return;
	}
	flight_take(&p->flight, m, f->schedule.flight);
}

/* One that the flight recorder has kept. */
static void show_kept(void *context, struct model_step *m)
{
	struct process *p = context;
	ingest_note_recorded(&p->ingest, m->number);
	show_step(p, m);
}

/* ---- Live ---- */

static uint32_t mode_of(const struct process *p)
{
	return p->ingest.reader.header->steps.mode;
}

static void on_call(void *context, struct ingest *f, uint32_t thread, const struct rec_call *call)
{
	struct process *p = context;
	if (mode_of(p) == STEP_MODE_AUTO && learn_is_feeding(&p->learn))
		learn_feed(&p->learn, f, thread, call);
}

static void on_counted(void *context, struct ingest *f, uint32_t thread,
		       const struct rec_step *step)
{
	struct process *p = context;
	(void)thread;
	learn_count(&p->learn, f, step);
}

static void set_stem(struct process *p)
{
	snprintf(p->stem, sizeof(p->stem), "%.60s", path_base(p->path));
	char *dot = strrchr(p->stem, '.');
	if (dot && dot != p->stem)
		*dot = 0;
}

int process_open(struct process *p, struct output *output, const char *path, bool live,
		 struct err *e)
{
	memset(p, 0, sizeof(*p));
	p->output = output;
	p->is_live = live;
	snprintf(p->path, sizeof(p->path), "%s", path);
	set_stem(p);
	const struct ingest_sink sink = {
		.context = p,
		.call = on_call,
		.counted = on_counted,
		.triggered = process_triggered,
		.no_trace = !output->n_formats,
		.step = on_step,
	};
	int error = ingest_open(&p->ingest, path, live, &sink, e);
	if (error)
		return error;
	const struct journal_header *h = p->ingest.reader.header;
	p->pid_here = procfs_number_here(h->pid, h->process_start, h->pid_namespace);
	process_flight_start(p, show_kept);
	if (output->analyses || output->n_formats)
		p->analysis = analysis_new(&p->ingest, output->analyses);
	if (live) {
		atomic_store(&p->ingest.reader.header->collector, (uint32_t)getpid());
		p->was_seen_alive = process_is_alive(p);
	}
	if (mode_of(p) == STEP_MODE_AUTO)
		learn_start(&p->learn);
	else
		p->ingest.sink.call = NULL;
	return 0;
}

void process_close(struct process *p)
{
	if (p->is_live && p->ingest.reader.header)
		atomic_store(&p->ingest.reader.header->collector, 0);
	trace_keep_free(&p->traces);
	vec_free(&p->triggers);
	flight_free(&p->flight);
	learn_stop(&p->learn);
	process_forget_analysis(p);
	ingest_close(&p->ingest);
}

void process_forget_analysis(struct process *p)
{
	analysis_free(p->analysis);
	p->analysis = NULL;
	ingest_forget_stacks(&p->ingest);
}

/* Steps before the lock get their numbers from where the anchor stands in what was journaled. */
static void fix_backwards(struct process *p)
{
	const struct journal_steps *s = &p->ingest.reader.header->steps;
	const struct anchor a = {
		.anchor = atomic_load(&s->anchor),
		.backup = atomic_load(&s->backup),
		.backup_within = atomic_load(&s->backup_within),
		.apart = atomic_load(&s->anchors_apart),
		.is_late = atomic_load(&s->is_late),
		.has_base = true,
		.base = atomic_load(&s->base),
		.generation = p->learn.generation,
	};
	struct err e;
	p->ingest.last_has_come = a.is_late;
	if (!p->was_recycled || p->ingest.schedule.always)
		anchors_mark(&p->ingest, p->path, &a, UINT64_MAX, &e);
}

/* With the first records, and once more when CUPTI has come: each look takes a millisecond, of this process. */
static void look_for_versions(struct process *p)
{
	unsigned n_wanted = (p->ingest.counts.records > 0) + p->ingest.saw_gpu_on;
	if (p->n_versions_read >= n_wanted || !process_is_alive(p))
		return;
	p->n_versions_read = n_wanted;
	versions_read(&p->versions, p->pid_here);
}

bool process_poll(struct process *p)
{
	uint64_t before = p->ingest.counts.records;
	if (mode_of(p) == STEP_MODE_AUTO)
		learn_watch(&p->learn, &p->ingest);
	ingest_read(&p->ingest);
	look_for_versions(p);
	if (mode_of(p) == STEP_MODE_AUTO && learn_tell(&p->learn, &p->ingest))
		fix_backwards(p);
	if (ingest_recycle(&p->ingest))
		p->was_recycled = true;
	process_flight_serve(p);
	ahead_prepare(&p->ahead, &p->ingest.reader);
	return p->ingest.counts.records != before;
}

bool process_is_learning(const struct process *p)
{
	uint32_t state = atomic_load(&p->ingest.reader.header->steps.state);
	return !p->is_finished &&
	       (step_state_is_learning(state) || p->learn.is_provisional || p->learn.is_overdue);
}

/* After an exec pid and start stay the same, but the new image has a journal of its own: pid-2, pid-3. Such a name may be that
 * of another process with the same number, too: a later one, or one in another namespace of pids. */
static bool has_successor(const struct process *p)
{
	char path[PATH_MAX];
	const char *dash = strchr(p->stem, '-');
	int number = dash ? atoi(dash + 1) : 1;
	int folder = (int)(strrchr(p->path, '/') ? strrchr(p->path, '/') - p->path : 0);
	const struct journal_header *h = p->ingest.reader.header;
	struct journal_header next;
	if (snprintf(path, sizeof(path), "%.*s/%u-%d.journal", folder, p->path, h->pid,
		     number + 1) >= (int)sizeof(path))
		return false;
	return journals_header(path, &next) && next.process_start == h->process_start &&
	       next.pid_namespace == h->pid_namespace;
}

bool process_is_alive(const struct process *p)
{
	const struct journal_header *h = p->ingest.reader.header;
	return p->pid_here && procfs_is_alive(p->pid_here, h->process_start) && !has_successor(p);
}

/* ---- Afterwards ---- */

static void describe_choice(struct process *p, double confidence, uint32_t period,
			    enum level_boundary boundary)
{
	p->confidence = confidence;
	p->period = period;
	p->boundary = boundary;
}

/* What the header says of the last anchor. */
static void describe_told(struct process *p)
{
	const struct journal_steps *s = &p->ingest.reader.header->steps;
	describe_choice(p, atomic_load(&s->confidence_permille) / 1000.0,
			atomic_load(&s->calls_per_step),
			(enum level_boundary)atomic_load(&s->boundary));
}

/* Reads everything once to find out what a step is. */
static bool learn_from(struct process *p, struct anchor *anchor)
{
	struct err e;
	struct process reading;
	struct output nowhere = { .n_formats = 0 };
	if (process_open(&reading, &nowhere, p->path, false, &e))
		return false;
	ingest_read(&reading.ingest);
	ingest_finish(&reading.ingest, false);
	bool is_known = learn_conclude(&reading.learn, &reading.ingest);
	p->n_function_calls = reading.learn.function.n_calls;
	if (is_known) {
		const struct level_choice *choice = &reading.learn.choice;
		*anchor = (struct anchor){ .anchor = choice->anchor,
					   .backup = choice->backup,
					   .backup_within = choice->backup_within,
					   .apart = choice->apart,
					   .n_missed = choice->n_missed,
					   .is_late = choice->n_missed < 0,
					   .n_early_backups = choice->n_early_backups,
					   .end = choice->end,
					   .uses_schedule = true };
		describe_choice(p, choice->confidence, choice->calls_per_step, choice->boundary);
	}
	process_close(&reading);
	output_free(&nowhere);
	return is_known;
}

static bool find_anchor(struct process *p, struct anchor *anchor)
{
	const struct journal_steps *s = &p->ingest.reader.header->steps;
	uint32_t generation = atomic_load(&s->anchor_generation);
	bool is_void = generation && atomic_load(&s->void_generation) == generation;
	if (!generation && atomic_load(&s->slices)) {
		*anchor = (struct anchor){ 0 };
		process_explain_slices(p);
		return true;
	}
	if (!generation || is_void)
		return learn_from(p, anchor);
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
	describe_told(p);
	return true;
}

struct replay {
	struct process *p;
	struct anchor anchor;	   /* the last, or the only one */
	anchors earlier;	   /* of a program that went over to other work */
	anchor_generations voided; /* anchors that turned out to be the wrong ones */
};

/* Whatever the library locked is in the journal; of the last anchor the header knows more. */
static int find_anchors(struct process *p, struct replay *r, struct err *e)
{
	const struct journal_steps *s = &p->ingest.reader.header->steps;
	p->has_steps = find_anchor(p, &r->anchor);
	if (atomic_load(&s->void_generation))
		vec_push(&r->voided, atomic_load(&s->void_generation));
	if (atomic_load(&s->anchor_generation) < 2)
		return 0;
	int error = anchors_list(p->path, &r->earlier, &r->voided, e);
	if (error || !r->earlier.n)
		return error;
	if (!r->anchor.has_base ||
	    r->earlier.at[r->earlier.n - 1].generation == r->anchor.generation)
		r->anchor = r->earlier.at[--r->earlier.n];
	return 0;
}

/* The steps that no record of the library's begins. */
static void mark_learned(struct ingest *f, const char *path, const struct replay *r, struct err *e)
{
	for (size_t i = 0; i < r->earlier.n; i++)
		anchors_mark(f, path, &r->earlier.at[i], UINT64_MAX, e);
	anchors_mark(f, path, &r->anchor, UINT64_MAX, e);
}

static void replay_counted(void *context, struct ingest *f, uint32_t thread,
			   const struct rec_step *step)
{
	const struct replay *r = context;
	(void)thread;
	for (size_t i = 0; i < r->earlier.n; i++)
		anchor_mark_counted(f, step, &r->earlier.at[i]);
	anchor_mark_counted(f, step, &r->anchor);
}

static void replay_step(void *context, struct ingest *f, struct model_step *m)
{
	struct replay *r = context;
	on_step(r->p, f, m);
}

static void replay_triggered(void *context, struct ingest *f, const struct rec_step *step)
{
	struct replay *r = context;
	process_triggered(r->p, f, step);
}

static bool process_was_killed(const struct process *p)
{
	return !atomic_load(&p->ingest.reader.header->ended_ticks);
}

/* Opens the journal anew in place of what was followed so far, which is all there is where its file has been removed. */
static int start_replay(struct process *p, struct replay *r, struct err *e)
{
	struct reader there;
	int error = reader_open(&there, p->path, false, e);
	if (error)
		return error;
	reader_close(&there);
	const struct ingest_sink sink = { .context = r,
					  .counted = replay_counted,
					  .triggered = replay_triggered,
					  .no_trace = !p->output->n_formats,
					  .step = replay_step };
	bool analyses = p->analysis;
	process_forget_analysis(p);
	p->n_shown = 0;
	flight_free(&p->flight);
	ingest_close(&p->ingest);
	error = ingest_open(&p->ingest, p->path, false, &sink, e);
	if (!error)
		process_flight_start(p, show_kept);
	if (!error && analyses)
		p->analysis = analysis_new(&p->ingest, p->output->analyses);
	return error;
}

/* Everything as one step: better than nothing to look at. */
static int show_whole_run(struct process *p, struct replay *r, struct err *e)
{
	struct ingest_counts counts = p->ingest.counts;
	uint64_t last_number = p->ingest.last_number;
	bool last_is_whole = p->ingest.last_is_whole, last_has_come = p->ingest.last_has_come;
	struct sample steps = p->ingest.run.step_ms;
	struct cost cost = p->ingest.run.cost;
	struct baseline baseline = p->ingest.run.baseline;
	uint64_t trains_from = p->ingest.run.trains_from;
	p->ingest.run.baseline = (struct baseline){ 0 }; /* it is kept */
	int error = start_replay(p, r, e);
	if (error) {
		baseline_free(&baseline);
		return error;
	}
	p->ingest.sink.counted = NULL;
	p->ingest.one_step = true;
	ingest_read(&p->ingest);
	ingest_finish(&p->ingest, process_was_killed(p));
	p->ingest.counts = counts; /* what was found out about steps stands */
	p->ingest.last_number = last_number;
	p->ingest.last_is_whole = last_is_whole;
	p->ingest.last_has_come = last_has_come;
	p->ingest.run.step_ms = steps;
	p->ingest.run.cost = cost;
	baseline_free(&p->ingest.run.baseline);
	p->ingest.run.baseline = baseline;
	p->ingest.run.trains_from = trains_from;
	p->ingest.recorded.n = 0;
	return 0;
}

static int replay_with(struct process *p, struct replay *r, struct err *e)
{
	bool is_auto = mode_of(p) == STEP_MODE_AUTO;
	p->has_steps = !is_auto;
	int error = is_auto ? find_anchors(p, r, e) : 0;
	if (!error)
		error = start_replay(p, r, e);
	if (error)
		return error;
	struct ingest *f = &p->ingest;
	for (size_t i = 0; i < r->voided.n; i++)
		ingest_void(f, r->voided.at[i]);
	for (size_t i = 0; i < r->earlier.n; i++)
		if (r->earlier.at[i].begins_training)
			ingest_train(f, r->earlier.at[i].generation);
	if (r->anchor.begins_training)
		ingest_train(f, r->anchor.generation);
	if (!is_auto)
		p->confidence = 1;
	if (r->anchor.anchor) {
		if (r->anchor.uses_schedule && !f->schedule.off)
			f->marks.at[0].action = (uint8_t)schedule_action(&f->schedule, 0);
		mark_learned(f, p->path, r, e);
	}
	ingest_read(f);
	ingest_finish(f, process_was_killed(p));
	p->has_steps = p->has_steps && f->last_number != UINT64_MAX;
	if (p->n_shown && r->anchor.uses_schedule)
		process_explain_late_steps(p);
	bool is_wanted = p->output->n_formats || p->output->analyses;
	if (!is_wanted || p->n_shown || p->trouble.text[0])
		return 0;
	process_explain_nothing_recorded(p);
	return is_auto && !f->schedule.off ? show_whole_run(p, r, e) : 0;
}

static int replay_all(struct process *p, struct err *e)
{
	struct replay r = { .p = p };
	int error = replay_with(p, &r, e);
	vec_free(&r.earlier);
	vec_free(&r.voided);
	return error;
}

int process_export(struct process *p, struct output *output, const char *path, struct err *e)
{
	int error = process_open(p, output, path, false, e);
	if (error)
		return error;
	error = replay_all(p, e);
	if (error) {
		process_close(p);
		return error;
	}
	p->is_finished = true;
	p->state = !process_was_killed(p) ? PROCESS_ENDED
		   : process_is_alive(p)  ? PROCESS_RUNS
					  : PROCESS_KILLED;
	process_flight_end(p, p->state == PROCESS_ENDED	 ? FLIGHT_EXIT
			      : p->state == PROCESS_RUNS ? FLIGHT_EXPORT
							 : FLIGHT_CRASH);
	return 0;
}

/* ---- The end of a live process ---- */

static void note_closing_clock(struct process *p)
{
	struct journal_header *h = p->ingest.reader.header;
	if (!h->clock.last.ticks)
		h->clock.last = clock_point(h->clock.kind);
}

static void finish(struct process *p)
{
	struct err e;
	bool killed = process_was_killed(p);
	bool is_auto = mode_of(p) == STEP_MODE_AUTO;
	note_closing_clock(p);
	ingest_read(&p->ingest);
	if (is_auto && learn_tell(&p->learn, &p->ingest))
		fix_backwards(p);
	if (is_auto && !p->was_recycled)
		learn_end_provisional(&p->learn, &p->ingest);
	/* a journal that was recycled cannot be read again from the start */
	bool is_locked = !is_auto || p->learn.has_base || p->was_recycled ||
			 p->learn.continues_numbers ||
			 atomic_load(&p->ingest.reader.header->steps.slices);
	p->is_finished = true;
	p->state = killed ? PROCESS_KILLED : PROCESS_ENDED;
	p->confidence = 1;
	if (is_auto)
		describe_told(p);
	if (is_locked) {
		ingest_finish(&p->ingest, killed);
		p->has_steps = p->ingest.last_number != UINT64_MAX;
		process_explain_slices(p);
		if (p->n_shown || p->trouble.text[0])
			return;
	}
	/* too short for the lock, or nothing was recorded: now that all is there, more can be told */
	atomic_store(&p->ingest.reader.header->collector, 0);
	p->is_live = false;
	if (!p->was_recycled && replay_all(p, &e) && !p->trouble.text[0])
		p->trouble = e;
}

/* A process that was seen and is gone is surely dead; one that never was may be writing under another pid. */
void process_finish(struct process *p)
{
	struct err e;
	finish(p);
	process_flight_end(p, p->state == PROCESS_KILLED ? FLIGHT_CRASH : FLIGHT_EXIT);
	if (p->was_seen_alive && reader_shrink(p->path, &e) && !p->trouble.text[0])
		p->trouble = e;
}
