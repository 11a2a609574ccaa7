/* Publishes anchor and base to the library: struct journal_steps (core/runtime/record.h). */
#include "core/runtime/iteration.h"
#include "core/steps/learn_parts.h"

void learn_forget_anchor(struct learn *l)
{
	l->state = STEP_STATE_LEARNING;
	l->has_base = false;
	l->hits.n = l->counted.n = 0;
	for (size_t i = 0; i < l->threads.n; i++)
		l->threads.at[i].has_anchor = false;
}

void learn_void_provisional(struct learn *l, struct ingest *f, uint32_t calls_per_step)
{
	struct journal_steps *shared = &f->reader.header->steps;
	ingest_void(f, l->provisional_generation);
	atomic_store(&shared->void_generation, l->provisional_generation);
	atomic_store(&shared->void_calls_per_step, calls_per_step);
	atomic_fetch_add(&shared->n_corrected, 1);
	l->provisional_generation = 0;
	if (!learn_is_overdue(l))
		l->asked = STEP_STATE_LEARNING; /* the library waits for the new anchor anyway */
	f->holds_steps = false;
}

void learn_confirm(struct learn *l, struct ingest *f)
{
	struct journal_steps *shared = &f->reader.header->steps;
	atomic_store(&shared->confidence_permille, (uint32_t)(l->choice.confidence * 1000 + 0.5));
	atomic_store(&shared->sure_generation, atomic_load(&shared->anchor_generation));
	if (learn_is_provisional(l))
		l->state = STEP_STATE_CONFIRMED;
	f->holds_steps = false;
	l->provisional_generation = 0;
}

static enum step_optimizer optimizer_of(const struct learn *l, const struct ingest *f)
{
	if (l->choice.signs.optimizer_unnamed)
		return STEP_OPTIMIZER_LIKELY;
	return l->choice.signs.has_optimizer || learn_wants_function(f) ? STEP_OPTIMIZER_SURE
									: STEP_OPTIMIZER_NONE;
}

void learn_publish(struct learn *l, struct ingest *f)
{
	struct journal_steps *shared = &f->reader.header->steps;
	if (l->provisional_generation)
		learn_void_provisional(l, f, atomic_load(&shared->calls_per_step));
	l->state = l->choice.is_provisional || l->is_doubted ? STEP_STATE_PROVISIONAL
							     : STEP_STATE_CONFIRMED;
	learn_function_free(&l->function);
	l->n_ended_before = l->choice.count + learn_midstep_count(&l->midstep, l->choice.anchor);
	learn_midstep_end(&l->midstep);
	l->n_since_anchor = 0;
	l->generation = atomic_load(&shared->anchor_generation) + 1;
	atomic_store(&shared->anchor, l->choice.anchor);
	atomic_store(&shared->backup, l->choice.backup);
	atomic_store(&shared->backup_within, l->choice.backup_within);
	atomic_store(&shared->anchor_thread, l->choice.thread);
	atomic_store(&shared->anchors_apart, l->choice.apart);
	atomic_store(&shared->anchor_every, l->choice.every);
	atomic_store(&shared->anchor_lead, l->choice.lead);
	atomic_store(&shared->anchor_delay, 0);
	atomic_store(&shared->end, l->choice.end);
	atomic_store(&shared->is_late, l->choice.n_missed < 0);
	atomic_store(&shared->calls_per_step, l->choice.calls_per_step);
	atomic_store(&shared->boundary, l->choice.boundary);
	atomic_store(&shared->by_optimizer, optimizer_of(l, f));
	atomic_store(&shared->confidence_permille, (uint32_t)(l->choice.confidence * 1000 + 0.5));
	if (!learn_is_provisional(l))
		atomic_store(&shared->sure_generation, l->generation);
	/* release: a library that reads the new generation also reads the new anchor */
	atomic_store_explicit(&shared->anchor_generation, l->generation, memory_order_release);
}

/*
 * Returns whether every anchor that began before `ticks` has been read. The calls of one thread are
 * read in order, so for the threads known to launch the anchor it suffices that a later call has
 * been read. Otherwise LEARN_SETTLE_NS must have passed.
 */
static bool has_settled(const struct learn *l, const struct ingest *f, uint64_t ticks)
{
	bool is_read = false;
	if (f->read_until_ticks >= ticks + timebase_ticks(&f->time, LEARN_SETTLE_NS))
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

/*
 * Counts the steps that ended before `first`, the start of a step's first launch. If a step has no
 * anchor, the library counts it at its backup launch. If the backup comes before the anchor, a
 * backup that is the last hit before `first` therefore counts as the end of a step.
 */
static uint64_t count_ended(struct learn *l, uint64_t first)
{
	uint64_t n = 0;
	bool backup_follows = !l->choice.backup_within,
	     backup_pending = backup_follows && l->choice.backup_is_last;
	anchors_order(&l->hits, l->choice.apart);
	for (size_t i = 0; i < l->hits.n && l->hits.at[i].ticks < first; i++) {
		bool is_backup = l->hits.at[i].is_backup;
		n += !is_backup || backup_pending;
		backup_pending = is_backup;
	}
	return n + (backup_pending && !backup_follows);
}

/*
 * If only one anchor in several ends a step: makes the library end its steps where the loop begins
 * an iteration, and returns the number of steps that have ended after `n` anchors. The step under
 * way counts, because the library has counted it too.
 */
static uint64_t align_steps(const struct learn *l, struct ingest *f, uint64_t n)
{
	const struct level_choice *c = &l->choice;
	if (c->every < 2)
		return n;
	uint32_t delay = 0;
	while (!iteration_ends_at(n + delay, c->every, c->lead))
		delay++;
	atomic_store(&f->reader.header->steps.anchor_delay, delay);
	return (uint64_t)((int64_t)iteration_n_ended(n + delay, c->every, c->lead) + c->n_missed);
}

/*
 * The first anchor ended step 0. The first STEP_COUNTED that was read has number 1, or a higher one
 * if the journal was full and dropped records. The hits since the choice include the dropped ones,
 * so the base is right in both cases.
 */
bool learn_publish_base(struct learn *l, struct ingest *f)
{
	struct journal_steps *shared = &f->reader.header->steps;
	const struct rec_step *first = &l->counted.at[0];
	if (!has_settled(l, f, first->ticks))
		return false;
	uint64_t n = align_steps(l, f, l->n_ended_before + count_ended(l, first->ticks));
	/*
	 * `current` does not change while the library adopts an anchor. Before the first anchor,
	 * `current` is 0 or counts time slices. During the search for a later anchor, it may have
	 * advanced with the previous anchor.
	 */
	uint64_t current = atomic_load(&shared->current);
	uint64_t from = learn_is_overdue(l)    ? l->overdue_number
			: l->continues_numbers ? current
					       : 0;
	uint64_t base = from + (n > first->number ? n - first->number : 0);
	atomic_store(&shared->base, base > current ? base : current);
	atomic_store_explicit(&shared->base_generation, l->generation, memory_order_release);
	l->has_base = true;
	l->asked = STEP_STATE_LEARNING;
	l->provisional_generation = learn_is_provisional(l) ? l->generation : 0;
	f->holds_steps = learn_is_provisional(l);
	vec_free(&l->hits);
	return true;
}
