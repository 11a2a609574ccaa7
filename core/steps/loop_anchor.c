/* See loop_anchor.h. */
#include "core/steps/loop_anchor.h"

#include "core/runtime/iteration.h"
#include "core/runtime/token.h"

enum {
	/*
	 * With fewer steps, a trigram that occurs once in each of them may not do so later, for
	 * example if a validation is still to come.
	 */
	STEPS_LEAST = 20,
	/* The first steps may differ from the others. */
	STEPS_FIRST = 2,
	/* Of the others, one in MISSES may, if each step has the anchor once. */
	MISSES = 50,
	/*
	 * The backup is at least this many launches before the anchor, because changes at the
	 * boundary hardly reach that far.
	 */
	APART = 12,
};

/* A step and its launches: those numbered from `first` up to `end` of a thread. */
struct span {
	const struct loop_thread *thread;
	uint32_t first, end;
	bool is_open; /* the thread has no further step yet, so this one may go on */
};

typedef VEC(struct span) spans;

/* A trigram or a single token, and where it occurs. */
struct candidate {
	uint64_t hash;
	bool is_single;
	uint32_t thread;
	uint32_t every;		/* how often it occurs in a step */
	uint64_t n, n_in_steps; /* how often it occurs at all, and in steps */
	uint64_t n_alike;	/* number of typical steps that have `every` of it */
	/* Number of launches from a step's begin to the first one, and from the last one to the
	 * step's end: sums over the steps in `n_alike`. */
	uint64_t from_begin, from_end;
	/* The step looked at: how often it has it, and the numbers of those launches. */
	uint32_t n_here, first_here, last_here;
	/* Number of launches from it to the anchor: the least and the most in a typical step. */
	uint32_t least, most;
};

struct finder {
	spans steps;
	size_t n_typical;
	struct map index; /* hash -> index in `all` */
	VEC(struct candidate) all;
};

static const struct loop_thread *thread_of_slot(const struct loop_tree *t, uint32_t slot)
{
	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.at[i].slot == slot)
			return &t->threads.at[i];
	return NULL;
}

static bool is_typical(const struct finder *x, size_t step)
{
	const struct span *s = &x->steps.at[step];
	return step >= STEPS_FIRST && !s->is_open && s->end > s->first;
}

/* A thread's step ends where its next one begins. */
static void list_steps(struct finder *x, const struct loop_tree *t, const loop_begins *begins)
{
	struct map last_of_slot = { 0 };
	for (size_t i = 0; i < begins->n; i++) {
		const struct loop_begin *b = &begins->at[i];
		const struct loop_thread *thread = thread_of_slot(t, b->slot);
		uint32_t n = thread ? (uint32_t)thread->hashes.n : b->launch;
		bool is_new;
		uint64_t *last = map_at(&last_of_slot, b->slot, &is_new);
		if (!is_new && x->steps.at) {
			x->steps.at[*last].end = b->launch;
			x->steps.at[*last].is_open = false;
		}
		*last = x->steps.n;
		vec_push(&x->steps, ((struct span){ thread, b->launch, n, true }));
	}
	map_free(&last_of_slot);
	for (size_t i = 0; i < x->steps.n; i++)
		x->n_typical += is_typical(x, i);
}

static struct candidate *candidate_of(struct finder *x, uint64_t hash)
{
	uint64_t *at = map_find(&x->index, hash);
	return at ? &x->all.at[*at] : NULL;
}

static void add_candidate(struct finder *x, uint64_t hash, bool is_single)
{
	bool is_new;
	uint64_t *at = hash ? map_at(&x->index, hash, &is_new) : NULL;
	if (!at)
		return;
	if (is_new) {
		*at = x->all.n;
		vec_push(&x->all, (struct candidate){ .hash = hash, .is_single = is_single });
	}
	x->all.at[*at].every++;
}

/* Takes what a step in the middle of the run completes as candidates. */
static void list_candidates(struct finder *x)
{
	size_t middle = x->steps.n / 2;
	while (middle < x->steps.n && !is_typical(x, middle))
		middle++;
	if (middle == x->steps.n)
		return;
	const struct span *s = &x->steps.at[middle];
	for (uint32_t k = s->first; k < s->end; k++) {
		add_candidate(x, s->thread->hashes.at[k].trigram, false);
		add_candidate(x, s->thread->hashes.at[k].single, true);
	}
}

static void take_launch(struct candidate *c, const struct span *s, uint32_t launch)
{
	c->n_in_steps++;
	if (!c->n_here++)
		c->first_here = launch;
	c->last_here = launch;
	c->thread = s->thread->slot;
}

static void end_step(struct candidate *c, const struct span *s, bool is_alike)
{
	if (is_alike && c->n_here == c->every) {
		c->n_alike++;
		c->from_begin += c->first_here - s->first;
		c->from_end += s->end - 1 - c->last_here;
	}
	c->n_here = 0;
}

/* The candidates of a launch: 0, 1 or 2. */
struct pair {
	struct candidate *at[2];
	size_t n;
};

static struct pair candidates_of(struct finder *x, const struct token_hashes *launch)
{
	struct pair p = { 0 };
	struct candidate *trigram = candidate_of(x, launch->trigram),
			 *single = candidate_of(x, launch->single);
	if (trigram)
		p.at[p.n++] = trigram;
	if (single)
		p.at[p.n++] = single;
	return p;
}

static void count_in_steps(struct finder *x)
{
	for (size_t i = 0; i < x->steps.n; i++) {
		const struct span *s = &x->steps.at[i];
		for (uint32_t k = s->first; k < s->end; k++) {
			struct pair p = candidates_of(x, &s->thread->hashes.at[k]);
			for (size_t c = 0; c < p.n; c++)
				take_launch(p.at[c], s, k);
		}
		for (uint32_t k = s->first; k < s->end; k++) {
			struct pair p = candidates_of(x, &s->thread->hashes.at[k]);
			for (size_t c = 0; c < p.n; c++)
				if (p.at[c]->n_here)
					end_step(p.at[c], s, is_typical(x, i));
		}
	}
}

static void count_all(struct finder *x, const struct loop_tree *t)
{
	for (size_t i = 0; i < t->threads.n; i++)
		for (size_t k = 0; k < t->threads.at[i].hashes.n; k++) {
			struct pair p = candidates_of(x, &t->threads.at[i].hashes.at[k]);
			for (size_t c = 0; c < p.n; c++)
				p.at[c]->n++;
		}
}

/* ---- The best ---- */

static bool is_late(const struct candidate *c)
{
	return c->every == 1 && c->from_begin < c->from_end;
}

static uint64_t distance_of(const struct candidate *c)
{
	return c->n_alike ? (is_late(c) ? c->from_begin : c->from_end) / c->n_alike : 0;
}

static bool is_on_one_thread(const struct finder *x)
{
	for (size_t i = 0; i < x->steps.n; i++)
		if (x->steps.at[i].thread != x->steps.at[0].thread)
			return false;
	return true;
}

/*
 * One anchor in several must occur in all steps alike: after one that is missing, all further steps
 * would end at another place. So must a single token: the same kernel is often launched elsewhere.
 */
static bool is_usable(const struct finder *x, const struct candidate *c)
{
	uint64_t n = x->n_typical, missing = n - c->n_alike, outside = c->n - c->n_in_steps;
	if (c->hash == TOKEN_EXCHANGE)
		return false;
	if (c->every == 1 && !c->is_single)
		return missing <= n / MISSES && outside <= n / MISSES;
	return !missing && !outside && (c->every == 1 || is_on_one_thread(x));
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->every != b->every)
		return a->every < b->every;
	if (a->n_alike != b->n_alike)
		return a->n_alike > b->n_alike;
	if (a->is_single != b->is_single)
		return b->is_single;
	if (is_late(a) != is_late(b))
		return is_late(b);
	return is_late(a) ? a->from_begin < b->from_begin : a->from_end < b->from_end;
}

static const struct candidate *best_of(const struct finder *x)
{
	const struct candidate *best = NULL;
	for (size_t i = 0; i < x->all.n; i++) {
		const struct candidate *c = &x->all.at[i];
		if (is_usable(x, c) && (!best || is_better(c, best)))
			best = c;
	}
	return best;
}

/* ---- The backup ---- */

static void measure_step(struct finder *x, const struct span *s, const struct candidate *anchor)
{
	uint32_t at = s->first;
	while (at < s->end && !loop_launch_is(&s->thread->hashes.at[at], anchor->hash))
		at++;
	for (uint32_t k = s->first; at < s->end && k < at; k++) {
		struct candidate *c = candidate_of(x, s->thread->hashes.at[k].trigram);
		if (!c)
			continue;
		uint32_t n = at - k;
		c->least = c->most && c->least < n ? c->least : n;
		c->most = c->most > n ? c->most : n;
	}
}

/*
 * A step without its anchor ends where the anchor would have been. So the backup is one that all
 * steps have once, always equally far before the anchor. A loop around an optimizer has none: each
 * batch of an evaluation that is still to come may have it, and would end a step.
 */
static const struct candidate *backup_of(struct finder *x, const struct candidate *anchor)
{
	const struct candidate *best = NULL;
	for (size_t i = 0; i < x->steps.n && anchor->every == 1 && !is_late(anchor); i++)
		if (is_typical(x, i))
			measure_step(x, &x->steps.at[i], anchor);
	for (size_t i = 0; i < x->all.n; i++) {
		const struct candidate *c = &x->all.at[i];
		bool is_in_each = c->every == 1 && !c->is_single && c->n_alike == x->n_typical &&
				  c->n == c->n_in_steps;
		if (is_in_each && c->least >= APART && c->least == c->most &&
		    (!best || c->least < best->least))
			best = c;
	}
	return best;
}

/* Sets which of the anchors end a step: the last ones of the steps after the first ones do. */
static void align(const struct finder *x, struct loop_anchor *out)
{
	const struct span *s = &x->steps.at[STEPS_FIRST];
	uint64_t n = 0;
	for (uint32_t k = 0; k < s->first; k++)
		n += loop_launch_is(&s->thread->hashes.at[k], out->hash);
	out->lead = (uint32_t)(n % out->every);
	out->n_missed = STEPS_FIRST - (int64_t)iteration_n_ended(n, out->every, out->lead);
}

static uint64_t count_in(const struct span *s, uint64_t hash)
{
	uint64_t n = 0;
	for (uint32_t k = s->first; k < s->end; k++)
		n += loop_launch_is(&s->thread->hashes.at[k], hash);
	return n;
}

/*
 * Returns how many steps have ended. In the first steps the anchor may occur more often than once,
 * or not at all, so its occurrences there say nothing about the number. An open step contains the
 * iteration under way, too.
 */
static uint64_t count_ended(const struct finder *x, const struct candidate *anchor)
{
	uint64_t n = 0;
	for (size_t i = 0; i < x->steps.n; i++)
		n += x->steps.at[i].is_open ? count_in(&x->steps.at[i], anchor->hash) : 1;
	return n - is_late(anchor);
}

bool loop_anchor_find(const struct loop_tree *t, const struct loop_choice *c,
		      struct loop_anchor *out)
{
	struct finder x = { 0 };
	list_steps(&x, t, &c->begins);
	list_candidates(&x);
	count_in_steps(&x);
	count_all(&x, t);
	const struct candidate *best = x.n_typical >= STEPS_LEAST ? best_of(&x) : NULL;
	if (best)
		*out = (struct loop_anchor){
			.hash = best->hash,
			.thread = best->thread,
			.n = best->n,
			.every = best->every > 1 ? best->every : 0,
			.distance = distance_of(best),
			.n_ended = count_ended(&x, best),
			.n_missed = -(int64_t)is_late(best),
		};
	if (best && out->every)
		align(&x, out);
	const struct candidate *backup = best && !c->by_optimizer ? backup_of(&x, best) : NULL;
	if (backup) {
		out->backup = backup->hash;
		out->backup_within = backup->least;
	}
	vec_free(&x.steps);
	vec_free(&x.all);
	map_free(&x.index);
	return best;
}
