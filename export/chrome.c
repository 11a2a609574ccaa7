/*
 * Writes a step in the Trace Event Format, the JSON format of Chrome's about:tracing. Perfetto's UI
 * and many scripts read this format, too. Each event is one line.
 *
 * The format has only two levels of tracks, processes and threads, and orders threads by a number.
 * So every track is written as a thread of the process. The name of a track in a group is preceded
 * by the name of the group. Times are in microseconds; three decimals keep the nanoseconds.
 */
#include "core/runtime/utf8.h"
#include "export/exporter.h"
#include "export/trace_walk.h"

#include <errno.h>
#include <math.h>
#include <zlib.h>

enum {
	FLUSH_BYTES = 1 << 20,
	/* First id for tracks that are not threads. Linux gives no thread id above 2^22. */
	FIRST_TID = 10000000,
	EVENT_ROOM = 512, /* bytes for an event without its arguments and texts */
	ARG_ROOM = 96,	  /* bytes for an argument without its text */
	ESCAPED_MOST = 6, /* largest number of bytes that one byte of a text may become */
	NAME_BYTES = 400,
};

/* A text escaped for JSON, with its quotes. */
struct escaped {
	size_t at;  /* offset in `texts` of struct encoder */
	uint32_t n; /* length in bytes; 0: not escaped yet */
};

struct encoder {
	exporter_sink *sink;
	void *context;
	char *start, *at, *end; /* buffer: bytes not yet passed to the sink */
	const struct trace_words *words;
	VEC(struct escaped) escaped; /* index: the word's number */
	VEC(char) texts;
	uint32_t pid;
	/* the current track: */
	char head[96]; /* start of its events: {"ph":"X","pid":1,"tid":2,"ts": */
	size_t head_bytes;
	const char *unit; /* unit of a counter: "bytes" or "count" */
	char name[2 * NAME_BYTES];
	uint32_t n_tracks, n_made_up_tids;
};

enum { PHASE_AT = 7 }; /* offset of the event's type (the X above) in a line */

/* ---- Numbers and texts. The caller has made room for them. ---- */

static char *put(char *at, const char *text, size_t n)
{
	memcpy(at, text, n);
	return at + n;
}

#define PUT_LITERAL(at, text) put(at, text, sizeof(text) - 1)

static char *put_uint(char *at, uint64_t value)
{
	char digits[20];
	size_t n = 0;
	do
		digits[sizeof(digits) - ++n] = (char)('0' + value % 10);
	while (value /= 10);
	return put(at, digits + sizeof(digits) - n, n);
}

static char *put_int(char *at, int64_t value)
{
	if (value < 0)
		*at++ = '-';
	return put_uint(at, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Writes an address as a string. Most readers of JSON store numbers as doubles, which would round
 * an address of 64 bits. */
static char *put_pointer(char *at, uint64_t value)
{
	static const char digits[] = "0123456789abcdef";
	int shift = 60;
	at = PUT_LITERAL(at, "\"0x");
	while (shift && !(value >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*at++ = digits[value >> shift & 15];
	*at++ = '"';
	return at;
}

/* Writes null for infinity and NaN, which JSON does not have. */
static char *put_double(char *at, double value)
{
	return at + (isfinite(value) ? sprintf(at, "%.9g", value) : sprintf(at, "null"));
}

static char *put_us(char *at, uint64_t ns)
{
	unsigned rest = (unsigned)(ns % 1000);
	at = put_uint(at, ns / 1000);
	at[0] = '.';
	at[1] = (char)('0' + rest / 100);
	at[2] = (char)('0' + rest / 10 % 10);
	at[3] = (char)('0' + rest % 10);
	return at + 4;
}

static char *put_control(char *at, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";
	at = PUT_LITERAL(at, "\\u00");
	*at++ = digits[c >> 4];
	*at++ = digits[c & 15];
	return at;
}

/* Writes a text in quotes. Bytes that are not UTF-8 become U+FFFD. */
static char *put_text(char *at, const char *text)
{
	*at++ = '"';
	while (*text) {
		size_t n = utf8_valid_bytes(text);
		unsigned char c = (unsigned char)*text;
		if (!n) {
			at = PUT_LITERAL(at, "\xef\xbf\xbd");
		} else if (c < 0x20 || c == 0x7f) {
			at = put_control(at, c);
		} else {
			if (c == '"' || c == '\\')
				*at++ = '\\';
			at = put(at, text, n);
		}
		text += n ? n : 1;
	}
	*at++ = '"';
	return at;
}

static size_t text_room(const char *text)
{
	return strlen(text) * ESCAPED_MOST + 2;
}

static struct escaped escape(struct encoder *e, uint32_t word)
{
	vec_at_id(&e->escaped, word);
	struct escaped *to = &e->escaped.at[word];
	if (!to->n) {
		const char *text = trace_word_text(e->words, word);
		vec_reserve(&e->texts, text_room(text));
		to->at = e->texts.n;
		to->n = (uint32_t)(put_text(e->texts.at + e->texts.n, text) -
				   (e->texts.at + e->texts.n));
		e->texts.n += to->n;
	}
	return *to;
}

static char *put_word(struct encoder *e, char *at, uint32_t word)
{
	struct escaped text = e->escaped.at[word];
	return put(at, e->texts.at + text.at, text.n);
}

/* ---- Events ---- */

static void flush(struct encoder *e)
{
	if (e->at > e->start)
		e->sink(e->context, e->start, (size_t)(e->at - e->start));
	e->at = e->start;
}

/* Makes room for `bytes` more bytes. Returns where to write them. */
static char *make_room(struct encoder *e, size_t bytes)
{
	if (e->at - e->start > FLUSH_BYTES)
		flush(e);
	if ((size_t)(e->end - e->at) < bytes) {
		size_t used = (size_t)(e->at - e->start), room = used + bytes + 2 * FLUSH_BYTES;
		e->start = mem_resize(e->start, room);
		e->at = e->start + used;
		e->end = e->start + room;
	}
	return e->at;
}

/* Writes the beginning of an event of the current track, up to and including its time. */
static char *put_head(const struct encoder *e, char *at, char phase, uint64_t ns)
{
	at = PUT_LITERAL(at, ",\n");
	char *head = at;
	at = put(at, e->head, e->head_bytes);
	head[PHASE_AT] = phase;
	return put_us(at, ns);
}

/* Writes a metadata event about the process or a track. The event begins with a comma, so it cannot
 * be the first event of the trace. */
static void put_fact(struct encoder *e, const char *what, uint32_t tid, const char *text)
{
	char *at = make_room(e, EVENT_ROOM + text_room(text));
	at += sprintf(at,
		      ",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{\"name\":",
		      e->pid, tid, what);
	at = put_text(at, text);
	e->at = PUT_LITERAL(at, "}}");
}

static void put_rank(struct encoder *e, uint32_t tid, uint32_t rank)
{
	char *at = make_room(e, EVENT_ROOM);
	e->at = at +
		sprintf(at,
			",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_sort_index\","
			"\"args\":{\"sort_index\":%u}}",
			e->pid, tid, rank);
}

static void process(void *context, const struct trace_process *p)
{
	struct encoder *e = context;
	char name[NAME_BYTES];
	e->words = p->words;
	e->pid = p->pid;
	char *at = make_room(e, EVENT_ROOM);
	e->at = at + sprintf(at,
			     "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
			     "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"process_labels\","
			     "\"args\":{\"labels\":\"step %llu\"}}",
			     e->pid, e->pid, (unsigned long long)p->step);
	snprintf(name, sizeof(name), "%s", p->command);
	if (*name)
		put_fact(e, "process_name", e->pid, name);
}

static void track(void *context, const struct trace_track *t)
{
	struct encoder *e = context;
	bool is_thread = t->kind == TRACE_TRACK_THREAD;
	if (t->is_group)
		return;
	uint32_t tid = is_thread ? t->tid : FIRST_TID + e->n_made_up_tids++;
	snprintf(e->name, sizeof(e->name), "%.*s%s%.*s", NAME_BYTES - 4,
		 t->parent ? t->parent->name : "", t->parent ? " / " : "", NAME_BYTES - 4, t->name);
	e->head_bytes = (size_t)snprintf(e->head, sizeof(e->head),
					 "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", e->pid,
					 tid);
	e->unit = t->unit == UNIT_BYTES ? "bytes" : "count";
	if (*e->name)
		put_fact(e, "thread_name", tid, e->name);
	put_rank(e, tid, e->n_tracks++);
}

static char *put_arg(struct encoder *e, char *at, const struct trace_arg *arg)
{
	const char *name = trace_arg_names[arg->name];
	*at++ = '"';
	at = put(at, name, strlen(name));
	at = PUT_LITERAL(at, "\":");
	switch ((enum trace_arg_kind)arg->kind) {
	case TRACE_UINT:
		return put_uint(at, arg->uint);
	case TRACE_POINTER:
		return put_pointer(at, arg->uint);
	case TRACE_DOUBLE:
		return put_double(at, arg->real);
	case TRACE_TEXT:
		return put_text(at, arg->text);
	case TRACE_WORD:
		return put_word(e, at, arg->word);
	case TRACE_TRIPLE:
		for (int i = 0; i < 3; i++) {
			*at++ = i ? ',' : '[';
			at = put_uint(at, arg->triple[i]);
		}
		*at++ = ']';
		break;
	}
	return at;
}

/* Escapes the event's words. Returns how many bytes the event needs at most. */
static size_t prepare(struct encoder *e, const struct trace_slice *s)
{
	size_t room = EVENT_ROOM + s->n_args * ARG_ROOM;
	room += s->text ? text_room(s->text) : escape(e, s->word).n;
	for (size_t i = 0; i < s->n_args; i++)
		if (s->args[i].kind == TRACE_WORD)
			room += escape(e, s->args[i].word).n;
		else if (s->args[i].kind == TRACE_TEXT)
			room += text_room(s->args[i].text);
	return room;
}

/* Writes the rest of an event, after its times. */
static char *put_slice(struct encoder *e, char *at, const struct trace_slice *s)
{
	const char *category = trace_category_names[s->category];
	at = PUT_LITERAL(at, ",\"cat\":\"");
	at = put(at, category, strlen(category));
	at = PUT_LITERAL(at, "\",\"name\":");
	at = s->text ? put_text(at, s->text) : put_word(e, at, s->word);
	for (size_t i = 0; i < s->n_args; i++) {
		at = i ? PUT_LITERAL(at, ",") : PUT_LITERAL(at, ",\"args\":{");
		at = put_arg(e, at, &s->args[i]);
	}
	return s->n_args ? PUT_LITERAL(at, "}}") : PUT_LITERAL(at, "}");
}

/* Writes one end of an arrow. The format attaches this end to the slice around the time `ns`, which
 * is the slice that was just written. */
static void put_flow(struct encoder *e, char phase, uint64_t ns, uint32_t flow)
{
	char *at = put_head(e, make_room(e, EVENT_ROOM), phase, ns);
	at = PUT_LITERAL(at, ",\"cat\":\"flow\",\"name\":\"launch\",\"id\":");
	at = put_uint(at, flow);
	e->at = phase == 'f' ? PUT_LITERAL(at, ",\"bp\":\"e\"}") : PUT_LITERAL(at, "}");
}

static void slice(void *context, const struct trace_slice *s)
{
	struct encoder *e = context;
	size_t room = prepare(e, s);
	char *at = put_head(e, make_room(e, room), 'X', s->begin_ns);
	at = PUT_LITERAL(at, ",\"dur\":");
	at = put_us(at, s->end_ns - s->begin_ns);
	e->at = put_slice(e, at, s);
	for (size_t i = 0; i < s->n_flows_out; i++)
		put_flow(e, 's', s->begin_ns, s->flows_out[i]);
	if (s->has_flow_in)
		put_flow(e, 'f', s->begin_ns, s->flow_in);
}

static void instant(void *context, const struct trace_slice *s)
{
	struct encoder *e = context;
	size_t room = prepare(e, s);
	char *at = put_head(e, make_room(e, room), 'i', s->begin_ns);
	at = PUT_LITERAL(at, ",\"s\":\"t\"");
	e->at = put_slice(e, at, s);
}

static void point(void *context, uint64_t ns, int64_t value)
{
	struct encoder *e = context;
	char *at = put_head(e, make_room(e, EVENT_ROOM + text_room(e->name)), 'C', ns);
	at = PUT_LITERAL(at, ",\"name\":");
	at = put_text(at, e->name);
	at = PUT_LITERAL(at, ",\"args\":{\"");
	at = put(at, e->unit, strlen(e->unit));
	at = PUT_LITERAL(at, "\":");
	at = put_int(at, value);
	e->at = PUT_LITERAL(at, "}}");
}

static void encode(const struct analyzed_step *step, exporter_sink *sink, void *context)
{
	static const struct trace_visitor visitor = { .process = process,
						      .track = track,
						      .slice = slice,
						      .instant = instant,
						      .point = point };
	struct encoder e = { .sink = sink, .context = context };
	trace_walk(step, &visitor, &e);
	e.at = PUT_LITERAL(make_room(&e, EVENT_ROOM), "\n]}\n");
	flush(&e);
	free(e.start);
	vec_free(&e.escaped);
	vec_free(&e.texts);
}

/* ---- Counts the events in a file that this exporter wrote, line by line ---- */

static uint64_t tid_of(const char *line)
{
	const char *tid = strstr(line, "\"tid\":");
	return tid ? strtoull(tid + strlen("\"tid\":"), NULL, 10) : 0;
}

static void count_line(const char *line, struct trace_count *c, uint64_t *counter)
{
	bool is_counter = line[PHASE_AT] == 'C', is_track = strstr(line, "\"thread_sort_index\"");
	c->records++;
	c->slices += line[PHASE_AT] == 'X';
	c->instants += line[PHASE_AT] == 'i';
	c->flows += line[PHASE_AT] == 's';
	c->flow_ends += line[PHASE_AT] == 'f';
	c->counter_points += is_counter;
	c->processes += strstr(line, "\"process_labels\"") != NULL;
	if (line[PHASE_AT] == 'M' && is_track) {
		c->tracks++;
		c->threads += tid_of(line) < FIRST_TID;
	}
	if (is_counter && tid_of(line) != *counter) {
		*counter = tid_of(line);
		c->counters++;
	}
}

/* Returns true if the file is complete, that is, ends with the last line that encode() writes. */
static bool count_lines(gzFile file, struct trace_count *c)
{
	char line[4096]; /* gzgets() returns a longer line in parts */
	bool is_start = true, is_whole = false;
	uint64_t counter = 0;
	while (gzgets(file, line, sizeof(line))) {
		if (is_start && !strncmp(line, "{\"ph\":\"", PHASE_AT))
			count_line(line, c, &counter);
		is_whole = !strcmp(line, "]}\n");
		is_start = strchr(line, '\n');
	}
	return is_whole;
}

static int count(const char *path, struct trace_count *c, struct err *e)
{
	gzFile file = gzopen(path, "rbe");
	memset(c, 0, sizeof(*c));
	if (!file)
		return err_set(e, errno ? -errno : -ENOMEM, "%.180s: cannot open: %s", path,
			       strerror(errno));
	bool is_whole = count_lines(file, c);
	gzclose(file);
	if (!c->records)
		return err_set(e, -EINVAL, "%.180s: not a Chrome trace that profrun wrote", path);
	if (!is_whole)
		return err_set(e, -EINVAL, "%.180s: the trace is cut short after %llu events", path,
			       (unsigned long long)c->records);
	return 0;
}

const struct exporter exporter_chrome = {
	.name = "chrome",
	.folder = "chrome",
	.suffix = ".json.gz",
	.noun = "Chrome trace",
	.title = "Chrome trace",
	.viewer = "https://ui.perfetto.dev or chrome://tracing",
	.encode = encode,
	.count = count,
};
