/* Chooses a loop without an optimizer: by time, and by how loops are nested. */
#include "core/steps/loop_births.h"
#include "core/steps/loop_candidates.h"

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
};

/* Confidences, chosen by hand on about 160 programs. They are not fitted. */
#define EITHER_OF_TWO_SHORT 0.70
#define EITHER_OF_TWO	    0.85
#define INNER_OF_TWO	    0.60
#define INNER_OF_TWO_MANY   0.90
#define SEVERAL_KINDS	    0.60
#define UNSEEN_OUTER	    0.55
/* Some iterations may make no call. */
#define EMPTY_ITERATIONS 0.60
/* Share of the time or calls of a loop; with this much, an inner loop fills the outer one. */
#define MOST_OF_A_LOOP 0.70
/*
 * Of two threads' loops: the time of one, as a share of the other's, from which both could be
 * meant; the same if only one of them copies to or from the host.
 */
#define SIMILAR	      0.80
#define SIMILAR_TALKS 0.50

static bool is_top(const struct loop_tree *t, const struct loop *l)
{
	return !loop_outer(t, l);
}

/* Returns whether `l` is an outermost loop with at least `share` of the time of `best`. */
static bool is_heavy_top(const struct loop_tree *t, const struct loop *l, const struct loop *best,
			 double share)
{
	return is_top(t, l) && loop_weight(l) >= share * loop_weight(best);
}

/* Returns whether nearly each iteration of `a` begins exactly one of `b`, as with a thread that
 * does a part of each step. */
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

/* Returns whether it is one loop of the source, which two threads run for a part of the work each.
 */
static bool is_one_loop(const struct loop_tree *t, const struct loop *a, const struct loop *b)
{
	const struct loop_place *p = loop_place_of(t, a), *q = loop_place_of(t, b);
	return p->number == q->number &&
	       t->stacks.frames.at[p->frame].function == t->stacks.frames.at[q->frame].function;
}

/*
 * Returns whether the loops of two threads give the same steps: they take turns, or one makes what
 * the other one uses, with a queue in between, and so have the same number of iterations.
 */
static bool give_same_steps(const struct loop_tree *t, const struct loop *a, const struct loop *b)
{
	enum { QUEUE_SHARE = 50 };
	uint64_t n = a->iterations.n, m = b->iterations.n, off = n > m ? n - m : m - n;
	return !is_one_loop(t, a, b) &&
	       (take_turns(a, b) || (n > EPOCHS_MOST && off <= 1 + n / QUEUE_SHARE));
}

/*
 * Returns the loop with the most calls of those that give the same steps as `l`: its iterations
 * take as long as the steps do. A thread that feeds it runs ahead.
 */
static const struct loop *busiest_alike(const struct loop_tree *t, const loop_candidates *all,
					const struct loop *l)
{
	const struct loop *busiest = l;
	for (size_t i = 0; i < all->n; i++) {
		const struct loop *m = all->at[i];
		if (m != l && is_top(t, m) && m->n_calls > busiest->n_calls &&
		    give_same_steps(t, l, m))
			busiest = m;
	}
	return busiest;
}

/*
 * Returns the outermost loop with the most time. Of those with a similar time, which are on several
 * threads, one that copies to or from the host comes first, and one with more iterations. Stores
 * the share of the time in `*share`, and in `*other` another loop with nearly the same time.
 */
static const struct loop *heaviest_top(const struct loop_tree *t, const loop_candidates *all,
				       double *share, uint32_t *other)
{
	const struct loop *heaviest = NULL, *talks = NULL;
	double sum = 0;
	for (size_t i = 0; i < all->n; i++) {
		const struct loop *l = all->at[i];
		double weight = loop_weight(l);
		if (is_top(t, l) && (!heaviest || weight > loop_weight(heaviest)))
			heaviest = l;
	}
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
					  : loop_weight(l) > loop_weight(talks)))
			talks = l;
	}
	const struct loop *best = busiest_alike(t, all, talks ? talks : heaviest);
	for (size_t i = 0; i < all->n; i++) {
		const struct loop *l = all->at[i];
		if (!is_top(t, l) || (l != best && give_same_steps(t, best, l)))
			continue;
		sum += loop_weight(l);
		if (l != best && is_heavy_top(t, l, best, SIMILAR) && !take_turns(best, l))
			*other = l->place;
	}
	if (sum > 0)
		*share = loop_weight(best) / sum;
	return best;
}

static const struct loop *heaviest_inner(const struct loop_tree *t, const loop_candidates *all,
					 const struct loop *outer)
{
	const struct loop *best = NULL;
	for (size_t i = 0; i < all->n; i++)
		if (loop_outer(t, all->at[i]) == outer &&
		    (!best || loop_weight(all->at[i]) > loop_weight(best)))
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
	if (loop_place_is_sure(&t->stacks, loop_place_of(t, l)))
		return true;
	size_t n = 0;
	for (size_t i = 0; i < t->loops.n; i++) {
		const struct loop *m = &t->loops.at[i];
		n += m->iterations.n > m->n_runs && loop_tree_parent(t, m) == l &&
		     loop_place_of(t, m)->birth_place == LOOP_NONE &&
		     (double)m->n_runs >= NEARLY_EACH * (double)l->iterations.n &&
		     loop_place_always_has(&t->stacks, l->place, m->place);
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
	double time = outer->ticks ? loop_weight(inner) / (loop_weight(outer) + 1) : 0,
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
static const struct loop *descend(const struct loop_tree *t, const loop_candidates *all,
				  const struct loop *best, struct loop_choice *out)
{
	const struct loop *inner;
	while ((inner = heaviest_inner(t, all, best)) != NULL) {
		struct nesting n = compare(best, inner);
		bool sure = is_sure(t, best), epochs = is_epochs(best, &n),
		     shows = sure || loop_place_shows_calls(&t->stacks, best->place);
		if (!epochs && best->iterations.n >= ITERATIONS_LEAST && shows) {
			out->shows_all = true;
			out->confidence *= sure ? 1 : EMPTY_ITERATIONS;
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
	for (uint32_t p = loop_place_of(t, l)->parent; p != LOOP_NONE;
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

bool loop_by_time(const struct loop_tree *t, const loop_candidates *all, struct loop_choice *out)
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
	bool sure = is_sure(t, best);
	out->shows_all |= sure;
	out->is_seen = !has_unseen && sure;
	double n = (double)best->iterations.n;
	out->confidence *= n > 2 ? 1 - pow(0.5, n / 2 - 1) : 0;
	out->loop = best->place;
	loop_add_begins(&out->begins, best);
	return best->iterations.n >= ITERATIONS_LEAST;
}

bool loop_is_hidden(const struct loop_tree *t, uint32_t index)
{
	const struct loop *l = &t->loops.at[index];
	return !is_sure(t, l) || unseen_outer(t, l) != LOOP_NONE;
}
