/* See operator_runs.h. */
#include "core/analysis/operator_runs.h"

enum { NO_RUN = UINT32_MAX };

void operator_runs_free(struct operator_runs *r)
{
	vec_free(&r->delays);
	vec_free(&r->sequences);
	vec_free(&r->names);
	vec_free(&r->open);
	vec_free(&r->run_of_call);
	vec_free(&r->works);
	vec_free(&r->n_before);
	vec_free(&r->is_outer);
	map_free(&r->delay_of);
	map_free(&r->sequence_of);
}

/* Returns the i-th work of the call, or NULL if it does not count for the code that launched it. */
static const struct model_work *work_at(const struct model_step *m, const struct model_call *c,
					uint32_t i)
{
	const struct model_work *w = &m->works.at[m->links.at[c->first_link + i]];
	return w->kind == WORK_SYNC || model_work_origin(m, w) != MODEL_NO_CALL ? NULL : w;
}

/* ---- Until the first work ---- */

static struct operator_delay *delay_of(struct operator_runs *r, uint32_t name)
{
	bool is_new;
	uint64_t *at = map_at(&r->delay_of, name, &is_new);
	if (is_new) {
		*at = r->delays.n;
		vec_push(&r->delays, (struct operator_delay){ .name = name });
	}
	return &r->delays.at[*at];
}

static const struct model_work *first_work(const struct model_step *m, const struct model_call *c)
{
	const struct model_work *first = NULL;
	for (uint32_t i = 0; i < c->n_work; i++) {
		const struct model_work *w = work_at(m, c, i);
		if (w && (!first || w->begin_ns < first->begin_ns))
			first = w;
	}
	return first;
}

static uint64_t ns_between(uint64_t begin_ns, uint64_t end_ns)
{
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* Sets which run each call of the thread is in, the innermost one: inner spans come later. */
static void find_runs(struct operator_runs *r, const struct model_thread *t,
		      const struct span_list *spans)
{
	r->run_of_call.n = 0;
	for (size_t i = 0; i < t->n; i++)
		vec_push(&r->run_of_call, NO_RUN);
	for (size_t i = 0; i < spans->at.n; i++) {
		const struct span *span = &spans->at.at[i];
		if (span->kind != SPAN_OPERATOR)
			continue;
		for (uint32_t k = 0; k < span->n_calls; k++)
			r->run_of_call.at[span->first_call - t->first + k] = (uint32_t)i;
	}
}

/* Adds the first launch of each run whose GPU work is known. */
static void add_delays(struct operator_runs *r, const struct model_step *m,
		       const struct model_thread *t, const struct span_list *spans,
		       struct strtab *texts)
{
	bool *has_launched = mem_zero(spans->at.n * sizeof(*has_launched));
	find_runs(r, t, spans);
	for (size_t i = 0; i < t->n; i++) {
		const struct model_call *c = &m->calls.at[t->first + i];
		uint32_t run = r->run_of_call.at[i];
		const struct model_work *w = run == NO_RUN || has_launched[run] ? NULL
										: first_work(m, c);
		if (!w)
			continue;
		const struct span *span = &spans->at.at[run];
		struct operator_delay *to = delay_of(r, strtab_intern(texts, span->operator));
		has_launched[run] = true;
		to->n_runs++;
		to->launch_to_work_ns += ns_between(c->begin_ns, w->begin_ns);
		if (m->operators.n) {
			to->n_begun++;
			to->to_launch_ns += ns_between(span->begin_ns, c->begin_ns);
		}
	}
	free(has_launched);
}

/* ---- Sequences ---- */

/* Notes for each operator with work whether one within it launches the same work. */
static void find_outer(struct operator_runs *r, const struct model_step *m,
		       const struct model_thread *t, const struct span_list *spans)
{
	r->n_before.n = r->is_outer.n = r->open.n = 0;
	vec_push(&r->n_before, 0);
	for (size_t i = 0; i < t->n; i++) {
		const struct model_call *c = &m->calls.at[t->first + i];
		uint64_t n = r->n_before.at[i];
		for (uint32_t k = 0; k < c->n_work; k++)
			n += work_at(m, c, k) != NULL;
		vec_push(&r->n_before, n);
	}
	for (size_t i = 0; i < spans->at.n; i++) {
		const struct span *span = &spans->at.at[i];
		const uint64_t *n = r->n_before.at;
		vec_push(&r->is_outer, false);
		if (span->kind != SPAN_OPERATOR || !span->n_calls)
			continue;
		size_t first = span->first_call - t->first;
		while (r->open.n &&
		       !spans_is_within(span, &spans->at.at[r->open.at[r->open.n - 1]]))
			r->open.n--;
		for (size_t k = 0; k < r->open.n; k++) {
			const struct span *outer = &spans->at.at[r->open.at[k]];
			size_t from = outer->first_call - t->first;
			if (n[first + span->n_calls] - n[first] ==
			    n[from + outer->n_calls] - n[from])
				r->is_outer.at[r->open.at[k]] = true;
		}
		vec_push(&r->open, (uint32_t)i);
	}
}

static int by_begin(const void *a, const void *b, void *step)
{
	const struct model_step *m = step;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	if (m->works.at[i].begin_ns != m->works.at[k].begin_ns)
		return m->works.at[i].begin_ns < m->works.at[k].begin_ns ? -1 : 1;
	return (i > k) - (i < k);
}

/* Fills r->works with the run's work, in the order in which it began. Returns its time. */
static uint64_t collect(struct operator_runs *r, const struct model_step *m,
			const struct span *span)
{
	uint64_t ns = 0;
	r->works.n = 0;
	for (uint32_t i = 0; i < span->n_calls; i++) {
		const struct model_call *c = &m->calls.at[span->first_call + i];
		for (uint32_t k = 0; k < c->n_work; k++) {
			const struct model_work *w = work_at(m, c, k);
			if (!w)
				continue;
			ns += w->end_ns - w->begin_ns;
			vec_push(&r->works, m->links.at[c->first_link + k]);
		}
	}
	if (r->works.n)
		qsort_r(r->works.at, r->works.n, sizeof(*r->works.at), by_begin, (void *)m);
	for (size_t i = 0; i < r->works.n; i++)
		r->works.at[i] = m->works.at[r->works.at[i]].name;
	return ns;
}

static uint64_t hash_of(const struct operator_runs *r, uint32_t name)
{
	uint64_t hash = name;
	for (size_t i = 0; i < r->works.n; i++) {
		hash = (hash ^ r->works.at[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Returns the sequence of r->works, or NULL if there is no room for a new one. */
static struct operator_sequence *sequence_of(struct operator_runs *r, uint32_t name)
{
	uint64_t *last = map_at(&r->sequence_of, hash_of(r, name), NULL);
	struct operator_sequence *s;
	for (uint64_t at = *last; at; at = s->next) {
		s = &r->sequences.at[at - 1];
		if (s->name == name && s->n == r->works.n &&
		    !memcmp(&r->names.at[s->first_work], r->works.at, s->n * sizeof(*r->works.at)))
			return s;
	}
	if (r->works.n > OPERATOR_SEQUENCE_NAMES - r->names.n)
		return NULL;
	vec_push(&r->sequences, (struct operator_sequence){ .name = name,
							    .first_work = (uint32_t)r->names.n,
							    .n = (uint32_t)r->works.n,
							    .next = (uint32_t)*last });
	for (size_t i = 0; i < r->works.n; i++)
		vec_push(&r->names, r->works.at[i]);
	*last = r->sequences.n;
	return &r->sequences.at[r->sequences.n - 1];
}

static void add_sequences(struct operator_runs *r, const struct model_step *m,
			  const struct model_thread *t, const struct span_list *spans,
			  struct strtab *texts)
{
	find_outer(r, m, t, spans);
	for (size_t i = 0; i < spans->at.n; i++) {
		const struct span *span = &spans->at.at[i];
		if (span->kind != SPAN_OPERATOR || r->is_outer.at[i])
			continue;
		uint64_t ns = collect(r, m, span);
		if (r->works.n < OPERATOR_SEQUENCE_LEAST)
			continue;
		struct operator_sequence *s = sequence_of(r, strtab_intern(texts, span->operator));
		if (!s) {
			r->n_left_out++;
			continue;
		}
		s->n_runs++;
		s->gpu_ns += ns;
		s->host_ns += span->end_ns - span->begin_ns;
	}
}

void operator_runs_add(struct operator_runs *r, const struct model_step *m, size_t thread,
		       const struct span_list *spans, struct strtab *texts)
{
	const struct model_thread *t = &m->threads.at[thread];
	add_delays(r, m, t, spans, texts);
	add_sequences(r, m, t, spans, texts);
}
