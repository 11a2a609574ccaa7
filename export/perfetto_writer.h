/*
 * Packets of a Perfetto trace: sequences with a clock of their own that counts on from packet to
 * packet, words that are written once per sequence, slices, counters. Knows Perfetto's schema, but
 * not what is shown.
 */
#ifndef EXPORT_PERFETTO_WRITER_H
#define EXPORT_PERFETTO_WRITER_H

#include "export/exporter.h"
#include "export/pb.h"
#include "export/perfetto_schema.h"
#include "export/trace_walk.h"

#include <stdbool.h>
#include <stdint.h>

/* What a word is used as; it is written once per sequence and use. */
enum perfetto_use { USE_EVENT_NAME, USE_ARG_TEXT, USES };

struct perfetto_writer {
	struct pb out;
	exporter_sink *sink;
	void *context;
	const struct trace_words *words;
	uint32_t sequence;		 /* of the packets being written; one per track */
	uint64_t now_ns;		 /* of the last packet */
	VEC(uint32_t) sequence_of[USES]; /* by word: the last sequence that defined it */
};

void perfetto_start(struct perfetto_writer *w, exporter_sink *sink, void *context);
void perfetto_stop(struct perfetto_writer *w);

/* Writes the first packet, which relates the clocks. */
void perfetto_begin_trace(struct perfetto_writer *w, const struct trace_words *words,
			  const struct model_clock *clock);

/* A track's descriptor. Between begin and end, fields of TrackDescriptor may be written to w->out
 * (up to 1 KiB). */
struct perfetto_place {
	uint8_t *packet, *body;
};
struct perfetto_place perfetto_track_begin(struct perfetto_writer *w, uint64_t uuid,
					   uint64_t parent, const char *name);
void perfetto_track_end(struct perfetto_writer *w, struct perfetto_place place);

/* Begins a new sequence for the events of `track`, which begin at `begin_ns` or later and come in
 * order of time. */
void perfetto_sequence(struct perfetto_writer *w, uint64_t track, uint64_t begin_ns);

/* An event. Between begin and end, fields of TrackEvent may be written to w->out (up to `extra`
 * bytes). */
struct perfetto_place perfetto_event_begin(struct perfetto_writer *w, uint64_t ns, int type,
					   uint32_t word, enum trace_category category,
					   size_t extra);
/* The same for a name that occurs once: it is written out. */
struct perfetto_place perfetto_event_begin_text(struct perfetto_writer *w, uint64_t ns, int type,
						const char *name, enum trace_category category,
						size_t extra);
void perfetto_event_end(struct perfetto_writer *w, struct perfetto_place place);

/* Ends the open slice. */
void perfetto_slice_end(struct perfetto_writer *w, uint64_t ns);
void perfetto_count(struct perfetto_writer *w, uint64_t ns, int64_t value);

void perfetto_define_now(struct perfetto_writer *w, enum perfetto_use use, uint32_t word);

/* Defines the word for this use, unless the sequence has it already. Not within an event. Returns
 * its number there. */
static inline uint32_t perfetto_define(struct perfetto_writer *w, enum perfetto_use use,
				       uint32_t word)
{
	if (word >= w->sequence_of[use].n || w->sequence_of[use].at[word] != w->sequence)
		perfetto_define_now(w, use, word);
	return word + 1;
}

/* ---- Arguments, within an event ---- */

enum {
	PERFETTO_ARG_ROOM = 48, /* an argument, without the bytes of a text */
	PERFETTO_FLOW_ROOM = 10,
};

/* Writes arguments. Words must have been defined as USE_ARG_TEXT. */
void perfetto_args(struct pb *b, const struct trace_arg *args, size_t n);

#endif
