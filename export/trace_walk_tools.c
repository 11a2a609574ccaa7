/* Functions that the parts of the walk share. */
#include "export/trace_walk_parts.h"

uint64_t trace_mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
	h ^= h >> 29;
	h *= 0x94d049bb133111ebull;
	return (h ^ h >> 32) | 1;
}

void walk_bytes(struct walk *w, uint64_t bytes, uint64_t ns)
{
	walk_uint(w, TRACE_ARG_BYTES, bytes);
	if (ns)
		walk_double(w, TRACE_ARG_GB_PER_S, (double)bytes / (double)ns);
}

const struct trace_track *walk_gpu_group(const struct walk *w, uint32_t device)
{
	return device < DEVICE_UNKNOWN && w->gpus[device].kind ? &w->gpus[device] : NULL;
}
