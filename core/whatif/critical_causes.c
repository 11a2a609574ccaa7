/* See critical_causes.h. Passes over the ops as a play does, but at the recorded times. */
#include "core/whatif/critical_causes.h"

#include "core/whatif/replay_trace.h"

static const struct critical_node nothing = { .index = REPLAY_NONE };

struct pass {
	struct critical_causes *c;
	const struct replay *r;
	const struct replay_run *run;
	const struct critical_before *before;
	struct critical_node *stream, *event; /* what their next work or wait waits for */
	uint32_t *last_work;		      /* by stream: its newest work */
	uint32_t *last_op;		      /* by lane */
	uint64_t earlier_ns;		      /* the last end of work of earlier steps */
};

static bool is_any(struct critical_node n)
{
	return n.index != REPLAY_NONE;
}

/* Returns the one that lets go later. */
static struct critical_node later(const struct replay *r, struct critical_node a,
				  struct critical_node b)
{
	if (!is_any(a) || !is_any(b))
		return is_any(a) ? a : b;
	return critical_node_ns(r, b) >= critical_node_ns(r, a) ? b : a;
}

static struct critical_node of_work(uint32_t work)
{
	return (struct critical_node){ work, work != REPLAY_NONE };
}

/* Returns what ended last on the device. `device` REPLAY_NONE: on all devices. */
static struct critical_node of_device(const struct pass *p, uint32_t device)
{
	struct critical_node last = nothing;
	for (size_t s = 0; s < p->r->streams.n; s++)
		if (device == REPLAY_NONE || p->r->streams.at[s].device == device)
			last = later(p->r, last, p->stream[s]);
	return last;
}

/* Returns when the last work of earlier steps in the stream ended; REPLAY_NONE stands for all
 * streams. Only work that ended until `most_ns` counts. 0: there is none. */
static uint64_t earlier_ns(const struct pass *p, uint32_t stream, uint32_t device, uint64_t most_ns)
{
	const struct timeline *t = p->r->timeline;
	uint64_t last_ns = p->run->begin_ns + (uint64_t)p->run->ready_ns;
	last_ns = p->run->ready_ns > 0 && last_ns <= most_ns ? last_ns : 0;
	for (size_t s = 0; p->before && s < p->before->stream_end_ns.n; s++) {
		uint64_t end_ns = p->before->stream_end_ns.at[s];
		bool is_here = stream != REPLAY_NONE
				       ? s == stream
				       : device == REPLAY_NONE || t->streams.at[s].device == device;
		if (is_here && end_ns <= most_ns && end_ns > last_ns)
			last_ns = end_ns;
	}
	for (size_t i = 0; i < t->earlier.n; i++) {
		const struct timeline_earlier *e = &t->earlier.at[i];
		if ((device == REPLAY_NONE || e->device == device) && e->end_ns <= most_ns &&
		    e->end_ns > last_ns)
			last_ns = e->end_ns;
	}
	return last_ns;
}

/* ---- Work ---- */

/* Returns the end of the work that `w` is ordered with because of the legacy default stream. */
static struct critical_node of_order(const struct pass *p, const struct replay_work *w)
{
	const struct replay_stream *own = &p->r->streams.at[w->stream];
	struct critical_node last = nothing;
	for (size_t s = 0; s < p->r->streams.n; s++) {
		const struct replay_stream *other = &p->r->streams.at[s];
		if (other->device == own->device &&
		    (own->is_legacy ? other->is_ordered : other->is_legacy))
			last = later(p->r, last, of_work(p->last_work[s]));
	}
	return last;
}

/* Decides for the first work of a stream, of which the replay does not know the cause: the launch,
 * an event, or work of earlier steps, whichever lets it begin last. */
static void decide_first(const struct pass *p, const struct replay_work *w,
			 struct critical_work *to)
{
	const struct timeline_work *work = critical_work(p->r, (uint32_t)(w - p->r->works.at));
	uint64_t issued_ns =
		p->r->ops.at[to->op].role == ROLE_ORPHAN ? 0 : critical_issued_ns(p->r, to->op);
	uint64_t before_ns = earlier_ns(p, w->stream, work->device, work->begin_ns);
	struct critical_node event = p->stream[w->stream];
	if (is_any(event) && critical_node_ns(p->r, event) > issued_ns &&
	    critical_node_ns(p->r, event) >= before_ns &&
	    critical_node_ns(p->r, event) <= work->begin_ns) {
		to->how = HOW_AFTER;
		to->cause = event;
	} else if (before_ns > issued_ns) {
		to->how = HOW_EARLIER;
		to->earlier_ns = before_ns;
	}
}

static void decide_chained(const struct pass *p, const struct replay_work *w,
			   struct critical_work *to)
{
	to->how = w->overlaps ? HOW_WITH : HOW_AFTER;
	to->cause = of_work(w->before);
	if (!w->overlaps)
		to->cause = later(p->r, of_work(w->own_before), to->cause);
}

/* Returns whether another stream of the device had work to do after `ns`, of what was launched so
 * far. */
static bool is_shared(const struct pass *p, uint32_t stream, uint64_t ns)
{
	for (size_t s = 0; s < p->r->streams.n; s++)
		if (s != stream && p->r->streams.at[s].device == p->r->streams.at[stream].device &&
		    is_any(p->stream[s]) && critical_node_ns(p->r, p->stream[s]) > ns)
			return true;
	return false;
}

/*
 * Returns whether the work began later than what it is known to have waited for explains. It may
 * have waited until other work left the multiprocessors, or for an event that is not recorded. On
 * a device that did nothing else, a launch may take long.
 */
static bool is_late(const struct pass *p, const struct replay_work *w,
		    const struct critical_work *to)
{
	double begin = (double)critical_work(p->r, (uint32_t)(w - p->r->works.at))->begin_ns;
	if (w->is_chained || to->how == HOW_EARLIER || p->r->ops.at[to->op].role == ROLE_ORPHAN)
		return false;
	if (to->how == HOW_AFTER)
		return begin - (double)critical_node_ns(p->r, to->cause) >
		       p->r->learned.after_ns + REPLAY_DEP_LEAST_NS;
	uint64_t issued_ns = critical_issued_ns(p->r, to->op);
	return begin - (double)issued_ns > p->r->learned.latency_ns + REPLAY_DEP_LEAST_NS &&
	       (w->cause == CAUSE_FIRST || is_shared(p, w->stream, issued_ns));
}

static void decide(const struct pass *p, uint32_t i, uint32_t op)
{
	const struct replay_work *w = &p->r->works.at[i];
	struct critical_work *to = &p->c->works[i];
	*to = (struct critical_work){ .cause = nothing, .op = op, .how = HOW_LAUNCHED };
	if (w->is_chained) {
		decide_chained(p, w, to);
	} else if (w->cause == CAUSE_FIRST) {
		decide_first(p, w, to);
	} else if (w->cause != CAUSE_LAUNCH) {
		to->how = HOW_AFTER;
		to->cause = w->cause == CAUSE_DEP     ? of_work(w->dep)
			    : w->cause == CAUSE_ORDER ? of_order(p, w)
						      : p->stream[w->stream];
	}
	if (to->how == HOW_AFTER && !is_any(to->cause))
		to->how = HOW_LAUNCHED;
	to->is_late = is_late(p, w, to);
}

static void add_works(struct pass *p, uint32_t op)
{
	const struct replay_op *o = &p->r->ops.at[op];
	for (uint32_t i = o->first_work; i < o->first_work + o->n_work; i++) {
		uint32_t stream = p->r->works.at[i].stream;
		decide(p, i, op);
		p->stream[stream] = later(p->r, p->stream[stream], of_work(i));
		p->last_work[stream] = i;
		p->c->last_work = later(p->r, of_work(p->c->last_work), of_work(i)).index;
	}
}

/* ---- Calls ---- */

static struct critical_node own_work(const struct pass *p, const struct replay_op *o)
{
	struct critical_node last = nothing;
	for (uint32_t i = o->first_work; i < o->first_work + o->n_work; i++)
		last = later(p->r, last, of_work(i));
	return last;
}

/* Notes what the call waited for. If that is not known, it may be work of earlier steps. */
static void await(const struct pass *p, uint32_t op, struct critical_node n, uint32_t stream,
		  uint32_t device)
{
	struct critical_op *to = &p->c->ops[op];
	const struct timeline_call *c = critical_call(p->r, op);
	to->awaited = n;
	if (is_any(n))
		return;
	uint64_t end_ns = p->earlier_ns > c->begin_ns ? earlier_ns(p, stream, device, c->end_ns)
						      : 0;
	to->earlier_ns = end_ns > c->begin_ns ? end_ns : 0;
}

/* Returns where the event of the call is kept; NULL: the trace does not say which event it is. */
static struct critical_node *event_of(const struct pass *p, uint32_t op)
{
	return critical_call(p->r, op)->handle ? &p->event[p->r->ops.at[op].target] : NULL;
}

static void add_op(struct pass *p, uint32_t op)
{
	const struct replay_op *o = &p->r->ops.at[op];
	const struct critical_node self = { .index = op };
	struct critical_node *event;
	bool is_orphan = o->role == ROLE_ORPHAN;
	p->c->ops[op] = (struct critical_op){ .awaited = nothing, .before = p->last_op[o->lane] };
	add_works(p, op);
	switch ((enum replay_role)o->role) {
	case ROLE_WAIT_WORK:
		p->c->ops[op].awaited = own_work(p, o);
		break;
	case ROLE_WAIT_STREAM:
		await(p, op, later(p->r, p->stream[o->target], p->stream[o->stream]), o->target,
		      p->r->streams.at[o->target].device);
		break;
	case ROLE_WAIT_EVENT:
		event = event_of(p, op);
		await(p, op, event ? *event : nothing, REPLAY_NONE, REPLAY_NONE);
		break;
	case ROLE_WAIT_DEVICE:
		await(p, op, of_device(p, o->target), REPLAY_NONE, o->target);
		break;
	case ROLE_EVENT:
		event = event_of(p, op);
		if (event)
			*event = later(p->r, self, p->stream[o->stream]);
		break;
	case ROLE_STREAM_WAIT:
		event = event_of(p, op);
		if (event)
			p->stream[o->stream] = later(p->r, p->stream[o->stream], *event);
		break;
	case ROLE_LAUNCH:
	case ROLE_HOST:
	case ROLE_ORPHAN:
		break;
	}
	if (is_orphan)
		return;
	p->last_op[o->lane] = op;
	p->c->last_op = o->lane ? p->c->last_op : op;
}

/* ---- A run ---- */

static struct critical_node *no_nodes(size_t n)
{
	struct critical_node *nodes = mem_zero(n * sizeof(*nodes));
	for (size_t i = 0; i < n; i++)
		nodes[i] = nothing;
	return nodes;
}

void critical_causes_find(struct critical_causes *c, const struct replay *r, size_t run,
			  const struct critical_before *before)
{
	const struct replay_run *of = &r->runs.at[run];
	struct pass p = { .c = c, .r = r, .run = of, .before = before };
	*c = (struct critical_causes){ .r = r, .last_op = REPLAY_NONE, .last_work = REPLAY_NONE };
	c->ops = mem_zero(r->ops.n * sizeof(*c->ops));
	c->works = mem_zero(r->works.n * sizeof(*c->works));
	p.stream = no_nodes(r->streams.n);
	p.event = no_nodes(r->n_events);
	p.last_work = mem_resize(NULL, r->streams.n * sizeof(*p.last_work));
	memset(p.last_work, 0xff, r->streams.n * sizeof(*p.last_work));
	p.last_op = replay_no_ops(r);
	p.earlier_ns = earlier_ns(&p, REPLAY_NONE, REPLAY_NONE, UINT64_MAX);
	for (uint32_t i = of->first_op; i < of->first_op + of->n_ops; i++)
		add_op(&p, i);
	free(p.stream);
	free(p.event);
	free(p.last_work);
	free(p.last_op);
}

void critical_causes_free(struct critical_causes *c)
{
	free(c->ops);
	free(c->works);
}
