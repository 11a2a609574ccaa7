/*
 * Finds the causes of a gap: a time in which a device is idle. A lane consists of CPU threads that
 * take turns (lanes.h). A gap is explained by what the lane did until it launched the work that
 * ends the gap:
 *
 *   gap      |--------------------------------------|            the device is idle
 *   lane  ...wait]--host--[alloc]--host--[launch]-.-'
 *             a    b         c      b       b     d
 *
 * a: The lane is blocked in a wait. The idle time belongs to this wait.
 * b: The CPU works. Without the last long wait, the lane would have done this work ahead of the
 *    device. So the idle time belongs to that wait, but at most for as long as the wait blocked
 *    the lane (its credit). The rest is launch overhead. While the CPU gets input, the cause is
 *    data loading instead.
 *    If samples were taken in that time, they give the cause and the line: host code in place of
 *    launch overhead, data loading, a lock, the garbage collector, and so on. A long time without
 *    a sample is host code, too, unless the CPU is on its way to launch a pass of a model.
 * c: Calls that take time themselves. The idle time belongs to the call.
 * d: From the launch to the start on the device. A short delay counts as b. In a long delay, the
 *    device waited for something that is not visible here.
 *
 * A gap between two nodes of a graph is not explained by the lane (idle_graph.c).
 */
#include "core/analysis/idle.h"

#include "core/analysis/lane_samples.h"
#include "core/symbols/stack_about.h"
#include "core/util/bisect.h"

enum {
	LATENCY_NS = IDLE_LATENCY_NS,
	/*
	 * A launch on an idle device takes this long only if the driver has to load code. But the
	 * time of a graph's launch depends on the number of its nodes.
	 */
	LONG_LAUNCH_NS = 300000,
	SAMPLED_NS = 50000, /* in a shorter time between two calls the CPU launches */
	INPUT_NS = 50000,   /* shorter times between two calls are not data loading */
	/* Times shorter than this many median times between the lane's calls are not
	 * data loading. */
	INPUT_SPANS = 4,
	SPANS_KEPT = 4096,
};

/* A wait, to which the CPU time that follows the wait is attributed. */
struct owner {
	bool is_any;
	uint8_t cause;
	uint32_t site;
	uint32_t call; /* in the timeline's calls; MODEL_NO_CALL: was removed */
};

struct lane {
	/* The lane's calls in this step, as numbers for call_at(). Calls that began in an earlier
	 * step and are still running come first. */
	VEC(uint32_t) calls;
	size_t next; /* in `calls`: first call that ends after the time explained so far */
	struct owner owner;
	uint64_t credit_ns;	/* CPU time that may still be attributed to `owner` */
	uint64_t attributed_ns; /* idle time attributed to the call `next` so far */
	uint64_t long_span_ns;	/* from this length on, a time between calls may be data loading */
};

/* The state of a lane at the end of the last step. Each device has its own, because the gaps of
 * each device are explained separately. */
struct lane_state {
	struct owner owner;
	uint64_t credit_ns, attributed_ns;
};

struct device_state {
	uint32_t device;
	struct lane_state *lane; /* by lane number; NULL: unknown */
};

/* A call that was still running when the previous step ended. */
struct open_call {
	struct timeline_call call;
	struct owner wait; /* result of wait_of() for the call */
};

#define OPEN_CALL 0x80000000u /* flag in lane.calls: the other bits are an index in `open` */

struct idle_host {
	struct lane_finder *finder;
	struct lanes lanes;
	struct lane *lane; /* by lane number */
	size_t n_threads;
	VEC(struct device_state) devices;
	VEC(struct open_call) open;
	struct lane_samples samples;  /* of the current step */
	struct contention contention; /* of the current step */
	/* the current step */
	const struct timeline *t;
	struct idle_step *out;
	const struct timeline_step *step;
	size_t first_overhead, next_overhead;
	size_t device;		    /* index in `devices` */
	const struct idle_gap *gap; /* the gap that is being explained */
	uint64_t at_ns;		    /* the gap is explained up to this time */
	double contended;	    /* the share of what is attributed that is CPU contention */
};

static const struct timeline_call *call_at(const struct idle_host *h, uint32_t number)
{
	return number & OPEN_CALL ? &h->open.at[number & ~OPEN_CALL].call : &h->t->calls.at[number];
}

static const struct timeline_call *lane_call(const struct idle_host *h, const struct lane *l,
					     size_t i)
{
	return call_at(h, l->calls.at[i]);
}

static struct owner wait_of(const struct idle_host *h, uint32_t number)
{
	if (number & OPEN_CALL)
		return h->open.at[number & ~OPEN_CALL].wait;
	const struct timeline_call *c = &h->t->calls.at[number];
	uint32_t wait = h->t->waits.of_call.at[number];
	struct owner owner = { .site = c->site, .call = number };
	if (!c->wait || wait == WAITS_NONE)
		return owner;
	const struct wait *w = &h->t->waits.at.at[wait];
	owner.is_any = true;
	owner.cause = c->about & ABOUT_COLLECTIVE ? IDLE_COLLECTIVE
		      : w->kind == SYNC_ALLOC	  ? IDLE_ALLOC
		      : w->is_copying		  ? IDLE_COPY
						  : IDLE_SYNC;
	return owner;
}

/* ---- Lanes and steps ---- */

struct idle_host *idle_host_new(void)
{
	struct idle_host *h = mem_zero(sizeof(*h));
	h->finder = lane_finder_new();
	return h;
}

static void free_lanes(struct idle_host *h)
{
	for (uint32_t i = 0; i < h->lanes.n; i++)
		vec_free(&h->lane[i].calls);
	free(h->lane);
	lanes_free(&h->lanes);
}

static void forget_states(struct idle_host *h)
{
	for (size_t i = 0; i < h->devices.n; i++) {
		free(h->devices.at[i].lane);
		h->devices.at[i].lane = NULL;
	}
}

void idle_host_free(struct idle_host *h)
{
	free_lanes(h);
	forget_states(h);
	vec_free(&h->devices);
	vec_free(&h->open);
	lane_samples_free(&h->samples);
	contention_free(&h->contention);
	lane_finder_free(h->finder);
	free(h);
}

static int by_length(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static uint64_t median_span_ns(const struct idle_host *h, const struct lane *l)
{
	VEC(uint64_t) spans = { 0 };
	size_t stride = l->calls.n / SPANS_KEPT + 1;
	for (size_t i = 1; i < l->calls.n; i += stride) {
		uint64_t from_ns = lane_call(h, l, i - 1)->end_ns;
		uint64_t to_ns = lane_call(h, l, i)->begin_ns;
		vec_push(&spans, to_ns > from_ns ? to_ns - from_ns : 0);
	}
	if (spans.n)
		qsort(spans.at, spans.n, sizeof(*spans.at), by_length);
	uint64_t median_ns = spans.n ? spans.at[spans.n / 2] : 0;
	vec_free(&spans);
	return median_ns;
}

/* Returns true if the first `n_threads` threads, which were known at the last step, have the same
 * lanes in `a` and `b`. */
static bool are_same(const struct lanes *a, const struct lanes *b, size_t n_threads)
{
	for (size_t i = 0; i < n_threads; i++)
		if (a->of_thread[i] != b->of_thread[i])
			return false;
	return true;
}

/* Assigns the threads to lanes anew, because each step shows more clearly which threads overlap. If
 * the lanes change, the states of all devices are dropped. Returns whether they are as before. */
static bool assign_lanes(struct idle_host *h, bool follows)
{
	struct lanes fresh;
	lane_finder_add(h->finder, h->t, h->step);
	lane_finder_assign(h->finder, h->t, &fresh);
	follows = follows && fresh.n == h->lanes.n && are_same(&fresh, &h->lanes, h->n_threads);
	if (!follows)
		forget_states(h);
	free_lanes(h);
	h->lanes = fresh;
	h->n_threads = h->t->threads.n;
	h->lane = mem_zero(h->lanes.n * sizeof(*h->lane));
	return follows;
}

static void fill_lanes(struct idle_host *h)
{
	for (uint32_t i = 0; i < h->open.n; i++)
		vec_push(&h->lane[h->lanes.of_thread[h->open.at[i].call.thread]].calls,
			 i | OPEN_CALL);
	for (uint32_t i = h->step->first_call; i < h->t->calls.n; i++)
		vec_push(&h->lane[h->lanes.of_thread[h->t->calls.at[i].thread]].calls, i);
	for (uint32_t i = 0; i < h->lanes.n; i++) {
		uint64_t ns = median_span_ns(h, &h->lane[i]) * INPUT_SPANS;
		h->lane[i].long_span_ns = ns > INPUT_NS ? ns : (uint64_t)INPUT_NS;
	}
}

void idle_host_begin_step(struct idle_host *h, const struct timeline *t, struct idle_step *out,
			  bool follows)
{
	h->t = t;
	h->out = out;
	h->step = &t->steps.at[t->steps.n - 1];
	h->first_overhead = bisect(t->overheads.n, i, t->overheads.at[i].step + 1 < t->steps.n);
	if (!follows)
		h->open.n = 0;
	contention_find(&h->contention, t, &h->lanes, assign_lanes(h, follows));
	fill_lanes(h);
	lane_samples_find(&h->samples, t, &h->lanes);
	out->host = &h->samples;
	out->contention = &h->contention;
}

static void keep_open(const struct idle_host *h, const struct timeline_call *c, struct owner wait,
		      struct open_call *out, size_t *n)
{
	if (c->end_ns > h->step->end_ns)
		out[(*n)++] = (struct open_call){ *c, wait };
}

void idle_host_end_step(struct idle_host *h)
{
	size_t n = 0;
	for (size_t i = 0; i < h->open.n; i++)
		keep_open(h, &h->open.at[i].call, h->open.at[i].wait, h->open.at, &n);
	h->open.n = n;
	for (uint32_t i = h->step->first_call; i < h->t->calls.n; i++) {
		vec_reserve(&h->open, 1);
		keep_open(h, &h->t->calls.at[i], wait_of(h, i), h->open.at, &h->open.n);
	}
}

void idle_host_forget_step(struct idle_host *h)
{
	for (size_t i = 0; i < h->open.n; i++)
		h->open.at[i].wait.call = MODEL_NO_CALL;
	for (size_t i = 0; i < h->devices.n; i++)
		for (uint32_t k = 0; h->devices.at[i].lane && k < h->lanes.n; k++)
			h->devices.at[i].lane[k].owner.call = MODEL_NO_CALL;
}

static struct device_state *state_of(struct idle_host *h, uint32_t device)
{
	for (h->device = 0; h->device < h->devices.n; h->device++)
		if (h->devices.at[h->device].device == device)
			return &h->devices.at[h->device];
	vec_push(&h->devices, (struct device_state){ .device = device });
	return &h->devices.at[h->device];
}

/* ---- Attribution ---- */

/* Attributes `ns` to the cause, but for the share in which a CPU was waited for. Returns the rest,
 * which has the cause. */
static uint64_t attribute(struct idle_host *h, uint8_t cause, uint32_t site, uint64_t ns)
{
	uint64_t waited_ns = (uint64_t)((double)ns * h->contended);
	idle_add(h->out, h->gap, &h->at_ns,
		 (struct idle_reason){ .cause = IDLE_CONTENTION, .site = site }, waited_ns);
	idle_add(h->out, h->gap, &h->at_ns, (struct idle_reason){ .cause = cause, .site = site },
		 ns - waited_ns);
	return ns - waited_ns;
}

static uint32_t site_of(const struct idle_host *h, uint32_t call)
{
	return call == MODEL_NO_CALL ? 0 : call_at(h, call)->site;
}

static void attribute_to_wait(struct idle_host *h, const struct owner *wait, uint64_t ns)
{
	ns = attribute(h, wait->cause, wait->site, ns);
	if (ns && wait->call != MODEL_NO_CALL)
		vec_push(&h->out->waits, (struct idle_wait){ wait->call, ns });
}

/* Attributes `ns` in which the CPU was not blocked: to the lane's last wait, as long as that wait
 * has credit, then to `cause` at `site`. */
static void attribute_work(struct idle_host *h, struct lane *l, uint64_t ns, uint8_t cause,
			   uint32_t site)
{
	uint64_t owned_ns = ns < l->credit_ns ? ns : l->credit_ns;
	if (owned_ns) {
		attribute_to_wait(h, &l->owner, owned_ns);
		l->credit_ns -= owned_ns;
	}
	if (ns > owned_ns)
		attribute(h, cause, site, ns - owned_ns);
}

/* Attributes `ns` in which the CPU was not blocked, on its way to the call `next`. */
static void attribute_to_host(struct idle_host *h, struct lane *l, uint64_t ns, uint32_t next)
{
	attribute_work(h, l, ns, IDLE_LAUNCH, site_of(h, next));
}

/* ---- CPU time between calls, and calls ---- */

/* Returns true if the lane is between two communication calls of one thread, such as a copy to the
 * host and the copy back. The CPU then exchanges data with other ranks. */
static bool is_exchange(const struct idle_host *h, const struct lane *l)
{
	if (l->next >= l->calls.n)
		return false;
	const struct timeline_call *next = lane_call(h, l, l->next);
	for (size_t i = l->next; i-- > 0 && i + TIMELINE_BATCH_CALLS >= l->next;) {
		const struct timeline_call *last = lane_call(h, l, i);
		if (last->thread == next->thread)
			return last->about & next->about & ABOUT_COLLECTIVE;
	}
	return false;
}

/* Returns true if the lane has no more calls in this step. The CPU is then on its way to the next
 * step, which is assumed to begin like this one. */
static bool is_after_last_call(const struct lane *l)
{
	return l->next == l->calls.n;
}

/* Returns the index in l->calls of the first call that began in this step. */
static size_t first_of_step(const struct idle_host *h, const struct lane *l)
{
	size_t i = l->next;
	while (i && lane_call(h, l, i - 1)->begin_ns >= h->step->begin_ns)
		i--;
	return i;
}

/* Returns the index in l->calls of the call that the CPU is heading for: the next call, or after
 * the last call of the step the first one, in place of the next step's first call. */
static size_t heading_for(const struct idle_host *h, const struct lane *l)
{
	return is_after_last_call(l) ? first_of_step(h, l) : l->next;
}

/* Returns the index in l->calls of the call after call `i`. Once, while `wraps` is set, the first
 * call of the step follows the last one; then `wraps` is cleared. */
static size_t call_after(const struct idle_host *h, const struct lane *l, size_t i, bool *wraps)
{
	i++;
	if (!*wraps || i < l->calls.n)
		return i;
	*wraps = false;
	return first_of_step(h, l);
}

/* Attributes `ns` of a time of which samples say what the CPU did. */
static void attribute_sampled(struct idle_host *h, struct lane *l, uint64_t ns, uint8_t kind,
			      uint32_t site, uint32_t next)
{
	uint8_t cause = (uint8_t)host_kinds[kind].cause;
	if (!site)
		site = site_of(h, next);
	if (cause == IDLE_HOST || cause == IDLE_LAUNCH)
		attribute_work(h, l, ns, cause, site);
	else
		attribute(h, cause, site, ns);
}

/*
 * Explains the CPU time from `from_ns` to `to_ns` by the samples that were taken between two calls,
 * from `begin_ns` to `end_ns`. Each sample stands for the time that is nearer to it than to any
 * other sample. Returns false if there is no sample.
 */
static bool explain_by_samples(struct idle_host *h, struct lane *l, uint64_t from_ns,
			       uint64_t to_ns, uint64_t begin_ns, uint64_t end_ns, uint32_t next)
{
	const struct lane_samples *s = &h->samples;
	size_t lane = (size_t)(l - h->lane), first = s->first.at[lane];
	size_t n = s->first.at[lane + 1] - first;
	const struct lane_sample *at = &s->at.at[first];
	size_t i = bisect(n, k, at[k].ns < begin_ns);
	if (end_ns < begin_ns + SAMPLED_NS || i == n || at[i].ns >= end_ns)
		return false;
	for (; from_ns < to_ns; i++) {
		bool is_last = i + 1 == n || at[i + 1].ns >= end_ns;
		uint64_t until_ns = is_last ? to_ns : at[i].ns + (at[i + 1].ns - at[i].ns) / 2;
		until_ns = until_ns < to_ns ? until_ns : to_ns;
		if (until_ns <= from_ns)
			continue;
		attribute_sampled(h, l, until_ns - from_ns, at[i].kind, at[i].site, next);
		from_ns = until_ns;
	}
	return true;
}

/* Returns what samples of this step or earlier ones say about the time before the call l->next.
 * After the step's last call this is the next step's first call, which is assumed to be like this
 * step's. */
static struct before_call before_next(const struct idle_host *h, const struct lane *l)
{
	const struct before_call none = { 0 };
	if (is_after_last_call(l)) {
		size_t first = first_of_step(h, l);
		uint64_t lane = (uint64_t)(l - h->lane);
		if (first == l->calls.n || lane >= h->samples.ends.n)
			return none;
		return lane_samples_between(&h->samples, h->samples.ends.at[lane].stack,
					    lane_call(h, l, first)->stack);
	}
	if (l->calls.at[l->next] & OPEN_CALL)
		return none;
	return h->samples.before.at[l->calls.at[l->next] - h->step->first_call];
}

/*
 * Returns true if the CPU was getting the next batch in the time before the call l->next, which is
 * `length_ns` long. Evidence is a data loader on the stack of the call before or of a call soon
 * after. The copy of a batch shows nothing: before it, a program may compute anything.
 */
static bool is_input(const struct idle_host *h, const struct lane *l, uint64_t length_ns)
{
	if (length_ns < l->long_span_ns)
		return false;
	if (l->next && lane_call(h, l, l->next - 1)->about & ABOUT_INPUT)
		return true;
	bool wraps = !is_after_last_call(l);
	size_t i = heading_for(h, l);
	for (int n = 0; i < l->calls.n && n < TIMELINE_BATCH_CALLS;
	     n++, i = call_after(h, l, i, &wraps)) {
		const struct timeline_call *c = lane_call(h, l, i);
		if (c->about & ABOUT_INPUT)
			return true;
		if (category_has_work(c->category) || c->wait)
			return false;
	}
	return false;
}

/*
 * Returns true if the CPU did other work than to get from one call to the next in the time before
 * the call l->next, which is `length_ns` long: the time is long, and no pass of a model nor an
 * optimizer makes the next call. Before these, frameworks work for long in order to launch.
 */
static bool is_own_work(const struct idle_host *h, const struct lane *l, uint64_t length_ns)
{
	size_t next = heading_for(h, l);
	return length_ns >= l->long_span_ns && next < l->calls.n &&
	       !(lane_call(h, l, next)->about & ABOUT_PASS);
}

static double share_of(struct waited w, uint64_t idle_ns)
{
	uint64_t of_ns = w.of_ns > idle_ns ? w.of_ns : idle_ns;
	return of_ns ? (double)w.ns / (double)of_ns : 0;
}

/* Returns for how long a CPU was waited for before the call l->next, or after the lane's last
 * call. */
static struct waited waited_before(const struct idle_host *h, const struct lane *l)
{
	if (is_after_last_call(l))
		return h->contention.tails.at[l - h->lane];
	uint32_t call = l->calls.at[l->next];
	if (call & OPEN_CALL)
		return (struct waited){ 0 };
	return h->contention.calls.at[call - h->step->first_call].before;
}

/* Explains the CPU time from `from_ns` to `to_ns`, which lies between the call before l->next and
 * the call l->next. */
static void explain_span(struct idle_host *h, struct lane *l, uint64_t from_ns, uint64_t to_ns,
			 uint32_t next)
{
	uint64_t begin_ns = from_ns, end_ns = to_ns;
	if (l->next)
		begin_ns = lane_call(h, l, l->next - 1)->end_ns;
	if (l->next < l->calls.n && !is_after_last_call(l))
		end_ns = lane_call(h, l, l->next)->begin_ns;
	struct before_call known = before_next(h, l);
	h->contended = share_of(waited_before(h, l), to_ns - from_ns);
	if (is_exchange(h, l))
		attribute(h, IDLE_COLLECTIVE, site_of(h, next), to_ns - from_ns);
	else if (explain_by_samples(h, l, from_ns, to_ns, begin_ns, end_ns, next))
		;
	else if (known.kind)
		attribute_sampled(h, l, to_ns - from_ns, known.kind, known.site, next);
	else if (end_ns > begin_ns && is_input(h, l, end_ns - begin_ns))
		attribute(h, IDLE_INPUT, site_of(h, next), to_ns - from_ns);
	else if (end_ns > begin_ns && is_own_work(h, l, end_ns - begin_ns))
		attribute_work(h, l, to_ns - from_ns, IDLE_HOST, site_of(h, next));
	else
		attribute_to_host(h, l, to_ns - from_ns, next);
	h->contended = 0;
}

bool idle_call_loads_code(const struct timeline *t, const struct timeline_call *c)
{
	const char *name = strtab_text(&t->tables->names, c->name);
	if (c->category == CAT_LAUNCH || (c->category == CAT_GRAPH && c->is_first_replay))
		return c->end_ns - c->begin_ns >= LONG_LAUNCH_NS;
	return c->category == CAT_CONTROL &&
	       (strstr(name, "Module") || strstr(name, "Library") || strstr(name, "Kernel"));
}

static void explain_call(struct idle_host *h, struct lane *l, uint32_t call, uint64_t ns)
{
	const struct timeline_call *c = call_at(h, call);
	struct owner wait = wait_of(h, call);
	if (!(call & OPEN_CALL))
		h->contended =
			share_of(h->contention.calls.at[call - h->step->first_call].within, ns);
	if (wait.is_any) {
		attribute_to_wait(h, &wait, ns);
		l->attributed_ns += ns;
	} else if (c->category == CAT_ALLOC || c->category == CAT_FREE) {
		attribute(h, IDLE_ALLOC, c->site, ns);
	} else if (idle_call_loads_code(h->t, c)) {
		attribute(h, IDLE_MODULE, c->site, ns);
	} else {
		attribute_to_host(h, l, ns, call);
	}
	h->contended = 0;
}

/*
 * Moves the lane past the call l->next. If this call is a wait, it becomes the owner of the CPU
 * time that follows. But if it blocked for less time than the remaining credit of the previous
 * wait, the previous wait stays the owner, because it hid the new one.
 */
static void leave(struct idle_host *h, struct lane *l)
{
	uint32_t call = l->calls.at[l->next++];
	const struct timeline_call *c = call_at(h, call);
	uint64_t length_ns = c->end_ns - c->begin_ns;
	uint64_t credit_ns = length_ns > l->attributed_ns ? length_ns - l->attributed_ns : 0;
	l->attributed_ns = 0;
	struct owner wait = wait_of(h, call);
	if (!wait.is_any || credit_ns < l->credit_ns)
		return;
	l->owner = wait;
	l->credit_ns = credit_ns;
}

void idle_host_begin_device(struct idle_host *h, uint32_t device)
{
	const struct device_state *state = state_of(h, device);
	h->next_overhead = h->first_overhead;
	for (uint32_t i = 0; i < h->lanes.n; i++) {
		struct lane *l = &h->lane[i];
		struct lane_state s = state->lane ? state->lane[i] : (struct lane_state){ 0 };
		l->next = 0;
		l->owner = s.owner;
		l->credit_ns = s.credit_ns;
		l->attributed_ns = s.attributed_ns;
	}
}

void idle_host_end_device(struct idle_host *h)
{
	struct device_state *state = &h->devices.at[h->device];
	free(state->lane);
	state->lane = mem_zero(h->lanes.n * sizeof(*state->lane));
	for (uint32_t i = 0; i < h->lanes.n; i++) {
		struct lane *l = &h->lane[i];
		while (l->next < l->calls.n && lane_call(h, l, l->next)->end_ns <= h->step->end_ns)
			leave(h, l);
		state->lane[i] = (struct lane_state){ l->owner, l->credit_ns, l->attributed_ns };
	}
}

static void explain_host(struct idle_host *h, struct lane *l, uint64_t from_ns, uint64_t to_ns,
			 uint32_t next)
{
	while (from_ns < to_ns) {
		const struct timeline_call *c = NULL;
		if (l->next < l->calls.n)
			c = lane_call(h, l, l->next);
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

/* ---- Overhead reported by CUPTI ---- */

/* Explains the time from `from_ns` to `to_ns`. For times in which CUPTI reported overhead in a
 * thread of the lane, the cause is module loading or the profiler. */
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
		attribute(h, kind == OVERHEAD_MODULE ? IDLE_MODULE : IDLE_PROFILER,
			  site_of(h, next), end_ns - begin_ns);
		from_ns = end_ns;
	}
	explain_host(h, &h->lane[lane], from_ns, to_ns, next);
}

/* ---- Gaps ---- */

/*
 * Explains the part of a gap in which the work that ends the gap was already launched: from
 * `from_ns` to the end of the gap. If the launch came before the gap began, the CPU was not late,
 * and no wait on the CPU is the cause.
 */
static void explain_device(struct idle_host *h, uint32_t lane, uint64_t from_ns, uint32_t call)
{
	const struct idle_gap *gap = h->gap;
	uint64_t ns = gap->end_ns - from_ns;
	uint8_t cause = IDLE_DELAY;
	if (ns <= LATENCY_NS && from_ns > gap->begin_ns) {
		attribute_to_host(h, &h->lane[lane], ns, call);
		return;
	}
	if (ns <= LATENCY_NS)
		cause = IDLE_LAUNCH;
	else if (gap->is_after_collective || (gap->after && gap->after->is_collective))
		cause = IDLE_COLLECTIVE;
	attribute(h, cause, site_of(h, call), ns);
}

/* Returns the step's first call that launched work on the gap's device; MODEL_NO_CALL: none. */
static uint32_t first_launch(const struct idle_host *h)
{
	const struct timeline_step *s = h->step;
	for (uint32_t i = s->first_work; i < s->first_work + s->n_work; i++) {
		const struct timeline_work *w = &h->t->works.at[i];
		if (w->device == h->gap->device && w->call != MODEL_NO_CALL)
			return w->call;
	}
	return MODEL_NO_CALL;
}

/*
 * Returns the call that launched the work that ends the gap; MODEL_NO_CALL: not known. If that work
 * belongs to the next step, sets `is_next_step` and returns the first launch of this step, because
 * the next step is assumed to begin like this one.
 */
static uint32_t call_after_gap(const struct idle_host *h, bool *is_next_step)
{
	const struct idle_item *after = h->gap->after;
	*is_next_step = !after;
	if (!after)
		return first_launch(h);
	return after->work == IDLE_NO_WORK ? MODEL_NO_CALL : h->t->works.at[after->work].call;
}

void idle_host_explain(struct idle_host *h, const struct idle_gap *gap)
{
	bool is_next_step;
	struct idle_reason reason;
	h->gap = gap;
	h->at_ns = gap->begin_ns;
	if (idle_graph_explain(h->t, gap, &reason)) {
		idle_add(h->out, gap, &h->at_ns, reason, gap->end_ns - gap->begin_ns);
		return;
	}
	if (!h->lanes.n) {
		attribute(h, IDLE_UNKNOWN, 0, gap->end_ns - gap->begin_ns);
		return;
	}
	uint32_t lane = h->lanes.main, call = call_after_gap(h, &is_next_step);
	uint64_t launched_ns = gap->end_ns;
	if (call != MODEL_NO_CALL)
		lane = h->lanes.of_thread[h->t->calls.at[call].thread];
	if (call != MODEL_NO_CALL && !is_next_step) {
		uint64_t end_ns = h->t->calls.at[call].end_ns;
		launched_ns = end_ns < gap->end_ns ? end_ns : gap->end_ns;
	}
	if (launched_ns < gap->begin_ns)
		launched_ns = gap->begin_ns;
	explain_until(h, lane, gap->begin_ns, launched_ns, call);
	if (launched_ns < gap->end_ns)
		explain_device(h, lane, launched_ns, call);
}
