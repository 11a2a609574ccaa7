/* Shared by the parts of the SQLite format: sqlite.c (the file, facts, ranges), sqlite_rows.c
 * (calls, waits, GPU work, samples) and sqlite_text.c (ids, times, the texts of stacks). */
#ifndef EXPORT_SQLITE_PARTS_H
#define EXPORT_SQLITE_PARTS_H

#include "core/util/map.h"
#include "export/call_waits.h"
#include "export/nsys_schema.h"
#include "export/outfile.h"
#include "export/sqlite_db.h"

enum {
#define X(name, columns) T_##name,
	NSYS_TABLES(X)
#undef X
		T_ALL
};

struct frame;

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

/* ---- sqlite_text.c ---- */

/* Returns the id of a text, which it adds to StringIds. */
int64_t sqlite_text(struct database *d, const char *text);
/* The same, of a name of the tables. */
int64_t sqlite_name(struct database *d, uint32_t name);
int64_t sqlite_pid(const struct database *d);
int64_t sqlite_tid(const struct database *d, uint32_t tid);
/* Returns the globalTid of a thread of the step, by its index. */
int64_t sqlite_thread(struct database *d, uint32_t thread);
/* Returns ns since the origin. A time before it, such as that of a range that was cut, is 0. */
int64_t sqlite_at(const struct database *d, uint64_t ns);
/* Return the ids of a frame's function with its line, and of its module or file. */
int64_t sqlite_symbol(struct database *d, const struct frame *f);
int64_t sqlite_module(struct database *d, const struct frame *f);
/* Writes the stack of a call, unless it was written before. Its id is the stack's number. */
void sqlite_chain(struct database *d, uint32_t stack);

/* ---- sqlite_rows.c ---- */

void sqlite_write_calls(struct database *d, const struct model_thread *t);
void sqlite_write_works(struct database *d);
void sqlite_write_samples(struct database *d);

#endif
