/* The model from the recorded steps: what each call and each piece of work depended on, and how late it came after that. */
#include "core/lanes.h"
#include "core/map.h"
#include "core/replay.h"
#include "core/replay_anchors.h"
#include "core/sample.h"

#include <math.h>

/* A wait that returned this long before what it should have waited for was done waited for something else. Host and GPU clocks
 * differ by a few us. */
#define EARLY_MOST_NS 20e3

/* A wait longer than this, though what it names was done already, waited for something that no record shows. */
#define CHECK_MOST_NS 50e3

/* A launch that takes this much longer than others, with the device at work, had to wait for room in the queue. */
#define FULL_LEAST_NS 30e3
enum { FULL_TIMES_ISSUE = 10 };

/* Behind a host that is this far ahead any launch that takes longer than usual did so: nothing else holds it up, and all may. */
#define AHEAD_LEAST_NS	 1e6
#define FULL_AHEAD_NS	 3e3
#define FULL_AHEAD_TIMES 2
#define ISSUE_USUAL_NS	 4000

/* From a launch to its kernel on an idle device, where none was seen. */
#define LATENCY_USUAL_NS 4000

/* Work that begins this much later than its launch and its stream allow waited for something else: other work that ended at most
 * DEP_NEAR_NS before. Looked for among the last DEP_BACK works of each other stream. */
#define DEP_LEAST_NS 15e3
#define DEP_NEAR_NS  10e3
enum { DEP_BACK = 32 };

/* A wait that returns so long after what it waited for found its processor taken. The host would have lost that time anyway. */
#define STALL_LEAST_NS 10e3
enum { STALL_TIMES_EXIT = 2 };

/* Buffers that a program changes between: two or three, rarely more. */
enum { TURN_MOST = 4 };

enum { SAMPLES_MOST = 1 << 16 };

struct samples {
	VEC(float) values;
};

struct stream_state {
	double ready_ns; /* NAN: nothing was given to it so far */
	uint32_t last;	 /* its last work */
};

struct build {
	struct replay *r;
	const struct timeline *t;
	struct lanes lanes;
	struct map streams, events;	/* handle -> slot */
	VEC(struct stream_state) state; /* by stream */
	VEC(double) event_ns;		/* NAN: not recorded so far */
	VEC(uint32_t) before_in_stream; /* by work */
	VEC(uint8_t) event_role;	/* by name: enum replay_role + 1 once looked up */
	double *lane_end;
	uint64_t origin_ns;
	struct samples exit;
};

static double at(const struct build *b, uint64_t ns)
{
	return (double)(int64_t)(ns - b->origin_ns);
}

/* ---- Medians ---- */

static void sample(struct samples *s, double value)
{
	if (s->values.n < SAMPLES_MOST)
		vec_push(&s->values, (float)value);
}

/* The value below which `share` of them lie; frees the samples. */
static double quantile(struct samples *s, double share, double otherwise)
{
	double value = otherwise;
	if (s->values.n) {
		sample_sort(s->values.at, s->values.n);
		value = s->values.at[(size_t)(share * (double)(s->values.n - 1))];
	}
	vec_free(&s->values);
	return value;
}

/* ---- Names and handles ---- */

static uint8_t find_event_role(const char *name)
{
	static const struct {
		const char *prefix;
		uint8_t role;
	} rows[] = {
		{ "cudaEventRecord", ROLE_EVENT },
		{ "cuEventRecord", ROLE_EVENT },
		{ "cudaStreamWaitEvent", ROLE_STREAM_WAIT },
		{ "cuStreamWaitEvent", ROLE_STREAM_WAIT },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strncmp(name, rows[i].prefix, strlen(rows[i].prefix)))
			return rows[i].role;
	return ROLE_HOST;
}

static uint8_t event_role(struct build *b, uint32_t name)
{
	while (b->event_role.n <= name)
		vec_push(&b->event_role, 0);
	uint8_t *role = &b->event_role.at[name];
	if (!*role)
		*role = (uint8_t)(find_event_role(strtab_text(&b->t->dict->names, name)) + 1);
	return (uint8_t)(*role - 1);
}

/* 0, 1 and 2 are default streams: each device has its own. */
static uint64_t stream_key(const struct timeline_call *c)
{
	return c->stream > 2 ? c->stream : c->stream | (uint64_t)c->device << 8;
}

static uint32_t add_stream(struct build *b, uint32_t device)
{
	vec_push(&b->r->streams, (struct replay_stream){ .device = device });
	vec_push(&b->state, (struct stream_state){ NAN, REPLAY_NONE });
	return (uint32_t)b->r->streams.n - 1;
}

/* The timeline's streams first, then those that had no work. */
static void find_streams(struct build *b)
{
	const struct timeline *t = b->t;
	for (size_t i = 0; i < t->streams.n; i++)
		add_stream(b, t->streams.at[i].device);
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		if (c->n_work && c->first_work < t->work_of_call.n) {
			uint32_t work = t->work_of_call.at[c->first_work];
			*map_at(&b->streams, stream_key(c), NULL) = t->works.at[work].stream;
		}
	}
}

static uint32_t stream_slot(struct build *b, const struct timeline_call *c)
{
	bool is_new;
	uint64_t *slot = map_at(&b->streams, stream_key(c), &is_new);
	if (is_new)
		*slot = add_stream(b, c->device);
	return (uint32_t)*slot;
}

static uint32_t event_slot(struct build *b, uint64_t handle)
{
	bool is_new;
	uint64_t *slot = map_at(&b->events, handle, &is_new);
	if (is_new) {
		*slot = b->event_ns.n;
		vec_push(&b->event_ns, NAN);
	}
	return (uint32_t)*slot;
}

static double device_ready(const struct build *b, uint32_t device)
{
	double ready = NAN;
	for (size_t s = 0; s < b->state.n; s++)
		if (device == REPLAY_NONE || b->r->streams.at[s].device == device)
			ready = fmax(ready, b->state.at[s].ready_ns);
	return ready;
}

/* ---- Calls ---- */

/* How long what was launched lay in the queue. */
static double ahead_ns(const struct build *b, const struct timeline_call *c)
{
	const struct timeline_work *work = &b->t->works.at[b->t->work_of_call.at[c->first_work]];
	return (double)(int64_t)(work->begin_ns - c->end_ns);
}

static void learn_costs(struct build *b)
{
	struct samples issue = { 0 }, check = { 0 };
	for (size_t i = 0; i < b->t->calls.n; i++) {
		const struct timeline_call *c = &b->t->calls.at[i];
		double duration = (double)(c->end_ns - c->begin_ns);
		if (c->n_work && c->wait == WAIT_NONE && ahead_ns(b, c) < AHEAD_LEAST_NS)
			sample(&issue, duration);
		else if (c->wait != WAIT_NONE && c->category == CAT_SYNC)
			sample(&check, duration);
	}
	b->r->learned.issue_ns = quantile(&issue, 0.5, ISSUE_USUAL_NS);
	b->r->learned.check_ns = fmin(quantile(&check, 0.02, 1000), b->r->learned.issue_ns);
}

/*
 * Whether the launch had to wait for room in the device's queue: it took too long, and what it launched still lay in the queue when it
 * returned. A host that has come so far ahead is never what a step takes its time from, so the wait is left out.
 */
static bool found_full(const struct build *b, const struct timeline_call *c)
{
	double issue = b->r->learned.issue_ns, ahead = ahead_ns(b, c);
	double least = ahead < AHEAD_LEAST_NS ? FULL_TIMES_ISSUE * issue + FULL_LEAST_NS
					      : FULL_AHEAD_TIMES * issue + FULL_AHEAD_NS;
	return ahead > FULL_LEAST_NS && (double)(c->end_ns - c->begin_ns) >= least;
}

static void trace_launch(struct build *b, struct replay_op *op, const struct timeline_call *c)
{
	bool waits = c->wait == WAIT_COPY;
	op->role = waits ? ROLE_WAIT_WORK : ROLE_LAUNCH;
	if (waits || found_full(b, c))
		op->cost_ns = fminf(op->cost_ns, (float)b->r->learned.issue_ns);
}

/* `ready` is when what it waits for was done, NAN: not known. */
static void trace_wait(struct build *b, struct replay_op *op, const struct timeline_call *c,
		       double ready)
{
	double begin = at(b, c->begin_ns), end = at(b, c->end_ns);
	op->cost_ns = (float)(end - begin);
	op->exit_ns = NAN; /* learned later */
	if (isnan(ready)) {
		/* for work of the steps before these: in the replay's later turns it is there */
		op->cost_ns = (float)fmin(end - begin, b->r->learned.check_ns);
	} else if (ready > begin && end > ready - EARLY_MOST_NS) {
		op->exit_ns = (float)(end - ready);
		op->cost_ns = (float)fmin(end - begin, b->r->learned.check_ns);
		sample(&b->exit, end - ready);
	} else if (ready > begin || end - begin > CHECK_MOST_NS) {
		op->role = ROLE_HOST;
	} else if (c->wait == WAIT_ALLOC) {
		op->exit_ns = op->cost_ns;
	}
}

static void trace_named_wait(struct build *b, struct replay_op *op, const struct timeline_call *c)
{
	uint32_t device = c->device == DEVICE_UNKNOWN ? REPLAY_NONE : c->device;
	double ready;
	if (c->wait == WAIT_EVENT) {
		op->role = ROLE_WAIT_EVENT;
		op->target = event_slot(b, c->handle);
		ready = b->event_ns.at[op->target];
	} else if (c->wait == WAIT_STREAM || c->wait == WAIT_COPY) {
		op->role = ROLE_WAIT_STREAM;
		op->target = stream_slot(b, c);
		ready = b->state.at[op->target].ready_ns;
	} else {
		op->role = ROLE_WAIT_DEVICE;
		op->target = device;
		ready = device_ready(b, device);
	}
	trace_wait(b, op, c, ready);
}

static void trace_event(struct build *b, struct replay_op *op, const struct timeline_call *c)
{
	op->cost_ns = (float)(c->end_ns - c->begin_ns);
	op->role = event_role(b, c->name);
	if (op->role == ROLE_HOST)
		return;
	op->stream = stream_slot(b, c);
	op->target = event_slot(b, c->handle);
	double *ready = &b->state.at[op->stream].ready_ns, *event = &b->event_ns.at[op->target];
	if (op->role == ROLE_EVENT)
		*event = fmax(at(b, c->begin_ns), *ready);
	else if (!isnan(*ready)) /* else the stream may still be busy with steps before these */
		*ready = fmax(*ready, *event);
}

/* latency_ns and after_ns as they were; what they mean is settled in settle_work(). */
static void trace_work(struct build *b, const struct replay_op *op, uint32_t index, double issued)
{
	const struct timeline_work *w = &b->t->works.at[index];
	struct stream_state *s = &b->state.at[w->stream];
	struct replay_work mine = { .duration_ns = (float)(w->end_ns - w->begin_ns),
				    .dep = REPLAY_NONE,
				    .work = index,
				    .stream = (uint16_t)w->stream };
	double begin = at(b, w->begin_ns);
	mine.latency_ns = (float)(begin - issued);
	mine.after_ns = (float)(begin - s->ready_ns);
	if (op->n_work) {
		const struct timeline_work *before =
			&b->t->works.at[b->r->works.at[b->r->works.n - 1].work];
		mine.is_chained = true;
		mine.after_ns = (float)(begin - at(b, before->end_ns));
		mine.latency_ns = (float)(begin - at(b, before->begin_ns));
		mine.overlaps = mine.after_ns < 0;
	}
	vec_push(&b->before_in_stream, s->last);
	s->last = (uint32_t)b->r->works.n;
	s->ready_ns = fmax(s->ready_ns, at(b, w->end_ns));
	vec_push(&b->r->works, mine);
}

static void trace_works(struct build *b, struct replay_op *op, const struct timeline_call *c)
{
	double duration = (double)(c->end_ns - c->begin_ns);
	double issued =
		at(b, c->begin_ns) + (op->role == ROLE_WAIT_WORK ? (double)op->cost_ns : duration);
	op->first_work = (uint32_t)b->r->works.n;
	for (uint32_t k = 0; k < c->n_work; k++) {
		trace_work(b, op, b->t->work_of_call.at[c->first_work + k], issued);
		op->n_work++;
	}
	if (op->role != ROLE_WAIT_WORK)
		return;
	uint64_t end_ns = 0;
	for (uint32_t k = op->first_work; k < b->r->works.n; k++) {
		uint64_t done_ns = b->t->works.at[b->r->works.at[k].work].end_ns;
		end_ns = done_ns > end_ns ? done_ns : end_ns;
	}
	op->exit_ns = (float)(at(b, c->end_ns) - at(b, end_ns));
}

/* The main lane is 0. */
static uint32_t lane_of(const struct build *b, const struct timeline_call *c)
{
	uint32_t lane = b->lanes.of_thread[c->thread];
	return lane == b->lanes.main ? 0 : lane == 0 ? b->lanes.main : lane;
}

static void trace_call(struct build *b, uint32_t index)
{
	const struct timeline_call *c = &b->t->calls.at[index];
	uint32_t lane = lane_of(b, c);
	struct replay_op op = { .call = index, .anchor = REPLAY_NONE, .lane = lane };
	double begin = at(b, c->begin_ns), end = at(b, c->end_ns);
	op.gap_ns = (float)fmax(0, begin - b->lane_end[lane]);
	b->lane_end[lane] = fmax(b->lane_end[lane], end);
	op.cost_ns = (float)(end - begin);
	if (c->n_work)
		trace_launch(b, &op, c);
	else if (c->wait != WAIT_NONE)
		trace_named_wait(b, &op, c);
	else if (c->category == CAT_EVENT)
		trace_event(b, &op, c);
	if (c->n_work)
		trace_works(b, &op, c);
	vec_push(&b->r->ops, op);
}

static void trace_orphan(struct build *b, uint32_t index)
{
	struct replay_op op = { .call = REPLAY_NONE,
				.anchor = REPLAY_NONE,
				.role = ROLE_ORPHAN,
				.first_work = (uint32_t)b->r->works.n };
	double begin = at(b, b->t->works.at[index].begin_ns);
	op.gap_ns = (float)(begin - b->lane_end[0]);
	trace_work(b, &op, index, begin);
	op.n_work = 1;
	vec_push(&b->r->ops, op);
}

/* ---- Steps ---- */

static void trace_step(struct build *b, const struct timeline_step *step)
{
	const struct timeline *t = b->t;
	uint32_t call = step->first_call, calls_end = call + step->n_calls;
	for (uint32_t w = step->first_work; w < step->first_work + step->n_work; w++) {
		if (t->works.at[w].call != MODEL_NO_CALL)
			continue;
		while (call < calls_end && t->calls.at[call].begin_ns <= t->works.at[w].begin_ns)
			trace_call(b, call++);
		trace_orphan(b, w);
	}
	while (call < calls_end)
		trace_call(b, call++);
}

static bool is_enough(const struct replay *r, uint32_t steps_of_run)
{
	return r->ops.n >= REPLAY_OPS_MOST && r->n_steps + steps_of_run >= REPLAY_STEPS_LEAST;
}

static bool is_playable(const struct timeline_step *s)
{
	return s->has_gpu && !s->is_cut && s->n_calls && s->end_ns > s->begin_ns;
}

static void begin_run(struct build *b, uint64_t begin_ns)
{
	b->origin_ns = begin_ns;
	for (uint32_t i = 0; i < b->r->n_lanes; i++)
		b->lane_end[i] = 0;
	for (size_t i = 0; i < b->state.n; i++)
		b->state.at[i] = (struct stream_state){ NAN, REPLAY_NONE };
	for (size_t i = 0; i < b->event_ns.n; i++)
		b->event_ns.at[i] = NAN;
	struct replay_run run = { .first_op = (uint32_t)b->r->ops.n, .begin_ns = begin_ns };
	run.tail_ns = mem_zero(b->r->n_lanes * sizeof(*run.tail_ns));
	vec_push(&b->r->runs, run);
}

/* Only lane 0 has a tail: the others wait for it (replay_anchors). */
static void end_run(struct build *b, uint64_t end_ns)
{
	struct replay_run *run = &b->r->runs.at[b->r->runs.n - 1];
	run->n_ops = (uint32_t)b->r->ops.n - run->first_op;
	run->end_ns = end_ns;
	run->tail_ns[0] = (float)fmax(0, at(b, end_ns) - b->lane_end[0]);
}

/* How far the device had come with the work of the steps so far. */
static double backlog(const struct build *b, uint64_t end_ns)
{
	return fmax(0, device_ready(b, REPLAY_NONE) - at(b, end_ns));
}

/*
 * A host that runs ahead is held back now and then, when the queue is full, and makes its steps faster in between: what counts is the
 * device's pace. It is known from the end of the first step's work to that of the last's.
 */
static void measure_run(struct build *b, double first_backlog, uint64_t first_end_ns,
			double last_backlog)
{
	const struct replay_run *run = &b->r->runs.at[b->r->runs.n - 1];
	double steps = run->n_steps, pace = (double)(run->end_ns - run->begin_ns) / steps;
	if (run->n_steps > 1) {
		double span = (double)(run->end_ns - first_end_ns) + last_backlog - first_backlog;
		double device = span / (steps - 1);
		if (fmin(first_backlog, last_backlog) > device)
			pace = device;
		else if (last_backlog > first_backlog)
			pace = fmax(pace, device);
	}
	b->r->measured_ns += pace * steps;
	b->r->n_steps += run->n_steps;
}

/* What a step's calls wait for and where they work, as one number: the same for steps that take the same buffers. */
static uint64_t handles_of(const struct timeline *t, const struct timeline_step *step)
{
	uint64_t h = 0;
	for (uint32_t i = step->first_call; i < step->first_call + step->n_calls; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		bool is_event = c->category == CAT_EVENT || c->wait == WAIT_EVENT;
		h = (h ^ c->stream ^ (is_event ? c->handle << 1 : 0)) * 0x9E3779B97F4A7C15ull;
		h ^= h >> 29;
	}
	return h;
}

/*
 * Of `n` steps in a row, those that make whole turns of a program that changes between buffers: played over and over, a step must not
 * find the buffers of another. All of them where there is no such change, or none that can be seen.
 */
static size_t whole_turns(const struct timeline *t, size_t first, size_t n)
{
	for (size_t period = 1; period <= TURN_MOST && 2 * period <= n; period++) {
		size_t i = 0;
		while (i + period < n && handles_of(t, &t->steps.at[first + i]) ==
						 handles_of(t, &t->steps.at[first + i + period]))
			i++;
		if (i + period == n)
			return n - n % period;
	}
	return n;
}

/* The steps from `first` on that follow each other and can be played. */
static size_t steps_in_row(const struct timeline *t, size_t first)
{
	size_t n = 0;
	while (first + n < t->steps.n && is_playable(&t->steps.at[first + n]) &&
	       (!n || t->steps.at[first + n].follows))
		n++;
	return n;
}

static void trace_run(struct build *b, size_t first_step, size_t n)
{
	const struct timeline *t = b->t;
	uint64_t first_end_ns = t->steps.at[first_step].end_ns;
	size_t left = whole_turns(t, first_step, n), i = first_step;
	double first = NAN;
	begin_run(b, t->steps.at[i].begin_ns);
	struct replay_run *run = &b->r->runs.at[b->r->runs.n - 1];
	do {
		trace_step(b, &t->steps.at[i++]);
		if (!run->n_steps++)
			first = backlog(b, first_end_ns);
	} while (--left && !is_enough(b->r, run->n_steps));
	end_run(b, t->steps.at[i - 1].end_ns);
	measure_run(b, first, first_end_ns, backlog(b, t->steps.at[i - 1].end_ns));
}

static void trace_runs(struct build *b)
{
	const struct timeline *t = b->t;
	for (size_t i = 0; i < t->steps.n && !is_enough(b->r, 0);) {
		size_t n = steps_in_row(t, i);
		if (n)
			trace_run(b, i, n);
		i += n ? n : 1;
	}
	if (b->r->n_steps)
		b->r->measured_ns /= b->r->n_steps;
}

/* ---- What bound each work ---- */

/* Where the stream was done before the launch, what is seen is the latency. */
static void learn_latency(struct build *b)
{
	struct samples latency = { 0 }, all = { 0 };
	for (size_t i = 0; i < b->r->works.n; i++) {
		const struct replay_work *w = &b->r->works.at[i];
		if (w->is_chained)
			continue;
		if (isnan(w->after_ns)) /* the device may be busy with steps before these */
			continue;
		sample(&all, w->latency_ns);
		if (w->after_ns > w->latency_ns)
			sample(&latency, w->latency_ns);
	}
	/* with the device always behind, the least that was seen may be time in the queue */
	double least = quantile(&all, 0.02, LATENCY_USUAL_NS);
	b->r->learned.latency_ns = quantile(&latency, 0.5, fmin(least, LATENCY_USUAL_NS));
}

/* Where a launch had long been through, what is seen is what lies between two works of a stream. */
static void learn_after(struct build *b)
{
	struct samples after = { 0 };
	for (size_t i = 0; i < b->r->works.n; i++) {
		const struct replay_work *w = &b->r->works.at[i];
		double latency = w->latency_ns;
		if (!w->is_chained && latency - (double)w->after_ns > b->r->learned.latency_ns)
			sample(&after, w->after_ns);
	}
	b->r->learned.after_ns = quantile(&after, 0.5, 500);
}

/* Work of another stream that ended just before this one began. */
static uint32_t find_dep(const struct build *b, const uint32_t *last, const struct replay_work *w)
{
	const struct timeline_work *works = b->t->works.at;
	double begin = (double)works[w->work].begin_ns, nearest = DEP_NEAR_NS;
	uint32_t dep = REPLAY_NONE;
	for (size_t s = 0; s < b->r->streams.n; s++) {
		uint32_t other = s == w->stream ? REPLAY_NONE : last[s];
		for (int k = 0; k < DEP_BACK && other != REPLAY_NONE; k++) {
			double gap = begin - (double)works[b->r->works.at[other].work].end_ns;
			if (gap >= 0 && gap < nearest) {
				nearest = gap;
				dep = other;
			}
			if (gap >= 0)
				break;
			other = b->before_in_stream.at[other];
		}
	}
	return dep;
}

/* The later of launch and stream bound it and keeps what was measured; for the other the usual time is enough. */
static void settle_work(struct build *b, struct replay_work *w, const uint32_t *last)
{
	const struct replay_learned *l = &b->r->learned;
	double by_host = (double)w->latency_ns - l->latency_ns;
	double by_stream = isnan(w->after_ns) ? INFINITY : (double)w->after_ns - l->after_ns;
	float latency = fminf(w->latency_ns, (float)l->latency_ns);
	float after = fminf(w->after_ns, (float)l->after_ns);
	if (isinf(by_stream)) { /* the first of its stream may have found the device busy with steps before these */
		w->latency_ns = latency;
		w->after_ns = after;
		return;
	}
	if (fmin(by_host, by_stream) > DEP_LEAST_NS)
		w->dep = find_dep(b, last, w);
	if (w->dep != REPLAY_NONE) {
		const struct timeline_work *works = b->t->works.at;
		w->dep_ns = (float)(works[w->work].begin_ns -
				    works[b->r->works.at[w->dep].work].end_ns);
		w->latency_ns = latency;
		w->after_ns = after;
	} else if (by_host <= by_stream) {
		w->after_ns = after;
	} else {
		w->latency_ns = latency;
	}
}

/* A blocking copy that begins late, though the device was free, was prepared by the host (copied aside): that stays its
 * own when nobody waits for it. */
static void settle_blocking(const struct build *b, struct replay_op *op)
{
	struct replay_work *w = &b->r->works.at[op->first_work];
	float more = w->latency_ns - (float)b->r->learned.latency_ns;
	if (op->role != ROLE_WAIT_WORK || w->dep != REPLAY_NONE || more <= 0)
		return;
	w->latency_ns -= more;
	op->cost_ns += more;
}

static void settle_op(struct build *b, struct replay_op *op, uint32_t *last)
{
	if (isnan(op->exit_ns))
		op->exit_ns = (float)b->r->learned.exit_ns;
	for (uint32_t i = op->first_work; i < op->first_work + op->n_work; i++) {
		struct replay_work *w = &b->r->works.at[i];
		if (op->role == ROLE_ORPHAN)
			w->after_ns = fminf(w->after_ns, (float)b->r->learned.after_ns);
		else if (!w->is_chained)
			settle_work(b, w, last);
		last[w->stream] = i;
	}
	if (op->n_work)
		settle_blocking(b, op);
}

/* Takes from a wait what it returned too late; the lane's next call begins that much later instead. Memory that is freed and large
 * copies out have something to do after their wait. */
static float take_stall(const struct build *b, struct replay_op *op)
{
	enum { COPY_BYTES = 65536 };
	const struct timeline_call *c = op->call == REPLAY_NONE ? NULL : &b->t->calls.at[op->call];
	float most = (float)fmax(STALL_LEAST_NS, STALL_TIMES_EXIT * b->r->learned.exit_ns);
	if (!c || c->category == CAT_ALLOC || c->category == CAT_FREE || c->bytes > COPY_BYTES ||
	    op->exit_ns <= most)
		return 0;
	float stall = op->exit_ns - most;
	op->exit_ns = most;
	return stall;
}

static void settle_run(struct build *b, struct replay_run *run, uint32_t *last, float *stall)
{
	memset(last, 0xff, b->r->streams.n * sizeof(*last));
	memset(stall, 0, b->r->n_lanes * sizeof(*stall));
	for (uint32_t i = run->first_op; i < run->first_op + run->n_ops; i++) {
		struct replay_op *op = &b->r->ops.at[i];
		settle_op(b, op, last);
		if (op->role == ROLE_ORPHAN)
			continue;
		op->gap_ns += stall[op->lane];
		stall[op->lane] = take_stall(b, op);
	}
	run->tail_ns[0] += stall[0];
}

static void settle(struct build *b)
{
	uint32_t *last = mem_resize(NULL, b->r->streams.n * sizeof(*last));
	struct replay_learned *l = &b->r->learned;
	learn_latency(b);
	learn_after(b);
	l->exit_ns = quantile(&b->exit, 0.5, 2000);
	float *stall = mem_zero(b->r->n_lanes * sizeof(*stall));
	for (size_t k = 0; k < b->r->runs.n; k++)
		settle_run(b, &b->r->runs.at[k], last, stall);
	free(stall);
	free(last);
}

/* A step may end before the program's pause or after it. Played in a row, what the host does behind the run's last call it does before
 * the first of the next turn: there it is one pause, as it is between the other steps. */
static void join_ends(struct replay *r)
{
	for (size_t k = 0; k < r->runs.n; k++) {
		struct replay_run *run = &r->runs.at[k];
		uint32_t i = run->first_op, end = run->first_op + run->n_ops;
		while (i < end && (r->ops.at[i].lane || r->ops.at[i].role == ROLE_ORPHAN))
			i++;
		if (i == end || r->ops.at[i].anchor != REPLAY_NONE)
			continue;
		r->ops.at[i].gap_ns += run->tail_ns[0];
		run->tail_ns[0] = 0;
	}
}

void replay_build(struct replay *r, const struct timeline *t)
{
	struct build b = { .r = r, .t = t };
	memset(r, 0, sizeof(*r));
	r->timeline = t;
	lanes_find(&b.lanes, t);
	r->n_lanes = b.lanes.n ? b.lanes.n : 1;
	b.lane_end = mem_zero(r->n_lanes * sizeof(*b.lane_end));
	find_streams(&b);
	learn_costs(&b);
	trace_runs(&b);
	settle(&b);
	r->n_events = (uint32_t)b.event_ns.n;
	if (r->n_lanes > 1)
		replay_find_anchors(r);
	join_ends(r);
	lanes_free(&b.lanes);
	free(b.lane_end);
	map_free(&b.streams);
	map_free(&b.events);
	vec_free(&b.state);
	vec_free(&b.event_ns);
	vec_free(&b.before_in_stream);
	vec_free(&b.event_role);
}

void replay_free(struct replay *r)
{
	for (size_t i = 0; i < r->runs.n; i++)
		free(r->runs.at[i].tail_ns);
	vec_free(&r->ops);
	vec_free(&r->works);
	vec_free(&r->streams);
	vec_free(&r->runs);
}
