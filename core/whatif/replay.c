/* Plays the model that replay.h describes: passes over the calls in the order of their start, and
 * computes when each call and each piece of GPU work ends. */
#include "core/whatif/replay.h"

/* A run is played for at least two iterations, because the first one only fills the queues. Short
 * runs are played for more iterations, up to about 60,000 ops in all, which take about 1 ms. */
enum { ITERATIONS_LEAST = 2, ITERATIONS_MOST = 8, OPS_OF_ALL_ITERATIONS = 60000 };

/* Time between two kernels of a graph: the median of 2,376 gaps on an H100, where the 10th
 * percentile is 64 ns. Kernels that were launched one by one are 1,200 ns apart on that GPU. */
#define GRAPH_AFTER_NS 96.0f
/* If work follows the stream's previous work by more than LONGER times the median time, it waited
 * for something else. It would wait for that in a graph, too. */
#define LONGER 3

struct play {
	const struct replay *r;
	const struct replay_edit *edit;
	/* By lane and by stream: when its last op or work so far ends. By event: when it occurs.
	 * All in ns since the start of the run's first iteration. */
	double *lane, *stream, *event;
	double *aside; /* by stream: when the last work that ran alongside it ends */
	double host_scale;
};

/* Used instead of fmax(), whose calls into libm took a tenth of a play. No value here is NAN. */
static inline double later(double a, double b)
{
	return a > b ? a : b;
}

static double device_end(const struct play *p, uint32_t device)
{
	double end = 0;
	for (size_t s = 0; s < p->r->streams.n; s++)
		if (device == REPLAY_NONE || p->r->streams.at[s].device == device)
			end = later(end, later(p->stream[s], p->aside[s]));
	return end;
}

/*
 * Returns when the stream may begin its next work. Work of the legacy default stream waits for all
 * work before it in the streams that are ordered with it, and these streams wait for that work.
 */
static double stream_free(const struct play *p, uint32_t stream)
{
	const struct replay_stream *own = &p->r->streams.at[stream];
	double end = p->stream[stream];
	for (size_t s = 0; (own->is_legacy || own->is_ordered) && s < p->r->streams.n; s++) {
		const struct replay_stream *other = &p->r->streams.at[s];
		if (other->device == own->device &&
		    (own->is_legacy ? other->is_ordered : other->is_legacy))
			end = later(end, p->stream[s]);
	}
	return end;
}

static double work_begin(const struct play *p, const struct replay_work *w, uint32_t stream,
			 double issued, uint8_t flags)
{
	float after = w->after_ns;
	if (flags & EDIT_AS_GRAPH && after > GRAPH_AFTER_NS &&
	    (double)after < LONGER * p->r->learned.after_ns)
		after = GRAPH_AFTER_NS;
	double begin = later(issued + w->latency_ns,
			     later(p->stream[stream] + after, stream_free(p, stream)));
	if (w->dep != REPLAY_NONE)
		begin = later(begin, p->r->work_end[w->dep] + w->dep_ns);
	return begin;
}

/* Returns the end of the piece that the same stream captured before; 0: there is none. */
static double own_end(const struct replay *r, const struct replay_work *w)
{
	return w->own_before == REPLAY_NONE ? 0 : r->piece_end[w->own_before];
}

/* Submits the op's GPU work to the device at time `issued`. Returns the time at which all of this
 * work has ended. */
static double submit(struct play *p, const struct replay_op *op, double issued, uint8_t flags)
{
	double begin, end, last = issued, *begins = p->r->piece_begin, *ends = p->r->piece_end;
	double *stream = flags & EDIT_ASIDE ? p->aside : p->stream;
	for (uint32_t i = op->first_work; i < op->first_work + op->n_work; i++) {
		const struct replay_work *w = &p->r->works.at[i];
		uint32_t at = p->edit->stream ? p->edit->stream[i] : w->stream;
		if (flags & EDIT_ASIDE)
			begin = later(issued + w->latency_ns, p->aside[at]);
		else if (!w->is_chained)
			begin = work_begin(p, w, at, issued, flags);
		else if (w->overlaps)
			begin = begins[w->before] + w->latency_ns;
		else
			begin = later(ends[w->before] + w->after_ns, own_end(p->r, w));
		double scale = p->edit->scale ? p->edit->scale[i] : 1;
		uint8_t node = p->edit->node ? p->edit->node[i] : 0;
		if (node & (NODE_BRANCH | NODE_ASIDE)) {
			begins[i] = ends[i] = begin; /* for the nodes after it */
			double done = later(begin, p->aside[at]) + w->duration_ns * scale;
			p->r->work_end[i] = p->aside[at] = done;
			stream[at] = node & NODE_BRANCH ? later(stream[at], done) : stream[at];
			last = node & NODE_BRANCH ? later(last, done) : last;
			continue;
		}
		if (node && w->is_chained && !w->overlaps)
			begin = node == NODE_HALF_GAP ? (begin + ends[w->before]) / 2
						      : later(ends[w->before], own_end(p->r, w));
		scale = node & NODE_GONE ? 0 : scale;
		end = begin + w->duration_ns * scale;
		begins[i] = begin;
		p->r->work_end[i] = ends[i] = end;
		stream[at] = later(stream[at], end);
		last = later(last, end);
	}
	return last;
}

static double wait_until(const struct replay_op *op, double now, double cost, double end)
{
	return end > now ? later(now + cost, end + op->exit_ns) : now + cost;
}

/* Makes a call that begins at `now`. Returns the time at which it returns. */
static double make_call(struct play *p, const struct replay_op *op, double now, uint8_t flags)
{
	double cost = flags & EDIT_NO_COST ? 0 : op->cost_ns * p->host_scale, end;
	bool waits = !(flags & EDIT_NO_WAIT);
	if (flags & EDIT_HALF_COST)
		cost /= 2;
	switch ((enum replay_role)op->role) {
	case ROLE_LAUNCH:
		submit(p, op, now + cost, flags);
		return now + cost;
	case ROLE_WAIT_WORK:
		end = submit(p, op, now + cost, flags);
		return waits ? wait_until(op, now, cost, end) : now + cost;
	case ROLE_WAIT_STREAM:
		end = later(p->stream[op->target], p->stream[op->stream]);
		return wait_until(op, now, cost, waits ? end : 0);
	case ROLE_WAIT_EVENT:
		return wait_until(op, now, cost, waits ? p->event[op->target] : 0);
	case ROLE_WAIT_DEVICE:
		return wait_until(op, now, cost, waits ? device_end(p, op->target) : 0);
	case ROLE_EVENT:
		p->event[op->target] = later(now + cost, p->stream[op->stream]);
		return now + cost;
	case ROLE_STREAM_WAIT:
		if (waits)
			p->stream[op->stream] = later(p->stream[op->stream], p->event[op->target]);
		return now + cost;
	case ROLE_HOST:
	case ROLE_ORPHAN:
		break;
	}
	return now + cost;
}

static void play_op(struct play *p, uint32_t i)
{
	const struct replay_op *op = &p->r->ops.at[i];
	const struct replay_edit *edit = p->edit;
	uint8_t flags = edit->op ? edit->op[i] : 0;
	double gap = op->gap_ns * p->host_scale, *clock = &p->lane[op->lane];
	if (op->role == ROLE_ORPHAN) {
		submit(p, op, *clock + gap, flags);
		return;
	}
	if (edit->cut_ns)
		gap = later(0, gap - edit->cut_ns[i]);
	double now = op->anchor == REPLAY_NONE ? *clock + gap
					       : later(*clock, p->r->op_end[op->anchor] + gap);
	*clock = flags & EDIT_GONE ? now : make_call(p, op, now, flags);
	p->r->op_end[i] = *clock;
}

static double furthest(const struct play *p)
{
	double end = device_end(p, REPLAY_NONE);
	for (uint32_t i = 0; i < p->r->n_lanes; i++)
		end = later(end, p->lane[i]);
	return end;
}

/* Returns the mean time in ns of the run's iterations after the first one, or the time of a run
 * without steps. */
static double play_run(struct play *p, const struct replay_run *run)
{
	const struct replay *r = p->r;
	memset(p->lane, 0, r->n_lanes * sizeof(*p->lane));
	for (size_t i = 0; i < r->streams.n; i++)
		p->stream[i] = run->ready_ns;
	memset(p->aside, 0, r->streams.n * sizeof(*p->aside));
	memset(p->event, 0, r->n_events * sizeof(*p->event));
	int iterations = run->n_ops ? (int)(OPS_OF_ALL_ITERATIONS / run->n_ops) : ITERATIONS_LEAST;
	iterations = iterations < ITERATIONS_LEAST  ? ITERATIONS_LEAST
		     : iterations > ITERATIONS_MOST ? ITERATIONS_MOST
						    : iterations;
	double first = 0;
	for (int iteration = 0; iteration < iterations; iteration++) {
		for (uint32_t i = run->first_op; i < run->first_op + run->n_ops; i++)
			play_op(p, i);
		for (uint32_t i = 0; i < r->n_lanes; i++)
			p->lane[i] += run->tail_ns[i] * p->host_scale;
		if (!iteration)
			first = furthest(p);
		if (run->is_once)
			return first - run->waited_ns;
	}
	return (furthest(p) - first) / (iterations - 1);
}

double replay_play(const struct replay *r, const struct replay_edit *edit)
{
	static const struct replay_edit nothing;
	struct play p = { .r = r, .edit = edit ? edit : &nothing };
	p.host_scale = p.edit->host_scale > 0 ? (double)p.edit->host_scale : 1;
	p.lane = mem_zero(r->n_lanes * sizeof(*p.lane));
	p.stream = mem_zero(r->streams.n * sizeof(*p.stream));
	p.aside = mem_zero(r->streams.n * sizeof(*p.aside));
	p.event = mem_zero(r->n_events * sizeof(*p.event));
	memset(r->op_end, 0, r->ops.n * sizeof(*r->op_end));
	memset(r->work_end, 0, r->works.n * sizeof(*r->work_end));
	double sum = 0;
	for (size_t i = 0; i < r->runs.n; i++) {
		r->runs.at[i].iteration_ns = play_run(&p, &r->runs.at[i]);
		sum += r->runs.at[i].iteration_ns;
	}
	free(p.lane);
	free(p.stream);
	free(p.aside);
	free(p.event);
	return r->n_steps ? sum / r->n_steps : 0;
}

/* Returns the time at which the op's GPU work is done and, if the op is a call of the main lane,
 * the call has returned. */
static double done_ns(const struct replay *r, uint32_t i)
{
	const struct replay_op *op = &r->ops.at[i];
	double end = op->lane || op->role == ROLE_ORPHAN ? 0 : r->op_end[i];
	for (uint32_t k = op->first_work; k < op->first_work + op->n_work; k++)
		end = later(end, r->work_end[k]);
	return end;
}

void replay_step_lengths(const struct replay *r, double *ns)
{
	for (size_t k = 0; k < r->runs.n; k++) {
		const struct replay_run *run = &r->runs.at[k];
		double begin = 0;
		for (uint32_t i = 0; i < run->n_steps; i++)
			ns[i] = 0;
		for (uint32_t i = run->first_op; i < run->first_op + run->n_ops; i++) {
			ns[r->step[i]] = later(ns[r->step[i]], done_ns(r, i));
			begin = later(begin, ns[r->step[i]]);
		}
		/* Convert the ends of the steps to lengths. All times are in the run's last
		 * iteration, which begins where the iteration before it ended. */
		begin -= run->iteration_ns;
		for (uint32_t i = 0; i < run->n_steps; i++) {
			double end = later(begin, ns[i]);
			ns[i] = end - begin;
			begin = end;
		}
		ns += run->n_steps;
	}
}
