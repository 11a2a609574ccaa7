/* See trace_count.h. Reads the protobuf fields, of which it knows only the few that it counts. */
#include "export/trace_count.h"

#include "core/util/map.h"
#include "core/util/vec.h"
#include "export/perfetto_schema.h"

#include <errno.h>
#include <zlib.h>

enum {
	PACKET_MOST = 64 << 20
}; /* largest packet: with a damaged length we must not allocate
				  * all memory */

struct span {
	const uint8_t *at, *end;
};

struct field {
	uint32_t number, wire;
	uint64_t value;
	struct span bytes;
};

static bool read_varint(struct span *s, uint64_t *value)
{
	*value = 0;
	for (int shift = 0; shift < 64 && s->at < s->end; shift += 7) {
		uint8_t byte = *s->at++;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* Reads the next field. Returns false at the end. Also returns false, and sets `is_bad`, if the
 * bytes are not a field. */
static bool next_field(struct span *s, struct field *f, bool *is_bad)
{
	uint64_t key;
	if (s->at >= s->end)
		return false;
	*is_bad = true;
	if (!read_varint(s, &key) || !(key >> 3))
		return false;
	*f = (struct field){ .number = (uint32_t)(key >> 3), .wire = key & 7 };
	size_t left = (size_t)(s->end - s->at), fixed = f->wire == 1 ? 8 : 4;
	if (f->wire == 0) {
		*is_bad = !read_varint(s, &f->value);
		return !*is_bad;
	}
	if (f->wire == 2) {
		if (!read_varint(s, &f->value) || f->value > (uint64_t)(s->end - s->at))
			return false;
		f->bytes = (struct span){ s->at, s->at + f->value };
		s->at += f->value;
	} else if ((f->wire == 1 || f->wire == 5) && left >= fixed) {
		s->at += fixed;
	} else {
		return false;
	}
	*is_bad = false;
	return true;
}

static bool count_event(struct span s, struct trace_count *c)
{
	struct field f;
	bool is_bad = false;
	while (next_field(&s, &f, &is_bad)) {
		if (f.number == EVENT_TYPE) {
			c->slices += f.value == TYPE_BEGIN;
			c->instants += f.value == TYPE_INSTANT;
			c->counter_points += f.value == TYPE_COUNTER;
		}
		c->flows += f.number == EVENT_FLOW_IDS;
		c->flow_ends += f.number == EVENT_FLOW_ENDS;
	}
	return !is_bad;
}

/* Counts a track, unless it was described before: each step of a file describes its tracks. */
static bool count_track(struct span s, struct trace_count *c, struct map *known)
{
	struct trace_count one = { .tracks = 1 };
	struct field f;
	bool is_bad = false, is_new = true;
	while (next_field(&s, &f, &is_bad)) {
		if (f.number == TRACK_UUID)
			map_at(known, f.value, &is_new);
		one.processes += f.number == TRACK_PROCESS;
		one.threads += f.number == TRACK_THREAD;
		one.counters += f.number == TRACK_COUNTER;
	}
	if (is_new) {
		c->tracks++;
		c->processes += one.processes;
		c->threads += one.threads;
		c->counters += one.counters;
	}
	return !is_bad;
}

static bool count_packet(struct span s, struct trace_count *c, struct map *known)
{
	struct field f;
	bool is_bad = false, is_good = true;
	c->records++;
	while (is_good && next_field(&s, &f, &is_bad)) {
		if (f.number == PACKET_TRACK_EVENT && f.wire == 2)
			is_good = count_event(f.bytes, c);
		else if (f.number == PACKET_TRACK_DESCRIPTOR && f.wire == 2)
			is_good = count_track(f.bytes, c, known);
	}
	return is_good && !is_bad;
}

/* Reads a packet's tag and length. Returns 1, 0 at the file's end, or -1 if there is no packet. */
static int read_head(gzFile file, uint64_t *length)
{
	int tag = gzgetc(file);
	if (tag < 0)
		return 0;
	*length = 0;
	for (int shift = 0; tag == (TRACE_PACKET << 3 | 2) && shift < 35; shift += 7) {
		int byte = gzgetc(file);
		if (byte < 0)
			return -1;
		*length |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return *length <= PACKET_MOST ? 1 : -1;
	}
	return -1;
}

static int count_stream(gzFile file, const char *path, struct trace_count *c, struct err *e)
{
	VEC(uint8_t) packet = { 0 };
	struct map known = { 0 };
	uint64_t length = 0;
	int got, error = 0;
	while ((got = read_head(file, &length)) > 0) {
		vec_reserve(&packet, length);
		if (gzread(file, packet.at, (unsigned)length) != (int)length) {
			error = err_set(e, -EINVAL,
					"%.180s: the trace is cut short after %llu packets", path,
					(unsigned long long)c->records);
			break;
		}
		if (!count_packet((struct span){ packet.at, packet.at + length }, c, &known)) {
			got = -1;
			break;
		}
	}
	vec_free(&packet);
	map_free(&known);
	int zlib = Z_OK;
	gzerror(file, &zlib);
	if (!error && (zlib == Z_BUF_ERROR || zlib == Z_DATA_ERROR))
		return err_set(e, -EINVAL,
			       "%.180s: the trace is cut short or damaged after %llu packets", path,
			       (unsigned long long)c->records);
	if (!error && (got < 0 || !c->records))
		return err_set(e, -EINVAL, "%.180s: not a Perfetto trace%s", path,
			       c->records ? ", or a damaged one" : "");
	return error;
}

int trace_count_file(const char *path, struct trace_count *count, struct err *e)
{
	gzFile file = gzopen(path, "rbe");
	memset(count, 0, sizeof(*count));
	if (!file)
		return err_set(e, errno ? -errno : -ENOMEM, "%.180s: cannot open: %s", path,
			       strerror(errno));
	gzbuffer(file, 1 << 18);
	int error = count_stream(file, path, count, e);
	gzclose(file);
	return error;
}
