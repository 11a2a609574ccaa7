/* Sums waits by source line. */
#include "core/analysis/syncs.h"

#include "core/analysis/inner_line.h"
#include "core/analysis/summary.h"
#include "core/symbols/stack_about.h"

/* ---- Per line ---- */

struct sum {
	struct finding_sync finding;
	uint64_t n, blocked_ns, idle_ns, longest_ns;
	uint64_t from_device_ns; /* the part of blocked_ns in copies from the device */
};

static uint64_t key_of(const struct timeline_call *c, const struct wait *w, uint32_t inner)
{
	return (uint64_t)c->site << 40 | (uint64_t)w->kind << 32 | (c->site ? inner : c->name);
}

static int by_blocked(const void *a, const void *b)
{
	const struct finding_sync *x = a, *y = b;
	return x->blocked_ms > y->blocked_ms ? -1 : x->blocked_ms < y->blocked_ms;
}

struct sums {
	/* Waits of this line are summed separately for each line of the library that it calls
	 * (inner_line.h); 0: there is no line like this. */
	uint32_t inner_site;
	VEC(const struct frame *) inner;
	struct map place;
	VEC(struct sum) at;
};

static struct sum *sum_of(struct sums *s, uint64_t key, const struct sum *fresh)
{
	bool is_new;
	uint64_t *at = map_at(&s->place, key, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, *fresh);
	}
	return &s->at.at[*at];
}

/* Returns the number of the library's line, from 1; 0: `inner` is NULL. A new line gets the next
 * number. */
static uint32_t number_of(struct sums *s, const struct frame *inner)
{
	if (!inner)
		return 0;
	for (uint32_t i = 0; i < s->inner.n; i++)
		if (inner_line_same(s->inner.at[i], inner))
			return i + 1;
	vec_push(&s->inner, inner);
	return (uint32_t)s->inner.n;
}

static void add_up(struct sums *sums, const struct timeline *t, const struct wait *wait,
		   const uint64_t *idle_ns)
{
	const struct timeline_call *c = wait_shown_call(t, wait);
	const struct frame *inner =
		c->site && c->site == sums->inner_site ? inner_line_of(t->frames, c->stack) : NULL;
	const struct sum fresh = { .finding = {
					   .site = c->site, .kind = wait->kind, .inner = inner } };
	struct sum *s = sum_of(sums, key_of(c, wait, number_of(sums, inner)), &fresh);
	uint64_t blocked_ns = wait_blocked_ns(t, wait);
	s->n++;
	s->blocked_ns += blocked_ns;
	s->from_device_ns += t->calls.at[wait->first].copy == COPY_D2H ? blocked_ns : 0;
	s->idle_ns += idle_ns[wait->last];
	s->idle_ns += wait->first != wait->last ? idle_ns[wait->first] : 0;
	if (s->finding.api && blocked_ns <= s->longest_ns)
		return;
	s->longest_ns = blocked_ns;
	s->finding.stack = c->stack;
	s->finding.api = strtab_text(&t->tables->names, c->name);
	bool is_operator_wait = wait->kind == SYNC_LIBRARY && c->op && !(c->about & ABOUT_LIBRARY);
	s->finding.op = is_operator_wait ? strtab_text(&t->texts, c->op) : NULL;
}

void syncs_fill(struct findings *f, const uint64_t *idle_ns)
{
	const struct waits *w = &f->timeline->waits;
	struct sums sums = { .inner_site = inner_line_site(f->timeline) };
	double steps = findings_count_steps(f->timeline).all;
	for (size_t i = 0; i < w->at.n; i++)
		add_up(&sums, f->timeline, &w->at.at[i], idle_ns);
	for (size_t i = 0; i < sums.at.n; i++) {
		const struct sum *sum = &sums.at.at[i];
		struct finding_sync s = sum->finding;
		s.is_from_device = sum->from_device_ns * 2 > sum->blocked_ns;
		s.per_step = (double)sum->n / steps;
		s.blocked_ms = (double)sum->blocked_ns / 1e6 / steps;
		s.gpu_idle_ms = (double)sum->idle_ns / 1e6 / steps;
		vec_push(&f->syncs, s);
	}
	if (f->syncs.n)
		qsort(f->syncs.at, f->syncs.n, sizeof(*f->syncs.at), by_blocked);
	vec_free(&sums.inner);
	vec_free(&sums.at);
	map_free(&sums.place);
}
