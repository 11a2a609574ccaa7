/* Returns recorded calls as calls of the model: times in nanoseconds, and what was asked for. */
#include "core/source/journal/ingest.h"

/*
 * Extends a query to the polling loop whose last query it is, if the queries are dense. Dense
 * queries mean that the loop does nothing else: an unsuccessful query takes at most 1 us, and an
 * iteration of a Python loop another 1 us.
 */
static void take_polling(struct model_call *out, const struct rec_call *c, const struct timebase *t)
{
	enum { POLLS_LEAST = 3, POLL_MOST_NS = 20000 };
	uint64_t ns = timebase_length_ns(t, (uint64_t)c->seq << REC_POLLED_SHIFT);
	if (c->detail < POLLS_LEAST || ns > (uint64_t)c->detail * POLL_MOST_NS ||
	    ns > out->begin_ns)
		return;
	out->polls = c->detail;
	out->begin_ns -= ns;
}

struct model_call ingest_call_of(const struct ingest *f, const struct rec_call *c, uint8_t category)
{
	struct model_call out = {
		.begin_ns = timebase_ns(&f->time, c->begin_ticks),
		.end_ns = timebase_ns(&f->time, c->begin_ticks + record_duration(c)),
		.stream = c->stream,
		.stack = c->stack,
		.status = (uint16_t)c->status,
		.category = category,
		.device = (uint8_t)c->device,
	};
	const struct hook_entry *hook = c->hook < f->dict.hooks.n ? &f->dict.hooks.at[c->hook]
								  : NULL;
	if (hook) {
		out.name = hook->name;
		out.space = hook->space;
		out.entry_point = hook->entry_point;
	}
	switch (category) {
	case CAT_LAUNCH: {
		const struct run_launch *l = tables_launch(&f->dict.t, c->arg);
		out.launch = l ? (uint32_t)(l - f->dict.t.launches.at) + 1 : 0;
		break;
	}
	case CAT_MEMCPY:
		out.copy = (uint8_t)c->detail;
		out.bytes = c->arg;
		break;
	case CAT_MEMSET:
	case CAT_PREFETCH:
		out.bytes = c->arg;
		break;
	case CAT_ALLOC:
	case CAT_FREE:
		out.bytes = c->bytes;
		out.handle = c->arg;
		break;
	case CAT_QUERY:
		out.handle = c->arg;
		take_polling(&out, c, &f->time);
		break;
	default:
		out.handle = c->arg;
		break;
	}
	return out;
}
