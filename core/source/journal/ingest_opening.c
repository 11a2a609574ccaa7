/*
 * The opening: decides which of its steps are passed on. The library records everything in the
 * opening, so any step that lies in it can be a recorded step, whenever it was detected.
 */
#include "core/source/journal/ingest.h"

#include "core/util/sample.h"

#include <math.h>

/*
 * Steps that are slow now and then must be among the recorded ones. Where one step in 50 is slow,
 * 200 steps have four of these. The 37 steps that a median may need have one or none.
 */
enum { STEPS_LEAST = 200 };

#define MEDIAN_WIDTH 0.05 /* the interval's half width, as a share of the median, that is enough */

void ingest_end_opening(struct ingest *f, uint64_t ticks)
{
	f->opening.end_ticks = ticks;
	f->opening.n_calls = f->n_pending;
	if (f->one_step && !f->schedule.always && ticks > f->marks.at[0].ticks)
		queue_push(&f->marks, ((struct step_mark){ .ticks = ticks,
							   .number = UINT64_MAX,
							   .action = SCHED_NONE,
							   .is_outside = true }));
}

void ingest_keep_opening(struct ingest *f, uint64_t last)
{
	uint64_t n = f->schedule.active ? f->schedule.active : 1;
	f->opening.first_kept = 0;
	f->opening.first_traced = last > n ? last - n : last > 0;
	f->opening.n_traced = n;
}

/* Returns whether GPU timing was on from `begin` to `end`. The first graph ends it. */
static bool has_gpu_throughout(const struct ingest *f, uint64_t begin, uint64_t end)
{
	bool is_on = false;
	for (size_t i = 0; i < f->gpu_switches.n && f->gpu_switches.at[i].ticks < end; i++) {
		const struct gpu_switch *s = &f->gpu_switches.at[i];
		if (s->ticks > begin && !s->is_on)
			return false;
		is_on = s->is_on;
	}
	return is_on;
}

/*
 * Steps before the schedule's first recorded step count as warm-up. Steps without GPU times are
 * left out if other steps have them.
 */
static bool is_kept(const struct ingest *f, const struct step_mark *mark, uint64_t end)
{
	const struct ingest_opening *o = &f->opening;
	if (mark->number < o->first_kept || mark->ticks < o->dropped_ticks ||
	    (o->end_ticks && end > o->end_ticks))
		return false;
	return !f->saw_gpu_on || o->n_traced || has_gpu_throughout(f, mark->ticks, end);
}

bool ingest_is_silent(const struct ingest *f, const struct ingest_cut *cut)
{
	uint8_t action = cut->mark->action;
	return action == SCHED_NONE || (action == SCHED_OPENING && f->saw_gpu_on &&
					!has_gpu_throughout(f, cut->begin_ticks, cut->end_ticks));
}

/*
 * Returns whether a step was detected after it had ended, and ended after the opening. The library
 * recorded neither stacks nor GPU times of such a step, even if the schedule wants it.
 */
static bool is_unrecorded(const struct ingest *f, const struct step_mark *mark, uint64_t end)
{
	return f->opening.end_ticks && end > f->opening.end_ticks && !mark->by_library &&
	       !f->schedule.always;
}

uint8_t ingest_action_of(const struct ingest *f, const struct step_mark *mark, uint64_t end)
{
	if (mark->action > SCHED_OPENING && is_unrecorded(f, mark, end))
		return SCHED_NONE;
	bool is_moved = f->opening.is_any && !mark->by_library && !f->schedule.always &&
			atomic_load(&f->reader.header->steps.schedule_shift);
	return is_moved && mark->action > SCHED_OPENING ? SCHED_OPENING : mark->action;
}

bool ingest_is_recorded(const struct ingest *f, const struct step_mark *mark, uint64_t end)
{
	if (mark->is_outside)
		return false;
	if (f->one_step || mark->action > SCHED_OPENING)
		return true;
	return mark->action == SCHED_OPENING && is_kept(f, mark, end);
}

bool ingest_may_be_recorded(const struct ingest *f)
{
	const struct step_mark *mark = &f->marks.at[0];
	return !mark->is_outside && (f->one_step || mark->action > SCHED_OPENING ||
				     (mark->action == SCHED_OPENING && !f->opening.end_ticks));
}

bool ingest_is_traced(const struct ingest *f, const struct step_mark *mark)
{
	const struct ingest_opening *o = &f->opening;
	return f->one_step || mark->action > SCHED_OPENING ||
	       (mark->number >= o->first_traced && mark->number - o->first_traced < o->n_traced);
}

/* Returns whether the 95 % interval of the steps' median length is narrow enough. */
static bool is_median_known(const struct ingest_opening *o)
{
	size_t n = o->kept_ms.n;
	if (n < STEPS_LEAST)
		return false;
	float *sorted = mem_resize(NULL, n * sizeof(*sorted));
	memcpy(sorted, o->kept_ms.at, n * sizeof(*sorted));
	sample_sort(sorted, n);
	/* the median's rank is within 1.96 standard deviations, sqrt(n)/2 each, of n/2 */
	double off = 0.98 * sqrt((double)n), low = (double)n / 2 - off - 1;
	size_t first = low > 0 ? (size_t)low : 0, last = n - 1 - first;
	double width = (double)(sorted[last] - sorted[first]) / 2,
	       median = sample_percentile_of(sorted, n, 0.5);
	free(sorted);
	return width <= MEDIAN_WIDTH * median;
}

void ingest_note_length(struct ingest *f, double ms)
{
	if (!f->is_live || !f->opening.is_any || f->opening.end_ticks)
		return;
	vec_push(&f->opening.kept_ms, (float)ms);
	size_t n = f->opening.kept_ms.n;
	/* not after each step, because each look sorts all lengths */
	if (!f->opening.is_disputed && (n == STEPS_LEAST || !(n % 64)) &&
	    is_median_known(&f->opening))
		atomic_store(&f->reader.header->steps.has_enough, 1);
}
