/*
 * Writes the steps of a window as a SQLite database with the tables and columns of Nsight Systems'
 * export (`nsys export --type sqlite`), so that scripts for those files work (docs/tables.md).
 * Columns that profrun does not know are NULL. Times are ns since the first step's begin.
 */
#include "core/util/path.h"
#include "export/exporter.h"
#include "export/sqlite_parts.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static const struct sqlite_table tables[T_ALL] = {
#define X(name, columns) { #name, columns },
	NSYS_TABLES(X)
#undef X
};

/* The domain of our own ranges, which show the steps. Nsight Systems numbers the application's from
 * 0, the default domain. */
enum { OWN_DOMAIN = 1 << 20 };

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
		      (int64_t)0, I(EVENT_DOMAIN), name, sqlite_text(d, name), id);
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
	sqlite_db_row(d->db, T_PROCESSES, "iit", sqlite_pid(d), d->pid, d->m->command);
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
			sqlite_db_row(d->db, T_ThreadNames, "ini", sqlite_text(d, name),
				      sqlite_tid(d, t->tid));
	}
}

/* ---- Ranges ---- */

static void write_range(struct database *d, int64_t type, uint64_t begin_ns, uint64_t end_ns,
			const char *name, int64_t tid, int64_t domain)
{
	int64_t id = sqlite_text(d, name);
	if (type == EVENT_MARK)
		sqlite_db_row(d->db, T_NVTX_EVENTS,
			      "in"
			      "i"
			      "nnn"
			      "t"
			      "in"
			      "ii",
			      sqlite_at(d, begin_ns), type, name, tid, id, domain);
	else
		sqlite_db_row(d->db, T_NVTX_EVENTS,
			      "ii"
			      "i"
			      "nnn"
			      "t"
			      "in"
			      "ii",
			      sqlite_at(d, begin_ns), sqlite_at(d, end_ns), type, name, tid, id,
			      domain);
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
			    strtab_text(&d->m->tables->names, r->name), sqlite_thread(d, r->thread),
			    r->domain);
	}
}

/* Shows the step as a range of the domain "profrun", because Nsight Systems has no steps. */
static void write_step(struct database *d, const struct analyzed_step *step)
{
	char name[40];
	uint32_t thread = step->phases->lanes.n ? step->phases->lanes.at[0].thread : 0;
	snprintf(name, sizeof(name), "step %llu", (unsigned long long)d->m->number);
	write_range(d, EVENT_PUSH_POP, d->m->begin_ns, d->m->end_ns, name, sqlite_thread(d, thread),
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
		sqlite_write_calls(d, &d->m->threads.at[i]);
	sqlite_write_works(d);
	write_ranges(d);
	sqlite_write_samples(d);
	d->correlation += I(d->m->calls.n + d->m->works.n);
}

static int close_file(void *file, const char *path, struct err *e)
{
	struct database *d = file;
	int error = outfile_finish(&d->out, path, sqlite_db_close(d->db, e), e);
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
