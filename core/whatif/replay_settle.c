/* The last step of building the replay's model (replay_trace.h). Decides for each piece of GPU work
 * what delayed it: the launch, the work before it in its stream, or work of another stream. If a
 * wait returned late because its thread was preempted, moves the delay to the gap after it. */
#include "core/whatif/replay_trace.h"

/* Upper limit for the latency from a launch to its kernel on an idle stream, if no launch on an
 * idle stream was recorded. */
#define LATENCY_DEFAULT_NS 4000

/* find_dep() looks for the work of another stream that delayed work among the last DEP_BACK pieces
 * of work in each stream. */
enum { DEP_BACK = 32 };

/* If a wait returns later than this after its target was done, its thread was preempted. The limit
 * is STALL_LEAST_NS or STALL_TIMES_EXIT times the median, whichever is larger. The delay does not
 * count as part of the wait, because preemption would have delayed the host without the wait,
 * too. */
#define STALL_LEAST_NS 10e3
enum { STALL_TIMES_EXIT = 2 };

/* ---- Typical times ---- */

/* Returns true if the work's stream is ordered with the legacy default stream of its device, or is
 * that stream and another one is ordered with it. Something else than the launch or the stream's
 * own work may then have delayed the work. */
static bool is_of_order(const struct replay *r, const struct replay_work *w)
{
	const struct replay_stream *own = &r->streams.at[w->stream];
	bool is_any = own->is_ordered;
	for (size_t s = 0; own->is_legacy && s < r->streams.n; s++)
		is_any |= r->streams.at[s].is_ordered && r->streams.at[s].device == own->device;
	return is_any;
}

/* Learns the latency from a launch to its work. Uses work whose stream was idle at the launch. */
static void learn_latency(struct replay_trace *m)
{
	struct replay_samples latency = { 0 }, all = { 0 };
	for (size_t i = 0; i < m->r->works.n; i++) {
		const struct replay_work *w = &m->r->works.at[i];
		if (w->is_chained)
			continue;
		if (isnan(w->after_ns)) /* earlier steps may have kept the stream busy */
			continue;
		replay_sample(&all, w->latency_ns);
		if (w->after_ns > w->latency_ns && !is_of_order(m->r, w))
			replay_sample(&latency, w->latency_ns);
	}
	/* If the device always lags the host, all latencies include time in the queue, even the
	 * smallest one. Calls that return after their work began have negative ones: these say
	 * nothing of the others. */
	double least = fmax(0, replay_quantile(&all, 0.02, LATENCY_DEFAULT_NS));
	m->r->learned.latency_ns = replay_quantile(&latency, 0.5, fmin(least, LATENCY_DEFAULT_NS));
}

/* Learns the time between two successive pieces of work in a stream. Uses work that was launched so
 * early that the launch did not delay it. */
static void learn_after(struct replay_trace *m)
{
	struct replay_samples after = { 0 };
	for (size_t i = 0; i < m->r->works.n; i++) {
		const struct replay_work *w = &m->r->works.at[i];
		double latency = w->latency_ns;
		if (!w->is_chained && !is_of_order(m->r, w) &&
		    latency - (double)w->after_ns > m->r->learned.latency_ns)
			replay_sample(&after, w->after_ns);
	}
	m->r->learned.after_ns = replay_quantile(&after, 0.5, 500);
}

/* ---- The cause of each delay ---- */

/* Returns the work of another stream that ended last before `w` began, if it ended less than
 * REPLAY_DEP_NEAR_NS before. Otherwise returns REPLAY_NONE. `last`: by stream, its newest work so
 * far. */
static uint32_t find_dep(const struct replay_trace *m, const uint32_t *last,
			 const struct replay_work *w)
{
	const struct timeline_work *works = m->t->works.at;
	double begin = (double)works[w->work].begin_ns, nearest = REPLAY_DEP_NEAR_NS;
	uint32_t dep = REPLAY_NONE;
	for (size_t s = 0; s < m->r->streams.n; s++) {
		uint32_t other = s == w->stream ? REPLAY_NONE : last[s];
		for (int k = 0; k < DEP_BACK && other != REPLAY_NONE; k++) {
			double gap = begin - (double)works[m->r->works.at[other].work].end_ns;
			if (gap >= 0 && gap < nearest) {
				nearest = gap;
				dep = other;
			}
			if (gap >= 0)
				break;
			other = m->before_in_stream.at[other];
		}
	}
	return dep;
}

/*
 * Decides what delayed the work: its launch or the work before it in its stream, whichever allowed
 * it to begin later. That delay (latency_ns or after_ns) stays as measured, and the other one is
 * limited to the typical time. If the work waited for work of another stream, sets `dep`, and
 * limits both delays.
 */
static void settle_work(struct replay_trace *m, struct replay_work *w, const uint32_t *last)
{
	const struct replay_learned *l = &m->r->learned;
	double by_host = (double)w->latency_ns - l->latency_ns;
	double by_stream = isnan(w->after_ns) ? INFINITY : (double)w->after_ns - l->after_ns;
	float latency = fminf(w->latency_ns, (float)l->latency_ns);
	float after = fminf(w->after_ns, (float)l->after_ns);
	bool is_ordered = replay_is_after_order(m->r, last, w);
	/* earlier steps may have kept the stream busy, or the legacy default stream did */
	if (isinf(by_stream) || is_ordered) {
		w->cause = is_ordered ? CAUSE_ORDER : CAUSE_FIRST;
		w->latency_ns = latency;
		w->after_ns = after;
		return;
	}
	if (fmin(by_host, by_stream) > REPLAY_DEP_LEAST_NS)
		w->dep = find_dep(m, last, w);
	w->cause = w->dep != REPLAY_NONE  ? CAUSE_DEP
		   : by_host <= by_stream ? CAUSE_LAUNCH
					  : CAUSE_STREAM;
	if (w->dep != REPLAY_NONE) {
		const struct timeline_work *works = m->t->works.at;
		w->dep_ns = (float)(works[w->work].begin_ns -
				    works[m->r->works.at[w->dep].work].end_ns);
		w->latency_ns = latency;
		w->after_ns = after;
	} else if (w->cause == CAUSE_LAUNCH) {
		w->after_ns = after;
	} else {
		w->latency_ns = latency;
	}
}

/* If a blocking copy began later than usual although the device was free, the host copied the data
 * to a staging buffer first. Moves this time from the copy's latency to the call's host cost, so
 * that it stays if a change removes the wait. */
static void settle_blocking(const struct replay_trace *m, struct replay_op *op)
{
	struct replay_work *w = &m->r->works.at[op->first_work];
	float more = w->latency_ns - (float)m->r->learned.latency_ns;
	if (op->role != ROLE_WAIT_WORK || w->dep != REPLAY_NONE || more <= 0)
		return;
	w->latency_ns -= more;
	op->cost_ns += more;
}

static void settle_op(struct replay_trace *m, struct replay_op *op, uint32_t *last)
{
	if (isnan(op->exit_ns))
		op->exit_ns = (float)m->r->learned.exit_ns;
	for (uint32_t i = op->first_work; i < op->first_work + op->n_work; i++) {
		struct replay_work *w = &m->r->works.at[i];
		if (op->role == ROLE_ORPHAN)
			w->after_ns = fminf(w->after_ns, (float)m->r->learned.after_ns);
		else if (!w->is_chained)
			settle_work(m, w, last);
		last[w->stream] = i;
	}
	if (op->n_work)
		settle_blocking(m, op);
}

/* ---- Waits for the legacy stream ---- */

/* If the wait for an ordered stream lasted until later work of the legacy stream had ended, the
 * call awaited that work. Returns whether it did. `last`: by stream, its newest work so far. */
static bool settle_wait(struct replay_trace *m, struct replay_op *op, const uint32_t *last)
{
	const struct replay_stream *own = &m->r->streams.at[op->target];
	op->stream = op->target;
	for (uint32_t s = 0; own->is_ordered && !isnan(op->exit_ns) && s < m->r->streams.n; s++) {
		const struct replay_stream *other = &m->r->streams.at[s];
		if (!other->is_legacy || other->device != own->device || last[s] == REPLAY_NONE)
			continue;
		const struct timeline_work *w = &m->t->works.at[m->r->works.at[last[s]].work];
		double return_ns = (double)m->t->calls.at[op->call].end_ns,
		       legacy_ns = (double)w->end_ns;
		if (legacy_ns <= return_ns - op->exit_ns || legacy_ns > return_ns)
			continue;
		op->exit_ns = (float)(return_ns - legacy_ns);
		op->stream = s;
		return true;
	}
	return false;
}

/* Finds the waits for streams that awaited the legacy stream, and learns the time from the end of
 * the awaited work to the return of a wait. */
static void settle_waits(struct replay_trace *m, uint32_t *last)
{
	struct replay_samples exit = { 0 };
	bool is_any = false;
	for (size_t k = 0; k < m->r->runs.n; k++) {
		struct replay_run *run = &m->r->runs.at[k];
		memset(last, 0xff, m->r->streams.n * sizeof(*last));
		for (uint32_t i = run->first_op; i < run->first_op + run->n_ops; i++) {
			struct replay_op *op = &m->r->ops.at[i];
			for (uint32_t w = op->first_work; w < op->first_work + op->n_work; w++)
				last[m->r->works.at[w].stream] = w;
			if (op->role != ROLE_WAIT_STREAM)
				continue;
			is_any |= settle_wait(m, op, last);
			if (!isnan(op->exit_ns))
				replay_sample(&exit, fmaxf(0, op->exit_ns - op->call_waited_ns));
		}
	}
	double of_all = replay_quantile(&m->exit, 0.5, 2000),
	       of_streams = replay_quantile(&exit, 0.5, of_all);
	m->r->learned.exit_ns = is_any ? of_streams : of_all;
}

/* ---- All runs ---- */

/* The time by which a wait returned too late, and the part of it in which the thread waited for a
 * CPU. */
struct stall {
	float ns, waited_ns;
};

/* Removes from the op the time by which its wait returned too late, and returns this time. The
 * caller adds it to the gap before the lane's next call. Calls that allocate or free memory and
 * large copies stay as they are, because they do work of their own after the wait. */
static struct stall take_stall(const struct replay_trace *m, struct replay_op *op)
{
	enum { COPY_BYTES = 65536 };
	const struct timeline_call *c = op->call == REPLAY_NONE ? NULL : &m->t->calls.at[op->call];
	float most = (float)fmax(STALL_LEAST_NS, STALL_TIMES_EXIT * m->r->learned.exit_ns);
	if (!c || c->category == CAT_ALLOC || c->category == CAT_FREE || c->bytes > COPY_BYTES ||
	    op->exit_ns <= most)
		return (struct stall){ 0, 0 };
	float ns = op->exit_ns - most;
	struct stall stall = { ns, fminf(ns, op->call_waited_ns) };
	op->exit_ns = most;
	op->call_waited_ns -= stall.waited_ns;
	return stall;
}

static void settle_run(struct replay_trace *m, struct replay_run *run, uint32_t *last,
		       struct stall *stall)
{
	memset(last, 0xff, m->r->streams.n * sizeof(*last));
	memset(stall, 0, m->r->n_lanes * sizeof(*stall));
	for (uint32_t i = run->first_op; i < run->first_op + run->n_ops; i++) {
		struct replay_op *op = &m->r->ops.at[i];
		settle_op(m, op, last);
		if (op->role == ROLE_ORPHAN)
			continue;
		op->gap_ns += stall[op->lane].ns;
		op->gap_waited_ns += stall[op->lane].waited_ns;
		stall[op->lane] = take_stall(m, op);
	}
	run->tail_ns[0] += stall[0].ns;
	run->tail_waited_ns += stall[0].waited_ns;
}

void replay_settle(struct replay_trace *m)
{
	uint32_t *last = mem_resize(NULL, m->r->streams.n * sizeof(*last));
	replay_order(m->r);
	learn_latency(m);
	learn_after(m);
	settle_waits(m, last);
	struct stall *stall = mem_zero(m->r->n_lanes * sizeof(*stall));
	for (size_t k = 0; k < m->r->runs.n; k++)
		settle_run(m, &m->r->runs.at[k], last, stall);
	free(stall);
	free(last);
}
