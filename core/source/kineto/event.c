/* See event.h. */
#include "core/source/kineto/event.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

/* ---- Words ---- */

/* Finds the number of a word among a few. At most half of the places are used. */
enum { WORD_PLACES = 256 };

struct words {
	uint8_t at[WORD_PLACES]; /* number + 1; 0: none */
};

/* Upper and lower case count as equal. */
static size_t place_of(const char *word, size_t n)
{
	size_t hash = n;
	for (size_t i = 0; i < n; i++)
		hash = hash * 31 + ((unsigned char)word[i] | 0x20u);
	return hash % WORD_PLACES;
}

static size_t next_place(size_t place)
{
	return (place + 1) % WORD_PLACES;
}

static void add_word(struct words *w, const char *word, size_t n, size_t number)
{
	size_t place = place_of(word, n);
	while (w->at[place])
		place = next_place(place);
	w->at[place] = (uint8_t)(number + 1);
}

/* ---- Categories ---- */

enum { CATEGORY_NAMES_MOST = 32 };

static struct category_name {
	const char *at;
	size_t n;
	uint8_t category;
} category_names[CATEGORY_NAMES_MOST];

static struct words category_words;

static void list_categories(void)
{
	static const char *const names[EVENT_CATEGORIES_N] = { "",
#define X(id, list) list,
							       EVENT_CATEGORIES(X)
#undef X
	};
	size_t n = 0;
	for (size_t i = 1; i < EVENT_CATEGORIES_N; i++)
		for (const char *at = names[i]; *at && n < CATEGORY_NAMES_MOST;) {
			size_t bytes = strcspn(at, " ");
			category_names[n] = (struct category_name){ at, bytes, (uint8_t)i };
			add_word(&category_words, at, bytes, n++);
			at += bytes + (at[bytes] == ' ');
		}
}

static uint8_t category_of(const char *name, size_t n)
{
	size_t place = place_of(name, n);
	for (; category_words.at[place]; place = next_place(place)) {
		const struct category_name *c = &category_names[category_words.at[place] - 1];
		if (c->n == n && !strncasecmp(c->at, name, n))
			return c->category;
	}
	return EVENT_OTHER;
}

/* ---- Fields ---- */

static uint32_t read_name(struct scan *s, struct strtab *names)
{
	return scan_text(s) ? strtab_intern(names, s->text) : 0;
}

/* Reads a number, or the number in a text such as "stream 7". */
static int64_t read_id(struct scan *s)
{
	static const char stream[] = "stream ";
	size_t n = sizeof(stream) - 1;
	char *end;
	if (!scan_text(s))
		return EVENT_NONE;
	const char *text = strncmp(s->text, stream, n) ? s->text : s->text + n;
	long long value = strtoll(text, &end, 10);
	return end == text || *end ? EVENT_NONE : value;
}

static void read_three(struct scan *s, int64_t to[3])
{
	size_t n = 0;
	if (scan_peek(s) != '[') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '['); scan_item(s); n++) {
		int64_t value = scan_integer(s, EVENT_NONE);
		if (n < 3)
			to[n] = value;
	}
}

/* ---- Lists as texts ---- */

/* A list that is nested deeper, or whose text is longer, is cut. */
enum { LIST_DEPTH = 3, LIST_BYTES = 2048 };

struct list_text {
	char at[LIST_BYTES];
	size_t n;
};

static void put(struct list_text *to, const char *text)
{
	for (; *text && to->n + 1 < sizeof(to->at); text++)
		if (*text != ' ')
			to->at[to->n++] = *text;
	to->at[to->n] = 0;
}

static void put_list(struct list_text *to, struct scan *s, unsigned depth)
{
	bool is_first = true;
	put(to, "[");
	for (scan_enter(s, '['); scan_item(s); is_first = false) {
		if (!is_first)
			put(to, ",");
		if (scan_peek(s) == '[' && depth < LIST_DEPTH)
			put_list(to, s, depth + 1);
		else if (scan_text(s))
			put(to, s->text);
	}
	put(to, "]");
}

uint32_t event_read_list(struct scan *s, struct strtab *names)
{
	struct list_text to = { .n = 0 };
	if (scan_peek(s) == '[')
		put_list(&to, s, 1);
	else if (scan_text(s))
		put(&to, s->text);
	return strtab_intern(names, to.at);
}

/* ---- Arguments ---- */

enum field_kind { FIELD_INTEGER, FIELD_NAME, FIELD_THREE, FIELD_LIST };

struct field {
	const char *key;
	size_t offset; /* in struct event */
	enum field_kind kind;
};

#define INTEGER(key, member)                                       \
	{                                                          \
		key, offsetof(struct event, member), FIELD_INTEGER \
	}
#define NAME(key, member)                                       \
	{                                                       \
		key, offsetof(struct event, member), FIELD_NAME \
	}
#define LIST(key, member)                                       \
	{                                                       \
		key, offsetof(struct event, member), FIELD_LIST \
	}
#define THREE(key, member)                                       \
	{                                                        \
		key, offsetof(struct event, member), FIELD_THREE \
	}

static const struct field fields[] = {
	INTEGER("correlation", correlation),
	INTEGER("stream", stream),
	/* profrun's own files: where `stream` would mislead other readers, and what they lack */
	INTEGER("sync_stream", stream),
	INTEGER("said_not_ready", polls),
	INTEGER("wait_on_cuda_event_record_corr_id", recorded),
	INTEGER("wait_on_stream", recorded_stream),
	INTEGER("device", device),
	INTEGER("context", context),
	INTEGER("bytes", bytes),
	THREE("grid", grid),
	THREE("block", block),
	INTEGER("registers per thread", registers),
	INTEGER("shared memory", shared_bytes),
	INTEGER("graph id", graph),
	INTEGER("graph node id", node),
	INTEGER("fromDevice", device),
	INTEGER("inDevice", device),
	INTEGER("toDevice", peer),
	INTEGER("inContext", context),
	INTEGER("Addr", address),
	INTEGER("Bytes", block_bytes),
	INTEGER("Device Type", device_type),
	INTEGER("Device Id", device_id),
	INTEGER("Total Allocated", allocated),
	INTEGER("Total Reserved", reserved),
	NAME("name", label),
	NAME("kernel", kernel),
	NAME("Call stack", call_stack),
	NAME("CallFrom", call_from),
	LIST("Input Dims", dims),
	LIST("Input dims", dims),
	LIST("Input type", types),
	LIST("Concrete Inputs", values),
	NAME("Collective name", comm.collective),
	NAME("dtype", comm.type),
	NAME("Process Group Name", comm.group),
	NAME("Process Group ID", comm.group),
	LIST("Process Group Ranks", comm.ranks),
	INTEGER("In msg nelems", comm.in),
	INTEGER("Out msg nelems", comm.out),
	INTEGER("Group size", comm.n_ranks),
	INTEGER("Rank", comm.rank),
	INTEGER("Src Rank", comm.source),
	INTEGER("Dst Rank", comm.target),
	INTEGER("Seq", comm.sequence),
};

static struct words field_words;

static void list_fields(void)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		add_word(&field_words, fields[i].key, strlen(fields[i].key), i);
}

static const struct field *field_of(const char *key, size_t n)
{
	size_t place = place_of(key, n);
	for (; field_words.at[place]; place = next_place(place)) {
		const struct field *f = &fields[field_words.at[place] - 1];
		if (!strcmp(f->key, key))
			return f;
	}
	return NULL;
}

static void read_args(struct event *e, struct scan *s, struct strtab *names)
{
	if (scan_peek(s) != '{') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '{'); scan_key(s);) {
		const struct field *f = field_of(s->text, s->n_text);
		void *to = f ? (char *)e + f->offset : NULL;
		if (!f)
			scan_skip(s);
		else if (f->kind == FIELD_INTEGER)
			*(int64_t *)to = scan_integer(s, EVENT_NONE);
		else if (f->kind == FIELD_NAME)
			*(uint32_t *)to = read_name(s, names);
		else if (f->kind == FIELD_LIST)
			*(uint32_t *)to = event_read_list(s, names);
		else
			read_three(s, to);
	}
}

/* ---- The event ---- */

static void set_missing(struct event *e)
{
	*e = (struct event){ .pid = EVENT_NONE, .tid = EVENT_NONE };
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		int64_t *to = (int64_t *)((char *)e + fields[i].offset);
		if (fields[i].kind == FIELD_INTEGER)
			*to = EVENT_NONE;
		else if (fields[i].kind == FIELD_THREE)
			to[0] = to[1] = to[2] = EVENT_NONE;
	}
}

static struct event empty;

static void prepare(void)
{
	set_missing(&empty);
	list_categories();
	list_fields();
}

/* Returns whether the texts are equal. Most differ in the first two bytes. */
static inline bool is(const char *key, const char *name)
{
	return key[0] == name[0] && key[1] == name[1] && !strcmp(key, name);
}

static void read_member(struct event *e, struct scan *s, struct strtab *names)
{
	const char *key = s->text;
	if (is(key, "ph")) {
		if (scan_text(s))
			e->phase = s->text[0];
	} else if (is(key, "cat")) {
		if (scan_text(s))
			e->category = category_of(s->text, s->n_text);
	} else if (is(key, "name")) {
		e->name = read_name(s, names);
	} else if (is(key, "pid")) {
		e->pid = read_id(s);
	} else if (is(key, "tid")) {
		e->tid = read_id(s);
	} else if (is(key, "ts")) {
		e->has_begin = scan_thousandths(s, &e->begin_ns);
	} else if (is(key, "dur")) {
		e->has_duration = scan_thousandths(s, &e->duration_ns);
	} else if (is(key, "args")) {
		read_args(e, s, names);
	} else {
		scan_skip(s);
	}
}

bool event_read(struct event *e, struct scan *s, struct strtab *names)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, prepare);
	*e = empty;
	if (scan_peek(s) != '{') {
		scan_skip(s); /* not an event; the list goes on */
		return !s->has_failed;
	}
	for (scan_enter(s, '{'); scan_key(s);)
		read_member(e, s, names);
	return !s->has_failed;
}
