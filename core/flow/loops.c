/*
 * See graph.h. Dominators: Lengauer and Tarjan 1979, "A fast algorithm for finding dominators in a
 * flowgraph", the simple variant with path compression. Code that jumps from many places to one
 * block is quadratic in algorithms that walk up the tree of dominators.
 */
#include "core/flow/graph.h"
#include "core/util/vec.h"

/* The blocks are named by their index in graph.order here. */
struct dominators {
	uint32_t *parent;   /* in the spanning tree of the preorder */
	uint32_t *semi;	    /* semidominator */
	uint32_t *ancestor; /* in the forest; GRAPH_NONE: a root */
	uint32_t *label;    /* block with the smallest semidominator up to `ancestor` */
	uint32_t *result;   /* immediate dominator */
	/* the blocks with this semidominator, as a list */
	uint32_t *first_of, *next_of;
	uint32_t *path; /* scratch memory */
};

static uint32_t *zeros(size_t n)
{
	return mem_zero(n * sizeof(uint32_t));
}

static uint32_t *nones(size_t n)
{
	uint32_t *at = zeros(n);
	for (size_t i = 0; i < n; i++)
		at[i] = GRAPH_NONE;
	return at;
}

/* Numbers the blocks that are reached in preorder, and notes each one's parent. */
static void walk(struct graph *g, uint32_t *parent)
{
	uint32_t *at = zeros(g->n), *edge = zeros(g->n), depth = 0;
	g->order[0] = 0;
	g->number[0] = 0;
	g->n_order = 1;
	edge[0] = g->next.first[0];
	for (depth = 1; depth;) {
		uint32_t block = at[depth - 1];
		if (edge[depth - 1] == g->next.first[block + 1]) {
			depth--;
			continue;
		}
		uint32_t to = g->next.to[edge[depth - 1]++];
		if (g->number[to] != GRAPH_NONE)
			continue;
		g->number[to] = g->n_order;
		parent[g->n_order] = g->number[block];
		g->order[g->n_order++] = to;
		at[depth] = to;
		edge[depth++] = g->next.first[to];
	}
	free(at);
	free(edge);
}

/* Fills in `previous`. */
static void reverse_edges(struct graph *g)
{
	uint32_t *first = zeros((size_t)g->n + 1);
	for (uint32_t i = 0; i < g->n_order; i++) {
		uint32_t from = g->order[i];
		for (uint32_t e = g->next.first[from]; e < g->next.first[from + 1]; e++)
			first[g->next.to[e] + 1]++;
	}
	for (uint32_t b = 0; b < g->n; b++)
		first[b + 1] += first[b];
	uint32_t *to = zeros(first[g->n]), *place = zeros(g->n);
	memcpy(place, first, g->n * sizeof(*place));
	for (uint32_t i = 0; i < g->n_order; i++) {
		uint32_t from = g->order[i];
		for (uint32_t e = g->next.first[from]; e < g->next.first[from + 1]; e++)
			to[place[g->next.to[e]]++] = from;
	}
	free(place);
	g->previous = (struct edges){ first, to };
}

/* Returns the block with the smallest semidominator on the path to the root, without the root. */
static uint32_t smallest(struct dominators *d, uint32_t v)
{
	if (d->ancestor[v] == GRAPH_NONE)
		return v;
	size_t n = 0;
	uint32_t at = v;
	for (; d->ancestor[d->ancestor[at]] != GRAPH_NONE; at = d->ancestor[at])
		d->path[n++] = at;
	while (n > 0) {
		uint32_t lower = d->path[--n], up = d->ancestor[lower];
		if (d->semi[d->label[up]] < d->semi[d->label[lower]])
			d->label[lower] = d->label[up];
		d->ancestor[lower] = d->ancestor[up];
	}
	return d->label[v];
}

static void find_semidominators(const struct graph *g, struct dominators *d)
{
	for (uint32_t w = g->n_order; w-- > 1;) {
		uint32_t block = g->order[w], up = d->parent[w];
		for (uint32_t e = g->previous.first[block]; e < g->previous.first[block + 1]; e++) {
			uint32_t from = g->number[g->previous.to[e]];
			uint32_t semi = d->semi[smallest(d, from)];
			if (semi < d->semi[w])
				d->semi[w] = semi;
		}
		d->next_of[w] = d->first_of[d->semi[w]];
		d->first_of[d->semi[w]] = w;
		d->ancestor[w] = up;
		for (uint32_t v = d->first_of[up]; v != GRAPH_NONE; v = d->next_of[v]) {
			uint32_t u = smallest(d, v);
			d->result[v] = d->semi[u] < d->semi[v] ? u : up;
		}
		d->first_of[up] = GRAPH_NONE;
	}
}

/* Finds the immediate dominators; d->result has them as indices in g->order. */
static void find_dominators(struct graph *g, struct dominators *d)
{
	size_t n = g->n_order;
	d->semi = zeros(n);
	d->label = zeros(n);
	d->result = zeros(n);
	d->path = zeros(n);
	d->next_of = zeros(n);
	d->ancestor = nones(n);
	d->first_of = nones(n);
	for (uint32_t v = 0; v < n; v++)
		d->semi[v] = d->label[v] = v;
	find_semidominators(g, d);
	for (uint32_t w = 1; w < n; w++) {
		if (d->result[w] != d->semi[w])
			d->result[w] = d->result[d->result[w]];
		g->dominator[g->order[w]] = g->order[d->result[w]];
	}
}

static void free_dominators(struct dominators *d)
{
	free(d->parent);
	free(d->semi);
	free(d->ancestor);
	free(d->label);
	free(d->result);
	free(d->first_of);
	free(d->next_of);
	free(d->path);
}

/*
 * The blocks that v dominates are those with an `in` from in[v] to in[v] + size[v] - 1. Both are
 * indexed as g->order is.
 */
struct dominated {
	uint32_t *in, *size;
};

static struct dominated number_dominated(const struct graph *g, const uint32_t *result)
{
	size_t n = g->n_order;
	struct dominated t = { zeros(n), zeros(n) };
	uint32_t *place = zeros(n);
	for (size_t v = n; v-- > 0;) {
		t.size[v]++;
		if (v)
			t.size[result[v]] += t.size[v];
	}
	place[0] = 1;
	for (size_t v = 1; v < n; v++) {
		t.in[v] = place[result[v]];
		place[result[v]] += t.size[v];
		place[v] = t.in[v] + 1;
	}
	free(place);
	return t;
}

struct finder {
	struct graph *g;
	struct dominated dominated;
	uint32_t *outermost; /* of a loop: a loop around it, or itself if none is known yet */
	VEC(uint32_t) todo;
};

static uint32_t outermost(struct finder *f, uint32_t loop)
{
	uint32_t top = loop;
	while (f->outermost[top] != top)
		top = f->outermost[top];
	while (f->outermost[loop] != top) {
		uint32_t next = f->outermost[loop];
		f->outermost[loop] = top;
		loop = next;
	}
	return top;
}

static void push_previous(struct finder *f, uint32_t block)
{
	const struct edges *p = &f->g->previous;
	for (uint32_t e = p->first[block]; e < p->first[block + 1]; e++)
		vec_push(&f->todo, p->to[e]);
}

/* Adds the loop whose first block is `header`: all blocks in f->todo, and what leads to them. */
static void add_loop(struct finder *f, uint32_t header)
{
	struct graph *g = f->g;
	uint32_t loop = g->n_loops++;
	g->header[loop] = header;
	g->around[loop] = GRAPH_NONE;
	f->outermost[loop] = loop;
	g->loop_of[header] = loop;
	while (f->todo.n > 0) {
		uint32_t block = f->todo.at[--f->todo.n], inner = g->loop_of[block];
		if (inner == GRAPH_NONE) {
			g->loop_of[block] = loop;
			push_previous(f, block);
			continue;
		}
		inner = outermost(f, inner);
		if (inner == loop)
			continue;
		g->around[inner] = f->outermost[inner] = loop;
		push_previous(f, g->header[inner]);
	}
}

/*
 * The first block of an outer loop dominates those of the inner ones, so it comes before them in
 * the preorder.
 */
static void find_loops(struct graph *g, const uint32_t *result)
{
	struct finder f = { .g = g, .dominated = number_dominated(g, result) };
	const struct dominated *d = &f.dominated;
	f.outermost = zeros(g->n_order);
	for (uint32_t v = g->n_order; v-- > 0;) {
		uint32_t header = g->order[v];
		const struct edges *p = &g->previous;
		for (uint32_t e = p->first[header]; e < p->first[header + 1]; e++)
			if (d->in[g->number[p->to[e]]] - d->in[v] < d->size[v])
				vec_push(&f.todo, p->to[e]);
		if (f.todo.n > 0)
			add_loop(&f, header);
	}
	vec_free(&f.todo);
	free(f.outermost);
	free(d->in);
	free(d->size);
}

void graph_find_loops(struct graph *g)
{
	struct dominators d = { .parent = zeros(g->n) };
	g->order = zeros(g->n);
	g->number = nones(g->n);
	g->dominator = nones(g->n);
	g->loop_of = nones(g->n);
	walk(g, d.parent);
	reverse_edges(g);
	find_dominators(g, &d);
	g->header = zeros(g->n_order);
	g->around = zeros(g->n_order);
	find_loops(g, d.result);
	free_dominators(&d);
}

void graph_forget_loops(struct graph *g)
{
	free(g->previous.first);
	free(g->previous.to);
	free(g->order);
	free(g->number);
	free(g->dominator);
	free(g->loop_of);
	free(g->header);
	free(g->around);
	*g = (struct graph){ .n = g->n, .next = g->next };
}

void graph_free(struct graph *g)
{
	graph_forget_loops(g);
	free(g->next.first);
	free(g->next.to);
}
