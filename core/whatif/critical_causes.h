/* What each call and each piece of GPU work of a run waited for, at the recorded times: the pass
 * forwards through the replay's model on which the critical path is based. */
#ifndef CORE_CRITICAL_CAUSES_H
#define CORE_CRITICAL_CAUSES_H

#include "core/whatif/critical.h"

/* An op or a piece of work of the model. */
struct critical_node {
	uint32_t index; /* in r->ops or r->works; REPLAY_NONE: there is none */
	bool is_work;
};

/* How a piece of work follows its cause. */
enum critical_how {
	HOW_LAUNCHED, /* it was delayed by its launch */
	HOW_AFTER,    /* it began after the end of its cause */
	HOW_WITH,     /* piece of a graph: it began after the begin of its cause */
	HOW_EARLIER,  /* it waited for work of earlier steps, which ended at `earlier_ns` */
};

struct critical_work {
	struct critical_node cause;
	uint64_t earlier_ns;
	uint32_t op;  /* the op that submitted it */
	uint8_t how;  /* enum critical_how */
	bool is_late; /* it began so late that it waited for something else, too */
};

struct critical_op {
	struct critical_node awaited; /* what a waiting call waited for */
	uint64_t earlier_ns;	      /* or the end of the awaited work of earlier steps; 0: none */
	uint32_t before;	      /* the op before it in its lane, or REPLAY_NONE */
};

struct critical_causes {
	const struct replay *r;
	struct critical_op *ops;     /* by op of the model */
	struct critical_work *works; /* by piece of work of the model */
	/* The run's end: the last op of the main lane, and the work that ended last. */
	uint32_t last_op, last_work;
};

static inline const struct timeline_call *critical_call(const struct replay *r, uint32_t op)
{
	uint32_t call = r->ops.at[op].call;
	return call == REPLAY_NONE ? NULL : &r->timeline->calls.at[call];
}

static inline const struct timeline_work *critical_work(const struct replay *r, uint32_t work)
{
	return &r->timeline->works.at[r->works.at[work].work];
}

/* Returns when the call had submitted its work. */
static inline uint64_t critical_issued_ns(const struct replay *r, uint32_t op)
{
	const struct timeline_call *c = critical_call(r, op);
	uint64_t issued_ns = r->ops.at[op].role == ROLE_WAIT_WORK
				     ? c->begin_ns + (uint64_t)r->ops.at[op].cost_ns
				     : c->end_ns;
	return issued_ns < c->end_ns ? issued_ns : c->end_ns;
}

/* Returns when a cause lets go on what waits for it. */
static inline uint64_t critical_node_ns(const struct replay *r, struct critical_node n)
{
	return n.is_work ? critical_work(r, n.index)->end_ns : critical_call(r, n.index)->begin_ns;
}

/* Fills `c` for one run; free it with critical_causes_free(). `before` may be NULL. */
void critical_causes_find(struct critical_causes *c, const struct replay *r, size_t run,
			  const struct critical_before *before);
void critical_causes_free(struct critical_causes *c);

#endif
