/* See loop_bodies.h. */
#include "core/steps/loop_bodies.h"

typedef VEC(struct flow_site) site_list;

void loop_bodies_free(struct loop_bodies *b)
{
	for (size_t i = 0; i < b->all.n; i++) {
		for (size_t k = 0; k < b->all.at[i].sites.n; k++)
			vec_free(&b->all.at[i].sites.at[k].callees);
		vec_free(&b->all.at[i].sites);
	}
	vec_free(&b->all);
	map_free(&b->of_key);
}

static const struct loop_frame *frame_at(const struct loop_stacks *x, const struct loop_stack *s,
					 size_t level)
{
	return &x->frames.at[s->frames[level]];
}

static bool has_body(const struct loop_frame *f)
{
	return f->is & LOOP_FRAME_PYTHON && f->flow;
}

static uint64_t key_of(const struct loop_stacks *x, const struct loop_stack *s, size_t level)
{
	return (uint64_t)(level ? s->nodes[level - 1] : 0) << 32 | frame_at(x, s, level)->function;
}

/* ---- Sites ---- */

static uint32_t body_index(struct loop_stacks *x, const struct loop_stack *s, size_t level)
{
	struct loop_bodies *b = &x->bodies;
	bool is_new;
	uint64_t *index = map_at(&b->of_key, key_of(x, s, level), &is_new);
	if (is_new) {
		*index = b->all.n;
		vec_push(&b->all, ((struct loop_body){ .flow = frame_at(x, s, level)->flow,
						       .is_library = frame_at(x, s, level)->is &
								     (LOOP_FRAME_LIBRARY |
								      LOOP_FRAME_FRAMEWORK) }));
	}
	return (uint32_t)*index;
}

static struct loop_body_site *site_at(struct loop_stacks *x, struct loop_body *b, uint64_t at)
{
	for (size_t i = 0; i < b->sites.n; i++)
		if (b->sites.at[i].at == at)
			return &b->sites.at[i];
	vec_push(&b->sites, ((struct loop_body_site){ .at = at }));
	x->n_sites++;
	return &b->sites.at[b->sites.n - 1];
}

static void add_callee(struct loop_stacks *x, struct loop_body_site *site, uint32_t callee)
{
	for (size_t i = 0; i < site->callees.n; i++)
		if (site->callees.at[i] == callee)
			return;
	vec_push(&site->callees, callee);
	x->n_sites++;
}

void loop_bodies_add(struct loop_stacks *x, const struct loop_stack *s, bool works)
{
	for (size_t level = 0; level < s->n; level++) {
		const struct loop_frame *f = frame_at(x, s, level);
		if (!has_body(f))
			continue;
		const struct loop_frame *next = level + 1 < s->n ? frame_at(x, s, level + 1) : NULL;
		bool has_callee = next && has_body(next);
		uint32_t callee = has_callee ? body_index(x, s, level + 1) : 0,
			 body = body_index(x, s, level);
		struct loop_body_site *site = site_at(x, &x->bodies.all.at[body], f->at);
		if (has_callee)
			add_callee(x, site, callee);
		else if (next && next->is & LOOP_FRAME_PYTHON)
			site->calls_unknown = true;
		x->n_sites += works && !site->works;
		site->works |= works;
	}
}

/* ---- Certainty ---- */

static bool body_is_certain(struct loop_stacks *x, uint32_t index);

/* Native code is taken to make its call each time, unless it is one of upkeep. */
static bool site_is_certain(struct loop_stacks *x, const struct loop_body_site *site)
{
	for (size_t i = 0; i < site->callees.n; i++)
		if (!body_is_certain(x, site->callees.at[i]))
			return false;
	return !site->calls_unknown && site->works;
}

/* Adds the body's certain sites, without the one at `but`. */
static void add_certain(struct loop_stacks *x, uint32_t index, uint64_t but, site_list *to)
{
	const struct loop_body *b = &x->bodies.all.at[index];
	for (size_t i = 0; i < b->sites.n; i++)
		if (b->sites.at[i].at != but && site_is_certain(x, &b->sites.at[i]))
			vec_push(to, ((struct flow_site){ b->sites.at[i].at, false }));
}

static bool body_is_certain(struct loop_stacks *x, uint32_t index)
{
	struct loop_body *b = &x->bodies.all.at[index];
	if (b->n_sites_then != x->n_sites) {
		site_list sites = { 0 };
		add_certain(x, index, UINT64_MAX, &sites);
		b->is_certain = flow_always_calls(b->flow, sites.at, sites.n);
		b->n_sites_then = x->n_sites;
		vec_free(&sites);
	}
	return b->is_certain;
}

static bool certain_others(struct loop_stacks *x, const struct loop_stack *s, uint32_t level,
			   site_list *to)
{
	const struct loop_frame *f = frame_at(x, s, level);
	const uint64_t *index = has_body(f) ? map_find(&x->bodies.of_key, key_of(x, s, level))
					    : NULL;
	if (index)
		add_certain(x, (uint32_t)*index, f->at, to);
	return to->n;
}

bool loop_call_needs_others(struct loop_stacks *x, const struct loop_stack *s, uint32_t level)
{
	const struct loop_frame *f = frame_at(x, s, level);
	site_list others = { 0 };
	bool needs = certain_others(x, s, level, &others) &&
		     flow_call_needs(f->flow, f->at, others.at, others.n);
	vec_free(&others);
	return needs;
}

bool loop_turn_needs_others(struct loop_stacks *x, const struct loop_stack *s, uint32_t level,
			    uint32_t number)
{
	const struct loop_frame *f = frame_at(x, s, level);
	site_list others = { 0 };
	bool needs = certain_others(x, s, level, &others) &&
		     (flow_is_always(f->flow, number, others.at, others.n) ||
		      flow_is_between(f->flow, number, f->at, others.at, others.n));
	vec_free(&others);
	return needs;
}

/* ---- Hidden iterations ---- */

static bool is_in_loop(const struct loop_body *b, const struct loop_body_site *site)
{
	uint32_t number;
	return flow_loops_around(b->flow, site->at, &number, 1);
}

static bool body_always_shows(const struct loop_stacks *x, const struct loop_body *b);

/* Returns whether each pass of the site makes a call outside of loops. */
static bool site_shows(const struct loop_stacks *x, const struct loop_body *b,
		       const struct loop_body_site *site)
{
	if (!site->works || site->calls_unknown || is_in_loop(b, site))
		return false;
	for (size_t i = 0; i < site->callees.n; i++) {
		const struct loop_body *callee = &x->bodies.all.at[site->callees.at[i]];
		if (!callee->is_library && !body_always_shows(x, callee))
			return false;
	}
	return true;
}

static void add_shown(const struct loop_stacks *x, const struct loop_body *b, uint64_t but,
		      site_list *to)
{
	for (size_t i = 0; i < b->sites.n; i++)
		if (b->sites.at[i].at != but && site_shows(x, b, &b->sites.at[i]))
			vec_push(to, ((struct flow_site){ b->sites.at[i].at, false }));
}

static bool body_always_shows(const struct loop_stacks *x, const struct loop_body *b)
{
	site_list shown = { 0 };
	add_shown(x, b, UINT64_MAX, &shown);
	bool always = shown.n && flow_always_calls(b->flow, shown.at, shown.n);
	vec_free(&shown);
	return always;
}

/* Returns whether a call of the function may make calls in loops only. */
static bool body_may_hide(const struct loop_stacks *x, const struct loop_body *b)
{
	bool may_hide = false;
	for (size_t i = 0; i < b->sites.n && !may_hide; i++) {
		const struct loop_body_site *site = &b->sites.at[i];
		bool is_hidden = is_in_loop(b, site);
		for (size_t k = 0; k < site->callees.n && !is_hidden; k++) {
			const struct loop_body *callee = &x->bodies.all.at[site->callees.at[k]];
			is_hidden = !callee->is_library && body_may_hide(x, callee);
		}
		if (!is_hidden)
			continue;
		site_list shown = { 0 };
		add_shown(x, b, site->at, &shown);
		may_hide = !shown.n || !flow_call_needs(b->flow, site->at, shown.at, shown.n);
		vec_free(&shown);
	}
	return may_hide;
}

bool loop_site_may_hide(const struct loop_stacks *x, const struct loop_place *p, uint64_t at)
{
	uint64_t key = (uint64_t)p->outer << 32 | x->frames.at[p->frame].function;
	const uint64_t *index = map_find(&x->bodies.of_key, key);
	const struct loop_body *b = index ? &x->bodies.all.at[*index] : NULL;
	for (size_t i = 0; b && i < b->sites.n; i++) {
		const struct loop_body_site *site = &b->sites.at[i];
		for (size_t k = 0; site->at == at && k < site->callees.n; k++) {
			const struct loop_body *callee = &x->bodies.all.at[site->callees.at[k]];
			if (!callee->is_library && body_may_hide(x, callee))
				return true;
		}
	}
	return false;
}

bool loop_place_is_doubtful(struct loop_stacks *x, const struct loop_place *p)
{
	return p->repeated && !loop_turn_needs_others(x, p->repeated, p->repeated_level, p->number);
}
