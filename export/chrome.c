/*
 * Writes steps in the Trace Event Format, the JSON format of Chrome's about:tracing. Perfetto's UI
 * and many scripts read this format, too. Each event is one line.
 *
 * The format has only two levels of tracks, processes and threads, and orders threads by a number.
 * So every track is written as a thread of the process. The name of a track in a group is preceded
 * by the name of the group. Times are in microseconds; three decimals keep the nanoseconds.
 */
#include "core/util/map.h"
#include "export/exporter.h"
#include "export/json_out.h"
#include "export/trace_walk.h"

#include <errno.h>
#include <zlib.h>

enum {
	/* First id for tracks that are not threads. Linux gives no thread id above 2^22. */
	FIRST_TID = 10000000,
	EVENT_ROOM = 512, /* bytes for an event without its arguments and texts */
	ARG_ROOM = 96,	  /* bytes for an argument without its text */
	NAME_BYTES = 400,
	SECTIONS = 10,
	SECTION_TRACKS = 1000000, /* tracks of a section at most */
};

/* A text escaped for JSON, with its quotes. */
struct escaped {
	size_t at;  /* offset in `texts` of struct encoder */
	uint32_t n; /* length in bytes; 0: not escaped yet */
};

struct encoder {
	struct json_out out;
	const struct trace_words *words;
	VEC(struct escaped) escaped; /* index: the word's number */
	VEC(char) texts;
	uint32_t pid;
	/* the current track: */
	char head[96]; /* start of its events: {"ph":"X","pid":1,"tid":2,"ts": */
	size_t head_bytes;
	const char *unit; /* unit of a counter: "bytes" or "count" */
	char name[2 * NAME_BYTES];
	struct map tid_of; /* hash of a track's kind and id -> its tid */
	uint32_t n_tracks[SECTIONS], n_made_up_tids;
	uint64_t first_step, last_step, n_steps;
	uint64_t flow; /* id of the step's first arrow */
};

enum { PHASE_AT = 7 }; /* offset of the event's type (the X above) in a line */

/* ---- Texts ---- */

static struct escaped escape(struct encoder *e, uint32_t word)
{
	vec_at_id(&e->escaped, word);
	struct escaped *to = &e->escaped.at[word];
	if (!to->n) {
		const char *text = trace_word_text(e->words, word);
		vec_reserve(&e->texts, json_text_room(text));
		to->at = e->texts.n;
		to->n = (uint32_t)(json_put_text(e->texts.at + e->texts.n, text) -
				   (e->texts.at + e->texts.n));
		e->texts.n += to->n;
	}
	return *to;
}

static char *put_word(struct encoder *e, char *at, uint32_t word)
{
	struct escaped text = e->escaped.at[word];
	return json_put(at, e->texts.at + text.at, text.n);
}

/* ---- Events ---- */

/* Writes the beginning of an event of the current track, up to and including its time. */
static char *put_head(const struct encoder *e, char *at, char phase, uint64_t ns)
{
	at = JSON_PUT_LITERAL(at, ",\n");
	char *head = at;
	at = json_put(at, e->head, e->head_bytes);
	head[PHASE_AT] = phase;
	return json_put_us(at, ns);
}

/* Writes a metadata event about the process or a track. The event begins with a comma, so it cannot
 * be the first event of the trace. */
static void put_fact(struct encoder *e, const char *what, uint32_t tid, const char *text)
{
	char *at = json_room(&e->out, EVENT_ROOM + json_text_room(text));
	at += sprintf(at,
		      ",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{\"name\":",
		      e->pid, tid, what);
	at = json_put_text(at, text);
	e->out.at = JSON_PUT_LITERAL(at, "}}");
}

static void put_rank(struct encoder *e, uint32_t tid, uint32_t rank)
{
	char *at = json_room(&e->out, EVENT_ROOM);
	e->out.at = at +
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
	e->last_step = p->step;
	if (e->n_steps++)
		return;
	e->pid = p->pid;
	e->first_step = p->step;
	char *at = json_room(&e->out, EVENT_ROOM);
	e->out.at = at + sprintf(at,
				 "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
				 "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,"
				 "\"name\":\"process_sort_index\",\"args\":{\"sort_index\":0}}",
				 e->pid, e->pid);
	snprintf(name, sizeof(name), "%s", p->command);
	if (*name)
		put_fact(e, "process_name", e->pid, name);
}

static void put_label(struct encoder *e)
{
	unsigned long long first = e->first_step, last = e->last_step;
	char label[80], *at = json_room(&e->out, EVENT_ROOM);
	if (first == last)
		snprintf(label, sizeof(label), "step %llu", first);
	else
		snprintf(label, sizeof(label), "steps %llu to %llu", first, last);
	e->out.at = at + sprintf(at,
				 ",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":"
				 "\"process_labels\",\"args\":{\"labels\":\"%s\"}}",
				 e->pid, e->pid, label);
}

/* Returns the section of the viewer that the track is shown in. The order is that of the walk, so
 * that a track that only a later step has does not follow all others. */
static uint32_t section_of(enum trace_track_kind kind)
{
	static const uint8_t sections[] = {
		[TRACE_TRACK_STEPS] = 0,   [TRACE_TRACK_NOTES] = 1,    [TRACE_TRACK_PHASES] = 2,
		[TRACE_TRACK_MODULES] = 3, [TRACE_TRACK_THREAD] = 4,   [TRACE_TRACK_RANGES] = 4,
		[TRACE_TRACK_SAMPLES] = 5, [TRACE_TRACK_IDLE] = 6,     [TRACE_TRACK_STREAM] = 7,
		[TRACE_TRACK_COUNTER] = 8, [TRACE_TRACK_OVERHEAD] = 9, [TRACE_TRACK_CRITICAL] = 1,
	};
	return sections[kind];
}

/* Gives a new track an id, its name and its place. */
static void add_track(struct encoder *e, const struct trace_track *t, uint64_t *tid)
{
	uint32_t section = section_of(t->kind);
	*tid = t->kind == TRACE_TRACK_THREAD ? t->tid : FIRST_TID + e->n_made_up_tids++;
	if (*e->name)
		put_fact(e, "thread_name", (uint32_t)*tid, e->name);
	put_rank(e, (uint32_t)*tid, section * SECTION_TRACKS + e->n_tracks[section]++);
}

static void track(void *context, const struct trace_track *t)
{
	struct encoder *e = context;
	bool is_new;
	if (t->is_group)
		return;
	snprintf(e->name, sizeof(e->name), "%.*s%s%.*s", NAME_BYTES - 4,
		 t->parent ? t->parent->name : "", t->parent ? " / " : "", NAME_BYTES - 4, t->name);
	uint64_t *tid = map_at(&e->tid_of, trace_mix(t->kind, t->id), &is_new);
	if (is_new)
		add_track(e, t, tid);
	e->head_bytes = (size_t)snprintf(e->head, sizeof(e->head),
					 "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", e->pid,
					 (uint32_t)*tid);
	e->unit = t->unit == UNIT_BYTES ? "bytes" : "count";
}

static char *put_arg(struct encoder *e, char *at, const struct trace_arg *arg)
{
	const char *name = trace_arg_names[arg->name];
	*at++ = '"';
	at = json_put(at, name, strlen(name));
	at = JSON_PUT_LITERAL(at, "\":");
	switch ((enum trace_arg_kind)arg->kind) {
	case TRACE_UINT:
		return json_put_uint(at, arg->uint);
	case TRACE_POINTER:
		return json_put_pointer(at, arg->uint);
	case TRACE_DOUBLE:
		return json_put_double(at, arg->real);
	case TRACE_TEXT:
		return json_put_text(at, arg->text);
	case TRACE_WORD:
		return put_word(e, at, arg->word);
	case TRACE_TRIPLE:
		for (int i = 0; i < 3; i++) {
			*at++ = i ? ',' : '[';
			at = json_put_uint(at, arg->triple[i]);
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
	room += s->text ? json_text_room(s->text) : escape(e, s->word).n;
	for (size_t i = 0; i < s->n_args; i++)
		if (s->args[i].kind == TRACE_WORD)
			room += escape(e, s->args[i].word).n;
		else if (s->args[i].kind == TRACE_TEXT)
			room += json_text_room(s->args[i].text);
	return room;
}

/* Writes the rest of an event, after its times. */
static char *put_slice(struct encoder *e, char *at, const struct trace_slice *s)
{
	const char *category = trace_category_names[s->category];
	at = JSON_PUT_LITERAL(at, ",\"cat\":\"");
	at = json_put(at, category, strlen(category));
	at = JSON_PUT_LITERAL(at, "\",\"name\":");
	at = s->text ? json_put_text(at, s->text) : put_word(e, at, s->word);
	for (size_t i = 0; i < s->n_args; i++) {
		at = i ? JSON_PUT_LITERAL(at, ",") : JSON_PUT_LITERAL(at, ",\"args\":{");
		at = put_arg(e, at, &s->args[i]);
	}
	return s->n_args ? JSON_PUT_LITERAL(at, "}}") : JSON_PUT_LITERAL(at, "}");
}

/* Writes one end of an arrow. The format attaches this end to the slice around the time `ns`, which
 * is the slice that was just written. */
static void put_flow(struct encoder *e, char phase, uint64_t ns, uint64_t flow)
{
	char *at = put_head(e, json_room(&e->out, EVENT_ROOM), phase, ns);
	at = JSON_PUT_LITERAL(at, ",\"cat\":\"flow\",\"name\":\"launch\",\"id\":");
	at = json_put_uint(at, flow);
	e->out.at = phase == 'f' ? JSON_PUT_LITERAL(at, ",\"bp\":\"e\"}")
				 : JSON_PUT_LITERAL(at, "}");
}

static void slice(void *context, const struct trace_slice *s)
{
	struct encoder *e = context;
	size_t room = prepare(e, s);
	char *at = put_head(e, json_room(&e->out, room), 'X', s->begin_ns);
	at = JSON_PUT_LITERAL(at, ",\"dur\":");
	at = json_put_us(at, s->end_ns - s->begin_ns);
	e->out.at = put_slice(e, at, s);
	for (size_t i = 0; i < s->n_flows_out; i++)
		put_flow(e, 's', s->begin_ns, e->flow + s->flows_out[i]);
	if (s->has_flow_in)
		put_flow(e, 'f', s->begin_ns, e->flow + s->flow_in);
}

static void instant(void *context, const struct trace_slice *s)
{
	struct encoder *e = context;
	size_t room = prepare(e, s);
	char *at = put_head(e, json_room(&e->out, room), 'i', s->begin_ns);
	at = JSON_PUT_LITERAL(at, ",\"s\":\"t\"");
	e->out.at = put_slice(e, at, s);
}

static void point(void *context, uint64_t ns, int64_t value)
{
	struct encoder *e = context;
	char *at = put_head(e, json_room(&e->out, EVENT_ROOM + json_text_room(e->name)), 'C', ns);
	at = JSON_PUT_LITERAL(at, ",\"name\":");
	at = json_put_text(at, e->name);
	at = JSON_PUT_LITERAL(at, ",\"args\":{\"");
	at = json_put(at, e->unit, strlen(e->unit));
	at = JSON_PUT_LITERAL(at, "\":");
	at = json_put_int(at, value);
	e->out.at = JSON_PUT_LITERAL(at, "}}");
}

static void *begin(exporter_sink *sink, void *context)
{
	struct encoder *e = mem_zero(sizeof(*e));
	e->out = (struct json_out){ .sink = sink, .context = context };
	return e;
}

static void add(void *file, const struct analyzed_step *step)
{
	static const struct trace_visitor visitor = { .process = process,
						      .track = track,
						      .slice = slice,
						      .instant = instant,
						      .point = point };
	struct encoder *e = file;
	e->escaped.n = e->texts.n = 0; /* each walk has its own words */
	trace_walk(step, &visitor, e);
	e->flow += step->model->works.n;
}

static void end(void *file)
{
	struct encoder *e = file;
	if (e->n_steps)
		put_label(e);
	e->out.at = JSON_PUT_LITERAL(json_room(&e->out, EVENT_ROOM), "\n]}\n");
	json_flush(&e->out);
	json_free(&e->out);
	map_free(&e->tid_of);
	vec_free(&e->escaped);
	vec_free(&e->texts);
	free(e);
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
	.begin = begin,
	.add = add,
	.end = end,
	.count = count,
};
