/* See trace.h. */
#include "core/source/kineto/trace.h"

#include "core/model/operator_cost.h"
#include "core/source/kineto/api.h"
#include "core/source/kineto/head.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The model's times are unsigned, and some code takes 0 for "unknown". */
enum { ORIGIN_NS = 1000000000 };

struct thread_name {
	int64_t pid, tid;
	uint32_t label; /* in `tables.names` */
};

struct loading {
	struct trace *t;
	VEC(struct thread_name) thread_names; /* they may come after the threads' events */
	struct map thread_of;		      /* hash of pid and tid -> index in t->threads */
	struct map kernel_of;		      /* hash of a kernel -> index in tables.kernels */
	bool has_events;
	int64_t first_ns, last_ns; /* as in the trace */
};

/* ---- Threads ---- */

static uint64_t thread_key(int64_t pid, int64_t tid)
{
	return (uint64_t)pid * 0x9e3779b97f4a7c15ull ^ (uint64_t)tid;
}

static uint32_t thread_of(struct loading *l, int64_t pid, int64_t tid)
{
	bool is_new;
	uint64_t *at = map_at(&l->thread_of, thread_key(pid, tid), &is_new);
	if (is_new) {
		*at = l->t->threads.n;
		vec_push(&l->t->threads, (struct trace_thread){ .pid = pid, .tid = tid });
	}
	return (uint32_t)*at;
}

/* A trace names many threads that have no events, such as those of unused GPUs. */
static void note_name(struct loading *l, const struct event *e)
{
	if (e->label)
		vec_push(&l->thread_names, (struct thread_name){ e->pid, e->tid, e->label });
}

/* Takes the name from "thread 4242 (python)", or the whole text. */
static void name_thread(struct loading *l, const struct thread_name *name)
{
	const uint64_t *thread = map_find(&l->thread_of, thread_key(name->pid, name->tid));
	if (!thread)
		return;
	struct trace_thread *to = &l->t->threads.at[*thread];
	const char *text = strtab_text(&l->t->tables.names, name->label),
		   *open = strrchr(text, '(');
	size_t n = open ? strcspn(open + 1, ")") : 0;
	if (n)
		snprintf(to->name, sizeof(to->name), "%.*s", (int)(n < 15 ? n : 15), open + 1);
	else
		snprintf(to->name, sizeof(to->name), "%.15s", text);
}

/* ---- CPU events ---- */

static bool is_step(const char *name, uint64_t *number)
{
	static const char word[] = "ProfilerStep";
	char *end;
	if (strncmp(name, word, sizeof(word) - 1))
		return false;
	name += sizeof(word) - 1;
	name += strspn(name, " ");
	if (*name != '#')
		return false;
	name++;
	name += strspn(name, " ");
	if (!isdigit((unsigned char)*name))
		return false;
	errno = 0;
	*number = strtoull(name, &end, 10);
	return !errno && !*end;
}

static void add_slice(struct loading *l, const struct event *e)
{
	struct trace *t = l->t;
	struct trace_slice slice = {
		.begin_ns = (uint64_t)e->begin_ns,
		.end_ns = (uint64_t)(e->begin_ns + e->duration_ns),
		.name = e->name,
		.thread = thread_of(l, e->pid, e->tid),
		.call_stack = e->call_stack,
		.call_from = e->call_from,
		.category = e->category,
	};
	uint64_t number;
	if (e->category != EVENT_PYTHON && is_step(strtab_text(&t->tables.names, e->name), &number))
		vec_push(&t->steps,
			 (struct trace_step){ slice.begin_ns, slice.end_ns, number, slice.thread });
	else
		vec_push(&t->slices, slice);
	struct trace_span span = { slice.begin_ns, slice.end_ns, slice.thread };
	if (e->comm.collective)
		vec_push(&t->comms, (struct trace_comm){ .span = span, .facts = e->comm });
	if (e->dims && operator_cost_knows(strtab_text(&t->tables.names, e->name)))
		vec_push(&t->shapes,
			 (struct trace_shape){ span, e->name, e->dims, e->types, e->values });
}

/* Returns 0 for a value that is missing or too large. */
static uint32_t small(int64_t value)
{
	return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void add_call(struct loading *l, const struct event *e)
{
	struct trace *t = l->t;
	uint8_t category = api_category(strtab_text(&t->tables.names, e->name));
	vec_push(&t->calls,
		 (struct trace_call){
			 .begin_ns = (uint64_t)e->begin_ns,
			 .end_ns = (uint64_t)(e->begin_ns + e->duration_ns),
			 .name = e->name,
			 .thread = thread_of(l, e->pid, e->tid),
			 .correlation = e->correlation > 0 && e->correlation <= UINT32_MAX
						? (uint32_t)e->correlation
						: 0,
			 .call_from = e->call_from,
			 .polls = small(e->polls),
			 .kernel = e->kernel,
		 });
	t->counts.calls++;
	t->counts.launches += category_is_launch(category);
}

/* ---- GPU events ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Returns the index + 1 of the kernel in the tables. */
static uint32_t kernel_of(struct loading *l, const struct event *e)
{
	struct tables *t = &l->t->tables;
	struct run_kernel k = {
		.name = e->name,
		.block = { small(e->block[0]), small(e->block[1]), small(e->block[2]) },
		.registers = small(e->registers),
		/* the trace has the sum of static and dynamic shared memory */
		.dynamic_shared_bytes = small(e->shared_bytes),
		.is_known = true,
	};
	uint64_t hash = mix(mix(k.name, k.registers), k.dynamic_shared_bytes);
	for (size_t i = 0; i < 3; i++)
		hash = mix(hash, k.block[i]);
	bool is_new;
	uint64_t *at = map_at(&l->kernel_of, hash, &is_new);
	if (is_new) {
		*at = t->kernels.n;
		vec_push(&t->kernels, k);
	}
	return (uint32_t)*at + 1;
}

/* The order of CUpti_ActivityMemoryKind. */
static uint8_t memory_kind(const char *name, size_t n)
{
	static const char *const names[] = { "Unknown",	      "Pageable",      "Pinned",
					     "Device",	      "Array",	       "Managed",
					     "Device Static", "Managed Static" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			return (uint8_t)i;
	return 0;
}

/* Reads the kinds of memory from "Memcpy HtoD (Pageable -> Device)" or "Memset (Device)". */
static void set_memory(struct model_work *w, const char *name)
{
	const char *open = strchr(name, '('), *arrow = open ? strstr(open, " -> ") : NULL;
	if (!open++)
		return;
	if (arrow)
		w->source = memory_kind(open, (size_t)(arrow - open));
	const char *target = arrow ? arrow + 4 : open;
	w->target = memory_kind(target, strcspn(target, ")"));
}

static void add_work(struct loading *l, const struct event *e)
{
	static const uint8_t kinds[EVENT_CATEGORIES_N] = { [EVENT_KERNEL] = WORK_KERNEL,
							   [EVENT_MEMCPY] = WORK_MEMCPY,
							   [EVENT_MEMSET] = WORK_MEMSET,
							   [EVENT_SYNC] = WORK_SYNC };
	struct trace *t = l->t;
	int64_t device = e->device != EVENT_NONE ? e->device : e->pid,
		stream = e->stream != EVENT_NONE ? e->stream : e->tid;
	struct model_work w = {
		.begin_ns = (uint64_t)e->begin_ns,
		.end_ns = (uint64_t)(e->begin_ns + e->duration_ns),
		.bytes = e->bytes > 0 ? (uint64_t)e->bytes : 0,
		.node = e->node > 0 ? (uint64_t)e->node : 0,
		.name = e->name,
		.call = MODEL_NO_CALL,
		.origin = MODEL_NO_CALL,
		.correlation = small(e->correlation),
		.context = small(e->context),
		.stream = stream >= 0 ? (uint32_t)stream : UINT32_MAX,
		.graph = small(e->graph),
		.peer = small(e->peer),
		.kind = kinds[e->category],
		.device = device >= 0 && device < DEVICE_UNKNOWN ? (uint8_t)device : DEVICE_UNKNOWN,
	};
	if (w.kind == WORK_KERNEL)
		w.kernel = kernel_of(l, e);
	for (size_t i = 0; i < 3; i++)
		w.grid[i] = small(e->grid[i]);
	if (w.kind == WORK_MEMCPY || w.kind == WORK_MEMSET)
		set_memory(&w, strtab_text(&t->tables.names, w.name));
	vec_push(&t->works, w);
	if (w.kind == WORK_SYNC && small(e->recorded) && small(e->recorded_stream))
		vec_push(&t->event_waits,
			 (struct trace_event_wait){ w.correlation, small(e->recorded),
						    small(e->recorded_stream) });
	t->counts.works[w.kind]++;
}

/* ---- All events ---- */

static void extend(struct loading *l, const struct event *e)
{
	int64_t end_ns = e->begin_ns + e->duration_ns;
	if (!l->has_events || e->begin_ns < l->first_ns)
		l->first_ns = e->begin_ns;
	if (!l->has_events || end_ns > l->last_ns)
		l->last_ns = end_ns;
	l->has_events = true;
}

/* Returns whether the event has what a span needs. Sets a negative duration to 0. */
static bool is_span(struct trace *t, struct event *e)
{
	int64_t end_ns;
	if (!e->name || !e->has_begin || !e->has_duration ||
	    __builtin_add_overflow(e->begin_ns, e->duration_ns, &end_ns)) {
		t->counts.malformed++;
		return false;
	}
	t->counts.negative += e->duration_ns < 0;
	e->duration_ns = e->duration_ns < 0 ? 0 : e->duration_ns;
	return true;
}

static void add_span(struct loading *l, struct event *e)
{
	struct trace *t = l->t;
	bool is_gpu = e->category == EVENT_KERNEL || e->category == EVENT_MEMCPY ||
		      e->category == EVENT_MEMSET || e->category == EVENT_SYNC;
	bool is_cpu = e->category == EVENT_OPERATOR || e->category == EVENT_ANNOTATION ||
		      e->category == EVENT_PYTHON || e->category == EVENT_RUNTIME ||
		      e->category == EVENT_DRIVER;
	t->counts.other_device += e->category == EVENT_OTHER_DEVICE;
	if ((!is_gpu && !is_cpu) || !is_span(t, e))
		return;
	if (is_cpu && (e->pid == EVENT_NONE || e->tid == EVENT_NONE)) {
		t->counts.malformed++;
		return;
	}
	extend(l, e);
	if (is_gpu)
		add_work(l, e);
	else if (e->category == EVENT_RUNTIME || e->category == EVENT_DRIVER)
		add_call(l, e);
	else
		add_slice(l, e);
}

/* Blocks on the CPU are left out. */
static void add_block(struct loading *l, const struct event *e)
{
	enum { CUDA = 1, HIP = 20 }; /* c10::DeviceType */
	bool is_gpu = e->device_type == CUDA || e->device_type == HIP;
	bool has_device = e->device_id >= 0 && e->device_id < DEVICE_UNKNOWN;
	if (!is_gpu || !has_device || e->block_bytes == EVENT_NONE || e->address == EVENT_NONE)
		return;
	if (!e->has_begin || e->pid == EVENT_NONE || e->tid == EVENT_NONE) {
		l->t->counts.malformed++;
		return;
	}
	bool is_freed = e->block_bytes < 0;
	vec_push(&l->t->blocks,
		 ((struct trace_block){
			 .ns = (uint64_t)e->begin_ns,
			 .address = (uint64_t)e->address,
			 .bytes = (uint64_t)(is_freed ? -e->block_bytes : e->block_bytes),
			 .allocated_bytes = e->allocated > 0 ? (uint64_t)e->allocated : 0,
			 .reserved_bytes = e->reserved > 0 ? (uint64_t)e->reserved : 0,
			 .thread = thread_of(l, e->pid, e->tid),
			 .device = (uint8_t)e->device_id,
			 .is_freed = is_freed }));
}

static void add_event(struct loading *l, struct event *e)
{
	const char *name = strtab_text(&l->t->tables.names, e->name);
	l->t->counts.events++;
	if (e->phase == 'X')
		add_span(l, e);
	else if (e->phase == 'i' && !strcmp(name, "[memory]"))
		add_block(l, e);
	else if (e->phase == 'M' && e->pid != EVENT_NONE && e->tid != EVENT_NONE &&
		 !strcmp(name, "thread_name"))
		note_name(l, e);
}

static void read_events(struct loading *l, struct scan *s)
{
	struct event e;
	for (scan_enter(s, '['); scan_item(s);)
		if (event_read(&e, s, &l->t->tables.names))
			add_event(l, &e);
}

/* Returns whether the file has the form of a trace. */
static bool read_file(struct loading *l, struct scan *s)
{
	bool has_list = false;
	if (scan_peek(s) == '[') {
		read_events(l, s);
		return true;
	}
	if (scan_peek(s) != '{') {
		scan_fail(s, "no JSON object");
		return false;
	}
	for (scan_enter(s, '{'); scan_key(s);) {
		if (!strcmp(s->text, "traceEvents") && scan_peek(s) == '[') {
			has_list = true;
			read_events(l, s);
		} else {
			head_read(l->t, s);
		}
	}
	return has_list;
}

/* ---- Times ---- */

static void rebase_span(struct trace_span *s, uint64_t shift)
{
	s->begin_ns += shift;
	s->end_ns += shift;
}

/* Moves all times so that the first event is at ORIGIN_NS. */
static void rebase(struct loading *l)
{
	struct trace *t = l->t;
	uint64_t shift = (uint64_t)ORIGIN_NS - (uint64_t)l->first_ns;
	for (size_t i = 0; i < t->slices.n; i++) {
		t->slices.at[i].begin_ns += shift;
		t->slices.at[i].end_ns += shift;
	}
	for (size_t i = 0; i < t->calls.n; i++) {
		t->calls.at[i].begin_ns += shift;
		t->calls.at[i].end_ns += shift;
	}
	for (size_t i = 0; i < t->works.n; i++) {
		t->works.at[i].begin_ns += shift;
		t->works.at[i].end_ns += shift;
	}
	for (size_t i = 0; i < t->steps.n; i++) {
		t->steps.at[i].begin_ns += shift;
		t->steps.at[i].end_ns += shift;
	}
	for (size_t i = 0; i < t->blocks.n; i++)
		t->blocks.at[i].ns += shift;
	for (size_t i = 0; i < t->comms.n; i++)
		rebase_span(&t->comms.at[i].span, shift);
	for (size_t i = 0; i < t->shapes.n; i++)
		rebase_span(&t->shapes.at[i].span, shift);
	t->begin_ns = (uint64_t)l->first_ns + shift;
	t->end_ns = (uint64_t)l->last_ns + shift;
	t->origin_ns = (uint64_t)t->about.base_ns - shift;
}

/* ---- The process ---- */

/* The pid that most calls have, else most operators: a trace can list other processes' events. */
static void choose_pid(struct trace *t)
{
	struct map n_of = { 0 };
	uint64_t most = 0;
	for (size_t i = 0; i < t->calls.n + t->slices.n; i++) {
		bool is_call = i < t->calls.n;
		uint32_t thread = is_call ? t->calls.at[i].thread
					  : t->slices.at[i - t->calls.n].thread;
		if (!is_call && t->calls.n)
			break;
		uint64_t *n = map_at(&n_of, (uint64_t)t->threads.at[thread].pid, NULL);
		if (++*n > most) {
			most = *n;
			t->pid = t->threads.at[thread].pid;
		}
	}
	map_free(&n_of);
}

/* Returns a GPU that is like all of deviceProperties; NULL: they differ, or there are none. */
static const struct run_device *device_of_all(const struct trace *t)
{
	const struct run_device *first = t->tables.devices.at;
	for (size_t i = 1; i < t->tables.devices.n; i++)
		if (strcmp(first[i].name, first->name) != 0)
			return NULL;
	return t->tables.devices.n ? first : NULL;
}

/* GPUs that have work, but no entry in deviceProperties. Traces of AMD GPUs number them otherwise
 * than deviceProperties does. */
static void add_devices(struct trace *t)
{
	const struct run_device *like = device_of_all(t);
	struct run_device known = like ? *like : (struct run_device){ 0 };
	bool is_used[DEVICE_UNKNOWN + 1] = { false };
	for (size_t i = 0; i < t->works.n; i++)
		is_used[t->works.at[i].device] = true;
	for (uint32_t i = 0; i < DEVICE_UNKNOWN; i++)
		if (is_used[i] && !tables_device(&t->tables, i)) {
			struct run_device d = known;
			d.id = i;
			if (!*d.name)
				snprintf(d.name, sizeof(d.name), "GPU %u", i);
			vec_push(&t->tables.devices, d);
		}
}

/* ---- The file ---- */

bool trace_is_one(const char *path)
{
	static const char *const suffixes[] = { ".json", ".json.gz" };
	size_t n = strlen(path);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		size_t bytes = strlen(suffixes[i]);
		if (n > bytes && !strcmp(path + n - bytes, suffixes[i]))
			return true;
	}
	unsigned char first[2] = { 0 };
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	bool is_any = read(file, first, sizeof(first)) == (ssize_t)sizeof(first);
	close(file);
	return is_any && (*first == '{' || *first == '[' || (*first == 0x1f && first[1] == 0x8b));
}

static int load(struct loading *l, struct scan *s, const char *path, struct err *e)
{
	struct trace *t = l->t;
	bool is_trace = read_file(l, s);
	if (!is_trace)
		return err_set(e, -EINVAL, "%.120s: not a trace: %s", path,
			       *scan_trouble(s) ? scan_trouble(s)
						: "the JSON has no list \"traceEvents\"");
	if (!l->has_events && *scan_trouble(s))
		return err_set(e, -EINVAL, "%.120s: no event can be read: %s", path,
			       scan_trouble(s));
	if (!l->has_events)
		return err_set(e, -EINVAL,
			       "%.120s: not a trace of torch.profiler: none of its %llu events is "
			       "of a "
			       "CPU thread or a GPU",
			       path, (unsigned long long)t->counts.events);
	if (*scan_trouble(s))
		snprintf(t->damage, sizeof(t->damage), "%s; the %llu events before it are used",
			 scan_trouble(s), (unsigned long long)t->counts.events);
	for (size_t i = 0; i < l->thread_names.n; i++)
		name_thread(l, &l->thread_names.at[i]);
	rebase(l);
	choose_pid(t);
	add_devices(t);
	return 0;
}

int trace_load(struct trace **to, const char *path, struct err *e)
{
	struct bytes *bytes;
	int error = bytes_open(&bytes, path, e);
	if (error)
		return error;
	struct loading l = { .t = mem_zero(sizeof(*l.t)) };
	struct scan *s = mem_resize(NULL, sizeof(*s));
	l.t->about.rank = l.t->about.n_ranks = -1;
	scan_start(s, bytes);
	error = load(&l, s, path, e);
	free(s);
	bytes_close(bytes);
	map_free(&l.thread_of);
	vec_free(&l.thread_names);
	map_free(&l.kernel_of);
	if (error)
		trace_free(l.t);
	else
		*to = l.t;
	return error;
}

void trace_free_events(struct trace *t)
{
	vec_free(&t->slices);
	vec_free(&t->calls);
	vec_free(&t->works);
	vec_free(&t->event_waits);
	vec_free(&t->samples);
	vec_free(&t->steps);
	vec_free(&t->blocks);
	vec_free(&t->comms);
	vec_free(&t->shapes);
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	trace_free_events(t);
	tables_free(&t->tables);
	vec_free(&t->groups);
	vec_free(&t->threads);
	free(t);
}
