/* Which calls are one wait, of what kind, and their sums per line. */
#include "core/analysis/syncs.h"

#include "core/analysis/inner_line.h"
#include "core/analysis/summary.h"
#include "core/symbols/stack_about.h"

enum {
	VALUE_BYTES =
		4096, /* what is copied out to be looked at: a loss, some meters, a mask's count */
	BETWEEN_NS = 1000000, /* from a copy to the wait for it; Python may stand between */
	COPYING_PART = 4,     /* a copy that takes a quarter of the wait is a reason of its own */
};

/* ---- Which calls belong together ---- */

static bool can_be_waited_for(const struct timeline_call *c)
{
	return c->category == CAT_MEMCPY && c->copy != COPY_D2D && !c->is_captured;
}

/* Calls between the two that only prepare the wait: an event recorded, a device chosen. */
static bool is_passed_over(const struct timeline_call *c)
{
	return c->category == CAT_EVENT || c->category == CAT_QUERY || c->category == CAT_CONTROL ||
	       c->category == CAT_STREAM;
}

/* On one line, as frameworks do, or on neighbouring ones: what is copied out and then waited for in one function is one read. */
static bool are_one_place(const struct timeline *t, const struct timeline_call *copy,
			  const struct timeline_call *sync)
{
	if (copy->site == sync->site)
		return true;
	if (copy->copy == COPY_H2D || !t->frames || !copy->site || !sync->site)
		return false;
	const struct site *a = frames_site_at(t->frames, copy->site),
			  *b = frames_site_at(t->frames, sync->site);
	return !strcmp(a->function, b->function) && !strcmp(a->file, b->file);
}

static bool belong_together(const struct timeline *t, const struct timeline_call *copy,
			    const struct timeline_call *sync)
{
	return can_be_waited_for(copy) && sync->category == CAT_SYNC &&
	       are_one_place(t, copy, sync) && copy->outer_op == sync->outer_op &&
	       copy->step == sync->step && sync->begin_ns < copy->end_ns + BETWEEN_NS;
}

static uint64_t length_ns(const struct timeline_call *c)
{
	return c->end_ns - c->begin_ns;
}

static uint64_t wait_blocked_ns(const struct timeline *t, const struct wait *w)
{
	const struct timeline_call *first = &t->calls.at[w->first], *last = &t->calls.at[w->last];
	if (w->first == w->last)
		return length_ns(last);
	return length_ns(last) + (first->wait ? length_ns(first) : 0);
}

/* The one that shows where the wait is: of calls on two lines the copy, if that is where the host stood. */
static const struct timeline_call *shown_call(const struct timeline *t, const struct wait *w)
{
	const struct timeline_call *first = &t->calls.at[w->first], *last = &t->calls.at[w->last];
	return first->site != last->site && first->wait ? first : last;
}

/* ---- Kinds ---- */

static uint64_t copying_ns(const struct timeline *t, const struct timeline_call *c)
{
	uint64_t ns = 0;
	for (uint32_t i = 0; c->category == CAT_MEMCPY && i < c->n_work; i++) {
		const struct timeline_work *w = &t->works.at[t->work_of_call.at[c->first_work + i]];
		ns += w->end_ns - w->begin_ns;
	}
	return ns;
}

static uint8_t kind_of(const struct timeline *t, const struct wait *w)
{
	const struct timeline_call *first = &t->calls.at[w->first], *last = &t->calls.at[w->last];
	uint16_t about = first->about | last->about;
	if (last->wait == WAIT_ALLOC || about & ABOUT_ALLOCATOR)
		return SYNC_ALLOC;
	if (about & ABOUT_READ)
		return SYNC_ITEM;
	if (about & ABOUT_LIBRARY)
		return SYNC_LIBRARY;
	if (first->category == CAT_MEMCPY)
		return first->copy != COPY_H2D && first->bytes <= VALUE_BYTES ? SYNC_ITEM
									      : SYNC_COPY;
	if (last->wait == WAIT_EVENT)
		return SYNC_EVENT;
	/* a framework's operator that waits for reasons of its own */
	return last->op && !(about & ABOUT_WAIT) ? SYNC_LIBRARY : SYNC_EXPLICIT;
}

/* What goes to the device waits because its memory is pageable, and would not from pinned memory; what comes back is waited for, and
 * only if it is much it is the copy that takes so long. */
static bool is_copying(const struct timeline *t, const struct timeline_call *copy,
		       uint64_t blocked_ns)
{
	return copy->copy == COPY_H2D || copying_ns(t, copy) >= blocked_ns / COPYING_PART;
}

static void add_wait(struct waits *w, const struct timeline *t, uint32_t first, uint32_t last)
{
	struct wait wait = { .first = first, .last = last };
	uint64_t blocked_ns = wait_blocked_ns(t, &wait);
	wait.kind = kind_of(t, &wait);
	wait.is_copying = wait.kind == SYNC_COPY && is_copying(t, &t->calls.at[first], blocked_ns);
	w->of_call[first] = w->of_call[last] = (uint32_t)w->at.n;
	vec_push(&w->at, wait);
}

void waits_find(struct waits *w, const struct timeline *t)
{
	uint32_t *pending =
		mem_resize(NULL, t->threads.n * sizeof(*pending)); /* copy, per thread */
	memset(pending, 0xff, t->threads.n * sizeof(*pending));
	*w = (struct waits){ .of_call = mem_resize(NULL, t->calls.n * sizeof(*w->of_call)) };
	memset(w->of_call, 0xff, t->calls.n * sizeof(*w->of_call));
	for (uint32_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		uint32_t copy = pending[c->thread];
		if (is_passed_over(c))
			continue;
		pending[c->thread] = can_be_waited_for(c) ? i : WAITS_NONE;
		if (c->wait == WAIT_NONE)
			continue;
		if (copy == WAITS_NONE || !belong_together(t, &t->calls.at[copy], c)) {
			add_wait(w, t, i, i);
			continue;
		}
		if (w->of_call[copy] == WAITS_NONE) {
			add_wait(w, t, copy, i);
			continue;
		}
		struct wait *known = &w->at.at[w->of_call[copy]]; /* the copy waited, too */
		*known = (struct wait){ .first = copy,
					.last = i,
					.kind = known->kind,
					.is_copying = known->is_copying };
		w->of_call[i] = w->of_call[copy];
	}
	free(pending);
}

bool waits_holds_line(const struct waits *w, const struct timeline *t, uint32_t call)
{
	uint32_t wait = w->of_call[call];
	return wait != WAITS_NONE && shown_call(t, &w->at.at[wait])->site == t->calls.at[call].site;
}

void waits_free(struct waits *w)
{
	vec_free(&w->at);
	free(w->of_call);
	w->of_call = NULL;
}

/* ---- Per line ---- */

struct sum {
	struct finding_sync finding;
	uint64_t n, blocked_ns, idle_ns, longest_ns;
	uint64_t from_device_ns; /* of blocked_ns, for copies from the device */
};

static uint64_t key_of(const struct timeline_call *c, const struct wait *w, uint32_t inner)
{
	return (uint64_t)c->site << 40 | (uint64_t)w->kind << 32 | (c->site ? inner : c->name);
}

static int by_blocked(const void *a, const void *b)
{
	const struct finding_sync *x = a, *y = b;
	return x->blocked_ms > y->blocked_ms ? -1 : x->blocked_ms < y->blocked_ms;
}

struct sums {
	uint32_t inner_site; /* whose waits are told apart by the library's lines; 0: none */
	VEC(const struct frame *) inner;
	struct map place;
	VEC(struct sum) at;
};

static struct sum *sum_of(struct sums *s, uint64_t key, const struct sum *fresh)
{
	bool is_new;
	uint64_t *at = map_at(&s->place, key, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, *fresh);
	}
	return &s->at.at[*at];
}

/* From 1, 0: none. */
static uint32_t number_of(struct sums *s, const struct frame *inner)
{
	if (!inner)
		return 0;
	for (uint32_t i = 0; i < s->inner.n; i++)
		if (inner_line_is(s->inner.at[i], inner))
			return i + 1;
	vec_push(&s->inner, inner);
	return (uint32_t)s->inner.n;
}

static void add_up(struct sums *sums, const struct timeline *t, const struct wait *wait,
		   const uint64_t *idle_ns)
{
	const struct timeline_call *c = shown_call(t, wait);
	const struct frame *inner =
		c->site && c->site == sums->inner_site ? inner_line_of(t->frames, c->stack) : NULL;
	const struct sum fresh = { .finding = {
					   .site = c->site, .kind = wait->kind, .inner = inner } };
	struct sum *s = sum_of(sums, key_of(c, wait, number_of(sums, inner)), &fresh);
	uint64_t blocked_ns = wait_blocked_ns(t, wait);
	s->n++;
	s->blocked_ns += blocked_ns;
	s->from_device_ns += t->calls.at[wait->first].copy == COPY_D2H ? blocked_ns : 0;
	s->idle_ns += idle_ns[wait->last];
	s->idle_ns += wait->first != wait->last ? idle_ns[wait->first] : 0;
	if (s->finding.api && blocked_ns <= s->longest_ns)
		return;
	s->longest_ns = blocked_ns;
	s->finding.stack = c->stack;
	s->finding.api = strtab_text(&t->dict->names, c->name);
	bool is_operators = wait->kind == SYNC_LIBRARY && c->op && !(c->about & ABOUT_LIBRARY);
	s->finding.op = is_operators ? strtab_text(&t->texts, c->op) : NULL;
}

void syncs_fill(struct findings *f, const struct waits *w, const uint64_t *idle_ns)
{
	struct sums sums = { .inner_site = inner_line_site(f->timeline) };
	double steps = findings_count_steps(f->timeline).all;
	for (size_t i = 0; i < w->at.n; i++)
		add_up(&sums, f->timeline, &w->at.at[i], idle_ns);
	for (size_t i = 0; i < sums.at.n; i++) {
		const struct sum *sum = &sums.at.at[i];
		struct finding_sync s = sum->finding;
		s.is_from_device = sum->from_device_ns * 2 > sum->blocked_ns;
		s.per_step = (double)sum->n / steps;
		s.blocked_ms = (double)sum->blocked_ns / 1e6 / steps;
		s.gpu_idle_ms = (double)sum->idle_ns / 1e6 / steps;
		vec_push(&f->syncs, s);
	}
	if (f->syncs.n)
		qsort(f->syncs.at, f->syncs.n, sizeof(*f->syncs.at), by_blocked);
	vec_free(&sums.inner);
	vec_free(&sums.at);
	map_free(&sums.place);
}
