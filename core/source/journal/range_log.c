/*
 * See range_log.h. Few ranges are open at a time, so linear searches from the newest range are
 * short.
 */
#include "core/source/journal/range_log.h"

enum {
	MOST_CLOSED = 1 << 20, /* takes 50 MB */
	MOST_OPEN = 1 << 16,   /* only lost records can leave more ranges open */
	MOST_ENDS = 1 << 16,
};

static void add_closed(struct range_log *log, struct range_entry *e, uint64_t ticks)
{
	if (log->closed.n >= MOST_CLOSED) {
		log->n_dropped++;
		return;
	}
	e->end_ticks = ticks > e->begin_ticks ? ticks : e->begin_ticks;
	vec_push(&log->closed, *e);
}

static void remove_open(struct range_log *log, size_t i)
{
	log->open.n--;
	memmove(&log->open.at[i], &log->open.at[i + 1], (log->open.n - i) * sizeof(*log->open.at));
}

static void add_open(struct range_log *log, const struct range_entry *e)
{
	if (log->open.n >= MOST_OPEN)
		remove_open(log, 0);
	vec_push(&log->open, *e);
}

/*
 * Closes the range that a POP ends. The ranges of a domain nest on their thread. So open ranges
 * inside it have ended too, and their POP records were lost.
 */
static void pop(struct range_log *log, uint32_t slot, const struct rec_range *r)
{
	for (size_t i = log->open.n; i > 0; i--) {
		struct range_entry e = log->open.at[i - 1];
		if (e.kind != MODEL_RANGE_NESTED || e.slot != slot || e.id < r->id ||
		    (e.id != r->id && e.domain != r->domain))
			continue;
		remove_open(log, i - 1);
		add_closed(log, &e, r->ticks);
		if (e.id == r->id)
			return;
	}
}

static void end(struct range_log *log, const struct rec_range *r)
{
	for (size_t i = log->open.n; i > 0; i--) {
		struct range_entry e = log->open.at[i - 1];
		if (e.kind != MODEL_RANGE_STARTED || e.id != r->id)
			continue;
		remove_open(log, i - 1);
		add_closed(log, &e, r->ticks);
		return;
	}
	if (log->ends.n < MOST_ENDS)
		vec_push(&log->ends, (struct range_end){ r->id, r->ticks });
}

static void start(struct range_log *log, struct range_entry *e)
{
	for (size_t i = 0; i < log->ends.n; i++) {
		if (log->ends.at[i].id != e->id)
			continue;
		add_closed(log, e, log->ends.at[i].ticks);
		log->ends.at[i] = log->ends.at[--log->ends.n];
		return;
	}
	add_open(log, e);
}

void range_log_take(struct range_log *log, uint32_t slot, const struct rec_range *r)
{
	struct range_entry e = {
		.begin_ticks = r->ticks,
		.end_ticks = RANGE_OPEN,
		.id = r->id,
		.slot = slot,
		.name = r->name,
		.domain = r->domain,
		.color = r->color,
	};
	switch (r->event) {
	case RANGE_PUSH:
		e.kind = MODEL_RANGE_NESTED;
		add_open(log, &e);
		break;
	case RANGE_POP:
		pop(log, slot, r);
		break;
	case RANGE_START:
		e.kind = MODEL_RANGE_STARTED;
		start(log, &e);
		break;
	case RANGE_END:
		end(log, r);
		break;
	case RANGE_MARK:
		e.kind = MODEL_RANGE_MARK;
		add_closed(log, &e, r->ticks);
		break;
	default: /* a kind of event from a newer version */
		break;
	}
}

void range_log_drop(struct range_log *log, uint64_t ticks)
{
	size_t kept = 0;
	for (size_t i = 0; i < log->closed.n; i++)
		if (log->closed.at[i].end_ticks >= ticks)
			log->closed.at[kept++] = log->closed.at[i];
	log->closed.n = kept;
	kept = 0;
	for (size_t i = 0; i < log->ends.n; i++)
		if (log->ends.at[i].ticks >= ticks)
			log->ends.at[kept++] = log->ends.at[i];
	log->ends.n = kept;
	log->n_dropped = 0;
}

void range_log_free(struct range_log *log)
{
	vec_free(&log->closed);
	vec_free(&log->open);
	vec_free(&log->ends);
}

/* ---- Building a step ---- */

static uint32_t thread_index(const struct map *thread_of_slot, uint32_t slot)
{
	const uint64_t *at = map_find(thread_of_slot, slot);
	return at ? (uint32_t)*at : MODEL_NO_THREAD;
}

static void build_range(const struct log_cut *cut, const struct range_entry *e,
			struct model_step *m)
{
	struct dict *d = cut->dict;
	uint32_t name = dict_string(d, e->name);
	struct model_range r = {
		.begin_ns = m->begin_ns,
		.end_ns = m->end_ns,
		.id = e->id,
		.name = name ? name : strtab_intern(&d->t.names, "unnamed range"),
		.domain = dict_string(d, e->domain),
		.color = e->color,
		.thread = thread_index(cut->thread_of_slot, e->slot),
		.kind = e->kind,
		.begins_before =
			e->begin_ticks<cut->begin_ticks, .ends_after = e->end_ticks> cut->end_ticks,
	};
	if (!r.begins_before)
		r.begin_ns = timebase_ns(cut->time, e->begin_ticks);
	if (!r.ends_after)
		r.end_ns = timebase_ns(cut->time, e->end_ticks);
	vec_push(&m->ranges, r);
}

/* Orders ranges by kind, thread and time, outer ranges before inner ones. */
static int by_place(const void *a, const void *b)
{
	const struct model_range *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->thread != y->thread && x->kind != MODEL_RANGE_STARTED)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static bool is_within(const struct log_cut *cut, const struct range_entry *e)
{
	return e->begin_ticks < cut->end_ticks && e->end_ticks >= cut->begin_ticks &&
	       (e->end_ticks > cut->begin_ticks || e->begin_ticks == e->end_ticks);
}

void range_log_build(const struct range_log *log, const struct log_cut *cut, struct model_step *m)
{
	for (size_t i = 0; i < log->closed.n; i++)
		if (is_within(cut, &log->closed.at[i]))
			build_range(cut, &log->closed.at[i], m);
	for (size_t i = 0; i < log->open.n; i++)
		if (is_within(cut, &log->open.at[i]))
			build_range(cut, &log->open.at[i], m);
	if (m->ranges.n)
		qsort(m->ranges.at, m->ranges.n, sizeof(*m->ranges.at), by_place);
}
