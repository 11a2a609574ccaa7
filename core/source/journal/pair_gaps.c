#include "core/source/journal/pair_gaps.h"

enum { ENOUGH = 3, MOSTLY_PCT = 75, NEARLY_ALL_PCT = 98 };

/*
 * What is usual between two neighbours that ask for certain things. Calls whose records were
 * dropped between them are assumed to be usual, too.
 */
struct usual {
	uint32_t step, n, votes;
	uint32_t others, others_votes; /* calls without work between the two */
};

struct table {
	struct map of;
	VEC(struct usual) at;
};

static uint64_t neighbours(uint32_t before, uint32_t after)
{
	return (uint64_t)before << 32 | after;
}

static struct usual *usual_of(struct table *t, uint64_t key)
{
	bool is_new;
	uint64_t *at = map_at(&t->of, key, &is_new);
	if (is_new) {
		*at = t->at.n;
		vec_push(&t->at, (struct usual){ 0 });
	}
	return &t->at.at[*at];
}

/*
 * Learns the usual growth of ids between two neighbouring groups, by majority vote. Some neighbours
 * have a gap between them; these are outvoted.
 */
static void learn(struct table *t, const struct sides *s, bool is_recount)
{
	for (size_t j = 1; j < s->groups.n; j++) {
		const struct group *g = &s->groups.at[j];
		struct usual *u = usual_of(t, neighbours(g[-1].symbol, g->symbol));
		uint32_t step = g->order - g[-1].order;
		if (is_recount) {
			u->n++;
			u->votes += u->step == step;
		} else if (u->step == step || !u->votes) {
			u->step = step;
			u->votes++;
		} else {
			u->votes--;
		}
	}
}

static void learn_others(const struct table *t, const struct sides *s)
{
	for (size_t i = 1; i < s->calls.n; i++) {
		const struct caller *c = &s->calls.at[i];
		const uint64_t *at = map_find(&t->of, neighbours(c[-1].symbol, c->symbol));
		struct usual *u = at ? &t->at.at[*at] : NULL;
		if (!u)
			continue;
		if (u->others == c->others || !u->others_votes) {
			u->others = c->others;
			u->others_votes++;
		} else {
			u->others_votes--;
		}
	}
}

/* Returns whether the usual growth of ids applies from the previous call to this one. */
static bool is_plain(const struct caller *c)
{
	return c->symbol && c[-1].symbol && !c->follows_call_without_work && !c->is_disturbed &&
	       c->n_unknown_gaps == c[-1].n_unknown_gaps;
}

static bool is_usual(const struct usual *u)
{
	return u->n >= ENOUGH && u->votes * 100ull >= u->n * (uint64_t)MOSTLY_PCT;
}

static void find_odd(const struct table *t, struct sides *s)
{
	for (size_t j = 1; j < s->groups.n; j++) {
		struct group *g = &s->groups.at[j];
		const uint64_t *at = map_find(&t->of, neighbours(g[-1].symbol, g->symbol));
		const struct usual *u = &t->at.at[*at];
		g->is_odd = is_usual(u) && g->order - g[-1].order != u->step;
	}
}

/* Returns by how much ids grow between nearly all neighbours; 0: by different numbers. */
static uint32_t common_step(const struct table *t)
{
	uint64_t n = 0, votes = 0, most = 0;
	uint32_t step = 0;
	for (size_t k = 0; k < t->at.n; k++)
		if (t->at.at[k].votes > most) {
			most = t->at.at[k].votes;
			step = t->at.at[k].step;
		}
	for (size_t k = 0; k < t->at.n; k++) {
		n += t->at.at[k].n;
		votes += t->at.at[k].step == step ? t->at.at[k].votes : 0;
	}
	return votes * 100 >= n * NEARLY_ALL_PCT ? step : 0;
}

/*
 * Returns by how much the id grows from the previous call to the next one with work; 0: not known.
 * If calls between were lost, the two are mostly no neighbours.
 */
static uint32_t usual_step(const struct table *t, const struct caller *c, uint32_t common)
{
	if (!is_plain(c))
		return 0;
	const uint64_t *at = map_find(&t->of, neighbours(c[-1].symbol, c->symbol));
	const struct usual *u = at ? &t->at.at[*at] : NULL;
	if (u && u->others == c->others && is_usual(u))
		return u->step;
	return c->lost && !c->others ? common : 0;
}

static uint32_t cost_of_odd(const struct table *t)
{
	uint64_t n = 0, votes = 0;
	for (size_t k = 0; k < t->at.n; k++) {
		n += t->at.at[k].n;
		votes += t->at.at[k].votes;
	}
	return votes * 100 >= n * NEARLY_ALL_PCT ? COST_RARE_NUMBER : COST_ODD_NUMBER;
}

void gaps_learn(struct sides *s)
{
	struct table t = { 0 };
	learn(&t, s, false);
	for (size_t k = 0; k < t.at.n; k++)
		t.at.at[k].votes = 0;
	learn(&t, s, true);
	learn_others(&t, s);
	find_odd(&t, s);
	s->odd_cost = cost_of_odd(&t);
	uint32_t common = common_step(&t);
	for (size_t i = 0; i < s->calls.n; i++) {
		struct caller *c = &s->calls.at[i];
		uint32_t step = i && !s->is_from_race ? usual_step(&t, c, common) : 0;
		c->sum_lost = c->lost + (i ? c[-1].sum_lost : 0);
		c->n_unknown_steps = !step + (i ? c[-1].n_unknown_steps : 0);
		c->expected = (step ? step : 1) * (1 + c->lost) + (i ? c[-1].expected : 0);
	}
	map_free(&t.of);
	vec_free(&t.at);
}

uint32_t gap_length_cost(size_t calls, size_t works)
{
	size_t foreign = works < FOREIGN_STEPS ? works : FOREIGN_STEPS;
	return (calls ? COST_MISSING + COST_STEP * (uint32_t)calls : 0) +
	       (works ? COST_FOREIGN + COST_STEP * (uint32_t)foreign : 0);
}

/*
 * Returns the cost of work that begins late. Work normally begins right after the previous work, or
 * soon after its own call if the previous work has ended by then. It begins later if it waits for
 * another stream.
 */
static uint32_t wait_cost(const struct sides *s, size_t i, size_t j)
{
	uint64_t ready = s->calls.at[i].end_ticks;
	if (s->waits_are_usual)
		return 0;
	if (j && s->groups.at[j - 1].end_ticks > ready)
		ready = s->groups.at[j - 1].end_ticks;
	return s->groups.at[j].begin_ticks > ready + s->clocks_differ_ticks ? COST_WAITED : 0;
}

bool gaps_have_waits(const struct sides *s)
{
	size_t n = 0, n_waits = 0;
	for (size_t j = 0; j < s->groups.n; j++) {
		if (s->groups.at[j].at == PAIR_NO_CALL)
			continue;
		n++;
		n_waits += wait_cost(s, s->groups.at[j].at, j) > 0;
	}
	return n_waits * 2 > n;
}

static size_t apart(size_t a, size_t b)
{
	return a > b ? a - b : b - a;
}

static uint32_t start_cost(const struct sides *s, const struct gap *g)
{
	const struct caller *c = &s->calls.at[g->i];
	if (!s->begins_late)
		return gap_length_cost(g->i, g->j - g->from_j);
	if (c->n_unknown_gaps)
		return gap_length_cost(g->i, 0) + COST_EARLIER;
	return gap_length_cost(g->i, apart(s->n_gone + g->j, s->first_left + c->sum_lost)) +
	       COST_LOST;
}

static uint32_t odd_cost(const struct sides *s, const struct gap *g)
{
	bool is_again = g->j == g->from_j + 1 && s->groups.at[g->from_j].is_odd &&
			s->groups.at[g->j].is_odd;
	return is_again ? COST_ODD_AGAIN : s->odd_cost;
}

static uint32_t left_out_cost(const struct sides *s, const struct gap *g)
{
	const struct caller *b = &s->calls.at[g->i];
	if (g->from_i == PAIR_START)
		return start_cost(s, g);
	const struct caller *a = &s->calls.at[g->from_i];
	size_t calls = g->i - g->from_i - 1, works = g->j - g->from_j - 1;
	if (a->n_unknown_gaps != b->n_unknown_gaps)
		return gap_length_cost(calls, 0) + COST_EARLIER;
	uint32_t step = s->groups.at[g->j].order - s->groups.at[g->from_j].order;
	uint32_t expected = b->expected - a->expected, lost = b->sum_lost - a->sum_lost;
	bool step_is_known = a->n_unknown_steps == b->n_unknown_steps;
	size_t foreign = apart(works, lost);
	bool is_odd = step < expected + (works > lost ? works - lost : 0) ||
		      (step_is_known && !foreign && step != expected);
	uint32_t odd = is_odd ? odd_cost(s, g) : 0;
	if (!calls && !foreign)
		return odd + (lost ? COST_LOST : 0);
	/* of the calls whose records were lost, some may have lost their work, too */
	if (step_is_known && step == expected && works <= lost)
		return COST_NUMBERED;
	return gap_length_cost(calls, foreign) + odd;
}

uint32_t gap_cost(const struct sides *s, const struct gap *g)
{
	return left_out_cost(s, g) + wait_cost(s, g->i, g->j);
}
