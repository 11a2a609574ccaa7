/* What operators launch, and how late: get_aten_op_kernels_and_delay() of
 * hta/analyzers/cuda_kernel_analysis.py. */
#include "core/peers/hta_parts.h"

#include "core/peers/numpy.h"

#include <string.h>

/* A launch in an operator. */
struct launched {
	const struct hta_event *op, *call, *work;
	const char *name; /* of the operator */
};

/* A run of an operator, or all runs with the same kernels. */
struct run {
	const char *name, *kernels;
	double count, to_launch, to_work; /* the times are sums, of the first launches */
};

typedef VEC(uint32_t) positions; /* in the events of a rank */
typedef VEC(struct launched) launched_list;
typedef VEC(struct run) runs;

static bool is_operator(const char *name)
{
	return !strncmp(name, "aten::", strlen("aten::"));
}

/* KERNEL_LAUNCH_CATEGORY_PATTERN of hta/common/types.py */
static bool is_launch(const char *name)
{
	if (!strncmp(name, "cuda", 4))
		return strstr(name + 4, "LaunchKernel");
	return !strncmp(name, "cuLaunchKernel", 14) || !strncmp(name, "runFunction", 11);
}

/* ---- The operator of a launch ---- */

struct by_begin {
	double ts;
	uint32_t event;
};

static int compare_begins(const void *a, const void *b)
{
	const struct by_begin *x = a, *y = b;
	if (x->ts < y->ts || x->ts > y->ts)
		return x->ts < y->ts ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

typedef VEC(struct by_begin) begins;

static begins find(const struct hta_rank *r, bool (*is_wanted)(const char *name))
{
	begins found = { 0 };
	for (size_t i = 0; i < r->events.n; i++)
		if (is_wanted(hta_name(r, &r->events.at[i])))
			vec_push(&found, (struct by_begin){ r->events.at[i].ts, (uint32_t)i });
	if (found.n)
		qsort(found.at, found.n, sizeof(*found.at), compare_begins);
	return found;
}

static int compare_positions(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static double end_of(const struct hta_event *e)
{
	return e->ts + e->duration;
}

/* Returns the operator that begins last of those around the call, in any thread; of equal begins,
 * the one that numpy's sort puts first. */
static const struct hta_event *innermost(const struct hta_rank *r, const positions *open,
					 const struct hta_event *call)
{
	positions around = { 0 };
	VEC(double) times = { 0 };
	const struct hta_event *found = NULL;
	for (size_t i = 0; i < open->n; i++)
		if (end_of(&r->events.at[open->at[i]]) >= end_of(call))
			vec_push(&around, open->at[i]);
	if (around.n) {
		size_t *order = mem_resize(NULL, around.n * sizeof(*order));
		qsort(around.at, around.n, sizeof(*around.at), compare_positions);
		for (size_t i = 0; i < around.n; i++)
			vec_push(&times, r->events.at[around.at[i]].ts);
		numpy_argsort_descending(order, times.at, times.n);
		found = &r->events.at[around.at[order[0]]];
		free(order);
	}
	vec_free(&around);
	vec_free(&times);
	return found;
}

/* Leaves out the operators that ended before `ts`. */
static void close_before(const struct hta_rank *r, positions *open, double ts)
{
	size_t n = 0;
	for (size_t i = 0; i < open->n; i++)
		if (end_of(&r->events.at[open->at[i]]) >= ts)
			open->at[n++] = open->at[i];
	open->n = n;
}

/* Returns for each event the operator around it if it is a launch, else NULL. Free it. */
static const struct hta_event **find_operators(const struct hta_rank *r)
{
	const struct hta_event **found = mem_zero((r->events.n + 1) * sizeof(*found));
	begins ops = find(r, is_operator), calls = find(r, is_launch);
	positions open = { 0 };
	for (size_t i = 0, op = 0; i < calls.n; i++) {
		const struct hta_event *call = &r->events.at[calls.at[i].event];
		for (; op < ops.n && ops.at[op].ts <= call->ts; op++)
			vec_push(&open, ops.at[op].event);
		close_before(r, &open, call->ts);
		found[calls.at[i].event] = innermost(r, &open, call);
	}
	vec_free(&open);
	vec_free(&ops);
	vec_free(&calls);
	return found;
}

/* ---- Launches ---- */

/* Finds the launches in operators. HTA gives up if one of them has no work, or several: then there
 * are none. */
static launched_list find_launches(const struct hta_rank *r)
{
	launched_list found = { 0 };
	struct map works = { 0 }; /* the call's index -> 1 + its work; 0: several */
	bool is_new, is_good = true;
	const struct hta_event **ops = find_operators(r);
	for (size_t i = 0; i < r->events.n; i++)
		if (hta_has_stream(&r->events.at[i])) {
			uint64_t *work = map_at(&works, (uint64_t)r->events.at[i].partner, &is_new);
			*work = is_new ? i + 1 : 0;
		}
	for (size_t i = 0; is_good && i < r->events.n; i++) {
		const struct hta_event *call = &r->events.at[i];
		const uint64_t *work = ops[i] ? map_find(&works, call->index) : NULL;
		if (!ops[i])
			continue;
		is_good = work && *work;
		if (is_good)
			vec_push(&found, (struct launched){ ops[i], call, &r->events.at[*work - 1],
							    hta_name(r, ops[i]) });
	}
	if (!is_good)
		vec_free(&found);
	map_free(&works);
	free(ops);
	return found;
}

/* ---- Runs ---- */

/* By thread, name and begin of the operator; the launches of a run in the order of HTA's rows. */
static int compare_launches(const void *a, const void *b)
{
	const struct launched *x = a, *y = b;
	if (x->op->tid != y->op->tid)
		return x->op->tid < y->op->tid ? -1 : 1;
	int names = strcmp(x->name, y->name);
	if (names)
		return names;
	if (x->op->ts < y->op->ts || x->op->ts > y->op->ts)
		return x->op->ts < y->op->ts ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

static bool is_same_run(const struct launched *x, const struct launched *y)
{
	return x->op->tid == y->op->tid && !strcmp(x->name, y->name) &&
	       !(x->op->ts < y->op->ts || x->op->ts > y->op->ts);
}

/* Returns "gemm -> splitk". Free it. */
static char *name_kernels(const struct hta_rank *r, const struct launched *l, size_t n)
{
	static const char arrow[] = " -> ";
	VEC(char) text = { 0 };
	for (size_t i = 0; i < n; i++) {
		const char *parts[] = { i ? arrow : "", hta_name(r, l[i].work) };
		for (size_t k = 0; k < 2; k++)
			for (const char *at = parts[k]; *at; at++)
				vec_push(&text, *at);
	}
	vec_push(&text, 0);
	return text.at;
}

static runs find_runs(const struct hta_rank *r, launched_list *l, struct strtab *kernels)
{
	runs found = { 0 };
	VEC(uint32_t) ids = { 0 };
	if (l->n)
		qsort(l->at, l->n, sizeof(*l->at), compare_launches);
	for (size_t i = 0, n; i < l->n; i += n) {
		const struct launched *first = &l->at[i];
		for (n = 1; i + n < l->n && is_same_run(first, first + n);)
			n++;
		char *text = name_kernels(r, first, n);
		vec_push(&ids, strtab_intern(kernels, text));
		free(text);
		vec_push(&found, (struct run){ .name = first->name,
					       .count = 1,
					       .to_launch = first->call->ts - first->op->ts,
					       .to_work = first->work->ts - first->call->ts });
	}
	for (size_t i = 0; i < found.n; i++) /* now that the texts do not move any more */
		found.at[i].kernels = strtab_text(kernels, ids.at[i]);
	vec_free(&ids);
	return found;
}

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	int names = strcmp(x->name, y->name);
	return names ? names : strcmp(x->kernels, y->kernels);
}

/* Adds up the runs of an operator with the same kernels. */
static void merge_runs(runs *list)
{
	size_t n = 0;
	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), compare_runs);
	for (size_t i = 0; i < list->n; i++) {
		if (!n || compare_runs(&list->at[n - 1], &list->at[i])) {
			list->at[n++] = list->at[i];
			continue;
		}
		list->at[n - 1].count++;
		list->at[n - 1].to_launch += list->at[i].to_launch;
		list->at[n - 1].to_work += list->at[i].to_work;
	}
	list->n = n;
}

static void add_rank(const struct hta_job *j, struct peer_table *t, const struct hta_rank *r)
{
	struct strtab kernels = { 0 };
	VEC(double) counts = { 0 };
	launched_list launches = find_launches(r);
	runs list = find_runs(r, &launches, &kernels);
	merge_runs(&list);
	size_t *order = mem_zero((list.n + 1) * sizeof(*order));
	for (size_t i = 0; i < list.n; i++)
		vec_push(&counts, list.at[i].count);
	numpy_argsort_descending(order, counts.at, counts.n);
	for (size_t i = 0; i < list.n; i++) {
		const struct run *x = &list.at[order[i]];
		peer_number(t, (double)r->rank);
		peer_word(j->to, t, x->name);
		peer_word(j->to, t, x->kernels);
		peer_number(t, x->count);
		peer_number(t, numpy_round(x->to_launch / x->count, 3));
		peer_number(t, numpy_round(x->to_work / x->count, 3));
	}
	free(order);
	vec_free(&counts);
	vec_free(&list);
	vec_free(&launches);
	strtab_free(&kernels);
}

void hta_add_operators(const struct hta_job *j)
{
	static const char *const columns[] = { "rank",
					       "aten_op_name",
					       "kernel_sequence",
					       "occurrence_count",
					       "avg_aten_op_launch_delay",
					       "avg_runtime_delay" };
	struct peer_table *t = PEER_TABLE(j->to, "aten_op_kernels_and_delay", columns);
	for (size_t i = 0; i < j->n; i++)
		add_rank(j, t, &j->ranks[i]);
}
