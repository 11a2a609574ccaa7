/*
 * Explains gaps inside a graph: the device is idle between two nodes of one launch of the graph. No
 * CPU thread is the cause, because the whole graph was launched before. There are three causes:
 *
 * - The program captured a host function between the two nodes. The device waits for the CPU to run
 *   it.
 * - The node after the gap waited for a node of another branch: the two nodes run on different
 *   streams. A gap of more than IDLE_LATENCY_NS is also a dependency, because the device needs no
 *   such time between two nodes.
 * - Otherwise the gap is the time that the device needs between two kernels. It is only long in
 *   comparison with small kernels.
 */
#include "core/analysis/idle.h"
#include "core/util/bisect.h"

/* The graph's calls were captured in the order of their start. */
uint32_t idle_graph_host_site(const struct timeline *t, const struct timeline_work *from,
			      const struct timeline_work *to)
{
	size_t n = t->captured.n;
	if (from->origin == MODEL_NO_CALL || to->origin == MODEL_NO_CALL)
		return 0;
	const struct timeline_call *a = timeline_code(t, from), *b = timeline_code(t, to);
	for (size_t i = bisect(n, k, t->captured.at[k].step < b->step);
	     i < n && t->captured.at[i].step == b->step; i++) {
		const struct timeline_call *c = &t->captured.at[i];
		if (c->category == CAT_HOSTFUNC && c->begin_ns > a->begin_ns &&
		    c->begin_ns < b->begin_ns)
			return c->site;
	}
	return 0;
}

bool idle_graph_explain(const struct timeline *t, const struct idle_gap *gap,
			struct idle_reason *reason)
{
	if (!gap->before || !gap->after || gap->before->work == IDLE_NO_WORK ||
	    gap->after->work == IDLE_NO_WORK)
		return false;
	const struct timeline_work *from = &t->works.at[gap->before->work],
				   *to = &t->works.at[gap->after->work];
	bool is_known = from->origin != MODEL_NO_CALL && to->origin != MODEL_NO_CALL;
	if (!to->graph || from->graph != to->graph || from->call != to->call ||
	    to->call == MODEL_NO_CALL)
		return false;
	uint32_t host = idle_graph_host_site(t, from, to);
	bool is_dependency = from->stream != to->stream ||
			     gap->end_ns - gap->begin_ns > IDLE_LATENCY_NS;
	*reason = (struct idle_reason){
		.cause = host		 ? IDLE_GRAPH_HOST
			 : is_dependency ? IDLE_GRAPH_DEPENDENCY
					 : IDLE_GRAPH_KERNELS,
		.site = host ? host : timeline_line(t, to),
		.before_site = is_known ? timeline_line(t, from) : 0,
	};
	return true;
}
