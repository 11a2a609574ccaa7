/*
 * Orders a step's GPU work by stream and time, assigns lanes where work of a stream overlaps, links
 * calls to their work, and counts launches in flight.
 */
#include "core/model/model.h"

#include "core/model/library.h"
#include "core/util/bisect.h"

#include <stdio.h>
#include <string.h>

static const char *word(const char *const *words, size_t n, uint32_t i)
{
	return i < n && words[i] ? words[i] : "unknown";
}

#define WORD(words, i) word(words, sizeof(words) / sizeof(*(words)), i)

const char *model_action_name(uint8_t action)
{
	static const char *const names[] = { "none", "warmup", "opening", "record",
					     "record and save" };
	return action < sizeof(names) / sizeof(*names) ? names[action] : "unknown";
}

const char *model_memory_kind(uint32_t kind)
{
	static const char *const words[] = { "Unknown",	      "Pageable",      "Pinned",
					     "Device",	      "Array",	       "Managed",
					     "Device Static", "Managed Static" };
	return WORD(words, kind);
}

const char *model_sync_kind(uint32_t kind)
{
	static const char *const words[] = { "Unknown wait", "Event wait", "Stream wait for event",
					     "Stream wait", "Context wait" };
	return WORD(words, kind);
}

/*
 * `kind` is rec_overhead.what: CUpti_ActivityOverheadKind >> 16. It is 0 for all kinds below
 * 1 << 16.
 */
const char *model_overhead_kind(uint32_t kind)
{
	static const char *const words[] = { "CUPTI overhead",	      "CUPTI buffer flush",
					     "CUPTI instrumentation", "CUPTI resource",
					     "module loading",	      "lazy function loading",
					     "command buffer full",   "CUPTI buffer request",
					     "UVM activity start" };
	return WORD(words, kind);
}

void model_copy_name(char *to, size_t bytes, uint32_t kind, uint32_t source, uint32_t target)
{
	static const char *const words[] = { "unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					     "AtoD",	"DtoA", "DtoD", "HtoH", "PtoP" };
	snprintf(to, bytes, "Memcpy %s (%s -> %s)", WORD(words, kind), model_memory_kind(source),
		 model_memory_kind(target));
}

void model_memset_name(char *to, size_t bytes, uint32_t memory)
{
	const char *of = model_memory_kind(memory);
	if (memory && strcmp(of, "unknown") != 0)
		snprintf(to, bytes, "Memset (%s)", of);
	else
		snprintf(to, bytes, "Memset");
}

size_t model_bytes(const struct model_step *m)
{
	size_t bytes =
		sizeof(*m) + m->threads.room * sizeof(*m->threads.at) +
		m->calls.room * sizeof(*m->calls.at) + m->captured.room * sizeof(*m->captured.at) +
		m->products.room * sizeof(*m->products.at) +
		m->product_of.room * sizeof(*m->product_of.at) +
		m->streams.room * sizeof(*m->streams.at) + m->works.room * sizeof(*m->works.at) +
		m->links.room * sizeof(*m->links.at) + m->ranges.room * sizeof(*m->ranges.at) +
		m->operators.room * sizeof(*m->operators.at) +
		m->libraries.room * sizeof(*m->libraries.at) +
		m->counters.room * sizeof(*m->counters.at) +
		m->overheads.room * sizeof(*m->overheads.at) +
		m->blocks.room * sizeof(*m->blocks.at) +
		m->segments.room * sizeof(*m->segments.at) +
		m->earlier.room * sizeof(*m->earlier.at) +
		m->samples.room * sizeof(*m->samples.at) +
		m->cpu_waits.room * sizeof(*m->cpu_waits.at) + m->notes.room * sizeof(*m->notes.at);
	for (size_t i = 0; i < m->counters.n; i++)
		bytes += m->counters.at[i].points.room * sizeof(*m->counters.at[i].points.at);
	return bytes;
}

void model_free(struct model_step *m)
{
	for (size_t i = 0; i < m->counters.n; i++)
		vec_free(&m->counters.at[i].points);
	vec_free(&m->threads);
	vec_free(&m->calls);
	vec_free(&m->captured);
	vec_free(&m->products);
	vec_free(&m->product_of);
	vec_free(&m->streams);
	vec_free(&m->works);
	vec_free(&m->links);
	vec_free(&m->ranges);
	vec_free(&m->operators);
	vec_free(&m->libraries);
	vec_free(&m->counters);
	vec_free(&m->blocks);
	vec_free(&m->segments);
	vec_free(&m->overheads);
	vec_free(&m->earlier);
	vec_free(&m->samples);
	vec_free(&m->cpu_waits);
	vec_free(&m->notes);
}

struct model_counter *model_counter_of(struct model_step *m, const char *name, uint32_t device)
{
	for (size_t i = 0; i < m->counters.n; i++)
		if (!strcmp(m->counters.at[i].name, name) && m->counters.at[i].device == device)
			return &m->counters.at[i];
	vec_push(&m->counters,
		 (struct model_counter){ .name = name, .unit = UNIT_BYTES, .device = device });
	return &m->counters.at[m->counters.n - 1];
}

/* ---- Streams and lanes ---- */

static uint64_t stream_key(const struct model_work *w)
{
	return (uint64_t)(w->kind == WORK_SYNC) << 63 | (uint64_t)w->device << 54 |
	       ((uint64_t)w->context & 0x3fffff) << 32 | w->stream;
}

static int by_key(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static int by_begin(const void *a, const void *b)
{
	const struct model_work *x = a, *y = b;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void sort_by_begin(struct model_work *works, size_t n)
{
	for (size_t i = 1; i < n; i++) { /* CUPTI nearly always delivers a stream's work in order */
		if (by_begin(&works[i - 1], &works[i]) <= 0)
			continue;
		qsort(works, n, sizeof(*works), by_begin);
		return;
	}
}

/* Sorts the works by stream. `place` maps a stream's key to the index for the stream's first
 * work. */
static void move_works(struct model_step *m, struct map *place)
{
	struct model_work *sorted = mem_zero(m->works.n * sizeof(*sorted));
	for (size_t i = 0; i < m->works.n; i++)
		sorted[(*map_at(place, stream_key(&m->works.at[i]), NULL))++] = m->works.at[i];
	free(m->works.at);
	m->works.at = sorted;
	m->works.room = m->works.n;
}

/*
 * Adds the streams, in the order of their keys (waits last), and sorts the works by stream. It is a
 * counting sort.
 */
static void split_streams(struct model_step *m)
{
	struct map place = { 0 };
	VEC(uint64_t) keys = { 0 };
	uint64_t *count = NULL, last = 0;
	for (size_t i = 0; i < m->works.n; i++) {
		bool is_new = false;
		uint64_t key = stream_key(&m->works.at[i]);
		if (!count || key != last)
			count = map_at(&place, key, &is_new);
		++*count;
		last = key;
		if (is_new)
			vec_push(&keys, key);
	}
	if (keys.n)
		qsort(keys.at, keys.n, sizeof(*keys.at), by_key);
	size_t first = 0;
	for (size_t k = 0; k < keys.n; k++) {
		uint64_t *at = map_at(&place, keys.at[k], NULL);
		size_t n = (size_t)*at;
		vec_push(&m->streams, (struct model_stream){ .first = first, .n = n });
		*at = first;
		first += n;
	}
	if (keys.n > 1)
		move_works(m, &place);
	vec_free(&keys);
	map_free(&place);
}

/* Assigns each work the first free lane. Works must be sorted by start. Returns the number of
 * lanes. */
static uint32_t assign_lanes(struct model_work *works, size_t n)
{
	VEC(uint64_t) ends = { 0 };
	for (size_t i = 0; i < n; i++) {
		uint32_t lane = 0;
		while (lane < ends.n && ends.at[lane] > works[i].begin_ns)
			lane++;
		if (lane == ends.n)
			vec_push(&ends, 0);
		works[i].lane = lane;
		ends.at[lane] = works[i].end_ns;
	}
	uint32_t lanes = (uint32_t)ends.n;
	vec_free(&ends);
	return lanes;
}

/* Sets the device of waits. CUPTI gives only a wait's context, so the device is taken from other
 * work of the same context. */
static void place_waits(struct model_step *m)
{
	struct map device_of_context = { 0 };
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		bool is_repeat = i && w[-1].context == w->context && w[-1].device == w->device;
		if (w->device != DEVICE_UNKNOWN && !is_repeat)
			*map_at(&device_of_context, w->context, NULL) = w->device;
	}
	for (size_t i = 0; i < m->works.n; i++) {
		struct model_work *w = &m->works.at[i];
		if (w->device != DEVICE_UNKNOWN)
			continue;
		const uint64_t *device = map_find(&device_of_context, w->context);
		w->device = device ? (uint8_t)*device : 0;
	}
	map_free(&device_of_context);
}

static void order_works(struct model_step *m)
{
	place_waits(m);
	split_streams(m);
	for (size_t i = 0; i < m->streams.n; i++) {
		struct model_stream *s = &m->streams.at[i];
		struct model_work *works = &m->works.at[s->first];
		sort_by_begin(works, s->n);
		s->device = works->device;
		s->context = works->context;
		s->stream = works->stream;
		s->is_wait = works->kind == WORK_SYNC;
		s->n_lanes = assign_lanes(works, s->n);
	}
}

/* ---- Links ---- */

static void link_calls(struct model_step *m)
{
	uint32_t first = 0;
	for (size_t i = 0; i < m->works.n; i++)
		if (m->works.at[i].call < m->calls.n)
			m->calls.at[m->works.at[i].call].n_work++;
	for (size_t i = 0; i < m->calls.n; i++) {
		m->calls.at[i].first_link = first;
		first += m->calls.at[i].n_work;
		m->calls.at[i].n_work = 0;
	}
	vec_reserve(&m->links, first);
	m->links.n = first;
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->call >= m->calls.n)
			continue;
		struct model_call *c = &m->calls.at[w->call];
		m->links.at[c->first_link + c->n_work++] = (uint32_t)i;
		c->correlation = w->correlation;
	}
}

/* ---- Launches in flight: from the start of the launching call to the end of its last work ---- */

static int by_ns(const void *a, const void *b)
{
	const struct model_point *x = a, *y = b;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void sort_points(struct model_point *points, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (points[i - 1].ns <= points[i].ns)
			continue;
		qsort(points, n, sizeof(*points), by_ns);
		return;
	}
}

static uint64_t last_end(const struct model_step *m, const struct model_call *c)
{
	uint64_t end = 0;
	for (uint32_t k = 0; k < c->n_work; k++) {
		const struct model_work *w = &m->works.at[m->links.at[c->first_link + k]];
		if (w->end_ns > end)
			end = w->end_ns;
	}
	return end;
}

void model_count_in_flight(struct model_step *m)
{
	VEC(struct model_point) begins = { 0 }, ends = { 0 };
	vec_reserve(&begins, m->calls.n);
	vec_reserve(&ends, m->calls.n);
	for (size_t i = 0; i < m->calls.n; i++) {
		const struct model_call *c = &m->calls.at[i];
		if (!c->n_work || !category_has_work(c->category))
			continue;
		vec_push(&begins, (struct model_point){ c->begin_ns, 1 });
		vec_push(&ends, (struct model_point){ last_end(m, c), -1 });
	}
	sort_points(begins.at, begins.n);
	sort_points(ends.at, ends.n);
	if (begins.n) {
		struct model_counter counter = { .name = "launches in flight",
						 .device = DEVICE_UNKNOWN };
		int64_t level = 0;
		vec_reserve(&counter.points, begins.n * 2);
		for (size_t b = 0, e = 0; e < ends.n;) {
			bool is_begin = b < begins.n && begins.at[b].ns <= ends.at[e].ns;
			level += is_begin ? 1 : -1;
			uint64_t ns = is_begin ? begins.at[b++].ns : ends.at[e++].ns;
			counter.points.at[counter.points.n++] = (struct model_point){ ns, level };
		}
		vec_push(&m->counters, counter);
	}
	vec_free(&begins);
	vec_free(&ends);
}

void model_finish(struct model_step *m)
{
	order_works(m);
	link_calls(m);
	library_link(m);
}
