/*
 * See report_meetings.h. A collective's kernel runs on a rank from the rank's arrival until all
 * ranks have arrived and the data is there. So a rank waits from the beginning of its own kernel
 * until the beginning of the last rank's kernel. All ranks of a communicator number its collectives
 * in the same way, so equal numbers mean the same collective. Times are compared directly. This
 * works for ranks of one machine, because they share a clock. A trace of torch.profiler has a clock
 * of its own. But a collective ends on all ranks at nearly the same time, so times before its end
 * can be compared.
 */
#include "export/report_meetings.h"

#include "core/util/map.h"

#include <math.h>
#include <string.h>

/* ---- Which rank arrived last ---- */

/* One collective of several ranks. */
struct meeting {
	uint64_t last_ns; /* when the last rank arrived */
	size_t last;	  /* the process that arrived last: index in report->processes */
	uint32_t n;	  /* number of ranks that arrived */
	double waited_ns; /* sum of the ranks' waits */
};

/* The collectives of one process with others. */
struct process_waits {
	double wait_ns, late_ns;
	uint64_t n, n_last;
};

struct meetings {
	const struct report *report;
	struct process_waits *of; /* index: the process */
	struct map place;	  /* communicator and number of a collective -> index in `at` */
	VEC(struct meeting) at;
};

/* The time at which collectives end for processes with clocks of their own. It is later than any
 * collective is long. */
#define COMMON_END_NS ((uint64_t)1 << 62)

struct span {
	uint64_t begin_ns, end_ns;
};

/* Returns when the collective ran, on the clock by which the processes are compared. */
static struct span span_of(const struct report_process *p, const struct report_arrival *a)
{
	bool has_own_clock = p->facts.clock && !strcmp(p->facts.clock, "trace");
	uint64_t ns = a->end_ns - a->begin_ns;
	if (has_own_clock && ns < COMMON_END_NS)
		return (struct span){ COMMON_END_NS - ns, COMMON_END_NS };
	return (struct span){ a->begin_ns, a->end_ns };
}

static struct meeting *meeting_of(struct meetings *m, const struct report_arrival *a)
{
	bool is_new;
	uint64_t key = (a->comm ^ a->sequence) * 0x9e3779b97f4a7c15ull ^ a->sequence;
	uint64_t *at = map_at(&m->place, key, &is_new);
	if (is_new) {
		*at = m->at.n;
		vec_push(&m->at, (struct meeting){ 0 });
	}
	return &m->at.at[*at];
}

static void gather(struct meetings *m, size_t process)
{
	const struct report_process *p = m->report->processes.at[process];
	for (size_t i = 0; i < p->arrivals.n; i++) {
		const struct report_arrival *a = &p->arrivals.at[i];
		struct meeting *meeting = meeting_of(m, a);
		uint64_t begin_ns = span_of(p, a).begin_ns;
		meeting->n++;
		if (begin_ns < meeting->last_ns)
			continue;
		meeting->last_ns = begin_ns;
		meeting->last = process;
	}
}

/* ---- Which ranks waited ---- */

/* How long one process waited in the collectives of one row, by the process that arrived last. */
struct row_waits {
	uint64_t *for_ns; /* index: the process that arrived last */
	uint64_t all_ns;
	bool is_known; /* the arrival of another rank is known */
};

/* Returns a collective's share of a wait. The collectives of a group run as one kernel and wait
 * together, so each gets a part of the wait in proportion to its part of the GPU time. */
static uint64_t share_of(const struct report_arrival *a, uint64_t wait_ns)
{
	uint64_t all_ns = a->end_ns - a->begin_ns;
	return a->gpu_ns < all_ns ? (uint64_t)((double)wait_ns * (double)a->gpu_ns / (double)all_ns)
				  : wait_ns;
}

static void add_wait(struct row_waits *w, struct meeting *m, const struct report_process *p,
		     const struct report_arrival *a, struct process_waits *of)
{
	struct span s = span_of(p, a);
	uint64_t until_ns = m->last_ns < s.end_ns ? m->last_ns : s.end_ns;
	uint64_t ns = until_ns > s.begin_ns ? until_ns - s.begin_ns : 0;
	if (m->n < 2)
		return;
	ns = share_of(a, ns);
	m->waited_ns += (double)ns;
	of->wait_ns += (double)ns;
	of->n++;
	w->is_known = true;
	w->all_ns += ns;
	w->for_ns[m->last] += ns;
}

static void set_last(const struct report *r, struct report_collective *row,
		     const struct row_waits *w)
{
	size_t last = 0;
	for (size_t i = 1; i < r->processes.n; i++)
		if (w->for_ns[i] > w->for_ns[last])
			last = i;
	if (w->for_ns[last])
		row->last_rank = r->processes.at[last]->rank;
}

static void set_wait(struct report_collective *row, const struct row_waits *w, double steps)
{
	double gpu_ms = isfinite(row->gpu_ms) ? row->gpu_ms : 0;
	row->wait_ms = (double)w->all_ns / 1e6 / steps;
	if (gpu_ms - row->wait_ms > gpu_ms / 1e4)
		row->bus_gb_per_s_moving = row->bus_gb_per_s * gpu_ms / (gpu_ms - row->wait_ms);
}

/* Clears the waits that an earlier call filled in. A process that was read from report.json has no
 * arrivals and keeps its waits. */
static void forget_waits(struct report_process *p)
{
	if (p->arrivals.n)
		p->waits = (struct report_waits){ NAN, NAN, NAN };
	for (size_t i = 0; p->arrivals.n && i < p->collectives.n; i++) {
		p->collectives.at[i].bus_gb_per_s_moving = NAN;
		p->collectives.at[i].wait_ms = NAN;
		p->collectives.at[i].last_rank = -1;
	}
}

static void fill_waits(struct meetings *m, size_t process)
{
	struct report_process *p = m->report->processes.at[process];
	size_t n = p->collectives.n, n_processes = m->report->processes.n;
	double steps = p->n_gpu_steps > 0 ? p->n_gpu_steps : 1;
	forget_waits(p);
	struct row_waits *waits = mem_zero(n * sizeof(*waits));
	uint64_t *for_ns = mem_zero(n * n_processes * sizeof(*for_ns));
	for (size_t i = 0; i < n; i++)
		waits[i].for_ns = &for_ns[i * n_processes];
	for (size_t i = 0; i < p->arrivals.n; i++) {
		const struct report_arrival *a = &p->arrivals.at[i];
		if (a->row < n)
			add_wait(&waits[a->row], meeting_of(m, a), p, a, &m->of[process]);
	}
	for (size_t i = 0; i < n; i++) {
		if (!waits[i].is_known)
			continue;
		set_wait(&p->collectives.at[i], &waits[i], steps);
		set_last(m->report, &p->collectives.at[i], &waits[i]);
	}
	free(for_ns);
	free(waits);
}

/* Fills how each process waits, and how long the others wait for it: the mean of the others, as
 * `merge` does. */
static void fill_processes(struct meetings *m)
{
	for (size_t i = 0; i < m->at.n; i++) {
		const struct meeting *x = &m->at.at[i];
		if (x->n < 2)
			continue;
		m->of[x->last].late_ns += x->waited_ns / (x->n - 1);
		m->of[x->last].n_last += x->waited_ns > 0;
	}
	for (size_t i = 0; i < m->report->processes.n; i++) {
		struct report_process *p = m->report->processes.at[i];
		const struct process_waits *w = &m->of[i];
		double steps = p->n_gpu_steps > 0 ? p->n_gpu_steps : 1;
		if (w->n)
			p->waits = (struct report_waits){ w->wait_ns / 1e6 / steps,
							  w->late_ns / 1e6 / steps,
							  100 * (double)w->n_last / (double)w->n };
	}
}

void report_meetings_join(struct report *r)
{
	struct meetings m = { .report = r };
	m.of = mem_zero(r->processes.n * sizeof(*m.of));
	for (size_t i = 0; i < r->processes.n; i++)
		gather(&m, i);
	for (size_t i = 0; i < r->processes.n; i++)
		fill_waits(&m, i);
	fill_processes(&m);
	free(m.of);
	vec_free(&m.at);
	map_free(&m.place);
}
