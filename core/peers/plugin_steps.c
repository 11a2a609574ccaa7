/* Steps and what takes their time: event_parser.py, overall_parser.py. */
#include "core/peers/plugin_parts.h"

#include <string.h>

/* ---- Roles ---- */

static int role_of(const struct plugin_trace *t, const struct plugin_event *e)
{
	const char *name = plugin_name(t, e->row);
	switch (e->type) {
	case PLUGIN_KERNEL:
		return map_find(&t->communication, (uint64_t)e->row->external)
			       ? PLUGIN_ROLE_COMMUNICATION
			       : PLUGIN_ROLE_KERNEL;
	case PLUGIN_MEMCPY:
		return PLUGIN_ROLE_MEMCPY;
	case PLUGIN_MEMSET:
		return PLUGIN_ROLE_MEMSET;
	case PLUGIN_RUNTIME:
		return PLUGIN_ROLE_RUNTIME;
	case PLUGIN_OPERATOR:
	case PLUGIN_ANNOTATION:
		if (plugin_is_loader(name))
			return PLUGIN_ROLE_LOADER;
		/* fall through */
	case PLUGIN_PYTHON:
		return plugin_is_nccl(name) || plugin_is_gloo(name) ? PLUGIN_ROLE_COMMUNICATION
								    : PLUGIN_ROLE_CPU;
	default:
		return -1;
	}
}

/* Finds the steps, and which ranges each role has. */
static void parse(struct plugin_trace *t)
{
	double first = PLUGIN_NEVER, last = -PLUGIN_NEVER;
	for (size_t i = 0; i < t->events.n; i++) {
		const struct plugin_event *e = &t->events.at[i];
		struct plugin_range range = { e->row->ts, plugin_end(e->row) };
		int role = role_of(t, e);
		if (role >= 0)
			vec_push(&t->roles[role], range);
		if (e->type == PLUGIN_STEP) {
			const char *number = strchr(plugin_name(t, e->row), '#');
			vec_push(&t->steps, (struct plugin_step){ range.begin, range.end,
								  strtoll(number + 1, NULL, 10) });
		}
		if (e->type == PLUGIN_STEP || e->type == PLUGIN_PYTHON ||
		    e->type == PLUGIN_OPERATOR) {
			first = fmin(first, range.begin);
			last = fmax(last, range.end);
		}
	}
	if (!t->steps.n)
		vec_push(&t->steps, (struct plugin_step){ first, last, 0 });
	for (size_t i = 0; i < PLUGIN_ROLE_OTHER; i++) {
		plugin_ranges merged = plugin_merge(&t->roles[i]);
		vec_free(&t->roles[i]);
		t->roles[i] = merged;
	}
}

/* ---- The GPU's part of steps ---- */

struct launched {
	double begin, end;
	uint32_t n;
};

struct matching {
	struct launched *steps;
	bool *has_step; /* by work */
	bool is_any;
};

static int by_begin(const void *a, const void *b)
{
	const struct plugin_call *const *x = a, *const *y = b;
	double p = (*x)->row->ts, q = (*y)->row->ts;
	if (p < q || p > q)
		return p < q ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static void take_works(const struct plugin_trace *t, const struct plugin_call *call,
		       struct matching *m, struct launched *step)
{
	for (size_t i = 0; i < call->works.n; i++) {
		const struct peer_row *row = t->works.at[call->works.at[i]].row;
		step->begin = fmin(step->begin, row->ts);
		step->end = fmax(step->end, plugin_end(row));
		step->n++;
		m->has_step[call->works.at[i]] = true;
		m->is_any = true;
	}
}

/* Finds the works that calls within each step launched. Steps and calls advance together. */
static void match(const struct plugin_trace *t, struct matching *m)
{
	VEC(const struct plugin_call *) calls = { 0 };
	size_t step = 0;
	for (size_t i = 0; i < t->calls.n; i++)
		if (t->calls.at[i].row)
			vec_push(&calls, &t->calls.at[i]);
	if (calls.n)
		qsort(calls.at, calls.n, sizeof(*calls.at), by_begin);
	for (size_t i = 0; i < t->steps.n; i++)
		m->steps[i] = (struct launched){ PLUGIN_NEVER, -PLUGIN_NEVER, 0 };
	for (size_t i = 0; step < t->steps.n && i < calls.n;) {
		double begin = calls.at[i]->row->ts, end = plugin_end(calls.at[i]->row);
		const struct plugin_step *s = &t->steps.at[step];
		if (begin >= s->end && end > s->end) {
			step++;
			continue;
		}
		if (begin >= s->begin && end <= s->end)
			take_works(t, calls.at[i], m, &m->steps[step]);
		i++;
	}
	vec_free(&calls);
}

/* A step lasts until its GPU work has ended, and begins when the step before has ended. */
static void extend(struct plugin_trace *t, const struct matching *m)
{
	double before = t->steps.at[0].begin;
	if (m->steps[0].n)
		for (size_t i = 0; i < t->works.n; i++) {
			double end = plugin_end(t->works.at[i].row);
			if (!m->has_step[i] && end < m->steps[0].begin)
				before = fmax(before, end);
		}
	for (size_t i = 0; i < t->steps.n; i++) {
		struct plugin_step *s = &t->steps.at[i];
		s->begin = fmax(before, s->begin);
		s->end = fmax(s->end, m->steps[i].n ? m->steps[i].end : s->begin);
		s->end = fmax(s->end, s->begin);
		before = s->end;
	}
}

/* Drops the last steps, which may lack GPU work. */
static void drop_tail(struct plugin_trace *t, const struct matching *m)
{
	size_t last = t->steps.n;
	while (last && !m->steps[last - 1].n)
		last--;
	if (!last)
		return;
	bool lacks_work = last > 1 && m->steps[last - 2].n * 0.8 > m->steps[last - 1].n;
	t->steps.n = lacks_work ? last - 1 : last;
}

void plugin_find_steps(struct plugin_trace *t)
{
	parse(t);
	struct matching m = { .steps = mem_zero(t->steps.n * sizeof(*m.steps)),
			      .has_step = mem_zero(t->works.n) };
	match(t, &m);
	if (m.is_any) {
		extend(t, &m);
		if (t->steps.n > 1)
			drop_tail(t, &m);
	}
	free(m.steps);
	free(m.has_step);
}

/* ---- Costs ---- */

/* Fills in the ranges of each role. The time of all steps is given to the roles one after the
 * other. The first role gets all of its ranges, also those outside the steps. The same happens to a
 * later role when no time is left. */
static void divide(const struct plugin_trace *t, plugin_ranges to[PLUGIN_ROLE_TOTAL])
{
	plugin_ranges all = { 0 }, left = { 0 };
	for (size_t i = 0; i < t->steps.n; i++)
		vec_push(&all, (struct plugin_range){ t->steps.at[i].begin, t->steps.at[i].end });
	for (size_t i = 0; i < PLUGIN_ROLE_OTHER; i++) {
		const plugin_ranges *role = &t->roles[i];
		if (left.n) {
			to[i] = plugin_intersect(&left, role);
		} else {
			to[i] = (plugin_ranges){ 0 };
			for (size_t k = 0; k < role->n; k++)
				vec_push(&to[i], role->at[k]);
			vec_free(&left);
			left = plugin_merge(&all);
		}
		plugin_ranges rest = plugin_subtract(&left, &to[i]);
		vec_free(&left);
		left = rest;
	}
	to[PLUGIN_ROLE_OTHER] = left;
	vec_free(&all);
}

static double within(const struct plugin_step *s, const plugin_ranges *ranges)
{
	struct plugin_range range = { s->begin, s->end };
	plugin_ranges step = { &range, 1, 1 }, found = plugin_intersect(&step, ranges);
	double sum = plugin_sum(&found);
	vec_free(&found);
	return sum;
}

/* Adds a row on how much of the step's communication ran while kernels ran, or operators if there
 * are no kernels. */
static void add_overlap(const struct plugin_view *v, struct peer_table *t, size_t step,
			const plugin_ranges *overlap, double total)
{
	const struct plugin_trace *trace = v->trace;
	const struct plugin_step *s = &trace->steps.at[step];
	bool has_kernels = trace->roles[PLUGIN_ROLE_KERNEL].n;
	double both = within(s, overlap),
	       computation =
		       within(s, &trace->roles[has_kernels ? PLUGIN_ROLE_KERNEL : PLUGIN_ROLE_CPU]),
	       communication = within(s, &trace->roles[PLUGIN_ROLE_COMMUNICATION]);
	peer_number(t, v->worker);
	peer_number(t, (double)s->number);
	peer_number(t, computation);
	peer_number(t, communication);
	peer_number(t, both);
	peer_number(t, total + both - computation - communication);
}

void plugin_add_steps(const struct plugin_view *v)
{
	static const char *const columns[] = { "worker",   "step",	    "Kernel",  "Memcpy",
					       "Memset",   "Communication", "Runtime", "DataLoader",
					       "CPU Exec", "Other",	    "Total" },
				 *const overlap_columns[] = { "worker",	     "step",
							      "computation", "communication",
							      "overlap",     "other" };
	struct plugin_trace *t = v->trace;
	struct peer_table *steps = PLUGIN_TABLE(v, "steps", columns),
			  *overlaps = PLUGIN_TABLE(v, "communication_overlap", overlap_columns);
	plugin_ranges parts[PLUGIN_ROLE_TOTAL];
	plugin_ranges overlap = plugin_intersect(
		&t->roles[t->roles[PLUGIN_ROLE_KERNEL].n ? PLUGIN_ROLE_KERNEL : PLUGIN_ROLE_CPU],
		&t->roles[PLUGIN_ROLE_COMMUNICATION]);
	divide(t, parts);
	for (size_t i = 0; i < t->steps.n; i++) {
		const struct plugin_step *s = &t->steps.at[i];
		peer_number(steps, v->worker);
		peer_number(steps, (double)s->number);
		for (size_t role = 0; role < PLUGIN_ROLES; role++) {
			double us = role == PLUGIN_ROLE_TOTAL ? s->end - s->begin
							      : within(s, &parts[role]);
			peer_number(steps, us);
			t->costs[role] += us;
		}
		add_overlap(v, overlaps, i, &overlap, s->end - s->begin);
	}
	for (size_t role = 0; role < PLUGIN_ROLES; role++)
		t->costs[role] /= (double)t->steps.n;
	for (size_t i = 0; i < PLUGIN_ROLE_TOTAL; i++)
		vec_free(&parts[i]);
	vec_free(&overlap);
}
