/* What each device did: computation, communication, copies, and several of these at once. */
#include "core/analysis/summary.h"

#include "core/analysis/idle.h"

/* Bits of what runs. */
enum { COMPUTE = 1, COMMUNICATE = 2, COPY = 4, EARLIER = 8, KINDS = 4, COMBINATIONS = 16 };

struct edge {
	uint64_t ns;
	uint32_t device;
	uint8_t kind; /* index of its bit */
	bool is_end;
};

struct sweep {
	VEC(struct edge) edges;
	uint64_t ns[COMBINATIONS];
};

static int by_device(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (int)x->is_end - (int)y->is_end;
}

struct piece {
	uint64_t begin_ns, end_ns;
	uint32_t device;
	uint8_t kind;
	size_t first_step; /* it does not run before this step */
};

/* Adds the parts of a span that lie in recorded steps, which are sorted and do not overlap. */
static void add_span(struct sweep *s, const struct timeline *t, struct piece span)
{
	uint64_t begin_ns = span.begin_ns, end_ns = span.end_ns;
	for (size_t i = span.first_step; i < t->steps.n; i++) {
		const struct timeline_step *step = &t->steps.at[i];
		uint64_t from = begin_ns > step->begin_ns ? begin_ns : step->begin_ns,
			 to = end_ns < step->end_ns ? end_ns : step->end_ns;
		if (step->begin_ns >= end_ns)
			return;
		if (from >= to)
			continue;
		vec_push(&s->edges, (struct edge){ from, span.device, span.kind, false });
		vec_push(&s->edges, (struct edge){ to, span.device, span.kind, true });
	}
}

static uint8_t kind_of(const struct timeline *t, const struct timeline_work *w)
{
	if (w->kind == WORK_MEMCPY || w->kind == WORK_MEMSET)
		return 2;
	return idle_work_is_collective(t, w) ? 1 : 0;
}

static void collect(struct sweep *s, const struct timeline *t)
{
	for (size_t i = 0; i < t->works.n; i++) {
		const struct timeline_work *w = &t->works.at[i];
		if (w->kind != WORK_SYNC)
			add_span(s, t,
				 (struct piece){ w->begin_ns, w->end_ns, w->device, kind_of(t, w),
						 w->step });
	}
	for (size_t i = 0; i < t->earlier.n; i++) {
		const struct timeline_earlier *e = &t->earlier.at[i];
		add_span(s, t, (struct piece){ e->begin_ns, e->end_ns, e->device, 3, 0 });
	}
	if (s->edges.n)
		qsort(s->edges.at, s->edges.n, sizeof(*s->edges.at), by_device);
}

/* Sums the time of each combination on the device whose edges begin at `at`. Returns where those of
 * the next device begin. */
static size_t sum_up(struct sweep *s, size_t at)
{
	uint32_t device = s->edges.at[at].device, running[KINDS] = { 0 };
	memset(s->ns, 0, sizeof(s->ns));
	for (; at < s->edges.n && s->edges.at[at].device == device; at++) {
		const struct edge *e = &s->edges.at[at], *next = e + 1;
		unsigned bits = 0;
		running[e->kind] += e->is_end ? -1u : 1;
		for (unsigned k = 0; k < KINDS; k++)
			bits |= running[k] ? 1u << k : 0;
		/* the work of a recorded step is earlier work of the next one, too */
		bits &= bits == EARLIER ? EARLIER : ~(unsigned)EARLIER;
		if (at + 1 < s->edges.n && next->device == device)
			s->ns[bits] += next->ns - e->ns;
	}
	return at;
}

static int by_time(const void *a, const void *b)
{
	const struct finding_use *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->ms != y->ms)
		return x->ms > y->ms ? -1 : 1;
	return (x->bits > y->bits) - (x->bits < y->bits);
}

static struct finding_gpu *gpu_of(struct findings *f, uint32_t device)
{
	for (size_t i = 0; i < f->gpus.n; i++)
		if (f->gpus.at[i].device == device)
			return &f->gpus.at[i];
	return NULL;
}

/* Sets which share of the communication ran while the device computed. */
static void set_hidden(struct finding_gpu *g, const uint64_t *ns)
{
	uint64_t all = 0, hidden = 0;
	for (unsigned bits = 0; bits < COMBINATIONS; bits++) {
		all += bits & COMMUNICATE ? ns[bits] : 0;
		hidden += bits & COMMUNICATE && bits & COMPUTE ? ns[bits] : 0;
	}
	g->hidden_pct = all ? 100 * (double)hidden / (double)all : -1;
}

void summary_fill_use(struct findings *f)
{
	const struct timeline *t = f->timeline;
	double steps = findings_count_steps(t).with_gpu;
	struct sweep s = { 0 };
	for (size_t i = 0; i < f->gpus.n; i++)
		f->gpus.at[i].hidden_pct = -1;
	collect(&s, t);
	for (size_t at = 0; at < s.edges.n;) {
		uint32_t device = s.edges.at[at].device;
		struct finding_gpu *g = gpu_of(f, device);
		at = sum_up(&s, at);
		if (!g || !g->span_ns)
			continue;
		set_hidden(g, s.ns);
		for (unsigned bits = 1; bits < COMBINATIONS; bits++)
			if (s.ns[bits])
				vec_push(&f->use,
					 (struct finding_use){ device, (uint8_t)bits,
							       (double)s.ns[bits] / 1e6 / steps,
							       100 * (double)s.ns[bits] /
								       (double)g->span_ns });
	}
	if (f->use.n)
		qsort(f->use.at, f->use.n, sizeof(*f->use.at), by_time);
	vec_free(&s.edges);
}

const char *finding_use_name(char *to, size_t bytes, uint8_t bits)
{
	static const char *const names[KINDS] = { "computation", "communication", "copies",
						  "work launched before the recorded steps" };
	size_t n = 0;
	*to = 0;
	for (unsigned k = 0; k < KINDS && n < bytes; k++)
		if (bits & 1u << k)
			n += (size_t)snprintf(to + n, bytes - n, "%s%s", n ? " + " : "", names[k]);
	return to;
}
