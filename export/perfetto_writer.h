/*
 * Packets of a Perfetto trace: sequences with a clock of their own that counts on from packet to packet, words that are
 * written once per sequence, slices, counters. Knows Perfetto's schema, but nothing of what is shown.
 */
#ifndef EXPORT_PERFETTO_WRITER_H
#define EXPORT_PERFETTO_WRITER_H

#include "core/util/strtab.h"
#include "export/pb.h"
#include "export/perfetto.h"
#include "export/perfetto_schema.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A text that is written once per sequence, as event name or argument: one of the model's names or one of the writer's own. A word
 * stays the same over the trace.
 */
static inline uint32_t perfetto_name(uint32_t name)
{
	return name * 2;
}

enum perfetto_use { USE_EVENT_NAME, USE_ARG_TEXT, USES };

struct perfetto_writer {
	struct pb out;
	perfetto_write *write;
	void *context;
	const struct strtab *names;
	struct strtab own;
	uint32_t sequence;		 /* of the packets being written; one per track */
	uint64_t now_ns;		 /* of the last packet */
	VEC(uint32_t) sequence_of[USES]; /* per word: the sequence that has it last */
};

uint32_t perfetto_word(struct perfetto_writer *w, const char *text);
const char *perfetto_word_text(const struct perfetto_writer *w, uint32_t word);

void perfetto_start(struct perfetto_writer *w, const struct strtab *names, perfetto_write *write,
		    void *context);
void perfetto_stop(struct perfetto_writer *w);

/* The relation of the clocks: the first packet. */
void perfetto_clocks(struct perfetto_writer *w, uint64_t monotonic, uint64_t boottime,
		     uint64_t realtime);

/* A track's descriptor. Between the two, fields of TrackDescriptor may be written to w->out (up to 1 KiB). */
struct perfetto_place {
	uint8_t *packet, *body;
};
struct perfetto_place perfetto_track_begin(struct perfetto_writer *w, uint64_t uuid,
					   uint64_t parent, const char *name);
void perfetto_track_end(struct perfetto_writer *w, struct perfetto_place place);

/* Begins a new sequence for the events of `track`, in order of time from here on. */
void perfetto_sequence(struct perfetto_writer *w, uint64_t track, uint64_t begin_ns);

/* An event; between the two, fields of TrackEvent may be written to w->out (up to `extra` bytes). */
struct perfetto_place perfetto_event_begin(struct perfetto_writer *w, uint64_t ns, int type,
					   uint32_t word, uint32_t category, size_t extra);
void perfetto_event_end(struct perfetto_writer *w, struct perfetto_place place);

/* The end of the slice that is open. */
void perfetto_slice_end(struct perfetto_writer *w, uint64_t ns);
void perfetto_count(struct perfetto_writer *w, uint64_t ns, int64_t value);

/* The same for a name that comes once: it is written out. */
struct perfetto_place perfetto_event_begin_text(struct perfetto_writer *w, uint64_t ns, int type,
						const char *name, uint32_t category, size_t extra);

/* Numbers of fixed words: categories of calls come first, then PERFETTO_CATEGORIES. */
enum perfetto_category { PERFETTO_CATEGORY_CALLS = 1 };
uint32_t perfetto_category(unsigned index);

/* Makes sure that the sequence knows the word in this use; its number there. Between events. */
uint32_t perfetto_define(struct perfetto_writer *w, enum perfetto_use use, uint32_t word);

static inline uint32_t perfetto_arg_text(struct perfetto_writer *w, uint32_t word)
{
	return perfetto_define(w, USE_ARG_TEXT, word);
}

/* ---- Arguments, within an event ---- */

static inline void perfetto_arg_uint(struct pb *b, enum perfetto_arg arg, uint64_t value)
{
	uint8_t *place = pb_begin(b, EVENT_ARGS);
	pb_uint(b, ARG_NAME_IID, arg);
	pb_uint(b, ARG_UINT, value);
	pb_end(b, place);
}

static inline void perfetto_arg_pointer(struct pb *b, enum perfetto_arg arg, uint64_t value)
{
	uint8_t *place = pb_begin(b, EVENT_ARGS);
	pb_uint(b, ARG_NAME_IID, arg);
	pb_uint(b, ARG_POINTER, value);
	pb_end(b, place);
}

static inline void perfetto_arg_double(struct pb *b, enum perfetto_arg arg, double value)
{
	uint8_t *place = pb_begin(b, EVENT_ARGS);
	pb_uint(b, ARG_NAME_IID, arg);
	pb_double(b, ARG_DOUBLE, value);
	pb_end(b, place);
}

/* `text` is short: it is written out. */
static inline void perfetto_arg_string(struct pb *b, enum perfetto_arg arg, const char *text)
{
	uint8_t *place = pb_begin(b, EVENT_ARGS);
	pb_uint(b, ARG_NAME_IID, arg);
	pb_text(b, ARG_STRING, text);
	pb_end(b, place);
}

/* `number` is from perfetto_arg_text, before the event was begun. */
static inline void perfetto_arg_interned(struct pb *b, enum perfetto_arg arg, uint32_t number)
{
	uint8_t *place = pb_begin(b, EVENT_ARGS);
	pb_uint(b, ARG_NAME_IID, arg);
	pb_uint(b, ARG_STRING_IID, number);
	pb_end(b, place);
}

static inline void perfetto_arg_triple(struct pb *b, enum perfetto_arg arg, const uint32_t value[3])
{
	uint8_t *place = pb_begin(b, EVENT_ARGS);
	pb_uint(b, ARG_NAME_IID, arg);
	for (int i = 0; i < 3; i++) {
		uint8_t *item = pb_begin(b, ARG_ARRAY);
		pb_uint(b, ARG_UINT, value[i]);
		pb_end(b, item);
	}
	pb_end(b, place);
}

#endif
