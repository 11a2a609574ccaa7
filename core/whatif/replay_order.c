/*
 * Finds the streams that are ordered with the legacy default stream. CUDA runs work of the legacy
 * stream only after all earlier work of the blocking streams, and their later work only after that.
 * Whether a stream is blocking was decided when it was created, which need not be recorded. So a
 * stream counts as ordered if two things hold:
 *
 * - None of its work overlapped work of the legacy stream.
 * - At least ORDERED_LEAST pieces of work of the two streams began late, right after work of the
 *   other stream, and neither the launch nor an event explains it.
 */
#include "core/whatif/replay_trace.h"

enum { ORDERED_LEAST = 2 };

/* What is known of a stream and the legacy stream of its device. */
struct pair {
	uint32_t legacy; /* REPLAY_NONE: the device has no work in a legacy stream */
	uint32_t waits;	 /* pieces of work that began right after work of the other stream */
	double end_ns;	 /* when the stream's last work so far has ended */
	bool overlaps;
};

static uint32_t legacy_of(const struct replay *r, uint32_t device)
{
	uint32_t s = 0;
	while (s < r->streams.n &&
	       (!r->streams.at[s].is_legacy || r->streams.at[s].device != device))
		s++;
	return s < r->streams.n ? s : REPLAY_NONE;
}

/* Returns true if neither the launch nor the stream itself explains when the work began. */
static bool is_late(const struct replay_work *w)
{
	return !w->is_chained && (double)w->latency_ns > REPLAY_DEP_LEAST_NS &&
	       !((double)w->after_ns <= REPLAY_DEP_LEAST_NS);
}

/* Counts the work as a wait if it began late, right after work of the other stream of a pair. */
static void note_wait(const struct replay *r, struct pair *pairs, const struct replay_work *w)
{
	double begin = (double)r->timeline->works.at[w->work].begin_ns;
	for (size_t s = 0; is_late(w) && s < r->streams.n; s++) {
		bool is_pair = pairs[s].legacy == w->stream || pairs[w->stream].legacy == s;
		double gap = begin - pairs[s].end_ns;
		if (is_pair && gap >= 0 && gap < REPLAY_DEP_NEAR_NS)
			pairs[pairs[s].legacy == w->stream ? s : w->stream].waits++;
	}
}

/* Work of the model is in the order of its launches. Work of one stream also runs in that order, so
 * work can overlap only the other stream's work that ends last so far. */
static void note_overlap(const struct replay *r, struct pair *pairs, const struct replay_work *w)
{
	const struct timeline_work *work = &r->timeline->works.at[w->work];
	double begin = (double)work->begin_ns;
	for (size_t s = 0; s < r->streams.n; s++)
		if (pairs[s].legacy == w->stream && pairs[s].end_ns > begin)
			pairs[s].overlaps = true;
	uint32_t legacy = pairs[w->stream].legacy;
	if (legacy != REPLAY_NONE && pairs[legacy].end_ns > begin)
		pairs[w->stream].overlaps = true;
	pairs[w->stream].end_ns = fmax(pairs[w->stream].end_ns, (double)work->end_ns);
}

bool replay_is_after_order(const struct replay *r, const uint32_t *last,
			   const struct replay_work *w)
{
	const struct timeline_work *works = r->timeline->works.at;
	const struct replay_stream *own = &r->streams.at[w->stream];
	double end = 0, begin = (double)works[w->work].begin_ns;
	for (size_t s = 0; (own->is_legacy || own->is_ordered) && s < r->streams.n; s++) {
		const struct replay_stream *other = &r->streams.at[s];
		if (other->device == own->device && last[s] != REPLAY_NONE &&
		    (own->is_legacy ? other->is_ordered : other->is_legacy))
			end = fmax(end, (double)works[r->works.at[last[s]].work].end_ns);
	}
	return end > 0 && begin >= end && begin - end < REPLAY_DEP_NEAR_NS;
}

void replay_order(struct replay *r)
{
	struct pair *pairs = mem_zero((r->streams.n + 1) * sizeof(*pairs));
	for (uint32_t s = 0; s < r->streams.n; s++) {
		uint32_t legacy = legacy_of(r, r->streams.at[s].device);
		pairs[s].legacy = legacy == s ? REPLAY_NONE : legacy;
	}
	for (size_t i = 0; i < r->works.n; i++) {
		note_wait(r, pairs, &r->works.at[i]);
		note_overlap(r, pairs, &r->works.at[i]);
	}
	for (size_t s = 0; s < r->streams.n; s++)
		r->streams.at[s].is_ordered = pairs[s].legacy != REPLAY_NONE &&
					      !pairs[s].overlaps && pairs[s].waits >= ORDERED_LEAST;
	free(pairs);
}
