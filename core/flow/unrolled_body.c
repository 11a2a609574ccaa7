/* See unrolled.h. Which calls the body of a loop makes, in which order, and which are copies. */
#include "core/flow/unrolled_parts.h"

#include "core/util/bisect.h"

bool unrolled_is_same(const struct call *a, const struct call *b, enum compare how)
{
	if (a->note->value != b->note->value)
		return false;
	for (size_t i = 0; i < ARGUMENTS_MOST; i++) {
		bool are_set = a->is_set[i] && b->is_set[i];
		if ((are_set && a->value[i] != b->value[i]) ||
		    (how == COMPARE_EXACT && a->is_set[i] != b->is_set[i]))
			return false;
	}
	return true;
}

size_t unrolled_first_call(const struct finder *x, uint32_t block)
{
	return bisect(x->calls.n, i, x->calls.at[i].block < block);
}

bool unrolled_has_call(const struct finder *x, uint32_t block)
{
	size_t i = unrolled_first_call(x, block);
	return i < x->calls.n && x->calls.at[i].block == block;
}

/* Appends the calls of the loop that may follow the end of `block`. */
static void add_after(const struct finder *x, uint32_t block, call_list *to)
{
	const struct graph *g = &x->f->g;
	bool *seen = mem_zero(g->n * sizeof(*seen));
	VEC(uint32_t) todo = { 0 };
	vec_push(&todo, block);
	while (todo.n > 0) {
		uint32_t from = todo.at[--todo.n];
		uint32_t end = g->next.first[from + 1] - x->f->has_handler[from];
		for (uint32_t e = g->next.first[from]; e < end; e++) {
			uint32_t other = g->next.to[e];
			if (seen[other] || g->loop_of[other] != x->loop)
				continue;
			seen[other] = true;
			if (unrolled_has_call(x, other))
				vec_push(to, unrolled_first_call(x, other));
			else
				vec_push(&todo, other);
		}
	}
	vec_free(&todo);
	free(seen);
}

static void add_next(const struct finder *x, size_t call, call_list *to)
{
	uint32_t block = x->calls.at[call].block;
	if (call + 1 < x->calls.n && x->calls.at[call + 1].block == block)
		vec_push(to, call + 1);
	else
		add_after(x, block, to);
}

/* Returns the number of the call in the body, or the number of its calls. */
static size_t number_in(const struct body *b, size_t call)
{
	for (size_t i = 0; i < b->calls.n; i++)
		if (b->calls.at[i] == call)
			return i;
	return b->calls.n;
}

/* Replaces the calls by their numbers in the body. Adds those that have none yet to it. */
static void number_calls(struct body *b, call_list *calls)
{
	for (size_t i = 0; i < calls->n; i++) {
		size_t number = number_in(b, calls->at[i]);
		if (number == b->calls.n)
			vec_push(&b->calls, calls->at[i]);
		calls->at[i] = number;
	}
}

void unrolled_free_body(struct body *b)
{
	for (size_t i = 0; b->next && i < b->calls.n; i++)
		vec_free(&b->next[i]);
	free(b->next);
	free(b->kind);
	vec_free(&b->calls);
	vec_free(&b->first);
	*b = (struct body){ 0 };
}

bool unrolled_find_body(struct finder *x)
{
	struct body *b = &x->body;
	uint32_t header = x->f->g.header[x->loop];
	size_t n = 0;
	for (size_t i = 0; i < x->calls.n; i++)
		n += x->f->g.loop_of[x->calls.at[i].block] == x->loop;
	if (n < 2 || n > BODY_MOST)
		return false;
	b->next = mem_zero(n * sizeof(*b->next));
	b->kind = mem_zero(n * sizeof(*b->kind));
	if (unrolled_has_call(x, header))
		vec_push(&b->first, unrolled_first_call(x, header));
	else
		add_after(x, header, &b->first);
	number_calls(b, &b->first);
	for (size_t i = 0; i < b->calls.n; i++) {
		add_next(x, b->calls.at[i], &b->next[i]);
		number_calls(b, &b->next[i]);
	}
	return b->calls.n == n;
}

bool unrolled_dominates(const struct graph *g, uint32_t a, uint32_t b)
{
	while (b != a && b != GRAPH_NONE)
		b = g->dominator[b];
	return b == a;
}

/* ---- Copies ---- */

const struct call *unrolled_call(const struct finder *x, size_t number)
{
	return &x->calls.at[x->body.calls.at[number]];
}

/* Returns the only call of the list that is like `number`; `SIZE_MAX`: none or several. */
static size_t only_like(const struct finder *x, const call_list *list, size_t number)
{
	size_t found = SIZE_MAX;
	for (size_t i = 0; i < list->n; i++) {
		if (!unrolled_is_same(unrolled_call(x, list->at[i]), unrolled_call(x, number),
				      COMPARE_EXACT))
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = list->at[i];
	}
	return found;
}

/*
 * Writes the copy of each call that comes one or more copies later, if the copy of the first call
 * is `copy`: what may follow a call has its copies among what may follow the call's copy. Returns
 * whether it is so.
 */
static bool map_copies(const struct finder *x, size_t copy, size_t *map)
{
	const struct body *b = &x->body;
	size_t n_mapped = 1;
	call_list todo = { 0 };
	bool is = unrolled_is_same(unrolled_call(x, 0), unrolled_call(x, copy), COMPARE_EXACT);
	for (size_t i = 0; i < b->calls.n; i++)
		map[i] = SIZE_MAX;
	map[0] = copy;
	vec_push(&todo, 0);
	while (is && todo.n > 0) {
		size_t at = todo.at[--todo.n];
		const call_list *next = &b->next[at], *others = &b->next[map[at]];
		is = next->n == others->n;
		for (size_t i = 0; i < next->n && is; i++) {
			size_t to = next->at[i], other = only_like(x, others, to);
			is = other != SIZE_MAX && (map[to] == SIZE_MAX || map[to] == other);
			if (!is || map[to] != SIZE_MAX)
				continue;
			map[to] = other;
			n_mapped++;
			vec_push(&todo, to);
		}
	}
	vec_free(&todo);
	return is && n_mapped == b->calls.n;
}

/* Numbers the kinds: a call and its copies. Returns whether each kind has `times` calls. */
static bool number_kinds(struct body *b, const size_t *map, size_t times)
{
	b->n_kinds = 0;
	for (size_t i = 0; i < b->calls.n; i++)
		b->kind[i] = SIZE_MAX;
	for (size_t i = 0; i < b->calls.n; i++) {
		size_t n = 0, k = i;
		if (b->kind[i] != SIZE_MAX)
			continue;
		for (; b->kind[k] == SIZE_MAX; k = map[k], n++)
			b->kind[k] = b->n_kinds;
		if (n != times || k != i)
			return false;
		b->n_kinds++;
	}
	return true;
}

bool unrolled_find_kinds(struct finder *x, size_t times)
{
	size_t n = x->body.calls.n;
	size_t *map = mem_zero(n * sizeof(*map));
	bool is = false;
	for (size_t copy = 1; copy < n && n % times == 0 && !is; copy++)
		is = map_copies(x, copy, map) && number_kinds(&x->body, map, times);
	free(map);
	return is;
}

size_t unrolled_first_of_kind(const struct body *b, size_t kind)
{
	size_t i = 0;
	while (b->kind[i] != kind)
		i++;
	return i;
}

void unrolled_add_copy(const struct finder *x, const struct call *copy, size_t kind,
		       struct call_copies *to)
{
	const struct call *of = unrolled_call(x, unrolled_first_of_kind(&x->body, kind));
	for (size_t i = 0; i < to->n; i++)
		if (to->at[i].at == copy->note->at)
			return;
	vec_push(to, ((struct call_copy){ copy->note->at, of->note->at, copy->note->bytes }));
}
