/*
 * See unrolled.h. A loop is unrolled K times if both of these are true:
 *
 * - Its calls are K times the same ones, with the same constants as arguments.
 * - It counts by K: what its end tests changes by K, and all else that it counts by multiples of K.
 *
 * A loop of the source that makes the same call K times counts by 1. If it counts by K, the machine
 * code is the same, and each reading is right. A loop that counts by another multiple of K, such as
 * one over an array, is unrolled only if the copies of the rest, n % K iterations, are before it.
 */
#include "core/flow/unrolled.h"

#include "core/flow/counters.h"
#include "core/flow/unrolled_parts.h"

static void set_argument(struct call *c, const struct note *n)
{
	if (!n->is_argument || n->kind == NOTE_TESTS)
		return;
	c->is_set[n->number] = n->kind == NOTE_SETS;
	c->value[n->number] = n->value;
}

static void find_calls(struct finder *x)
{
	struct call next = { .block = GRAPH_NONE };
	x->loop_of_note = mem_resize(NULL, (x->notes->n + 1) * sizeof(*x->loop_of_note));
	for (size_t i = 0; i < x->notes->n; i++) {
		const struct note *n = &x->notes->at[i];
		uint32_t block = flow_block_at(x->f, n->at);
		x->loop_of_note[i] = x->f->g.loop_of[block];
		if (next.block != block)
			next = (struct call){ .block = block };
		if (n->kind == NOTE_CALLS) {
			next.note = n;
			vec_push(&x->calls, next);
			next = (struct call){ .block = block };
		} else {
			set_argument(&next, n);
		}
	}
}

static void add_body(const struct finder *x, struct call_copies *to)
{
	for (size_t i = 0; i < x->body.calls.n; i++)
		if (unrolled_first_of_kind(&x->body, x->body.kind[i]) != i)
			unrolled_add_copy(x, unrolled_call(x, i), x->body.kind[i], to);
}

/* Returns whether each iteration passes the block. */
static bool is_always_passed(const struct finder *x, uint32_t block)
{
	const struct graph *g = &x->f->g;
	uint32_t header = g->header[x->loop];
	bool is = true;
	for (uint32_t e = g->previous.first[header]; e < g->previous.first[header + 1]; e++) {
		uint32_t from = g->previous.to[e];
		/* of an innermost loop: all its blocks have it as their loop */
		is &= g->loop_of[from] != x->loop || unrolled_dominates(g, block, from);
	}
	return is;
}

/* Appends the notes of the loop. What only some iterations add to a register counts nothing. */
static void add_notes(const struct finder *x, struct notes *to)
{
	for (size_t i = 0; i < x->notes->n; i++) {
		struct note n = x->notes->at[i];
		if (x->loop_of_note[i] != x->loop)
			continue;
		if (n.kind == NOTE_ADDS && !is_always_passed(x, flow_block_at(x->f, n.at)))
			n.kind = NOTE_WRITES;
		vec_push(to, n);
	}
}

static void find_copies(struct finder *x, struct call_copies *out)
{
	struct notes notes = { 0 };
	add_notes(x, &notes);
	struct counting c = counting_of(&notes);
	vec_free(&notes);
	if (!c.tested || c.all < 2)
		return;
	if (c.all <= x->body.calls.n && unrolled_find_kinds(x, c.all)) {
		add_body(x, out);
		unrolled_add_rest(x, c.all, out);
		return;
	}
	/* it counts by another multiple of the number of copies */
	for (size_t times = x->body.calls.n; times > 1; times--) {
		size_t n = out->n;
		if (c.all % times || !unrolled_find_kinds(x, times))
			continue;
		unrolled_add_rest(x, times, out);
		if (out->n > n) {
			add_body(x, out);
			return;
		}
	}
}

static bool is_innermost(const struct graph *g, uint32_t loop)
{
	for (uint32_t l = 0; l < loop; l++)
		if (g->around[l] == loop)
			return false;
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct call_copy *p = a, *q = b;
	return (p->at > q->at) - (p->at < q->at);
}

void unrolled_find(struct flow *f, const struct notes *notes)
{
	struct finder x = { .f = f, .notes = notes };
	struct call_copies *out = &f->copies;
	find_calls(&x);
	for (x.loop = 0; x.loop < f->g.n_loops; x.loop++) {
		if (is_innermost(&f->g, x.loop) && unrolled_find_body(&x))
			find_copies(&x, out);
		unrolled_free_body(&x.body);
	}
	if (out->n)
		qsort(out->at, out->n, sizeof(*out->at), by_place);
	free(x.loop_of_note);
	vec_free(&x.calls);
}
