/*
 * What ended a gap was launched by some call, and the gap is explained by what that call's host lane did until then:
 *
 *   gap      |--------------------------------------|            what the device waited for
 *   lane  ...wait]--host--[alloc]--host--[launch]-.-'
 *             a    b         c      b       b     d
 *
 * a: the wait was still coming back. b: time on the host, which the lane would have had ahead of the device if it had not been
 * kept waiting before: it belongs to the last wait that was long enough, until as much has been given to it as it blocked; what is
 * left the host needs anyhow (launch), unless it was getting input. c: calls that take their time whoever waits. d: from the launch to the
 * device's start: as b if it is short; else the device waited for something that is not seen here.
 */
#include "core/analysis/idle.h"

#include "core/analysis/lanes.h"
#include "core/symbols/stack_about.h"

enum {
	LATENCY_NS = 20000, /* from a launch to its kernel on an idle device, at most */
	LONG_LAUNCH_NS =
		300000, /* a launch into an idle device takes so long only if code has to be loaded */
	INPUT_NS = 50000, /* shorter spans are the loop's own */
	INPUT_SPANS = 4,  /* as many times the median span */
	AHEAD = 8, /* calls that may stand between a batch and its copy: allocations, events */
	SPANS_KEPT = 4096,
};

struct lane {
	VEC(uint32_t) calls;
	size_t next;	       /* the first that has not ended before what was explained */
	uint32_t owner;	       /* the wait that host time belongs to, MODEL_NO_CALL */
	uint64_t credit_ns;    /* how much more */
	uint64_t given_ns;     /* to the call under way */
	uint64_t long_span_ns; /* what is no longer an ordinary span between calls */
};

struct idle_host {
	struct idle *idle;
	const struct timeline *t;
	const struct waits *waits;
	struct lanes lanes;
	struct lane *lane; /* by number */
	size_t next_overhead;
	const struct idle_gap *gap; /* under way */
};

/* ---- Set up ---- */

static int by_length(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static uint64_t median_span_ns(const struct timeline *t, const struct lane *l)
{
	VEC(uint64_t) spans = { 0 };
	size_t stride = l->calls.n / SPANS_KEPT + 1;
	for (size_t i = 1; i < l->calls.n; i += stride) {
		uint64_t from_ns = t->calls.at[l->calls.at[i - 1]].end_ns;
		uint64_t to_ns = t->calls.at[l->calls.at[i]].begin_ns;
		vec_push(&spans, to_ns > from_ns ? to_ns - from_ns : 0);
	}
	if (spans.n)
		qsort(spans.at, spans.n, sizeof(*spans.at), by_length);
	uint64_t median_ns = spans.n ? spans.at[spans.n / 2] : 0;
	vec_free(&spans);
	return median_ns;
}

struct idle_host *idle_host_new(struct idle *idle, const struct timeline *t,
				const struct waits *waits)
{
	struct idle_host *h = mem_zero(sizeof(*h));
	*h = (struct idle_host){ .idle = idle, .t = t, .waits = waits };
	lanes_find(&h->lanes, t);
	h->lane = mem_zero(h->lanes.n * sizeof(*h->lane));
	for (uint32_t i = 0; i < t->calls.n; i++)
		vec_push(&h->lane[h->lanes.of_thread[t->calls.at[i].thread]].calls, i);
	for (uint32_t i = 0; i < h->lanes.n; i++) {
		uint64_t ns = median_span_ns(t, &h->lane[i]) * INPUT_SPANS;
		h->lane[i].long_span_ns = ns > INPUT_NS ? ns : (uint64_t)INPUT_NS;
	}
	return h;
}

void idle_host_free(struct idle_host *h)
{
	for (uint32_t i = 0; i < h->lanes.n; i++)
		vec_free(&h->lane[i].calls);
	free(h->lane);
	lanes_free(&h->lanes);
	free(h);
}

void idle_host_rewind(struct idle_host *h)
{
	h->next_overhead = 0;
	for (uint32_t i = 0; i < h->lanes.n; i++) {
		struct lane *l = &h->lane[i];
		l->next = 0;
		l->owner = MODEL_NO_CALL;
		l->credit_ns = l->given_ns = 0;
	}
}

/* ---- Giving time away ---- */

static uint32_t site_of(const struct idle_host *h, uint32_t call)
{
	return call == MODEL_NO_CALL ? 0 : h->t->calls.at[call].site;
}

static uint8_t cause_of_wait(const struct idle_host *h, uint32_t call)
{
	const struct wait *w = &h->waits->at.at[h->waits->of_call[call]];
	if (h->t->calls.at[call].about & ABOUT_COLLECTIVE)
		return IDLE_COLLECTIVE;
	if (w->kind == SYNC_ALLOC)
		return IDLE_ALLOC;
	return w->is_copying ? IDLE_COPY : IDLE_SYNC;
}

static void give_to_wait(struct idle_host *h, uint32_t call, uint64_t ns)
{
	idle_add(h->idle, h->gap->device, cause_of_wait(h, call), site_of(h, call), ns);
	h->idle->of_call[call] += ns;
}

/* Time that the host was not held up in: its last wait's as far as that goes, then its own. */
static void give_to_host(struct idle_host *h, struct lane *l, uint64_t ns, uint32_t next)
{
	uint64_t owned_ns = ns < l->credit_ns ? ns : l->credit_ns;
	if (owned_ns) {
		give_to_wait(h, l->owner, owned_ns);
		l->credit_ns -= owned_ns;
	}
	if (ns > owned_ns)
		idle_add(h->idle, h->gap->device, IDLE_LAUNCH, site_of(h, next), ns - owned_ns);
}

/* ---- Spans of the host ---- */

static bool is_input_copy(const struct timeline_call *c)
{
	return c->category == CAT_MEMCPY && c->copy == COPY_H2D &&
	       c->bytes >= TIMELINE_BATCH_BYTES && !(c->about & (ABOUT_COLLECTIVE | ABOUT_PASS));
}

/* Between two calls for other ranks on one thread, as between a copy to the host and the one back: the host exchanges data. */
static bool is_exchange(const struct idle_host *h, const struct lane *l)
{
	if (l->next >= l->calls.n)
		return false;
	const struct timeline_call *next = &h->t->calls.at[l->calls.at[l->next]];
	for (size_t i = l->next; i-- > 0 && i + AHEAD >= l->next;) {
		const struct timeline_call *last = &h->t->calls.at[l->calls.at[i]];
		if (last->thread == next->thread)
			return last->about & next->about & ABOUT_COLLECTIVE;
	}
	return false;
}

/* Behind the last call that was recorded: the next step is on its way, and is taken to begin like this one. */
static bool is_behind_all(const struct idle_host *h, const struct lane *l)
{
	return h->gap->is_last_step &&
	       (l->next == l->calls.n ||
		h->t->calls.at[l->calls.at[l->next]].begin_ns >= h->gap->step->end_ns);
}

/* The first of the lane's calls in the gap's step. */
static size_t first_of_step(const struct idle_host *h, const struct lane *l)
{
	size_t i = l->next;
	while (i && h->t->calls.at[l->calls.at[i - 1]].begin_ns >= h->gap->step->begin_ns)
		i--;
	return i;
}

/* Which of the lane's calls the host is on its way to. */
static size_t heading_for(const struct idle_host *h, const struct lane *l)
{
	return is_behind_all(h, l) ? first_of_step(h, l) : l->next;
}

/* What comes behind a call: behind the last one that was recorded what comes first in its step. `wraps`: it has not done so yet. */
static size_t behind(const struct idle_host *h, const struct lane *l, size_t i, bool *wraps)
{
	i++;
	if (!*wraps ||
	    (i < l->calls.n && h->t->calls.at[l->calls.at[i]].begin_ns < h->gap->step->end_ns))
		return i;
	*wraps = false;
	return first_of_step(h, l);
}

/* Between two calls: was the host getting the next batch? Its own code says so, or what it does with it: onto the device. */
static bool is_input(const struct idle_host *h, const struct lane *l, uint64_t length_ns)
{
	if (length_ns < l->long_span_ns)
		return false;
	if (l->next && h->t->calls.at[l->calls.at[l->next - 1]].about & ABOUT_INPUT)
		return true;
	bool wraps = h->gap->is_last_step && !is_behind_all(h, l);
	size_t i = heading_for(h, l);
	for (int n = 0; i < l->calls.n && n < AHEAD; n++, i = behind(h, l, i, &wraps)) {
		const struct timeline_call *c = &h->t->calls.at[l->calls.at[i]];
		if (is_input_copy(c) || c->about & ABOUT_INPUT)
			return true;
		if (category_has_work(c->category) || c->wait)
			return false;
	}
	return false;
}

/* From `from_ns`, after the call before l->next, until that call or `to_ns`. */
static void explain_span(struct idle_host *h, struct lane *l, uint64_t from_ns, uint64_t to_ns,
			 uint32_t next)
{
	uint64_t begin_ns = from_ns, end_ns = to_ns;
	if (l->next)
		begin_ns = h->t->calls.at[l->calls.at[l->next - 1]].end_ns;
	if (l->next < l->calls.n && !is_behind_all(h, l))
		end_ns = h->t->calls.at[l->calls.at[l->next]].begin_ns;
	if (is_exchange(h, l))
		idle_add(h->idle, h->gap->device, IDLE_COLLECTIVE, site_of(h, next),
			 to_ns - from_ns);
	else if (end_ns > begin_ns && is_input(h, l, end_ns - begin_ns))
		idle_add(h->idle, h->gap->device, IDLE_INPUT, site_of(h, next), to_ns - from_ns);
	else
		give_to_host(h, l, to_ns - from_ns, next);
}

static bool loads_code(const struct idle_host *h, const struct timeline_call *c)
{
	const char *name = strtab_text(&h->t->dict->names, c->name);
	if (c->category == CAT_LAUNCH || c->category == CAT_GRAPH)
		return c->end_ns - c->begin_ns >= LONG_LAUNCH_NS;
	return c->category == CAT_CONTROL &&
	       (strstr(name, "Module") || strstr(name, "Library") || strstr(name, "Kernel"));
}

static void explain_call(struct idle_host *h, struct lane *l, uint32_t call, uint64_t ns)
{
	const struct timeline_call *c = &h->t->calls.at[call];
	if (h->waits->of_call[call] != WAITS_NONE && c->wait) {
		give_to_wait(h, call, ns);
		l->given_ns += ns;
	} else if (c->category == CAT_ALLOC || c->category == CAT_FREE) {
		idle_add(h->idle, h->gap->device, IDLE_ALLOC, c->site, ns);
	} else if (loads_code(h, c)) {
		idle_add(h->idle, h->gap->device, IDLE_MODULE, c->site, ns);
	} else {
		give_to_host(h, l, ns, call);
	}
}

/* The lane has left a call. A wait shorter than what is left of the one before it was hidden by that one. */
static void leave(struct idle_host *h, struct lane *l)
{
	uint32_t call = l->calls.at[l->next++];
	const struct timeline_call *c = &h->t->calls.at[call];
	uint64_t length_ns = c->end_ns - c->begin_ns;
	uint64_t credit_ns = length_ns > l->given_ns ? length_ns - l->given_ns : 0;
	l->given_ns = 0;
	if (!c->wait || h->waits->of_call[call] == WAITS_NONE || credit_ns < l->credit_ns)
		return;
	l->owner = call;
	l->credit_ns = credit_ns;
}

static void explain_host(struct idle_host *h, struct lane *l, uint64_t from_ns, uint64_t to_ns,
			 uint32_t next)
{
	while (from_ns < to_ns) {
		const struct timeline_call *c = NULL;
		if (l->next < l->calls.n)
			c = &h->t->calls.at[l->calls.at[l->next]];
		if (!c || c->begin_ns >= to_ns) {
			explain_span(h, l, from_ns, to_ns, next);
			return;
		}
		if (c->end_ns <= from_ns) {
			leave(h, l);
		} else if (c->begin_ns > from_ns) {
			explain_span(h, l, from_ns, c->begin_ns, l->calls.at[l->next]);
			from_ns = c->begin_ns;
		} else {
			uint64_t end_ns = c->end_ns < to_ns ? c->end_ns : to_ns;
			explain_call(h, l, l->calls.at[l->next], end_ns - from_ns);
			from_ns = end_ns;
		}
	}
}

/* ---- What CUPTI says kept the lane ---- */

/* Explains up to `to_ns`, cutting out what the driver or CUPTI itself took of the lane's threads. */
static void explain_until(struct idle_host *h, uint32_t lane, uint64_t from_ns, uint64_t to_ns,
			  uint32_t next)
{
	const struct timeline *t = h->t;
	while (h->next_overhead < t->overheads.n &&
	       t->overheads.at[h->next_overhead].end_ns <= from_ns)
		h->next_overhead++;
	for (size_t i = h->next_overhead; i < t->overheads.n && from_ns < to_ns; i++) {
		const struct timeline_overhead *o = &t->overheads.at[i];
		enum timeline_overhead_kind kind = timeline_overhead_kind(o->what);
		if (o->begin_ns >= to_ns)
			break;
		if (o->end_ns <= from_ns || o->thread == TIMELINE_NO_THREAD ||
		    h->lanes.of_thread[o->thread] != lane || kind == OVERHEAD_QUEUE)
			continue;
		uint64_t begin_ns = o->begin_ns > from_ns ? o->begin_ns : from_ns;
		uint64_t end_ns = o->end_ns < to_ns ? o->end_ns : to_ns;
		explain_host(h, &h->lane[lane], from_ns, begin_ns, next);
		idle_add(h->idle, h->gap->device,
			 kind == OVERHEAD_MODULE ? IDLE_MODULE : IDLE_PROFILER, site_of(h, next),
			 end_ns - begin_ns);
		from_ns = end_ns;
	}
	explain_host(h, &h->lane[lane], from_ns, to_ns, next);
}

/* ---- Gaps ---- */

static bool is_collective(const struct idle_host *h, uint32_t work)
{
	return work != IDLE_NO_WORK &&
	       !strncmp(strtab_text(&h->t->dict->names, h->t->works.at[work].name), "nccl", 4);
}

/* The launch was there, and still the device did not start. Between kernels that were queued before the gap nobody was late. */
static void explain_device(struct idle_host *h, uint32_t lane, const struct idle_gap *gap,
			   uint64_t from_ns, uint32_t call)
{
	uint64_t ns = gap->end_ns - from_ns;
	uint8_t cause = IDLE_UNKNOWN;
	if (ns <= LATENCY_NS && from_ns > gap->begin_ns) {
		give_to_host(h, &h->lane[lane], ns, call);
		return;
	}
	if (ns <= LATENCY_NS)
		cause = IDLE_LAUNCH;
	else if (is_collective(h, gap->after) || is_collective(h, gap->before))
		cause = IDLE_COLLECTIVE;
	idle_add(h->idle, h->gap->device, cause, site_of(h, call), ns);
}

void idle_host_explain(struct idle_host *h, const struct idle_gap *gap)
{
	uint32_t call = gap->after == IDLE_NO_WORK ? MODEL_NO_CALL
						   : h->t->works.at[gap->after].call;
	uint64_t launched_ns = gap->end_ns;
	h->gap = gap;
	if (!h->lanes.n) {
		idle_add(h->idle, h->gap->device, IDLE_UNKNOWN, 0, gap->end_ns - gap->begin_ns);
		return;
	}
	uint32_t lane = h->lanes.main;
	if (call != MODEL_NO_CALL) {
		uint64_t end_ns = h->t->calls.at[call].end_ns;
		lane = h->lanes.of_thread[h->t->calls.at[call].thread];
		launched_ns = end_ns < gap->end_ns ? end_ns : gap->end_ns;
	}
	if (launched_ns < gap->begin_ns)
		launched_ns = gap->begin_ns;
	explain_until(h, lane, gap->begin_ns, launched_ns, call);
	if (launched_ns < gap->end_ns)
		explain_device(h, lane, gap, launched_ns, call);
}
