/*
 * See pair_repair.h. If nothing is missing, a call without work and work without a call mean that
 * the walk gave the work of a call that lost the CPU to a call that overtook it, or the reverse. A
 * call that is active for long may have launched the work that is left, so that its own is free.
 * Then the calls between that and the call without work have the work of their neighbours. Their
 * work is given out anew. A call's work never precedes the work of a call that had ended before. Of
 * the calls that may come next and may have launched the next work, the one that ended first gets
 * it. If any order of the calls is possible, this one is. Calls outside of this part keep their
 * work, so that one that lost the CPU after it took its id is not touched.
 */
#include "core/source/journal/pair_repair.h"

#include "core/source/journal/pair_agree.h"

enum {
	MOST_LEFT = 64,	    /* calls without work; of more, the cause is another one */
	TRIES = 16,	    /* parts tried for a call */
	TRIES_OF_OTHER = 4, /* with 1, 144 of the 150 rounds of its test are whole, with 4: 148 */
	STEPS = 1 << 27,    /* limit of comparisons in total, about 0.3 s */
};

struct repair {
	struct sides *s;
	uint32_t *group_of;    /* by call: its group, PAIR_NO_CALL if it has none */
	VEC(uint32_t) left;    /* calls without work */
	VEC(uint32_t) slots;   /* groups of the part */
	VEC(uint32_t) calls;   /* calls of the part, in the order in which they began */
	VEC(uint32_t) open;    /* those that began and have no work yet */
	VEC(uint32_t) results; /* by slot: its call */
	size_t steps_left;     /* of STEPS */
};

static bool spend(struct repair *r, size_t n)
{
	bool is_enough = r->steps_left > n;
	r->steps_left = is_enough ? r->steps_left - n : 0;
	return is_enough;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static uint64_t begin_of(const struct repair *r, uint32_t call)
{
	return r->s->calls.at[call].call->begin_ticks;
}

/* Lists groups and calls of the part from group `low` to `high`, with a call and a group that are
 * left. */
static void list_part(struct repair *r, size_t low, size_t high, uint32_t call, size_t group)
{
	r->slots.n = r->calls.n = 0;
	vec_push(&r->calls, call);
	for (size_t j = low; j <= high; j++) {
		uint32_t at = r->s->groups.at[j].at;
		if (at == PAIR_NO_CALL && j != group)
			continue;
		vec_push(&r->slots, (uint32_t)j);
		if (j != group)
			vec_push(&r->calls, at);
	}
	qsort(r->calls.at, r->calls.n, sizeof(*r->calls.at), by_number);
}

/* Opens the calls that began before one of the open calls ended. Returns when the first of the open
 * calls ends. */
static uint64_t open_calls(struct repair *r, size_t *next)
{
	uint64_t first_end = UINT64_MAX;
	for (size_t k = 0; k < r->open.n; k++)
		if (r->s->calls.at[r->open.at[k]].end_ticks < first_end)
			first_end = r->s->calls.at[r->open.at[k]].end_ticks;
	for (; *next < r->calls.n && begin_of(r, r->calls.at[*next]) <= first_end; ++*next) {
		uint32_t call = r->calls.at[*next];
		vec_push(&r->open, call);
		if (r->s->calls.at[call].end_ticks < first_end)
			first_end = r->s->calls.at[call].end_ticks;
	}
	return first_end;
}

/* Gives the part's groups to its calls. Returns false if that is not possible. */
static bool give_out(struct repair *r)
{
	size_t next = 0;
	r->open.n = r->results.n = 0;
	for (size_t k = 0; k < r->slots.n; k++) {
		uint64_t first_end = open_calls(r, &next), best_end = UINT64_MAX;
		size_t best = SIZE_MAX;
		for (size_t n = 0; n < r->open.n; n++) {
			uint32_t call = r->open.at[n];
			uint64_t end = r->s->calls.at[call].end_ticks;
			if (begin_of(r, call) <= first_end && end < best_end &&
			    pair_could_agree(r->s, call, r->slots.at[k])) {
				best = n;
				best_end = end;
			}
		}
		if (best == SIZE_MAX)
			return false;
		vec_push(&r->results, r->open.at[best]);
		r->open.at[best] = r->open.at[--r->open.n];
	}
	for (size_t k = 0; k < r->slots.n; k++) {
		r->s->groups.at[r->slots.at[k]].at = r->results.at[k];
		r->group_of[r->results.at[k]] = r->slots.at[k];
	}
	return true;
}

/*
 * Returns the last group before `low` of a call that was active when the part's first call began:
 * the next one that may have been given to the wrong call. SIZE_MAX if there is none.
 */
static size_t active_before(const struct repair *r, size_t low)
{
	size_t found = SIZE_MAX;
	uint32_t first = r->calls.at[0];
	for (uint32_t i = 0; i < first; i++)
		if (r->s->calls.at[i].end_ticks >= begin_of(r, first) &&
		    r->group_of[i] != PAIR_NO_CALL && r->group_of[i] < low &&
		    (found == SIZE_MAX || r->group_of[i] > found))
			found = r->group_of[i];
	return found;
}

/* Returns the group of the last call before `call` that has one. */
static size_t place_of(const struct repair *r, uint32_t call)
{
	while (call && r->group_of[call] == PAIR_NO_CALL)
		call--;
	return r->group_of[call] == PAIR_NO_CALL ? 0 : r->group_of[call];
}

/* Gives out anew what lies between the call's place and the group, or more. */
static bool repair_part(struct repair *r, uint32_t call, size_t group, int tries)
{
	size_t place = place_of(r, call);
	size_t low = place < group ? place : group, high = place < group ? group : place;
	for (int n = 0; n < tries && low != SIZE_MAX && spend(r, r->s->calls.n + high - low); n++) {
		list_part(r, low, high, call, group);
		if (give_out(r))
			return true;
		low = active_before(r, low);
	}
	return false;
}

/* Returns whether the group of no other call says that `call` cannot have `group`. */
static bool is_in_order(const struct repair *r, uint32_t call, size_t group, uint32_t except)
{
	uint64_t begin = begin_of(r, call), end = r->s->calls.at[call].end_ticks;
	for (uint32_t i = 0; i < r->s->calls.n; i++) {
		if (i == call || i == except || r->group_of[i] == PAIR_NO_CALL)
			continue;
		if (r->group_of[i] > group ? r->s->calls.at[i].end_ticks < begin
					   : begin_of(r, i) > end)
			return false;
	}
	return true;
}

static void give(struct repair *r, uint32_t call, size_t group)
{
	r->s->groups.at[group].at = call;
	r->group_of[call] = (uint32_t)group;
}

/* Returns whether the neighbours of `group` allow that `call` has it. */
static bool may_be_in_order(const struct repair *r, uint32_t call, size_t group)
{
	const struct sides *s = r->s;
	const struct caller *c = &s->calls.at[call];
	uint32_t before = group ? s->groups.at[group - 1].at : PAIR_NO_CALL;
	uint32_t after = group + 1 < s->groups.n ? s->groups.at[group + 1].at : PAIR_NO_CALL;
	return (before == PAIR_NO_CALL || begin_of(r, before) <= c->end_ticks) &&
	       (after == PAIR_NO_CALL || s->calls.at[after].end_ticks >= c->call->begin_ticks);
}

/*
 * Returns the call whose group is nearest to `place`, farther than `farther`, that may have
 * launched `group` instead. PAIR_NO_CALL if there is none.
 */
static uint32_t other_call(const struct repair *r, size_t place, size_t group, size_t *farther)
{
	uint32_t found = PAIR_NO_CALL;
	size_t nearest = SIZE_MAX;
	for (uint32_t i = 0; i < r->s->calls.n; i++) {
		size_t its = r->group_of[i], distance = its > place ? its - place : place - its;
		if (its == PAIR_NO_CALL || distance <= *farther || distance >= nearest ||
		    !may_be_in_order(r, i, group) || !pair_could_agree(r->s, i, group))
			continue;
		found = i;
		nearest = distance;
	}
	*farther = nearest;
	return found;
}

/*
 * Gives the group that is left to a call that lost the CPU, and what lies between that call's group
 * and the place of the call without work to the calls there. Returns false if that is not possible.
 */
static bool repair_by_other(struct repair *r, uint32_t call, size_t group)
{
	size_t place = place_of(r, call), farther = 0;
	for (int n = 0; n < TRIES && spend(r, 2 * r->s->calls.n); n++) {
		uint32_t other = other_call(r, place, group, &farther);
		if (other == PAIR_NO_CALL)
			break;
		size_t its = r->group_of[other];
		if (!is_in_order(r, other, group, call))
			continue;
		give(r, other, group);
		r->s->groups.at[its].at = PAIR_NO_CALL;
		if (repair_part(r, call, its, TRIES_OF_OTHER))
			return true;
		give(r, other, its);
		r->s->groups.at[group].at = PAIR_NO_CALL;
	}
	return false;
}

static void repair_call(struct repair *r, uint32_t call)
{
	const struct sides *s = r->s;
	for (size_t j = 0; j < s->groups.n && spend(r, 1); j++)
		if (s->groups.at[j].at == PAIR_NO_CALL &&
		    s->groups.at[j].symbol == s->calls.at[call].symbol &&
		    (repair_by_other(r, call, j) || repair_part(r, call, j, TRIES)))
			return;
}

void pair_repair(struct sides *s)
{
	struct repair r = { .s = s, .steps_left = STEPS };
	if (s->calls.n != s->groups.n)
		return;
	r.group_of = mem_resize(NULL, s->calls.n * sizeof(*r.group_of));
	for (size_t i = 0; i < s->calls.n; i++)
		r.group_of[i] = PAIR_NO_CALL;
	for (size_t j = 0; j < s->groups.n; j++)
		if (s->groups.at[j].at != PAIR_NO_CALL)
			r.group_of[s->groups.at[j].at] = (uint32_t)j;
	for (size_t i = 0; i < s->calls.n; i++)
		if (r.group_of[i] == PAIR_NO_CALL)
			vec_push(&r.left, (uint32_t)i);
	for (size_t k = 0; k < r.left.n && r.left.n <= MOST_LEFT; k++)
		repair_call(&r, r.left.at[k]);
	free(r.group_of);
	vec_free(&r.left);
	vec_free(&r.slots);
	vec_free(&r.calls);
	vec_free(&r.open);
	vec_free(&r.results);
}
