/* Converts each recorded call and each piece of GPU work to the replay's model (replay_trace.h):
 * finds what it depended on, and how long after that it began or ended. */
#include "core/whatif/replay_trace.h"

#include "core/whatif/replay_chain.h"

#include "core/util/sample.h"

/* If a wait took longer than this although its target was already done, it waited for something
 * that is not recorded. */
#define CHECK_MOST_NS 50e3

/* A launch waited for room in the device's queue if it took more than FULL_TIMES_ISSUE times the
 * median plus FULL_LEAST_NS, and its work began more than FULL_LEAST_NS after it returned. */
#define FULL_LEAST_NS 30e3
enum { FULL_TIMES_ISSUE = 10 };

/* If a launch is more than AHEAD_LEAST_NS ahead of its work, lower limits apply: FULL_AHEAD_TIMES
 * times the median plus FULL_AHEAD_NS. With the host so far ahead the queue may be full at any
 * launch, and nothing else makes a launch slow. */
#define AHEAD_LEAST_NS	 1e6
#define FULL_AHEAD_NS	 3e3
#define FULL_AHEAD_TIMES 2
/* Duration of a launch, if none can be learned from. */
#define ISSUE_DEFAULT_NS 4000

enum { SAMPLES_MOST = 1 << 16 };

/* ---- Medians ---- */

void replay_sample(struct replay_samples *s, double value)
{
	if (s->values.n < SAMPLES_MOST)
		vec_push(&s->values, (float)value);
}

double replay_quantile(struct replay_samples *s, double share, double otherwise)
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
		{ "hipEventRecord", ROLE_EVENT },
		{ "hipStreamWaitEvent", ROLE_STREAM_WAIT },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strncmp(name, rows[i].prefix, strlen(rows[i].prefix)))
			return rows[i].role;
	return ROLE_HOST;
}

/* Returns the role of the function `name`, an index in tables->names. Keeps the answers in
 * m->event_role. */
static uint8_t event_role(struct replay_trace *m, uint32_t name)
{
	while (m->event_role.n <= name)
		vec_push(&m->event_role, 0);
	uint8_t *role = &m->event_role.at[name];
	if (!*role)
		*role = (uint8_t)(find_event_role(strtab_text(&m->t->tables->names, name)) + 1);
	return (uint8_t)(*role - 1);
}

/* CUDA's handle of the legacy default stream. The handle 0 stands for it, too. */
enum { STREAM_LEGACY = 1 };

/* Returns a key that identifies the call's stream on all devices. The handles 0, 1 and 2 stand for
 * default streams. Each device has its own default streams, so the key includes the device. */
static uint64_t stream_key(const struct timeline_call *c)
{
	return c->stream > 2 ? c->stream : c->stream | (uint64_t)c->device << 8;
}

static uint32_t add_stream(struct replay_trace *m, uint32_t device)
{
	vec_push(&m->r->streams, (struct replay_stream){ .device = device });
	vec_push(&m->state, (struct replay_stream_state){ NAN, REPLAY_NONE });
	return (uint32_t)m->r->streams.n - 1;
}

/* Adds the timeline's streams, which are those with GPU work. stream_slot() adds others. */
static void find_streams(struct replay_trace *m)
{
	const struct timeline *t = m->t;
	for (size_t i = 0; i < t->streams.n; i++)
		add_stream(m, t->streams.at[i].device);
	for (size_t i = m->first_call; i < m->calls_end; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		if (c->n_work && c->first_work < t->work_of_call.n) {
			uint32_t work = t->work_of_call.at[c->first_work];
			uint32_t stream = t->works.at[work].stream;
			*map_at(&m->streams, stream_key(c), NULL) = stream;
			if (c->stream <= STREAM_LEGACY && stream < m->r->streams.n)
				m->r->streams.at[stream].is_legacy = true;
		}
	}
}

static uint32_t stream_slot(struct replay_trace *m, const struct timeline_call *c)
{
	bool is_new;
	uint64_t *slot = map_at(&m->streams, stream_key(c), &is_new);
	if (is_new)
		*slot = add_stream(m, c->device);
	return (uint32_t)*slot;
}

static uint32_t event_slot(struct replay_trace *m, uint64_t handle)
{
	bool is_new;
	uint64_t *slot = map_at(&m->events, handle, &is_new);
	if (is_new) {
		*slot = m->event_ns.n;
		vec_push(&m->event_ns, NAN);
		vec_push(&m->event_work, REPLAY_NONE);
	}
	return (uint32_t)*slot;
}

double replay_device_ready(const struct replay_trace *m, uint32_t device)
{
	double ready = NAN;
	for (size_t s = 0; s < m->state.n; s++)
		if (device == REPLAY_NONE || m->r->streams.at[s].device == device)
			ready = fmax(ready, m->state.at[s].ready_ns);
	return ready;
}

/* ---- Calls ---- */

/* Returns how many ns after the call returned its first GPU work began; negative: before. */
static double ahead_ns(const struct replay_trace *m, const struct timeline_call *c)
{
	const struct timeline_work *work = &m->t->works.at[m->t->work_of_call.at[c->first_work]];
	return (double)(int64_t)(work->begin_ns - c->end_ns);
}

static void learn_costs(struct replay_trace *m)
{
	struct replay_samples issue = { 0 }, check = { 0 };
	for (size_t i = m->first_call; i < m->calls_end; i++) {
		const struct timeline_call *c = &m->t->calls.at[i];
		double duration = fmax(0, (double)(c->end_ns - c->begin_ns) - c->waited_within_ns);
		if (c->n_work && c->wait == WAIT_NONE && ahead_ns(m, c) < AHEAD_LEAST_NS)
			replay_sample(&issue, duration);
		else if (c->wait != WAIT_NONE && c->category == CAT_SYNC)
			replay_sample(&check, duration);
	}
	m->r->learned.issue_ns = replay_quantile(&issue, 0.5, ISSUE_DEFAULT_NS);
	m->r->learned.check_ns = fmin(replay_quantile(&check, 0.02, 1000), m->r->learned.issue_ns);
}

/*
 * Returns true if the launch waited for room in the device's queue: the launch took too long, and
 * its work was still in the queue when it returned. The model has no such waits, because a host
 * that is so far ahead of the device is never the bottleneck.
 */
static bool found_full(const struct replay_trace *m, const struct timeline_call *c)
{
	double issue = m->r->learned.issue_ns, ahead = ahead_ns(m, c);
	double least = ahead < AHEAD_LEAST_NS ? FULL_TIMES_ISSUE * issue + FULL_LEAST_NS
					      : FULL_AHEAD_TIMES * issue + FULL_AHEAD_NS;
	return ahead > FULL_LEAST_NS && (double)(c->end_ns - c->begin_ns) >= least;
}

static void trace_launch(struct replay_trace *m, struct replay_op *op,
			 const struct timeline_call *c)
{
	bool waits = c->wait == WAIT_COPY;
	op->role = waits ? ROLE_WAIT_WORK : ROLE_LAUNCH;
	op->was_full = !waits && found_full(m, c);
	if (waits || op->was_full)
		op->cost_ns = fminf(op->cost_ns, (float)m->r->learned.issue_ns);
}

/* Returns by how much the wait for this work may have returned too early. */
static double early_most_ns(const struct replay_trace *m, uint32_t work)
{
	bool is_node = work != REPLAY_NONE && m->r->works.at[work].is_chained;
	return REPLAY_EARLY_MOST_NS + (is_node ? (double)m->r->works.at[work].duration_ns : 0);
}

/* Sets the times of a call that waits. `ready`: when the awaited work was done; NAN: not known.
 * `work`: the last of it. */
static void trace_wait(struct replay_trace *m, struct replay_op *op, const struct timeline_call *c,
		       double ready, uint32_t work)
{
	double begin = replay_at(m, c->begin_ns), end = replay_at(m, c->end_ns);
	op->cost_ns = (float)(end - begin);
	op->exit_ns = NAN; /* settle_op() replaces it by the median */
	bool is_once = m->r->runs.at[m->r->runs.n - 1].is_once;
	if (isnan(ready) && !is_once) {
		/* The call waited for work of earlier steps. In the replay's second and later
		 * iterations this work exists, so the wait is not part of the cost. */
		op->cost_ns = (float)fmin(end - begin, m->r->learned.check_ns);
	} else if (ready > begin && end > ready - early_most_ns(m, work)) {
		op->exit_ns = (float)(end - ready);
		op->cost_ns = (float)fmin(end - begin, m->r->learned.check_ns);
		replay_sample(&m->exit, fmax(0, end - ready - (double)op->call_waited_ns));
	} else if (isnan(ready) || ready > begin || end - begin > CHECK_MOST_NS) {
		op->role = ROLE_HOST;
	} else if (c->wait == WAIT_ALLOC) {
		op->exit_ns = op->cost_ns;
	}
}

static void trace_named_wait(struct replay_trace *m, struct replay_op *op,
			     const struct timeline_call *c)
{
	uint32_t device = c->device == DEVICE_UNKNOWN ? REPLAY_NONE : c->device, work = REPLAY_NONE;
	double ready;
	if (c->wait == WAIT_EVENT) {
		op->role = ROLE_WAIT_EVENT;
		op->target = event_slot(m, c->handle);
		ready = m->event_ns.at[op->target];
		work = m->event_work.at[op->target];
	} else if (c->wait == WAIT_STREAM || c->wait == WAIT_COPY) {
		op->role = ROLE_WAIT_STREAM;
		op->target = stream_slot(m, c);
		ready = m->state.at[op->target].ready_ns;
		work = m->state.at[op->target].last;
	} else {
		op->role = ROLE_WAIT_DEVICE;
		op->target = device;
		ready = replay_device_ready(m, device);
	}
	trace_wait(m, op, c, ready, work);
}

static void trace_event(struct replay_trace *m, struct replay_op *op, const struct timeline_call *c)
{
	op->cost_ns = (float)(c->end_ns - c->begin_ns);
	op->role = event_role(m, c->name);
	if (op->role == ROLE_HOST)
		return;
	op->stream = stream_slot(m, c);
	op->target = event_slot(m, c->handle);
	double *ready = &m->state.at[op->stream].ready_ns, *event = &m->event_ns.at[op->target];
	if (op->role == ROLE_EVENT) {
		*event = fmax(replay_at(m, c->begin_ns), *ready);
		m->event_work.at[op->target] = m->state.at[op->stream].last;
		return;
	}
	if (!isnan(*ready)) /* NAN: the stream may still be busy with earlier steps */
		*ready = fmax(*ready, *event);
}

/*
 * Adds a piece of GPU work to the op. `issued`: when the call submitted the work. `chain`: of the
 * op's pieces; NULL: there is only one. Sets latency_ns and after_ns as measured; settle_work() in
 * replay_settle.c then decides which of the two delayed the work.
 */
static void trace_work(struct replay_trace *m, const struct replay_op *op, uint32_t index,
		       double issued, struct replay_chain *chain)
{
	const struct timeline_work *w = &m->t->works.at[index];
	struct replay_stream_state *s = &m->state.at[w->stream];
	struct replay_work mine = { .duration_ns = (float)(w->end_ns - w->begin_ns),
				    .dep = REPLAY_NONE,
				    .before = REPLAY_NONE,
				    .own_before = REPLAY_NONE,
				    .is_chained = op->n_work,
				    .work = index,
				    .stream = (uint16_t)w->stream };
	double begin = replay_at(m, w->begin_ns);
	mine.latency_ns = (float)(begin - issued);
	mine.after_ns = (float)(begin - s->ready_ns);
	if (chain)
		replay_chain_add(m, chain, &mine);
	vec_push(&m->before_in_stream, s->last);
	s->last = (uint32_t)m->r->works.n;
	s->ready_ns = fmax(s->ready_ns, replay_at(m, w->end_ns));
	vec_push(&m->r->works, mine);
}

static void trace_works(struct replay_trace *m, struct replay_op *op, const struct timeline_call *c)
{
	double duration = (double)(c->end_ns - c->begin_ns);
	double issued = replay_at(m, c->begin_ns) +
			(op->role == ROLE_WAIT_WORK ? (double)op->cost_ns : duration);
	struct replay_chain chain;
	replay_chain_start(&chain);
	op->first_work = (uint32_t)m->r->works.n;
	for (uint32_t k = 0; k < c->n_work; k++) {
		trace_work(m, op, m->t->work_of_call.at[c->first_work + k], issued, &chain);
		op->n_work++;
	}
	if (op->role != ROLE_WAIT_WORK)
		return;
	uint64_t end_ns = 0;
	for (uint32_t k = op->first_work; k < m->r->works.n; k++) {
		uint64_t done_ns = m->t->works.at[m->r->works.at[k].work].end_ns;
		end_ns = done_ns > end_ns ? done_ns : end_ns;
	}
	op->exit_ns = (float)(replay_at(m, c->end_ns) - replay_at(m, end_ns));
}

/* Returns the number of the call's lane in the replay. The main lane and lane 0 swap numbers, so
 * that the main lane is 0. */
static uint32_t lane_of(const struct replay_trace *m, const struct timeline_call *c)
{
	uint32_t lane = m->lanes.of_thread[c->thread];
	return lane == m->lanes.main ? 0 : lane == 0 ? m->lanes.main : lane;
}

void replay_trace_call(struct replay_trace *m, uint32_t index)
{
	const struct timeline_call *c = &m->t->calls.at[index];
	uint32_t lane = lane_of(m, c);
	struct replay_op op = { .call = index,
				.anchor = REPLAY_NONE,
				.lane = lane,
				.gap_waited_ns = (float)c->waited_before_ns,
				.call_waited_ns = (float)c->waited_within_ns };
	double begin = replay_at(m, c->begin_ns), end = replay_at(m, c->end_ns);
	op.gap_ns = (float)fmax(0, begin - m->lane_end[lane]);
	m->lane_end[lane] = fmax(m->lane_end[lane], end);
	op.cost_ns = (float)(end - begin);
	if (c->n_work)
		trace_launch(m, &op, c);
	else if (c->wait != WAIT_NONE)
		trace_named_wait(m, &op, c);
	else if (c->category == CAT_EVENT)
		trace_event(m, &op, c);
	if (c->n_work)
		trace_works(m, &op, c);
	vec_push(&m->r->ops, op);
}

void replay_trace_orphan(struct replay_trace *m, uint32_t index)
{
	struct replay_op op = { .call = REPLAY_NONE,
				.anchor = REPLAY_NONE,
				.role = ROLE_ORPHAN,
				.first_work = (uint32_t)m->r->works.n };
	double begin = replay_at(m, m->t->works.at[index].begin_ns);
	op.gap_ns = (float)(begin - m->lane_end[0]);
	trace_work(m, &op, index, begin, NULL);
	op.n_work = 1;
	vec_push(&m->r->ops, op);
}

/* ---- Start, run and end ---- */

void replay_trace_start(struct replay_trace *m, struct replay *r, const struct timeline *t,
			size_t first_step, size_t n_steps)
{
	*m = (struct replay_trace){ .r = r, .t = t };
	if (n_steps) {
		const struct timeline_step *last = &t->steps.at[first_step + n_steps - 1];
		m->first_call = t->steps.at[first_step].first_call;
		m->calls_end = last->first_call + last->n_calls;
	}
	lanes_find_in(&m->lanes, t, first_step, n_steps);
	r->n_lanes = m->lanes.n ? m->lanes.n : 1;
	m->lane_end = mem_zero(r->n_lanes * sizeof(*m->lane_end));
	find_streams(m);
	learn_costs(m);
}

void replay_trace_run(struct replay_trace *m, uint64_t begin_ns)
{
	m->origin_ns = begin_ns;
	for (uint32_t i = 0; i < m->r->n_lanes; i++)
		m->lane_end[i] = 0;
	for (size_t i = 0; i < m->state.n; i++)
		m->state.at[i] = (struct replay_stream_state){ NAN, REPLAY_NONE };
	for (size_t i = 0; i < m->event_ns.n; i++) {
		m->event_ns.at[i] = NAN;
		m->event_work.at[i] = REPLAY_NONE;
	}
}

void replay_trace_free(struct replay_trace *m)
{
	lanes_free(&m->lanes);
	free(m->lane_end);
	map_free(&m->streams);
	map_free(&m->events);
	vec_free(&m->state);
	vec_free(&m->event_ns);
	vec_free(&m->event_work);
	vec_free(&m->before_in_stream);
	vec_free(&m->event_role);
}
