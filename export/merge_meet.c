/*
 * Finds who comes last to which collective. See merge.h. A rank waits from the begin of its own
 * kernel until the last rank's kernel begins, but not longer than its own kernel runs.
 */
#include "export/merge.h"

#include <stdlib.h>

/* One collective. */
struct meeting {
	int64_t last_ns;
	size_t last;			     /* the rank */
	const struct merge_arrival *arrival; /* of the last rank */
	uint32_t n;
	double waited_ns;
};

/* What one rank, coming from one place, adds to a row. */
struct part {
	uint32_t row;
	size_t rank;
	uint32_t before;
	double ns;
};

struct meeting_all {
	const struct merge *m;
	struct map place, row_of, part_of;
	struct map steps; /* by number, plus 1: those with meetings */
	uint64_t n_steps;
	VEC(struct meeting) meetings;
	VEC(struct part) parts;
	merge_rows *rows;
};

static int64_t common(const struct merge *m, const struct merge_rank *r, uint64_t ns)
{
	return (int64_t)ns + merge_shift(m, r, ns);
}

static struct meeting *meeting_of(struct meeting_all *all, uint64_t key)
{
	bool is_new;
	uint64_t *at = map_at(&all->place, key, &is_new);
	if (is_new) {
		*at = all->meetings.n;
		vec_push(&all->meetings, (struct meeting){ .last_ns = INT64_MIN });
	}
	return &all->meetings.at[*at];
}

static void gather(struct meeting_all *all, size_t rank)
{
	const struct merge_rank *r = &all->m->ranks.at[rank];
	for (size_t i = 0; i < r->arrivals.n; i++) {
		const struct merge_arrival *a = &r->arrivals.at[i];
		struct meeting *x = meeting_of(all, a->key);
		int64_t ns = common(all->m, r, a->begin_ns);
		x->n++;
		if (ns <= x->last_ns)
			continue;
		x->last_ns = ns;
		x->last = rank;
		x->arrival = a;
	}
}

static void add_waits(struct meeting_all *all, size_t rank)
{
	const struct merge_rank *r = &all->m->ranks.at[rank];
	for (size_t i = 0; i < r->arrivals.n; i++) {
		const struct merge_arrival *a = &r->arrivals.at[i];
		struct meeting *x = meeting_of(all, a->key);
		int64_t begin_ns = common(all->m, r, a->begin_ns),
			end_ns = common(all->m, r, a->end_ns),
			until_ns = end_ns < x->last_ns ? end_ns : x->last_ns;
		if (until_ns > begin_ns)
			x->waited_ns += (double)(until_ns - begin_ns);
	}
}

static uint32_t row_of(struct meeting_all *all, const struct merge_arrival *a)
{
	bool is_new;
	uint64_t *at = map_at(&all->row_of, (uint64_t)a->name << 32 | a->place, &is_new);
	if (is_new) {
		*at = all->rows->n;
		vec_push(all->rows, (struct merge_row){ .name = a->name, .place = a->place });
	}
	return (uint32_t)*at;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	return (a ^ b * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull ^ b;
}

static void add_meeting(struct meeting_all *all, const struct meeting *x)
{
	bool is_new;
	double ns = x->waited_ns / (x->n - 1);
	map_at(&all->steps, x->arrival->step + 1, &is_new);
	all->n_steps += is_new;
	uint32_t row = row_of(all, x->arrival);
	struct merge_row *to = &all->rows->at[row];
	to->n++;
	to->wait_ns += ns;
	to->n_ranks = x->n > to->n_ranks ? x->n : to->n_ranks;
	uint64_t key = mix(mix(row, x->last), x->arrival->before);
	uint64_t *at = map_at(&all->part_of, key, &is_new);
	if (is_new) {
		*at = all->parts.n;
		vec_push(&all->parts, (struct part){ row, x->last, x->arrival->before, 0 });
	}
	all->parts.at[*at].ns += ns;
}

/* ---- Which rank, and where it was ---- */

static int by_rank(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* Fills the last rank of each row. The parts are sorted by row and rank, the longest first. */
static void choose_last(struct meeting_all *all)
{
	for (size_t i = 0; i < all->parts.n;) {
		const struct part *first = &all->parts.at[i];
		struct merge_row *row = &all->rows->at[first->row];
		double ns = 0;
		for (; i < all->parts.n && all->parts.at[i].row == first->row &&
		       all->parts.at[i].rank == first->rank;
		     i++)
			ns += all->parts.at[i].ns;
		if (ns < row->last_ns)
			continue;
		row->last_ns = ns;
		row->last = first->rank;
		row->before = first->before;
	}
}

static int by_wait(const void *a, const void *b)
{
	const struct merge_row *x = a, *y = b;
	if (x->wait_ns != y->wait_ns)
		return x->wait_ns > y->wait_ns ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

void merge_meet(merge_rows *to, const struct merge *m)
{
	struct meeting_all all = { .m = m, .rows = to };
	for (size_t i = 0; i < m->ranks.n; i++)
		gather(&all, i);
	for (size_t i = 0; i < m->ranks.n; i++)
		add_waits(&all, i);
	for (size_t i = 0; i < all.meetings.n; i++)
		if (all.meetings.at[i].n > 1)
			add_meeting(&all, &all.meetings.at[i]);
	if (all.parts.n)
		qsort(all.parts.at, all.parts.n, sizeof(*all.parts.at), by_rank);
	choose_last(&all);
	for (size_t i = 0; i < to->n; i++)
		to->at[i].n_steps = all.n_steps;
	if (to->n)
		qsort(to->at, to->n, sizeof(*to->at), by_wait);
	vec_free(&all.meetings);
	vec_free(&all.parts);
	map_free(&all.place);
	map_free(&all.row_of);
	map_free(&all.part_of);
	map_free(&all.steps);
}
