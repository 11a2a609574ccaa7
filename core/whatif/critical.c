/* See critical.h. Walks back from the end of a run to its begin. */
#include "core/whatif/critical.h"

#include "core/analysis/idle.h"
#include "core/whatif/critical_causes.h"
#include "core/whatif/replay_trace.h"

const struct critical_kind_row critical_kinds[CRITICAL_KINDS_N] = {
#define X(id, name, noun) { name, noun },
	CRITICAL_KINDS(X)
#undef X
};

/* Where the walk is. */
enum place {
	AT_RETURN, /* before the return of op `at` */
	AT_SUBMIT, /* within op `at`, before it has submitted its work or begun to wait */
	AT_END,	   /* before the end of work `at` */
	AT_BEGIN,  /* at the begin of work `at` */
	AT_START,  /* at the begin of the run */
};

struct walk {
	struct critical_path *path;
	const struct replay *r;
	const struct critical_causes *causes;
	uint64_t begin_ns; /* of the run */
	uint64_t now_ns;   /* the links so far begin here */
	uint32_t at;
	enum place place;
};

static void go(struct walk *w, enum place place, uint32_t at)
{
	w->place = place;
	w->at = at;
}

static void go_to(struct walk *w, struct critical_node n)
{
	/* an event that was recorded without pending work: the host was there */
	go(w, n.is_work ? AT_END : AT_SUBMIT, n.index);
}

/* Adds the link from `from_ns` to where the walk is, unless it is empty. */
static void add(struct walk *w, uint64_t from_ns, enum critical_kind kind, uint32_t call,
		uint32_t work)
{
	from_ns = from_ns > w->begin_ns ? from_ns : w->begin_ns;
	if (from_ns >= w->now_ns)
		return;
	vec_push(&w->path->links,
		 (struct critical_link){ from_ns, w->now_ns, call, work, (uint8_t)kind });
	w->now_ns = from_ns;
}

static enum critical_kind kind_of(const struct timeline *t, const struct timeline_work *w)
{
	if (w->kind != WORK_KERNEL)
		return CRITICAL_COPY;
	return idle_work_is_collective(t, w) ? CRITICAL_COLLECTIVE : CRITICAL_KERNEL;
}

/* ---- Calls ---- */

/* Continues in the lane: the host's own work before the op, then the op before it. */
static void go_before(struct walk *w, uint32_t op, uint32_t before, enum critical_kind kind)
{
	uint32_t call = w->r->ops.at[op].call;
	uint32_t work = call == REPLAY_NONE ? w->r->works.at[w->r->ops.at[op].first_work].work
					    : REPLAY_NONE;
	if (before == REPLAY_NONE) {
		add(w, w->begin_ns, kind, call, work);
		go(w, AT_START, 0);
		return;
	}
	add(w, critical_call(w->r, before)->end_ns, kind, call, work);
	go(w, AT_RETURN, before);
}

static void leave_submit(struct walk *w)
{
	const struct replay_op *op = &w->r->ops.at[w->at];
	add(w, critical_call(w->r, w->at)->begin_ns, CRITICAL_CALL, op->call, REPLAY_NONE);
	go_before(w, w->at, op->anchor != REPLAY_NONE ? op->anchor : w->causes->ops[w->at].before,
		  CRITICAL_CPU);
}

/* Leaves the call through its return. If it waited, the path continues with what it waited for. */
static void leave_return(struct walk *w)
{
	const struct replay_op *op = &w->r->ops.at[w->at];
	const struct critical_op *causes = &w->causes->ops[w->at];
	const struct timeline_call *c = critical_call(w->r, w->at);
	struct critical_node awaited = causes->awaited;
	if (awaited.index != REPLAY_NONE && critical_node_ns(w->r, awaited) > c->begin_ns) {
		add(w, critical_node_ns(w->r, awaited), CRITICAL_WAIT, op->call, REPLAY_NONE);
		go_to(w, awaited);
		return;
	}
	if (causes->earlier_ns) {
		add(w, causes->earlier_ns, CRITICAL_WAIT, op->call, REPLAY_NONE);
		add(w, w->begin_ns, CRITICAL_EARLIER, REPLAY_NONE, REPLAY_NONE);
		go(w, AT_START, 0);
		return;
	}
	if (op->was_full)
		add(w, c->begin_ns + (uint64_t)op->cost_ns, CRITICAL_WAIT, op->call, REPLAY_NONE);
	else if (c->wait != WAIT_NONE && !op->n_work &&
		 c->end_ns - c->begin_ns > (uint64_t)REPLAY_DEP_LEAST_NS)
		add(w, c->begin_ns, CRITICAL_WAIT, op->call, REPLAY_NONE);
	go(w, AT_SUBMIT, w->at);
}

/* ---- GPU work ---- */

static void leave_work(struct walk *w)
{
	const struct timeline_work *work = critical_work(w->r, w->at);
	add(w, work->begin_ns, kind_of(w->r->timeline, work), REPLAY_NONE,
	    w->r->works.at[w->at].work);
	go(w, AT_BEGIN, w->at);
}

static void leave_begin(struct walk *w)
{
	const struct critical_work *causes = &w->causes->works[w->at];
	uint32_t work = w->r->works.at[w->at].work;
	switch ((enum critical_how)causes->how) {
	case HOW_AFTER:
		add(w, critical_node_ns(w->r, causes->cause),
		    causes->is_late ? CRITICAL_UNKNOWN : CRITICAL_DELAY, REPLAY_NONE, work);
		go_to(w, causes->cause);
		break;
	case HOW_WITH:
		add(w, critical_work(w->r, causes->cause.index)->begin_ns, CRITICAL_DELAY,
		    REPLAY_NONE, work);
		go(w, AT_BEGIN, causes->cause.index);
		break;
	case HOW_EARLIER:
		add(w, causes->earlier_ns, CRITICAL_DELAY, REPLAY_NONE, work);
		add(w, w->begin_ns, CRITICAL_EARLIER, REPLAY_NONE, REPLAY_NONE);
		go(w, AT_START, 0);
		break;
	case HOW_LAUNCHED:
		if (w->r->ops.at[causes->op].role == ROLE_ORPHAN) {
			go_before(w, causes->op, w->causes->ops[causes->op].before,
				  CRITICAL_UNKNOWN);
			break;
		}
		add(w, critical_issued_ns(w->r, causes->op),
		    causes->is_late ? CRITICAL_UNKNOWN : CRITICAL_LAUNCH, REPLAY_NONE, work);
		go(w, AT_SUBMIT, causes->op);
		break;
	}
}

/* ---- The whole path ---- */

static void begin_walk(struct walk *w, const struct replay_run *run)
{
	const struct critical_causes *c = w->causes;
	uint64_t gpu_ns = c->last_work == REPLAY_NONE ? 0
						      : critical_work(w->r, c->last_work)->end_ns;
	w->now_ns = gpu_ns > run->cpu_end_ns ? gpu_ns : run->cpu_end_ns;
	if (gpu_ns > run->cpu_end_ns) {
		go(w, AT_END, c->last_work);
	} else if (c->last_op != REPLAY_NONE) {
		add(w, critical_call(w->r, c->last_op)->end_ns, CRITICAL_CPU, REPLAY_NONE,
		    REPLAY_NONE);
		go(w, AT_RETURN, c->last_op);
	} else {
		add(w, w->begin_ns, CRITICAL_CPU, REPLAY_NONE, REPLAY_NONE);
		go(w, AT_START, 0);
	}
}

static void reverse(struct critical_path *p)
{
	for (size_t i = 0, k = p->links.n; i + 1 < k; i++) {
		struct critical_link link = p->links.at[i];
		p->links.at[i] = p->links.at[--k];
		p->links.at[k] = link;
	}
}

void critical_find(struct critical_path *p, const struct replay *r, size_t run,
		   const struct critical_before *before)
{
	struct critical_causes causes;
	critical_causes_find(&causes, r, run, before);
	struct walk w = { .path = p, .r = r, .causes = &causes };
	w.begin_ns = r->runs.at[run].begin_ns;
	p->links.n = 0;
	begin_walk(&w, &r->runs.at[run]);
	/* The walk ends: an op or work is only ever caused by one before it. */
	while (w.now_ns > w.begin_ns) {
		if (w.place == AT_RETURN)
			leave_return(&w);
		else if (w.place == AT_SUBMIT)
			leave_submit(&w);
		else if (w.place == AT_END)
			leave_work(&w);
		else if (w.place == AT_BEGIN)
			leave_begin(&w);
		else
			break;
	}
	reverse(p);
	critical_causes_free(&causes);
}

void critical_free(struct critical_path *p)
{
	vec_free(&p->links);
}
