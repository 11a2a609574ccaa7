/* How many launches wait in each stream. */
#include "core/analysis/summary.h"

/* A launch enters the queue when its call begins, and leaves it when its first work begins. */
struct change {
	uint64_t ns;
	uint32_t stream; /* in streams */
	int change;
};

typedef VEC(struct change) changes;

static int by_stream(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return y->change - x->change; /* what enters and leaves at once was in it */
}

/* Finds the first work of each call in each stream. */
static changes collect(const struct timeline *t)
{
	changes found = { 0 };
	struct map first = { 0 }; /* call and stream -> begin of the first work */
	for (size_t i = 0; i < t->works.n; i++) {
		const struct timeline_work *w = &t->works.at[i];
		bool is_new;
		if (w->call == MODEL_NO_CALL || w->kind == WORK_SYNC)
			continue;
		uint64_t *at = map_at(&first, (uint64_t)w->stream << 32 | w->call, &is_new);
		if (is_new || w->begin_ns < *at)
			*at = w->begin_ns;
	}
	for (size_t i = 0; i < first.room; i++) {
		const struct map_slot *slot = &first.slots[i];
		if (!slot->used)
			continue;
		uint32_t stream = (uint32_t)(slot->key >> 32);
		uint64_t begin_ns = t->calls.at[(uint32_t)slot->key].begin_ns;
		vec_push(&found, (struct change){ begin_ns, stream, 1 });
		vec_push(&found, (struct change){ slot->value > begin_ns ? slot->value : begin_ns,
						  stream, -1 });
	}
	map_free(&first);
	if (found.n)
		qsort(found.at, found.n, sizeof(*found.at), by_stream);
	return found;
}

/* Sums up the stream whose changes begin at `at`. Returns where those of the next one begin. */
static size_t sum_up(const struct timeline *t, const changes *c, size_t at,
		     struct finding_queue *to, double steps)
{
	const struct timeline_stream *stream = &t->streams.at[c->at[at].stream];
	uint32_t number = c->at[at].stream;
	uint64_t first_ns = c->at[at].ns, last_ns = first_ns, n = 0;
	double length = 0, area = 0;
	*to = (struct finding_queue){ .device = stream->device, .stream = stream->stream };
	for (; at < c->n && c->at[at].stream == number; at++) {
		area += length * (double)(c->at[at].ns - last_ns);
		last_ns = c->at[at].ns;
		length += c->at[at].change;
		n += c->at[at].change > 0;
		to->most = length > to->most ? length : to->most;
	}
	to->per_step = (double)n / steps;
	to->mean = last_ns > first_ns ? area / (double)(last_ns - first_ns) : 0;
	/* as Little's law: the mean wait of a launch */
	to->wait_us = n ? area / (double)n / 1e3 : 0;
	return at;
}

static int by_count(const void *a, const void *b)
{
	const struct finding_queue *x = a, *y = b;
	if (x->per_step != y->per_step)
		return x->per_step > y->per_step ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->stream > y->stream) - (x->stream < y->stream);
}

void summary_fill_queues(struct findings *f)
{
	const struct timeline *t = f->timeline;
	double steps = findings_count_steps(t).with_gpu;
	changes c = collect(t);
	for (size_t at = 0; at < c.n;) {
		struct finding_queue q;
		at = sum_up(t, &c, at, &q, steps);
		vec_push(&f->queues, q);
	}
	if (f->queues.n)
		qsort(f->queues.at, f->queues.n, sizeof(*f->queues.at), by_count);
	vec_free(&c);
}
