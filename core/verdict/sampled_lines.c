/* Finds the lines of the CPU's work between calls, by the samples of the recorded steps. */
#include "core/analysis/host_sums.h"
#include "core/symbols/phase_rules.h"
#include "core/verdict/judge_parts.h"

/* The stacks of the played calls, each of them once. */
struct call_stacks {
	VEC(uint32_t) at;
};

static void find_stacks(const struct judge *j, struct call_stacks *found)
{
	const struct timeline *t = j->w.timeline;
	struct map seen = { 0 };
	bool is_new;
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		uint32_t call = j->w.replay.ops.at[i].call,
			 stack = call < t->calls.n ? t->calls.at[call].stack : 0;
		if (!stack)
			continue;
		map_at(&seen, stack, &is_new);
		if (is_new)
			vec_push(&found->at, stack);
	}
	map_free(&seen);
}

/* Returns how many frames of the stack are inside of `frame`, which is one of its frames. */
static size_t depth_of(struct frames *f, uint32_t stack, const struct frame *frame)
{
	struct frame_list list = frames_of(f, stack);
	size_t i = 0;
	while (i < list.n && list.at[i] != frame)
		i++;
	return i;
}

/*
 * Returns the frame of the sampled stack in the innermost function that it shares with the call. A
 * line may make calls itself, too: `for batch in f(loader)` gives back the memory of the last
 * batch, and then f() waits for the next one.
 */
static const struct frame *shared_with(struct frames *f, uint32_t stack, uint32_t call,
				       bool *differs)
{
	struct phase_parting p = phase_rules_parting(f, stack, call);
	*differs = phase_rules_differ_by_line(&p);
	return p.at && !p.other && p.shared ? p.shared : p.at;
}

/*
 * Returns the line at which the sampled stack leaves the innermost function that also makes calls;
 * 0: only that line makes them, or no user's function makes calls. The call that follows the sample
 * may be one of another function, such as that of an evaluation after the last batch.
 */
static uint32_t outer_of(struct frames *f, uint32_t stack, const struct call_stacks *calls)
{
	const struct frame *nearest = NULL;
	size_t least = SIZE_MAX;
	bool is_apart = false;
	for (size_t i = 0; i < calls->at.n; i++) {
		bool differs;
		const struct frame *at = shared_with(f, stack, calls->at.at[i], &differs);
		size_t depth = at ? depth_of(f, stack, at) : SIZE_MAX;
		if (!at || at->is_library || depth > least)
			continue;
		is_apart = depth < least ? differs : is_apart || differs;
		nearest = at;
		least = depth;
	}
	return nearest && is_apart ? frames_site_of(f, nearest) : 0;
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

struct sampled_lines sampled_lines_find(const struct judge *j, bool (*counts)(uint8_t kind))
{
	struct frames *f = j->w.timeline->frames;
	const struct host_sums *s = &j->w.timeline->host;
	struct map of_outer = { 0 }, of_inner = { 0 };
	struct sampled_lines found = { 0 };
	uint64_t all_ns = 0;
	struct call_stacks calls = { 0 };
	find_stacks(j, &calls);
	for (size_t i = 0; i < s->at.n; i++) {
		const struct host_sum *x = &s->at.at[i];
		if (!counts(x->kind) || !x->stack)
			continue;
		all_ns += x->ns;
		add_ns(&of_outer, outer_of(f, x->stack, &calls), x->ns);
		add_ns(&of_inner, frames_site(f, x->stack), x->ns);
	}
	found.outer = site_of_most(&of_outer, all_ns, frames_n_sites(f));
	found.inner = site_of_most(&of_inner, all_ns, frames_n_sites(f));
	map_free(&of_outer);
	map_free(&of_inner);
	vec_free(&calls.at);
	return found;
}
