/*
 * See pair_race.h. The walk over both sequences (pair_walk.h) decides call by call. If a thread
 * lost the CPU inside a call, before the call took its id, the walk may give this call the work of
 * the first call that overtook it. Then each of those calls gets the work of the next one, and the
 * last one has none: the work that is left began too late for it. Such a call without work shows
 * that the long call took its id late. So the walk is repeated with this knowledge, and the result
 * is kept if it leaves less unpaired.
 */
#include "core/source/journal/pair_race.h"

#include "core/source/journal/pair_repair.h"
#include "core/source/journal/pair_walk.h"

enum {
	/*
	 * A further walk repairs what another long call hid. In 5 of 206 runs of sixteen threads on
	 * a busy machine a second walk was needed, and it paired everything.
	 */
	WALKS = 4,
};

struct race {
	struct sides *s;
	uint32_t *group_of;    /* by call: its group, PAIR_NO_CALL if it has none */
	VEC(uint32_t) at;      /* by group: the call that the best walk so far gave it */
	VEC(uint32_t) active;  /* calls that overlap the current one */
	VEC(uint32_t) changed; /* calls that this walk takes for late ones, for the first time */
};

static size_t count_pairs(const struct sides *s)
{
	size_t n = 0;
	for (size_t j = 0; j < s->groups.n; j++)
		n += s->groups.at[j].at != PAIR_NO_CALL;
	return n;
}

static void list_groups(struct race *r)
{
	for (size_t i = 0; i < r->s->calls.n; i++)
		r->group_of[i] = PAIR_NO_CALL;
	for (size_t j = 0; j < r->s->groups.n; j++)
		if (r->s->groups.at[j].at != PAIR_NO_CALL)
			r->group_of[r->s->groups.at[j].at] = (uint32_t)j;
}

static void drop_ended(struct race *r, uint64_t now)
{
	size_t n = 0;
	for (size_t k = 0; k < r->active.n; k++)
		if (r->s->calls.at[r->active.at[k]].end_ticks >= now)
			r->active.at[n++] = r->active.at[k];
	r->active.n = n;
}

/*
 * Returns the call that ends last of those that began before call `i`, end after it, ask for the
 * same, and have work. PAIR_NO_CALL if there is none.
 */
static uint32_t find_overtaken(const struct race *r, size_t i)
{
	const struct caller *c = &r->s->calls.at[i];
	uint32_t found = PAIR_NO_CALL;
	for (size_t k = 0; k < r->active.n; k++) {
		const struct caller *d = &r->s->calls.at[r->active.at[k]];
		if (d->end_ticks > c->end_ticks && d->symbol == c->symbol &&
		    r->group_of[r->active.at[k]] != PAIR_NO_CALL && !d->takes_id_late &&
		    (found == PAIR_NO_CALL || d->end_ticks > r->s->calls.at[found].end_ticks))
			found = r->active.at[k];
	}
	return found;
}

/*
 * Marks the calls that calls without work have overtaken. Returns whether there are any.
 */
static bool mark_overtaken(struct race *r)
{
	list_groups(r);
	r->active.n = r->changed.n = 0;
	for (size_t i = 0; i < r->s->calls.n; i++) {
		drop_ended(r, r->s->calls.at[i].call->begin_ticks);
		uint32_t d = r->group_of[i] == PAIR_NO_CALL ? find_overtaken(r, i) : PAIR_NO_CALL;
		if (d != PAIR_NO_CALL) {
			r->s->calls.at[d].takes_id_late = true;
			vec_push(&r->changed, d);
		}
		vec_push(&r->active, (uint32_t)i);
	}
	return r->changed.n;
}

/* Walks anew, and keeps the result if it has more pairs. Returns whether it has. */
static bool walk_again(struct race *r, size_t *n_pairs)
{
	struct sides *s = r->s;
	for (size_t j = 0; j < s->groups.n; j++) {
		r->at.at[j] = s->groups.at[j].at;
		s->groups.at[j].at = PAIR_NO_CALL;
	}
	pair_walk(s);
	size_t n = count_pairs(s);
	if (n > *n_pairs) {
		*n_pairs = n;
		return true;
	}
	for (size_t j = 0; j < s->groups.n; j++)
		s->groups.at[j].at = r->at.at[j];
	for (size_t k = 0; k < r->changed.n; k++)
		s->calls.at[r->changed.at[k]].takes_id_late = false;
	return false;
}

void pair_race(struct sides *s)
{
	struct race r = { .s = s };
	pair_walk(s);
	size_t n_pairs = count_pairs(s);
	size_t most = s->groups.n < s->calls.n ? s->groups.n : s->calls.n;
	if (n_pairs == most)
		return;
	r.group_of = mem_resize(NULL, s->calls.n * sizeof(*r.group_of));
	while (r.at.n < s->groups.n)
		vec_push(&r.at, 0);
	for (int n = 1; n < WALKS && n_pairs < most; n++)
		if (!mark_overtaken(&r) || !walk_again(&r, &n_pairs))
			break;
	if (n_pairs < most)
		pair_repair(s);
	free(r.group_of);
	vec_free(&r.at);
	vec_free(&r.active);
	vec_free(&r.changed);
}
