/* See loop_choice.h. */
#include "core/steps/loop_choice.h"

#include "core/steps/loop_births.h"

#include <math.h>

enum {
	/* A loop of fewer iterations may be one of epochs. */
	EPOCHS_MOST = 20,
	/* It is, if one loop inside it has this many iterations in each of its own. */
	BATCHES_LEAST = 8,
	/*
	 * So is a longer loop, if one loop inside it has this many iterations in each of its own.
	 */
	INNER_MANY = 64,
	/*
	 * Without an optimizer. With fewer iterations, nothing shows that the loop is one of steps.
	 */
	ITERATIONS_LEAST = 3,
};

/* Confidences, chosen by hand on about 160 programs. They are not fitted. */
#define BY_OPTIMIZER	    0.98
#define AROUND_OPTIMIZER    0.80
#define EITHER_OF_TWO_SHORT 0.70
#define EITHER_OF_TWO	    0.85
#define INNER_OF_TWO	    0.60
#define INNER_OF_TWO_MANY   0.90
#define SEVERAL_KINDS	    0.60
#define UNSEEN_OUTER	    0.55
/* Share of the time or calls of a loop; with this much, an inner loop fills the outer one. */
#define MOST_OF_A_LOOP 0.70
/*
 * Of two threads' loops: the time of one, as a share of the other's, from which both could be
 * meant; the same if only one of them copies to or from the host.
 */
#define SIMILAR	      0.80
#define SIMILAR_TALKS 0.50
/* Share of the iterations that counts as each of them. */
#define NEARLY_EACH 0.90

static const struct loop_place *place_of(const struct loop_tree *t, const struct loop *l)
{
	return &t->stacks.places.at[l->place];
}

bool loop_may_be_step(const struct loop_tree *t, const struct loop *l)
{
	const struct loop_place *p = place_of(t, l);
	uint8_t is = t->stacks.frames.at[p->frame].is;
	bool is_native_library = is & LOOP_FRAME_LIBRARY && !(is & LOOP_FRAME_PYTHON);
	return !is_native_library && !loop_place_is_retry(&t->stacks, p) &&
	       !(p->within & (LOOP_FRAME_STEP | LOOP_FRAME_ZERO | LOOP_FRAME_FORWARD |
			      LOOP_FRAME_INPUT | LOOP_FRAME_FRAMEWORK));
}

/* Returns the nearest loop around `l` that goes round and may be the step; NULL: none. */
static const struct loop *outer_of(const struct loop_tree *t, const struct loop *l)
{
	do
		l = loop_tree_parent(t, l);
	while (l && !loop_may_be_step(t, l));
	return l;
}

static bool is_around(const struct loop_tree *t, const struct loop *outer, const struct loop *l)
{
	while ((l = outer_of(t, l)) != NULL)
		if (l == outer)
			return true;
	return false;
}

/* Time in the loop without its longest iteration, which may load or compile. */
static double weight_of(const struct loop *l)
{
	return (double)(l->ticks - l->longest_ticks);
}

static int by_begin(const void *a, const void *b)
{
	const struct loop_iteration *x = a, *y = b;
	return x->begin_ticks < y->begin_ticks ? -1 : x->begin_ticks > y->begin_ticks;
}

/* The loops that go round and may be the step. */
typedef VEC(const struct loop *) candidates;

static void collect(struct loop_tree *t, candidates *out)
{
	for (size_t i = 0; i < t->loops.n; i++) {
		struct loop *l = &t->loops.at[i];
		if (!loop_goes_round(l))
			continue;
		qsort(l->iterations.at, l->iterations.n, sizeof(*l->iterations.at), by_begin);
		if (loop_may_be_step(t, l))
			vec_push(out, l);
	}
}

/* ---- Begins ---- */

static struct loop_begin begin_of(const struct loop_iteration *x)
{
	return (struct loop_begin){ loop_iteration_begin(x), x->slot, x->launch, x->n.launches };
}

static void add_begins(loop_begins *out, const struct loop *l)
{
	for (size_t i = 0; i < l->iterations.n; i++) {
		const struct loop_iteration *x = &l->iterations.at[i];
		vec_push(out, begin_of(x));
	}
}

/* Each step ends with the iteration that has an optimizer's step. */
static void add_groups(loop_begins *out, const struct loop *l)
{
	bool is_open = false;
	for (size_t i = 0; i < l->iterations.n; i++) {
		const struct loop_iteration *x = &l->iterations.at[i];
		if (!is_open)
			vec_push(out, begin_of(x));
		struct loop_begin *b = &out->at[out->n - 1];
		b->n_launches = x->launch + x->n.launches - b->launch;
		is_open = !x->n.steps;
	}
	if (is_open)
		out->n--;
}

static int by_ticks(const void *a, const void *b)
{
	const struct loop_begin *x = a, *y = b;
	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

static void note_end(struct loop_choice *out, const struct loop *l)
{
	for (size_t i = 0; i < l->iterations.n; i++)
		if (l->iterations.at[i].end_ticks > out->end_ticks)
			out->end_ticks = l->iterations.at[i].end_ticks;
}

/*
 * Adds the same loop of the source where it was called from other places. In training, it is only
 * the same if an optimizer steps in it: the function may also validate.
 */
static void add_same(const struct loop_tree *t, const candidates *all, struct loop_choice *out)
{
	const struct loop *l = &t->loops.at[out->loop];
	const struct loop_place *p = place_of(t, l);
	uint32_t function = t->stacks.frames.at[p->frame].function;
	for (size_t i = 0; i < all->n && !out->is_grouped; i++) {
		const struct loop *m = all->at[i];
		const struct loop_place *q = place_of(t, m);
		if (m == l || q->number != p->number || is_around(t, m, l) || is_around(t, l, m) ||
		    (out->by_optimizer && !m->n_steps) ||
		    t->stacks.frames.at[q->frame].function != function)
			continue;
		add_begins(&out->begins, m);
		note_end(out, m);
	}
}

static void finish(const struct loop_tree *t, const candidates *all, struct loop_choice *out)
{
	note_end(out, &t->loops.at[out->loop]);
	add_same(t, all, out);
	qsort(out->begins.at, out->begins.n, sizeof(*out->begins.at), by_ticks);
}

/* ---- With an optimizer ---- */

/* Returns whether in half of its iterations `outer` has optimizer steps that `inner` has not. */
static bool steps_itself(const struct loop *outer, const struct loop *inner)
{
	size_t k = 0, n_own = 0;
	for (size_t i = 0; i < outer->iterations.n; i++) {
		const struct loop_iteration *o = &outer->iterations.at[i];
		uint32_t within = 0;
		for (;
		     k < inner->iterations.n && inner->iterations.at[k].begin_ticks < o->end_ticks;
		     k++)
			if (inner->iterations.at[k].begin_ticks >= o->begin_ticks)
				within += inner->iterations.at[k].n.steps;
		n_own += o->n.steps > within;
	}
	return outer->iterations.n >= ITERATIONS_LEAST && 2 * n_own >= outer->iterations.n;
}

static bool overlap(const struct loop *a, const struct loop *b)
{
	uint64_t begin = a->iterations.at[0].begin_ticks,
		 end = a->iterations.at[a->iterations.n - 1].begin_ticks;
	for (size_t i = 0; i < b->iterations.n; i++)
		if (begin < b->iterations.at[i].end_ticks && b->iterations.at[i].begin_ticks < end)
			return true;
	return false;
}

/*
 * Returns whether the loop holds optimizer steps, and more than a loop over several optimizers:
 * that one launches less besides than a launch for each step.
 */
static bool holds_steps(const struct loop *l)
{
	return l->n_steps && l->n_others >= l->n_steps;
}

/* Returns the innermost loop that holds the most optimizer steps, and the other innermost ones. */
static const struct loop *innermost(const struct loop_tree *t, const candidates *all,
				    candidates *others)
{
	const struct loop *best = NULL;
	for (size_t i = 0; i < all->n; i++) {
		const struct loop *l = all->at[i];
		bool is_outer = false;
		for (size_t k = 0; k < all->n && !is_outer; k++)
			is_outer = holds_steps(all->at[k]) && is_around(t, l, all->at[k]);
		if (is_outer || !holds_steps(l))
			continue;
		vec_push(others, l);
		if (!best || l->n_steps > best->n_steps)
			best = l;
	}
	return best;
}

/* Returns how regular the groups of iterations are that end with an optimizer's step: 0 to 1. */
static double regularity(const struct loop *l)
{
	uint64_t counts[64] = { 0 }, most = 0, n = 0;
	size_t last = 0;
	for (size_t i = 0; i < l->iterations.n; i++) {
		if (!l->iterations.at[i].n.steps)
			continue;
		size_t gap = i - last < 63 ? i - last : 63;
		last = i;
		n++;
		if (++counts[gap] > most)
			most = counts[gap];
	}
	return n ? (double)most / (double)n : 0;
}

static void add_optimizer_begins(const struct loop *l, struct loop_choice *out)
{
	size_t with = 0, n = l->iterations.n;
	for (size_t i = 0; i < n; i++)
		with += l->iterations.at[i].n.steps > 0;
	out->is_grouped = (double)with < NEARLY_EACH * (double)n && with >= 2;
	if (!out->is_grouped) {
		add_begins(&out->begins, l);
		return;
	}
	add_groups(&out->begins, l);
	out->confidence *= 0.7 + 0.3 * regularity(l);
}

/*
 * Returns whether `l` only prepares the work that `best` replays from CUDA graphs, as programs do
 * before they capture a step: most of its launches were captured, too. `best` makes more steps.
 */
static bool warms_up(const struct loop_tree *t, const struct loop *best, const struct loop *l)
{
	uint64_t n = 0, n_captured = 0;
	if (!best->n_replayed || l->n_replayed || l->n_steps >= best->n_steps)
		return false;
	for (size_t i = 0; i < l->iterations.n; i++) {
		const struct loop_iteration *x = &l->iterations.at[i];
		const uint64_t *thread = map_find(&t->thread_of_slot, x->slot);
		for (uint32_t k = 0; thread && k < x->n.launches; k++) {
			uint64_t token = t->threads.at[*thread].tokens.at[x->launch + k];
			n_captured += map_find(&t->graphs.tokens, token) != NULL;
		}
		n += x->n.launches;
	}
	return 2 * n_captured > n;
}

static bool by_optimizer(const struct loop_tree *t, const candidates *all, struct loop_choice *out)
{
	candidates inner = { 0 };
	const struct loop *first = innermost(t, all, &inner), *best = first;
	uint64_t rest = 0;
	if (!best) {
		vec_free(&inner);
		return false;
	}
	*out = (struct loop_choice){ .other = LOOP_NONE,
				     .confidence = BY_OPTIMIZER,
				     .by_optimizer = true,
				     .is_seen = true };
	for (const struct loop *l = first; (l = outer_of(t, l)) != NULL;)
		if (steps_itself(l, best)) {
			best = l;
			out->confidence = AROUND_OPTIMIZER;
			out->other = first->place;
		}
	out->loop = best->place;
	add_optimizer_begins(best, out);
	for (size_t i = 0; i < inner.n; i++) {
		const struct loop *l = inner.at[i];
		if (l == best || is_around(t, best, l) || warms_up(t, best, l))
			continue;
		bool is_phase = l->iterations.n >= ITERATIONS_LEAST && !overlap(best, l);
		if (is_phase) {
			add_begins(&out->begins, l);
			note_end(out, l);
		} else {
			rest += l->n_steps;
		}
	}
	uint64_t mine = best->n_steps;
	out->confidence *= (double)mine / (double)(mine + rest);
	size_t n = out->begins.n;
	out->confidence *= 1 - pow(0.5, n > 1 ? (double)(n - 1) : 0);
	vec_free(&inner);
	return n >= 2;
}

/* ---- Without an optimizer ---- */

static bool is_top(const struct loop_tree *t, const struct loop *l)
{
	return !outer_of(t, l);
}

/* Returns whether `l` is an outermost loop with at least `share` of the time of `best`. */
static bool is_heavy_top(const struct loop_tree *t, const struct loop *l, const struct loop *best,
			 double share)
{
	return is_top(t, l) && weight_of(l) >= share * weight_of(best);
}

/* Returns whether nearly each iteration of `a` begins exactly one of `b`, as with a thread that
 * does a part of each step. Both then give the same steps. */
static bool take_turns(const struct loop *a, const struct loop *b)
{
	size_t k = 0, n_one = 0, n = a->iterations.n;
	for (size_t i = 0; i + 1 < n; i++) {
		uint64_t begin = a->iterations.at[i].begin_ticks,
			 end = a->iterations.at[i + 1].begin_ticks, within = 0;
		for (; k < b->iterations.n && b->iterations.at[k].begin_ticks < end; k++)
			within += b->iterations.at[k].begin_ticks >= begin;
		n_one += within == 1;
	}
	return n > 1 && (double)n_one >= NEARLY_EACH * (double)(n - 1);
}

/*
 * Returns the outermost loop with the most time. Of those with a similar time, which are on several
 * threads, one that copies to or from the host comes first, and one with more iterations. Stores
 * the share of the time in `*share`, and in `*other` another loop with nearly the same time.
 */
static const struct loop *heaviest_top(const struct loop_tree *t, const candidates *all,
				       double *share, uint32_t *other)
{
	const struct loop *best = NULL, *talks = NULL;
	double sum = 0;
	for (size_t i = 0; i < all->n; i++) {
		const struct loop *l = all->at[i];
		if (!is_top(t, l))
			continue;
		sum += weight_of(l);
		if (!best || weight_of(l) > weight_of(best))
			best = l;
	}
	const struct loop *heaviest = best;
	*share = 0;
	if (!heaviest)
		return NULL;
	for (size_t i = 0; i < all->n; i++) {
		const struct loop *l = all->at[i];
		if (!is_heavy_top(t, l, heaviest, SIMILAR_TALKS) ||
		    l->n_transfers < l->iterations.n)
			continue;
		bool is_similar = talks && is_heavy_top(t, l, talks, SIMILAR) &&
				  is_heavy_top(t, talks, l, SIMILAR);
		if (!talks || (is_similar ? l->iterations.n > talks->iterations.n
					  : weight_of(l) > weight_of(talks)))
			talks = l;
	}
	best = talks ? talks : best;
	if (sum > 0)
		*share = weight_of(best) / sum;
	for (size_t i = 0; i < all->n; i++)
		if (all->at[i] != best && is_heavy_top(t, all->at[i], best, SIMILAR) &&
		    !take_turns(best, all->at[i]))
			*other = all->at[i]->place;
	return best;
}

static const struct loop *heaviest_inner(const struct loop_tree *t, const candidates *all,
					 const struct loop *outer)
{
	const struct loop *best = NULL;
	for (size_t i = 0; i < all->n; i++)
		if (outer_of(t, all->at[i]) == outer &&
		    (!best || weight_of(all->at[i]) > weight_of(best)))
			best = all->at[i];
	return best;
}

/*
 * Returns whether each iteration of the loop makes a call of its own: one outside of the loops
 * within, or in one of two loops within that both run in each iteration, on the same thread. They
 * may create and join threads.
 */
static bool is_sure(const struct loop_tree *t, const struct loop *l)
{
	if (loop_place_is_sure(&t->stacks, place_of(t, l)))
		return true;
	size_t n = 0;
	for (size_t i = 0; i < t->loops.n; i++) {
		const struct loop *m = &t->loops.at[i];
		n += m->iterations.n > m->n_runs && loop_tree_parent(t, m) == l &&
		     place_of(t, m)->birth_place == LOOP_NONE &&
		     (double)m->n_runs >= NEARLY_EACH * (double)l->iterations.n;
	}
	return n >= 2;
}

/* How a loop and the heaviest loop inside it compare. */
struct nesting {
	double ratio; /* iterations of the inner loop in each of the outer one */
	double share; /* of the outer loop's time or calls, whichever is more */
	bool closes;  /* each outer iteration ends with a wait, and the inner loop never waits */
	/* nearly each inner iteration waits for the GPU, or copies to or from it */
	bool inner_talks;
};

static struct nesting compare(const struct loop *outer, const struct loop *inner)
{
	double n = (double)outer->iterations.n, n_inner = (double)inner->iterations.n,
	       own = (double)outer->n_waits - (double)inner->n_waits;
	uint64_t n_talks = inner->n_waits > inner->n_transfers ? inner->n_waits
							       : inner->n_transfers;
	double time = outer->ticks ? weight_of(inner) / (weight_of(outer) + 1) : 0,
	       calls = outer->n_calls ? (double)inner->n_calls / (double)outer->n_calls : 0;
	return (struct nesting){ .ratio = n_inner / n,
				 .share = time > calls ? time : calls,
				 .closes = !inner->n_waits && own >= NEARLY_EACH * n,
				 .inner_talks = (double)n_talks >= NEARLY_EACH * n_inner };
}

static bool is_epochs(const struct loop *outer, const struct nesting *n)
{
	double many = n->closes ? 4 * INNER_MANY : INNER_MANY;
	return n->share >= MOST_OF_A_LOOP &&
	       ((outer->iterations.n < EPOCHS_MOST && n->ratio >= BATCHES_LEAST) ||
		n->ratio >= many);
}

/*
 * Returns the confidence that the inner loop is the step, although the outer one's iterations are
 * seen. There are few epochs, and a batch is copied to the GPU or its result is read. Many rounds
 * of launches alone may be time steps in each output interval, but also layers or cells in each
 * step.
 */
static double of_inner(const struct loop *outer, const struct nesting *n)
{
	bool is_batches = outer->iterations.n < EPOCHS_MOST || n->inner_talks;
	return n->ratio >= INNER_MANY && is_batches ? INNER_OF_TWO_MANY : INNER_OF_TWO;
}

/*
 * Walks from an outermost loop to the loops inside, as long as the outer one looks like a loop of
 * epochs or its own iterations cannot be seen.
 */
static const struct loop *descend(const struct loop_tree *t, const candidates *all,
				  const struct loop *best, struct loop_choice *out)
{
	const struct loop *inner;
	while ((inner = heaviest_inner(t, all, best)) != NULL) {
		struct nesting n = compare(best, inner);
		bool sure = is_sure(t, best), epochs = is_epochs(best, &n);
		if (!epochs && best->iterations.n >= ITERATIONS_LEAST && sure) {
			if (n.share < MOST_OF_A_LOOP)
				break;
			out->other = inner->place;
			if (!n.closes)
				out->confidence *= best->iterations.n < EPOCHS_MOST
							   ? EITHER_OF_TWO_SHORT
							   : EITHER_OF_TWO;
			break;
		}
		if (best->iterations.n > 1 && sure) {
			out->confidence *= fmin(n.share, 1) * of_inner(best, &n);
			out->other = best->place;
		}
		best = inner;
	}
	return best;
}

/* Finds the places at which most iterations make their calls. Stores how many do in `*n_usual`. */
static uint64_t usual_places(const struct loop *l, uint64_t *n_usual)
{
	struct map counts = { 0 };
	uint64_t usual = 0;
	*n_usual = 0;
	for (size_t i = 0; i < l->iterations.n; i++) {
		uint64_t places = l->iterations.at[i].places, *n = map_at(&counts, places, NULL);
		if (++*n > *n_usual) {
			*n_usual = *n;
			usual = places;
		}
	}
	map_free(&counts);
	return usual;
}

/* Returns whether no half of the iterations makes its calls at the same places. */
static bool is_mixed(const struct loop *l)
{
	uint64_t most;
	usual_places(l, &most);
	return 2 * most < l->iterations.n;
}

/*
 * Returns the nearest loop around `l` that makes no call of its own, so nothing shows how often it
 * goes round; LOOP_NONE if there is none. So is a loop that creates threads which end soon, if it
 * was not seen in which of its iterations.
 */
static uint32_t unseen_outer(const struct loop_tree *t, const struct loop *l)
{
	for (uint32_t p = place_of(t, l)->parent; p != LOOP_NONE;
	     p = t->stacks.places.at[p].parent) {
		const struct loop as_loop = { .place = p };
		bool goes = p < t->loops.n && loop_goes_round(&t->loops.at[p]);
		if (loop_may_be_step(t, &as_loop) && !(goes && is_sure(t, &t->loops.at[p])))
			return p;
	}
	return loop_births_unseen(t, l->place);
}

/*
 * Returns whether some iterations make a part of the usual calls only, and the loop contains a loop
 * of retries that never went round. Then these iterations may be retries: the stacks do not show
 * the difference.
 */
static bool may_count_retries(const struct loop_tree *t, const struct loop *l)
{
	bool has_retries = false;
	for (size_t i = 0; i < t->stacks.places.n && !has_retries; i++) {
		const struct loop_place *p = &t->stacks.places.at[i];
		bool goes = i < t->loops.n && loop_goes_round(&t->loops.at[i]);
		has_retries = p->parent == l->place && !goes && loop_place_is_retry(&t->stacks, p);
	}
	uint64_t n_usual, usual = usual_places(l, &n_usual);
	size_t n_parts = 0;
	for (size_t i = 0; i < l->iterations.n; i++) {
		uint64_t places = l->iterations.at[i].places;
		n_parts += places != usual && !(places & ~usual);
	}
	return has_retries && n_parts > 1; /* the last iteration may be cut short */
}

static bool by_time(const struct loop_tree *t, const candidates *all, struct loop_choice *out)
{
	*out = (struct loop_choice){ .other = LOOP_NONE };
	const struct loop *best = heaviest_top(t, all, &out->confidence, &out->other);
	if (!best)
		return false;
	best = descend(t, all, best, out);
	if (is_mixed(best) || may_count_retries(t, best))
		out->confidence *= SEVERAL_KINDS;
	uint32_t unseen = unseen_outer(t, best);
	bool has_unseen = unseen != LOOP_NONE;
	if (has_unseen)
		out->confidence *= UNSEEN_OUTER;
	if (has_unseen && out->other == LOOP_NONE && unseen < t->loops.n)
		out->other = unseen;
	out->is_seen = !has_unseen && is_sure(t, best);
	double n = (double)best->iterations.n;
	out->confidence *= n > 2 ? 1 - pow(0.5, n / 2 - 1) : 0;
	out->loop = best->place;
	add_begins(&out->begins, best);
	return best->iterations.n >= ITERATIONS_LEAST;
}

/* ---- The choice ---- */

static uint64_t ticks_since(const struct loop *l, uint64_t begin)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < l->iterations.n; i++)
		if (l->iterations.at[i].begin_ticks >= begin)
			sum += l->iterations.at[i].end_ticks - l->iterations.at[i].begin_ticks;
	return sum;
}

/*
 * Returns whether the training `a` was over long ago, for example captured into a graph, and the
 * loop `b` without an optimizer is what goes on now.
 */
static bool is_over(const struct loop_tree *t, const candidates *all, const struct loop_choice *a,
		    const struct loop_choice *b)
{
	const struct loop *x = &t->loops.at[a->loop], *y = &t->loops.at[b->loop];
	uint64_t begin = x->iterations.at[0].begin_ticks, now = begin;
	for (size_t i = 0; i < all->n; i++) {
		const struct loop *l = all->at[i];
		uint64_t end = l->iterations.at[l->iterations.n - 1].end_ticks;
		now = end > now ? end : now;
	}
	return x != y && !y->n_steps && 5 * ticks_since(x, begin) < now - begin &&
	       2 * ticks_since(y, begin) > now - begin;
}

bool loop_choose(struct loop_tree *t, struct loop_choice *out)
{
	candidates all = { 0 };
	struct loop_choice a = { 0 }, b = { 0 };
	collect(t, &all);
	bool has_a = by_optimizer(t, &all, &a), has_b = by_time(t, &all, &b);
	bool takes_b = has_b && (!has_a || is_over(t, &all, &a, &b));
	*out = takes_b ? b : a;
	loop_choice_free(takes_b ? &a : &b);
	if (has_a || has_b)
		finish(t, &all, out);
	else
		loop_choice_free(out);
	vec_free(&all);
	return has_a || has_b;
}

bool loop_choose_this(struct loop_tree *t, uint32_t index, struct loop_choice *out)
{
	candidates all = { 0 };
	const struct loop *l = &t->loops.at[index];
	*out = (struct loop_choice){ .loop = index, .other = LOOP_NONE, .confidence = 1 };
	collect(t, &all);
	add_begins(&out->begins, l);
	finish(t, &all, out);
	vec_free(&all);
	if (out->begins.n >= 2)
		return true;
	loop_choice_free(out);
	return false;
}

void loop_choice_free(struct loop_choice *c)
{
	vec_free(&c->begins);
}
