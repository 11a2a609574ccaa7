/* See driver.h. */
#include "core/source/process/driver_parts.h"

#include "core/runtime/clock.h"
#include "core/source/process/driver_flight.h"
#include "core/source/process/journals_parts.h"
#include "core/steps/launch_log.h"
#include "core/util/path.h"
#include "core/util/procfs.h"

#include <unistd.h>

void driver_take_step(struct driver *d, struct ingest *f, struct model_step *m)
{
	d->n_shown++;
	d->n_traced += m->is_traced;
	if (f->schedule.flight)
		flight_take(&d->flight, m, f->schedule.flight);
	else if (d->sink.step)
		d->sink.step(d->sink.context, m);
}

static void on_step(void *context, struct ingest *f, struct model_step *m)
{
	driver_take_step(context, f, m);
}

void driver_take_kept(void *driver, struct model_step *m)
{
	struct driver *d = driver;
	ingest_note_recorded(d->ingest, m->number, true);
	if (d->sink.step)
		d->sink.step(d->sink.context, m);
}

static void on_call(void *context, struct ingest *f, uint32_t thread, const struct rec_call *call)
{
	struct driver *d = context;
	if (driver_is_auto(d))
		learn_feed(&d->learn, f, thread, call);
}

static void on_thread(void *context, uint32_t slot, const struct rec_thread *record)
{
	struct driver *d = context;
	if (driver_is_auto(d))
		learn_feed_thread(&d->learn, d->ingest, slot, record);
}

static void on_graph(void *context, uint32_t slot, const struct rec_head *record)
{
	struct driver *d = context;
	if (driver_is_auto(d))
		learn_feed_graph(&d->learn, d->ingest, slot, record);
}

static void on_counted(void *context, struct ingest *f, uint32_t thread,
		       const struct rec_step *step)
{
	struct driver *d = context;
	(void)thread;
	learn_count(&d->learn, f, step);
}

void driver_ask_to_stop(bool (*must_stop)(void))
{
	reader_ask_to_stop(must_stop);
}

bool driver_must_stop(void)
{
	return reader_must_stop();
}

static void set_stem(struct driver *d)
{
	snprintf(d->stem, sizeof(d->stem), "%.60s", path_base(d->path));
	char *dot = strrchr(d->stem, '.');
	if (dot && dot != d->stem)
		*dot = 0;
}

static void start(struct driver *d)
{
	const struct journal_header *h = driver_header(d);
	d->pid_here = procfs_number_here(h->pid, h->process_start, h->pid_namespace);
	driver_flight_start(d, driver_take_kept);
	if (d->is_live) {
		atomic_store(&driver_header(d)->collector, (uint32_t)getpid());
		d->was_seen_alive = driver_is_alive(d);
	}
	if (driver_is_auto(d))
		learn_start(&d->learn);
	else
		d->ingest->sink.call = NULL;
}

int driver_open(struct driver **to, const char *path, bool live, const struct driver_sink *sink,
		struct err *e)
{
	struct driver *d = mem_zero(sizeof(*d));
	const struct ingest_sink ingest_sink = {
		.context = d,
		.call = on_call,
		.thread = on_thread,
		.graph = on_graph,
		.counted = on_counted,
		.triggered = driver_triggered,
		.no_trace = sink->no_trace,
		.step = on_step,
	};
	d->ingest = mem_zero(sizeof(*d->ingest));
	d->sink = *sink;
	d->is_live = live;
	snprintf(d->path, sizeof(d->path), "%s", path);
	set_stem(d);
	int error = ingest_open(d->ingest, path, live, &ingest_sink, e);
	if (error) {
		free(d->ingest);
		free(d);
		return error;
	}
	start(d);
	*to = d;
	return 0;
}

void driver_close(struct driver *d)
{
	if (d->is_live)
		atomic_store(&driver_header(d)->collector, 0);
	vec_free(&d->triggers);
	arena_free(&d->names);
	flight_free(&d->flight);
	learn_stop(&d->learn);
	ingest_close(d->ingest);
	free(d->ingest);
	free(d);
}

void driver_fix_backwards(struct driver *d)
{
	const struct journal_steps *s = driver_steps(d);
	const struct anchor a = {
		.anchor = atomic_load(&s->anchor),
		.backup = atomic_load(&s->backup),
		.backup_within = atomic_load(&s->backup_within),
		.apart = atomic_load(&s->anchors_apart),
		.every = atomic_load(&s->anchor_every),
		.lead = atomic_load(&s->anchor_lead),
		.is_late = atomic_load(&s->is_late),
		.has_base = true,
		.base = atomic_load(&s->base),
		.generation = d->learn.generation,
	};
	struct launch_log log;
	struct err e;
	d->ingest->last_has_come = a.is_late;
	if (d->was_recycled && !d->ingest->schedule.always)
		return;
	if (!launch_log_read(&log, d->path, NULL, &e))
		anchors_mark(d->ingest, &log, &a);
	launch_log_free(&log);
}

/* Takes how certain the steps are from the library, which learns it while the process runs. */
static void describe_steps(struct driver *d)
{
	if (driver_is_auto(d))
		driver_describe_told(d);
	else
		d->confidence = 1;
}

/*
 * Stores a newer reading of the clock after a second, and whenever the process has run twice as
 * long as at the last one. If everything is killed, the journal may be read on another machine,
 * which cannot read this clock. A second is enough to know the clock's rate to 1e-6.
 */
static void note_clock(struct driver *d)
{
	enum { FIRST_NS = 1000000000 };
	struct journal_header *h = driver_header(d);
	if (!d->is_live || !d->was_seen_alive || driver_has_ended(d))
		return;
	uint64_t begin_ns = h->clock.first.monotonic_ns, last_ns = h->clock.last.monotonic_ns;
	uint64_t due_ns = last_ns > begin_ns ? 2 * (last_ns - begin_ns) : FIRST_NS;
	if (clock_read_ns(CLOCK_MONOTONIC) - begin_ns >= due_ns)
		h->clock.last = clock_point(h->clock.kind);
}

bool driver_poll(struct driver *d)
{
	uint64_t before = d->ingest->counts.records;
	note_clock(d);
	if (driver_is_auto(d))
		learn_watch(&d->learn, d->ingest);
	/* within a pass, some threads' records have been read much further than others' */
	bool compares = ingest_read(d->ingest) && driver_is_auto(d);
	if (compares && learn_tell(&d->learn, d->ingest))
		driver_fix_backwards(d);
	if (compares)
		learn_compare(&d->learn, d->ingest);
	if (ingest_recycle(d->ingest))
		d->was_recycled = true;
	describe_steps(d);
	driver_flight_serve(d);
	ahead_prepare(&d->ahead, &d->ingest->reader);
	return d->ingest->counts.records != before;
}

bool driver_is_learning(const struct driver *d)
{
	uint32_t state = atomic_load(&driver_steps(d)->state);
	return !d->is_finished && (step_state_is_learning(state) ||
				   learn_is_provisional(&d->learn) || learn_is_overdue(&d->learn));
}

/*
 * Returns whether the process has called exec. Its pid and start time stay the same then, but the
 * new program writes to a journal of its own, pid-2 or pid-3. A journal of that name may also
 * belong to another process with the same pid: a later one, or one in another pid namespace. So
 * start time and namespace must be equal.
 */
static bool has_successor(const struct driver *d)
{
	char path[PATH_MAX];
	const char *dash = strchr(d->stem, '-');
	int number = dash ? atoi(dash + 1) : 1;
	int folder = (int)(strrchr(d->path, '/') ? strrchr(d->path, '/') - d->path : 0);
	const struct journal_header *h = driver_header(d);
	struct journal_header next;
	if (snprintf(path, sizeof(path), "%.*s/%u-%d.journal", folder, d->path, h->pid,
		     number + 1) >= (int)sizeof(path))
		return false;
	return journals_header(path, &next) && next.process_start == h->process_start &&
	       next.pid_namespace == h->pid_namespace;
}

bool driver_is_alive(const struct driver *d)
{
	const struct journal_header *h = driver_header(d);
	return d->pid_here && procfs_is_alive(d->pid_here, h->process_start) && !has_successor(d);
}

void driver_describe_choice(struct driver *d, double confidence, uint32_t period,
			    enum level_boundary boundary)
{
	d->confidence = confidence;
	d->period = period;
	d->boundary = boundary;
}

void driver_describe_told(struct driver *d)
{
	const struct journal_steps *s = driver_steps(d);
	driver_describe_choice(d, atomic_load(&s->confidence_permille) / 1000.0,
			       atomic_load(&s->calls_per_step),
			       (enum level_boundary)atomic_load(&s->boundary));
}

/*
 * Confidence of steps that the loops contradict: what was counted is wrong, or the loop is. It is
 * below that of "step unclear".
 */
#define UNCLEAR 0.6

/*
 * The most that an answer is worth in two cases. They were chosen by hand, below the 0.9 from which
 * test/steps/fresh.py calls an answer sure. The first case: several threads take turns to begin the
 * iterations. In one program, which had a barrier, a step was an iteration of all threads; in pools
 * it is one of each. The second one: see learn_loops_is_inexact().
 */
#define IN_TURNS 0.75
#define INEXACT	 0.85

static void limit(struct driver *d, double most)
{
	if (d->confidence > most)
		d->confidence = most;
}

/* The named loop is not what was counted. */
static void name_instead(struct driver *d)
{
	struct loop_name *instead = arena_zero(&d->names, sizeof(*instead));
	*instead = d->loops.step;
	d->loops =
		(struct loop_names){ .step = { .file = "", .function = "" }, .instead = instead };
}

void driver_describe_loops(struct driver *d, struct learn *learn,
			   const struct anchor_counts *counted)
{
	const struct learn_named named = learn_loop(learn, d->ingest, counted);
	arena_free(&d->names);
	d->has_loops = named.loop != NULL;
	if (named.is_contradicted)
		limit(d, UNCLEAR);
	if (named.is_inexact)
		limit(d, INEXACT);
	if (!named.loop) {
		d->confidence = levels_sure_alone(d->confidence, d->boundary);
		return;
	}
	if (named.loop->is_in_turns)
		limit(d, IN_TURNS);
	loop_names_make(&d->loops, &learn->loops.tree, named.loop, &d->names);
	if (named.is_other)
		name_instead(d);
}
