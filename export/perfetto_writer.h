/*
 * Writes the packets of a Perfetto trace: tracks, slices, counters, arguments. Each track has its
 * own clock, and a packet stores the time since the track's packet before it. The packets of up to
 * 64 tracks belong to one sequence, those of all steps together. The text of a word (trace_words.h)
 * is written once per sequence, and then referred to by its number. This module knows Perfetto's
 * schema, but not what a trace shows.
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

struct perfetto_clock {
	uint64_t track;
	uint64_t begin_ns; /* when the track's events last began */
};

/* What a trace's steps and processes have in common. All zeros is a valid start. */
struct perfetto_shared {
	uint32_t sequence;		   /* number of the current one; 0: there was none */
	VEC(struct perfetto_clock) clocks; /* of the sequence, from CLOCK_DELTA_FIRST on */
	/* The texts that the sequence has written. They are numbered as they come, because small
	 * numbers need fewer bytes. */
	struct strtab texts[USES];
	VEC(bool) is_written[USES]; /* by id of the text */
	/* of the sequence: packets of events; texts that Perfetto copies (copies_too_much()) */
	uint64_t n_packets, n_copied;
};

/* Begins another file, whose sequences have other numbers. */
void perfetto_shared_restart(struct perfetto_shared *s);
void perfetto_shared_free(struct perfetto_shared *s);

struct perfetto_word {
	uint32_t sequence; /* the last one that knows the word */
	uint32_t number;   /* of the word's text in that sequence */
};

struct perfetto_fresh {
	enum perfetto_use use;
	uint32_t word;
};

struct perfetto_writer {
	struct pb out;
	exporter_sink *sink;
	void *context;
	const struct trace_words *words;
	struct perfetto_shared *shared;
	uint64_t now_ns;				  /* time of the last packet */
	int64_t shift_ns;				  /* is added to all times */
	VEC(struct perfetto_word) words_of[USES];	  /* index: a word */
	struct perfetto_fresh fresh[TRACE_ARGS_MOST + 1]; /* words that the next event defines */
	size_t n_fresh;
};

/* `shared` must outlive the writer. */
void perfetto_start(struct perfetto_writer *w, struct perfetto_shared *shared, exporter_sink *sink,
		    void *context);
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

/* Begins the events of `track`. They begin at `begin_ns` or later, and the caller must write them
 * in order of time. */
void perfetto_events_of(struct perfetto_writer *w, uint64_t track, uint64_t begin_ns);

/* Writes the begin of a slice (TYPE_BEGIN) or an instant. `flow` is added to the numbers of its
 * arrows. */
void perfetto_event(struct perfetto_writer *w, int type, const struct trace_slice *s,
		    uint64_t flow);

/* Ends the innermost open slice. */
void perfetto_slice_end(struct perfetto_writer *w, uint64_t ns);
/* Writes a value of a counter's track. */
void perfetto_count(struct perfetto_writer *w, uint64_t ns, int64_t value);

#endif
