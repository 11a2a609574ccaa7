/* See call_waits.h. */
#include "export/call_waits.h"

#include <string.h>

const struct sync_words sync_words[WAIT_TYPES] = {
	[WAIT_TYPE_UNKNOWN] = { "Unknown Sync", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN" },
	[WAIT_TYPE_EVENT] = { "Event Sync", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_"
					    "SYNCHRONIZE" },
	[WAIT_TYPE_STREAM_WAIT] = { "Stream Wait Event", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_"
							 "STREAM_"
							 "WAIT_EVENT" },
	[WAIT_TYPE_STREAM] = { "Stream Sync", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_"
					      "SYNCHRONIZE" },
	[WAIT_TYPE_CONTEXT] = { "Context Sync", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_"
						"SYNCHRONIZE" },
};

enum sync_type sync_type_of_work(const char *name)
{
	for (unsigned i = 0; i < WAIT_TYPES; i++)
		if (!strcmp(model_sync_kind(i), name) || !strcmp(sync_words[i].kineto, name))
			return (enum sync_type)i;
	return WAIT_TYPE_UNKNOWN;
}

/* By the name of the function. */
static enum sync_type type_of_call(const char *function)
{
	if (strstr(function, "Stream"))
		return WAIT_TYPE_STREAM;
	return strstr(function, "Event") ? WAIT_TYPE_EVENT : WAIT_TYPE_CONTEXT;
}

void call_waits_look(struct call_waits *w, const struct model_step *m)
{
	free(w->has_record);
	w->has_record = mem_zero(m->calls.n * sizeof(*w->has_record));
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *work = &m->works.at[i];
		if (work->call >= m->calls.n)
			continue;
		if (work->kind == WORK_SYNC) {
			w->has_record[work->call] = true;
		} else {
			*map_at(&w->stream_of, m->calls.at[work->call].stream, NULL) = work->stream;
			w->device = work->device;
		}
	}
}

void call_waits_free(struct call_waits *w)
{
	free(w->has_record);
	map_free(&w->stream_of);
}

bool call_waits_of(const struct call_waits *w, const struct model_step *m, uint32_t call,
		   struct model_work *to, enum sync_type *type)
{
	const struct model_call *c = &m->calls.at[call];
	if (c->category != CAT_SYNC || w->has_record[call])
		return false;
	*type = type_of_call(strtab_text(&m->tables->names, c->name));
	const uint64_t *stream = *type == WAIT_TYPE_STREAM ? map_find(&w->stream_of, c->stream)
							   : NULL;
	*to = (struct model_work){ .begin_ns = c->begin_ns,
				   .end_ns = c->end_ns,
				   .kind = WORK_SYNC,
				   .call = call,
				   .stream = stream ? (uint32_t)*stream : UINT32_MAX,
				   .device = c->device < DEVICE_UNKNOWN ? c->device : w->device };
	return true;
}
