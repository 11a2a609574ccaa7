/*
 * Writes the packets of a Perfetto trace: tracks, slices, counters, arguments. Packets belong to
 * sequences. Each sequence has its own clock, and a packet stores the time since the packet before
 * it. A word (trace_words.h) is written once per sequence, and then referred to by its number. This
 * module knows Perfetto's schema, but not what a trace shows.
 */
#ifndef EXPORT_PERFETTO_WRITER_H
#define EXPORT_PERFETTO_WRITER_H

#include "export/exporter.h"
#include "export/pb.h"
#include "export/perfetto_schema.h"
#include "export/trace_walk.h"

#include <stdbool.h>
#include <stdint.h>

/* What a word is used for. A word is written once per sequence and use. */
enum perfetto_use { USE_EVENT_NAME, USE_ARG_TEXT, USES };

struct perfetto_writer {
	struct pb out;
	exporter_sink *sink;
	void *context;
	const struct trace_words *words;
	uint32_t sequence; /* number of the current sequence; each track has one */
	uint64_t now_ns;   /* time of the last packet */
	int64_t shift_ns;  /* is added to all times */
	VEC(uint32_t)
	sequence_of[USES]; /* index: a word; value: the last sequence that defined
					  * the word */
};

void perfetto_start(struct perfetto_writer *w, exporter_sink *sink, void *context);
void perfetto_stop(struct perfetto_writer *w);

/* Begins the packets of a process. Writes how the clocks are related, unless `clock` is NULL. */
void perfetto_begin_trace(struct perfetto_writer *w, const struct trace_words *words,
			  const struct model_clock *clock);

/* Positions in an unfinished packet. Between perfetto_track_begin() and perfetto_track_end(), the
 * caller may write fields of TrackDescriptor to w->out, up to 1 KiB. */
struct perfetto_place {
	uint8_t *packet, *body;
};
struct perfetto_place perfetto_track_begin(struct perfetto_writer *w, uint64_t uuid,
					   uint64_t parent, const char *name);
void perfetto_track_end(struct perfetto_writer *w, struct perfetto_place place);

/* Begins a new sequence for the events of `track`. The events begin at `begin_ns` or later, and the
 * caller must write them in order of time. */
void perfetto_sequence(struct perfetto_writer *w, uint64_t track, uint64_t begin_ns);

/* Begins an event. Until perfetto_event_end(), the caller may write fields of TrackEvent to w->out,
 * up to `extra` bytes. */
struct perfetto_place perfetto_event_begin(struct perfetto_writer *w, uint64_t ns, int type,
					   uint32_t word, enum trace_category category,
					   size_t extra);
/* Like perfetto_event_begin(), but for a name that occurs only once: writes the name itself. */
struct perfetto_place perfetto_event_begin_text(struct perfetto_writer *w, uint64_t ns, int type,
						const char *name, enum trace_category category,
						size_t extra);
void perfetto_event_end(struct perfetto_writer *w, struct perfetto_place place);

/* Ends the innermost open slice. */
void perfetto_slice_end(struct perfetto_writer *w, uint64_t ns);
/* Writes a value of a counter's track. */
void perfetto_count(struct perfetto_writer *w, uint64_t ns, int64_t value);

/* Called by perfetto_define(). */
void perfetto_define_now(struct perfetto_writer *w, enum perfetto_use use, uint32_t word);

/* Defines the word for this use, unless the current sequence has defined it. Must not be called
 * within an event, because it writes a packet. Returns the word's number in the sequence. */
static inline uint32_t perfetto_define(struct perfetto_writer *w, enum perfetto_use use,
				       uint32_t word)
{
	if (word >= w->sequence_of[use].n || w->sequence_of[use].at[word] != w->sequence)
		perfetto_define_now(w, use, word);
	return word + 1;
}

/* ---- Arguments, within an event ---- */

enum {
	PERFETTO_ARG_ROOM = 48,	 /* bytes for an argument without its text */
	PERFETTO_FLOW_ROOM = 10, /* bytes for one end of an arrow */
};

/* Writes arguments. Words must have been defined as USE_ARG_TEXT. */
void perfetto_args(struct pb *b, const struct trace_arg *args, size_t n);

#endif
