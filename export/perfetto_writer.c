/* See perfetto_writer.h. Each track has its own clock, and times ascend within a track. So the end
 * of a slice stores only the time since the last packet, and takes 12 bytes or a few more. */
#include "export/perfetto_writer.h"

enum {
	FIRST_SEQUENCE = 1, /* of clocks and descriptions of tracks */
	CLOCKS = CLOCK_DELTA_LAST - CLOCK_DELTA_FIRST + 1,
	CONSTANT_WORDS = TRACE_CATEGORY_NAMES + TRACE_ARG_NAMES - 1,
	FLUSH_BYTES = 1 << 20,
	PACKET_ROOM = 512, /* bytes for an event without its extras, or for a descriptor without
			    * its name */
	ARG_ROOM = 48,	   /* bytes for an argument without its text */
	FLOW_ROOM = 10,	   /* bytes for one end of an arrow */
	WORD_ROOM = 24,	   /* bytes for the definition of a word without its text */
};

static void flush(struct perfetto_writer *w)
{
	if (pb_used(&w->out))
		w->sink(w->context, w->out.start, pb_used(&w->out));
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

void perfetto_start(struct perfetto_writer *w, struct perfetto_shared *shared, exporter_sink *sink,
		    void *context)
{
	*w = (struct perfetto_writer){ .shared = shared, .sink = sink, .context = context };
}

void perfetto_stop(struct perfetto_writer *w)
{
	flush(w);
	pb_free(&w->out);
	for (int use = 0; use < USES; use++)
		vec_free(&w->words_of[use]);
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

/* Relates all other clocks to the monotonic clock. */
void perfetto_begin_trace(struct perfetto_writer *w, const struct trace_words *words,
			  const struct model_clock *clock)
{
	struct pb *b = &w->out;
	w->words = words;
	if (!clock)
		return;
	uint8_t *packet = packet_begin(w, 0);
	uint8_t *snapshot = pb_begin(b, PACKET_CLOCK_SNAPSHOT);
	write_clock(b, CLOCK_MONOTONIC_ID, clock->monotonic_ns, false);
	write_clock(b, CLOCK_BOOTTIME_ID, clock->boottime_ns, false);
	write_clock(b, CLOCK_REALTIME_ID, clock->realtime_ns, false);
	pb_uint(b, SNAPSHOT_PRIMARY, CLOCK_MONOTONIC_ID);
	pb_end(b, snapshot);
	pb_uint(b, PACKET_SEQUENCE_ID, FIRST_SEQUENCE);
	pb_end(b, packet);
}

struct perfetto_place perfetto_track_begin(struct perfetto_writer *w, uint64_t uuid,
					   uint64_t parent, const char *name)
{
	struct perfetto_place place;
	place.packet = packet_begin(w, 1024 + (name ? strlen(name) : 0));
	pb_uint(&w->out, PACKET_SEQUENCE_ID, FIRST_SEQUENCE);
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

void perfetto_shared_restart(struct perfetto_shared *s)
{
	s->clocks.n = 0; /* the next track begins a sequence */
	s->n_packets = s->n_copied = 0;
	for (int use = 0; use < USES; use++) {
		strtab_free(&s->texts[use]);
		vec_free(&s->is_written[use]);
	}
}

void perfetto_shared_free(struct perfetto_shared *s)
{
	perfetto_shared_restart(s);
	vec_free(&s->clocks);
}

/* Whenever the track of a sequence changes, Perfetto copies all texts that the sequence has
 * written. Returns whether it copies more than two per packet, besides the constant words of 64
 * tracks. Then another sequence, which writes its texts again, needs less time and memory. */
static bool copies_too_much(const struct perfetto_shared *s)
{
	return s->n_copied > 2 * s->n_packets + CLOCKS * CONSTANT_WORDS;
}

/* Returns the number of a clock for the track. Begins a sequence if there is none, no clock is
 * left, or Perfetto copies too much. A clock may be set only forwards. */
static uint32_t choose_clock(struct perfetto_shared *s, uint64_t track, uint64_t begin_ns)
{
	size_t i = 0;
	while (i < s->clocks.n &&
	       (s->clocks.at[i].track != track || s->clocks.at[i].begin_ns > begin_ns))
		i++;
	for (int use = 0; use < USES; use++)
		s->n_copied += s->texts[use].texts.n;
	s->n_copied += CONSTANT_WORDS;
	if (i == CLOCKS || copies_too_much(s)) {
		perfetto_shared_restart(s);
		i = 0;
	}
	if (!s->clocks.n)
		s->sequence = s->sequence ? s->sequence + 1 : FIRST_SEQUENCE + 1;
	if (i == s->clocks.n)
		vec_push(&s->clocks, (struct perfetto_clock){ 0 });
	s->clocks.at[i] = (struct perfetto_clock){ track, begin_ns };
	return CLOCK_DELTA_FIRST + (uint32_t)i;
}

static void write_constant_words(struct pb *b)
{
	uint8_t *words = pb_begin(b, PACKET_INTERNED_DATA);
	for (uint32_t i = 0; i < TRACE_CATEGORY_NAMES; i++)
		intern(b, INTERNED_CATEGORIES, i + 1, trace_category_names[i]);
	for (uint32_t i = 1; i < TRACE_ARG_NAMES; i++)
		intern(b, INTERNED_ARG_NAMES, i, trace_arg_names[i]);
	pb_end(b, words);
}

void perfetto_events_of(struct perfetto_writer *w, uint64_t track, uint64_t begin_ns)
{
	struct pb *b = &w->out;
	uint8_t *packet = packet_begin(w, 4096);
	uint32_t before = w->shared->sequence, clock = choose_clock(w->shared, track, begin_ns);
	bool is_new = w->shared->sequence != before;
	w->now_ns = begin_ns;
	pb_uint(b, PACKET_SEQUENCE_ID, w->shared->sequence);
	pb_uint(b, PACKET_SEQUENCE_FLAGS, is_new ? SEQUENCE_STATE_CLEARED : SEQUENCE_NEEDS_STATE);
	uint8_t *snapshot = pb_begin(b, PACKET_CLOCK_SNAPSHOT);
	write_clock(b, clock, begin_ns, true);
	write_clock(b, CLOCK_MONOTONIC_ID, begin_ns + (uint64_t)w->shift_ns, false);
	pb_end(b, snapshot);
	uint8_t *defaults = pb_begin(b, PACKET_DEFAULTS);
	pb_uint(b, DEFAULTS_TIMESTAMP_CLOCK_ID, clock);
	uint8_t *event = pb_begin(b, DEFAULTS_TRACK_EVENT);
	pb_uint(b, EVENT_TRACK_UUID, track);
	pb_end(b, event);
	pb_end(b, defaults);
	if (is_new)
		write_constant_words(b);
	pb_end(b, packet);
}

/* Begins a packet with the time since the last packet. If `ns` is earlier than the last packet,
 * stores 0, because time cannot run backwards on a track. */
static uint8_t *timed_packet(struct perfetto_writer *w, uint64_t ns, size_t extra)
{
	uint8_t *packet = packet_begin(w, extra);
	uint64_t delta = ns > w->now_ns ? ns - w->now_ns : 0;
	w->now_ns += delta;
	w->shared->n_packets++;
	pb_uint(&w->out, PACKET_TIMESTAMP, delta);
	pb_uint(&w->out, PACKET_SEQUENCE_ID, w->shared->sequence);
	pb_uint(&w->out, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	return packet;
}

/* ---- Words ---- */

static void make_room(struct perfetto_writer *w, enum perfetto_use use, uint32_t word)
{
	size_t before = w->words_of[use].n, wanted = w->words->names->texts.n * 2;
	if (wanted <= word)
		wanted = word + word / 2 + 1;
	vec_reserve(&w->words_of[use], wanted - before);
	memset(w->words_of[use].at + before, 0, (wanted - before) * sizeof(*w->words_of[use].at));
	w->words_of[use].n = wanted;
}

/* Gives the word the number of its text. If the sequence has not written the text, notes that the
 * next packet must. Returns how many bytes that needs. */
static size_t number_word(struct perfetto_writer *w, enum perfetto_use use, uint32_t word)
{
	struct perfetto_shared *s = w->shared;
	const char *text = trace_word_text(w->words, word);
	uint32_t id = strtab_intern(&s->texts[use], text);
	if (word >= w->words_of[use].n)
		make_room(w, use, word);
	w->words_of[use].at[word] =
		(struct perfetto_word){ .sequence = s->sequence, .number = id + 1 };
	vec_at_id(&s->is_written[use], id);
	if (s->is_written[use].at[id])
		return 0;
	s->is_written[use].at[id] = true;
	w->fresh[w->n_fresh++] = (struct perfetto_fresh){ .use = use, .word = word };
	return strlen(text) + WORD_ROOM;
}

/* Returns how many bytes the definition of the word needs: 0 if the sequence has written it. */
static inline size_t need_word(struct perfetto_writer *w, enum perfetto_use use, uint32_t word)
{
	if (word < w->words_of[use].n && w->words_of[use].at[word].sequence == w->shared->sequence)
		return 0;
	return number_word(w, use, word);
}

/* Defines the words that the packet is the first to need. */
static void define_words(struct perfetto_writer *w)
{
	static const uint8_t fields[USES] = {
		[USE_EVENT_NAME] = INTERNED_EVENT_NAMES,
		[USE_ARG_TEXT] = INTERNED_ARG_STRINGS,
	};
	uint8_t *words = pb_begin(&w->out, PACKET_INTERNED_DATA);
	for (size_t i = 0; i < w->n_fresh; i++) {
		const struct perfetto_fresh *f = &w->fresh[i];
		intern(&w->out, fields[f->use], w->words_of[f->use].at[f->word].number,
		       trace_word_text(w->words, f->word));
	}
	pb_end(&w->out, words);
	w->n_fresh = 0;
}

/* ---- Arguments ---- */

_Static_assert(TRACE_ARG_NAMES <= 0x80, "an argument's name is written as one byte");

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
	size_t n = strlen(text);
	*at++ = ARG_STRING << 3 | 2;
	at = put_varint(at, n);
	return pb_copy_text(at, text, n);
}

static uint8_t *put_triple(uint8_t *at, const uint32_t value[3])
{
	for (int i = 0; i < 3; i++) {
		uint8_t *item = at;
		item[0] = ARG_ARRAY << 3 | 2;
		item[2] = ARG_UINT << 3;
		at = put_varint(item + 3, value[i]);
		item[1] = (uint8_t)(at - item - 2);
	}
	return at;
}

static inline uint8_t *put_value(uint8_t *at, const struct perfetto_writer *w,
				 const struct trace_arg *arg)
{
	switch ((enum trace_arg_kind)arg->kind) {
	case TRACE_UINT:
		*at++ = ARG_UINT << 3;
		return put_varint(at, arg->uint);
	case TRACE_POINTER:
		*at++ = ARG_POINTER << 3;
		return put_varint(at, arg->uint);
	case TRACE_WORD:
		at = put_varint(at, ARG_STRING_IID << 3);
		return put_varint(at, w->words_of[USE_ARG_TEXT].at[arg->word].number);
	case TRACE_DOUBLE:
		*at++ = ARG_DOUBLE << 3 | 1;
		memcpy(at, &arg->real, sizeof(arg->real));
		return at + sizeof(arg->real);
	case TRACE_TEXT:
		return put_text(at, arg->text);
	case TRACE_TRIPLE:
		return put_triple(at, arg->triple);
	}
	return at;
}

/* Writes arguments, which make up most of a trace. The write position is a local variable, so that
 * the compiler keeps it in a register. With b->at instead, writing took 40 % longer. */
static void write_args(struct perfetto_writer *w, const struct trace_arg *args, size_t n)
{
	struct pb *b = &w->out;
	uint8_t *at = b->at;
	for (size_t i = 0; i < n; i++) {
		uint8_t *head = at;
		head[0] = EVENT_ARGS << 3 | 2;
		head[2] = ARG_NAME_IID << 3;
		head[3] = args[i].name;
		at = put_value(head + 4, w, &args[i]);
		b->at = at;
		head[1] = 0; /* pb_end() makes room if the length needs more than this byte */
		pb_end(b, head + 1);
		at = b->at;
	}
}

/* ---- Events ---- */

/* Numbers the event's words. Returns how many bytes the event needs at most. */
static size_t prepare(struct perfetto_writer *w, const struct trace_slice *s)
{
	size_t room = s->n_args * ARG_ROOM + (s->n_flows_out + 1) * FLOW_ROOM;
	room += s->text ? strlen(s->text) : need_word(w, USE_EVENT_NAME, s->word);
	for (size_t i = 0; i < s->n_args; i++) {
		if (s->args[i].kind == TRACE_WORD)
			room += need_word(w, USE_ARG_TEXT, s->args[i].word);
		else if (s->args[i].kind == TRACE_TEXT)
			room += strlen(s->args[i].text);
	}
	return room;
}

void perfetto_event(struct perfetto_writer *w, int type, const struct trace_slice *s, uint64_t flow)
{
	struct pb *b = &w->out;
	uint8_t *packet = timed_packet(w, s->begin_ns, prepare(w, s));
	if (w->n_fresh)
		define_words(w);
	uint8_t *event = pb_begin(b, PACKET_TRACK_EVENT);
	pb_uint(b, EVENT_TYPE, (uint64_t)type);
	if (s->text)
		pb_text(b, EVENT_NAME, s->text);
	else
		pb_uint(b, EVENT_NAME_IID, w->words_of[USE_EVENT_NAME].at[s->word].number);
	pb_uint(b, EVENT_CATEGORY_IIDS, (uint64_t)s->category + 1);
	write_args(w, s->args, s->n_args);
	for (size_t i = 0; i < s->n_flows_out; i++)
		pb_fixed64(b, EVENT_FLOW_IDS, flow + s->flows_out[i]);
	if (s->has_flow_in)
		pb_fixed64(b, EVENT_FLOW_ENDS, flow + s->flow_in);
	pb_end(b, event);
	pb_end(b, packet);
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
