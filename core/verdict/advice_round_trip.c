/*
 * Advice on data that goes to the CPU, is worked on there, and comes back to the device: an
 * optimizer whose state is on the CPU, or a calculation with NumPy. Two lines of one function copy
 * the same sizes in both directions, several times per step, first to the CPU, and the CPU works in
 * between. A few results that the CPU only reads are no round trip, nor is a pipeline that copies
 * input to the device and results back.
 */
#include "core/symbols/site_name.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

enum { COPIES_LEAST = 4, SIZES_MOST = 64 };

static const double least_share = 0.10; /* share of the step that must be saved */
static const double work_share = 0.05;	/* the same without the CPU's work alone */

/* The copies of one line, by direction and size. */
struct line_copies {
	uint32_t site;
	bool is_to_host;
	uint64_t bytes[SIZES_MOST], all_bytes;
	uint32_t n[SIZES_MOST];
	size_t n_sizes;
};

static void add_copy(struct line_copies *l, uint64_t bytes)
{
	size_t i = 0;
	while (i < l->n_sizes && l->bytes[i] != bytes)
		i++;
	if (i == SIZES_MOST)
		return;
	l->n_sizes = i == l->n_sizes ? i + 1 : l->n_sizes;
	l->bytes[i] = bytes;
	l->n[i]++;
	l->all_bytes += bytes;
}

static bool is_one_function(const struct judge *j, uint32_t a, uint32_t b)
{
	const struct site *x = frames_site_at(j->w.timeline->frames, a),
			  *y = frames_site_at(j->w.timeline->frames, b);
	return a != b && !strcmp(x->file, y->file) && !strcmp(x->function, y->function);
}

/* Returns how many copies of one line per step come back at the other line. */
static double both_ways(const struct judge *j, const struct line_copies *to,
			const struct line_copies *from)
{
	uint64_t n = 0;
	for (size_t i = 0; i < to->n_sizes; i++)
		for (size_t k = 0; k < from->n_sizes; k++)
			if (to->bytes[i] == from->bytes[k])
				n += to->n[i] < from->n[k] ? to->n[i] : from->n[k];
	return (double)n / findings_count_steps(j->w.timeline).all;
}

struct all_copies {
	VEC(struct line_copies) lines;
};

static void collect(const struct timeline *t, struct all_copies *all)
{
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		bool is_to_host = c->copy == COPY_D2H;
		size_t k = 0;
		if (c->category != CAT_MEMCPY || c->bytes < TIMELINE_BATCH_BYTES || !c->site ||
		    (!is_to_host && c->copy != COPY_H2D))
			continue;
		while (k < all->lines.n && (all->lines.at[k].site != c->site ||
					    all->lines.at[k].is_to_host != is_to_host))
			k++;
		if (k == all->lines.n)
			vec_push(&all->lines,
				 (struct line_copies){ .site = c->site, .is_to_host = is_to_host });
		add_copy(&all->lines.at[k], c->bytes);
	}
}

/* Returns whether most steps copy at `to` before they copy at `from`. */
static bool comes_first(const struct timeline *t, uint32_t to, uint32_t from)
{
	uint32_t last = UINT32_MAX;
	long ahead = 0;
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		if (c->category != CAT_MEMCPY || (c->site != to && c->site != from) ||
		    c->step == last)
			continue;
		last = c->step;
		ahead += c->site == to ? 1 : -1;
	}
	return ahead > 0;
}

/* Adds advice on the data that goes to the CPU at `to` and comes back at `from`. */
static void advise_pair(struct judge *j, const struct line_copies *to,
			const struct line_copies *from)
{
	const struct site *back = frames_site_at(j->w.timeline->frames, from->site);
	char name[SITE_NAME_BYTES];
	const struct whatif_change changes[] = {
		{ .kind = WHATIF_LINE, .site = to->site },
		{ .kind = WHATIF_LINE, .site = from->site },
		{ .kind = WHATIF_BEFORE, .site = from->site },
	};
	if (judge_gain_ms(j, &changes[2], 1) < work_share * j->step_ms ||
	    judge_gain_ms(j, changes, 3) < fmax(judge_worth_ms(j), least_share * j->step_ms))
		return;
	advise(j, to->site, changes, 3, "keep this data on the GPU, and do the work there",
	       "%.1f KiB %s go to the CPU here and come back at %s; the CPU works on them in "
	       "between; the savings do not include the time that this work takes on the GPU",
	       (double)to->all_bytes / 1024 / findings_count_steps(j->w.timeline).all,
	       judge_per_step(j->f), site_name(back, name));
}

void advise_round_trip(struct judge *j)
{
	struct all_copies all = { 0 };
	collect(j->w.timeline, &all);
	for (size_t i = 0; i < all.lines.n; i++)
		for (size_t k = 0; k < all.lines.n; k++) {
			const struct line_copies *to = &all.lines.at[i], *from = &all.lines.at[k];
			if (to->is_to_host && !from->is_to_host &&
			    is_one_function(j, to->site, from->site) &&
			    comes_first(j->w.timeline, to->site, from->site) &&
			    both_ways(j, to, from) >= COPIES_LEAST)
				advise_pair(j, to, from);
		}
	vec_free(&all.lines);
}
