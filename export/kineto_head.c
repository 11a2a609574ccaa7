/* See kineto_parts.h: the facts that a Kineto trace has before its events. Readers look for the
 * rank line by line, and want a blank after each colon. */
#include "core/model/occupancy.h"
#include "export/kineto_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { DEVICE_ROOM = 1024 };

/* Kineto rounds its base time down to this, about three months, so that the ranks of a job have the
 * same. */
#define BASE_UNIT_S 7889238ull

static char *put_device(char *at, const struct run_device *d)
{
	const struct occupancy_limits *l = occupancy_limits(d->compute_major, d->compute_minor);
	at += sprintf(at, "\n  {\"id\": %u, \"name\": ", d->id);
	at = json_put_text(at, d->name);
	at += sprintf(at,
		      ", \"totalGlobalMem\": %" PRIu64 ", \"computeMajor\": %u, "
		      "\"computeMinor\": %u",
		      d->memory_bytes, d->compute_major, d->compute_minor);
	if (d->multiprocessors)
		at += sprintf(at, ", \"numSms\": %u", d->multiprocessors);
	if (l)
		at += sprintf(at,
			      ", \"maxThreadsPerBlock\": 1024, \"warpSize\": %d, "
			      "\"maxThreadsPerMultiprocessor\": %u, \"regsPerBlock\": %d, "
			      "\"regsPerMultiprocessor\": %d, \"sharedMemPerBlock\": 49152, "
			      "\"sharedMemPerMultiprocessor\": %u",
			      OCCUPANCY_WARP, l->threads, OCCUPANCY_REGISTERS, OCCUPANCY_REGISTERS,
			      l->shared_bytes);
	return JSON_PUT_LITERAL(at, "}");
}

static void put_devices(struct kineto_file *k)
{
	const struct tables *t = k->m->tables;
	char *at = json_room(&k->out, (t->devices.n + 1) * DEVICE_ROOM);
	at = JSON_PUT_LITERAL(at, "\"deviceProperties\": [");
	for (size_t i = 0; i < t->devices.n; i++) {
		if (i)
			*at++ = ',';
		at = put_device(at, &t->devices.at[i]);
	}
	k->out.at = JSON_PUT_LITERAL(at, "],\n");
}

/* Returns the largest number of ranks of a communicator of the step; 0: unknown. */
static uint32_t count_ranks(const struct model_step *m)
{
	uint32_t n = 0;
	for (size_t i = 0; i < m->libraries.n; i++)
		n = m->libraries.at[i].n_ranks > n ? m->libraries.at[i].n_ranks : n;
	return n;
}

static void put_rank(struct kineto_file *k)
{
	const char *rank = tables_fact(k->m->tables, "rank");
	uint32_t n = count_ranks(k->m);
	char *at = json_room(&k->out, DEVICE_ROOM);
	if (!rank || !*rank || strlen(rank) > 9 || strspn(rank, "0123456789") != strlen(rank))
		return;
	at += sprintf(at, "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %s", rank);
	if (n)
		at += sprintf(at, ", \"world_size\": %u", n);
	k->out.at = at;
	if (n)
		kineto_put_groups(k);
	k->out.at = JSON_PUT_LITERAL(json_room(&k->out, DEVICE_ROOM), "},\n");
}

static void put_text(struct kineto_file *k, const char *key, const char *text)
{
	char *at = json_room(&k->out, DEVICE_ROOM + json_text_room(text));
	at += sprintf(at, "\"%s\": ", key);
	at = json_put_text(at, text);
	k->out.at = JSON_PUT_LITERAL(at, ",\n");
}

static uint64_t base_ns(const struct model_clock *clock)
{
	return clock->realtime_ns / 1000000000 / BASE_UNIT_S * BASE_UNIT_S * 1000000000;
}

void kineto_write_head(struct kineto_file *k)
{
	const struct model_step *m = k->m;
	const char *host = tables_fact(m->tables, "host"),
		   *version = tables_fact(m->tables, "version");
	uint64_t base = base_ns(&m->clock);
	k->shift_ns = m->clock.realtime_ns - m->clock.monotonic_ns - base;
	char *at = json_room(&k->out, DEVICE_ROOM);
	k->out.at = JSON_PUT_LITERAL(at, "{\"schemaVersion\": 1,\n");
	put_devices(k);
	put_rank(k);
	if (host && *host)
		put_text(k, "host_name", host);
	if (version && *version)
		put_text(k, "profrun_version", version);
	at = json_room(&k->out, DEVICE_ROOM);
	if (m->frames)
		at = JSON_PUT_LITERAL(at, "\"with_stack\": 1,\n");
	if (m->blocks.n)
		at = JSON_PUT_LITERAL(at, "\"profile_memory\": 1,\n");
	at += sprintf(at,
		      "\"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": %" PRIu64
		      ",\n\"traceEvents\": [",
		      base);
	k->out.at = at;
}
