/* See plausible.h. */
#include "core/source/journal/plausible.h"

#include "core/runtime/clock.h"
#include "core/source/journal/timebase.h"

enum {
	/* destructors run, and threads live on, after the orderly exit was noted */
	HOST_SLACK_S = 600,
	GPU_SLACK_S = 10, /* GPU records are flushed before the orderly exit is noted */
	/*
	 * Factor for a run whose length is only known from the wall clock, because the tick rate
	 * may be a guess.
	 */
	RATE_DOUBT = 8,
	/*
	 * By how much a step number may exceed the number of the current step. Steps of an anchor
	 * that proved wrong may have had higher numbers: by at most the number of launches made
	 * while the anchor was provisional.
	 */
	NUMBER_SLACK = 1000000,
};

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/*
 * Returns an upper bound of all times, in ticks: the end that the journal notes, or else the
 * present time. clock.last of a process that was killed may lie before its end.
 */
static uint64_t last_ticks(const struct journal_header *h, const struct timebase *t)
{
	const struct journal_clock_point *first = &h->clock.first;
	uint64_t ended = atomic_load(&h->ended_ticks);
	if (ended > first->ticks)
		return h->clock.last.ticks > ended ? h->clock.last.ticks : ended;
	uint64_t now_ns = clock_point(CLOCK_KIND_MONOTONIC_NS).realtime_ns;
	if (now_ns <= first->realtime_ns)
		return UINT64_MAX;
	uint64_t length_ns = now_ns - first->realtime_ns;
	if (length_ns > UINT64_MAX / RATE_DOUBT)
		return UINT64_MAX;
	return add_saturated(first->ticks, timebase_ticks(t, length_ns * RATE_DOUBT));
}

void plausible_set(struct plausible *p, const struct journal_header *h)
{
	struct timebase t;
	timebase_set(&t, h, false);
	uint64_t first = h->clock.first.ticks, last = last_ticks(h, &t);
	uint64_t gpu = GPU_SLACK_S * t.ticks_per_second, host = HOST_SLACK_S * t.ticks_per_second;
	*p = (struct plausible){
		.gpu_first = first > gpu ? first - gpu : 0,
		.gpu_last = add_saturated(last, gpu),
		.host_first = first > host ? first - host : 0,
		.host_last = add_saturated(last, host),
	};
	p->steps_most = add_saturated(atomic_load(&h->steps.current), NUMBER_SLACK);
}

/* 0 is allowed: CUPTI or the library did not know the time. */
static bool is_moment(const struct plausible *p, uint64_t ticks)
{
	return !ticks || (ticks >= p->host_first && ticks <= p->host_last);
}

static bool is_span(const struct plausible *p, uint64_t begin, uint64_t end)
{
	return is_moment(p, begin) && is_moment(p, end) && end >= begin;
}

static bool is_call(const struct plausible *p, const struct rec_call *c)
{
	return is_moment(p, c->begin_ticks) && record_duration(c) <= p->host_last - p->host_first;
}

/* The library never writes GPU work that ends before it begins. */
static bool is_work(const struct plausible *p, const struct rec_gpu *g)
{
	if (!g->begin_ticks)
		return true;
	return g->begin_ticks >= p->gpu_first && g->end_ticks >= g->begin_ticks &&
	       g->end_ticks <= p->gpu_last;
}

static bool is_step(const struct plausible *p, const struct rec_step *s)
{
	return is_moment(p, s->ticks) && (s->event != STEP_BEGIN || s->number <= p->steps_most);
}

static bool is_sample(const struct plausible *p, const struct rec_sample *s)
{
	return s->ticks && is_moment(p, s->ticks) && s->state < SAMPLE_STATES &&
	       !(s->flags & ~SAMPLE_FLAGS_ALL);
}

static bool is_thread(const struct plausible *p, const struct rec_thread *t)
{
	return t->ticks && is_moment(p, t->ticks) && t->event < THREAD_EVENTS;
}

bool plausible_record(const struct plausible *p, const struct rec_head *head)
{
	switch (head->kind) {
	case REC_CALL:
		return is_call(p, (const struct rec_call *)head);
	case REC_STEP:
		return is_step(p, (const struct rec_step *)head);
	case REC_GPU_STATE:
		return is_moment(p, ((const struct rec_gpu_state *)head)->ticks);
	case REC_KERNEL:
	case REC_MEMCPY:
	case REC_MEMSET:
	case REC_GPU_SYNC:
		return is_work(p, (const struct rec_gpu *)head);
	case REC_RANGE: /* the range may have begun long before the first CUDA call */
		return ((const struct rec_range *)head)->ticks <= p->host_last;
	case REC_LIBRARY:
		return is_span(p, ((const struct rec_library *)head)->begin_ticks,
			       ((const struct rec_library *)head)->end_ticks);
	case REC_BLOCK:
		return is_moment(p, ((const struct rec_block *)head)->ticks);
	case REC_MEMORY:
		return is_moment(p, ((const struct rec_memory *)head)->ticks);
	case REC_SAMPLE:
		return is_sample(p, (const struct rec_sample *)head);
	case REC_THREAD:
		return is_thread(p, (const struct rec_thread *)head);
	case REC_CPU_WAIT:
		return is_span(p, ((const struct rec_cpu_wait *)head)->begin_ticks,
			       ((const struct rec_cpu_wait *)head)->end_ticks);
	default:
		return true;
	}
}
