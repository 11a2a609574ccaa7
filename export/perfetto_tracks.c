/* Tracks of a process's trace: their uuids and what they stand below; facts that several kinds of events have. */
#include "export/perfetto_trace.h"

uint64_t perfetto_mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
	h ^= h >> 29;
	h *= 0x94d049bb133111ebull;
	return (h ^ h >> 32) | 1; /* 0 is Perfetto's "no track" */
}

uint64_t perfetto_track_uuid(const struct trace *t, enum perfetto_track_kind kind, uint64_t id)
{
	return perfetto_mix(t->salt, perfetto_mix(kind, id)) >> 1 |
	       1; /* SQL's integers are signed */
}

void perfetto_write_bytes(struct pb *b, uint64_t bytes, uint64_t ns)
{
	perfetto_arg_uint(b, PERFETTO_ARG_BYTES, bytes);
	if (ns)
		perfetto_arg_double(b, PERFETTO_ARG_GB_PER_S, (double)bytes / (double)ns);
}

uint64_t perfetto_process_child(struct trace *t, enum perfetto_track_kind kind, uint64_t id,
				const char *name)
{
	uint64_t uuid = perfetto_track_uuid(t, kind, id);
	struct perfetto_place place = perfetto_track_begin(
		&t->w, uuid, perfetto_track_uuid(t, TRACK_KIND_PROCESS, 0), name);
	perfetto_track_end(&t->w, place);
	return uuid;
}

uint64_t perfetto_gpu_parent(const struct trace *t, uint32_t device)
{
	bool has_group = device < DEVICE_UNKNOWN && !t->has_one_device;
	return perfetto_track_uuid(t, has_group ? TRACK_KIND_GPU : TRACK_KIND_PROCESS,
				   has_group ? device : 0);
}
