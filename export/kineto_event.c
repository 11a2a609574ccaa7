/* See kineto_parts.h: writes the events of a Kineto trace. Each is one line. */
#include "export/kineto_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { EVENT_ROOM = 512 }; /* bytes for an event without its arguments and texts */

static uint64_t ts_ns(struct kineto_file *k, uint64_t ns)
{
	k->first_ns = k->n_steps && k->first_ns < ns ? k->first_ns : ns;
	k->last_ns = k->last_ns > ns ? k->last_ns : ns;
	return ns + k->shift_ns;
}

static char *put_string(char *at, const char *text)
{
	return json_put(at, text, strlen(text));
}

void kineto_begin(struct kineto_file *k, const char *category, const char *name, int64_t pid,
		  uint32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	char *at = json_room(&k->out, EVENT_ROOM + json_text_room(name));
	at = JSON_PUT_LITERAL(at, ",\n{\"ph\":\"X\",\"cat\":\"");
	at = put_string(at, category);
	at = JSON_PUT_LITERAL(at, "\",\"name\":");
	at = json_put_text(at, name);
	at = JSON_PUT_LITERAL(at, ",\"pid\":");
	at = json_put_int(at, pid);
	at = JSON_PUT_LITERAL(at, ",\"tid\":");
	at = json_put_uint(at, tid);
	at = JSON_PUT_LITERAL(at, ",\"ts\":");
	at = json_put_us(at, ts_ns(k, begin_ns));
	at = JSON_PUT_LITERAL(at, ",\"dur\":");
	at = json_put_us(at, end_ns > begin_ns ? end_ns - begin_ns : 0);
	k->out.at = JSON_PUT_LITERAL(at, ",\"args\":{");
	k->has_args = false;
	ts_ns(k, end_ns);
}

void kineto_end(struct kineto_file *k)
{
	k->out.at = JSON_PUT_LITERAL(json_room(&k->out, EVENT_ROOM), "}}");
}

static char *put_key(struct kineto_file *k, const char *key, size_t more)
{
	char *at = json_room(&k->out, EVENT_ROOM + more);
	if (k->has_args)
		*at++ = ',';
	k->has_args = true;
	*at++ = '"';
	at = put_string(at, key);
	return JSON_PUT_LITERAL(at, "\":");
}

void kineto_arg_int(struct kineto_file *k, const char *key, int64_t value)
{
	k->out.at = json_put_int(put_key(k, key, 0), value);
}

void kineto_arg_double(struct kineto_file *k, const char *key, double value)
{
	k->out.at = json_put_double(put_key(k, key, 0), value);
}

void kineto_arg_text(struct kineto_file *k, const char *key, const char *value)
{
	k->out.at = json_put_text(put_key(k, key, json_text_room(value)), value);
}

void kineto_arg_null(struct kineto_file *k, const char *key)
{
	k->out.at = JSON_PUT_LITERAL(put_key(k, key, 0), "null");
}

void kineto_arg_three(struct kineto_file *k, const char *key, const uint32_t value[3])
{
	char *at = put_key(k, key, 0);
	for (int i = 0; i < 3; i++) {
		*at++ = i ? ',' : '[';
		at = json_put_uint(at, value[i]);
	}
	*at++ = ']';
	k->out.at = at;
}

void kineto_arrow(struct kineto_file *k, char phase, uint32_t id, int64_t pid, uint32_t tid,
		  uint64_t ns)
{
	char *at = json_room(&k->out, EVENT_ROOM);
	at = JSON_PUT_LITERAL(at, ",\n{\"ph\":\"");
	*at++ = phase;
	at = JSON_PUT_LITERAL(at, "\",\"id\":");
	at = json_put_uint(at, id);
	at = JSON_PUT_LITERAL(at, ",\"pid\":");
	at = json_put_int(at, pid);
	at = JSON_PUT_LITERAL(at, ",\"tid\":");
	at = json_put_uint(at, tid);
	at = JSON_PUT_LITERAL(at, ",\"ts\":");
	at = json_put_us(at, ts_ns(k, ns));
	at = JSON_PUT_LITERAL(at, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
	k->out.at = phase == 'f' ? JSON_PUT_LITERAL(at, ",\"bp\":\"e\"}")
				 : JSON_PUT_LITERAL(at, "}");
}

void kineto_memory(struct kineto_file *k, const struct model_block *b, uint32_t tid, int64_t bytes)
{
	char *at = json_room(&k->out, EVENT_ROOM);
	at = JSON_PUT_LITERAL(at, ",\n{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\","
				  "\"name\":\"[memory]\",\"pid\":");
	at = json_put_uint(at, k->pid);
	at = JSON_PUT_LITERAL(at, ",\"tid\":");
	at = json_put_uint(at, tid);
	at = JSON_PUT_LITERAL(at, ",\"ts\":");
	at = json_put_us(at, ts_ns(k, b->ns));
	/* 1: the type of a GPU in PyTorch (c10::DeviceType::CUDA) */
	at = JSON_PUT_LITERAL(at, ",\"args\":{\"Device Type\":1,\"Device Id\":");
	at = json_put_uint(at, b->device);
	at = JSON_PUT_LITERAL(at, ",\"Addr\":");
	at = json_put_uint(at, b->address);
	at = JSON_PUT_LITERAL(at, ",\"Bytes\":");
	at = json_put_int(at, bytes);
	at = JSON_PUT_LITERAL(at, ",\"Total Allocated\":");
	at = json_put_uint(at, b->allocated_bytes);
	at = JSON_PUT_LITERAL(at, ",\"Total Reserved\":");
	at = json_put_uint(at, b->reserved_bytes);
	k->out.at = JSON_PUT_LITERAL(at, "}}");
}

void kineto_count(struct kineto_file *k, const struct kineto_counter *c, uint64_t ns)
{
	const char *name = strtab_text(&k->counter_names, c->name);
	char *at = json_room(&k->out, EVENT_ROOM + 2 * json_text_room(name));
	at = JSON_PUT_LITERAL(at, ",\n{\"ph\":\"C\",\"cat\":\"counter\",\"name\":");
	at = json_put_text(at, name);
	if (c->is_queue) {
		at = JSON_PUT_LITERAL(at, ",\"id\":");
		at = json_put_uint(at, c->id);
	}
	at = JSON_PUT_LITERAL(at, ",\"pid\":");
	at = json_put_uint(at, c->device);
	at = JSON_PUT_LITERAL(at, ",\"tid\":0,\"ts\":");
	at = json_put_us(at, ns);
	if (c->is_queue) {
		at = JSON_PUT_LITERAL(at, ",\"args\":{\"launches\":");
		at = json_put_int(at, c->value);
	} else {
		at = JSON_PUT_LITERAL(at, ",\"args\":{\"GB/s\":");
		at = json_put_double(at, (double)c->value / 1e9);
	}
	k->out.at = JSON_PUT_LITERAL(at, "}}");
}

/* ---- Names of tracks ---- */

/* Writes a metadata event whose value is a text, or a number if `text` is NULL. */
static void put_fact(struct kineto_file *k, const char *what, int64_t pid, uint32_t tid,
		     const char *key, const char *text, uint32_t number)
{
	char *at = json_room(&k->out, EVENT_ROOM + (text ? json_text_room(text) : 0));
	at += sprintf(at, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%u,\"ts\":",
		      what, pid, tid);
	at = json_put_us(at, k->m->begin_ns + k->shift_ns);
	at += sprintf(at, ",\"args\":{\"%s\":", key);
	at = text ? json_put_text(at, text) : json_put_uint(at, number);
	k->out.at = JSON_PUT_LITERAL(at, "}}");
}

void kineto_name_track(struct kineto_file *k, int64_t pid, uint32_t tid, const char *name,
		       uint32_t order)
{
	bool is_new;
	map_at(&k->tracks, trace_mix((uint64_t)pid, tid), &is_new);
	if (!is_new)
		return;
	put_fact(k, "thread_name", pid, tid, "name", name, 0);
	put_fact(k, "thread_sort_index", pid, tid, "sort_index", NULL, order);
}

void kineto_name_process(struct kineto_file *k, int64_t pid, const char *name, const char *label,
			 uint32_t order)
{
	bool is_new;
	map_at(&k->tracks, trace_mix((uint64_t)pid, UINT64_MAX), &is_new);
	if (!is_new)
		return;
	put_fact(k, "process_name", pid, 0, "name", name, 0);
	put_fact(k, "process_labels", pid, 0, "labels", label, 0);
	put_fact(k, "process_sort_index", pid, 0, "sort_index", NULL, order);
}

/* ---- The beginning and the end ---- */

/* Writes an instant of the whole trace. `track`: its pid and tid, which are texts. */
static void put_moment(struct kineto_file *k, const char *name, const char *pid, const char *tid,
		       uint64_t ns, bool is_first)
{
	char *at = json_room(&k->out, EVENT_ROOM);
	at += sprintf(at,
		      "%s\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"%s\",\"pid\":\"%s\",\"tid\":\"%s\","
		      "\"ts\":",
		      is_first ? "" : ",", name, pid, tid);
	at = json_put_us(at, ns + k->shift_ns);
	k->out.at = JSON_PUT_LITERAL(at, "}");
}

void kineto_write_start(struct kineto_file *k)
{
	put_moment(k, "Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler",
		   k->m->begin_ns, true);
}

void kineto_write_end(struct kineto_file *k)
{
	char *at = json_room(&k->out, EVENT_ROOM);
	at = JSON_PUT_LITERAL(at, ",\n{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler "
				  "(0)\","
				  "\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"ts\":");
	at = json_put_us(at, k->first_ns + k->shift_ns);
	at = JSON_PUT_LITERAL(at, ",\"dur\":");
	at = json_put_us(at, k->last_ns - k->first_ns);
	k->out.at = JSON_PUT_LITERAL(at, ",\"args\":{\"Op count\":0}}");
	put_moment(k, "Record Window End", "", "", k->last_ns, false);
}
