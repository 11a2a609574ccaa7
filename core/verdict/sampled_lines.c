/* Finds the lines of the CPU's work between calls, by the samples of the recorded steps. */
#include "core/analysis/host_sums.h"
#include "core/symbols/phase_rules.h"
#include "core/verdict/judge_parts.h"

/* Returns the stack of the call of this site before which the last play removed most time. */
static uint32_t stack_at(const struct judge *j, uint32_t site)
{
	double most_ms = 0;
	uint32_t stack = 0;
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		double ms = j->w.site[i] == site ? advice_taken_ms(j, i) : 0;
		if (ms <= most_ms)
			continue;
		most_ms = ms;
		stack = j->w.timeline->calls.at[j->w.replay.ops.at[i].call].stack;
	}
	return stack;
}

/* Returns the line at which the sampled stack leaves the function that also makes the call with the
 * stack `call`; 0: both are on the same line, or have no function in common. */
static uint32_t outer_of(struct frames *f, uint32_t stack, uint32_t call)
{
	struct phase_parting p = phase_rules_parting(f, stack, call);
	if (!phase_rules_differ_by_line(&p) || p.at->is_library)
		return 0;
	return frames_site_of(f, p.at);
}

static void add_ns(struct map *ns_of, uint32_t site, uint64_t ns)
{
	*map_at(ns_of, site + 1ull, NULL) += ns;
}

/* Returns the site with more than half of `all_ns`; 0: none has that. */
static uint32_t site_of_most(const struct map *ns_of, uint64_t all_ns, uint32_t n_sites)
{
	for (uint32_t i = 1; i <= n_sites; i++) {
		const uint64_t *ns = map_find(ns_of, i + 1ull);
		if (ns && *ns * 2 > all_ns)
			return i;
	}
	return 0;
}

struct sampled_lines sampled_lines_find(const struct judge *j, uint32_t site,
					bool (*counts)(uint8_t kind))
{
	struct frames *f = j->w.timeline->frames;
	const struct host_sums *s = &j->w.timeline->host;
	struct map of_outer = { 0 }, of_inner = { 0 };
	struct sampled_lines found = { 0 };
	uint64_t all_ns = 0;
	uint32_t call = stack_at(j, site);
	for (size_t i = 0; call && i < s->at.n; i++) {
		const struct host_sum *x = &s->at.at[i];
		if (!counts(x->kind) || !x->stack)
			continue;
		all_ns += x->ns;
		add_ns(&of_outer, outer_of(f, x->stack, call), x->ns);
		add_ns(&of_inner, frames_site(f, x->stack), x->ns);
	}
	found.outer = site_of_most(&of_outer, all_ns, frames_n_sites(f));
	found.inner = site_of_most(&of_inner, all_ns, frames_n_sites(f));
	map_free(&of_outer);
	map_free(&of_inner);
	return found;
}
