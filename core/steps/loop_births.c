/* See loop_births.h. */
#include "core/steps/loop_births.h"

#include "core/util/bisect.h"

/* Share of the threads that counts as nearly all: one may outlive its iteration by accident. */
#define NEARLY_ALL 0.90

/* Of a place: the threads created in it of which it is known, and those that ended in time. */
struct created {
	uint32_t n, n_inside;
	uint32_t n_all, n_brief; /* all threads, and those that ended before the last creation */
	uint64_t last_ticks;	 /* of the last creation */
};

static int by_begin(const void *a, const void *b)
{
	const struct loop_iteration *x = a, *y = b;
	return x->begin_ticks < y->begin_ticks ? -1 : x->begin_ticks > y->begin_ticks;
}

/* ---- Empty iterations ---- */

static int by_creation(const void *a, const void *b)
{
	const struct loop_birth *const *x = a, *const *y = b;
	if ((*x)->creator != (*y)->creator)
		return (*x)->creator < (*y)->creator ? -1 : 1;
	return (*x)->ticks < (*y)->ticks ? -1 : (*x)->ticks > (*y)->ticks;
}

/* Returns whether the iteration created one of the threads, which are sorted by_creation(). A
 * creation at its end began the next one. */
static bool creates_thread(const struct loop_birth *const *births, size_t n,
			   const struct loop_iteration *it)
{
	size_t i = bisect(n, k,
			  births[k]->creator < it->slot || (births[k]->creator == it->slot &&
							    births[k]->ticks < it->begin_ticks));
	return i < n && births[i]->creator == it->slot &&
	       (births[i]->ticks < it->end_ticks || births[i]->ticks == it->begin_ticks);
}

static bool is_empty(const struct loop_birth *const *births, size_t n,
		     const struct loop_iteration *it)
{
	return !it->n.calls && !creates_thread(births, n, it);
}

/* Fills loop.empty anew. A loop that only joins threads keeps its iterations. */
static void set_empty_aside(struct loop *l, const struct loop_birth *const *births, size_t n)
{
	size_t n_kept = 0;
	for (size_t i = 0; i < l->empty.n; i++)
		vec_push(&l->iterations, l->empty.at[i]);
	size_t n_all = l->iterations.n;
	l->empty.n = 0;
	for (size_t i = 0; i < n_all; i++)
		n_kept += !is_empty(births, n, &l->iterations.at[i]);
	if (!n_kept || n_kept == n_all)
		return;
	n_kept = 0;
	for (size_t i = 0; i < n_all; i++) {
		struct loop_iteration it = l->iterations.at[i];
		if (is_empty(births, n, &it))
			vec_push(&l->empty, it);
		else
			l->iterations.at[n_kept++] = it;
	}
	l->iterations.n = n_kept;
}

static void set_all_empty_aside(struct loop_tree *t)
{
	size_t n = t->births.n;
	const struct loop_birth **births = mem_zero((n ? n : 1) * sizeof(*births));
	for (size_t i = 0; i < n; i++)
		births[i] = &t->births.at[i];
	qsort(births, n, sizeof(*births), by_creation);
	for (size_t i = 0; i < t->loops.n; i++)
		set_empty_aside(&t->loops.at[i], births, n);
	free(births);
}

/* ---- Threads ---- */

static uint32_t parent_of(const struct loop_tree *t, uint32_t place)
{
	return t->stacks.places.at[place].parent;
}

/* Removes what the last call added. */
static void unlink_all(struct loop_tree *t)
{
	for (size_t i = 0; i < t->loops.n; i++) {
		struct loop *l = &t->loops.at[i];
		const struct loop_counts *n = &l->of_births;
		l->n_calls -= n->calls;
		l->n_steps -= n->steps;
		l->n_others -= n->others;
		l->n_waits -= n->waits;
		l->n_transfers -= n->transfers;
		l->n_replayed -= n->replayed;
		l->of_births = (struct loop_counts){ 0 };
	}
	for (size_t i = 0; i < t->stacks.places.n; i++)
		if (t->stacks.places.at[i].birth_place != LOOP_NONE)
			t->stacks.places.at[i].parent = LOOP_NONE;
}

/*
 * Notes whether the thread's last call is in the iteration of the loop that created it. Nothing
 * says when the creator's last iteration ends, but it goes on after its last creation of a thread.
 */
static void note_end(const struct loop *l, const struct loop_birth *b, struct created *c)
{
	size_t n = l->iterations.n, i = bisect(n, k, l->iterations.at[k].begin_ticks <= b->ticks);
	while (i < n && l->iterations.at[i].slot != b->creator)
		i++;
	bool is_last = i == n;
	uint64_t end = is_last ? c->last_ticks : l->iterations.at[i].begin_ticks;
	bool is_inside = b->last_ticks <= end;
	c->n_all++;
	c->n_brief += b->last_ticks < c->last_ticks;
	c->n += is_inside || !is_last;
	c->n_inside += is_inside;
}

static void note_creations(const struct loop_tree *t, struct created *created)
{
	for (size_t i = 0; i < t->births.n; i++) {
		const struct loop_birth *b = &t->births.at[i];
		for (uint32_t p = b->place; p != LOOP_NONE; p = parent_of(t, p))
			if (created[p].last_ticks < b->ticks)
				created[p].last_ticks = b->ticks;
	}
}

static void count_created(struct loop_tree *t, struct created *created)
{
	note_creations(t, created);
	bool *is_sorted = mem_zero(t->loops.n * sizeof(*is_sorted));
	for (size_t i = 0; i < t->births.n; i++) {
		const struct loop_birth *b = &t->births.at[i];
		for (uint32_t p = b->place; p != LOOP_NONE && p < t->loops.n; p = parent_of(t, p)) {
			struct loop *l = &t->loops.at[p];
			if (!is_sorted[p] && l->iterations.n)
				qsort(l->iterations.at, l->iterations.n, sizeof(*l->iterations.at),
				      by_begin);
			is_sorted[p] = true;
			note_end(l, b, &created[p]);
		}
	}
	free(is_sorted);
}

/* Returns the loop that threads created at `place` belong to; LOOP_NONE: none. */
static uint32_t loop_of_births(const struct loop_tree *t, const struct created *created,
			       uint32_t place)
{
	for (; place != LOOP_NONE && place < t->loops.n; place = parent_of(t, place)) {
		const struct created *c = &created[place];
		if (c->n && (double)c->n_inside >= NEARLY_ALL * (double)c->n)
			return place;
	}
	return LOOP_NONE;
}

static void add_calls(struct loop_tree *t, uint32_t place, const struct loop_counts *n)
{
	for (; place != LOOP_NONE && place < t->loops.n; place = parent_of(t, place)) {
		struct loop *l = &t->loops.at[place];
		l->n_calls += n->calls;
		l->n_steps += n->steps;
		l->n_others += n->others;
		l->n_waits += n->waits;
		l->n_transfers += n->transfers;
		l->n_replayed += n->replayed;
		l->of_births.calls += n->calls;
		l->of_births.steps += n->steps;
		l->of_births.others += n->others;
		l->of_births.waits += n->waits;
		l->of_births.transfers += n->transfers;
		l->of_births.replayed += n->replayed;
	}
}

/*
 * Returns whether most threads created at `place` ended before the loops around it created the last
 * one. Those of a pool do not.
 */
static bool are_brief(const struct loop_tree *t, const struct created *created, uint32_t place)
{
	while (parent_of(t, place) != LOOP_NONE)
		place = parent_of(t, place);
	return 2 * created[place].n_brief > created[place].n_all;
}

/* Returns whether `outer` is the place or one around it. */
static bool is_around(const struct loop_tree *t, uint32_t outer, uint32_t place)
{
	while (place != LOOP_NONE && place != outer)
		place = parent_of(t, place);
	return place == outer;
}

void loop_births_link(struct loop_tree *t)
{
	set_all_empty_aside(t);
	if (!t->births.n)
		return;
	unlink_all(t);
	struct created *created = mem_zero(t->stacks.places.n * sizeof(*created));
	count_created(t, created);
	for (uint32_t i = 0; i < t->stacks.places.n; i++) {
		struct loop_place *p = &t->stacks.places.at[i];
		if (p->birth_place == LOOP_NONE || p->birth_place == LOOP_SEVERAL)
			continue;
		uint32_t loop = loop_of_births(t, created, p->birth_place);
		p->is_brief = loop == LOOP_NONE && are_brief(t, created, p->birth_place);
		/* a thread that creates threads like itself */
		if (loop != LOOP_NONE && !is_around(t, i, loop))
			p->parent = loop;
	}
	for (size_t i = 0; i < t->births.n; i++) {
		const struct loop_birth *b = &t->births.at[i];
		add_calls(t, loop_of_births(t, created, b->place), &b->n);
	}
	free(created);
}

uint32_t loop_births_unseen(const struct loop_tree *t, uint32_t loop)
{
	while (parent_of(t, loop) != LOOP_NONE)
		loop = parent_of(t, loop);
	const struct loop_place *p = &t->stacks.places.at[loop];
	return p->is_brief ? p->birth_place : LOOP_NONE;
}
