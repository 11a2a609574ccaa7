/* Writes steps of several processes into one Perfetto trace. */
#ifndef EXPORT_PERFETTO_AS_H
#define EXPORT_PERFETTO_AS_H

#include "export/exporter.h"
#include "export/perfetto_writer.h"

/* How a process appears in the trace. Free it with perfetto_as_free(). */
struct perfetto_as {
	int64_t shift_ns;	       /* is added to all times */
	bool is_first;		       /* of the trace: writes how its clocks are related */
	struct perfetto_shared shared; /* is passed on from step to step, and from process to
					* process of a trace */
	uint64_t salt; /* makes the tracks differ from those of other processes; 0: none */
	/* 0: the process keeps its pid. Else its number: processes of several machines may have the
	 * same pid, and Perfetto would take them for one. */
	uint32_t number;
	const char *name;      /* of the process, before its command; NULL: none */
	VEC(uint32_t) threads; /* with a number: the tids that were met */
};

/* Encodes a step, as exporter_perfetto does. */
void perfetto_encode_as(const struct analyzed_step *step, struct perfetto_as *as,
			exporter_sink *sink, void *context);
void perfetto_as_free(struct perfetto_as *as);

#endif
