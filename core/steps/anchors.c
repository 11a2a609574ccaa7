#include "core/steps/anchors.h"

#include "core/runtime/iteration.h"
#include "core/runtime/token.h"
#include "core/steps/launch_log.h"

uint64_t anchor_token(const struct rec_call *c, uint8_t category)
{
	if (record_is_captured(c, category))
		return 0;
	switch (category) {
	case CAT_LAUNCH:
		return c->arg;
	case CAT_GRAPH:
		return token_graph(c->arg);
	case CAT_MEMCPY:
		return token_copy(c->detail);
	default:
		return 0;
	}
}

/*
 * Returns the action of a step that was detected after it had ended. In the opening, the schedule's
 * steps are recorded (but see ingest_action_of()).
 */
static uint8_t action_of(const struct ingest *f, uint64_t number, bool uses_schedule)
{
	if (f->schedule.always)
		return SCHED_RECORD;
	uses_schedule |= f->opening.is_any;
	enum sched_action wanted = uses_schedule ? schedule_action(&f->schedule, number)
						 : SCHED_NONE;
	return f->opening.is_any && wanted < SCHED_OPENING ? SCHED_OPENING : (uint8_t)wanted;
}

void anchor_mark_counted(struct ingest *f, const struct rec_step *step, const struct anchor *a)
{
	uint64_t number = a->base + step->number;
	if (a->has_base && step->generation == a->generation)
		ingest_add_mark(
			f, &(struct step_mark){ .ticks = step->ticks,
						.number = number,
						.generation = a->generation,
						.action = action_of(f, number, a->uses_schedule) });
}

static int by_ticks(const void *a, const void *b)
{
	const struct anchor_hit *x = a, *y = b;
	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

void anchors_order(anchor_hits *hits, uint32_t apart)
{
	struct iteration_last last = { 0 };
	bool is_due = true;
	size_t n = 0;
	if (hits->n)
		qsort(hits->at, hits->n, sizeof(*hits->at), by_ticks);
	for (size_t i = 0; i < hits->n; i++) {
		const struct anchor_hit c = hits->at[i];
		bool early = !c.is_backup && iteration_is_early(&last, apart, c.slot, c.at, is_due);
		is_due = c.is_backup;
		if (!early)
			hits->at[n++] = c;
	}
	hits->n = n;
}

enum hit { HIT_NONE, HIT_ANCHOR, HIT_BACKUP };

struct finder_thread {
	struct token_window window;
	enum hit last_hit; /* what the thread's last launch completed */
	bool has_anchor;   /* the anchor has occurred on this thread */
};

struct finder {
	VEC(struct finder_thread) threads;
	uint64_t anchor, backup;
	uint32_t apart, n_early_backups, every, lead;
	anchor_hits hits;    /* ticks: begin of the launch after the hit */
	anchor_ticks begins; /* ticks at which steps begin, in ascending order */
	/*
	 * first_counted: ticks of the STEP_COUNTED record numbered 1. first_numbered: ticks of the
	 * first step whose number the library assigned itself.
	 */
	uint64_t first_counted, first_numbered;
	/* Highest step number that an earlier generation used, and when that step began. */
	uint64_t floor, floor_ticks;
};

static void find_hits(struct finder *x, const struct logged_thread *log)
{
	struct finder_thread t = { 0 };
	for (size_t i = 0; i < log->launches.n; i++) {
		const struct logged_launch *launch = &log->launches.at[i];
		if (t.last_hit)
			vec_push(&x->hits,
				 ((struct anchor_hit){ launch->ticks, log->slot, (uint32_t)i,
						       t.last_hit == HIT_BACKUP }));
		uint64_t hash = token_window_push_for(&t.window, launch->token, x->anchor);
		t.last_hit = hash == x->anchor	 ? HIT_ANCHOR
			     : hash == x->backup ? HIT_BACKUP
						 : HIT_NONE;
		t.has_anchor |= t.last_hit == HIT_ANCHOR;
	}
	vec_push(&x->threads, t);
}

/* Removes the first `n_early` backups, because they occurred before the first step. */
static void skip_early(anchor_hits *hits, uint32_t n_early)
{
	size_t n = 0;
	for (size_t i = 0; i < hits->n; i++) {
		if (n_early && hits->at[i].is_backup)
			n_early--;
		else
			hits->at[n++] = hits->at[i];
	}
	hits->n = n;
}

/*
 * Fills in x->begins, the times at which steps begin. Each anchor begins a step. Two backups in a
 * row show that the anchor between them is missing. Then the backup that is nearer to the missing
 * anchor begins the step: the second one if the backup follows the anchor within a step, else the
 * first one.
 */
static void find_begins(struct finder *x, bool backup_follows)
{
	anchors_order(&x->hits, x->apart);
	skip_early(&x->hits, x->n_early_backups);
	for (size_t i = 0; i < x->hits.n; i++) {
		const struct anchor_hit *c = &x->hits.at[i];
		if (!iteration_ends_at(i + 1, x->every, x->lead))
			continue;
		if (!c->is_backup)
			vec_push(&x->begins, c->ticks);
		else if (i && c[-1].is_backup)
			vec_push(&x->begins, c[backup_follows ? 0 : -1].ticks);
	}
}

/* Finds when the library began to number steps itself: in this generation and in earlier ones. */
static void find_numbered(struct finder *x, const struct launch_log *log, uint32_t generation,
			  const struct ingest *f)
{
	x->first_numbered = UINT64_MAX;
	for (size_t i = 0; i < log->generations.n; i++) {
		const struct logged_generation *g = &log->generations.at[i];
		bool is_earlier = generation > 1 && g->generation < generation;
		if (g->generation == generation)
			x->first_counted = g->counted_ticks;
		if (ingest_is_void(f, g->generation))
			continue;
		if (is_earlier && g->last_number > x->floor) {
			x->floor = g->last_number;
			x->floor_ticks = g->last_ticks;
		}
		if (!is_earlier && g->first_ticks < x->first_numbered)
			x->first_numbered = g->first_ticks;
	}
}

/*
 * Returns whether the last calls of any thread complete the anchor, or are those with which a step
 * ends.
 */
static bool ends_whole(const struct finder *x, uint64_t end)
{
	for (size_t i = 0; i < x->threads.n; i++) {
		const struct finder_thread *t = &x->threads.at[i];
		if ((t->last_hit == HIT_ANCHOR &&
		     iteration_ends_at(x->hits.n + 1, x->every, x->lead)) ||
		    (t->has_anchor && token_window_is_at_end(&t->window, x->anchor, end)))
			return true;
	}
	return false;
}

/*
 * Adds marks for the first `n` steps. With a base, STEP_COUNTED 1 begins step base + 1, so the last
 * of the `n` steps has the number `base` and the earlier ones count down from there. Without a
 * base, numbers count up from the start of the run.
 */
static void add_marks(struct ingest *f, const struct finder *x, const struct anchor *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t number = i + 1 + (uint64_t)a->n_missed;
		if (a->has_base) {
			if (a->base + 1 + i < n)
				/*
				 * More steps were found than the base allows, so records are
				 * missing.
				 */
				continue;
			number = a->base + 1 + i - n;
		}
		if (number > x->floor && x->begins.at[i] > x->floor_ticks)
			ingest_add_mark(f,
					&(struct step_mark){
						.ticks = x->begins.at[i],
						.number = number,
						.generation = a->generation,
						.action = action_of(f, number, a->uses_schedule) });
	}
}

/* Finds where the anchor occurs in the log. The caller frees the finder's lists. */
static struct finder find_in(const struct launch_log *log, const struct anchor *a)
{
	struct finder x = { .anchor = a->anchor,
			    .backup = a->backup,
			    .apart = a->apart,
			    .every = a->every,
			    .lead = a->lead,
			    .n_early_backups = a->n_early_backups };
	for (size_t i = 0; i < log->threads.n; i++)
		find_hits(&x, &log->threads.at[i]);
	return x;
}

void anchors_begins(anchor_ticks *to, const struct launch_log *log, const struct anchor *a)
{
	struct finder x = find_in(log, a);
	find_begins(&x, !a->backup_within);
	*to = x.begins;
	vec_free(&x.threads);
	vec_free(&x.hits);
}

void anchors_mark(struct ingest *f, const struct launch_log *log, const struct anchor *a)
{
	struct finder x = find_in(log, a);
	find_numbered(&x, log, a->generation, f);
	find_begins(&x, !a->backup_within);
	uint64_t end = UINT64_MAX;
	bool has_base = a->has_base && x.first_counted;
	if (has_base)
		end = x.first_counted;
	if (x.first_numbered < end)
		end = x.first_numbered;
	if (atomic_load(&f->reader.header->steps.slices))
		/*
		 * time slices took the numbers from 0 on, and the library numbered all steps after
		 * them
		 */
		end = 0;
	size_t n = 0;
	while (n < x.begins.n && x.begins.at[n] < end)
		n++;
	struct anchor usable = *a;
	usable.has_base = has_base;
	/* The mark of STEP_COUNTED 1 is added elsewhere, so it is not among the first `n`. */
	add_marks(f, &x, &usable, n);
	f->last_has_come = a->is_late;
	/*
	 * If no launch followed the last anchor, the last step is complete. This does not hold if
	 * the library numbered steps itself.
	 */
	f->last_is_whole |= ends_whole(&x, a->end) && x.first_numbered == UINT64_MAX;
	vec_free(&x.threads);
	vec_free(&x.begins);
	vec_free(&x.hits);
}

void anchors_mark_begins(struct ingest *f, const loop_begins *begins, uint64_t end_ticks)
{
	f->marks.at[0] = (struct step_mark){ .number = UINT64_MAX, .is_outside = true };
	f->saw_outside = f->is_marked = true;
	for (size_t i = 0; i < begins->n; i++)
		ingest_add_mark(f, &(struct step_mark){ .ticks = begins->at[i].ticks,
							.number = i,
							.action = action_of(f, i, true) });
	ingest_add_mark(f, &(struct step_mark){ .ticks = end_ticks,
						.number = UINT64_MAX,
						.action = SCHED_NONE,
						.is_outside = true });
	f->last_is_whole = true;
}
