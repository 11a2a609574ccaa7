/* Passes the calls of a process to the searches for steps (core/steps/learn.h). */
#include "core/steps/learn_parts.h"

enum {
	/*
	 * Search for another anchor in parallel if the library has not counted with the published
	 * one, and that anchor has not occurred for this many iterations and launches.
	 */
	UNCOUNTED_ITERATIONS = 2,
	UNCOUNTED_LEAST = 64,
};

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

/*
 * Returns the enum level_hint bits of a call. `framed` holds the hints from Python frames. The
 * frames take precedence over the kernel's name, unless the stacks of one trigram disagree.
 */
static uint32_t hints_of(const struct run_launch *launch, const struct rec_call *c,
			 uint8_t category, uint32_t framed)
{
	if (category == CAT_LAUNCH) {
		if (!launch || !launch->is_named)
			return framed;
		bool frames_decide = framed & LEVEL_NAMED && !(framed & LEARN_FRAMES_DISAGREE);
		return framed | LEVEL_NAMED |
		       (launch->is_optimizer && !frames_decide ? LEVEL_OPTIMIZER : 0);
	}
	if (category == CAT_GRAPH)
		return framed | LEVEL_GRAPH;
	return framed | LEVEL_COPY | (c->detail == COPY_H2D ? LEVEL_H2D : 0) |
	       (c->detail == COPY_D2H ? LEVEL_D2H : 0);
}

static void note_anchor(struct learn *l, struct learn_thread *t, uint64_t hash,
			const struct rec_call *c)
{
	l->n_since_anchor++;
	if (!learn_has_choice(l) || (hash != l->choice.anchor && hash != l->choice.backup))
		return;
	l->n_since_anchor = 0;
	t->has_anchor = true;
	if (!l->has_base)
		vec_push(&l->hits, ((struct anchor_hit){ .ticks = c->begin_ticks,
							 .slot = t->slot,
							 .at = t->n,
							 .is_backup = hash != l->choice.anchor }));
}

/*
 * Adds up the time in which the host was blocked. This time does not count as a pause between
 * steps, however long it is.
 */
static void note_blocked(struct learn_thread *t, const struct rec_call *c, uint8_t category)
{
	if (category == CAT_SYNC || category == CAT_ALLOC || category == CAT_FREE)
		t->blocked_ticks += record_duration(c);
	t->has_synced |= category == CAT_SYNC;
}

/* Returns whether to search for another anchor in parallel. */
static bool needs_seeker(const struct learn *l, const struct ingest *f)
{
	return !learn_wants_function(f) && learn_has_choice(l) && !l->has_base &&
	       !learn_is_provisional(l) && !l->continues_numbers && !l->counted.n &&
	       l->n_since_anchor > UNCOUNTED_LEAST &&
	       l->n_since_anchor > (uint64_t)l->choice.calls_per_step * UNCOUNTED_ITERATIONS;
}

void learn_update_seeker(struct learn *l, const struct ingest *f)
{
	bool seeks = needs_seeker(l, f);
	if (seeks && !l->seeker && (l->seeker = levels_new()))
		levels_want_optimizer(l->seeker, true);
	if (!seeks && l->seeker) {
		levels_free(l->seeker);
		l->seeker = NULL;
	}
}

/*
 * Returns FILE-SUFFIX:FUNCTION, the part of PROF_STEP after "python:". Returns "" if there is none.
 */
static const char *function_setting(const struct ingest *f)
{
	const char *step = tables_fact(&f->dict.t, "PROF_STEP");
	const char *colon = step ? strchr(step, ':') : NULL;
	return colon ? colon + 1 : "";
}

bool learn_is_feeding(const struct learn *l)
{
	return !l->has_base || learn_is_provisional(l);
}

void learn_demand_optimizer(struct learn *l, const struct ingest *f)
{
	if (l->levels)
		levels_want_optimizer(l->levels, learn_is_overdue(l) ||
							 f->reader.header->steps.wants_optimizer);
}

/*
 * Handles the first launch of a search. Reads wants_optimizer now and not when the journal is
 * opened, because the library may not have set it by then.
 */
static void note_first(struct learn *l, const struct ingest *f, const struct rec_call *c)
{
	l->first_ticks = c->begin_ticks;
	learn_demand_optimizer(l, f);
}

/*
 * Feeds `levels` while the start of the first whole step is unknown. Launches are held, and also
 * fed as they come, because an optimizer may never launch. While the anchor is overdue they are
 * only held. Once the start is known, `levels` forgets its events and gets the held launches from
 * that start on.
 */
static void feed_midstep(struct learn *l, const struct learn_held *launch)
{
	if (!learn_midstep_hold(&l->midstep, launch)) {
		if (!learn_is_overdue(l))
			levels_feed(l->levels, launch->slot, &launch->event);
		return;
	}
	levels_relearn(l->levels);
	for (size_t i = 0; i < l->midstep.held.n; i++) {
		const struct learn_held *h = &l->midstep.held.at[i];
		if (h->event.begin_ns >= l->midstep.from_ns)
			levels_feed(l->levels, h->slot, &h->event);
	}
}

static void feed_levels(struct learn *l, struct ingest *f, const struct learn_held *launch)
{
	if (learn_is_overdue(l) && !l->doubted.is_same && launch->event.hints & LEVEL_OPTIMIZER)
		atomic_store(&f->reader.header->steps.sees_optimizer, 1);
	if (l->seeker)
		levels_feed(l->seeker, launch->slot, &launch->event);
	else if (l->midstep.is_on)
		feed_midstep(l, launch);
	else if (launch->event.begin_ns >= l->midstep.from_ns)
		levels_feed(l->levels, launch->slot, &launch->event);
}

void learn_feed(struct learn *l, struct ingest *f, uint32_t slot, const struct rec_call *c)
{
	uint8_t category = dict_category(&f->dict, c->hook);
	if (record_is_captured(c, category))
		return;
	uint64_t token = anchor_token(c, category);
	struct learn_thread *t = thread_of(l, slot);
	t->read_until_ticks = c->begin_ticks + record_duration(c);
	uint64_t hash = token ? token_window_push_for(&t->window, token,
						      learn_has_choice(l) ? l->choice.anchor : 0)
			      : 0;
	if (!learn_wants_function(f))
		learn_loops_feed(&l->loops, f, slot, c,
				 (struct token_hashes){ hash, token_single(token) });
	if (!learn_is_feeding(l)) {
		learn_loops_drop_after(&l->loops);
		return;
	}
	if (!token) {
		note_blocked(t, c, category);
		return;
	}
	t->n++;
	if (learn_is_overdue(l) && c->begin_ticks < l->overdue_ticks) {
		t->has_synced = false;
		t->blocked_ticks = 0;
		return;
	}
	if (!l->first_ticks)
		note_first(l, f, c);
	l->doubted.n_anchors += hash == l->doubted.anchor ||
				token_single(token) == l->doubted.anchor;
	note_anchor(l, t, hash, c);
	learn_update_seeker(l, f);
	if (learn_wants_function(f) && !learn_has_choice(l))
		learn_function_feed(&l->function, &f->dict, function_setting(f), slot, hash,
				    c->stack);
	else if (l->levels && (!learn_has_choice(l) || learn_is_provisional(l) || l->seeker)) {
		const struct run_launch *launch =
			category == CAT_LAUNCH ? tables_launch(&f->dict.t, c->arg) : NULL;
		uint32_t framed = learn_frames_hints(&l->frames, &f->dict, hash, c->stack),
			 hints = hints_of(launch, c, category, framed);
		feed_levels(l, f,
			    &(struct learn_held){
				    .slot = slot,
				    .hash = hash,
				    .event.token = token,
				    .event.kernel = launch ? launch->function : 0,
				    .event.begin_ns = timebase_ns(&f->time, c->begin_ticks),
				    .event.end_ns = timebase_ns(&f->time, t->read_until_ticks),
				    .event.blocked_ns =
					    timebase_length_ns(&f->time, t->blocked_ticks),
				    .event.hints = hints | (t->has_synced ? LEVEL_SYNCED : 0),
			    });
	}
	t->has_synced = false;
	t->blocked_ticks = 0;
}

void learn_feed_thread(struct learn *l, const struct ingest *f, uint32_t slot,
		       const struct rec_thread *r)
{
	if (!learn_wants_function(f))
		learn_loops_feed_thread(&l->loops, f, slot, r);
}

void learn_feed_graph(struct learn *l, const struct ingest *f, uint32_t slot,
		      const struct rec_head *record)
{
	if (!learn_wants_function(f))
		learn_loops_feed_graph(&l->loops, f, slot, record);
}
