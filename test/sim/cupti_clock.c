/*
 * The clock of records: CLOCK_REALTIME in ns, or the consumer's timestamp callback in its own unit.
 * The engine's times are CLOCK_MONOTONIC. They are converted by interpolation between pairs:
 * readings of both clocks at the same moment.
 */
#include "test/sim/cupti_sim.h"

#include <stdatomic.h>

#define PAIRS	 4096
#define SPACE_NS 5000000 /* time between stored pairs: 4096 pairs cover 20 s */

struct pair {
	int64_t monotonic;
	uint64_t clock;
};

static struct pair pairs[PAIRS];
static unsigned pair_count; /* number of pairs ever stored; the last PAIRS of them exist */
static CUpti_TimestampCallbackFunc timestamp;
static int64_t registered; /* when the callback was registered, CLOCK_MONOTONIC ns; 0: never */
/* A read-write lock, because several threads convert records at the same time. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic int64_t due_ns; /* when the next pair is due */

uint64_t cupti_clock_now(void)
{
	CUpti_TimestampCallbackFunc callback = timestamp;
	if (callback)
		return callback();
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Returns a reading of both clocks. Reads CLOCK_MONOTONIC before and after the other clock, three
 * times, and uses the reading with the shortest interval. */
static struct pair pair_read(void)
{
	struct pair best = { 0, 0 };
	int64_t width = INT64_MAX;
	for (int i = 0; i < 3; i++) {
		int64_t before = sim_now_ns();
		uint64_t clock = cupti_clock_now();
		int64_t after = sim_now_ns();
		if (after - before < width) {
			width = after - before;
			best = (struct pair){ before + width / 2, clock };
		}
	}
	return best;
}

/* Stores another pair, unless the last one is younger than `space_ns`. */
static void pair_keep(int64_t space_ns)
{
	pthread_rwlock_wrlock(&lock);
	struct pair *last = pair_count ? &pairs[(pair_count - 1) % PAIRS] : NULL;
	if (!last || sim_now_ns() - last->monotonic >= space_ns) {
		pairs[pair_count++ % PAIRS] = pair_read();
		atomic_store_explicit(&due_ns, pairs[(pair_count - 1) % PAIRS].monotonic + SPACE_NS,
				      memory_order_relaxed);
	}
	pthread_rwlock_unlock(&lock);
}

/*
 * Runs at each record, so it must be very cheap. The coarse clock may be some ms late, which is
 * exact enough here.
 */
void cupti_clock_note(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	if (t.tv_sec * 1000000000ll + t.tv_nsec >=
	    atomic_load_explicit(&due_ns, memory_order_relaxed))
		pair_keep(SPACE_NS);
}

void cupti_clock_fix(void)
{
	pair_keep(1000);
}

void cupti_clock_register(CUpti_TimestampCallbackFunc callback)
{
	pthread_rwlock_wrlock(&lock);
	timestamp = callback;
	pair_count = 0;
	pairs[pair_count++] = pair_read();
	registered = pairs[0].monotonic;
	pthread_rwlock_unlock(&lock);
}

/* cuptiFinalize: CUPTI's own clock applies again. */
void cupti_clock_reset(void)
{
	pthread_rwlock_wrlock(&lock);
	timestamp = NULL;
	pair_count = 0;
	registered = 0;
	pairs[pair_count++] = pair_read();
	pthread_rwlock_unlock(&lock);
}

bool cupti_clock_is_registered(void)
{
	return timestamp != NULL;
}

/*
 * Converts a time to the records' clock. Interpolates linearly between adjacent pairs, so that
 * order is kept; the last slope also applies after the last pair. Returns 0 for work that ran
 * before the consumer registered its clock. On an H100 such records also had time 0, and
 * torch.profiler found none of these kernels within its window.
 */
uint64_t cupti_clock_convert(int64_t t)
{
	if (!t)
		return 0;
	pthread_rwlock_rdlock(&lock);
	unsigned low = pair_count > PAIRS ? pair_count - PAIRS : 0, high = pair_count - 1;
	struct pair a = pairs[low % PAIRS], b = a;
	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;
		if (pairs[middle % PAIRS].monotonic <= t)
			low = middle;
		else
			high = middle;
	}
	if (high > low) {
		a = pairs[low % PAIRS];
		b = pairs[high % PAIRS];
	}
	bool is_before = registered && t < registered;
	pthread_rwlock_unlock(&lock);
	if (is_before)
		return 0;
	if (b.monotonic <= a.monotonic)
		return a.clock + (uint64_t)(t - a.monotonic);
	double slope = (double)(int64_t)(b.clock - a.clock) / (double)(b.monotonic - a.monotonic);
	return a.clock + (uint64_t)(int64_t)((double)(t - a.monotonic) * slope);
}
