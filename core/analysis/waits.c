/* Groups calls into waits and classifies them. See waits.h. */
#include "core/analysis/findings.h"
#include "core/symbols/stack_about.h"

enum {
	/* A copy to the host of up to this size reads values, such as a loss, some metrics or the
	 * count of a mask. */
	VALUE_BYTES = 4096,
	/* Longest time from a copy to the wait for the copy. Python code may run in between. */
	BETWEEN_NS = 1000000,
	/* If the copy takes at least a quarter of the wait, the copy itself is a reason for the
	 * wait. */
	COPYING_PART = 4,
};

/* ---- Which calls belong together ---- */

static bool can_be_waited_for(const struct timeline_call *c)
{
	return c->category == CAT_MEMCPY && c->copy != COPY_D2D && !c->is_captured;
}

/* Returns true for calls that may lie between a copy and the wait for it because they only prepare
 * the wait, such as recording an event or selecting a device. */
static bool is_passed_over(const struct timeline_call *c)
{
	return c->category == CAT_EVENT || c->category == CAT_QUERY || c->category == CAT_CONTROL ||
	       c->category == CAT_STREAM;
}

/*
 * Returns true if the copy and the synchronization are on the same line, as in frameworks. A copy
 * from the device and its synchronization may also be on two lines of one function: they are one
 * read of a value.
 */
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

/* Returns true if the call waits for all work of a device on its own account, and not in order to
 * read what a copy brings. */
static bool is_for_device(const struct timeline_call *sync)
{
	return sync->wait == WAIT_DEVICE && !(sync->about & ABOUT_READ);
}

static bool belong_together(const struct timeline *t, const struct timeline_call *copy,
			    const struct timeline_call *sync)
{
	return can_be_waited_for(copy) && sync->category == CAT_SYNC && !is_for_device(sync) &&
	       are_one_place(t, copy, sync) && copy->outer_op == sync->outer_op &&
	       copy->step == sync->step && sync->begin_ns < copy->end_ns + BETWEEN_NS;
}

static uint64_t length_ns(const struct timeline_call *c)
{
	return c->end_ns - c->begin_ns;
}

uint64_t wait_blocked_ns(const struct timeline *t, const struct wait *w)
{
	const struct timeline_call *first = &t->calls.at[w->first], *last = &t->calls.at[w->last];
	if (w->first == w->last)
		return length_ns(last);
	return length_ns(last) + (first->wait ? length_ns(first) : 0);
}

const struct timeline_call *wait_shown_call(const struct timeline *t, const struct wait *w)
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
	uint32_t about = first->about | last->about;
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
	/* an operator of a framework that synchronizes internally */
	return last->op && !(about & ABOUT_WAIT) ? SYNC_LIBRARY : SYNC_EXPLICIT;
}

/*
 * Returns true if the copy itself is the reason for the wait. A copy to the device waits because
 * its memory is pageable. A copy to the host always waits, so the copy counts as the reason only if
 * it takes a good part of the wait.
 */
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
	w->of_call.at[first] = w->of_call.at[last] = (uint32_t)w->at.n;
	vec_push(&w->at, wait);
}

/* Adds the wait of `call`. `copy`: the thread's copy just before the call, or WAITS_NONE. */
static void add_call(struct waits *w, const struct timeline *t, uint32_t copy, uint32_t call)
{
	if (copy == WAITS_NONE || !belong_together(t, &t->calls.at[copy], &t->calls.at[call])) {
		add_wait(w, t, call, call);
		return;
	}
	if (w->of_call.at[copy] == WAITS_NONE) {
		add_wait(w, t, copy, call);
		return;
	}
	/* The copy has waited, too: extend its wait. */
	struct wait *known = &w->at.at[w->of_call.at[copy]];
	known->first = copy;
	known->last = call;
	w->of_call.at[call] = w->of_call.at[copy];
}

void waits_add_step(struct waits *w, const struct timeline *t, const struct timeline_step *step)
{
	uint32_t *pending = mem_resize(NULL, t->threads.n * sizeof(*pending));
	memset(pending, 0xff, t->threads.n * sizeof(*pending));
	vec_reserve(&w->of_call, step->n_calls);
	for (uint32_t i = step->first_call; i < step->first_call + step->n_calls; i++)
		w->of_call.at[w->of_call.n++] = WAITS_NONE;
	for (uint32_t i = step->first_call; i < step->first_call + step->n_calls; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		uint32_t copy = pending[c->thread];
		if (is_passed_over(c))
			continue;
		pending[c->thread] = can_be_waited_for(c) ? i : WAITS_NONE;
		if (c->wait != WAIT_NONE)
			add_call(w, t, copy, i);
	}
	free(pending);
}

void waits_truncate(struct waits *w, size_t n_waits, size_t n_calls)
{
	w->at.n = n_waits;
	w->of_call.n = n_calls;
}

bool waits_holds_line(const struct waits *w, const struct timeline *t, uint32_t call)
{
	uint32_t wait = w->of_call.at[call];
	return wait != WAITS_NONE &&
	       wait_shown_call(t, &w->at.at[wait])->site == t->calls.at[call].site;
}

void waits_free(struct waits *w)
{
	vec_free(&w->at);
	vec_free(&w->of_call);
}
