/*
 * Determines what the CPU waits for in each call. The CUDA manual says which functions wait
 * (section "API synchronization behavior"). GPU times override that rule: a call that returned
 * before the work was done did not wait for this work.
 */
#include "core/analysis/timeline.h"

enum {
	CLOCKS_APART_NS = 2000, /* CPU and GPU clocks differ by up to about this */
	/* An asynchronous copy that begins this long after its call had to wait in the queue. */
	QUEUED_NS = 20000,
	/* The driver stages pageable copies to the device up to this size, so the CPU need not
	 * wait. */
	STAGED_BYTES = 65536,
};

static const struct {
	const char *name;
	uint8_t wait;
} syncs[] = {
	{ "StreamSynchronize", WAIT_STREAM },
	{ "EventSynchronize", WAIT_EVENT },
	{ "DeviceSynchronize", WAIT_DEVICE },
	{ "CtxSynchronize", WAIT_DEVICE },
	{ "ThreadSynchronize", WAIT_DEVICE },
	/* polling loops */
	{ "EventQuery", WAIT_EVENT },
	{ "StreamQuery", WAIT_STREAM },
};

struct finder {
	const struct timeline *t;
	/* By device: the end of all work launched so far. */
	uint64_t busy_until_ns[DEVICE_UNKNOWN + 1];
};

static uint8_t wait_of_sync(const char *name)
{
	for (size_t i = 0; i < sizeof(syncs) / sizeof(*syncs); i++)
		if (strstr(name, syncs[i].name))
			return syncs[i].wait;
	return WAIT_DEVICE;
}

/* ---- Copies ---- */

static bool is_of_host(uint8_t kind)
{
	return kind == HOST_PAGEABLE || kind == HOST_PINNED;
}

static bool copy_waits(const struct timeline_call *c, const struct timeline_work *w, bool is_async)
{
	bool is_out = w ? is_of_host(w->target) : c->copy == COPY_D2H;
	bool is_in = w ? is_of_host(w->source) : c->copy == COPY_H2D;
	if (c->copy == COPY_H2H)
		return true;
	if (!is_async)
		return is_out || is_in || c->copy == COPY_P2P;
	if (is_out)
		return w && w->target == HOST_PAGEABLE;
	return is_in && w && w->source == HOST_PAGEABLE && w->bytes > STAGED_BYTES;
}

static const struct timeline_work *last_work(const struct timeline *t,
					     const struct timeline_call *c)
{
	const struct timeline_work *last = NULL;
	for (uint32_t i = 0; i < c->n_work; i++) {
		const struct timeline_work *w = &t->works.at[t->work_of_call.at[c->first_work + i]];
		if (!last || w->end_ns > last->end_ns)
			last = w;
	}
	return last;
}

static uint8_t wait_of_copy(const struct timeline *t, const struct timeline_call *c,
			    const char *name)
{
	const struct timeline_work *w = last_work(t, c);
	bool is_async = strstr(name, "Async") != NULL;
	if (w && c->end_ns + CLOCKS_APART_NS < w->begin_ns)
		return WAIT_NONE;
	if (copy_waits(c, w, is_async))
		return WAIT_COPY;
	/*
	 * If a call returned late, after its copy had ended, it waited for the copy. But this holds
	 * only for copies from or to the host: a call for a copy within a device may also return
	 * late because of the scheduler or the driver.
	 */
	bool has_host_side = w && (is_of_host(w->source) || is_of_host(w->target));
	bool has_blocked = has_host_side && c->end_ns >= w->end_ns &&
			   w->begin_ns > c->begin_ns + QUEUED_NS;
	return has_blocked ? WAIT_COPY : WAIT_NONE;
}

/* ---- Allocations ---- */

/* Freeing waits for the device, unless the memory is stream-ordered. Allocating waits only
 * sometimes, so a wait is assumed only if the device was still busy when the call began. */
static uint8_t wait_of_memory(const struct finder *f, const struct timeline_call *c)
{
	uint64_t until_ns = f->busy_until_ns[c->device];
	bool is_known = f->t->steps.at[c->step].has_gpu;
	if (c->space == SPACE_POOL || c->space == SPACE_ADDRESS || c->space == SPACE_REGISTERED)
		return WAIT_NONE;
	if (is_known && until_ns > c->end_ns + CLOCKS_APART_NS)
		return WAIT_NONE;
	if (c->category == CAT_FREE)
		return c->handle ? WAIT_ALLOC : WAIT_NONE;
	return is_known && until_ns > c->begin_ns ? WAIT_ALLOC : WAIT_NONE;
}

/* ---- All calls ---- */

static uint8_t wait_of(const struct finder *f, const struct timeline_call *c)
{
	const char *name = strtab_text(&f->t->tables->names, c->name);
	if (c->is_captured)
		return WAIT_NONE;
	switch (c->category) {
	case CAT_SYNC:
		return wait_of_sync(name);
	case CAT_MEMCPY:
		return wait_of_copy(f->t, c, name);
	case CAT_ALLOC:
	case CAT_FREE:
		return wait_of_memory(f, c);
	default:
		return WAIT_NONE;
	}
}

/* Notes until when the device of `w` is busy. The entry DEVICE_UNKNOWN stands for all devices,
 * because a call whose device is not known may wait for any of them. */
static void note_work(struct finder *f, const struct timeline_work *w)
{
	const uint8_t devices[] = { w->device, DEVICE_UNKNOWN };
	for (size_t i = 0; i < 2; i++)
		if (w->end_ns > f->busy_until_ns[devices[i]])
			f->busy_until_ns[devices[i]] = w->end_ns;
}

static void note_launch(struct finder *f, const struct timeline_call *c)
{
	for (uint32_t i = 0; i < c->n_work; i++)
		note_work(f, &f->t->works.at[f->t->work_of_call.at[c->first_work + i]]);
}

void timeline_find_waits(struct timeline *t, const struct timeline_step *step)
{
	struct finder f = { .t = t };
	size_t before = t->steps.n > 1 ? t->steps.at[t->steps.n - 2].first_work : 0;
	for (size_t i = before; i < step->first_work; i++)
		note_work(&f, &t->works.at[i]);
	for (uint32_t i = step->first_call; i < step->first_call + step->n_calls; i++) {
		struct timeline_call *c = &t->calls.at[i];
		c->wait = wait_of(&f, c);
		note_launch(&f, c);
	}
}
