/*
 * CUPTI numbers the calls of the whole process, recorded or not, and GPU work carries its call's number. So the calls by the
 * time they began and the work by number are the same sequence, but for what one side lacks: a call without work (between two
 * places on the host), work whose call was not seen or was dropped, two threads that call at the same moment. Both are walked at once;
 * a pair must agree in what was asked for (kernel, grid, block; bytes; a graph; the stream), and work never begins before its call.
 * Where calls of several threads overlap, any of the next pieces of work may be theirs. Where nothing agrees, the nearest place is
 * looked for from which on they agree again. On an H100 that saves the launching thread half of
 * what CUPTI costs: recording calls makes every call of the API dearer, cudaGetDevice 480 ns instead of 50.
 */
#include "core/pair_order.h"

#include "core/vec.h"

#include <stdlib.h>

enum {
	LOOK_AHEAD = 96, /* calls and pieces of work that may be skipped at one place, together */
	RUN = 3,	 /* that agree behind it */
	RACING = 16,	 /* calls that are under way at once */
	MOSTLY_PCT =
		90, /* of a stream's calls that have work on the same of CUPTI's streams: it is that one */
};

/* GPU and host clocks are related by CUPTI to within this. */
#define CLOCKS_DIFFER_TICKS 20000

struct caller {
	const struct rec_call *call;
	uint32_t number;
	uint8_t category;
};

/* All work of one call. */
struct group {
	const struct rec_gpu *first;
	uint32_t correlation, n;
	uint64_t begin_ticks; /* of the earliest */
	uint32_t at;	      /* its call's place among the calls, else a pair_answer */
};

/* The application's stream, as one of CUPTI's. A handle may stand for several: the default stream of each thread, or one made anew. */
struct stream {
	uint32_t id, n, votes; /* votes: Boyer and Moore's majority */
};

struct walk {
	const struct pair_input *in;
	VEC(struct caller) calls;
	VEC(struct group) groups;
	VEC(struct stream) streams;
	struct map
		stream_of; /* by handle and device -> place in streams; known behind the first walk */
	bool knows_streams;
};

/* ---- The two sequences ---- */

static int by_begin(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;
	if (x->call->begin_ticks != y->call->begin_ticks)
		return x->call->begin_ticks < y->call->begin_ticks ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void list_calls(struct walk *w)
{
	const struct pair_input *in = w->in;
	for (size_t i = 0; i < in->n_threads; i++) {
		const struct pair_thread *t = &in->threads[i];
		for (size_t k = 0; k < t->n_calls; k++) {
			const struct rec_call *call = &t->calls[k];
			if (!in->expects_work(in->context, call))
				continue;
			struct caller c = { call, t->first + (uint32_t)k,
					    dict_category(in->dict, call->hook) };
			vec_push(&w->calls, c);
		}
	}
	if (w->calls.n)
		qsort(w->calls.at, w->calls.n, sizeof(*w->calls.at), by_begin);
}

/* Modulo 2^32: a busy process counts that far within an hour or two. */
static int by_correlation(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int32_t apart = (int32_t)(x->correlation - y->correlation);
	return apart < 0 ? -1 : apart > 0;
}

static bool is_wait(const struct rec_gpu *work)
{
	return work->kind == REC_GPU_SYNC;
}

static void list_groups(struct walk *w)
{
	const struct pair_input *in = w->in;
	size_t n = 0;
	for (size_t i = 0; i < in->n_works; i++) {
		const struct rec_gpu *g = &in->works[i];
		struct group one = { g, g->correlation, 1, g->begin_ticks, PAIR_UNKNOWN };
		if (!is_wait(g))
			vec_push(&w->groups, one);
	}
	if (w->groups.n)
		qsort(w->groups.at, w->groups.n, sizeof(*w->groups.at), by_correlation);
	for (size_t i = 0; i < w->groups.n; i++) {
		struct group *g = &w->groups.at[i], *last = n ? &w->groups.at[n - 1] : NULL;
		if (!last || last->correlation != g->correlation) {
			w->groups.at[n++] = *g;
			continue;
		}
		last->n++;
		if (g->begin_ticks < last->begin_ticks)
			last->begin_ticks = g->begin_ticks;
	}
	w->groups.n = n;
}

/* ---- Do a call and work agree? ---- */

/* `asked` is zero where the call does not say (cuLaunch: its block was set by calls before). */
static bool same_shape(const uint32_t *asked, const uint32_t *done)
{
	return !asked[0] || (asked[0] == done[0] && asked[1] == done[1] && asked[2] == done[2]);
}

static bool is_launch_of(const struct dict *d, const struct rec_call *call,
			 const struct rec_gpu *work)
{
	const struct launch_entry *l = dict_launch(d, call->arg);
	if (work->kind != REC_KERNEL || work->graph)
		return false;
	if (!l)
		return true;
	if (!same_shape(l->grid, work->grid))
		return false;
	const struct kernel_entry *k = work->name < d->kernels.n ? &d->kernels.at[work->name]
								 : NULL;
	if (!k || !k->is_known)
		return true;
	return same_shape(l->block, k->block) && (!l->is_named || l->name == k->name);
}

static uint64_t bytes_of(const struct rec_gpu *work)
{
	return (uint64_t)work->bytes_high << 32 | work->bytes_low;
}

static bool is_kind_of(uint8_t category, const struct rec_gpu *work)
{
	return !work->graph && work->kind == (category == CAT_MEMCPY ? REC_MEMCPY : REC_MEMSET);
}

static uint64_t stream_key(const struct rec_call *call)
{
	return call->stream * 64 + call->device;
}

/* A graph's nodes run on streams of their own. */
static bool may_be_stream(const struct walk *w, const struct rec_call *call,
			  const struct rec_gpu *work)
{
	const uint64_t *at =
		w->knows_streams && !work->graph ? map_find(&w->stream_of, stream_key(call)) : NULL;
	return !at || !w->streams.at[*at].n || w->streams.at[*at].id == work->stream;
}

static bool agree(const struct walk *w, size_t i, size_t j)
{
	const struct caller *c = &w->calls.at[i];
	const struct group *g = &w->groups.at[j];
	if (g->at != PAIR_UNKNOWN || g->begin_ticks + CLOCKS_DIFFER_TICKS < c->call->begin_ticks ||
	    !may_be_stream(w, c->call, g->first))
		return false;
	switch (c->category) {
	case CAT_LAUNCH:
		return is_launch_of(w->in->dict, c->call, g->first);
	case CAT_MEMCPY:
	case CAT_MEMSET: /* in several pieces: a batch, a pageable copy, a box */
		return is_kind_of(c->category, g->first) &&
		       (g->n > 1 || bytes_of(g->first) == c->call->arg);
	case CAT_GRAPH: /* CUPTI before 11.8 has no graph's number */
		return g->first->graph || g->n > 1;
	default:
		return false;
	}
}

/* ---- The walk ---- */

static void pair(struct walk *w, size_t i, size_t j)
{
	w->groups.at[j].at = (uint32_t)i;
}

static bool is_taken(const struct walk *w, size_t j)
{
	return j < w->groups.n && w->groups.at[j].at != PAIR_UNKNOWN;
}

/* From here on they agree, as far as there is anything. */
static bool agree_on(const struct walk *w, size_t i, size_t j)
{
	size_t n = 0;
	for (; n < RUN && i < w->calls.n && j < w->groups.n; i++, j++, n++) {
		while (n && is_taken(w, j))
			j++;
		if (j == w->groups.n || !agree(w, i, j))
			break;
	}
	return n == RUN || (n && (i == w->calls.n || j == w->groups.n));
}

static uint64_t end_of(const struct rec_call *call)
{
	return call->begin_ticks + record_duration(call);
}

/* Whether a call of another thread was under way as well: numbers are given out in any order then. */
static bool races(const struct walk *w, size_t i)
{
	const struct caller *c = &w->calls.at[i];
	for (size_t k = i + 1; k < w->calls.n && k <= i + RACING; k++)
		if (w->calls.at[k].call->begin_ticks <= end_of(c->call))
			return true;
	for (size_t k = i; k && k + RACING > i; k--)
		if (end_of(w->calls.at[k - 1].call) >= c->call->begin_ticks)
			return true;
	return false;
}

static bool take_from_race(struct walk *w, size_t i, size_t j)
{
	if (!races(w, i))
		return false;
	for (size_t k = j; k < w->groups.n && k <= j + RACING; k++)
		if (agree(w, i, k)) {
			pair(w, i, k);
			return true;
		}
	return false;
}

/* A copy of nothing has no work; a batch of boxes says no bytes either, and has. */
static bool is_of_unsaid_bytes(const struct walk *w, size_t i, size_t j)
{
	const struct caller *c = &w->calls.at[i];
	return c->category == CAT_MEMCPY && !c->call->arg &&
	       is_kind_of(c->category, w->groups.at[j].first) &&
	       (i + 1 == w->calls.n || !agree(w, i + 1, j));
}

/* How many calls are to be skipped, and how many groups; false where nothing agrees again nearby. */
static bool find_again(const struct walk *w, size_t i, size_t j, size_t *skip_calls,
		       size_t *skip_groups)
{
	for (size_t d = 1; d <= LOOK_AHEAD; d++)
		for (size_t k = 0; k <= d; k++)
			if (i + k < w->calls.n && j + d - k < w->groups.n &&
			    agree_on(w, i + k, j + d - k)) {
				*skip_calls = k;
				*skip_groups = d - k;
				return true;
			}
	return false;
}

static bool is_before(const struct walk *w, size_t i, size_t j)
{
	return w->groups.at[j].begin_ticks + CLOCKS_DIFFER_TICKS < w->calls.at[i].call->begin_ticks;
}

static void walk(struct walk *w)
{
	size_t i = 0, j = 0;
	while (i < w->calls.n && j < w->groups.n) {
		size_t skip_calls = 1, skip_groups = 0;
		if (is_taken(w, j) || is_before(w, i, j)) {
			j++;
		} else if (agree(w, i, j) || is_of_unsaid_bytes(w, i, j)) {
			pair(w, i++, j++);
		} else if (take_from_race(w, i, j)) {
			i++;
		} else {
			find_again(w, i, j, &skip_calls, &skip_groups);
			i += skip_calls;
			j += skip_groups;
		}
	}
}

/* ---- Streams ---- */

static struct stream *stream_of(struct walk *w, const struct group *g)
{
	bool is_new;
	if (g->at >= PAIR_CALLS_END || g->first->graph)
		return NULL;
	uint64_t *at = map_at(&w->stream_of, stream_key(w->calls.at[g->at].call), &is_new);
	if (is_new) {
		*at = w->streams.n;
		vec_push(&w->streams, (struct stream){ 0 });
	}
	return &w->streams.at[*at];
}

/* Which of CUPTI's each is, by most of its calls; what was paired is forgotten. */
static void learn_streams(struct walk *w)
{
	for (size_t j = 0; j < w->groups.n; j++) {
		struct stream *s = stream_of(w, &w->groups.at[j]);
		if (s && !s->votes)
			s->id = w->groups.at[j].first->stream;
		if (s)
			s->votes += s->id == w->groups.at[j].first->stream ? 1 : -1u;
		if (s)
			s->n++;
	}
	for (size_t k = 0; k < w->streams.n; k++)
		w->streams.at[k].votes = 0;
	for (size_t j = 0; j < w->groups.n; j++) {
		struct stream *s = stream_of(w, &w->groups.at[j]);
		if (s)
			s->votes += s->id == w->groups.at[j].first->stream;
		w->groups.at[j].at = PAIR_UNKNOWN;
	}
	for (size_t k = 0; k < w->streams.n; k++)
		if (w->streams.at[k].votes * 100ull < w->streams.at[k].n * (uint64_t)MOSTLY_PCT)
			w->streams.at[k].n = 0;
	w->knows_streams = true;
}

/* Work behind the last that has a call is of calls that are not read yet, or were made while none were announced. */
static void name_the_rest(struct walk *w)
{
	size_t end = w->groups.n;
	while (end && w->groups.at[end - 1].at == PAIR_UNKNOWN)
		end--;
	for (size_t j = 0; j < w->groups.n; j++) {
		struct group *g = &w->groups.at[j];
		if (g->at == PAIR_UNKNOWN && g->begin_ticks < w->in->begin_ticks)
			g->at = PAIR_EARLIER;
		else if (g->at == PAIR_UNKNOWN && j >= end)
			g->at = PAIR_LATER;
	}
}

static uint32_t recall(const struct walk *w, const struct rec_gpu *work)
{
	const struct group wanted = { .correlation = work->correlation };
	const struct group *g = w->groups.n && !is_wait(work)
					? bsearch(&wanted, w->groups.at, w->groups.n,
						  sizeof(wanted), by_correlation)
					: NULL;
	if (!g)
		return PAIR_UNKNOWN;
	return g->at < PAIR_CALLS_END ? w->calls.at[g->at].number : g->at;
}

void pair_by_order(const struct pair_input *in, uint32_t *call_of)
{
	struct walk w = { .in = in };
	list_calls(&w);
	list_groups(&w);
	walk(&w);
	learn_streams(&w);
	walk(&w);
	name_the_rest(&w);
	for (size_t i = 0; i < in->n_works; i++)
		call_of[i] = recall(&w, &in->works[i]);
	vec_free(&w.calls);
	vec_free(&w.groups);
	vec_free(&w.streams);
	map_free(&w.stream_of);
}
