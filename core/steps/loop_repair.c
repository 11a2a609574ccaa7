/* See loop_repair() in loop_tree.h. */
#include "core/steps/loop_tree.h"

/* What is known about the iterations of a loop that make all their calls at one place. */
struct verdict_of_site {
	uint64_t site;
	bool is_known, needs_others;
};

static bool cannot_go_round(const struct loop_tree *t, const struct loop_place *p,
			    const struct loop_iteration *i, struct verdict_of_site *last)
{
	if (!i->went_round || !i->has_one_site)
		return false;
	if (!last->is_known || last->site != i->site)
		*last = (struct verdict_of_site){
			.site = i->site,
			.is_known = true,
			.needs_others = loop_place_needs_others(&t->stacks, p, i->site),
		};
	return last->needs_others;
}

static void add_counts(struct loop_counts *to, const struct loop_counts *n)
{
	to->calls += n->calls;
	to->launches += n->launches;
	to->steps += n->steps;
	to->others += n->others;
	to->waits += n->waits;
	to->transfers += n->transfers;
	to->replayed += n->replayed;
	to->replayed_ticks += n->replayed_ticks;
}

/* Makes the calls of `i` part of the iteration after it. */
static void join(const struct loop_iteration *i, struct loop_iteration *next)
{
	next->begin_ticks = i->begin_ticks;
	if (i->launch_ticks)
		next->launch_ticks = i->launch_ticks;
	next->launch = i->launch;
	add_counts(&next->n, &i->n);
	next->places |= i->places;
	next->has_one_site &= next->site == i->site;
}

static struct loop_iteration *next_of_thread(struct loop *l, size_t i)
{
	uint32_t slot = l->iterations.at[i].slot;
	while (++i < l->iterations.n)
		if (l->iterations.at[i].slot == slot)
			return &l->iterations.at[i];
	return NULL;
}

/* Returns whether all iterations of the loop are right. The one after the last is not over yet. */
static bool repair(struct loop_tree *t, struct loop *l)
{
	const struct loop_place *p = &t->stacks.places.at[l->place];
	struct verdict_of_site last = { 0 };
	bool are_right = true;
	size_t n = 0;
	for (size_t i = 0; i < l->iterations.n; i++) {
		struct loop_iteration *at = &l->iterations.at[i], *next = NULL;
		bool is_wrong = cannot_go_round(t, p, at, &last);
		if (is_wrong)
			next = next_of_thread(l, i);
		if (next)
			join(at, next);
		else
			l->iterations.at[n++] = *at;
		are_right &= !is_wrong || next;
	}
	t->n_iterations -= l->iterations.n - n;
	l->iterations.n = n;
	return are_right;
}

void loop_repair(struct loop_tree *t)
{
	for (size_t i = 0; i < t->loops.n; i++) {
		struct loop *l = &t->loops.at[i];
		size_t n_sites = t->stacks.places.at[l->place].sites.n;
		if (l->n_sites_repaired != n_sites && repair(t, l))
			l->n_sites_repaired = n_sites;
	}
}
