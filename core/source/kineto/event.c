/* See event.h. */
#include "core/source/kineto/event.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

/* ---- Categories ---- */

/* Returns whether `names`, separated by blanks, has the name. */
static bool is_listed(const char *names, const char *name)
{
	size_t n = strlen(name);
	while (*names) {
		size_t bytes = strcspn(names, " ");
		if (bytes == n && !strncasecmp(names, name, n))
			return true;
		names += bytes + (names[bytes] == ' ');
	}
	return false;
}

static uint8_t category_of(const char *name)
{
	static const char *const names[EVENT_CATEGORIES_N] = { "",
#define X(id, list) list,
							       EVENT_CATEGORIES(X)
#undef X
	};
	for (size_t i = 1; i < EVENT_CATEGORIES_N; i++)
		if (is_listed(names[i], name))
			return (uint8_t)i;
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

static const struct field *field_of(const char *key)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (*fields[i].key == *key && !strcmp(fields[i].key, key))
			return &fields[i];
	return NULL;
}

static void read_args(struct event *e, struct scan *s, struct strtab *names)
{
	if (scan_peek(s) != '{') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '{'); scan_key(s);) {
		const struct field *f = field_of(s->text);
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

static void set_empty(void)
{
	set_missing(&empty);
}

static void read_member(struct event *e, struct scan *s, struct strtab *names)
{
	const char *key = s->text;
	if (!strcmp(key, "ph")) {
		if (scan_text(s))
			e->phase = s->text[0];
	} else if (!strcmp(key, "cat")) {
		if (scan_text(s))
			e->category = category_of(s->text);
	} else if (!strcmp(key, "name")) {
		e->name = read_name(s, names);
	} else if (!strcmp(key, "pid")) {
		e->pid = read_id(s);
	} else if (!strcmp(key, "tid")) {
		e->tid = read_id(s);
	} else if (!strcmp(key, "ts")) {
		e->has_begin = scan_thousandths(s, &e->begin_ns);
	} else if (!strcmp(key, "dur")) {
		e->has_duration = scan_thousandths(s, &e->duration_ns);
	} else if (!strcmp(key, "args")) {
		read_args(e, s, names);
	} else {
		scan_skip(s);
	}
}

bool event_read(struct event *e, struct scan *s, struct strtab *names)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, set_empty);
	*e = empty;
	if (scan_peek(s) != '{') {
		scan_skip(s); /* not an event; the list goes on */
		return !s->has_failed;
	}
	for (scan_enter(s, '{'); scan_key(s);)
		read_member(e, s, names);
	return !s->has_failed;
}
