/* The collector's half of learning steps. The library's is preload/steps.c; both hash launches by core/token.h alike. */
#include "core/learn.h"

enum {
	SETTLE_NS =
		20000000, /* a launch that began before a boundary is in the journal this much later, in any thread */
	LOST_TURNS =
		20, /* this many times a step's calls without the anchor: it was the wrong one */
	LOST_LEAST = 10000,
	/* so long without one that was never counted, in turns and launches, others are looked for beside it */
	UNCOUNTED_TURNS = 2,
	UNCOUNTED_LEAST = 64,
	HELD_MOST =
		1000000, /* calls of steps on probation: they wait in memory for what becomes of them */
	LEARN_S = 60, /* PROF_LEARN_S of a library that does not say */
};

void learn_start(struct learn *l)
{
	*l = (struct learn){ .levels = levels_new() };
}

void learn_stop(struct learn *l)
{
	levels_free(l->levels);
	levels_free(l->seeker);
	learn_amid_end(&l->amid);
	vec_free(&l->threads);
	map_free(&l->thread_of_slot);
	learn_frames_free(&l->frames);
	learn_function_free(&l->function);
	vec_free(&l->since);
	vec_free(&l->counted);
}

/* The library pushes exactly these into its window (preload/capture.h). 0: it does not push this call. */
static uint64_t token_of_call(const struct rec_call *c, uint8_t category)
{
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

static struct learn_thread *thread_of(struct learn *l, uint32_t slot)
{
	bool is_new;
	uint64_t *at = map_at(&l->thread_of_slot, slot, &is_new);
	if (is_new) {
		*at = l->threads.n;
		vec_push(&l->threads, (struct learn_thread){ .slot = slot });
	}
	return &l->threads.at[*at];
}

static uint32_t hints_of(const struct launch_entry *launch, const struct rec_call *c,
			 uint8_t category)
{
	if (category == CAT_LAUNCH) {
		if (!launch || !launch->is_named)
			return 0;
		return LEVEL_NAMED | (launch->is_optimizer ? LEVEL_OPTIMIZER : 0);
	}
	if (category == CAT_GRAPH)
		return LEVEL_GRAPH;
	return LEVEL_COPY | (c->detail == COPY_H2D ? LEVEL_H2D : 0) |
	       (c->detail == COPY_D2H ? LEVEL_D2H : 0);
}

static void note_anchor(struct learn *l, struct learn_thread *t, uint64_t hash,
			const struct rec_call *c)
{
	l->n_since_anchor++;
	if (!l->has_choice || (hash != l->choice.anchor && hash != l->choice.backup))
		return;
	l->n_since_anchor = 0;
	t->has_anchor = true;
	if (!l->has_base)
		vec_push(&l->since, ((struct learn_came){ .ticks = c->begin_ticks,
							  .is_backup = hash != l->choice.anchor }));
}

/* Time that the host did not spend on work of its own: no pause between steps, however long. */
static void note_blocked(struct learn_thread *t, const struct rec_call *c, uint8_t category)
{
	if (category == CAT_SYNC || category == CAT_ALLOC || category == CAT_FREE)
		t->blocked_ticks += record_duration(c);
	t->has_synced |= category == CAT_SYNC;
}

static bool wants_function(const struct follow *f)
{
	return f->reader.header->steps.wants_function;
}

/*
 * A compiler that measures kernels (torch.compile) launches some of them a hundred times, and these were told as steps; or an evaluation comes
 * before the next one. The library counts by what was told as soon as that comes again.
 */
static bool seeks_others(const struct learn *l, const struct follow *f)
{
	return !wants_function(f) && l->has_choice && !l->has_base && !l->on_probation &&
	       !l->goes_on && !l->counted.n && l->n_since_anchor > UNCOUNTED_LEAST &&
	       l->n_since_anchor > (uint64_t)l->choice.calls_per_step * UNCOUNTED_TURNS;
}

static void mind_seeker(struct learn *l, const struct follow *f)
{
	bool seeks = seeks_others(l, f);
	if (seeks && !l->seeker && (l->seeker = levels_new()))
		levels_want_optimizer(l->seeker, true);
	if (!seeks && l->seeker) {
		levels_free(l->seeker);
		l->seeker = NULL;
	}
}

/* FILE-SUFFIX:FUNCTION */
static const char *function_setting(const struct follow *f)
{
	const char *step = dict_find_info(&f->dict, "PROF_STEP");
	const char *colon = step ? strchr(step, ':') : NULL;
	return colon ? colon + 1 : "";
}

bool learn_is_feeding(const struct learn *l)
{
	return !l->has_base || l->on_probation;
}

/* Between the steps of one model and the next only those of an optimizer will do: the program may just evaluate. */
static void demand_optimizer(struct learn *l, const struct follow *f)
{
	if (l->levels)
		levels_want_optimizer(l->levels,
				      l->is_overdue || f->reader.header->steps.wants_optimizer);
}

/* What the steps are to be, the library has said by now; when the journal was opened, perhaps not yet. */
static void note_first(struct learn *l, const struct follow *f, const struct rec_call *c)
{
	l->first_ticks = c->begin_ticks;
	demand_optimizer(l, f);
}

/* Where an optimizer may never come all is fed nevertheless. */
static void feed_amid(struct learn *l, const struct learn_held *launch)
{
	if (!learn_amid_hold(&l->amid, launch)) {
		if (!l->is_overdue)
			levels_feed(l->levels, launch->slot, &launch->event);
		return;
	}
	levels_relearn(l->levels);
	for (size_t i = 0; i < l->amid.held.n; i++) {
		const struct learn_held *h = &l->amid.held.at[i];
		if (h->event.begin_ns >= l->amid.from_ns)
			levels_feed(l->levels, h->slot, &h->event);
	}
}

static void feed_levels(struct learn *l, struct follow *f, const struct learn_held *launch)
{
	if (l->is_overdue && launch->event.hints & LEVEL_OPTIMIZER)
		atomic_store(&f->reader.header->steps.sees_optimizer, 1);
	if (l->seeker)
		levels_feed(l->seeker, launch->slot, &launch->event);
	else if (l->amid.is_on)
		feed_amid(l, launch);
	else if (launch->event.begin_ns >= l->amid.from_ns)
		levels_feed(l->levels, launch->slot, &launch->event);
}

void learn_feed(struct learn *l, struct follow *f, uint32_t slot, const struct rec_call *c)
{
	uint8_t category = dict_category(&f->dict, c->hook);
	uint64_t token = token_of_call(c, category);
	struct learn_thread *t = thread_of(l, slot);
	t->read_until_ticks = c->begin_ticks + record_duration(c);
	if (!token) {
		note_blocked(t, c, category);
		return;
	}
	uint64_t hash = token_window_push(&t->window, token);
	if (l->is_overdue && c->begin_ticks < l->overdue_ticks) {
		t->has_synced = false;
		t->blocked_ticks = 0;
		return;
	}
	if (!l->first_ticks)
		note_first(l, f, c);
	note_anchor(l, t, hash, c);
	mind_seeker(l, f);
	if (wants_function(f) && !l->has_choice)
		learn_function_feed(&l->function, &f->dict, function_setting(f), slot, hash,
				    c->stack);
	else if (l->levels && (!l->has_choice || l->on_probation || l->seeker)) {
		const struct launch_entry *launch =
			category == CAT_LAUNCH ? dict_launch(&f->dict, c->arg) : NULL;
		feed_levels(
			l, f,
			&(struct learn_held){
				.slot = slot,
				.hash = hash,
				.event.token = token,
				.event.kernel = launch ? launch->function : 0,
				.event.begin_ns = timebase_ns(&f->time, c->begin_ticks),
				.event.end_ns = timebase_ns(&f->time, t->read_until_ticks),
				.event.blocked_ns = timebase_length_ns(&f->time, t->blocked_ticks),
				.event.hints =
					hints_of(launch, c, category) |
					learn_frames_hints(&l->frames, &f->dict, hash, c->stack) |
					(t->has_synced ? LEVEL_SYNCED : 0),
			});
	}
	t->has_synced = false;
	t->blocked_ticks = 0;
}

static uint8_t action_of(const struct follow *f, uint64_t number, bool arms)
{
	if (f->schedule.always)
		return SCHED_RECORD;
	return arms ? (uint8_t)schedule_action(&f->schedule, number) : SCHED_NONE;
}

void learn_mark_counted(struct follow *f, const struct rec_step *step, const struct learn_anchor *a)
{
	uint64_t number = a->base + step->number;
	if (a->has_base && step->generation == a->generation)
		follow_add_mark(f, &(struct step_mark){ .ticks = step->ticks,
							.number = number,
							.generation = a->generation,
							.action = action_of(f, number, a->arms) });
}

static void mark_counted(const struct learn *l, struct follow *f, const struct rec_step *step)
{
	const struct learn_anchor a = { .has_base = true,
					.base = atomic_load(&f->reader.header->steps.base),
					.generation = l->generation };
	learn_mark_counted(f, step, &a);
}

void learn_count(struct learn *l, struct follow *f, const struct rec_step *step)
{
	if (step->generation != l->generation)
		return;
	if (l->has_base) {
		mark_counted(l, f, step);
		return;
	}
	vec_push(&l->counted, *step);
	/* the first one in front: another thread may have counted it, and been read later */
	struct rec_step *first = &l->counted.at[0];
	if (step->number < first->number) {
		l->counted.at[l->counted.n - 1] = *first;
		*first = *step;
	}
}

/* ---- Telling the library ---- */

/* What was counted on probation is void, and its steps were never handed on. */
static void take_back(struct learn *l, struct follow *f, uint32_t calls_per_step)
{
	struct journal_steps *shared = &f->reader.header->steps;
	follow_void(f, l->tried);
	atomic_store(&shared->void_generation, l->tried);
	atomic_store(&shared->void_calls_per_step, calls_per_step);
	atomic_fetch_add(&shared->n_corrected, 1);
	l->tried = 0;
	l->is_lost = false; /* the library waits for the other one, whatever comes */
	f->holds_steps = false;
}

/* The anchor that was told last stands: the library need not journal on. */
static void confirm(struct learn *l, struct follow *f)
{
	struct journal_steps *shared = &f->reader.header->steps;
	atomic_store(&shared->confidence_permille, (uint32_t)(l->choice.confidence * 1000 + 0.5));
	atomic_store(&shared->sure_generation, atomic_load(&shared->anchor_generation));
	l->on_probation = f->holds_steps = false;
	l->tried = 0;
}

static void tell_anchor(struct learn *l, struct follow *f)
{
	struct journal_steps *shared = &f->reader.header->steps;
	if (l->tried)
		take_back(l, f, atomic_load(&shared->calls_per_step));
	l->has_choice = true;
	l->on_probation = l->choice.on_probation;
	learn_function_free(&l->function);
	l->n_before = l->choice.count + learn_amid_count(&l->amid, l->choice.anchor);
	learn_amid_end(&l->amid);
	l->n_since_anchor = 0;
	l->generation = atomic_load(&shared->anchor_generation) + 1;
	atomic_store(&shared->anchor, l->choice.anchor);
	atomic_store(&shared->backup, l->choice.backup);
	atomic_store(&shared->backup_within, l->choice.backup_within);
	atomic_store(&shared->anchor_thread, l->choice.thread);
	atomic_store(&shared->calls_per_step, l->choice.calls_per_step);
	atomic_store(&shared->boundary, l->choice.boundary);
	atomic_store(&shared->by_optimizer, l->choice.signs.has_optimizer || wants_function(f));
	atomic_store(&shared->confidence_permille, (uint32_t)(l->choice.confidence * 1000 + 0.5));
	if (!l->on_probation)
		atomic_store(&shared->sure_generation, l->generation);
	/* release: the library that sees the generation sees the anchor */
	atomic_store_explicit(&shared->anchor_generation, l->generation, memory_order_release);
}

/* Whether every anchor that began before `ticks` has been read. A thread's calls come in order, so those that launch it tell
 * at once; for any other, time does. */
static bool has_settled(const struct learn *l, const struct follow *f, uint64_t ticks)
{
	bool is_read = false;
	if (f->read_until_ticks >= ticks + timebase_ticks(&f->time, SETTLE_NS))
		return true;
	for (size_t i = 0; i < l->threads.n; i++) {
		const struct learn_thread *t = &l->threads.at[i];
		if (t->slot != l->choice.thread && !t->has_anchor)
			continue;
		if (t->read_until_ticks <= ticks)
			return false;
		is_read = true;
	}
	return is_read;
}

static int by_ticks(const void *a, const void *b)
{
	const struct learn_came *x = a, *y = b;
	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

/*
 * Steps that ended before `first`, where one more began. After the last backup the anchor failed if there has been none since, for
 * the library then counted by the backup.
 */
static uint64_t count_ended(struct learn *l, uint64_t first)
{
	uint64_t n = 0;
	bool follows = !l->choice.backup_within, waits = follows && l->choice.backup_is_last;
	if (l->since.n)
		qsort(l->since.at, l->since.n, sizeof(*l->since.at), by_ticks);
	for (size_t i = 0; i < l->since.n && l->since.at[i].ticks < first; i++) {
		bool is_backup = l->since.at[i].is_backup;
		n += !is_backup || waits;
		waits = is_backup;
	}
	return n + (waits && !follows);
}

/* What stood in the stream before the first STEP_COUNTED, once all of it has been read; the first anchor ended step 0. The first one is
 * number 1, or a later one where the journal was full: what came since the anchor was told counts them too. */
static bool tell_base(struct learn *l, struct follow *f)
{
	struct journal_steps *shared = &f->reader.header->steps;
	const struct rec_step *first = &l->counted.at[0];
	if (!has_settled(l, f, first->ticks))
		return false;
	uint64_t n = l->n_before + count_ended(l, first->ticks);
	/* it stays while an anchor is adopted; before the first one it is 0, or counts slices of time, and while the new one was looked for it may
	 * have gone on by the old one */
	uint64_t current = atomic_load(&shared->current);
	uint64_t from = l->is_overdue ? l->overdue_number : l->goes_on ? current : 0;
	uint64_t base = from + (n > first->number ? n - first->number : 0);
	atomic_store(&shared->base, base > current ? base : current);
	atomic_store_explicit(&shared->base_generation, l->generation, memory_order_release);
	l->has_base = true;
	l->is_lost = l->is_overdue = false;
	demand_optimizer(l, f);
	l->tried = l->on_probation ? l->generation : 0;
	f->holds_steps = l->on_probation;
	vec_free(&l->since);
	return true;
}

static bool vote(struct learn *l, const struct follow *f, struct level_choice *out)
{
	return wants_function(f) ? learn_function_vote(&l->function, false, out)
				 : levels_vote(l->levels, out);
}

static bool anchor_is_lost(const struct learn *l)
{
	return l->n_since_anchor > LOST_LEAST &&
	       l->n_since_anchor > (uint64_t)l->choice.calls_per_step * LOST_TURNS;
}

/* Another anchor is to be found, or has been. */
static void forget_anchor(struct learn *l)
{
	l->has_choice = l->has_base = false;
	l->since.n = l->counted.n = 0;
	for (size_t i = 0; i < l->threads.n; i++)
		l->threads.at[i].has_anchor = false;
}

/* The anchor stopped coming before the library could count it: the program has gone over to something else. */
static void start_again(struct learn *l)
{
	levels_relearn(l->levels);
	learn_function_free(&l->function);
	l->function.next_look = 0;
	l->first_ticks = 0;
	learn_amid_begin(&l->amid);
	forget_anchor(l);
}

/* What the store of launches holds is of other work: demands do not rise. */
static void go_on(struct learn *l)
{
	l->goes_on = true;
	l->on_probation = false;
	levels_free(l->levels);
	l->levels = levels_new();
	if (!l->levels)
		return;
	start_again(l);
	l->generation = 0; /* of nothing that is still to be read */
}

/* The collector asks no more, nor does the library. */
static void rest(struct learn *l, struct follow *f)
{
	start_again(l);
	l->has_base = true;
	l->is_lost = l->is_overdue = false;
	demand_optimizer(l, f);
	confirm(l, f);
	atomic_store(&f->reader.header->steps.wants_slices, 0);
}

/* Whether the library has begun to look for another one since. */
static bool watch_overdue(struct learn *l, struct follow *f)
{
	uint64_t ticks =
		atomic_load_explicit(&f->reader.header->steps.overdue_ticks, memory_order_acquire);
	if (ticks == l->overdue_ticks)
		return false;
	l->overdue_ticks = ticks;
	l->overdue_number = atomic_load(&f->reader.header->steps.current);
	if (ticks) {
		go_on(l);
		l->is_overdue = true;
		demand_optimizer(l, f);
	} else if (l->is_overdue && l->levels) {
		rest(l, f);
	}
	return ticks;
}

/* One on probation was none of the program's steps. */
void learn_watch(struct learn *l, struct follow *f)
{
	const struct journal_steps *shared = &f->reader.header->steps;
	bool looks = watch_overdue(l, f);
	uint32_t n_lost = atomic_load_explicit(&shared->lost, memory_order_acquire);
	bool is_new = n_lost != l->n_lost;
	l->n_lost = n_lost;
	/* whoever does has steps: what was lost has come again; if not, it was lost in between */
	looks = looks && atomic_load(&shared->state) == STEP_STATE_LOCKED;
	if (looks)
		l->is_lost = false;
	if (looks || !is_new)
		return;
	l->is_lost = true;
	if (l->on_probation && l->levels && !l->is_overdue) {
		levels_withdraw(l->levels);
		l->on_probation = false;
		forget_anchor(l);
		l->generation = 0;
		return;
	}
	l->is_overdue = false;
	go_on(l);
	demand_optimizer(l, f);
}

/* The lost anchor came again, and the library asks no more. */
static bool was_found_again(const struct learn *l, const struct follow *f)
{
	return l->is_lost && atomic_load(&f->reader.header->steps.state) == STEP_STATE_LOCKED &&
	       atomic_load(&f->reader.header->steps.lost) == l->n_lost;
}

/* Whether slices of time are to stand in for steps. */
static void tell_patience(const struct learn *l, struct follow *f)
{
	const char *text = dict_find_info(&f->dict, "PROF_LEARN_S");
	uint64_t patience_ns = (uint64_t)(text ? atol(text) : LEARN_S) * 1000000000u;
	bool is_long = !l->has_choice && l->first_ticks &&
		       f->read_until_ticks > l->first_ticks + timebase_ticks(&f->time, patience_ns);
	atomic_store(&f->reader.header->steps.wants_slices, is_long);
}

static bool has_armed(const struct follow *f, bool whole_window)
{
	bool is_any = false;
	for (size_t i = 0; i < f->marks.n; i++) {
		bool is_armed = f->marks.at[i].action != SCHED_NONE;
		if (is_any && !is_armed)
			return true;
		is_any |= is_armed;
	}
	return is_any && !whole_window;
}

/* Whether `now` counts the same steps, of which a window was recorded: it is not given up for the place where they end. One that is under
 * way begins anew, but for the process's end. */
static bool moves_too_late(const struct learn *l, const struct follow *f,
			   const struct level_choice *now, bool ended)
{
	return l->tried && now->change == LEVEL_MOVED && has_armed(f, !ended);
}

/* What has come since the anchor was told may confirm it, or replace it. */
static void review(struct learn *l, struct follow *f)
{
	struct level_choice now = l->choice;
	if (f->n_pending > HELD_MOST)
		levels_confirm(l->levels);
	levels_vote(l->levels, &now);
	bool is_other = now.n_changes != l->choice.n_changes;
	if (is_other && moves_too_late(l, f, &now, false)) {
		levels_confirm(l->levels);
		confirm(l, f);
		return;
	}
	l->choice = now;
	if (is_other) {
		forget_anchor(l);
		tell_anchor(l, f);
	} else if (!now.on_probation) {
		confirm(l, f);
	}
}

static bool found_others(struct learn *l, struct follow *f, bool ended)
{
	struct level_choice other = { 0 };
	mind_seeker(l, f);
	if (!l->seeker || !(ended ? levels_conclude : levels_vote)(l->seeker, &other))
		return false;
	levels_free(l->levels);
	l->levels = l->seeker;
	l->seeker = NULL;
	forget_anchor(l);
	l->choice = other;
	tell_anchor(l, f);
	return true;
}

/* For the library, which looks until we have. */
static void tell_looked(const struct learn *l, struct follow *f)
{
	uint64_t settle = timebase_ticks(&f->time, SETTLE_NS);
	bool is_this = atomic_load(&f->reader.header->steps.overdue_ticks) == l->overdue_ticks;
	if (l->is_overdue && is_this && f->read_until_ticks > settle)
		atomic_store(&f->reader.header->steps.looked_ticks, f->read_until_ticks - settle);
}

bool learn_tell(struct learn *l, struct follow *f)
{
	tell_looked(l, f);
	if (l->levels && !l->has_base && was_found_again(l, f))
		rest(l, f);
	if (!l->levels || !learn_is_feeding(l))
		return false;
	if (l->on_probation) {
		review(l, f);
	} else if (!l->has_choice) {
		if (vote(l, f, &l->choice))
			tell_anchor(l, f);
		if (!l->is_overdue)
			tell_patience(l, f);
		return false;
	}
	if (l->has_base)
		return false;
	if (!l->counted.n) {
		if (found_others(l, f, false))
			return false;
		if (!l->on_probation && anchor_is_lost(l)) {
			l->is_overdue = false;
			demand_optimizer(l, f);
			start_again(l);
		}
		return false;
	}
	if (!tell_base(l, f))
		return false;
	for (size_t i = 0; i < l->counted.n; i++)
		mark_counted(l, f, &l->counted.at[i]);
	return true;
}

bool learn_end_probation(struct learn *l, struct follow *f)
{
	struct level_choice now = l->choice;
	found_others(l, f, true);
	if (!l->tried)
		return true;
	bool stands = l->on_probation && levels_conclude(l->levels, &now) &&
		      (now.n_changes == l->choice.n_changes || moves_too_late(l, f, &now, true));
	if (stands) {
		confirm(l, f);
		return true;
	}
	take_back(l, f, atomic_load(&f->reader.header->steps.calls_per_step));
	l->has_base = false;
	return false;
}

bool learn_conclude(struct learn *l, const struct follow *f)
{
	if (!l->has_choice && wants_function(f))
		l->has_choice = learn_function_vote(&l->function, true, &l->choice);
	else if (!l->has_choice && l->levels)
		l->has_choice = levels_conclude(l->levels, &l->choice);
	return l->has_choice;
}

/* ---- Where an anchor stands ---- */

enum came { CAME_ANCHOR = 1, CAME_BACKUP };

struct finder {
	struct learn windows; /* only its threads' windows are used */
	uint64_t anchor, backup;
	struct map waiting;	     /* threads whose last launch completed either: 1, or 2 */
	VEC(struct learn_came) came; /* with the launch that followed */
	VEC(uint64_t) begins;	     /* of steps, in order */
	uint64_t first_counted,
		first_numbered; /* ticks of STEP_COUNTED 1 and of the library's own first number */
	uint32_t generation;
	uint64_t floor, floor_ticks; /* the last step of the generation before */
	const struct follow *follow; /* knows which generations are void */
};

static void find_call(struct finder *x, const struct dict *d, uint32_t slot,
		      const struct rec_call *c)
{
	uint64_t token = token_of_call(c, dict_category(d, c->hook));
	if (!token)
		return;
	const uint64_t *waiting = map_find(&x->waiting, slot);
	if (waiting)
		vec_push(&x->came,
			 ((struct learn_came){ c->begin_ticks, *waiting == CAME_BACKUP }));
	map_remove(&x->waiting, slot);
	uint64_t hash = token_window_push(&thread_of(&x->windows, slot)->window, token);
	if (hash == x->anchor || hash == x->backup)
		*map_at(&x->waiting, slot, NULL) = hash == x->anchor ? CAME_ANCHOR : CAME_BACKUP;
}

/* Where the anchor failed the step began soon after the backup: the first of two, or one that the anchor should have come before. */
static void find_begins(struct finder *x, bool follows)
{
	if (x->came.n)
		qsort(x->came.at, x->came.n, sizeof(*x->came.at), by_ticks);
	for (size_t i = 0; i < x->came.n; i++) {
		const struct learn_came *c = &x->came.at[i];
		if (!c->is_backup)
			vec_push(&x->begins, c->ticks);
		else if (i && c[-1].is_backup)
			vec_push(&x->begins, c[follows ? 0 : -1].ticks);
	}
}

static void find_step(struct finder *x, const struct rec_step *s)
{
	if (s->event == STEP_COUNTED && s->number == 1 && s->generation == x->generation)
		x->first_counted = s->ticks;
	if (s->event != STEP_BEGIN || !s->number)
		return;
	if (follow_is_void(x->follow, s->generation))
		return;
	bool is_earlier = x->generation > 1 && s->generation < x->generation;
	if (is_earlier && s->number > x->floor) {
		x->floor = s->number;
		x->floor_ticks = s->ticks;
	}
	if (!is_earlier && s->ticks < x->first_numbered)
		x->first_numbered = s->ticks;
}

static void set_backup(struct learn_anchor *a, const struct rec_step *s)
{
	a->backup = s->detail;
	a->backup_within = (uint32_t)s->number;
}

static void list_void(learn_anchors *list, uint32_t generation)
{
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].generation != generation)
			list->at[n++] = list->at[i];
	list->n = n;
}

static void list_step(learn_anchors *list, learn_generations *voided, const struct rec_step *s)
{
	size_t i = list->n;
	if (s->event == STEP_CORRECTED)
		vec_push(voided, (uint32_t)s->detail);
	if (s->event == STEP_BACKUP)
		for (size_t k = 0; k < list->n; k++)
			if (list->at[k].generation == s->generation)
				set_backup(&list->at[k], s);
	if (s->event != STEP_NUMBERED)
		return;
	vec_push(list, ((struct learn_anchor){ .anchor = s->detail,
					       .has_base = true,
					       .base = s->number,
					       .begins_training = s->action,
					       .generation = s->generation }));
	for (; i && list->at[i - 1].generation > s->generation; i--) {
		struct learn_anchor moved = list->at[i - 1];
		list->at[i - 1] = list->at[i];
		list->at[i] = moved;
	}
}

int learn_list(const char *path, learn_anchors *list, learn_generations *voided, struct err *e)
{
	struct reader r;
	struct reader_batch batch;
	const struct rec_head *head;
	int error = reader_open(&r, path, false, e);
	if (error)
		return error;
	reader_begin_pass(&r);
	while (reader_next_batch(&r, &batch))
		while ((head = reader_next_record(&r, &batch)))
			if (head->kind == REC_STEP)
				list_step(list, voided, (const struct rec_step *)head);
	reader_close(&r);
	for (size_t i = 0; i < voided->n; i++)
		list_void(list, voided->at[i]);
	return 0;
}

static bool ends_with_anchor(const struct map *waiting)
{
	for (size_t i = 0; i < waiting->room; i++)
		if (waiting->slots[i].used && waiting->slots[i].value == CAME_ANCHOR)
			return true;
	return false;
}

static int find(struct finder *x, const char *path, struct err *e)
{
	struct reader r;
	struct dict d = { 0 };
	struct reader_batch batch;
	const struct dict_head *entry;
	const struct rec_head *head;
	int error = reader_open(&r, path, false, e);
	if (error)
		return error;
	while ((entry = reader_next_dictionary(&r, true)))
		dict_add(&d, entry);
	reader_begin_pass(&r);
	while (reader_next_batch(&r, &batch)) {
		while ((head = reader_next_record(&r, &batch))) {
			if (head->kind == REC_CALL)
				find_call(x, &d, batch.thread, (const struct rec_call *)head);
			else if (head->kind == REC_STEP)
				find_step(x, (const struct rec_step *)head);
		}
	}
	dict_free(&d);
	reader_close(&r);
	return 0;
}

/* With a base, numbers go back from STEP_COUNTED 1, which begins step base + 1; else they go on from the run's begin. */
static void add_marks(struct follow *f, const struct finder *x, const struct learn_anchor *a,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t number = i + 1 + (uint64_t)a->n_missed;
		if (a->has_base) {
			if (a->base + 1 + i < n)
				continue; /* more than there can be: a hole in the stream */
			number = a->base + 1 + i - n;
		}
		if (number > x->floor && x->begins.at[i] > x->floor_ticks)
			follow_add_mark(
				f, &(struct step_mark){ .ticks = x->begins.at[i],
							.number = number,
							.generation = a->generation,
							.action = action_of(f, number, a->arms) });
	}
}

long learn_mark(struct follow *f, const char *path, const struct learn_anchor *a,
		uint64_t before_ticks, struct err *e)
{
	struct finder x = { .follow = f,
			    .anchor = a->anchor,
			    .backup = a->backup,
			    .generation = a->generation,
			    .first_numbered = UINT64_MAX };
	int error = find(&x, path, e);
	find_begins(&x, !a->backup_within);
	uint64_t end = before_ticks;
	bool has_base = a->has_base && x.first_counted;
	if (has_base && x.first_counted < end)
		end = x.first_counted;
	if (x.first_numbered < end)
		end = x.first_numbered;
	if (atomic_load(&f->reader.header->steps.slices))
		end = 0; /* numbers of slices went on from 0, and those of steps from theirs */
	size_t n = 0;
	while (n < x.begins.n && x.begins.at[n] < end)
		n++;
	struct learn_anchor usable = *a;
	usable.has_base = has_base;
	/* STEP_COUNTED 1 itself is one of the anchors' steps and is marked by its own record */
	if (!error)
		add_marks(f, &x, &usable, n);
	/* an anchor that nothing followed: the last step is whole, if the library was not numbering them itself by then */
	f->last_is_whole |= ends_with_anchor(&x.waiting) && x.first_numbered == UINT64_MAX;
	vec_free(&x.windows.threads);
	map_free(&x.windows.thread_of_slot);
	map_free(&x.waiting);
	long found = error ? error : (long)x.begins.n;
	vec_free(&x.begins);
	vec_free(&x.came);
	return found;
}
