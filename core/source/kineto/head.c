/* See head.h. */
#include "core/source/kineto/head.h"

#include <inttypes.h>
#include <string.h>

/* ---- deviceProperties ---- */

static uint32_t read_u32(struct scan *s)
{
	int64_t value = scan_integer(s, 0);
	return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void read_device(struct trace *t, struct scan *s)
{
	struct run_device d = { .id = UINT32_MAX };
	if (scan_peek(s) != '{') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '{'); scan_key(s);) {
		if (!strcmp(s->text, "id")) {
			int64_t id = scan_integer(s, -1);
			d.id = id >= 0 && id < DEVICE_UNKNOWN ? (uint32_t)id : UINT32_MAX;
		} else if (!strcmp(s->text, "name") && scan_text(s)) {
			snprintf(d.name, sizeof(d.name), "%.63s", s->text);
		} else if (!strcmp(s->text, "totalGlobalMem")) {
			int64_t bytes = scan_integer(s, 0);
			d.memory_bytes = bytes > 0 ? (uint64_t)bytes : 0;
		} else if (!strcmp(s->text, "computeMajor")) {
			d.compute_major = read_u32(s);
		} else if (!strcmp(s->text, "computeMinor")) {
			d.compute_minor = read_u32(s);
		} else if (!strcmp(s->text, "numSms")) {
			d.multiprocessors = read_u32(s);
		} else {
			scan_skip(s);
		}
	}
	if (d.id != UINT32_MAX && !tables_device(&t->tables, d.id))
		vec_push(&t->tables.devices, d);
}

static void read_devices(struct trace *t, struct scan *s)
{
	if (scan_peek(s) != '[') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '['); scan_item(s);)
		read_device(t, s);
}

/* ---- distributedInfo ---- */

static void read_group(struct trace *t, struct scan *s)
{
	struct trace_group g = { .n_ranks = -1 };
	if (scan_peek(s) != '{') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '{'); scan_key(s);) {
		if (!strcmp(s->text, "pg_name") && scan_text(s))
			g.name = strtab_intern(&t->tables.names, s->text);
		else if (!strcmp(s->text, "ranks"))
			g.ranks = event_read_list(s, &t->tables.names);
		else if (!strcmp(s->text, "pg_size"))
			g.n_ranks = scan_integer(s, -1);
		else
			scan_skip(s);
	}
	if (g.name)
		vec_push(&t->groups, g);
}

static void read_groups(struct trace *t, struct scan *s)
{
	if (scan_peek(s) != '[') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '['); scan_item(s);)
		read_group(t, s);
}

static void read_distributed(struct trace *t, struct scan *s)
{
	if (scan_peek(s) != '{') {
		scan_skip(s);
		return;
	}
	for (scan_enter(s, '{'); scan_key(s);) {
		if (!strcmp(s->text, "rank"))
			t->about.rank = scan_integer(s, -1);
		else if (!strcmp(s->text, "world_size"))
			t->about.n_ranks = scan_integer(s, -1);
		else if (!strcmp(s->text, "pg_config"))
			read_groups(t, s);
		else
			scan_skip(s);
	}
	if (t->about.rank >= 0) {
		char text[24];
		snprintf(text, sizeof(text), "%" PRId64, t->about.rank);
		tables_set_fact(&t->tables, "rank", text);
	}
}

/* ---- Single values ---- */

/* Keys whose values become facts of the run. */
static const struct {
	const char *key, *fact;
} facts[] = {
	{ "host_name", "host" },
	{ "cuda_driver_version", "cuda_driver" },
	{ "cuda_runtime_version", "cuda_runtime" },
	{ "cupti_version", "cupti_version" },
	{ "trace_id", "trace_id" },
};

static bool read_fact(struct trace *t, struct scan *s)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		if (!strcmp(s->text, facts[i].key)) {
			if (scan_text(s))
				tables_set_fact(&t->tables, facts[i].fact, s->text);
			return true;
		}
	return false;
}

void head_read(struct trace *t, struct scan *s)
{
	struct trace_about *about = &t->about;
	if (!strcmp(s->text, "deviceProperties"))
		read_devices(t, s);
	else if (!strcmp(s->text, "distributedInfo"))
		read_distributed(t, s);
	else if (!strcmp(s->text, "baseTimeNanoseconds"))
		about->base_ns = scan_integer(s, 0);
	else if (!strcmp(s->text, "with_stack"))
		about->has_stacks = scan_integer(s, 0) == 1;
	else if (!strcmp(s->text, "profile_memory"))
		about->has_memory = scan_integer(s, 0) == 1;
	else if (!strcmp(s->text, "record_shapes"))
		about->has_shapes = scan_integer(s, 0) == 1;
	else if (!read_fact(t, s))
		scan_skip(s);
}
