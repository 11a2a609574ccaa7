/* See replay_trace.h: what delayed each piece of work, and which part of a wait's
 * end is its own. */
#include "core/whatif/replay_trace.h"

/* Latency from a launch to its kernel on an idle device, if none was observed. */
#define LATENCY_DEFAULT_NS 4000

/*
 * Work that begins this much later than its launch and its stream allow waited for something else:
 * work of another stream that ended at most DEP_NEAR_NS before. Searched among the last DEP_BACK
 * works of each stream.
 */
#define DEP_LEAST_NS 15e3
#define DEP_NEAR_NS  10e3
enum { DEP_BACK = 32 };

/* A wait that returns this long after its target was done has been preempted. The host would have
 * lost that time in any case. */
#define STALL_LEAST_NS 10e3
enum { STALL_TIMES_EXIT = 2 };

/* ---- Typical times ---- */

/* Learns the latency from work whose stream was done before the launch. */
static void learn_latency(struct replay_trace *m)
{
	struct replay_samples latency = { 0 }, all = { 0 };
	for (size_t i = 0; i < m->r->works.n; i++) {
		const struct replay_work *w = &m->r->works.at[i];
		if (w->is_chained)
			continue;
		if (isnan(w->after_ns)) /* the device may be busy with earlier steps */
			continue;
		replay_sample(&all, w->latency_ns);
		if (w->after_ns > w->latency_ns)
			replay_sample(&latency, w->latency_ns);
	}
	/* if the device always lags the host, even the least latency may be queue time */
	double least = replay_quantile(&all, 0.02, LATENCY_DEFAULT_NS);
	m->r->learned.latency_ns = replay_quantile(&latency, 0.5, fmin(least, LATENCY_DEFAULT_NS));
}

/* Learns the time between two works of a stream, from work that was launched long before. */
static void learn_after(struct replay_trace *m)
{
	struct replay_samples after = { 0 };
	for (size_t i = 0; i < m->r->works.n; i++) {
		const struct replay_work *w = &m->r->works.at[i];
		double latency = w->latency_ns;
		if (!w->is_chained && latency - (double)w->after_ns > m->r->learned.latency_ns)
			replay_sample(&after, w->after_ns);
	}
	m->r->learned.after_ns = replay_quantile(&after, 0.5, 500);
}

/* ---- What delayed each work ---- */

/* Returns work of another stream that ended just before this one began, or REPLAY_NONE. */
static uint32_t find_dep(const struct replay_trace *m, const uint32_t *last,
			 const struct replay_work *w)
{
	const struct timeline_work *works = m->t->works.at;
	double begin = (double)works[w->work].begin_ns, nearest = DEP_NEAR_NS;
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

/* The later one of launch and stream delayed the work: its delay stays as measured, the other one
 * is limited to the typical time. */
static void settle_work(struct replay_trace *m, struct replay_work *w, const uint32_t *last)
{
	const struct replay_learned *l = &m->r->learned;
	double by_host = (double)w->latency_ns - l->latency_ns;
	double by_stream = isnan(w->after_ns) ? INFINITY : (double)w->after_ns - l->after_ns;
	float latency = fminf(w->latency_ns, (float)l->latency_ns);
	float after = fminf(w->after_ns, (float)l->after_ns);
	if (isinf(by_stream)) { /* earlier steps may have kept the device busy */
		w->latency_ns = latency;
		w->after_ns = after;
		return;
	}
	if (fmin(by_host, by_stream) > DEP_LEAST_NS)
		w->dep = find_dep(m, last, w);
	if (w->dep != REPLAY_NONE) {
		const struct timeline_work *works = m->t->works.at;
		w->dep_ns = (float)(works[w->work].begin_ns -
				    works[m->r->works.at[w->dep].work].end_ns);
		w->latency_ns = latency;
		w->after_ns = after;
	} else if (by_host <= by_stream) {
		w->after_ns = after;
	} else {
		w->latency_ns = latency;
	}
}

/* A blocking copy that begins late although the device was free was staged by the host. That cost
 * stays even if nothing waits for the copy. */
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

/* ---- Run by run ---- */

/* Removes the time by which a wait returned too late, and returns it; the lane's next call begins
 * that much later instead. Frees and large copies are left alone: they do work after their wait. */
static float take_stall(const struct replay_trace *m, struct replay_op *op)
{
	enum { COPY_BYTES = 65536 };
	const struct timeline_call *c = op->call == REPLAY_NONE ? NULL : &m->t->calls.at[op->call];
	float most = (float)fmax(STALL_LEAST_NS, STALL_TIMES_EXIT * m->r->learned.exit_ns);
	if (!c || c->category == CAT_ALLOC || c->category == CAT_FREE || c->bytes > COPY_BYTES ||
	    op->exit_ns <= most)
		return 0;
	float stall = op->exit_ns - most;
	op->exit_ns = most;
	return stall;
}

static void settle_run(struct replay_trace *m, struct replay_run *run, uint32_t *last, float *stall)
{
	memset(last, 0xff, m->r->streams.n * sizeof(*last));
	memset(stall, 0, m->r->n_lanes * sizeof(*stall));
	for (uint32_t i = run->first_op; i < run->first_op + run->n_ops; i++) {
		struct replay_op *op = &m->r->ops.at[i];
		settle_op(m, op, last);
		if (op->role == ROLE_ORPHAN)
			continue;
		op->gap_ns += stall[op->lane];
		stall[op->lane] = take_stall(m, op);
	}
	run->tail_ns[0] += stall[0];
}

void replay_settle(struct replay_trace *m)
{
	uint32_t *last = mem_resize(NULL, m->r->streams.n * sizeof(*last));
	struct replay_learned *l = &m->r->learned;
	learn_latency(m);
	learn_after(m);
	l->exit_ns = replay_quantile(&m->exit, 0.5, 2000);
	float *stall = mem_zero(m->r->n_lanes * sizeof(*stall));
	for (size_t k = 0; k < m->r->runs.n; k++)
		settle_run(m, &m->r->runs.at[k], last, stall);
	free(stall);
	free(last);
}
