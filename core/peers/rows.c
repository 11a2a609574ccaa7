/* See rows.h. */
#include "core/peers/rows.h"

#include "core/source/kineto/scan.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>

/* An event while it is read: the members of all three kinds of events. */
struct reading {
	struct peer_row row;
	struct peer_memory memory;
	int64_t id;
};

enum kind { INTEGER, REAL, TEXT, PYTHON };

struct argument {
	const char *key;
	size_t offset; /* in struct reading */
	enum kind kind;
};

#define ROW(key, member, kind)                                  \
	{                                                       \
		key, offsetof(struct reading, row.member), kind \
	}
#define MEMORY(key, member, kind)                                  \
	{                                                          \
		key, offsetof(struct reading, memory.member), kind \
	}

static const struct argument arguments[] = {
	ROW("stream", stream, INTEGER),
	ROW("correlation", correlation, INTEGER),
	ROW("External id", external, INTEGER),
	ROW("external id", external, INTEGER),
	ROW("device", device, INTEGER),
	ROW("Python id", python, INTEGER),
	ROW("Python parent id", python_parent, INTEGER),
	ROW("Python module id", module, INTEGER),
	ROW("memory bandwidth (GB/s)", bandwidth, REAL),
	ROW("blocks per SM", blocks_per_sm, REAL),
	ROW("est. achieved occupancy %", occupancy, REAL),
	ROW("Input Dims", shape, PYTHON),
	ROW("Input dims", shape, PYTHON),
	ROW("Input type", types, PYTHON),
	ROW("Call stack", call_stack, TEXT),
	ROW("grid", grid, PYTHON),
	ROW("block", block, PYTHON),
	ROW("registers per thread", registers, TEXT),
	ROW("shared memory", shared, TEXT),
	MEMORY("Addr", address, INTEGER),
	MEMORY("Bytes", bytes, INTEGER),
	MEMORY("Device Type", device_type, INTEGER),
	MEMORY("Device Id", device, INTEGER),
	MEMORY("Total Allocated", allocated, REAL),
	MEMORY("Total Reserved", reserved, REAL),
};

/* ---- Values ---- */

enum { DEEPEST = 8, PYTHON_BYTES = 4096 };

struct text {
	char at[PYTHON_BYTES];
	size_t n;
};

static void put(struct text *t, const char *more)
{
	size_t n = strlen(more), room = sizeof(t->at) - 1 - t->n;
	n = n < room ? n : room;
	memcpy(t->at + t->n, more, n);
	t->n += n;
	t->at[t->n] = 0;
}

/* Writes a value as Python prints it: [[2, 8], 'float', None]. */
static void put_value(struct text *t, struct scan *s, unsigned depth)
{
	char first = scan_peek(s);
	bool is_first = true;
	if (first == '[' && depth < DEEPEST) {
		put(t, "[");
		for (scan_enter(s, '['); scan_item(s); is_first = false) {
			if (!is_first)
				put(t, ", ");
			put_value(t, s, depth + 1);
		}
		put(t, "]");
	} else if (first == '"' || first == '-' || (first >= '0' && first <= '9')) {
		if (!scan_text(s))
			return;
		put(t, first == '"' ? "'" : "");
		put(t, s->text);
		put(t, first == '"' ? "'" : "");
	} else {
		put(t, first == 't' ? "True" : first == 'f' ? "False" : "None");
		scan_skip(s);
	}
}

static uint32_t read_python(struct scan *s, struct strtab *names)
{
	struct text t = { .n = 0 };
	put_value(&t, s, 0);
	return strtab_intern(names, t.at);
}

static uint32_t read_text(struct scan *s, struct strtab *names)
{
	return scan_text(s) ? strtab_intern(names, s->text) : 0;
}

/* Reads a whole number, also if it is written as 7.0. Not 0x0, as calls of HIP write a stream. */
static int64_t read_integer(struct scan *s)
{
	char *end;
	if (!scan_text(s) || !s->n_text)
		return PEER_NONE;
	errno = 0;
	long long value = strtoll(s->text, &end, 10);
	if (!*end && !errno)
		return value;
	double real = strtod(s->text, &end);
	return *end || strpbrk(s->text, "xX") || !(fabs(real) < 9e18) ? PEER_NONE : (int64_t)real;
}

static double read_time(struct scan *s, bool *has_fractions)
{
	double value = scan_real(s);
	*has_fractions |= strpbrk(s->text, ".eE") || isnan(value);
	return value;
}

/* ---- Events ---- */

static void read_argument(struct reading *to, struct scan *s, struct strtab *names)
{
	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++) {
		const struct argument *a = &arguments[i];
		void *at = (char *)to + a->offset;
		if (*a->key != *s->text || strcmp(a->key, s->text))
			continue;
		if (a->kind == INTEGER)
			*(int64_t *)at = read_integer(s);
		else if (a->kind == REAL)
			*(double *)at = scan_real(s);
		else if (a->kind == TEXT)
			*(uint32_t *)at = read_text(s, names);
		else
			*(uint32_t *)at = read_python(s, names);
		return;
	}
	scan_skip(s);
}

static void read_arguments(struct reading *to, struct scan *s, struct strtab *names)
{
	if (scan_peek(s) != '{') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '{'); scan_key(s);)
		read_argument(to, s, names);
}

static void read_member(struct peer_rows *r, struct reading *to, struct scan *s, bool *is_whole)
{
	const char *key = s->text;
	struct peer_row *row = &to->row;
	bool has_fraction = false;
	if (!strcmp(key, "ph"))
		row->phase = scan_text(s) ? s->text[0] : 0;
	else if (!strcmp(key, "cat"))
		row->category = read_text(s, &r->names);
	else if (!strcmp(key, "name"))
		row->name = read_text(s, &r->names);
	else if (!strcmp(key, "pid"))
		row->pid = read_integer(s);
	else if (!strcmp(key, "tid"))
		row->tid = read_integer(s);
	else if (!strcmp(key, "id"))
		to->id = read_integer(s);
	else if (!strcmp(key, "ts")) {
		row->ts = read_time(s, &has_fraction);
		*is_whole = !has_fraction;
	} else if (!strcmp(key, "dur"))
		row->duration = scan_real(s);
	else if (!strcmp(key, "args"))
		read_arguments(to, s, &r->names);
	else
		scan_skip(s);
}

static void keep(struct peer_rows *r, struct reading *e)
{
	const char *name = peer_text(r, e->row.name);
	if (e->row.phase == 'i' && !strcmp(name, "[memory]")) {
		e->memory.ts = e->row.ts;
		e->memory.tid = e->row.tid;
		vec_push(&r->memory, e->memory);
	}
	if (!strcmp(peer_text(r, e->row.category), "fwdbwd"))
		vec_push(&r->arrows, (struct peer_arrow){ e->row.ts, e->id, e->row.phase });
	else if (e->row.category && isfinite(e->row.duration) && isfinite(e->row.ts))
		vec_push(&r->at, e->row);
}

static void read_event(struct peer_rows *r, struct scan *s, uint32_t index)
{
	struct reading e = {
		.row = { .ts = NAN,
			 .duration = NAN,
			 .bandwidth = NAN,
			 .blocks_per_sm = NAN,
			 .occupancy = NAN,
			 .pid = PEER_NONE,
			 .tid = PEER_NONE,
			 .stream = PEER_NONE,
			 .correlation = PEER_NONE,
			 .external = PEER_NONE,
			 .device = PEER_NONE,
			 .python = PEER_NONE,
			 .python_parent = PEER_NONE,
			 .module = PEER_NONE,
			 .index = index },
		.memory = { .allocated = NAN,
			    .reserved = NAN,
			    .address = PEER_NONE,
			    .device_type = PEER_NONE,
			    .device = PEER_NONE },
		.id = PEER_NONE,
	};
	bool is_whole = false;
	if (scan_peek(s) != '{') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '{'); scan_key(s);)
		read_member(r, &e, s, &is_whole);
	if (s->has_failed)
		return;
	r->has_fractions |= !is_whole;
	keep(r, &e);
}

/* ---- The head ---- */

static void read_device(struct peer_rows *r, struct scan *s)
{
	struct peer_device d = { .memory_bytes = NAN, .major = NAN, .minor = NAN };
	if (scan_peek(s) != '{') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '{'); scan_key(s);) {
		if (!strcmp(s->text, "name") && scan_text(s))
			snprintf(d.name, sizeof(d.name), "%.63s", s->text);
		else if (!strcmp(s->text, "totalGlobalMem"))
			d.memory_bytes = scan_real(s);
		else if (!strcmp(s->text, "computeMajor"))
			d.major = scan_real(s);
		else if (!strcmp(s->text, "computeMinor"))
			d.minor = scan_real(s);
		else
			scan_skip(s);
	}
	vec_push(&r->devices, d);
}

static void read_rank(struct peer_rows *r, struct scan *s)
{
	if (scan_peek(s) != '{') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '{'); scan_key(s);)
		if (!strcmp(s->text, "rank"))
			r->rank = read_integer(s);
		else
			scan_skip(s);
}

static bool read_file(struct peer_rows *r, struct scan *s)
{
	bool is_any = false;
	uint32_t index = 0;
	for (scan_enter(s, '{'); scan_key(s);) {
		if (!strcmp(s->text, "traceEvents") && scan_peek(s) == '[') {
			is_any = true;
			for (scan_enter(s, '['); scan_item(s);)
				read_event(r, s, index++);
		} else if (!strcmp(s->text, "deviceProperties") && scan_peek(s) == '[') {
			for (scan_enter(s, '['); scan_item(s);)
				read_device(r, s);
		} else if (!strcmp(s->text, "distributedInfo")) {
			read_rank(r, s);
		} else if (!strcmp(s->text, "Framework")) {
			r->is_lightning = scan_text(s) && !strcmp(s->text, "pytorch-lightning");
		} else {
			scan_skip(s);
		}
	}
	return is_any;
}

int peer_rows_read(struct peer_rows *r, const char *path, struct err *e)
{
	struct bytes *bytes;
	memset(r, 0, sizeof(*r));
	r->rank = PEER_NONE;
	int error = bytes_open(&bytes, path, e);
	if (error)
		return error;
	struct scan *s = mem_resize(NULL, sizeof(*s));
	scan_start(s, bytes);
	if (!read_file(r, s))
		error = err_set(e, -EINVAL, "%.120s: not a trace: %s", path,
				*scan_trouble(s) ? scan_trouble(s)
						 : "the JSON has no list \"traceEvents\"");
	free(s);
	bytes_close(bytes);
	return error;
}

void peer_rows_free(struct peer_rows *r)
{
	strtab_free(&r->names);
	vec_free(&r->at);
	vec_free(&r->memory);
	vec_free(&r->arrows);
	vec_free(&r->devices);
}
