#include "core/source/journal/pair_unsure.h"

#include "core/source/journal/pair_agree.h"
#include "core/source/journal/pair_gaps.h"

struct pair {
	size_t i, j;
	bool is_unsure;
};

struct pairs {
	const struct sides *s;
	struct pair *at;
	size_t n;
};

static const struct pair start = { PAIR_START, 0, false };

/*
 * A pair that might be moved: `hole` is its neighbour across the hole, `other` is its neighbour on
 * the other side.
 */
struct slide {
	const struct pair *hole, *pair, *other;
	bool is_right; /* the hole is before the pair, so it moves to the right */
};

static int64_t cost(const struct sides *s, const struct pair *a, const struct pair *b)
{
	const struct gap gap = { a->i, a->j, b->i, b->j };
	return gap_cost(s, &gap);
}

static int64_t cost_around(const struct sides *s, const struct slide *x, const struct pair *moved)
{
	const struct pair *a = x->is_right ? x->hole : x->other,
			  *b = x->is_right ? x->other : x->hole;
	return (a ? cost(s, a, moved) : 0) + (b ? cost(s, moved, b) : 0);
}

static bool is_hole(const struct pair *a, const struct pair *b)
{
	return a == &start || b->i - a->i != 1 || b->j - a->j != 1;
}

/* Returns the pair, moved towards the hole by the number of calls and groups in `by`. */
static struct pair moved(const struct pair *p, const struct pair *by, bool is_right)
{
	return is_right ? (struct pair){ p->i - by->i, p->j - by->j, false }
			: (struct pair){ p->i + by->i, p->j + by->j, false };
}

/*
 * Moves the hole across the pair at index `k`, and then across further pairs, while all calls and
 * groups are alike. Marks the pairs that it can pass at no cost as unsure.
 */
static void slide(struct pairs *p, size_t k, const struct pair *by, uint32_t symbol, bool is_right)
{
	struct pair hole = p->at[is_right ? k - 1 : k + 1];
	int64_t more = 0;
	for (; k < p->n; k += is_right ? 1 : SIZE_MAX) {
		const struct pair *pair = &p->at[k];
		const struct pair *before = k ? &p->at[k - 1] : &start,
				  *after = k + 1 < p->n ? &p->at[k + 1] : NULL;
		const struct slide x = { &hole, pair, is_right ? after : before, is_right };
		const struct pair to = moved(pair, by, is_right);
		if (p->s->calls.at[pair->i].symbol != symbol ||
		    p->s->groups.at[pair->j].symbol != symbol ||
		    !pair_could_agree(p->s, to.i, to.j))
			return;
		more += cost_around(p->s, &x, &to) - cost_around(p->s, &x, pair);
		if (more > 0)
			return;
		p->at[k].is_unsure = true;
		hole = to;
		if (!x.other || is_hole(is_right ? pair : x.other, is_right ? x.other : pair))
			return;
	}
}

/* Returns the symbol that all calls from `i` to `end` - 1 have; 0 if they differ. */
static uint32_t symbol_of_calls(const struct sides *s, size_t i, size_t end)
{
	uint32_t symbol = s->calls.at[i].symbol;
	for (; i < end && symbol; i++)
		if (s->calls.at[i].symbol != symbol)
			symbol = 0;
	return symbol;
}

static uint32_t symbol_of_works(const struct sides *s, size_t j, size_t end)
{
	uint32_t symbol = s->groups.at[j].symbol;
	for (; j < end && symbol; j++)
		if (s->groups.at[j].symbol != symbol)
			symbol = 0;
	return symbol;
}

static void slide_both_ways(struct pairs *p, size_t k, const struct pair *by, uint32_t symbol)
{
	if (!symbol)
		return;
	slide(p, k, by, symbol, false);
	slide(p, k + 1, by, symbol, true);
}

static void look_around_hole(struct pairs *p, size_t k)
{
	const struct pair *a = &p->at[k], *b = &p->at[k + 1];
	const struct pair calls = { b->i - a->i - 1, 0, false },
			  works = { 0, b->j - a->j - 1, false };
	if (calls.i)
		slide_both_ways(p, k, &calls, symbol_of_calls(p->s, a->i + 1, b->i));
	if (works.j)
		slide_both_ways(p, k, &works, symbol_of_works(p->s, a->j + 1, b->j));
}

void pair_drop_unsure(struct sides *s)
{
	struct pairs p = { .s = s, .at = mem_resize(NULL, s->groups.n * sizeof(*p.at)) };
	for (size_t j = 0; j < s->groups.n; j++)
		if (s->groups.at[j].at != PAIR_NO_CALL)
			p.at[p.n++] = (struct pair){ s->groups.at[j].at, j, false };
	for (size_t k = 0; k + 1 < p.n; k++)
		if (is_hole(&p.at[k], &p.at[k + 1]))
			look_around_hole(&p, k);
	for (size_t k = 0; k < p.n; k++)
		if (p.at[k].is_unsure)
			s->groups.at[p.at[k].j].at = PAIR_NO_CALL;
	free(p.at);
}
