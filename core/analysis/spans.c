/*
 * Divides the CUDA calls of an operator into runs: one run is one call of the operator. A stack
 * does not show to which run a CUDA call belongs. Two successive CUDA calls belong to different
 * runs in these cases:
 *
 * - the operator was called from elsewhere: other frames, or the same frames at another line;
 * - a range began or ended between the two calls;
 * - the stack of the run's first call occurs again, after calls with other stacks or after a pause.
 *
 * The pause must be longer for operators that launch in a loop. A loop inside any other operator is
 * not mistaken for several runs, because it begins after the operator's first call, or launches
 * without a pause.
 */
#include "core/analysis/spans.h"

#include "core/util/bisect.h"

enum {
	/* Between two operators, PyTorch's dispatcher, an allocation and the preparation of a
	 * launch take at least 2.5 us. Between two launches of a loop, 0.2 to 1 us pass. */
	PAUSE_NS = 1500,
	/* Operators that gather arguments for each of their launches take 2 to 10 us between two
	 * launches. */
	LOOP_PAUSE_NS = 20000,
	OPERATORS_MOST = 32, /* limit of the nesting depth; deeper operators are left out */
};

/* Prefixes of operators that launch in a loop: on lists of tensors, with a few tensors per launch,
 * or in several passes. */
static const char *const looping[] = {
	"aten::_foreach_", "aten::_fused_", "aten::_amp_foreach_", "aten::cat",
	"aten::topk",	   "aten::_unique", "aten::sort",	   "aten::embedding_dense_backward",
};

void span_list_free(struct span_list *l)
{
	vec_free(&l->at);
	vec_free(&l->crossing);
	vec_free(&l->marks);
}

void spans_free(struct spans *s)
{
	vec_free(&s->made);
	vec_free(&s->stacks);
	vec_free(&s->operators);
	map_free(&s->stack_of);
}

/* ---- Ranges ---- */

/* Returns the index of the first range of this kind and thread; if there is none, the index at
 * which it would be inserted. */
static size_t first_of(const struct model_step *m, uint8_t kind, size_t thread)
{
	const struct model_range *r = m->ranges.at;
	return bisect(m->ranges.n, i,
		      r[i].kind < kind || (r[i].kind == kind && r[i].thread < thread));
}

/* Returns the number, from 1, of the thread's call during which `ns` lies; 0: no call. The thread's
 * calls are sorted by start. */
static size_t call_around(const struct model_step *m, const struct model_thread *t, uint64_t ns)
{
	size_t n = model_first_call(m, t, ns);
	return n && m->calls.at[t->first + n - 1].end_ns > ns ? n : 0;
}

/* Adds the thread's ranges. A range becomes a span if it nests with the other ranges and with the
 * calls. Any other range is listed in `crossing`. */
static void add_ranges(struct span_list *s, const struct model_step *m, size_t thread)
{
	VEC(uint64_t) ends = { 0 };
	for (size_t i = first_of(m, MODEL_RANGE_NESTED, thread); i < m->ranges.n; i++) {
		const struct model_range *r = &m->ranges.at[i];
		if (r->kind != MODEL_RANGE_NESTED || r->thread != thread)
			break;
		while (ends.n && ends.at[ends.n - 1] <= r->begin_ns)
			ends.n--;
		if ((ends.n && r->end_ns > ends.at[ends.n - 1]) ||
		    call_around(m, &m->threads.at[thread], r->begin_ns) !=
			    call_around(m, &m->threads.at[thread], r->end_ns)) {
			vec_push(&s->crossing, (uint32_t)i);
			continue;
		}
		vec_push(&ends, r->end_ns);
		vec_push(&s->at, (struct span){ .begin_ns = r->begin_ns,
						.end_ns = r->end_ns,
						.range = (uint32_t)i,
						.kind = SPAN_RANGE });
	}
	vec_free(&ends);
}

static void add_marks(struct span_list *s, const struct model_step *m, size_t thread)
{
	for (size_t i = first_of(m, MODEL_RANGE_MARK, thread); i < m->ranges.n; i++) {
		const struct model_range *r = &m->ranges.at[i];
		if (r->kind != MODEL_RANGE_MARK || r->thread != thread)
			break;
		vec_push(&s->marks, (uint32_t)i);
	}
}

static int by_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Returns the sorted times at which ranges begin or end, in ns. The caller frees the array. An
 * operator's span never extends across such a time. */
static uint64_t *range_edges(const struct span_list *s, size_t *n)
{
	uint64_t *edges = mem_resize(NULL, s->at.n * 2 * sizeof(*edges));
	*n = 0;
	for (size_t i = 0; i < s->at.n; i++) {
		edges[(*n)++] = s->at.at[i].begin_ns;
		edges[(*n)++] = s->at.at[i].end_ns;
	}
	qsort(edges, *n, sizeof(*edges), by_ns);
	return edges;
}

/* ---- Operators ---- */

static uint64_t mix(uint64_t hash, const void *frame)
{
	hash = (hash ^ (uint64_t)(uintptr_t)frame) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static void add_stack(struct spans *s, struct frames *frames, uint32_t stack)
{
	struct frame_list list = frames_of(frames, stack);
	struct span_stack entry = { .first = (uint32_t)s->operators.n };
	const char *last = "";
	uint64_t outside = 0;
	for (size_t i = list.n; i-- > 0; outside = mix(outside, list.at[i])) {
		const char *name = frame_operator(list.at[i]);
		/* The dispatcher may pass a call on to another dispatch key. The name then occurs
		 * twice in a row for one call of the operator. */
		if (!*name || !strcmp(name, last) || entry.n == OPERATORS_MOST)
			continue;
		vec_push(&s->operators, (struct span_operator){ name, outside });
		entry.n++;
		last = name;
	}
	vec_push(&s->stacks, entry);
}

static struct span_stack stack_at(struct spans *s, struct frames *frames, uint32_t stack)
{
	bool is_new;
	uint64_t *at = map_at(&s->stack_of, stack, &is_new);
	if (is_new) {
		*at = s->stacks.n;
		add_stack(s, frames, stack);
	}
	return s->stacks.at[*at];
}

/* Collects the blocks that the thread got from a framework's allocator. */
static void add_made(struct spans *s, const struct model_step *m, size_t thread)
{
	for (size_t i = m->n_live_blocks; i < m->blocks.n; i++) {
		const struct model_block *b = &m->blocks.at[i];
		if (b->event == BLOCK_MADE && b->thread == thread && b->stack)
			vec_push(&s->made, (uint32_t)i);
	}
}

/* The state while the calls of a thread are added: the operators that the last call was in,
 * outermost first. Arrays are by nesting depth; `n` operators are open. */
struct nest {
	struct spans *s;
	struct span_list *list;
	const struct model_step *m;
	struct frames *frames;
	const uint64_t *edges;
	size_t n_edges, next_edge;
	size_t next_made;
	size_t n;
	size_t span[OPERATORS_MOST];
	struct span_operator operator[OPERATORS_MOST];
	uint32_t first_stack[OPERATORS_MOST]; /* stack of the operator's first call */
	bool has_others[OPERATORS_MOST];      /* a call with another stack followed */
	uint64_t last_end_ns;
};

uint64_t spans_pause_ns(const char *operator)
{
	for (size_t i = 0; i < sizeof(looping) / sizeof(*looping); i++)
		if (!strncmp(operator, looping[i], strlen(looping[i])))
			return LOOP_PAUSE_NS;
	return PAUSE_NS;
}

static bool is_same(const struct span_operator *a, const struct span_operator *b)
{
	return a->outside == b->outside && !strcmp(a->name, b->name);
}

static bool passes_edge(struct nest *n, uint64_t begin_ns)
{
	bool passes = false;
	for (; n->next_edge < n->n_edges && n->edges[n->next_edge] <= begin_ns; n->next_edge++)
		passes |= n->edges[n->next_edge] >= n->last_end_ns;
	return passes;
}

/*
 * Returns how many of the open operators the call is still in, from the outermost one. If several
 * of them may have been called again, the outermost one is assumed to have been, because programs
 * call whole operators in a loop. `id` is the call's DICT_STACK.
 */
static size_t still_open(const struct nest *n, const struct span_stack *stack, uint32_t id,
			 uint64_t begin_ns)
{
	const struct span_operator *operators = &n->s->operators.at[stack->first];
	size_t k = 0;
	while (k < n->n && k < stack->n && is_same(&operators[k], &n->operator[k])) {
		if (n->first_stack[k] == id &&
		    (n->has_others[k] ||
		     begin_ns > n->last_end_ns + spans_pause_ns(operators[stack->n - 1].name)))
			break;
		k++;
	}
	return k;
}

/*
 * Fills `begins` for the operators that begin with this call, those from depth `k` on. If an
 * operator allocated blocks between `from_ns` and the call, it began at the first of these
 * allocations.
 */
static void reach_back(struct nest *n, const struct span_stack *stack, size_t k, uint64_t from_ns,
		       uint64_t begin_ns, uint64_t *begins)
{
	struct spans *s = n->s;
	for (size_t i = k; i < stack->n; i++)
		begins[i] = begin_ns;
	for (; n->next_made < s->made.n; n->next_made++) {
		const struct model_block *b = &n->m->blocks.at[s->made.at[n->next_made]];
		if (b->ns >= begin_ns)
			return;
		if (b->ns <= from_ns)
			continue;
		struct span_stack made = stack_at(s, n->frames, b->stack);
		for (size_t i = 0; i < made.n && i < stack->n; i++) {
			if (!is_same(&s->operators.at[made.first + i],
				     &s->operators.at[stack->first + i]))
				break;
			if (i >= k && begins[i] == begin_ns)
				begins[i] = b->ns;
		}
	}
}

/*
 * Adds a call: extends the spans of the operators that it is still in, and opens spans for the
 * others. `free_ns`: the end of the last library function before the call. A new span does not
 * begin before that time.
 */
static void add_call(struct nest *n, const struct span_stack *stack, uint32_t call, uint32_t id,
		     uint64_t free_ns, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t begins[OPERATORS_MOST];
	size_t k = passes_edge(n, begin_ns) ? 0 : still_open(n, stack, id, begin_ns);
	uint64_t edge_ns = n->next_edge ? n->edges[n->next_edge - 1] : 0;
	free_ns = free_ns > n->last_end_ns ? free_ns : n->last_end_ns;
	reach_back(n, stack, k, free_ns > edge_ns ? free_ns : edge_ns, begin_ns, begins);
	for (size_t i = 0; i < k; i++) {
		struct span *span = &n->list->at.at[n->span[i]];
		span->end_ns = end_ns;
		span->n_calls++;
		n->has_others[i] |= n->first_stack[i] != id;
	}
	for (n->n = k; n->n < stack->n; n->n++) {
		n->operator[n->n] = n->s->operators.at[stack->first + n->n];
		n->first_stack[n->n] = id;
		n->has_others[n->n] = false;
		n->span[n->n] = n->list->at.n;
		vec_push(&n->list->at, (struct span){ .begin_ns = begins[n->n],
						      .end_ns = end_ns,
						      .operator= n->operator[n->n].name,
						      .depth = (uint32_t)n->n,
						      .first_call = call,
						      .n_calls = 1,
						      .kind = SPAN_OPERATOR });
	}
	n->last_end_ns = end_ns;
}

/* ---- Libraries ---- */

static size_t first_library(const struct model_step *m, size_t thread)
{
	return bisect(m->libraries.n, i, m->libraries.at[i].thread < thread);
}

/* Adds the thread's library functions. In a damaged journal a function may begin or end inside a
 * call; such a function is left out. */
static void add_libraries(struct span_list *s, const struct model_step *m, size_t thread)
{
	const struct model_thread *t = &m->threads.at[thread];
	for (size_t i = first_library(m, thread);
	     i < m->libraries.n && m->libraries.at[i].thread == thread; i++) {
		const struct model_library *l = &m->libraries.at[i];
		if (l->facts == FACTS_OPERATOR || call_around(m, t, l->begin_ns) ||
		    call_around(m, t, l->end_ns))
			continue;
		vec_push(&s->at, (struct span){ .begin_ns = l->begin_ns,
						.end_ns = l->end_ns,
						.library = (uint32_t)i,
						.kind = SPAN_LIBRARY });
	}
}

/* The library functions around the current call. The spans of operators are extended to enclose
 * them. */
struct around {
	const struct model_step *m;
	size_t thread, next;
	uint64_t end_ns;  /* end of the outermost library function that is open */
	uint64_t free_ns; /* end of the last library function before the call */
};

static void widen(struct around *a, uint64_t *begin_ns, uint64_t *end_ns)
{
	const struct model_step *m = a->m;
	for (; a->next < m->libraries.n && m->libraries.at[a->next].thread == a->thread &&
	       m->libraries.at[a->next].begin_ns <= *begin_ns;
	     a->next++) {
		const struct model_library *l = &m->libraries.at[a->next];
		if (l->end_ns <= *begin_ns && l->end_ns > a->free_ns)
			a->free_ns = l->end_ns;
		if (l->begin_ns < a->end_ns || l->end_ns < *end_ns)
			continue; /* the function is inside an open one, or encloses no call */
		a->end_ns = l->end_ns;
		*begin_ns = l->begin_ns;
		*end_ns = l->end_ns;
		a->next++;
		return;
	}
	if (*end_ns < a->end_ns)
		*end_ns = a->end_ns;
}

static void add_operators(struct spans *s, const struct model_step *m, size_t thread,
			  struct frames *frames, struct span_list *list)
{
	struct nest n = { .s = s, .list = list, .m = m, .frames = frames };
	uint64_t *edges = range_edges(list, &n.n_edges);
	n.edges = edges;
	uint64_t last_ns = 0;
	struct around around = { .m = m, .thread = thread, .next = first_library(m, thread) };
	const struct model_thread *t = &m->threads.at[thread];
	for (size_t i = 0; i < t->n; i++) {
		const struct model_call *c = &m->calls.at[t->first + i];
		uint64_t begin_ns, end_ns;
		spans_clip(c, &begin_ns, &last_ns);
		end_ns = last_ns;
		widen(&around, &begin_ns, &end_ns);
		struct span_stack stack = stack_at(s, frames, c->stack);
		add_call(&n, &stack, (uint32_t)(t->first + i), c->stack, around.free_ns, begin_ns,
			 end_ns);
	}
	free(edges);
}

/* ---- The whole thread ---- */

/* Compares spans by start, outer spans first. During sorting, `depth` is still the nesting depth
 * among operators, which shows the outer one of two operators with the same begin and end. */
static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->kind == SPAN_LIBRARY)
		return x->library < y->library ? -1 : 1;
	if (x->kind == SPAN_RANGE)
		return x->range < y->range ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static void set_depths(struct span_list *s)
{
	VEC(uint64_t) ends = { 0 };
	for (size_t i = 0; i < s->at.n; i++) {
		struct span *span = &s->at.at[i];
		bool is_library = span->kind == SPAN_LIBRARY;
		while (ends.n && ((!is_library && ends.at[ends.n - 1] < span->end_ns) ||
				  ends.at[ends.n - 1] <= span->begin_ns))
			ends.n--;
		if (ends.n && span->end_ns > ends.at[ends.n - 1])
			span->end_ns = ends.at[ends.n - 1]; /* only in a damaged journal */
		span->depth = (uint32_t)ends.n;
		vec_push(&ends, span->end_ns);
	}
	vec_free(&ends);
}

void spans_find(struct spans *s, const struct model_step *m, size_t thread, struct frames *frames,
		struct span_list *list)
{
	list->at.n = list->crossing.n = list->marks.n = s->made.n = 0;
	add_ranges(list, m, thread);
	add_marks(list, m, thread);
	add_made(s, m, thread);
	if (m->operators.n)
		spans_add_known(list, m, thread);
	else if (frames)
		add_operators(s, m, thread, frames, list);
	add_libraries(list, m, thread);
	if (list->at.n)
		qsort(list->at.at, list->at.n, sizeof(*list->at.at), by_begin);
	set_depths(list);
}
