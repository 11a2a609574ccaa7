/* Removes the CPU time of a line that makes no CUDA call, but that samples show between calls: a
 * data loader's line, a metric, a sleep. */
#include "core/analysis/host_sums.h"
#include "core/util/path.h"
#include "core/whatif/whatif_parts.h"

/* The time that samples show at a line, and the part of it in which the changed line was on the
 * stack. */
struct at_site {
	uint64_t all_ns, here_ns;
};

static bool has_line(struct frames *f, uint32_t stack, const struct whatif_change *c)
{
	struct frame_list list = frames_of(f, stack);
	for (size_t i = 0; i < list.n; i++)
		if (list.at[i]->line == c->line && path_ends_with(list.at[i]->file, c->file))
			return true;
	return false;
}

/* Sums the samples by site. Returns whether the changed line is in any. */
static bool sum_sites(const struct whatif *w, const struct whatif_change *c, struct at_site *sites)
{
	const struct host_sums *s = &w->timeline->host;
	struct frames *frames = w->timeline->frames;
	uint32_t n_sites = frames_n_sites(frames);
	bool is_any = false;
	for (size_t i = 0; i < s->at.n; i++) {
		const struct host_sum *x = &s->at.at[i];
		uint32_t site = x->stack ? frames_site(frames, x->stack) : 0;
		if (!site || site > n_sites)
			continue;
		bool is_here = has_line(frames, x->stack, c);
		sites[site].all_ns += x->ns;
		sites[site].here_ns += is_here ? x->ns : 0;
		is_any |= is_here;
	}
	return is_any;
}

bool whatif_cut_sampled(struct whatif *w, const struct whatif_change *change)
{
	uint32_t n_sites = frames_n_sites(w->timeline->frames);
	struct at_site *sites = mem_zero((n_sites + 1) * sizeof(*sites));
	bool is_any = !change->site && sum_sites(w, change, sites);
	for (uint32_t i = 0; is_any && i < w->replay.ops.n; i++) {
		const struct timeline_call *c = whatif_call(w, i);
		if (!c || !c->before_site || c->before_site > n_sites)
			continue;
		const struct at_site *at = &sites[c->before_site];
		if (at->here_ns)
			w->edit.cut_ns[i] += (float)(whatif_spare_ns(w, i, true) *
						     (double)at->here_ns / (double)at->all_ns);
	}
	free(sites);
	return is_any;
}
