/* See host_pace.h. */
#include "preload/host_pace.h"

enum {
	/* Samples take at most 1 / COST_PART of a core. */
	COST_PART = 40,
	/*
	 * CPU time beyond that, so that a program's first steps are sampled as often as later ones:
	 * each function is new there. The first 120 samples of a Lightning program took 13 ms,
	 * later ones 0.025 ms each. Time that is not used is kept up to this limit.
	 */
	CREDIT_NS = 20000000,
};

void host_pace_begin(struct host_pace *p, uint64_t wall_ns, uint64_t cpu_ns)
{
	*p = (struct host_pace){
		.wall_ns = wall_ns,
		.cpu_ns = cpu_ns,
		.credit_ns = CREDIT_NS,
	};
}

void host_pace_count(struct host_pace *p, uint64_t wall_ns, uint64_t cpu_ns, unsigned n)
{
	uint64_t used_ns = cpu_ns - p->cpu_ns;
	p->credit_ns += (int64_t)((wall_ns - p->wall_ns) / COST_PART) - (int64_t)used_ns;
	if (p->credit_ns > CREDIT_NS)
		p->credit_ns = CREDIT_NS;
	p->cost_ns = used_ns / n;
	p->wall_ns = wall_ns;
	p->cpu_ns = cpu_ns;
}

uint64_t host_pace_period_ns(const struct host_pace *p, uint64_t period_ns)
{
	uint64_t affordable_ns = p->cost_ns * COST_PART;
	return p->credit_ns > 0 || affordable_ns < period_ns ? period_ns : affordable_ns;
}
