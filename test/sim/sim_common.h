/*
 * Shared by all simulated libraries: the settings table, the clock, exact waiting. Each library
 * contains a hidden copy.
 */
#ifndef TEST_SIM_SIM_COMMON_H
#define TEST_SIM_SIM_COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SIM_EXPORT	__attribute__((visibility("default")))
#define SIM_UNLIKELY(x) __builtin_expect(!!(x), 0)

struct sim_settings {
#define NUMBER(field, ...) double field;
#define TEXT(field, ...)   const char *field;
#include "test/sim/sim_settings.def"
#undef NUMBER
#undef TEXT
};

/*
 * Reads the environment. Reports each bad or unknown PROFSIM_ variable once on stderr, and uses the
 * default instead.
 */
void sim_settings_read(struct sim_settings *settings);

static inline int64_t sim_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/*
 * Waits until `ns` of CLOCK_MONOTONIC, within about 2 us: sleeps until shortly before, then spins.
 */
void sim_wait_until(int64_t ns);

/*
 * Sleeps until some 50 us after `ns`, without spinning. Blocking-sync events and devices with the
 * blocking-sync flag wait in this way.
 */
void sim_sleep_until(int64_t ns);

/*
 * Implemented in sim_errors.c. The driver and the runtime use the same numbers. sim_error_name and
 * sim_error_text return NULL for an unknown number, sim_error_parse returns 0 for an unknown name.
 */
const char *sim_error_name(bool runtime, int error);
const char *sim_error_text(int error);
int sim_error_parse(const char *text);

void sim_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Initializers for one side (src, dst) of a copy's parameters, taken from the parameters of another
 * version. */
#define SIM_SIDE_2D(side, c)                                                      \
	.side##XInBytes = (c)->side##XInBytes, .side##Y = (c)->side##Y,           \
	.side##MemoryType = (c)->side##MemoryType, .side##Host = (c)->side##Host, \
	.side##Device = (c)->side##Device, .side##Array = (c)->side##Array,       \
	.side##Pitch = (c)->side##Pitch
#define SIM_SIDE_3D(side, c) \
	SIM_SIDE_2D(side, c), .side##Z = (c)->side##Z, .side##Height = (c)->side##Height
#define SIM_EXTENT_3D(c) \
	.WidthInBytes = (c)->WidthInBytes, .Height = (c)->Height, .Depth = (c)->Depth

/* The names that were reported so far. */
struct sim_said {
	const char *names[512];
	int count;
};
/* Returns whether the name is new, and stores it. The caller must hold a lock. */
bool sim_say_once(struct sim_said *said, const char *name);

#endif
