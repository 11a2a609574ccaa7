/* Finds the calls that a change of a line applies to: the calls that are attributed to the line or,
 * if there are none, the calls with the line anywhere in their stack. */
#include "core/analysis/inner_line.h"
#include "core/util/path.h"
#include "core/whatif/whatif_parts.h"

/* Returns true if the site is the changed line. */
static bool is_site(const struct whatif *w, const struct whatif_change *c, uint32_t site)
{
	if (c->site)
		return site == c->site;
	const struct site *s = frames_site_at(w->timeline->frames, site);
	return s->line == c->line && path_ends_with(s->file, c->file);
}

void whatif_place_open(struct whatif_place *p, const struct whatif *w,
		       const struct whatif_change *change)
{
	uint32_t n_sites = frames_n_sites(w->timeline->frames);
	*p = (struct whatif_place){ .w = w, .change = change, .site = mem_zero(n_sites + 1) };
	bool is_any = false;
	for (uint32_t site = 1; site <= n_sites; site++)
		is_any |= p->site[site] = is_site(w, change, site);
	p->is_by_stack = change->inner || !is_any;
}

void whatif_place_close(struct whatif_place *p)
{
	free(p->site);
	map_free(&p->of_stack);
}

/*
 * Returns true if the change applies to calls with this stack. If `inner` is set, the stack's line
 * in a library (inner_line_of()) must be `inner`. Otherwise the stack must contain the changed
 * line.
 */
static bool is_below(const struct whatif_place *p, uint32_t stack)
{
	const struct whatif_change *c = p->change;
	struct frames *frames = p->w->timeline->frames;
	if (c->inner)
		return inner_line_same(inner_line_of(frames, stack), c->inner);
	struct frame_list list = frames_of(frames, stack);
	for (size_t i = 0; i < list.n; i++)
		if (list.at[i]->line == c->line && path_ends_with(list.at[i]->file, c->file))
			return true;
	return false;
}

bool whatif_is_here(struct whatif_place *p, const struct timeline_call *c)
{
	if (!p->is_by_stack || (p->change->site && !p->site[c->site]))
		return p->site[c->site];
	bool is_new;
	uint64_t *at = map_at(&p->of_stack, c->stack, &is_new);
	if (is_new)
		*at = is_below(p, c->stack);
	return *at;
}
