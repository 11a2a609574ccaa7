/*
 * Writes pprof's profile.proto: host, blocked and GPU time and allocated bytes by stack. The four
 * values of a sample have the order of enum stack_time_kind. A file may hold several steps.
 */
#include "core/util/map.h"
#include "export/exporter.h"
#include "export/pb.h"
#include "export/stack_times.h"

#include <stdio.h>

/* The numbers of the fields in profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_DEFAULT_TYPE = 14,
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
	SAMPLE_LOCATION = 1, /* innermost first */
	SAMPLE_VALUE = 2,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

enum { MESSAGE_ROOM = 128, NUMBER_ROOM = 12 };

struct function {
	uint32_t name, file; /* in `strings` */
};

struct location {
	uint32_t function; /* index in `functions` */
	uint32_t line;
};

struct profile {
	exporter_sink *sink;
	void *context;
	struct pb out;
	struct strtab strings;		/* the file's table of strings */
	VEC(struct function) functions; /* ids are indexes + 1, as for locations */
	VEC(struct location) locations;
	struct map function_of, location_of;
	/* A stack is a text of location ids, each followed by a blank. `values`: by id of
	 * `stacks`. */
	struct strtab stacks;
	VEC(struct values { uint64_t of[STACK_KINDS]; }) values;
	VEC(char) stack; /* the one that is being made */
	const struct model_step *m;
	uint64_t began_ns, duration_ns;
};

static const struct {
	const char *type, *unit;
} kinds[STACK_KINDS] = {
	[STACK_CPU] = { "host", "nanoseconds" },
	[STACK_BLOCKED] = { "blocked", "nanoseconds" },
	[STACK_GPU] = { "gpu", "nanoseconds" },
	[STACK_BYTES] = { "allocated", "bytes" },
};

/* ---- Stacks ---- */

static uint32_t function_of(struct profile *p, const char *name, const char *file)
{
	struct function f = { strtab_intern(&p->strings, name), strtab_intern(&p->strings, file) };
	bool is_new;
	uint64_t *at = map_at(&p->function_of, (uint64_t)f.name << 32 | f.file, &is_new);
	if (is_new) {
		*at = p->functions.n;
		vec_push(&p->functions, f);
	}
	return (uint32_t)*at;
}

static void add_frame(struct profile *p, const char *name, const char *file, uint32_t line)
{
	struct location l = { function_of(p, name, file), line };
	char text[16];
	bool is_new;
	uint64_t *at = map_at(&p->location_of, (uint64_t)l.function << 32 | line, &is_new);
	if (is_new) {
		*at = p->locations.n + 1;
		vec_push(&p->locations, l);
	}
	int n = snprintf(text, sizeof(text), "%u ", (uint32_t)*at);
	vec_reserve(&p->stack, (size_t)n + 1);
	memcpy(p->stack.at + p->stack.n, text, (size_t)n + 1);
	p->stack.n += (size_t)n;
}

static void take(void *context, const struct stack_time *t)
{
	struct profile *p = context;
	p->stack.n = 0;
	for (size_t i = STACK_TIME_MORE; i-- > 0;)
		if (t->more[i])
			add_frame(p, t->more[i], "", 0);
	struct frame_list list = stack_times_frames(p->m, t->stack);
	for (size_t i = 0; i < list.n; i++)
		add_frame(p, list.at[i]->function, list.at[i]->file, list.at[i]->line);
	if (!p->stack.n)
		add_frame(p, "[unknown]", "", 0);
	uint32_t id = strtab_intern(&p->stacks, p->stack.at);
	vec_at_id(&p->values, id);
	p->values.at[id].of[t->kind] += t->value;
}

/* ---- The file ---- */

static void flush(struct profile *p)
{
	p->sink(p->context, p->out.start, pb_used(&p->out));
	p->out.at = p->out.start;
}

static void write_types(struct profile *p)
{
	for (int i = 0; i < STACK_KINDS; i++) {
		pb_reserve(&p->out, MESSAGE_ROOM);
		uint8_t *body = pb_begin(&p->out, PROFILE_SAMPLE_TYPE);
		pb_uint(&p->out, VALUE_TYPE, strtab_intern(&p->strings, kinds[i].type));
		pb_uint(&p->out, VALUE_UNIT, strtab_intern(&p->strings, kinds[i].unit));
		pb_end(&p->out, body);
	}
	pb_reserve(&p->out, MESSAGE_ROOM);
	pb_uint(&p->out, PROFILE_TIME_NS, p->began_ns);
	pb_uint(&p->out, PROFILE_DURATION_NS, p->duration_ns);
	pb_uint(&p->out, PROFILE_DEFAULT_TYPE, strtab_intern(&p->strings, kinds[STACK_GPU].type));
	flush(p);
}

static void write_sample(struct profile *p, uint32_t id)
{
	const char *at = strtab_text(&p->stacks, id);
	pb_reserve(&p->out, MESSAGE_ROOM + strlen(at) * NUMBER_ROOM);
	uint8_t *body = pb_begin(&p->out, PROFILE_SAMPLE);
	for (char *end; *at; at = end + 1)
		pb_uint(&p->out, SAMPLE_LOCATION, strtoul(at, &end, 10));
	for (int i = 0; i < STACK_KINDS; i++)
		pb_uint(&p->out, SAMPLE_VALUE, p->values.at[id].of[i]);
	pb_end(&p->out, body);
	flush(p);
}

static void write_locations(struct profile *p)
{
	for (size_t i = 0; i < p->locations.n; i++) {
		pb_reserve(&p->out, MESSAGE_ROOM);
		uint8_t *body = pb_begin(&p->out, PROFILE_LOCATION);
		pb_uint(&p->out, LOCATION_ID, i + 1);
		uint8_t *line = pb_begin(&p->out, LOCATION_LINE);
		pb_uint(&p->out, LINE_FUNCTION, (uint64_t)p->locations.at[i].function + 1);
		pb_uint(&p->out, LINE_LINE, p->locations.at[i].line);
		pb_end(&p->out, line);
		pb_end(&p->out, body);
	}
	for (size_t i = 0; i < p->functions.n; i++) {
		pb_reserve(&p->out, MESSAGE_ROOM);
		uint8_t *body = pb_begin(&p->out, PROFILE_FUNCTION);
		pb_uint(&p->out, FUNCTION_ID, i + 1);
		pb_uint(&p->out, FUNCTION_NAME, p->functions.at[i].name);
		pb_uint(&p->out, FUNCTION_SYSTEM_NAME, p->functions.at[i].name);
		pb_uint(&p->out, FUNCTION_FILE, p->functions.at[i].file);
		pb_end(&p->out, body);
	}
	flush(p);
}

static void write_strings(struct profile *p)
{
	for (uint32_t i = 0; i < p->strings.texts.n; i++) {
		const char *text = strtab_text(&p->strings, i);
		pb_reserve(&p->out, MESSAGE_ROOM + strlen(text));
		pb_text(&p->out, PROFILE_STRING, text);
	}
	flush(p);
}

static void *begin(exporter_sink *sink, void *context)
{
	struct profile *p = mem_zero(sizeof(*p));
	p->sink = sink;
	p->context = context;
	strtab_intern(&p->strings, ""); /* the first string must be empty */
	return p;
}

static void add(void *file, const struct analyzed_step *step)
{
	struct profile *p = file;
	const struct model_step *m = step->model;
	p->m = m;
	if (!p->began_ns)
		p->began_ns = m->clock.realtime_ns + m->begin_ns - m->clock.monotonic_ns;
	p->duration_ns += m->end_ns - m->begin_ns;
	stack_times_walk(step, take, p);
}

static void end(void *file)
{
	struct profile *p = file;
	write_types(p);
	for (uint32_t i = 1; i < p->values.n; i++)
		write_sample(p, i);
	write_locations(p);
	write_strings(p);
	pb_free(&p->out);
	strtab_free(&p->strings);
	strtab_free(&p->stacks);
	vec_free(&p->functions);
	vec_free(&p->locations);
	vec_free(&p->values);
	vec_free(&p->stack);
	map_free(&p->function_of);
	map_free(&p->location_of);
	free(p);
}

const struct exporter exporter_pprof = {
	.name = "pprof",
	.folder = "pprof",
	.suffix = ".pb.gz",
	.noun = "profile",
	.viewer = "pprof or https://www.speedscope.app",
	.begin = begin,
	.add = add,
	.end = end,
};
