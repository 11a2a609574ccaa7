/* See unrolled.h. Finds copies of calls before an unrolled loop. */
#include "core/flow/unrolled_parts.h"

/* A call before the loop. */
struct before {
	size_t call, kind;
	bool is_whole; /* the calls of its iteration that come before it are there, too */
};

/* `from` may come right before `to`, which is SIZE_MAX for the loop. */
struct order {
	size_t from, to;
};

struct rest {
	VEC(struct before) calls;
	VEC(struct order) order;
};

/*
 * Appends the calls, outside of the loop, that may come last before the begin of `block`.
 */
static void add_before(const struct finder *x, uint32_t block, call_list *to)
{
	const struct graph *g = &x->f->g;
	uint32_t around = g->around[x->loop];
	bool *seen = mem_zero(g->n * sizeof(*seen));
	VEC(uint32_t) todo = { 0 };
	vec_push(&todo, block);
	while (todo.n > 0) {
		uint32_t at = todo.at[--todo.n];
		if (around != GRAPH_NONE && at == g->header[around])
			continue; /* what comes before is another iteration */
		for (uint32_t e = g->previous.first[at]; e < g->previous.first[at + 1]; e++) {
			uint32_t from = g->previous.to[e];
			if (seen[from] || g->loop_of[from] != around)
				continue;
			seen[from] = true;
			if (unrolled_has_call(x, from))
				vec_push(to, unrolled_first_call(x, from + 1) - 1);
			else
				vec_push(&todo, from);
		}
	}
	vec_free(&todo);
	free(seen);
}

/* Returns whether a call of the kind may be followed by one of a kind that `is_next` has. */
static bool leads_to(const struct body *b, size_t kind, const bool *is_next)
{
	const call_list *next = &b->next[unrolled_first_of_kind(b, kind)];
	for (size_t i = 0; i < next->n; i++)
		if (is_next[b->kind[next->at[i]]])
			return true;
	return false;
}

/* Returns the only kind that the call may have, before a call of the kinds; SIZE_MAX: none. */
static size_t kind_before(const struct finder *x, size_t call, const bool *is_next)
{
	const struct body *b = &x->body;
	size_t found = SIZE_MAX;
	for (size_t kind = 0; kind < b->n_kinds; kind++) {
		const struct call *like = unrolled_call(x, unrolled_first_of_kind(b, kind));
		if (!unrolled_is_same(&x->calls.at[call], like, COMPARE_CONSTANTS) ||
		    !leads_to(b, kind, is_next))
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = kind;
	}
	return found;
}

/* Adds the call to the rest if it is not there. Returns its index. */
static size_t add_to_rest(struct rest *r, struct before before)
{
	size_t i = 0;
	while (i < r->calls.n && r->calls.at[i].call != before.call)
		i++;
	if (i == r->calls.n)
		vec_push(&r->calls, before);
	return i;
}

/* Adds those of the calls `before` that may be copies, before a call of the kinds `is_next`. */
static void add_like(const struct finder *x, const call_list *before, const bool *is_next,
		     const bool *is_first, size_t to, struct rest *r)
{
	for (size_t i = 0; i < before->n; i++) {
		size_t kind = kind_before(x, before->at[i], is_next);
		if (kind == SIZE_MAX)
			continue;
		size_t from =
			add_to_rest(r, (struct before){ before->at[i], kind, is_first[kind] });
		vec_push(&r->order, ((struct order){ from, to }));
	}
}

/* Follows calls that may be copies back from the loop, at most those of `times` iterations. */
static void find_rest(const struct finder *x, size_t times, struct rest *r)
{
	const struct body *b = &x->body;
	bool *is_first = mem_zero(b->n_kinds), *is_next = mem_zero(b->n_kinds);
	call_list before = { 0 };
	for (size_t i = 0; i < b->first.n; i++)
		is_first[b->kind[b->first.at[i]]] = true;
	add_before(x, x->f->g.header[x->loop], &before);
	add_like(x, &before, is_first, is_first, SIZE_MAX, r);
	for (size_t i = 0; i < r->calls.n && r->calls.n <= times * b->n_kinds; i++) {
		size_t call = r->calls.at[i].call;
		uint32_t block = x->calls.at[call].block;
		before.n = 0;
		if (unrolled_first_call(x, block) == call)
			add_before(x, block, &before);
		else
			vec_push(&before, call - 1);
		memset(is_next, 0, b->n_kinds);
		is_next[r->calls.at[i].kind] = true;
		add_like(x, &before, is_next, is_first, i, r);
	}
	vec_free(&before);
	free(is_first);
	free(is_next);
}

static void find_whole(struct rest *r)
{
	for (bool is_changed = true; is_changed;) {
		is_changed = false;
		for (size_t i = 0; i < r->order.n; i++) {
			struct before *to = r->order.at[i].to == SIZE_MAX
						    ? NULL
						    : &r->calls.at[r->order.at[i].to];
			if (!to || to->is_whole || !r->calls.at[r->order.at[i].from].is_whole)
				continue;
			to->is_whole = is_changed = true;
		}
	}
}

/* Returns whether a way into the loop leads past the call. */
static bool is_passed(const struct finder *x, const struct before *b)
{
	const struct graph *g = &x->f->g;
	return !unrolled_dominates(g, x->calls.at[b->call].block, g->header[x->loop]);
}

/*
 * If the number of iterations is known only when the program runs, jumps lead past each of the
 * n % times iterations. A single call without such a jump may be the source's.
 */
void unrolled_add_rest(const struct finder *x, size_t times, struct call_copies *to)
{
	struct rest r = { 0 };
	bool are_passed = false;
	find_rest(x, times, &r);
	find_whole(&r);
	for (size_t i = 0; i < r.calls.n; i++)
		are_passed |= r.calls.at[i].is_whole && is_passed(x, &r.calls.at[i]);
	for (size_t i = 0; i < r.calls.n; i++) {
		const struct before *b = &r.calls.at[i];
		if (b->is_whole && (!are_passed || x->body.n_kinds > 1 || is_passed(x, b)))
			unrolled_add_copy(x, &x->calls.at[b->call], b->kind, to);
	}
	vec_free(&r.calls);
	vec_free(&r.order);
}
