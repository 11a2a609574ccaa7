/* Why a device was idle. */
#ifndef CORE_IDLE_CAUSES_H
#define CORE_IDLE_CAUSES_H

/*        id          name */
#define IDLE_CAUSES(X)              \
	X(SYNC, "sync")             \
	X(LAUNCH, "launch")         \
	X(INPUT, "input")           \
	X(ALLOC, "alloc")           \
	X(COPY, "copy")             \
	X(COLLECTIVE, "collective") \
	X(MODULE, "module")         \
	X(PROFILER, "profiler")     \
	X(UNKNOWN, "unknown")

enum idle_cause {
#define X(id, name) IDLE_##id,
	IDLE_CAUSES(X)
#undef X
		IDLE_CAUSES_N
};

#endif
