/*
 * CUPTI numbers the calls of the whole process, recorded or not, and GPU work carries its call's number. So the calls by the
 * time they began and the work by number are the same sequence, but for what one side lacks: a call without work (between two
 * places on the host), work whose call was not seen or was dropped, two threads that call at the same moment. Both are walked at once;
 * a pair must agree in what was asked for (kernel, grid, block; bytes; a graph; the stream), and work never begins before its call.
 * A number is given out while its call is under way: so a call's work may lie behind that of calls of other threads which began
 * meanwhile, and never before that of one that had ended. Where nothing agrees, the nearest place is looked for from which on they
 * agree again. On an H100 all this saves the launching thread half of what CUPTI costs: recording calls makes every call of the
 * API dearer, cudaGetDevice 480 ns instead of 50.
 */
#include "core/pair_order.h"

#include "core/vec.h"

#include <stdlib.h>

enum {
	LOOK_AHEAD = 96, /* calls and pieces of work that may be skipped at one place, together */
	RUN = 3,	 /* that agree behind it */
	RACING =
		64, /* calls that are under way at once; of a longer one only so many are looked at */
	STRAYS = 4, /* pieces of work among theirs whose calls are not known */
	SWAPPED =
		4, /* by how many places work of calls that race may lie behind, where they agree again */
	WALKS = 3,  /* each knows the streams better than the one before */
	ALONE = 64, /* how much more a pair says of its stream where no other call was under way */
	MOSTLY_PCT =
		90, /* of a stream's calls that have work on the same of CUPTI's streams: it is that one */
};

#define NOBODY UINT32_MAX /* a group's call is not found */

/* GPU and host clocks are related by CUPTI to within this. */
#define CLOCKS_DIFFER_TICKS 20000

struct caller {
	const struct rec_call *call;
	const struct launch_entry *launch; /* of a launch; NULL: not known */
	uint32_t thread;		   /* place in the input */
	uint32_t stream;		   /* place among the streams */
	uint32_t
		lost; /* calls of its thread whose records were dropped, between it and the one before */
	uint8_t category;
	bool is_alone; /* no other call was under way */
};

/* All work of one call. */
struct group {
	const struct rec_gpu *first;
	uint32_t order; /* correlation, counted from where it does not wrap around */
	uint32_t n;
	uint64_t begin_ticks; /* of the earliest */
	uint32_t at;	      /* its call's place among the calls, or NOBODY */
};

/* The application's stream, as one of CUPTI's. A handle may stand for several: the default stream of each thread, or one made anew. */
struct stream {
	uint32_t id;
	uint64_t n, votes; /* votes: Boyer and Moore's majority */
};

/* A call under way that was given work with others' before it: once it has ended, those others are of no later call. */
struct overtaker {
	uint64_t end_ticks;
	size_t group;
};

struct walk {
	const struct pair_input *in;
	VEC(struct caller) calls;
	VEC(struct group) groups;
	VEC(struct stream) streams; /* known behind the first walk */
	struct map stream_of;	    /* by handle and device -> place in streams */
	bool knows_streams;
	struct overtaker overtakers[RACING];
	size_t n_overtakers;
	size_t barren; /* no place with so many calls and groups before it, or fewer, is one to go on from */
};

/* ---- The two sequences ---- */

static int by_begin(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;
	if (x->call->begin_ticks != y->call->begin_ticks)
		return x->call->begin_ticks < y->call->begin_ticks ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static uint32_t place_of_stream(struct walk *w, const struct rec_call *call)
{
	bool is_new;
	uint64_t *at = map_at(&w->stream_of, call->stream * 64 + call->device, &is_new);
	if (is_new) {
		*at = w->streams.n;
		vec_push(&w->streams, (struct stream){ 0 });
	}
	return (uint32_t)*at;
}

/* Of one thread, which made them in this order; where the one before expected work, a dropped one did. */
static void list_thread(struct walk *w, uint32_t thread)
{
	const struct pair_input *in = w->in;
	const struct pair_thread *t = &in->threads[thread];
	uint32_t expected_seq = 0;
	bool knows_seq = false;
	vec_reserve(&w->calls, t->n_calls);
	for (size_t k = 0; k < t->n_calls; k++) {
		const struct rec_call *call = &t->calls[k];
		uint8_t category = dict_category(in->dict, call->hook);
		if (!category_has_work(category))
			continue;
		bool expects_work = in->expects_work(in->context, call);
		if (expects_work)
			vec_push(&w->calls,
				 (struct caller){ .call = call,
						  .launch =
							  category == CAT_LAUNCH
								  ? dict_launch(in->dict, call->arg)
								  : NULL,
						  .thread = thread,
						  .stream = place_of_stream(w, call),
						  .lost = knows_seq ? call->seq - expected_seq : 0,
						  .category = category });
		knows_seq = expects_work || (call->status && knows_seq);
		expected_seq = call->seq + 1;
	}
}

static uint64_t end_of(const struct rec_call *call)
{
	return call->begin_ticks + record_duration(call);
}

static void note_alone(struct walk *w)
{
	uint64_t last_end = 0;
	for (size_t i = 0; i < w->calls.n; i++) {
		struct caller *c = &w->calls.at[i];
		uint64_t end = end_of(c->call);
		c->is_alone = last_end <= c->call->begin_ticks &&
			      (i + 1 == w->calls.n || end <= c[1].call->begin_ticks);
		last_end = end > last_end ? end : last_end;
	}
}

static void list_calls(struct walk *w)
{
	bool is_sorted = true;
	for (size_t i = 0; i < w->in->n_threads; i++)
		list_thread(w, (uint32_t)i);
	for (size_t i = 1; i < w->calls.n && is_sorted; i++)
		is_sorted = w->calls.at[i - 1].call->begin_ticks <=
			    w->calls.at[i].call->begin_ticks;
	if (!is_sorted)
		qsort(w->calls.at, w->calls.n, sizeof(*w->calls.at), by_begin);
	note_alone(w);
}

static int by_order(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_wait(const struct rec_gpu *work)
{
	return work->kind == REC_GPU_SYNC;
}

/* A busy process counts to 2^32 within an hour or two. What is held at once lies within half of that around any of it. */
static uint32_t first_order(const struct pair_input *in)
{
	for (size_t i = 0; i < in->n_works; i++)
		if (!is_wait(&in->works[i]))
			return in->works[i].correlation - (1u << 31);
	return 0;
}

/* What is of one call becomes one. */
static void join_groups(struct walk *w)
{
	size_t n = 0;
	for (size_t i = 0; i < w->groups.n; i++) {
		struct group *g = &w->groups.at[i], *last = n ? &w->groups.at[n - 1] : NULL;
		if (!last || last->order != g->order) {
			w->groups.at[n++] = *g;
			continue;
		}
		last->n++;
		if (g->begin_ticks < last->begin_ticks)
			last->begin_ticks = g->begin_ticks;
	}
	w->groups.n = n;
}

static void list_groups(struct walk *w)
{
	const struct pair_input *in = w->in;
	uint32_t first = first_order(in);
	bool is_sorted = true;
	vec_reserve(&w->groups, in->n_works);
	for (size_t i = 0; i < in->n_works; i++) {
		const struct rec_gpu *g = &in->works[i];
		struct group one = { g, g->correlation - first, 1, g->begin_ticks, NOBODY };
		if (is_wait(g))
			continue;
		is_sorted &= !w->groups.n || w->groups.at[w->groups.n - 1].order <= one.order;
		w->groups.at[w->groups.n++] = one;
	}
	if (!is_sorted)
		qsort(w->groups.at, w->groups.n, sizeof(*w->groups.at), by_order);
	join_groups(w);
}

/* ---- Do a call and work agree? ---- */

/* `asked` is zero where the call does not say (cuLaunch: its block was set by calls before). */
static bool same_shape(const uint32_t *asked, const uint32_t *done)
{
	return !asked[0] || (asked[0] == done[0] && asked[1] == done[1] && asked[2] == done[2]);
}

static bool is_launch_of(const struct dict *d, const struct launch_entry *l,
			 const struct rec_gpu *work)
{
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

/* A graph's nodes run on streams of their own. */
static bool may_be_stream(const struct walk *w, const struct caller *c, const struct rec_gpu *work)
{
	const struct stream *s = &w->streams.at[c->stream];
	return !w->knows_streams || work->graph || !s->n || s->id == work->stream;
}

static bool agree(const struct walk *w, size_t i, size_t j)
{
	const struct caller *c = &w->calls.at[i];
	const struct group *g = &w->groups.at[j];
	if (g->at != NOBODY || g->begin_ticks + CLOCKS_DIFFER_TICKS < c->call->begin_ticks ||
	    !may_be_stream(w, c, g->first))
		return false;
	switch (c->category) {
	case CAT_LAUNCH:
		return is_launch_of(w->in->dict, c->launch, g->first);
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

/* ---- Calls that are under way at once ---- */

static bool is_taken(const struct walk *w, size_t j)
{
	return w->groups.at[j].at != NOBODY;
}

/* How many calls of other threads began while this one was under way: theirs may have got a lower number. */
static size_t count_racing(const struct walk *w, size_t i)
{
	const struct caller *c = &w->calls.at[i];
	size_t n = 0;
	for (size_t k = i + 1; k < w->calls.n && n < RACING; k++) {
		if (w->calls.at[k].call->begin_ticks > end_of(c->call))
			break;
		n += w->calls.at[k].thread != c->thread;
	}
	return n;
}

static bool take_from_race(struct walk *w, size_t i, size_t j)
{
	size_t left = count_racing(w, i);
	if (!left || w->n_overtakers == RACING)
		return false;
	left += STRAYS;
	for (size_t k = j; k < w->groups.n && left; k++) {
		if (agree(w, i, k)) {
			w->groups.at[k].at = (uint32_t)i;
			w->overtakers[w->n_overtakers++] =
				(struct overtaker){ end_of(w->calls.at[i].call), k };
			return true;
		}
		left -= !is_taken(w, k);
	}
	return false;
}

/* The first group that can be of call i or a later one, as far as that is known. */
static size_t pass_overtaken(struct walk *w, size_t i, size_t j)
{
	uint64_t now = w->calls.at[i].call->begin_ticks;
	size_t n = 0;
	for (size_t k = 0; k < w->n_overtakers; k++) {
		if (w->overtakers[k].end_ticks >= now)
			w->overtakers[n++] = w->overtakers[k];
		else if (w->overtakers[k].group >= j)
			j = w->overtakers[k].group + 1;
	}
	w->n_overtakers = n;
	return j;
}

/* ---- The walk ---- */

/* From here on they agree, as far as there is anything. */
static bool agree_on(const struct walk *w, size_t i, size_t j)
{
	unsigned used = 1; /* of the groups from j on; bit 0 is j */
	size_t n = 1;
	if (!agree(w, i, j))
		return false;
	for (; n < RUN && ++i < w->calls.n; n++) {
		size_t k = 0, most = w->calls.at[i].is_alone ? 1 : SWAPPED;
		for (; j < w->groups.n && (used & 1 || is_taken(w, j)); j++)
			used >>= 1;
		while (k < most && j + k < w->groups.n && (used >> k & 1 || !agree(w, i, j + k)))
			k++;
		if (j == w->groups.n)
			return true;
		if (k == most || j + k == w->groups.n)
			return false;
		used |= 1u << k;
	}
	return true;
}

/*
 * The nearest place to go on from; false where there is none nearby. Where none was found before, only what lies further is looked
 * at: else a million calls that agree nowhere took 40 s, not 2.
 */
static bool find_again(struct walk *w, size_t *i, size_t *j)
{
	size_t here = *i + *j, d = w->barren > here ? w->barren - here + 1 : 1;
	for (; d <= LOOK_AHEAD; d++)
		for (size_t k = 0; k <= d; k++)
			if (*i + k < w->calls.n && *j + d - k < w->groups.n &&
			    agree_on(w, *i + k, *j + d - k)) {
				*i += k;
				*j += d - k;
				return true;
			}
	w->barren = here + LOOK_AHEAD;
	return false;
}

static bool is_before(const struct walk *w, size_t i, size_t j)
{
	return w->groups.at[j].begin_ticks + CLOCKS_DIFFER_TICKS < w->calls.at[i].call->begin_ticks;
}

/* A copy of nothing has no work; a batch of boxes says no bytes either, and has. */
static bool is_of_unsaid_bytes(const struct walk *w, size_t i, size_t j)
{
	const struct caller *c = &w->calls.at[i];
	return c->category == CAT_MEMCPY && !c->call->arg &&
	       is_kind_of(c->category, w->groups.at[j].first) &&
	       (i + 1 == w->calls.n || !agree(w, i + 1, j));
}

/* The work of calls whose records were dropped is there all the same. */
static size_t pass_lost(const struct walk *w, size_t i, size_t j)
{
	uint32_t lost = w->calls.at[i].lost;
	return lost && lost < w->groups.n - j && agree_on(w, i, j + lost) ? j + lost : j;
}

static void walk(struct walk *w)
{
	size_t i = 0, j = 0;
	w->barren = w->n_overtakers = 0;
	while (i < w->calls.n) {
		j = pass_overtaken(w, i, j);
		while (j < w->groups.n && (is_taken(w, j) || is_before(w, i, j)))
			j++;
		if (j == w->groups.n)
			break;
		j = pass_lost(w, i, j);
		if (agree(w, i, j) || is_of_unsaid_bytes(w, i, j))
			w->groups.at[j++].at = (uint32_t)i++;
		else if (take_from_race(w, i, j) || !find_again(w, &i, &j))
			i++;
	}
}

/* ---- Streams ---- */

static struct stream *stream_of(struct walk *w, const struct group *g)
{
	if (g->at == NOBODY || g->first->graph)
		return NULL;
	return &w->streams.at[w->calls.at[g->at].stream];
}

static unsigned weight_of(const struct walk *w, size_t j)
{
	return w->calls.at[w->groups.at[j].at].is_alone ? ALONE : 1;
}

static void vote(struct stream *s, uint32_t id, unsigned weight)
{
	if (s->id == id) {
		s->votes += weight;
	} else if (s->votes >= weight) {
		s->votes -= weight;
	} else {
		s->id = id;
		s->votes = weight - s->votes;
	}
}

/* Which of CUPTI's each is, by most of its calls. Whether a pair contradicts that; else another walk would find the same. */
static bool learn_streams(struct walk *w)
{
	bool are_any_wrong = false;
	for (size_t k = 0; k < w->streams.n; k++)
		w->streams.at[k] = (struct stream){ 0 };
	for (size_t j = 0; j < w->groups.n; j++) {
		struct stream *s = stream_of(w, &w->groups.at[j]);
		if (!s)
			continue;
		vote(s, w->groups.at[j].first->stream, weight_of(w, j));
		s->n += weight_of(w, j);
	}

	for (size_t k = 0; k < w->streams.n; k++)
		w->streams.at[k].votes = 0;
	for (size_t j = 0; j < w->groups.n; j++) {
		struct stream *s = stream_of(w, &w->groups.at[j]);
		if (s && s->id == w->groups.at[j].first->stream)
			s->votes += weight_of(w, j);
	}
	for (size_t k = 0; k < w->streams.n; k++) {
		struct stream *s = &w->streams.at[k];
		are_any_wrong |= s->votes < s->n;
		if (s->votes * 100 < s->n * MOSTLY_PCT)
			s->n = 0;
	}
	w->knows_streams = true;
	return are_any_wrong;
}

static void forget_pairs(struct walk *w)
{
	for (size_t j = 0; j < w->groups.n; j++)
		w->groups.at[j].at = NOBODY;
}

static size_t name_calls(const struct walk *w, struct rec_external *externals)
{
	size_t n = 0;
	for (size_t j = 0; j < w->groups.n; j++) {
		const struct group *g = &w->groups.at[j];
		if (g->at == NOBODY)
			continue;
		const struct caller *c = &w->calls.at[g->at];
		externals[n++] = (struct rec_external){
			.kind = REC_EXTERNAL,
			.words = sizeof(struct rec_external) / 8,
			.correlation = g->first->correlation,
			.thread = w->in->threads[c->thread].slot,
			.seq = c->call->seq,
		};
	}
	return n;
}

size_t pair_by_order(const struct pair_input *in, struct rec_external *externals)
{
	struct walk w = { .in = in };
	list_calls(&w);
	list_groups(&w);
	walk(&w);
	for (int n = 1; n < WALKS && learn_streams(&w); n++) {
		forget_pairs(&w);
		walk(&w);
	}
	size_t n = name_calls(&w, externals);
	vec_free(&w.calls);
	vec_free(&w.groups);
	vec_free(&w.streams);
	map_free(&w.stream_of);
	return n;
}
