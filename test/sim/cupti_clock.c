/*
 * The clock of records: CLOCK_REALTIME in ns, or what the consumer's timestamp callback says, in whatever unit. The
 * engine counts CLOCK_MONOTONIC; its times are carried over by interpolation between pairs read together.
 */
#include "test/sim/cupti_sim.h"

#define PAIRS	 512
#define SPACE_NS 2000000 /* at least, between pairs that are kept */

struct pair {
	int64_t monotonic;
	uint64_t clock;
};

static struct pair pairs[PAIRS];
static unsigned pair_count; /* ever kept; the last PAIRS are there */
static CUpti_TimestampCallbackFunc timestamp;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t cupti_clock_now(void)
{
	CUpti_TimestampCallbackFunc callback = timestamp;
	if (callback)
		return callback();
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The reading whose two readings of CLOCK_MONOTONIC around it lie closest is the exact one. */
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

void cupti_clock_note(void)
{
	pthread_mutex_lock(&lock);
	struct pair *last = pair_count ? &pairs[(pair_count - 1) % PAIRS] : NULL;
	if (!last || sim_now_ns() - last->monotonic >= SPACE_NS)
		pairs[pair_count++ % PAIRS] = pair_read();
	pthread_mutex_unlock(&lock);
}

void cupti_clock_register(CUpti_TimestampCallbackFunc callback)
{
	pthread_mutex_lock(&lock);
	timestamp = callback;
	pair_count = 0;
	pairs[pair_count++] = pair_read();
	pthread_mutex_unlock(&lock);
}

uint64_t cupti_clock_convert(int64_t t)
{
	if (!t)
		return 0;
	pthread_mutex_lock(&lock);
	unsigned first = pair_count > PAIRS ? pair_count - PAIRS : 0, at = pair_count;
	while (at > first && pairs[(at - 1) % PAIRS].monotonic > t)
		at--;
	/* Before the first pair, and after the last one, the nearest two go on. */
	struct pair a, b;
	if (at >= pair_count) {
		b = pair_read();
		unsigned k = pair_count;
		while (k > first && b.monotonic - pairs[(k - 1) % PAIRS].monotonic < SPACE_NS)
			k--;
		a = k > first ? pairs[(k - 1) % PAIRS] : pairs[first % PAIRS];
	} else {
		at = at > first ? at : first + 1;
		b = at < pair_count ? pairs[at % PAIRS] : pair_read();
		a = pairs[(at - 1) % PAIRS];
	}
	pthread_mutex_unlock(&lock);
	if (b.monotonic <= a.monotonic)
		return a.clock + (uint64_t)(t - a.monotonic);
	double slope = (double)(int64_t)(b.clock - a.clock) / (double)(b.monotonic - a.monotonic);
	return a.clock + (uint64_t)(int64_t)((double)(t - a.monotonic) * slope);
}
