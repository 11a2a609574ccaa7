/*
 * Reads several clocks at the same moment, so that times of one clock can be converted to another.
 * Runs in the tools, and in the application at startup and at exit.
 */
#include "core/runtime/clock.h"

#include "core/runtime/record.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__)
static bool cpu_has_invariant_tsc(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}
#endif

bool clock_tsc_usable(void)
{
#if defined(__x86_64__)
	char source[16] = { 0 };
	if (!cpu_has_invariant_tsc())
		return false;
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, source, sizeof(source) - 1);
	close(fd);
	return n >= 4 && !strncmp(source, "tsc\n", 4);
#else
	return false;
#endif
}

struct journal_clock_point clock_point(uint32_t kind)
{
	struct journal_clock_point best = { 0 };
	uint64_t narrowest = UINT64_MAX;
	for (int i = 0; i < 8; i++) {
		uint64_t before = clock_ticks(kind);
		uint64_t monotonic = clock_read_ns(CLOCK_MONOTONIC);
		uint64_t after = clock_ticks(kind);
		uint64_t realtime = clock_read_ns(CLOCK_REALTIME);
		if (after - before >= narrowest)
			continue;
		narrowest = after - before;
		best = (struct journal_clock_point){
			.ticks = before + narrowest / 2,
			.monotonic_ns = monotonic,
			.realtime_ns = realtime,
		};
	}
	return best;
}
