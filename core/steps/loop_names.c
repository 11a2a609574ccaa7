/* See loop_names.h. */
#include "core/steps/loop_names.h"

#include "core/steps/loop_named.h"
#include "core/util/bisect.h"

#include <math.h>
#include <string.h>

enum { INNER_MOST = 4, OTHERS_MOST = 3 };

/* Share of the time; a loop with less changes no figure by more than a percent. */
#define OTHER_LEAST 0.01

static struct loop_name name_of(struct loop_namer *x, const struct loop *l)
{
	return loop_named_of(x, l).name;
}

static void name_outer(struct loop_namer *x, struct loop_names *to, const struct loop *step)
{
	size_t n = 0;
	for (const struct loop *l = step; (l = loop_tree_parent(x->tree, l)) != NULL;)
		n++;
	list_make(x->arena, &to->outer, n);
	n = 0;
	for (const struct loop *l = step; (l = loop_tree_parent(x->tree, l)) != NULL;)
		to->outer.at[n++] = name_of(x, l);
}

/* Returns the time in the loop, up to the last call of each run of it. */
static double own_ticks(const struct loop *l)
{
	return l->ticks > l->tail_ticks ? (double)(l->ticks - l->tail_ticks) : 0;
}

static int by_ticks(const void *a, const void *b)
{
	const struct loop *x = *(const struct loop *const *)a, *y = *(const struct loop *const *)b;
	double a_ticks = own_ticks(x), b_ticks = own_ticks(y);
	return a_ticks > b_ticks ? -1 : a_ticks < b_ticks;
}

/* Returns whether the loop is around the step's loop, or that loop itself. */
static bool is_step_or_around(const struct loop_namer *x, const struct loop *l,
			      const struct loop *step)
{
	const struct loop *at = step;
	while (at && at != l)
		at = loop_tree_parent(x->tree, at);
	return at;
}

/* Returns whether the steps include iterations of the loop: of a phase, or of another call. */
static bool is_counted(const struct loop_choice *c, const struct loop *l)
{
	const struct loop_iteration *first = &l->iterations.at[0];
	uint64_t ticks = loop_iteration_begin(first);
	size_t i = bisect(c->begins.n, k, c->begins.at[k].ticks < ticks);
	return i < c->begins.n && c->begins.at[i].ticks == ticks &&
	       c->begins.at[i].slot == first->slot;
}

/*
 * Returns whether most iterations of the loop run while the steps do, as those of a thread for the
 * backward pass.
 */
static bool is_parallel(const struct loop *l, const struct loop *step)
{
	size_t n = 0, n_steps = step->iterations.n;
	for (size_t i = 0; i < l->iterations.n; i++) {
		const struct loop_iteration *it = &l->iterations.at[i];
		size_t k = bisect(n_steps, s, step->iterations.at[s].end_ticks <= it->begin_ticks);
		n += k < n_steps && step->iterations.at[k].begin_ticks < it->end_ticks;
	}
	return 2 * n > l->iterations.n;
}

/* Returns whether the loop is apart from the step's, and no loop around it is. */
static bool is_other(const struct loop_namer *x, const struct loop *l, const struct loop_choice *c)
{
	const struct loop *step = &x->tree->loops.at[c->loop];
	if (!loop_goes_round(l) || !loop_may_be_step(x->tree, l) || is_step_or_around(x, l, step) ||
	    l->place == c->other || is_counted(c, l) || is_parallel(l, step))
		return false;
	for (const struct loop *o = l; (o = loop_tree_parent(x->tree, o)) != NULL;)
		if (loop_may_be_step(x->tree, o))
			return is_step_or_around(x, o, step) && o != step;
	return true;
}

/*
 * Returns the time from the first loop's begin to the last one's end, of those that may be the
 * step. So the time in which Python imports modules does not count.
 */
static double whole_ticks(const struct loop_tree *t)
{
	uint64_t begin = UINT64_MAX, end = 0;
	for (size_t i = 0; i < t->loops.n; i++) {
		const struct loop *l = &t->loops.at[i];
		bool counts = loop_goes_round(l) && loop_may_be_step(t, l);
		for (size_t k = 0; counts && k < l->iterations.n; k++) {
			const struct loop_iteration *it = &l->iterations.at[k];
			begin = it->begin_ticks < begin ? it->begin_ticks : begin;
			end = it->end_ticks > end ? it->end_ticks : end;
		}
	}
	return end > begin ? (double)(end - begin) : 1;
}

static void name_others(struct loop_namer *x, struct loop_names *to, const struct loop_choice *c)
{
	VEC(const struct loop *) others = { 0 };
	double whole = whole_ticks(x->tree);
	for (size_t i = 0; i < x->tree->loops.n; i++) {
		const struct loop *l = &x->tree->loops.at[i];
		if (is_other(x, l, c) && own_ticks(l) >= OTHER_LEAST * whole)
			vec_push(&others, l);
	}
	if (others.n)
		qsort(others.at, others.n, sizeof(*others.at), by_ticks);
	list_make(x->arena, &to->others, others.n < OTHERS_MOST ? others.n : OTHERS_MOST);
	for (size_t i = 0; i < to->others.n; i++) {
		to->others.at[i] = name_of(x, others.at[i]);
		to->others.at[i].share = fmin(own_ticks(others.at[i]) / whole, 1);
	}
	vec_free(&others);
}

/* Names the loops of user code directly inside the step, as those of frameworks say little. */
static void name_inner(struct loop_namer *x, struct loop_names *to, const struct loop *step)
{
	VEC(const struct loop *) inner = { 0 };
	for (size_t i = 0; i < x->tree->loops.n; i++) {
		const struct loop *l = &x->tree->loops.at[i];
		if (loop_goes_round(l) && loop_may_be_step(x->tree, l) &&
		    loop_tree_parent(x->tree, l) == step)
			vec_push(&inner, l);
	}
	if (inner.n)
		qsort(inner.at, inner.n, sizeof(*inner.at), by_ticks);
	list_make(x->arena, &to->inner, inner.n < INNER_MOST ? inner.n : INNER_MOST);
	for (size_t i = 0; i < to->inner.n; i++)
		to->inner.at[i] = name_of(x, inner.at[i]);
	vec_free(&inner);
}

void loop_names_make(struct loop_names *to, const struct loop_tree *t, const struct loop_choice *c,
		     struct arena *a)
{
	struct loop_namer x = { .tree = t, .arena = a };
	const struct loop *step = &t->loops.at[c->loop];
	*to = (struct loop_names){ .step = name_of(&x, step) };
	if (c->is_grouped && c->begins.n)
		to->per_step = (double)step->iterations.n / (double)c->begins.n;
	name_outer(&x, to, step);
	name_inner(&x, to, step);
	name_others(&x, to, c);
	if (c->other != LOOP_NONE) {
		struct loop_name *instead = arena_zero(a, sizeof(*instead));
		*instead = name_of(&x, &t->loops.at[c->other]);
		/* two loops of a library that call one function have one name */
		bool is_same = instead->line == to->step.line &&
			       !strcmp(instead->file, to->step.file);
		to->instead = is_same ? NULL : instead;
	}
	loop_namer_free(&x);
}

/* Returns whether `file` is `suffix` or ends with '/' and `suffix`. */
static bool ends_with(const char *file, const char *suffix, size_t n)
{
	size_t length = strlen(file);
	return n && length >= n && !memcmp(file + length - n, suffix, n) &&
	       (length == n || file[length - n - 1] == '/');
}

/* A place that the user asks for. */
struct wanted {
	const char *file; /* the end of the file's name, without a 0 after it */
	size_t bytes;
	long line;
};

/* Ranks how well a loop answers to a place. */
enum { NO_ANSWER, BY_BODY, BY_FIRST, BY_NAME };

/*
 * Returns how well the loop answers to the place: by its own line, by its first instruction (whose
 * line was once the loop's), or by a line between the loop's and that of its body.
 */
static int answers(const struct loop_named *l, const struct wanted *w)
{
	bool is_file = ends_with(l->name.file, w->file, w->bytes);
	if (is_file && (long)l->name.line == w->line)
		return BY_NAME;
	if ((long)l->other_line == w->line && ends_with(l->other_file, w->file, w->bytes))
		return BY_FIRST;
	return is_file && (long)l->name.line < w->line && w->line <= (long)l->body ? BY_BODY
										   : NO_ANSWER;
}

int64_t loop_names_find(const struct loop_tree *t, const char *file_and_line)
{
	struct arena arena = { 0 };
	struct loop_namer x = { .tree = t, .arena = &arena };
	const char *colon = strrchr(file_and_line, ':');
	struct wanted wanted = { .file = file_and_line };
	if (colon) {
		wanted.bytes = (size_t)(colon - file_and_line);
		wanted.line = strtol(colon + 1, NULL, 10);
	}
	int64_t best = -1;
	int best_answer = NO_ANSWER;
	for (size_t i = 0; colon && i < t->loops.n; i++) {
		const struct loop *l = &t->loops.at[i];
		if (!loop_goes_round(l))
			continue;
		struct loop_named named = loop_named_of(&x, l);
		int answer = answers(&named, &wanted);
		if (answer > best_answer || (answer && answer == best_answer &&
					     l->iterations.n > t->loops.at[best].iterations.n)) {
			best = (int64_t)i;
			best_answer = answer;
		}
	}
	loop_namer_free(&x);
	arena_free(&arena);
	return best;
}
