/* See contention.h. */
#include "core/analysis/contention.h"

#include "core/util/bisect.h"

enum {
	/* By so much the clocks of the CPU and of a GPU may differ: a wait may seem to return
	 * before the work that it waits for is done. */
	CLOCKS_NS = 20000,
	USUAL_KEPT = sizeof(((struct contention_usual *)0)->ns) / sizeof(float),
};

/* A call, or the time between two calls of a lane, in the step. */
struct piece {
	uint64_t begin_ns, end_ns;
	uint64_t key;	    /* of what it usually takes; 0: unknown */
	uint64_t before_ns; /* its length before the step */
	uint64_t waited_ns;
	uint64_t certain_ns; /* waits that certainly were there */
	uint32_t thread;     /* of the call; TIMELINE_NO_THREAD: between two calls */
	uint32_t call; /* from the step's first call on; the number of calls: after the last */
	bool is_wait;  /* the call waits for the GPU */
};

typedef VEC(struct piece) pieces;

struct sweep {
	struct contention *c;
	const struct timeline *t;
	const struct lanes *lanes;
	const struct timeline_step *step;
	pieces *of_lane;
	uint64_t *until_ns; /* by lane: when its calls so far have ended */
	VEC(uint64_t) done; /* when GPU work ended, sorted */
};

void contention_free(struct contention *c)
{
	vec_free(&c->calls);
	vec_free(&c->tails);
	vec_free(&c->last);
	vec_free(&c->open);
	vec_free(&c->usual);
	map_free(&c->usual_of);
}

/* ---- What is usual ---- */

static int by_float(const void *a, const void *b)
{
	const float *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/*
 * Returns what such a piece usually takes: the median; 0: not known yet. `is_certain`: all of a
 * wait was there. Then the nine tenths of what the pieces took without such waits: the time of a
 * loop that runs until a clock says so passes during a wait, too, and only what it lacks in the end
 * is lost.
 */
static uint64_t usual_ns(const struct contention *c, uint64_t key, bool is_certain)
{
	const uint64_t *at = key ? map_find(&c->usual_of, key) : NULL;
	if (!at)
		return 0;
	struct contention_usual u = c->usual.at[*at];
	float *ns = is_certain ? u.least_ns : u.ns;
	uint32_t n = u.n < USUAL_KEPT ? u.n : USUAL_KEPT;
	qsort(ns, n, sizeof(*ns), by_float);
	return (uint64_t)ns[is_certain ? (n * 9 + 9) / 10 - 1 : n / 2];
}

static void learn(struct contention *c, uint64_t key, uint64_t ns, uint64_t least_ns)
{
	bool is_new;
	if (!key)
		return;
	uint64_t *at = map_at(&c->usual_of, key, &is_new);
	if (is_new) {
		*at = c->usual.n;
		vec_push(&c->usual, (struct contention_usual){ 0 });
	}
	struct contention_usual *u = &c->usual.at[*at];
	u->ns[u->n % USUAL_KEPT] = (float)ns;
	u->least_ns[u->n++ % USUAL_KEPT] = (float)least_ns;
}

static uint64_t key_of(uint32_t first, uint32_t second)
{
	return (uint64_t)first << 32 | second;
}

/* ---- The pieces of the step ---- */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Work of the step before may end in this step. */
static void find_done(struct sweep *w)
{
	const struct timeline_step *first = w->step;
	if (first->follows && w->t->steps.n > 1)
		first--;
	for (size_t i = first->first_work; i < w->t->works.n; i++)
		vec_push(&w->done, w->t->works.at[i].end_ns);
	if (w->done.n)
		qsort(w->done.at, w->done.n, sizeof(*w->done.at), by_value);
}

/* Returns since when the call no longer waited for the GPU. */
static uint64_t waited_until(const struct sweep *w, const struct timeline_call *c)
{
	size_t i = bisect(w->done.n, k, w->done.at[k] <= c->end_ns + CLOCKS_NS);
	uint64_t done_ns = i ? w->done.at[i - 1] : 0;
	done_ns = done_ns < c->end_ns ? done_ns : c->end_ns;
	return done_ns > c->begin_ns ? done_ns : c->begin_ns;
}

/* Returns the piece's length beyond what is usual (usual_ns()). */
static uint64_t excess_of(const struct contention *c, const struct piece *p, bool is_certain)
{
	uint64_t length_ns = p->end_ns - p->begin_ns, usual = usual_ns(c, p->key, is_certain);
	uint64_t all_ns = length_ns + p->before_ns, ns = all_ns > usual ? all_ns - usual : 0;
	return ns < length_ns ? ns : length_ns;
}

/* Adds the time of the lane before the call `call`, which begins at end_ns. */
static void add_gap(struct sweep *w, uint32_t lane, uint64_t end_ns, uint32_t stack, uint32_t call)
{
	const pieces *before = &w->of_lane[lane];
	const struct waited *tail = &w->c->tails.at[lane];
	struct piece p = { .begin_ns = w->until_ns[lane],
			   .end_ns = end_ns,
			   .key = key_of(w->c->last.at[lane], stack),
			   .thread = TIMELINE_NO_THREAD,
			   .call = call };
	if (!w->c->last.at[lane] || !stack)
		p.key = 0;
	if (!before->n)
		p.before_ns = tail->of_ns - tail->ns;
	if (p.end_ns > p.begin_ns)
		vec_push(&w->of_lane[lane], p);
	else if (p.before_ns) /* the step begins with this call */
		learn(w->c, p.key, p.before_ns, p.before_ns);
}

static void add_calls(struct sweep *w)
{
	struct contention *c = w->c;
	for (uint32_t i = 0; i < w->step->n_calls; i++) {
		const struct timeline_call *call = &w->t->calls.at[w->step->first_call + i];
		uint32_t lane = w->lanes->of_thread[call->thread];
		add_gap(w, lane, call->begin_ns, call->stack, i);
		if (call->end_ns > call->begin_ns)
			vec_push(&w->of_lane[lane],
				 ((struct piece){ .begin_ns = call->wait ? waited_until(w, call)
									 : call->begin_ns,
						  .end_ns = call->end_ns,
						  .key = key_of(0, call->stack),
						  .thread = call->thread,
						  .call = i,
						  .is_wait = call->wait }));
		if (call->end_ns < w->until_ns[lane])
			continue;
		w->until_ns[lane] = call->end_ns;
		c->last.at[lane] = call->stack;
	}
}

/* After its last call, the lane is on its way to the next step's first call, which is assumed to be
 * like this step's. */
static void add_tails(struct sweep *w)
{
	uint32_t *first = mem_zero(w->lanes->n * sizeof(*first));
	for (uint32_t i = w->step->n_calls; i-- > 0;) {
		const struct timeline_call *call = &w->t->calls.at[w->step->first_call + i];
		first[w->lanes->of_thread[call->thread]] = call->stack;
	}
	for (uint32_t lane = 0; lane < w->lanes->n; lane++)
		if (w->of_lane[lane].n)
			add_gap(w, lane, w->step->end_ns, first[lane], w->step->n_calls);
	free(first);
}

/* ---- Placing ---- */

/* A piece that the wait may have made longer. */
struct place {
	struct piece *piece;
	uint64_t most_ns;
	bool is_known; /* it is known how long the piece usually is */
};

static int by_most(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->is_known != y->is_known)
		return x->is_known ? -1 : 1;
	return x->most_ns > y->most_ns ? -1 : x->most_ns < y->most_ns;
}

static uint64_t overlap_ns(const struct piece *p, const struct timeline_cpu_wait *w)
{
	uint64_t begin_ns = p->begin_ns > w->begin_ns ? p->begin_ns : w->begin_ns,
		 end_ns = p->end_ns < w->end_ns ? p->end_ns : w->end_ns;
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* Places up to `left_ns` of the wait in the pieces, first where most of it may have been. Returns
 * what is left. */
static uint64_t place(const struct contention *c, pieces *of_lane,
		      const struct timeline_cpu_wait *w, uint64_t left_ns)
{
	VEC(struct place) places = { 0 };
	for (size_t i = 0; i < of_lane->n; i++) {
		struct piece *p = &of_lane->at[i];
		uint64_t most_ns = overlap_ns(p, w);
		if (!most_ns || (p->thread != TIMELINE_NO_THREAD && p->thread != w->thread))
			continue;
		/* all of the wait was there */
		bool is_certain = most_ns == w->end_ns - w->begin_ns && !p->is_wait;
		uint64_t excess_ns = excess_of(c, p, is_certain);
		p->certain_ns += is_certain ? left_ns : 0;
		excess_ns = excess_ns > p->waited_ns ? excess_ns - p->waited_ns : 0;
		most_ns = most_ns < excess_ns ? most_ns : excess_ns;
		if (most_ns)
			vec_push(&places,
				 (struct place){ p, most_ns,
						 is_certain || usual_ns(c, p->key, false) > 0 });
	}
	if (places.n)
		qsort(places.at, places.n, sizeof(*places.at), by_most);
	for (size_t i = 0; i < places.n && left_ns; i++) {
		uint64_t ns = places.at[i].most_ns < left_ns ? places.at[i].most_ns : left_ns;
		places.at[i].piece->waited_ns += ns;
		left_ns -= ns;
	}
	vec_free(&places);
	return left_ns;
}

/* Returns how much of the wait was not placed in the step before. */
static uint64_t left_of(const struct contention *c, const struct timeline_cpu_wait *w)
{
	for (size_t i = 0; i < c->open.n; i++)
		if (c->open.at[i].thread == w->thread && c->open.at[i].end_ns == w->end_ns)
			return c->open.at[i].left_ns;
	return w->ns;
}

static void place_waits(struct sweep *w)
{
	VEC(struct contention_open) open = { 0 };
	for (size_t i = 0; i < w->t->cpu_waits.n; i++) {
		const struct timeline_cpu_wait *wait = &w->t->cpu_waits.at[i];
		uint64_t left_ns = place(w->c, &w->of_lane[w->lanes->of_thread[wait->thread]], wait,
					 left_of(w->c, wait));
		if (wait->end_ns > w->step->end_ns)
			vec_push(&open,
				 (struct contention_open){ wait->end_ns, left_ns, wait->thread });
	}
	vec_free(&w->c->open);
	w->c->open.n = 0;
	for (size_t i = 0; i < open.n; i++)
		vec_push(&w->c->open, open.at[i]);
	vec_free(&open);
}

/* ---- Results ---- */

static void take_piece(struct sweep *w, uint32_t lane, const struct piece *p)
{
	struct contention *c = w->c;
	struct waited waited = { p->waited_ns, p->end_ns - p->begin_ns };
	uint64_t length_ns = waited.of_ns + p->before_ns;
	if (p->call == w->step->n_calls) {
		c->tails.at[lane] = waited;
		return; /* the piece ends in the next step */
	}
	struct waited_call *call = &c->calls.at[p->call];
	if (p->thread == TIMELINE_NO_THREAD) {
		call->before = waited;
		call->before_all_ns += waited.ns;
	} else {
		call->within = waited;
	}
	uint64_t certain_ns = p->certain_ns > waited.ns ? p->certain_ns : waited.ns;
	learn(c, p->key, length_ns > waited.ns ? length_ns - waited.ns : 0,
	      length_ns > certain_ns ? length_ns - certain_ns : 0);
}

static void take_results(struct sweep *w)
{
	struct contention *c = w->c;
	c->calls.n = 0;
	for (uint32_t i = 0; i < w->step->n_calls; i++)
		vec_push(&c->calls, (struct waited_call){ 0 });
	for (uint32_t lane = 0; lane < w->lanes->n; lane++) {
		const pieces *p = &w->of_lane[lane];
		if (p->n && p->at[0].call < w->step->n_calls)
			c->calls.at[p->at[0].call].before_all_ns = c->tails.at[lane].ns;
		c->tails.at[lane] = (struct waited){ 0 };
		for (size_t i = 0; i < p->n; i++)
			take_piece(w, lane, &p->at[i]);
		if (!p->n)
			c->last.at[lane] = 0;
	}
}

void contention_find(struct contention *c, const struct timeline *t, const struct lanes *lanes,
		     bool follows)
{
	struct sweep w = { .c = c, .t = t, .lanes = lanes, .step = &t->steps.at[t->steps.n - 1] };
	if (!follows || c->tails.n != lanes->n) {
		c->tails.n = c->last.n = c->open.n = 0;
		while (c->tails.n < lanes->n) {
			vec_push(&c->tails, (struct waited){ 0 });
			vec_push(&c->last, 0);
		}
	}
	w.of_lane = mem_zero(lanes->n * sizeof(*w.of_lane));
	w.until_ns = mem_zero(lanes->n * sizeof(*w.until_ns));
	for (uint32_t lane = 0; lane < lanes->n; lane++)
		w.until_ns[lane] = w.step->begin_ns;
	find_done(&w);
	add_calls(&w);
	add_tails(&w);
	place_waits(&w);
	take_results(&w);
	for (uint32_t lane = 0; lane < lanes->n; lane++)
		vec_free(&w.of_lane[lane]);
	free(w.of_lane);
	free(w.until_ns);
	vec_free(&w.done);
}
