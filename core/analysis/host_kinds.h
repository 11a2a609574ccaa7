/* What the CPU did between two CUDA calls, as samples show it (struct model_sample). */
#ifndef CORE_HOST_KINDS_H
#define CORE_HOST_KINDS_H

#include "core/analysis/idle_causes.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * X(id, name in report.json, noun in the report, idle cause). PYTHON includes native code that
 * Python called: a sample of a running thread has Python frames only. NATIVE: a running thread
 * without Python frames. FRAMEWORK: code of a framework on its way to the next launch
 * (ABOUT_LAUNCHING).
 */
#define HOST_KINDS(X)                                           \
	X(UNKNOWN, "unknown", "unknown", LAUNCH)                \
	X(PYTHON, "python", "Python code", HOST)                \
	X(NATIVE, "native", "native code", HOST)                \
	X(FRAMEWORK, "framework", "framework code", LAUNCH)     \
	X(GC, "gc", "garbage collection", GC)                   \
	X(LOCK, "lock", "waiting for a lock", LOCK)             \
	X(GIL, "gil", "waiting for Python's GIL", GIL)          \
	X(IO, "io", "input/output", IO)                         \
	X(SLEEP, "sleep", "sleeping", SLEEP)                    \
	X(CHILD, "child", "waiting for a child process", CHILD) \
	X(LOOP, "event_loop", "idle event loop", LOOP)          \
	X(LOADER, "loader", "data loading", INPUT)

enum host_kind {
#define X(id, ...) HOST_##id,
	HOST_KINDS(X)
#undef X
		HOST_KINDS_N
};

struct host_kind_row {
	const char *name, *noun;
	enum idle_cause cause;
};

extern const struct host_kind_row host_kinds[HOST_KINDS_N];

/* Returns the kind of a sample. `state`, `flags`: those of the sample; `about`: enum stack_about
 * bits of its stack; `has_python`: the stack has Python frames. */
enum host_kind host_kind_of(uint8_t state, uint8_t flags, bool has_python, uint32_t about);

/* Returns true if a sample of this kind shows that the host did not work, but slept, waited for a
 * lock or a file, or collected garbage. */
bool host_kind_is_stall(uint8_t kind);

#endif
