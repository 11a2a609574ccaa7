/* See perfetto_writer.h. A sequence per track keeps times ascending, so a slice's end costs five bytes. */
#include "export/perfetto_writer.h"

#include "core/runtime/kinds.h"
#include "core/util/vec.h"

enum {
	FLUSH_BYTES = 1 << 20,
	PACKET_ROOM = 512, /* an event without its extras; a descriptor without its name */
};

static const char *const arg_names[] = { NULL,
#define X(id, name) name,
					 PERFETTO_ARGS(X)
#undef X
};

static const char *const category_names[] = {
#define X(id, name, gpu) name,
	RECORD_CATEGORIES(X)
#undef X
		"other",
#define X(id, name) name,
	PERFETTO_CATEGORIES(X)
#undef X
};

enum {
	N_ARGS = sizeof(arg_names) / sizeof(*arg_names),
	N_CATEGORIES = sizeof(category_names) / sizeof(*category_names)
};

uint32_t perfetto_category(unsigned index)
{
	return index < N_CATEGORIES ? index + 1 : CAT_COUNT + 1;
}

static void flush(struct perfetto_writer *w)
{
	if (pb_used(&w->out))
		w->write(w->context, w->out.start, pb_used(&w->out));
	w->out.at = w->out.start;
}

static uint8_t *packet_begin(struct perfetto_writer *w, size_t extra)
{
	if (pb_used(&w->out) > FLUSH_BYTES)
		flush(w);
	if ((size_t)(w->out.end - w->out.at) < extra + PACKET_ROOM)
		pb_reserve(&w->out, extra + PACKET_ROOM + FLUSH_BYTES);
	return pb_begin(&w->out, TRACE_PACKET);
}

void perfetto_start(struct perfetto_writer *w, const struct strtab *names, perfetto_write *write,
		    void *context)
{
	*w = (struct perfetto_writer){ .write = write, .context = context, .names = names };
}

uint32_t perfetto_word(struct perfetto_writer *w, const char *text)
{
	return strtab_intern(&w->own, text) * 2 + 1;
}

const char *perfetto_word_text(const struct perfetto_writer *w, uint32_t word)
{
	return strtab_text(word & 1 ? &w->own : w->names, word / 2);
}

void perfetto_stop(struct perfetto_writer *w)
{
	flush(w);
	pb_free(&w->out);
	strtab_free(&w->own);
	for (int use = 0; use < USES; use++)
		vec_free(&w->sequence_of[use]);
}

static void write_clock(struct pb *b, uint32_t id, uint64_t timestamp, bool is_incremental)
{
	uint8_t *clock = pb_begin(b, SNAPSHOT_CLOCKS);
	pb_uint(b, CLOCK_ID, id);
	pb_uint(b, CLOCK_TIMESTAMP, timestamp);
	if (is_incremental)
		pb_uint(b, CLOCK_IS_INCREMENTAL, 1);
	pb_end(b, clock);
}

void perfetto_clocks(struct perfetto_writer *w, uint64_t monotonic, uint64_t boottime,
		     uint64_t realtime)
{
	uint8_t *packet = packet_begin(w, 0);
	uint8_t *snapshot = pb_begin(&w->out, PACKET_CLOCK_SNAPSHOT);
	write_clock(&w->out, CLOCK_MONOTONIC_ID, monotonic, false);
	write_clock(&w->out, CLOCK_BOOTTIME_ID, boottime, false);
	write_clock(&w->out, CLOCK_REALTIME_ID, realtime, false);
	pb_uint(&w->out, SNAPSHOT_PRIMARY, CLOCK_MONOTONIC_ID);
	pb_end(&w->out, snapshot);
	pb_uint(&w->out, PACKET_SEQUENCE_ID, 1);
	pb_end(&w->out, packet);
	w->sequence = 1;
}

struct perfetto_place perfetto_track_begin(struct perfetto_writer *w, uint64_t uuid,
					   uint64_t parent, const char *name)
{
	struct perfetto_place place;
	place.packet = packet_begin(w, 1024 + (name ? strlen(name) : 0));
	pb_uint(&w->out, PACKET_SEQUENCE_ID, 1);
	place.body = pb_begin(&w->out, PACKET_TRACK_DESCRIPTOR);
	pb_uint(&w->out, TRACK_UUID, uuid);
	if (parent)
		pb_uint(&w->out, TRACK_PARENT, parent);
	if (name)
		pb_text(&w->out, TRACK_NAME, name);
	return place;
}

void perfetto_track_end(struct perfetto_writer *w, struct perfetto_place place)
{
	pb_end(&w->out, place.body);
	pb_end(&w->out, place.packet);
}

static void intern(struct pb *b, uint32_t field, uint64_t number, const char *text)
{
	uint8_t *entry = pb_begin(b, field);
	pb_uint(b, INTERNED_IID, number);
	pb_text(b, INTERNED_TEXT, text);
	pb_end(b, entry);
}

void perfetto_sequence(struct perfetto_writer *w, uint64_t track, uint64_t begin_ns)
{
	struct pb *b = &w->out;
	uint8_t *packet = packet_begin(w, 4096);
	w->sequence++;
	w->now_ns = begin_ns;
	pb_uint(b, PACKET_SEQUENCE_ID, w->sequence);
	pb_uint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
	uint8_t *snapshot = pb_begin(b, PACKET_CLOCK_SNAPSHOT);
	write_clock(b, CLOCK_DELTA_ID, begin_ns, true);
	write_clock(b, CLOCK_MONOTONIC_ID, begin_ns, false);
	pb_end(b, snapshot);
	uint8_t *defaults = pb_begin(b, PACKET_DEFAULTS);
	pb_uint(b, DEFAULTS_TIMESTAMP_CLOCK_ID, CLOCK_DELTA_ID);
	uint8_t *event = pb_begin(b, DEFAULTS_TRACK_EVENT);
	pb_uint(b, EVENT_TRACK_UUID, track);
	pb_end(b, event);
	pb_end(b, defaults);
	uint8_t *words = pb_begin(b, PACKET_INTERNED_DATA);
	for (uint32_t i = 0; i < N_CATEGORIES; i++)
		intern(b, INTERNED_CATEGORIES, i + 1, category_names[i]);
	for (uint32_t i = 1; i < N_ARGS; i++)
		intern(b, INTERNED_ARG_NAMES, i, arg_names[i]);
	pb_end(b, words);
	pb_end(b, packet);
}

/* The packet's head with the time since the last one; time never runs backwards within a sequence. */
static uint8_t *timed_packet(struct perfetto_writer *w, uint64_t ns, size_t extra)
{
	uint8_t *packet = packet_begin(w, extra);
	uint64_t delta = ns > w->now_ns ? ns - w->now_ns : 0;
	w->now_ns += delta;
	pb_uint(&w->out, PACKET_TIMESTAMP, delta);
	pb_uint(&w->out, PACKET_SEQUENCE_ID, w->sequence);
	pb_uint(&w->out, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	return packet;
}

static void make_room(struct perfetto_writer *w, enum perfetto_use use, uint32_t word)
{
	size_t before = w->sequence_of[use].n, wanted = w->names->texts.n * 2;
	if (wanted <= word)
		wanted = word + word / 2 + 1;
	vec_reserve(&w->sequence_of[use], wanted - before);
	memset(w->sequence_of[use].at + before, 0,
	       (wanted - before) * sizeof(*w->sequence_of[use].at));
	w->sequence_of[use].n = wanted;
}

/* A packet of its own: the event that wants the text is about to begin. */
static void define(struct perfetto_writer *w, enum perfetto_use use, uint32_t word)
{
	static const uint8_t fields[USES] = {
		[USE_EVENT_NAME] = INTERNED_EVENT_NAMES,
		[USE_ARG_TEXT] = INTERNED_ARG_STRINGS,
	};
	const char *text = perfetto_word_text(w, word);
	uint8_t *packet = packet_begin(w, strlen(text));
	pb_uint(&w->out, PACKET_SEQUENCE_ID, w->sequence);
	pb_uint(&w->out, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	uint8_t *words = pb_begin(&w->out, PACKET_INTERNED_DATA);
	intern(&w->out, fields[use], word + 1, text);
	pb_end(&w->out, words);
	pb_end(&w->out, packet);
}

uint32_t perfetto_define(struct perfetto_writer *w, enum perfetto_use use, uint32_t word)
{
	if (word >= w->sequence_of[use].n)
		make_room(w, use, word);
	if (w->sequence_of[use].at[word] != w->sequence) {
		w->sequence_of[use].at[word] = w->sequence;
		define(w, use, word);
	}
	return word + 1;
}

struct perfetto_place perfetto_event_begin(struct perfetto_writer *w, uint64_t ns, int type,
					   uint32_t word, uint32_t category, size_t extra)
{
	struct perfetto_place place;
	uint32_t name = perfetto_define(w, USE_EVENT_NAME, word);
	place.packet = timed_packet(w, ns, extra);
	place.body = pb_begin(&w->out, PACKET_TRACK_EVENT);
	pb_uint(&w->out, EVENT_TYPE, (uint64_t)type);
	pb_uint(&w->out, EVENT_NAME_IID, name);
	pb_uint(&w->out, EVENT_CATEGORY_IIDS, category);
	return place;
}

struct perfetto_place perfetto_event_begin_text(struct perfetto_writer *w, uint64_t ns, int type,
						const char *name, uint32_t category, size_t extra)
{
	struct perfetto_place place = { .packet = timed_packet(w, ns, extra + strlen(name)) };
	place.body = pb_begin(&w->out, PACKET_TRACK_EVENT);
	pb_uint(&w->out, EVENT_TYPE, (uint64_t)type);
	pb_text(&w->out, EVENT_NAME, name);
	pb_uint(&w->out, EVENT_CATEGORY_IIDS, category);
	return place;
}

void perfetto_event_end(struct perfetto_writer *w, struct perfetto_place place)
{
	pb_end(&w->out, place.body);
	pb_end(&w->out, place.packet);
}

void perfetto_slice_end(struct perfetto_writer *w, uint64_t ns)
{
	uint8_t *packet = timed_packet(w, ns, 0);
	uint8_t *event = pb_begin(&w->out, PACKET_TRACK_EVENT);
	pb_uint(&w->out, EVENT_TYPE, TYPE_END);
	pb_end(&w->out, event);
	pb_end(&w->out, packet);
}

void perfetto_count(struct perfetto_writer *w, uint64_t ns, int64_t value)
{
	uint8_t *packet = timed_packet(w, ns, 0);
	uint8_t *event = pb_begin(&w->out, PACKET_TRACK_EVENT);
	pb_uint(&w->out, EVENT_TYPE, TYPE_COUNTER);
	pb_uint(&w->out, EVENT_COUNTER_VALUE, (uint64_t)value);
	pb_end(&w->out, event);
	pb_end(&w->out, packet);
}
