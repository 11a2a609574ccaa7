#include "core/source/journal/pair_sides.h"

#include "core/source/journal/capture.h"
#include "core/source/journal/pair_between.h"
#include "core/util/bisect.h"

#include <stdlib.h>

enum {
	/* weight of a pair's vote if no other call overlapped the pair's call */
	ALONE = 8,
	/*
	 * A lane corresponds to a CUPTI stream if this percentage of its calls with work has the
	 * work there.
	 */
	MOSTLY_PCT = 75,
};

#define LEGACY_STREAM	  1u
#define PER_THREAD_STREAM 2u

/* What a function does, by its name. */
enum role {
	ROLE_NONE,
	ROLE_WAITS_DEVICE,
	ROLE_WAITS_CONTEXT,
	ROLE_WAITS_STREAM,
	ROLE_MAKES_STREAM
};

struct trait {
	uint8_t role;
	bool is_per_thread; /* the function's stream 0 is the calling thread's own stream */
	bool is_async;
};

/*
 * A wait that returned at `end_ticks`. All work with this key that was requested before
 * `begin_ticks` had ended by then.
 */
struct wait {
	uint64_t key, begin_ticks, end_ticks;
};

/*
 * A call that created a stream with this handle returned. Calls before and after that use different
 * streams. The call's begin would not separate them: while one thread is inside it, another thread
 * can still use and then destroy the old stream, whose handle the new one gets.
 */
struct birth {
	uint64_t key, ticks;
};

/* Indexes found for the last call. They are mostly right for the next call too. */
struct hints {
	uint64_t lane_key;
	size_t lane, lane_wait, device_wait, context_wait;
};

struct listing {
	struct sides *s;
	struct trait *traits; /* by hook */
	VEC(struct wait) waits;
	VEC(struct birth) births;
	struct map lanes; /* key -> index in lanes */
	struct hints last;
};

/* ---- What functions do, by their names ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && !strcmp(text + n - m, end);
}

static struct trait trait_of(const char *name, uint8_t category)
{
	static const struct {
		const char *part;
		uint8_t category, role;
	} rows[] = {
		{ "cudaDeviceSynchronize", CAT_SYNC, ROLE_WAITS_DEVICE },
		{ "cuCtxSynchronize", CAT_SYNC, ROLE_WAITS_CONTEXT },
		{ "StreamSynchronize", CAT_SYNC, ROLE_WAITS_STREAM },
		{ "StreamCreate", CAT_STREAM, ROLE_MAKES_STREAM },
	};
	struct trait t = {
		.is_per_thread = ends_with(name, "_ptsz") || ends_with(name, "_ptds"),
		.is_async = strstr(name, "Async") != NULL,
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].category == category && strstr(name, rows[i].part))
			t.role = rows[i].role;
	return t;
}

static void list_traits(struct listing *l)
{
	const struct dict *d = l->s->in->dict;
	l->traits = mem_zero((d->hooks.n + 1) * sizeof(*l->traits));
	for (size_t i = 0; i < d->hooks.n; i++)
		l->traits[i] = trait_of(strtab_text(&d->t.names, d->hooks.at[i].name),
					d->hooks.at[i].category);
}

static struct trait trait(const struct listing *l, const struct rec_call *call)
{
	return l->traits[call->hook < l->s->in->dict->hooks.n ? call->hook
							      : l->s->in->dict->hooks.n];
}

/* ---- Streams as the application names them ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6))) * 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 29;
}

/* Returns the key of the context in which the call was made. */
static uint64_t place_key(const struct rec_call *call)
{
	return (uint64_t)call->context << 8 | call->device;
}

static uint64_t handle_key(const struct rec_call *call)
{
	return mix(call->stream, place_key(call));
}

static uint64_t lane_key(const struct listing *l, const struct rec_call *call, uint32_t thread)
{
	bool is_default = !call->stream && trait(l, call).is_per_thread;
	if (is_default || call->stream == PER_THREAD_STREAM)
		return mix(mix(PER_THREAD_STREAM, place_key(call)), thread + 1);
	if (call->stream <= LEGACY_STREAM)
		return mix(0, place_key(call));
	uint64_t key = handle_key(call);
	size_t born =
		bisect(l->births.n, i,
		       l->births.at[i].key < key || (l->births.at[i].key == key &&
						     l->births.at[i].ticks <= call->begin_ticks));
	return born && l->births.at[born - 1].key == key ? mix(key, l->births.at[born - 1].ticks)
							 : key;
}

static uint64_t device_key(const struct rec_call *call)
{
	return mix(1ull << 40, place_key(call));
}

static uint64_t context_key(const struct rec_call *call, uint32_t thread)
{
	return mix(device_key(call), thread);
}

/* ---- Calls ---- */

static int by_begin(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;
	if (x->call->begin_ticks != y->call->begin_ticks)
		return x->call->begin_ticks < y->call->begin_ticks ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static uint32_t symbol_of(uint64_t a, uint64_t b)
{
	uint32_t symbol = (uint32_t)mix(a, b);
	return symbol ? symbol : 1;
}

static uint64_t shape_of(const uint32_t *dims)
{
	return mix((uint64_t)dims[0] << 32 | dims[1], dims[2]);
}

static uint32_t call_symbol(const struct caller *c)
{
	const struct run_launch *l = c->launch;
	switch (c->category) {
	case CAT_LAUNCH:
		return l && l->is_named && l->grid[0] ? symbol_of(l->name + 1, shape_of(l->grid))
						      : 0;
	case CAT_MEMCPY:
	case CAT_MEMSET:
		return c->call->arg ? symbol_of(c->call->arg, 1ull << 33 | c->category) : 0;
	default:
		return 0;
	}
}

static void add_call(struct listing *l, const struct rec_call *call, uint32_t thread,
		     uint8_t category)
{
	struct caller c = {
		.call = call,
		.launch = category == CAT_LAUNCH ? tables_launch(&l->s->in->dict->t, call->arg)
						 : NULL,
		.end_ticks = call->begin_ticks + record_duration(call),
		.thread = thread,
		.category = category,
	};
	c.symbol = call_symbol(&c);
	vec_push(&l->s->calls, c);
}

static bool is_captured(const struct capture *c, const struct rec_call *call)
{
	return c->is_on && call->stream == c->stream;
}

/*
 * Lists the calls of one thread, in order. Assumes that a call whose record was dropped had work if
 * the call before it had work.
 */
static void list_thread(struct listing *l, uint32_t thread)
{
	const struct pair_input *in = l->s->in;
	const struct pair_thread *t = &in->threads[thread];
	uint32_t expected_seq = t->closed_seq + 1, others = 0;
	bool knows_seq = false, follows_call_without_work = false;
	struct capture capture = capture_at_first(in->dict, t->calls, t->n_calls);
	vec_reserve(&l->s->calls, t->n_calls);
	for (size_t k = 0; k < t->n_calls; k++) {
		const struct rec_call *call = &t->calls[k];
		uint8_t category = dict_category(in->dict, call->hook);
		if (category == CAT_CAPTURE)
			capture_note(&capture, in->dict, call);
		others++;
		if (!category_has_work(category))
			continue;
		bool expects_work = in->expects_work(in->context, call) &&
				    !is_captured(&capture, call);
		if (expects_work) {
			add_call(l, call, thread, category);
			struct caller *c = &l->s->calls.at[l->s->calls.n - 1];
			c->skipped = call->seq - expected_seq;
			c->lost = knows_seq ? c->skipped : 0;
			c->follows_call_without_work = follows_call_without_work || !knows_seq;
			c->others = others - 1;
			others = 0;
		}
		follows_call_without_work = !expects_work;
		knows_seq = expects_work || (call->status && knows_seq);
		expected_seq = call->seq + 1;
	}
}

/*
 * Returns whether the call is a copy to the host without Async in its name. Such a copy also waits
 * for its stream, unless it has nothing to copy.
 */
static bool is_waiting_copy(const struct listing *l, const struct rec_call *call)
{
	return dict_category(l->s->in->dict, call->hook) == CAT_MEMCPY &&
	       call->detail == COPY_D2H && call->arg && !trait(l, call).is_async;
}

/* Returns the key of the work that the call waits for; 0 if it does not wait. */
static uint64_t waited_key(const struct listing *l, const struct rec_call *call, uint32_t thread)
{
	switch (trait(l, call).role) {
	case ROLE_WAITS_DEVICE:
		return device_key(call);
	case ROLE_WAITS_CONTEXT:
		return context_key(call, thread);
	case ROLE_WAITS_STREAM:
		return lane_key(l, call, thread);
	default:
		return is_waiting_copy(l, call) ? lane_key(l, call, thread) : 0;
	}
}

static bool is_waiting(const void *listing, const struct rec_call *call)
{
	enum role role = trait(listing, call).role;
	return role == ROLE_WAITS_DEVICE || role == ROLE_WAITS_CONTEXT || role == ROLE_WAITS_STREAM;
}

static void list_wait(struct listing *l, const struct rec_call *call, uint32_t thread)
{
	uint64_t key = waited_key(l, call, thread);
	if (key)
		vec_push(&l->waits, (struct wait){ key, call->begin_ticks,
						   call->begin_ticks + record_duration(call) });
}

static int birth_order(const void *a, const void *b)
{
	const struct birth *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

static void list_births(struct listing *l)
{
	const struct pair_input *in = l->s->in;
	for (size_t i = 0; i < in->n_threads; i++)
		for (size_t k = 0; k < in->threads[i].n_calls; k++) {
			const struct rec_call *call = &in->threads[i].calls[k];
			if (trait(l, call).role == ROLE_MAKES_STREAM && !call->status)
				vec_push(&l->births,
					 (struct birth){ handle_key(call),
							 call->begin_ticks +
								 record_duration(call) });
		}
	if (l->births.n)
		qsort(l->births.at, l->births.n, sizeof(*l->births.at), birth_order);
}

static void list_waits(struct listing *l)
{
	const struct pair_input *in = l->s->in;
	for (size_t i = 0; i < in->n_threads; i++)
		for (size_t k = 0; k < in->threads[i].n_calls; k++)
			if (!in->threads[i].calls[k].status)
				list_wait(l, &in->threads[i].calls[k], (uint32_t)i);
}

static int wait_order(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->begin_ticks < y->begin_ticks ? -1 : x->begin_ticks > y->begin_ticks;
}

/*
 * Sorts the waits by key and start. Sets the end of each to the earliest end of it and of the later
 * ones with its key, because a later wait covers the same work.
 */
static void sort_waits(struct listing *l)
{
	if (!l->waits.n)
		return;
	qsort(l->waits.at, l->waits.n, sizeof(*l->waits.at), wait_order);
	for (size_t i = l->waits.n - 1; i-- > 0;) {
		struct wait *w = &l->waits.at[i];
		if (w->key == w[1].key && w[1].end_ticks < w->end_ticks)
			w->end_ticks = w[1].end_ticks;
	}
}

static bool is_wait_before(const struct listing *l, size_t i, uint64_t key, uint64_t ticks)
{
	const struct wait *w = &l->waits.at[i];
	return w->key < key || (w->key == key && w->begin_ticks < ticks);
}

static uint64_t first_return(const struct listing *l, size_t *hint, uint64_t key, uint64_t after)
{
	size_t at = *hint;
	if ((at && !is_wait_before(l, at - 1, key, after)) ||
	    (at < l->waits.n && is_wait_before(l, at, key, after)))
		at = bisect(l->waits.n, i, is_wait_before(l, i, key, after));
	*hint = at;
	return at < l->waits.n && l->waits.at[at].key == key ? l->waits.at[at].end_ticks
							     : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Returns the latest time at which the call's work can have ended: the end of the first wait for
 * it. Waits for a device or context count for launches only. A launch is always on the current
 * device, but a copy may go to a stream of another device.
 */
static uint64_t deadline_of(struct listing *l, const struct caller *c, uint64_t key)
{
	const struct rec_call *call = c->call;
	uint64_t ticks = first_return(l, &l->last.lane_wait, key, c->end_ticks);
	if (is_waiting_copy(l, call))
		ticks = least(ticks, c->end_ticks);
	if (c->category != CAT_LAUNCH || call->device == DEVICE_UNKNOWN)
		return ticks;
	ticks = least(ticks, first_return(l, &l->last.device_wait, device_key(call), c->end_ticks));
	return least(ticks, first_return(l, &l->last.context_wait, context_key(call, c->thread),
					 c->end_ticks));
}

static size_t place_of_lane(struct listing *l, uint64_t key)
{
	bool is_new;
	if (l->s->lanes.n && l->last.lane_key == key)
		return l->last.lane;
	uint64_t *at = map_at(&l->lanes, key, &is_new);
	if (is_new) {
		*at = l->s->lanes.n;
		vec_push(&l->s->lanes, (struct lane){ 0 });
	}
	l->last.lane_key = key;
	l->last.lane = (size_t)*at;
	return l->last.lane;
}

static void find_lanes(struct listing *l)
{
	struct sides *s = l->s;
	for (size_t i = 0; i < s->calls.n; i++) {
		struct caller *c = &s->calls.at[i];
		uint64_t key = lane_key(l, c->call, c->thread);
		c->lane = (uint32_t)place_of_lane(l, key);
		c->deadline_ticks = l->waits.n ? deadline_of(l, c, key) : UINT64_MAX;
	}
}

void sides_note_alone(struct sides *s)
{
	uint64_t last_end = 0;
	for (size_t i = 0; i < s->calls.n; i++) {
		struct caller *c = &s->calls.at[i];
		c->is_alone = last_end <= c->call->begin_ticks &&
			      (i + 1 == s->calls.n || c->end_ticks <= c[1].call->begin_ticks);
		last_end = c->end_ticks > last_end ? c->end_ticks : last_end;
	}
}

bool sides_race(const struct sides *s)
{
	for (size_t i = 0; i < s->calls.n; i++)
		if (!s->calls.at[i].is_alone)
			return true;
	return false;
}

/*
 * Counts the calls that were not recorded between two windows. The seq of each thread's first call
 * after an opening shows how many that thread made.
 */
static void count_unrecorded(struct sides *s)
{
	const struct pair_input *in = s->in;
	uint32_t *seen = mem_zero(in->n_threads * sizeof(*seen));
	uint32_t n = 0;
	struct caller *first = s->calls.at;
	for (size_t i = 0; i < s->calls.n; i++) {
		struct caller *c = &s->calls.at[i];
		for (; n < in->n_openings && in->openings[n].ticks <= c->call->begin_ticks; n++)
			first = c;
		if (seen[c->thread] != n) {
			c->lost = 0;
			first->lost += c->skipped;
		}
		seen[c->thread] = n;
	}
	free(seen);
}

/* Clears these counts where CUPTI does not have the work of all those calls. */
static void drop_unknown_counts(struct sides *s)
{
	const struct pair_input *in = s->in;
	size_t n = 0;
	uint32_t n_unknown_gaps = 0;
	for (size_t i = 0; i < s->calls.n; i++) {
		struct caller *c = &s->calls.at[i];
		bool is_first = false, is_whole = i || in->has_gone;
		for (; n < in->n_openings && in->openings[n].ticks <= c->call->begin_ticks; n++) {
			is_first = true;
			is_whole &= in->openings[n].is_whole;
		}
		if (is_first && !is_whole)
			c->lost = 0;
		n_unknown_gaps += is_first && !is_whole;
		c->n_unknown_gaps = n_unknown_gaps;
		s->begins_late |= is_first && !i;
	}
}

static void list_calls(struct sides *s)
{
	struct listing l = { .s = s };
	bool is_sorted = true;
	list_traits(&l);
	for (size_t i = 0; i < s->in->n_threads; i++)
		list_thread(&l, (uint32_t)i);
	for (size_t i = 1; i < s->calls.n && is_sorted; i++)
		is_sorted = s->calls.at[i - 1].call->begin_ticks <=
			    s->calls.at[i].call->begin_ticks;
	if (!is_sorted)
		qsort(s->calls.at, s->calls.n, sizeof(*s->calls.at), by_begin);
	if (s->in->n_openings) {
		count_unrecorded(s);
		drop_unknown_counts(s);
	}
	list_births(&l);
	list_waits(&l);
	sort_waits(&l);
	find_lanes(&l);
	sides_note_alone(s);
	pair_note_disturbed(s, is_waiting, &l);
	free(l.traits);
	vec_free(&l.waits);
	vec_free(&l.births);
	map_free(&l.lanes);
}

/* ---- Work ---- */

static int by_order(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_wait(const struct rec_gpu *work)
{
	return work->kind == REC_GPU_SYNC;
}

/*
 * Returns the correlation id that counts as 0. A busy process uses up 2^32 ids in an hour or two.
 * The ids of work held at one time lie within half that range around the id of any piece of it.
 */
static uint32_t first_order(const struct pair_input *in)
{
	for (size_t i = 0; i < in->n_works; i++)
		if (!is_wait(&in->works[i]))
			return in->works[i].correlation - (1u << 31);
	return 0;
}

static uint32_t work_symbol(const struct dict *d, const struct rec_gpu *g)
{
	uint64_t bytes = (uint64_t)g->bytes_high << 32 | g->bytes_low;
	if (g->graph)
		return 0;
	if (g->kind != REC_KERNEL)
		return symbol_of(bytes,
				 1ull << 33 | (g->kind == REC_MEMCPY ? CAT_MEMCPY : CAT_MEMSET));
	const struct run_kernel *k = g->name < d->t.kernels.n ? &d->t.kernels.at[g->name] : NULL;
	return k && k->is_known ? symbol_of(k->name + 1, shape_of(g->grid)) : 0;
}

/* Joins all work of a call, which has one correlation id, into one group. */
static void join_groups(struct sides *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->groups.n; i++) {
		struct group *g = &s->groups.at[i], *last = n ? &s->groups.at[n - 1] : NULL;
		if (!last || last->order != g->order) {
			s->groups.at[n++] = *g;
			continue;
		}
		last->n++;
		last->symbol = 0;
		if (g->begin_ticks < last->begin_ticks)
			last->begin_ticks = g->begin_ticks;
		if (g->end_ticks > last->end_ticks)
			last->end_ticks = g->end_ticks;
	}
	s->groups.n = n;
}

static void list_groups(struct sides *s)
{
	const struct pair_input *in = s->in;
	uint32_t first = first_order(in);
	bool is_sorted = true;
	vec_reserve(&s->groups, in->n_works);
	for (size_t i = 0; i < in->n_works; i++) {
		const struct rec_gpu *g = &in->works[i];
		struct group one = { .first = g,
				     .order = g->correlation - first,
				     .n = 1,
				     .begin_ticks = g->begin_ticks,
				     .end_ticks = g->flags & GPU_INCOMPLETE ? 0 : g->end_ticks,
				     .symbol = work_symbol(in->dict, g),
				     .at = PAIR_NO_CALL };
		if (is_wait(g))
			continue;
		is_sorted &= !s->groups.n || s->groups.at[s->groups.n - 1].order <= one.order;
		vec_push(&s->groups, one);
	}
	if (!is_sorted)
		qsort(s->groups.at, s->groups.n, sizeof(*s->groups.at), by_order);
	join_groups(s);
}

/*
 * Returns whether each device that ran kernels was some launch's device. Otherwise the program
 * chose devices in a way that the library does not see.
 */
static bool are_devices_known(const struct sides *s)
{
	uint64_t asked[4] = { 0 }, used[4] = { 0 };
	for (size_t i = 0; i < s->calls.n; i++) {
		const struct caller *c = &s->calls.at[i];
		if (c->category == CAT_LAUNCH)
			asked[c->call->device / 64] |= 1ull << c->call->device % 64;
	}
	for (size_t j = 0; j < s->groups.n; j++) {
		const struct rec_gpu *g = s->groups.at[j].first;
		if (g->kind == REC_KERNEL && !g->graph)
			used[g->device / 64] |= 1ull << g->device % 64;
	}
	for (size_t k = 0; k < 4; k++)
		if (used[k] & ~asked[k])
			return false;
	return true;
}

/* ---- Which CUPTI stream each lane is ---- */

static struct lane *lane_of(struct sides *s, const struct group *g)
{
	if (g->at == PAIR_NO_CALL || g->first->graph)
		return NULL;
	return &s->lanes.at[s->calls.at[g->at].lane];
}

static unsigned weight_of(const struct sides *s, const struct group *g)
{
	return s->calls.at[g->at].is_alone ? ALONE : 1;
}

static void vote(struct lane *s, uint64_t id, unsigned weight)
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

bool sides_learn_streams(struct sides *s)
{
	bool are_any_wrong = false;
	for (size_t k = 0; k < s->lanes.n; k++)
		s->lanes.at[k] = (struct lane){ 0 };
	for (size_t j = 0; j < s->groups.n; j++) {
		struct lane *l = lane_of(s, &s->groups.at[j]);
		if (!l)
			continue;
		vote(l, stream_of_work(s->groups.at[j].first), weight_of(s, &s->groups.at[j]));
		l->n += weight_of(s, &s->groups.at[j]);
	}
	for (size_t k = 0; k < s->lanes.n; k++)
		s->lanes.at[k].votes = 0;
	for (size_t j = 0; j < s->groups.n; j++) {
		struct lane *l = lane_of(s, &s->groups.at[j]);
		if (l && l->id == stream_of_work(s->groups.at[j].first))
			l->votes += weight_of(s, &s->groups.at[j]);
	}
	for (size_t k = 0; k < s->lanes.n; k++) {
		struct lane *l = &s->lanes.at[k];
		are_any_wrong |= l->votes < l->n;
		if (l->votes * 100 < l->n * MOSTLY_PCT)
			l->n = 0;
	}
	s->knows_streams = true;
	return are_any_wrong;
}

/*
 * Sets n_gone and first_left from what is known about earlier work. Only called if some earlier
 * work was paired: otherwise the number of earlier calls is unknown.
 */
static void note_gone(struct sides *s)
{
	const struct pair_input *in = s->in;
	uint32_t order = in->gone_id - first_order(in);
	s->n_gone = in->n_gone;
	s->first_left = bisect(s->groups.n, j, s->groups.at[j].order <= order);
}

void sides_list(struct sides *s, const struct pair_input *in)
{
	*s = (struct sides){ .in = in, .clocks_differ_ticks = CLOCKS_DIFFER_TICKS };
	list_calls(s);
	list_groups(s);
	s->knows_devices = are_devices_known(s);
	if (in->has_gone)
		note_gone(s);
}

void sides_forget_pairs(struct sides *s)
{
	for (size_t j = 0; j < s->groups.n; j++)
		s->groups.at[j].at = PAIR_NO_CALL;
}

void sides_free(struct sides *s)
{
	vec_free(&s->calls);
	vec_free(&s->groups);
	vec_free(&s->lanes);
}
