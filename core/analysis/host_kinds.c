/* See host_kinds.h. */
#include "core/analysis/host_kinds.h"

#include "core/runtime/kinds.h"
#include "core/symbols/stack_about.h"

const struct host_kind_row host_kinds[HOST_KINDS_N] = {
#define X(id, name, noun, cause) { name, noun, IDLE_##cause },
	HOST_KINDS(X)
#undef X
};

bool host_kind_is_stall(uint8_t kind)
{
	return kind == HOST_GC || kind == HOST_LOCK || kind == HOST_GIL || kind == HOST_IO ||
	       kind == HOST_LOOP || kind == HOST_SLEEP || kind == HOST_CHILD;
}

enum host_kind host_kind_of(uint8_t state, uint8_t flags, bool has_python, uint32_t about)
{
	if (flags & SAMPLE_COLLECTING)
		return HOST_GC;
	/* in a loader, waiting for a worker process is data loading too */
	if (about & ABOUT_INPUT)
		return HOST_LOADER;
	switch (state) {
	case SAMPLE_LOCK:
		return HOST_LOCK;
	case SAMPLE_GIL:
		return HOST_GIL;
	case SAMPLE_POLL:
		if (about & ABOUT_IDLE_LOOP)
			return HOST_LOOP;
		/* fallthrough */
	case SAMPLE_IO: /* a child's output ends when the child does */
		return about & ABOUT_CHILD ? HOST_CHILD : HOST_IO;
	case SAMPLE_SLEEP:
		return HOST_SLEEP;
	case SAMPLE_CHILD:
		return HOST_CHILD;
	default:
		if (about & ABOUT_LAUNCHING)
			return HOST_FRAMEWORK;
		return has_python ? HOST_PYTHON : HOST_NATIVE;
	}
}
