/* What was asked of the devices, by line and by operator, and what asking took on the host. */
#include "core/ledger.h"

static uint64_t work_ns(const struct timeline *t, const struct timeline_call *c)
{
	uint64_t ns = 0;
	for (uint32_t i = 0; i < c->n_work; i++) {
		const struct timeline_work *w = &t->works.at[t->work_of_call.at[c->first_work + i]];
		ns += w->end_ns - w->begin_ns;
	}
	return ns;
}

enum {
	BEHIND_NS =
		1000000,  /* what was launched lay in the queue for so long: the device is behind */
	ISSUE_NS = 10000, /* a launch into a queue with room takes no longer */
};

/* What the call took on the host without waiting for room in a full queue: that is the time of whatever the device works on. */
static uint64_t own_ns(const struct timeline *t, const struct timeline_call *c)
{
	uint64_t ns = c->end_ns - c->begin_ns;
	if (!c->n_work || c->wait != WAIT_NONE || ns <= ISSUE_NS)
		return ns;
	const struct timeline_work *w = &t->works.at[t->work_of_call.at[c->first_work]];
	return w->begin_ns < c->end_ns + BEHIND_NS ? ns : ISSUE_NS;
}

struct sum {
	uint32_t key; /* site, or operator */
	uint64_t n, gpu_ns, host_ns;
};

struct sums {
	struct map place;
	VEC(struct sum) at;
};

static struct sum *sum_of(struct sums *s, uint32_t key)
{
	bool is_new;
	uint64_t *at = map_at(&s->place, key, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, (struct sum){ .key = key });
	}
	return &s->at.at[*at];
}

static void sums_free(struct sums *s)
{
	vec_free(&s->at);
	map_free(&s->place);
}

/* ---- Lines ---- */

static int by_line_time(const void *a, const void *b)
{
	const struct finding_line *x = a, *y = b;
	double of_x = x->gpu_ms + x->host_ms, of_y = y->gpu_ms + y->host_ms;
	return of_x > of_y ? -1 : of_x < of_y;
}

void ledger_fill_lines(struct findings *f)
{
	const struct timeline *t = f->timeline;
	struct ledger_steps steps = ledger_count_steps(t);
	struct sums sums = { 0 };
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		struct sum *s = sum_of(&sums, c->site);
		s->n += category_has_work(c->category) && !c->is_captured;
		s->gpu_ns += work_ns(t, c);
		s->host_ns += own_ns(t, c);
	}
	for (size_t i = 0; i < sums.at.n; i++) {
		const struct sum *s = &sums.at.at[i];
		if (!s->key)
			continue;
		vec_push(&f->lines, (struct finding_line){
					    .site = s->key,
					    .gpu_ms = (double)s->gpu_ns / 1e6 / steps.with_gpu,
					    .host_ms = (double)s->host_ns / 1e6 / steps.all,
					    .launches = (double)s->n / steps.all,
				    });
	}
	if (f->lines.n)
		qsort(f->lines.at, f->lines.n, sizeof(*f->lines.at), by_line_time);
	sums_free(&sums);
}

/* ---- Operators ---- */

/* Calls of one thread in a row that one run of an operator made: until another operator's, or until the first one's place comes
 * again. */
struct run {
	uint32_t op, stack, step;
	uint64_t begin_ns, end_ns;
};

static void end_run(struct sums *sums, struct run *r)
{
	if (r->op) {
		struct sum *s = sum_of(sums, r->op);
		s->n++;
		s->host_ns += r->end_ns - r->begin_ns;
	}
	*r = (struct run){ 0 };
}

static void add_call(struct sums *sums, struct run *r, const struct timeline *t,
		     const struct timeline_call *c)
{
	if (r->op != c->op || r->stack == c->stack || r->step != c->step)
		end_run(sums, r);
	if (!c->op)
		return;
	sum_of(sums, c->op)->gpu_ns += work_ns(t, c);
	if (!r->op)
		*r = (struct run){ c->op, c->stack, c->step, c->begin_ns, c->end_ns };
	else if (c->end_ns > r->end_ns)
		r->end_ns = c->end_ns;
}

static int by_operator_time(const void *a, const void *b)
{
	const struct finding_operator *x = a, *y = b;
	double of_x = x->gpu_ms + x->host_ms, of_y = y->gpu_ms + y->host_ms;
	return of_x > of_y ? -1 : of_x < of_y;
}

void ledger_fill_operators(struct findings *f)
{
	const struct timeline *t = f->timeline;
	struct ledger_steps steps = ledger_count_steps(t);
	struct run *runs = mem_zero(t->threads.n * sizeof(*runs));
	struct sums sums = { 0 };
	for (size_t i = 0; i < t->calls.n; i++)
		add_call(&sums, &runs[t->calls.at[i].thread], t, &t->calls.at[i]);
	for (size_t i = 0; i < t->threads.n; i++)
		end_run(&sums, &runs[i]);
	for (size_t i = 0; i < sums.at.n; i++) {
		const struct sum *s = &sums.at.at[i];
		vec_push(&f->operators, (struct finding_operator){
						.name = strtab_text(&t->texts, s->key),
						.per_step = (double)s->n / steps.all,
						.gpu_ms = (double)s->gpu_ns / 1e6 / steps.with_gpu,
						.host_ms = (double)s->host_ns / 1e6 / steps.all,
					});
	}
	if (f->operators.n)
		qsort(f->operators.at, f->operators.n, sizeof(*f->operators.at), by_operator_time);
	free(runs);
	sums_free(&sums);
}
