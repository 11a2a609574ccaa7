/*
 * Chooses the second clock point: the newest one of the journal. If the process lives, or the
 * journal has none, it is this machine's present time, provided that the journal was written during
 * this boot of this machine.
 */
#include "core/source/journal/timebase.h"

#include "core/runtime/clock.h"

/*
 * How much the boot time may seem to differ within one boot. If the wall clock was set since, the
 * boot seems to be another one; that is harmless.
 */
enum { SAME_BOOT_NS = 2000000000 };

static bool is_same_boot(const struct journal_clock_point *then,
			 const struct journal_clock_point *now)
{
	int64_t epoch_then = (int64_t)(then->realtime_ns - then->monotonic_ns);
	int64_t epoch_now = (int64_t)(now->realtime_ns - now->monotonic_ns);
	int64_t moved = epoch_now - epoch_then;
	return now->monotonic_ns > then->monotonic_ns && now->ticks > then->ticks &&
	       moved < SAME_BOOT_NS && moved > -SAME_BOOT_NS;
}

static bool slope_is_sane(const struct journal_clock_point *a, const struct journal_clock_point *b)
{
	if (b->ticks <= a->ticks || b->monotonic_ns <= a->monotonic_ns)
		return false;
	double ns_per_tick =
		(double)(b->monotonic_ns - a->monotonic_ns) / (double)(b->ticks - a->ticks);
	return ns_per_tick > 0.05 && ns_per_tick < 50; /* 20 MHz to 20 GHz */
}

static void set_slope(struct timebase *t, double ns_per_tick)
{
	t->ns_per_tick_q48 = (uint64_t)(ns_per_tick * (double)(1ull << 48));
	t->ticks_per_second = (uint64_t)(1e9 / ns_per_tick);
}

static double slope(const struct journal_clock_point *a, const struct journal_clock_point *b)
{
	return (double)(b->monotonic_ns - a->monotonic_ns) / (double)(b->ticks - a->ticks);
}

void timebase_set(struct timebase *t, const struct journal_header *h, bool is_alive)
{
	*t = (struct timebase){ .first = h->clock.first, .kind = h->clock.kind };
	if (t->kind != CLOCK_KIND_TSC) {
		set_slope(t, 1);
		return;
	}
	struct journal_clock_point last = h->clock.last, now = clock_point(CLOCK_KIND_TSC);
	bool has_last = slope_is_sane(&t->first, &last) && !is_alive;
	if (!has_last && slope_is_sane(&t->first, &now) &&
	    (is_alive || is_same_boot(&t->first, &now)))
		last = now;
	if (slope_is_sane(&t->first, &last)) {
		set_slope(t, slope(&t->first, &last));
		return;
	}
	/* a killed process, of an earlier boot or on another machine: assume 2.5 GHz */
	t->is_estimate = true;
	set_slope(t, 0.4);
}
