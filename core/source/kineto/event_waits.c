/* See event_waits.h. */
#include "core/source/kineto/event_waits.h"

#include "core/util/map.h"

static struct trace_call *call_at(struct trace *t, const struct map *calls, uint32_t correlation)
{
	const uint64_t *at = map_find(calls, correlation);
	return at ? &t->calls.at[*at] : NULL;
}

void event_waits_find(struct trace *t)
{
	struct map calls = { 0 };
	for (size_t i = 0; t->event_waits.n && i < t->calls.n; i++)
		if (t->calls.at[i].correlation)
			*map_at(&calls, t->calls.at[i].correlation, NULL) = i;
	for (size_t i = 0; i < t->event_waits.n; i++) {
		const struct trace_event_wait *w = &t->event_waits.at[i];
		struct trace_call *waits = call_at(t, &calls, w->correlation),
				  *records = call_at(t, &calls, w->recorded);
		if (!waits || !records)
			continue;
		waits->event = records->event = w->recorded;
		records->stream = w->recorded_stream;
	}
	map_free(&calls);
}
