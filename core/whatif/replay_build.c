/* Builds the replay's model: chooses the recorded steps that are played, and measures how long they
 * took. replay_trace.c converts the calls and the GPU work in these steps. */
#include "core/analysis/idle.h"
#include "core/whatif/replay_anchors.h"
#include "core/whatif/replay_trace.h"

/* A program may use several buffers in rotation, a different one in each step. There are usually
 * two or three of them. This is the most that is searched for. */
enum { PERIOD_MOST = 4 };

/* ---- Steps ---- */

/* Adds the step's calls to the model, and its work without a known call (orphans), in the order of
 * their start. */
static void trace_step(struct replay_trace *m, const struct timeline_step *step)
{
	const struct timeline *t = m->t;
	uint32_t call = step->first_call, calls_end = call + step->n_calls;
	for (uint32_t w = step->first_work; w < step->first_work + step->n_work; w++) {
		if (t->works.at[w].call != MODEL_NO_CALL)
			continue;
		while (call < calls_end && t->calls.at[call].begin_ns <= t->works.at[w].begin_ns)
			replay_trace_call(m, call++);
		replay_trace_orphan(m, w);
	}
	while (call < calls_end)
		replay_trace_call(m, call++);
}

/* Returns true if the model has reached REPLAY_OPS_MOST. `steps_of_run`: steps of the current run,
 * which n_steps does not count yet. */
static bool is_enough(const struct replay *r, uint32_t steps_of_run)
{
	return r->ops.n >= REPLAY_OPS_MOST && r->n_steps + steps_of_run >= REPLAY_STEPS_LEAST;
}

static bool is_playable(const struct timeline_step *s)
{
	return s->has_gpu && !s->is_cut && s->n_calls && s->end_ns > s->begin_ns;
}

static void begin_run(struct replay_trace *m, uint64_t begin_ns, bool is_once)
{
	struct replay_run run = { .first_op = (uint32_t)m->r->ops.n,
				  .is_once = is_once,
				  .begin_ns = begin_ns };
	run.tail_ns = mem_zero(m->r->n_lanes * sizeof(*run.tail_ns));
	vec_push(&m->r->runs, run);
	replay_trace_run(m, begin_ns);
}

/* Only lane 0, the main lane, gets a tail: in the model the other lanes wait for a call of lane 0
 * in each step (replay_anchors.h). */
static void end_run(struct replay_trace *m, const struct timeline_step *last)
{
	struct replay_run *run = &m->r->runs.at[m->r->runs.n - 1];
	run->n_ops = (uint32_t)m->r->ops.n - run->first_op;
	run->end_ns = last->end_ns;
	run->cpu_end_ns = last->cpu_end_ns;
	run->tail_ns[0] = (float)fmax(0, replay_at(m, last->cpu_end_ns) - m->lane_end[0]);
}

/* Returns how many ns after `end_ns` the device finishes the work of the steps added so far; 0 if
 * the device finishes earlier. */
static double backlog(const struct replay_trace *m, uint64_t end_ns)
{
	return fmax(0, replay_device_ready(m, REPLAY_NONE) - replay_at(m, end_ns));
}

/* If the first work of a run without steps was launched long before it began, the device had to
 * finish earlier work. */
static void wait_for_earlier(struct replay_trace *m)
{
	struct replay_run *run = &m->r->runs.at[m->r->runs.n - 1];
	const struct timeline_step *step = &m->t->steps.at[run->first_step];
	const struct timeline_work *first = &m->t->works.at[step->first_work];
	if (first->call == MODEL_NO_CALL)
		return;
	uint64_t launched_ns = m->t->calls.at[first->call].end_ns;
	if (first->begin_ns < launched_ns + IDLE_QUEUED_NS)
		return;
	run->ready_ns = (double)(first->begin_ns - step->begin_ns);
	run->waited_ns = (double)(first->begin_ns - launched_ns);
}

/* Returns when the device finishes the work that was launched before the step. */
static uint64_t earlier_until_ns(const struct timeline *t, const struct timeline_step *step)
{
	uint64_t until_ns = step->begin_ns;
	for (size_t i = 0; i < t->earlier.n; i++) {
		const struct timeline_earlier *e = &t->earlier.at[i];
		if (e->begin_ns < step->end_ns && e->end_ns > until_ns)
			until_ns = e->end_ns;
	}
	return until_ns;
}

/*
 * Returns how much longer the run's first step waited for work of earlier steps than a later step
 * would. What is queued at the run's end, `last_backlog`, is what a step waits for. A profiler that
 * starts lets more work queue up.
 */
static double excess_wait_ns(const struct replay_trace *m, double last_backlog)
{
	const struct replay_run *run = &m->r->runs.at[m->r->runs.n - 1];
	const struct timeline_step *step = &m->t->steps.at[run->first_step];
	uint64_t until_ns = earlier_until_ns(m->t, step);
	double excess = (double)(until_ns - step->begin_ns) - last_backlog;
	for (uint32_t i = step->first_call; i < step->first_call + step->n_calls; i++) {
		const struct timeline_call *c = &m->t->calls.at[i];
		if (c->begin_ns >= until_ns)
			break;
		if ((double)c->end_ns > (double)until_ns - REPLAY_EARLY_MOST_NS &&
		    c->wait != WAIT_NONE)
			return fmax(0, fmin(excess, (double)(until_ns - c->begin_ns)));
	}
	return 0;
}

/*
 * Adds the measured time of the current run to the model. The time per step is usually the host's.
 * But a host that runs ahead of the device is blocked by a full queue now and then, and issues its
 * steps faster in between. Then the time per step is the device's: the time from the end of the
 * first step's work to the end of the last step's work, divided by the number of steps between.
 * `first_backlog` and `last_backlog` are backlog() at the end of the first and of the last step.
 */
static void measure_run(struct replay_trace *m, double first_backlog, uint64_t first_end_ns,
			double last_backlog)
{
	const struct replay_run *run = &m->r->runs.at[m->r->runs.n - 1];
	double steps = run->n_steps, ns = (double)(run->end_ns - run->begin_ns), pace;
	ns -= run->is_once ? run->waited_ns : excess_wait_ns(m, last_backlog);
	pace = ns / steps;
	if (run->n_steps > 1) {
		double span = (double)(run->end_ns - first_end_ns) + last_backlog - first_backlog;
		double device = span / (steps - 1);
		if (fmin(first_backlog, last_backlog) > device)
			pace = device;
		else if (last_backlog > first_backlog)
			pace = fmax(pace, device);
	}
	m->r->measured_ns += pace * steps;
	m->r->n_steps += run->n_steps;
}

/* Returns a hash of the streams and events that a step's calls use. Steps that use the same buffers
 * of a rotation have the same hash. */
static uint64_t handles_of(const struct timeline *t, const struct timeline_step *step)
{
	uint64_t h = 0;
	for (uint32_t i = step->first_call; i < step->first_call + step->n_calls; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		bool is_event = c->category == CAT_EVENT || c->category == CAT_QUERY ||
				c->wait == WAIT_EVENT;
		h = (h ^ c->stream ^ (is_event ? c->handle << 1 : 0)) * 0x9E3779B97F4A7C15ull;
		h ^= h >> 29;
	}
	return h;
}

/*
 * Returns how many of `n` successive steps to play, if the program uses buffers in rotation: the
 * largest number of whole rotations. With a partial rotation, the first step of the next iteration
 * would use the streams and events of the wrong buffer. Returns `n` if no rotation is visible.
 */
static size_t whole_iterations(const struct timeline *t, size_t first, size_t n)
{
	for (size_t period = 1; period <= PERIOD_MOST && 2 * period <= n; period++) {
		size_t i = 0;
		while (i + period < n && handles_of(t, &t->steps.at[first + i]) ==
						 handles_of(t, &t->steps.at[first + i + period]))
			i++;
		if (i + period == n)
			return n - n % period;
	}
	return n;
}

/* Returns how many steps from `first` on, before `end`, can be played and directly follow each
 * other. */
static size_t steps_in_row(const struct timeline *t, size_t first, size_t end)
{
	size_t n = 0;
	while (first + n < end && is_playable(&t->steps.at[first + n]) &&
	       (!n || t->steps.at[first + n].follows))
		n++;
	return n;
}

static void trace_run(struct replay_trace *m, size_t first_step, size_t n)
{
	const struct timeline *t = m->t;
	uint64_t first_end_ns = t->steps.at[first_step].end_ns;
	size_t left = whole_iterations(t, first_step, n), i = first_step;
	double first = NAN;
	begin_run(m, t->steps.at[i].begin_ns, t->steps.at[i].is_whole_run);
	struct replay_run *run = &m->r->runs.at[m->r->runs.n - 1];
	run->first_step = (uint32_t)first_step;
	do {
		trace_step(m, &t->steps.at[i++]);
		if (!run->n_steps++)
			first = backlog(m, first_end_ns);
	} while (--left && !is_enough(m->r, run->n_steps));
	end_run(m, &t->steps.at[i - 1]);
	if (run->is_once)
		wait_for_earlier(m);
	measure_run(m, first, first_end_ns, backlog(m, t->steps.at[i - 1].end_ns));
}

static void trace_runs(struct replay_trace *m, size_t first_step, size_t end)
{
	for (size_t i = first_step; i < end && !is_enough(m->r, 0);) {
		size_t n = steps_in_row(m->t, i, end);
		if (n)
			trace_run(m, i, n);
		i += n ? n : 1;
	}
	if (m->r->n_steps)
		m->r->measured_ns /= m->r->n_steps;
}

/* ---- The whole model ---- */

/*
 * Moves the host work after each run's last call to the gap before the run's first call. The next
 * iteration follows directly, so both form one gap, as between the other steps. The joined gap does
 * not depend on whether the step boundary was before or after the host work.
 */
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
		r->ops.at[i].gap_waited_ns += run->tail_waited_ns;
		run->tail_ns[0] = 0;
	}
}

/* Sets r->step. An orphan (work without a call) belongs to the step of the call before it. */
static void number_steps(struct replay *r)
{
	r->step = mem_zero(r->ops.n * sizeof(*r->step));
	for (size_t k = 0; k < r->runs.n; k++) {
		const struct replay_run *run = &r->runs.at[k];
		uint32_t first = UINT32_MAX, now = 0;
		for (uint32_t i = run->first_op; i < run->first_op + run->n_ops; i++) {
			uint32_t call = r->ops.at[i].call;
			uint32_t step = call == REPLAY_NONE ? UINT32_MAX
							    : r->timeline->calls.at[call].step;
			if (first == UINT32_MAX)
				first = step;
			if (step - first < run->n_steps)
				now = step - first;
			r->step[i] = now;
		}
	}
}

void replay_build_steps(struct replay *r, const struct timeline *t, size_t first_step,
			size_t n_steps)
{
	struct replay_trace m;
	memset(r, 0, sizeof(*r));
	r->timeline = t;
	replay_trace_start(&m, r, t, first_step, n_steps);
	trace_runs(&m, first_step, first_step + n_steps);
	replay_settle(&m);
	r->n_events = (uint32_t)m.event_ns.n;
	if (r->n_lanes > 1)
		replay_find_anchors(r);
	join_ends(r);
	replay_trace_free(&m);
	r->op_end = mem_zero(r->ops.n * sizeof(*r->op_end));
	r->work_end = mem_zero(r->works.n * sizeof(*r->work_end));
	r->piece_begin = mem_zero(r->works.n * sizeof(*r->piece_begin));
	r->piece_end = mem_zero(r->works.n * sizeof(*r->piece_end));
	number_steps(r);
}

void replay_build(struct replay *r, const struct timeline *t)
{
	replay_build_steps(r, t, 0, t->steps.n);
}

void replay_free(struct replay *r)
{
	for (size_t i = 0; i < r->runs.n; i++)
		free(r->runs.at[i].tail_ns);
	free(r->op_end);
	free(r->work_end);
	free(r->piece_begin);
	free(r->piece_end);
	free(r->step);
	vec_free(&r->ops);
	vec_free(&r->works);
	vec_free(&r->streams);
	vec_free(&r->runs);
}
