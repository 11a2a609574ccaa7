#include "test/unit/perfetto_decoder.h"

#include "core/runtime/utf8.h"
#include "core/util/vec.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct bytes {
	const uint8_t *at, *end;
};

static uint64_t varint(struct bytes *b)
{
	uint64_t value = 0;
	for (int shift = 0;; shift += 7) {
		assert_true(b->at < b->end && shift < 64);
		value |= (uint64_t)(*b->at & 0x7f) << shift;
		if (*b->at++ < 0x80)
			return value;
	}
}

struct field {
	unsigned number, wire;
	uint64_t value;
	struct bytes body;
};

static bool next(struct bytes *b, struct field *f)
{
	if (b->at == b->end)
		return false;
	uint64_t key = varint(b);
	*f = (struct field){ .number = (unsigned)(key >> 3), .wire = key & 7 };
	if (f->wire == 0) {
		f->value = varint(b);
	} else if (f->wire == 1) {
		assert_true(b->end - b->at >= 8);
		memcpy(&f->value, b->at, 8);
		b->at += 8;
	} else {
		assert_int_equal(f->wire, 2);
		uint64_t n = varint(b);
		assert_true(n <= (uint64_t)(b->end - b->at));
		f->body = (struct bytes){ b->at, b->at + n };
		b->at += n;
	}
	return true;
}

/* The last value of a number field, 0 if there is none. */
static uint64_t number_of(struct bytes b, unsigned number)
{
	struct field f;
	uint64_t value = 0;
	while (next(&b, &f))
		if (f.number == number)
			value = f.value;
	return value;
}

static bool body_of(struct bytes b, unsigned number, struct bytes *body)
{
	struct field f;
	while (next(&b, &f)) {
		if (f.number == number) {
			*body = f.body;
			return true;
		}
	}
	return false;
}

struct decoded_track *decoded_track(struct decoded *d, uint64_t uuid)
{
	for (size_t i = 0; i < d->n_tracks; i++)
		if (d->tracks[i].uuid == uuid)
			return &d->tracks[i];
	fail_msg("an event on a track that was never described");
	return NULL;
}

struct decoded_track *decoded_named(struct decoded *d, const char *name)
{
	for (size_t i = 0; i < d->n_tracks; i++)
		if (!strcmp(d->tracks[i].name, name))
			return &d->tracks[i];
	fail_msg("no track '%s'", name);
	return NULL;
}

/* Fails the test if the text is not UTF-8, because Perfetto's own decoder would reject it. */
static char *copy(struct bytes b)
{
	size_t n = (size_t)(b.end - b.at);
	char *text = mem_zero(n + 1);
	memcpy(text, b.at, n);
	for (size_t i = 0, bytes; i < n; i += bytes) {
		bytes = utf8_valid_bytes(text + i);
		if (!bytes)
			fail_msg("not UTF-8: '%s'", text);
	}
	return text;
}

static void keep(char *to, size_t room, struct bytes b)
{
	char *text = copy(b);
	snprintf(to, room, "%s", text);
	free(text);
}

static void take_track(struct decoded *d, struct bytes b)
{
	struct bytes name = { 0 }, thread = { 0 };
	assert_true(d->n_tracks < DECODED_MOST);
	struct decoded_track *t = &d->tracks[d->n_tracks++];
	t->uuid = number_of(b, 1);
	t->parent = number_of(b, 5);
	if (body_of(b, 4, &thread) && body_of(thread, 5, &name))
		b = thread;
	else if (!body_of(b, 2, &name))
		return;
	keep(t->name, sizeof(t->name), name);
}

/* Fails the test if the number or the text has been defined before. */
static void define(char **words, uint64_t iid, struct bytes text)
{
	char *word = copy(text);
	assert_null(words[iid]);
	for (size_t i = 0; i < DECODED_NAMES; i++)
		if (words[i] && !strcmp(words[i], word))
			fail_msg("'%s' is defined twice", word);
	words[iid] = word;
}

static void take_words(struct decoded_sequence *s, struct bytes b)
{
	struct field f;
	struct bytes text = { 0 };
	while (next(&b, &f)) {
		uint64_t iid = number_of(f.body, 1);
		assert_true(iid && iid < DECODED_NAMES);
		assert_true(body_of(f.body, 2, &text));
		s->n_categories += f.number == 1;
		s->n_args += f.number == 3;
		if (f.number == 2)
			define(s->names, iid, text);
		if (f.number == 3)
			define(s->arg_names, iid, text);
		if (f.number == 29)
			define(s->arg_strings, iid, text);
	}
}

static void take_arg(const struct decoded_sequence *s, struct bytes b, struct decoded_slice *slice)
{
	uint64_t name = number_of(b, 1), text = number_of(b, 17);
	assert_true(name && name <= s->n_args);
	assert_true(!text || s->arg_strings[text]);
	if (!text || !slice)
		return;
	const struct {
		const char *name;
		char *to;
		size_t room;
	} kept[] = { { "line", slice->line, sizeof(slice->line) },
		     { "function", slice->function, sizeof(slice->function) },
		     { "stack", slice->stack, sizeof(slice->stack) },
		     { "domain", slice->domain, sizeof(slice->domain) } };
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (!strcmp(kept[i].name, s->arg_names[name]))
			snprintf(kept[i].to, kept[i].room, "%s", s->arg_strings[text]);
}

static struct decoded_slice *add_slice(struct decoded *d, const struct decoded_sequence *s,
				       uint64_t name)
{
	if (d->n_slices == DECODED_SLICES)
		return NULL;
	struct decoded_slice *slice = &d->slices[d->n_slices++];
	slice->track = s->track;
	slice->begin = s->now;
	if (name)
		snprintf(slice->name, sizeof(slice->name), "%s", s->names[name]);
	return slice;
}

static void take_event(struct decoded *d, struct decoded_sequence *s, struct bytes b)
{
	struct decoded_track *t = decoded_track(d, s->track);
	struct field f;
	struct bytes text = { 0 };
	uint64_t type = number_of(b, 9), name = number_of(b, 10), category = number_of(b, 3);
	assert_true(!name || s->names[name]);
	assert_true(category <= s->n_categories);
	struct decoded_slice *slice = type == 1 ? add_slice(d, s, name) : NULL;
	if (type == 1) {
		assert_true(t->depth < DECODED_LEVELS && s->now >= t->last_end);
		if (slice)
			slice->depth = t->depth;
		t->begins[t->depth++] = s->now;
		t->n_slices++;
	} else if (type == 2) {
		assert_true(t->depth > 0);
		t->last_end = s->now;
		t->total_ns += s->now - t->begins[--t->depth];
	} else if (type == 3) {
		if (body_of(b, 23, &text))
			keep(d->last_instant, sizeof(d->last_instant), text);
	} else {
		assert_int_equal(type, 4);
		t->n_points++;
		int64_t value = (int64_t)number_of(b, 30);
		d->highest_point = value > d->highest_point ? value : d->highest_point;
	}
	while (next(&b, &f)) {
		if (f.number == 4)
			take_arg(s, f.body, slice);
		if (f.number == 47)
			d->flows[d->n_flows++] = f.value;
		if (f.number == 48)
			d->flow_ends[d->n_flow_ends++] = f.value;
	}
}

/* What begins a track's events: the track, and a clock, which no other track of the sequence has
 * and which is set only forwards. */
static void begin_track(struct decoded_sequence *s, struct bytes packet, struct bytes defaults)
{
	struct bytes snapshot, event;
	struct field f;
	uint64_t clock = number_of(defaults, 58);
	assert_true(body_of(packet, 6, &snapshot) && body_of(defaults, 11, &event));
	assert_in_range(clock, 64, 127);
	while (next(&snapshot, &f))
		if (f.number == 1 && number_of(f.body, 1) == clock)
			s->now = number_of(f.body, 2);
	s->track = number_of(event, 11);
	uint64_t *track = &s->track_of_clock[clock - 64], *begin = &s->begin_of_clock[clock - 64];
	assert_true(!*track || *track == s->track);
	assert_true(s->now >= *begin);
	*track = s->track;
	*begin = s->now;
}

static void take_packet(struct decoded *d, struct bytes packet)
{
	struct bytes body;
	uint64_t id = number_of(packet, 10), flags = number_of(packet, 13);
	assert_true(id && id < DECODED_MOST);
	struct decoded_sequence *s = &d->sequences[id];
	if (!d->n_packets++)
		assert_true(body_of(packet, 6, &body));
	if (!body_of(packet, 59, &body) && body_of(packet, 6, &body)) {
		assert_int_equal(number_of(body, 2),
				 3); /* all times are related to CLOCK_MONOTONIC */
		return;
	}
	if (flags & 1) {
		assert_false(s->is_begun);
		s->is_begun = true;
	}
	if (body_of(packet, 59, &body))
		begin_track(s, packet, body);
	if (body_of(packet, 12, &body))
		take_words(s, body);
	if (body_of(packet, 60, &body))
		take_track(d, body);
	if (body_of(packet, 11, &body)) {
		assert_true(s->is_begun && (flags & 2));
		s->now += number_of(packet, 8);
		take_event(d, s, body);
	}
}

void decode(struct decoded *d, const uint8_t *at, size_t n)
{
	struct bytes b = { at, at + n };
	struct field f;
	memset(d, 0, sizeof(*d));
	while (next(&b, &f)) {
		assert_int_equal(f.number, 1);
		take_packet(d, f.body);
	}
	for (size_t i = 0; i < d->n_tracks; i++)
		assert_int_equal(d->tracks[i].depth, 0);
}

void decoded_free(struct decoded *d)
{
	for (size_t i = 0; i < DECODED_MOST; i++)
		for (size_t k = 0; k < DECODED_NAMES; k++) {
			free(d->sequences[i].names[k]);
			free(d->sequences[i].arg_names[k]);
			free(d->sequences[i].arg_strings[k]);
		}
}
