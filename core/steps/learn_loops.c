/* See learn_loops.h. */
#include "core/steps/learn_loops.h"

#include "core/runtime/token.h"
#include "core/steps/loop_anchor.h"
#include "core/steps/loop_births.h"
#include "core/steps/loop_candidates.h"
#include "core/steps/loop_names.h"
#include "core/steps/loop_repair.h"
#include "core/util/bisect.h"

enum {
	/*
	 * A search is due after FIRST_LOOK calls, and then when they have grown by 1/LOOK_GROWTH.
	 */
	FIRST_LOOK = 64,
	LOOK_GROWTH = 8,
	/*
	 * Iterations of a loop without an optimizer. Nearly all loops are right from the third one
	 * on, but a few iterations may mean nothing.
	 */
	ITERATIONS_WANTED = 6,
};

/* Below this, the report calls the step unclear, and the launches decide. */
#define CLEAR 0.7

/* Below this, a loop is not used at all. */
#define POSSIBLE 0.4

void learn_loops_free(struct learn_loops *x)
{
	loop_choice_free(&x->choice);
	if (x->is_started)
		loop_tree_stop(&x->tree);
	vec_free(&x->after);
	*x = (struct learn_loops){ 0 };
}

static bool is_in_opening(const struct ingest *f, uint64_t ticks)
{
	/* The record of the end may be read after calls that other threads made later. */
	uint64_t end = atomic_load(&f->reader.header->steps.opening_end_ticks);
	return f->opening.is_any && (!end || ticks < end);
}

static void start(struct learn_loops *x, const struct ingest *f)
{
	if (x->is_started)
		return;
	loop_tree_start(&x->tree, &f->dict);
	x->is_started = true;
	x->next_look = FIRST_LOOK;
}

void learn_loops_feed(struct learn_loops *x, const struct ingest *f, uint32_t slot,
		      const struct rec_call *c, struct token_hashes hashes)
{
	if (!is_in_opening(f, c->begin_ticks)) {
		if (x->is_started && !x->is_settled && hashes.trigram)
			vec_push(&x->after, hashes);
		return;
	}
	start(x, f);
	loop_tree_feed(&x->tree, slot, c, hashes);
}

void learn_loops_feed_thread(struct learn_loops *x, const struct ingest *f, uint32_t slot,
			     const struct rec_thread *r)
{
	if (!is_in_opening(f, r->ticks))
		return;
	start(x, f);
	loop_tree_feed_thread(&x->tree, slot, r);
}

static uint64_t graph_ticks(const struct rec_head *record)
{
	return record->kind == REC_NODE ? ((const struct rec_node *)record)->begin_ticks
					: ((const struct rec_graph *)record)->ticks;
}

void learn_loops_feed_graph(struct learn_loops *x, const struct ingest *f, uint32_t slot,
			    const struct rec_head *record)
{
	if (!is_in_opening(f, graph_ticks(record)))
		return;
	start(x, f);
	loop_tree_feed_graph(&x->tree, slot, record);
}

static bool choose(struct learn_loops *x, const struct learn_loops_wish *wish)
{
	if (!wish->loop)
		return loop_choose(&x->tree, &x->choice);
	int64_t index = loop_names_find(&x->tree, wish->loop);
	if (index < 0 || !loop_choose_this(&x->tree, (uint32_t)index, &x->choice))
		return false;
	x->choice.is_in_turns = false; /* the user wants each iteration */
	return true;
}

bool learn_loops_is_due(const struct learn_loops *x)
{
	return x->is_started && x->tree.n_fed >= x->next_look;
}

bool learn_loops_search(struct learn_loops *x, const struct learn_loops_wish *wish, bool ended)
{
	if (!x->is_started)
		return false;
	x->next_look = x->tree.n_fed + x->tree.n_fed / LOOK_GROWTH + FIRST_LOOK;
	loop_choice_free(&x->choice);
	if (ended)
		loop_tree_end(&x->tree);
	loop_repair(&x->tree);
	loop_births_link(&x->tree);
	x->has_choice = loop_tree_is_whole(&x->tree) && choose(x, wish);
	return x->has_choice && x->choice.confidence >= CLEAR &&
	       (x->choice.by_optimizer || !wish->optimizer) &&
	       (ended || x->choice.begins.n >= ITERATIONS_WANTED);
}

bool learn_loops_is_young(const struct learn_loops *x)
{
	return x->has_choice && x->choice.begins.n <= LOOP_ANCHOR_STEPS;
}

void learn_loops_drop_after(struct learn_loops *x)
{
	x->is_settled = true;
	vec_free(&x->after);
}

bool learn_loops_anchor(const struct learn_loops *x, struct learn_loops_anchor *out)
{
	struct loop_anchor a;
	if (!x->has_choice || !loop_anchor_find(&x->tree, &x->choice, &a))
		return false;
	uint64_t n = a.every ? a.n : a.n_ended;
	for (size_t i = 0; i < x->after.n; i++)
		n += loop_launch_is(&x->after.at[i], a.hash);
	*out = (struct learn_loops_anchor){
		.hash = a.hash,
		.backup = a.backup,
		.backup_within = a.backup_within,
		.thread = a.thread,
		.every = a.every,
		.lead = a.lead,
		.count = n,
		.n_missed = a.n_missed,
		.distance = a.distance,
	};
	return true;
}

/*
 * Returns whether `n` anchors count `all` iterations on `n_threads` threads. The first and the last
 * iteration of each thread may differ, but at most one in ENDS_PART, and one in MISSES others.
 */
static bool is_same_count(uint64_t n, uint64_t all, size_t n_threads)
{
	enum { ENDS = 2, MISSES = 50, ENDS_PART = 4 };
	uint64_t off = n > all ? n - all : all - n, ends = ENDS * n_threads;
	if (ends > all / ENDS_PART)
		ends = all / ENDS_PART;
	return off <= ends + all / MISSES;
}

/* The launches of a thread from number `first` on. */
struct launches {
	uint32_t slot, first, n;
};

/* Counts of an anchor in some parts of the run, such as the iterations of a loop. */
struct hits {
	struct map index_of_slot; /* slot -> index of the thread, of threads with parts */
	uint64_t all, inside;	  /* on these threads, and in the parts */
	uint64_t n_other;	  /* parts that do not have the anchor as often as a step has */
};

/* Counts the TOKEN_EXCHANGE of a part. The last copy before it may be the first half of one. */
static uint64_t count_exchanges(const struct loop_thread *t, struct launches part)
{
	const uint64_t fed = token_copy(COPY_H2D), read = token_copy(COPY_D2H);
	struct token_window w = { 0 };
	uint64_t n = 0;
	size_t before = part.first;
	while (before && t->tokens.at[before - 1] != fed && t->tokens.at[before - 1] != read)
		before--;
	w.was_read = before && t->tokens.at[before - 1] == read;
	for (size_t k = part.first; k < (size_t)part.first + part.n && k < t->tokens.n; k++)
		n += token_window_exchanges(&w, t->tokens.at[k]);
	return n;
}

static uint64_t count_hits(const struct loop_thread *t, struct launches part, uint64_t anchor)
{
	uint64_t n = 0;
	if (anchor == TOKEN_EXCHANGE)
		return count_exchanges(t, part);
	for (size_t k = part.first; k < (size_t)part.first + part.n && k < t->hashes.n; k++)
		n += loop_launch_is(&t->hashes.at[k], anchor);
	return n;
}

static uint64_t count_steps(const struct loop_tree *t, const struct anchor_counts *counted)
{
	uint64_t n = 0;
	for (size_t i = 0; i < t->threads.n; i++)
		n += count_hits(&t->threads.at[i], (struct launches){ .n = UINT32_MAX },
				counted->anchor);
	return counted->every ? n / counted->every : n;
}

static void add_part(const struct loop_tree *t, const struct anchor_counts *counted,
		     struct launches part, struct hits *h)
{
	const uint64_t *known = map_find(&t->thread_of_slot, part.slot);
	if (!known)
		return;
	const struct loop_thread *thread = &t->threads.at[*known];
	bool is_new;
	map_at(&h->index_of_slot, part.slot, &is_new);
	if (is_new)
		h->all += count_hits(thread, (struct launches){ .n = UINT32_MAX }, counted->anchor);
	uint64_t n = count_hits(thread, part, counted->anchor);
	h->inside += n;
	h->n_other += n != (counted->every ? counted->every : 1);
}

/*
 * Returns whether `n_steps` anchors count the `n` parts, whose hits are `h`: in all, and in each of
 * them, unless another thread than theirs completes the anchor. Frees `h`.
 */
static bool counts_parts(uint64_t n_steps, uint64_t n, struct hits *h)
{
	size_t n_threads = h->index_of_slot.n;
	uint64_t off = h->n_other + (h->all - h->inside);
	map_free(&h->index_of_slot);
	return is_same_count(n_steps, n, n_threads) &&
	       (!h->all || is_same_count(n + off, n, n_threads));
}

static bool counts_iterations(const struct loop_tree *t, const struct anchor_counts *counted,
			      uint64_t n_steps, const struct loop *l)
{
	struct hits h = { 0 };
	for (size_t i = 0; i < l->iterations.n; i++) {
		const struct loop_iteration *k = &l->iterations.at[i];
		const struct launches part = { k->slot, k->launch, k->n.launches };
		add_part(t, counted, part, &h);
	}
	return counts_parts(n_steps, l->iterations.n, &h);
}

bool learn_loops_is_inexact(const struct learn_loops *x, const struct anchor_counts *counted)
{
	const struct loop *l = &x->tree.loops.at[x->choice.loop];
	bool is_inner = loop_place_of(&x->tree, l)->parent != LOOP_NONE;
	/*
	 * Without a loop around it, the program comes to it only once. An exchange of copies also
	 * extends from one run of the loop to the next.
	 */
	return is_inner && !x->choice.by_optimizer && counted->anchor != TOKEN_EXCHANGE &&
	       count_steps(&x->tree, counted) + l->n_runs <= l->iterations.n;
}

bool learn_loops_contradict(const struct learn_loops *x, const struct anchor_counts *counted)
{
	struct hits h = { 0 };
	for (size_t i = 0; i < x->choice.begins.n; i++) {
		const struct loop_begin *b = &x->choice.begins.at[i];
		add_part(&x->tree, counted, (struct launches){ b->slot, b->launch, b->n_launches },
			 &h);
	}
	return !counts_parts(count_steps(&x->tree, counted), x->choice.begins.n, &h);
}

int64_t learn_loops_match(const struct learn_loops *x, const struct anchor_counts *counted)
{
	bool is_usable = x->is_started && counted->anchor && loop_tree_is_whole(&x->tree);
	uint64_t n = is_usable ? count_steps(&x->tree, counted) : 0;
	int64_t best = -1;
	for (size_t i = 0; n && i < x->tree.loops.n; i++) {
		const struct loop *l = &x->tree.loops.at[i];
		if (loop_goes_round(l) && loop_may_be_step(&x->tree, l) &&
		    counts_iterations(&x->tree, counted, n, l) &&
		    (best < 0 || l->ticks > x->tree.loops.at[best].ticks))
			best = (int64_t)i;
	}
	return best;
}

bool learn_loops_see_none(const struct learn_loops *x)
{
	bool is_known = x->is_started && x->tree.n_fed && loop_tree_is_whole(&x->tree);
	for (size_t i = 0; is_known && i < x->tree.loops.n; i++)
		if (loop_goes_round(&x->tree.loops.at[i]))
			return false;
	return is_known;
}

bool learn_loops_has_enough(const struct learn_loops *x)
{
	return x->has_choice && (x->choice.by_optimizer || x->choice.begins.n >= ITERATIONS_WANTED);
}

bool learn_loops_is_possible(const struct learn_loops *x)
{
	return learn_loops_has_enough(x) && x->choice.confidence >= POSSIBLE;
}

bool learn_loops_outweigh(const struct learn_loops *x, uint64_t anchor, double confidence)
{
	if (!learn_loops_has_enough(x))
		return false;
	const struct anchor_counts counted = { anchor, 0 };
	int64_t match = learn_loops_match(x, &counted);
	bool count_none = match < 0;
	bool count_inner = !count_none &&
			   loop_is_around(&x->tree, &x->tree.loops.at[x->choice.loop],
					  &x->tree.loops.at[match]);
	bool is_part = x->choice.shows_all && count_steps(&x->tree, &counted) > x->choice.begins.n;
	if (!x->choice.by_optimizer &&
	    ((count_none && x->choice.is_seen) || (is_part && (count_none || count_inner))))
		return true;
	if (!learn_loops_is_possible(x))
		return false;
	bool is_half = count_none && x->choice.is_seen;
	return x->choice.confidence >= CLEAR ||
	       x->choice.confidence > (is_half ? confidence / 2 : confidence);
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static bool has_steps(const struct learn_loops *x, uint32_t slot)
{
	for (size_t i = 0; i < x->choice.begins.n; i++)
		if (x->choice.begins.at[i].slot == slot)
			return true;
	return false;
}

static size_t launches_before(const struct loop_thread *t, uint64_t ticks)
{
	return bisect(t->ticks.n, k, t->ticks.at[k] < ticks);
}

/*
 * Threads without steps of their own, such as those of the backward pass, count with their mean
 * from the first step to the last one.
 */
uint32_t learn_loops_calls_per_step(const struct learn_loops *x)
{
	size_t n = x->choice.begins.n, n_others = 0;
	if (!n)
		return 0;
	uint32_t *sorted = mem_resize(NULL, n * sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		sorted[i] = x->choice.begins.at[i].n_launches;
	for (size_t i = 0; i < x->tree.threads.n; i++) {
		const struct loop_thread *t = &x->tree.threads.at[i];
		if (!has_steps(x, t->slot))
			n_others += launches_before(t, x->choice.end_ticks) -
				    launches_before(t, x->choice.begins.at[0].ticks);
	}
	qsort(sorted, n, sizeof(*sorted), by_value);
	uint32_t median = sorted[n / 2];
	free(sorted);
	return median + (uint32_t)((n_others + n / 2) / n);
}
