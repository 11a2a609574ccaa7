/*
 * Writes the steps of a window as a SQLite database with the tables and columns of Nsight Systems'
 * export (`nsys export --type sqlite`), so that scripts for those files work (docs/tables.md).
 * Columns that profrun does not know are NULL. Times are ns since the first step's begin.
 */
#include "core/symbols/frames.h"
#include "core/util/map.h"
#include "core/util/path.h"
#include "export/call_waits.h"
#include "export/exporter.h"
#include "export/kernel_words.h"
#include "export/nsys_schema.h"
#include "export/outfile.h"
#include "export/sqlite_db.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum {
#define X(name, columns) T_##name,
	NSYS_TABLES(X)
#undef X
		T_ALL
};

static const struct sqlite_table tables[T_ALL] = {
#define X(name, columns) { #name, columns },
	NSYS_TABLES(X)
#undef X
};

/* The domain of our own ranges, which show the steps. Nsight Systems numbers the application's from
 * 0, the default domain. */
enum { OWN_DOMAIN = 1 << 20 };

struct database {
	struct outfile out; /* holds the file's lock, and renames the file */
	struct sqlite_db *db;
	struct strtab strings;
	uint32_t n_strings; /* ids below are in the table StringIds */
	struct map chains;  /* DICT_STACK of calls -> 1 */
	struct map threads; /* tids -> 1 */
	struct call_waits waits;
	struct map domains; /* names of NVTX domains -> 1 */
	uint64_t origin_ns;
	int64_t correlation, n_samples, pid;
	bool has_head;
	const struct model_step *m;
};

#define I(value) ((int64_t)(value))

/* ---- Texts and ids ---- */

static int64_t string_id(struct database *d, const char *text)
{
	uint32_t id = strtab_intern(&d->strings, text);
	if (id >= d->n_strings) {
		sqlite_db_row(d->db, T_StringIds, "it", I(id), text);
		d->n_strings = id + 1;
	}
	return id;
}

static int64_t name_id(struct database *d, uint32_t name)
{
	return string_id(d, strtab_text(&d->m->tables->names, name));
}

static int64_t global_pid(const struct database *d)
{
	return d->pid << 24;
}

static int64_t global_tid(const struct database *d, uint32_t tid)
{
	return global_pid(d) | (tid & 0xffffff);
}

static int64_t thread_id(struct database *d, uint32_t thread)
{
	return global_tid(d, thread < d->m->threads.n ? d->m->threads.at[thread].tid : d->m->pid);
}

/* Returns ns since the origin. A time before it, such as that of a range that was cut, is 0. */
static int64_t at(const struct database *d, uint64_t ns)
{
	return ns > d->origin_ns ? I(ns - d->origin_ns) : 0;
}

/* ---- Facts ---- */

static void write_enum(struct database *d, size_t table, const struct nsys_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sqlite_db_row(d->db, table, "itt", rows[i].id, rows[i].name, rows[i].label);
}

#define WRITE_ENUM(d, table, rows) write_enum(d, table, rows, sizeof(rows) / sizeof(*rows))

static void write_enums(struct database *d)
{
	WRITE_ENUM(d, T_ENUM_CUDA_MEMCPY_OPER, nsys_copies);
	WRITE_ENUM(d, T_ENUM_CUDA_MEM_KIND, nsys_memories);
	WRITE_ENUM(d, T_ENUM_NSYS_EVENT_TYPE, nsys_events);
	for (int64_t i = 0; i < WAIT_TYPES; i++)
		sqlite_db_row(d->db, T_ENUM_CUPTI_SYNC_TYPE, "itt", i, sync_words[i].nsys,
			      sync_words[i].kineto);
}

static void write_start(struct database *d)
{
	const struct model_clock *c = &d->m->clock;
	uint64_t ns = c->realtime_ns + d->origin_ns - c->monotonic_ns;
	time_t seconds = (time_t)(ns / 1000000000);
	char utc[40] = "", local[40] = "";
	struct tm broken;
	if (gmtime_r(&seconds, &broken))
		strftime(utc, sizeof(utc), "%Y-%m-%d %H:%M:%S", &broken);
	if (localtime_r(&seconds, &broken))
		strftime(local, sizeof(local), "%Y-%m-%d %H:%M:%S", &broken);
	sqlite_db_row(d->db, T_TARGET_INFO_SESSION_START_TIME, "itt", I(ns), utc, local);
}

static void write_domain(struct database *d, int64_t id, const char *name)
{
	sqlite_db_row(d->db, T_NVTX_EVENTS,
		      "in"
		      "i"
		      "nnn"
		      "t"
		      "nn"
		      "ii",
		      (int64_t)0, I(EVENT_DOMAIN), name, string_id(d, name), id);
}

static void write_head(struct database *d)
{
	const struct tables *t = d->m->tables;
	const char *version = tables_fact(t, "version");
	write_enums(d);
	write_start(d);
	write_domain(d, OWN_DOMAIN, "profrun");
	sqlite_db_row(d->db, T_META_DATA_EXPORT, "tt", "EXPORTER", "profrun");
	sqlite_db_row(d->db, T_META_DATA_EXPORT, "tt", "EXPORTER_VERSION", version ? version : "");
	sqlite_db_row(d->db, T_PROCESSES, "iit", global_pid(d), d->pid, d->m->command);
	for (size_t i = 0; i < t->devices.n; i++) {
		const struct run_device *g = &t->devices.at[i];
		sqlite_db_row(d->db, T_TARGET_INFO_GPU, "itiiiii", I(g->id), g->name,
			      I(g->memory_bytes), I(g->multiprocessors), I(g->compute_major),
			      I(g->compute_minor), I(g->id));
	}
}

static void write_threads(struct database *d)
{
	for (size_t i = 0; i < d->m->threads.n; i++) {
		const struct model_thread *t = &d->m->threads.at[i];
		char name[sizeof(t->name) + 1];
		bool is_new;
		map_at(&d->threads, t->tid, &is_new);
		snprintf(name, sizeof(name), "%.*s", (int)sizeof(t->name), t->name);
		if (is_new)
			sqlite_db_row(d->db, T_ThreadNames, "ini", string_id(d, name),
				      global_tid(d, t->tid));
	}
}

/* ---- Stacks ---- */

static int64_t symbol_id(struct database *d, const struct frame *f)
{
	char text[1024];
	if (f->line)
		snprintf(text, sizeof(text), "%.500s (%.400s:%u)", f->function, f->file, f->line);
	else
		snprintf(text, sizeof(text), "%.1000s", f->function);
	return string_id(d, text);
}

static int64_t module_id(struct database *d, const struct frame *f)
{
	return string_id(d, *f->module ? f->module : f->file);
}

/* Writes the stack of a call, unless it was written before. Its id is the stack's number. */
static void write_chain(struct database *d, uint32_t stack)
{
	bool is_new;
	map_at(&d->chains, stack, &is_new);
	if (!is_new)
		return;
	struct frame_list list = frames_of(d->m->frames, stack);
	for (size_t i = 0; i < list.n; i++)
		sqlite_db_row(d->db, T_CUDA_CALLCHAINS, "iiiini", I(stack),
			      symbol_id(d, list.at[i]), module_id(d, list.at[i]), (int64_t)0, I(i));
}

static void write_samples(struct database *d)
{
	const struct model_step *m = d->m;
	for (size_t i = 0; i < m->samples.n; i++) {
		const struct model_sample *s = &m->samples.at[i];
		int64_t id = ++d->n_samples;
		sqlite_db_row(d->db, T_COMPOSITE_EVENTS,
			      "ii"
			      "nn"
			      "i",
			      id, at(d, s->ns), thread_id(d, s->thread));
		if (!m->frames || !s->stack)
			continue;
		struct frame_list list = frames_of(m->frames, s->stack);
		for (size_t k = 0; k < list.n; k++)
			sqlite_db_row(d->db, T_SAMPLING_CALLCHAINS,
				      "iiii"
				      "n"
				      "i"
				      "nnn"
				      "i",
				      id, symbol_id(d, list.at[k]), module_id(d, list.at[k]),
				      (int64_t)0, (int64_t)0, I(k));
	}
}

/* ---- Calls and waits ---- */

static void write_wait_row(struct database *d, const struct model_work *w, int64_t correlation,
			   int64_t type)
{
	sqlite_db_row(d->db, T_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
		      "iiii"
		      "n"
		      "iiiii",
		      at(d, w->begin_ns), at(d, w->end_ns), I(w->device), I(w->context),
		      w->stream < INT32_MAX ? I(w->stream) : (int64_t)-1, correlation,
		      global_pid(d), type, I(w->value));
}

static void write_wait_of_call(struct database *d, uint32_t call)
{
	struct model_work w;
	enum sync_type type;
	if (call_waits_of(&d->waits, d->m, call, &w, &type))
		write_wait_row(d, &w, d->correlation + call, type);
}

static void write_calls(struct database *d, const struct model_thread *t)
{
	for (size_t i = t->first; i < t->first + t->n; i++) {
		const struct model_call *c = &d->m->calls.at[i];
		bool has_stack = c->stack && d->m->frames;
		if (has_stack)
			write_chain(d, c->stack);
		sqlite_db_row(
			d->db, T_CUPTI_ACTIVITY_KIND_RUNTIME, has_stack ? "iiiiiiii" : "iiiiiii",
			at(d, c->begin_ns), at(d, c->end_ns),
			I(c->entry_point == ENTRY_POINT_DRIVER ? CLASS_DRIVER : CLASS_RUNTIME),
			global_tid(d, t->tid), d->correlation + I(i), name_id(d, c->name),
			I(c->status), I(c->stack));
		write_wait_of_call(d, (uint32_t)i);
	}
}

/* ---- GPU work ---- */

/* Calls have correlation ids of their own. Those of works without a call come after them. */
static int64_t correlation_of(const struct database *d, size_t i)
{
	const struct model_work *w = &d->m->works.at[i];
	return d->correlation + I(w->call < d->m->calls.n ? w->call : d->m->calls.n + i);
}

static void write_kernel(struct database *d, size_t i)
{
	static const struct run_kernel unknown;
	const struct model_work *w = &d->m->works.at[i];
	const struct run_kernel *k = w->kernel ? &d->m->tables->kernels.at[w->kernel - 1]
					       : &unknown;
	const char *name = strtab_text(&d->m->tables->names, w->name);
	char brief[400];
	int64_t full = string_id(d, name);
	kernel_short(brief, sizeof(brief), name);
	sqlite_db_row(d->db, T_CUPTI_ACTIVITY_KIND_KERNEL,
		      w->node ? "iiii"
				"n"
				"iiiiii"
				"nn"
				"iiiiiiiiii"
				"nnn"
				"i"
			      : "iiii"
				"n"
				"iiiiii"
				"nn"
				"iiiiiiiiii",
		      at(d, w->begin_ns), at(d, w->end_ns), I(w->device), I(w->context),
		      I(w->stream), correlation_of(d, i), global_pid(d), full, string_id(d, brief),
		      full, I(k->registers), I(w->grid[0]), I(w->grid[1]), I(w->grid[2]),
		      I(k->block[0]), I(k->block[1]), I(k->block[2]), I(k->static_shared_bytes),
		      I(k->dynamic_shared_bytes), I(k->local_bytes_per_thread), I(w->node));
}

static bool is_host(uint8_t memory)
{
	return memory == HOST_PAGEABLE || memory == HOST_PINNED;
}

static int64_t copy_kind(const struct model_work *w)
{
	if (w->peer)
		return COPY_KIND_PTOP;
	if (is_host(w->source))
		return is_host(w->target) ? COPY_KIND_HTOH : COPY_KIND_HTOD;
	return is_host(w->target) ? COPY_KIND_DTOH : COPY_KIND_DTOD;
}

/* Nsight Systems counts kinds of memory from 0, CUPTI from 1; 0: unknown. */
static int64_t memory_kind(uint8_t kind)
{
	return kind ? I(kind) - 1 : 0xffffffff;
}

static void write_copy(struct database *d, size_t i)
{
	const struct model_work *w = &d->m->works.at[i];
	sqlite_db_row(d->db, T_CUPTI_ACTIVITY_KIND_MEMCPY,
		      w->node ? "iiiiniiiiinii"
				"nnnnn"
				"i"
			      : "iiiiniiiiinii",
		      at(d, w->begin_ns), at(d, w->end_ns), I(w->device), I(w->context),
		      I(w->stream), correlation_of(d, i), global_pid(d), I(w->bytes), copy_kind(w),
		      memory_kind(w->source), memory_kind(w->target), I(w->node));
}

static void write_memset(struct database *d, size_t i)
{
	const struct model_work *w = &d->m->works.at[i];
	sqlite_db_row(d->db, T_CUPTI_ACTIVITY_KIND_MEMSET, "iiiiniiiiiii", at(d, w->begin_ns),
		      at(d, w->end_ns), I(w->device), I(w->context), I(w->stream),
		      correlation_of(d, i), global_pid(d), I(w->value), I(w->bytes), I(w->node),
		      memory_kind(w->target));
}

static void write_wait(struct database *d, size_t i)
{
	const struct model_work *w = &d->m->works.at[i];
	write_wait_row(d, w, correlation_of(d, i),
		       sync_type_of_work(strtab_text(&d->m->tables->names, w->name)));
}

static void write_works(struct database *d)
{
	static void (*const writers[WORK_KINDS])(struct database *, size_t) = {
		[WORK_KERNEL] = write_kernel,
		[WORK_MEMCPY] = write_copy,
		[WORK_MEMSET] = write_memset,
		[WORK_SYNC] = write_wait,
	};
	for (size_t i = 0; i < d->m->works.n; i++)
		writers[d->m->works.at[i].kind](d, i);
}

/* ---- Ranges ---- */

static void write_range(struct database *d, int64_t type, uint64_t begin_ns, uint64_t end_ns,
			const char *name, int64_t tid, int64_t domain)
{
	int64_t id = string_id(d, name);
	if (type == EVENT_MARK)
		sqlite_db_row(d->db, T_NVTX_EVENTS,
			      "in"
			      "i"
			      "nnn"
			      "t"
			      "in"
			      "ii",
			      at(d, begin_ns), type, name, tid, id, domain);
	else
		sqlite_db_row(d->db, T_NVTX_EVENTS,
			      "ii"
			      "i"
			      "nnn"
			      "t"
			      "in"
			      "ii",
			      at(d, begin_ns), at(d, end_ns), type, name, tid, id, domain);
}

static void write_ranges(struct database *d)
{
	static const int64_t types[] = { [MODEL_RANGE_NESTED] = EVENT_PUSH_POP,
					 [MODEL_RANGE_MARK] = EVENT_MARK,
					 [MODEL_RANGE_STARTED] = EVENT_START_END };
	for (size_t i = 0; i < d->m->ranges.n; i++) {
		const struct model_range *r = &d->m->ranges.at[i];
		bool is_new = false;
		if (r->domain)
			map_at(&d->domains, r->domain, &is_new);
		if (is_new)
			write_domain(d, r->domain, strtab_text(&d->m->tables->names, r->domain));
		write_range(d, types[r->kind], r->begin_ns, r->end_ns,
			    strtab_text(&d->m->tables->names, r->name), thread_id(d, r->thread),
			    r->domain);
	}
}

/* Shows the step as a range of the domain "profrun", because Nsight Systems has no steps. */
static void write_step(struct database *d, const struct analyzed_step *step)
{
	char name[40];
	uint32_t thread = step->phases->lanes.n ? step->phases->lanes.at[0].thread : 0;
	snprintf(name, sizeof(name), "step %llu", (unsigned long long)d->m->number);
	write_range(d, EVENT_PUSH_POP, d->m->begin_ns, d->m->end_ns, name, thread_id(d, thread),
		    OWN_DOMAIN);
}

/* ---- The file ---- */

static int open_file(void **file, const char *path, struct err *e)
{
	struct database *d = mem_zero(sizeof(*d));
	char hidden[2 * PATH_MAX];
	int error = outfile_open(&d->out, path, 0, e);
	if (error) {
		free(d);
		return error;
	}
	snprintf(hidden, sizeof(hidden), "%.*s%s", (int)(path_base(path) - path), path,
		 d->out.hidden);
	error = sqlite_db_open(&d->db, hidden, tables, T_ALL, e);
	if (error) {
		outfile_abandon(&d->out);
		free(d);
		return error;
	}
	d->correlation = 1;
	*file = d;
	return 0;
}

static void add(void *file, const struct analyzed_step *step)
{
	struct database *d = file;
	d->m = step->model;
	if (!d->has_head) {
		d->has_head = true;
		d->origin_ns = d->m->begin_ns;
		d->pid = I(d->m->pid);
		write_head(d);
	}
	call_waits_look(&d->waits, d->m);
	write_step(d, step);
	write_threads(d);
	for (size_t i = 0; i < d->m->threads.n; i++)
		write_calls(d, &d->m->threads.at[i]);
	write_works(d);
	write_ranges(d);
	write_samples(d);
	d->correlation += I(d->m->calls.n + d->m->works.n);
}

static int close_file(void *file, const char *path, struct err *e)
{
	struct database *d = file;
	int error = sqlite_db_close(d->db, e);
	if (error || !path) {
		outfile_abandon(&d->out);
	} else {
		outfile_rename(&d->out, path);
		error = outfile_close(&d->out, e);
	}
	strtab_free(&d->strings);
	map_free(&d->chains);
	map_free(&d->threads);
	map_free(&d->domains);
	call_waits_free(&d->waits);
	free(d);
	return error;
}

const struct exporter exporter_sqlite = {
	.name = "sqlite",
	.folder = "sqlite",
	.suffix = ".sqlite",
	.noun = "database",
	.viewer = "sqlite3, or scripts for Nsight Systems' export",
	.has_windows = true,
	.open = open_file,
	.add = add,
	.close = close_file,
};
