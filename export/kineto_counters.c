/*
 * Counters of a Kineto trace, as HTA adds them to traces: the launches that wait in each stream,
 * and the bandwidth of each kind of copy. Work may run after the step that launched it, so changes
 * that lie after the step's begin are kept until the next step.
 */
#include "export/kineto_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 32 };

/* More is of a damaged record. */
#define BYTES_PER_S_MOST 1e15

static int by_counter(const void *a, const void *b)
{
	const struct kineto_change *x = a, *y = b;
	if (x->counter != y->counter)
		return x->counter < y->counter ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* Writes the changes before `until_ns`, and keeps the others. Changes at the same time are one
 * point. */
static void flush(struct kineto_file *k, uint64_t until_ns)
{
	size_t n_kept = 0;
	if (k->changes.n)
		qsort(k->changes.at, k->changes.n, sizeof(*k->changes.at), by_counter);
	for (size_t i = 0; i < k->changes.n; i++) {
		struct kineto_change c = k->changes.at[i];
		struct kineto_counter *counter = &k->counters.at[c.counter];
		if (c.ns >= until_ns) {
			k->changes.at[n_kept++] = c;
			continue;
		}
		counter->value += c.change;
		const struct kineto_change *next = &k->changes.at[i + 1];
		if (i + 1 == k->changes.n || next->counter != c.counter || next->ns != c.ns)
			kineto_count(k, counter, c.ns);
	}
	k->changes.n = n_kept;
}

/* Returns the index of the counter in k->counters. `id`: the stream, for a queue. */
static uint32_t counter_of(struct kineto_file *k, const char *name, uint32_t device, uint32_t id,
			   bool is_queue)
{
	bool is_new;
	uint64_t key = (uint64_t)strtab_intern(&k->counter_names, name) << 40 |
		       (uint64_t)device << 32 | id;
	uint64_t *at = map_at(&k->counter_of, key, &is_new);
	if (is_new) {
		*at = k->counters.n;
		vec_push(&k->counters,
			 (struct kineto_counter){ .name = strtab_intern(&k->counter_names, name),
						  .device = device,
						  .id = id,
						  .is_queue = is_queue });
	}
	return (uint32_t)*at;
}

static void change(struct kineto_file *k, uint32_t counter, uint64_t ns, int64_t by)
{
	vec_push(&k->changes, (struct kineto_change){ ns + k->shift_ns, by, counter });
}

/* Lists the call's first work in each stream: the others of a graph wait for it. A call has works
 * in few streams. */
static void find_first_works(struct kineto_file *k, const struct model_call *c)
{
	const struct model_step *m = k->m;
	k->first_works.n = 0;
	for (uint32_t i = 0; i < c->n_work; i++) {
		uint32_t work = m->links.at[c->first_link + i];
		const struct model_work *w = &m->works.at[work];
		size_t at = 0;
		if (w->kind == WORK_SYNC)
			continue;
		for (; at < k->first_works.n; at++) {
			const struct model_work *o = &m->works.at[k->first_works.at[at]];
			if (o->device == w->device && o->stream == w->stream)
				break;
		}
		if (at == k->first_works.n)
			vec_push(&k->first_works, work);
		else if (w->begin_ns < m->works.at[k->first_works.at[at]].begin_ns)
			k->first_works.at[at] = work;
	}
}

/* Until its first work begins, a launch waits in the queue of the stream. */
static void add_queues(struct kineto_file *k, const struct model_call *c)
{
	find_first_works(k, c);
	for (size_t i = 0; i < k->first_works.n; i++) {
		const struct model_work *w = &k->m->works.at[k->first_works.at[i]];
		if (w->begin_ns <= c->begin_ns)
			continue;
		uint32_t queue = counter_of(k, "Queue Length", w->device, w->stream, true);
		change(k, queue, c->begin_ns, 1);
		change(k, queue, w->begin_ns, -1);
	}
}

/* Adds the bandwidth of a copy or memset while it runs, in bytes per second. */
static void add_bandwidth(struct kineto_file *k, const struct model_work *w)
{
	char name[NAME_BYTES];
	uint64_t ns = w->end_ns - w->begin_ns;
	if (w->kind == WORK_KERNEL || w->kind == WORK_SYNC || !ns || !w->bytes)
		return;
	/* "Memcpy HtoD (Pinned -> Device)" */
	snprintf(name, sizeof(name), "%s", strtab_text(&k->m->tables->names, w->name));
	name[strcspn(name, "(")] = 0;
	for (size_t n = strlen(name); n && name[n - 1] == ' '; n--)
		name[n - 1] = 0;
	int64_t bytes_per_s = (int64_t)fmin((double)w->bytes * 1e9 / (double)ns, BYTES_PER_S_MOST);
	uint32_t counter = counter_of(k, name, w->device, 0, false);
	change(k, counter, w->begin_ns, bytes_per_s);
	change(k, counter, w->end_ns, -bytes_per_s);
}

void kineto_write_counters(struct kineto_file *k)
{
	flush(k, k->m->begin_ns + k->shift_ns);
	for (size_t i = 0; i < k->m->calls.n; i++)
		add_queues(k, &k->m->calls.at[i]);
	for (size_t i = 0; i < k->m->works.n; i++)
		add_bandwidth(k, &k->m->works.at[i]);
}

void kineto_end_counters(struct kineto_file *k)
{
	if (k->n_steps)
		flush(k, UINT64_MAX);
	vec_free(&k->changes);
	vec_free(&k->counters);
	vec_free(&k->first_works);
	map_free(&k->counter_of);
	strtab_free(&k->counter_names);
}
