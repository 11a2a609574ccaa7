/* See sqlite_db.h. */
#include "export/sqlite_db.h"

#include "core/util/vec.h"
#include "export/sqlite_load.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>

enum { SQLITE_OK = 0, SQLITE_DONE = 101, SQL_BYTES = 2048 };

static struct sqlite_functions lib;

struct sqlite_db {
	struct sqlite3 *db;
	struct sqlite3_stmt **inserts; /* one per table */
	size_t n;
	struct err trouble;
	bool has_failed;
};

static void fail(struct sqlite_db *db, const char *what)
{
	if (!db->has_failed)
		err_set(&db->trouble, -EIO, "sqlite: %.80s: %.120s", what,
			db->db ? lib.errmsg(db->db) : "out of memory");
	db->has_failed = true;
}

static void execute(struct sqlite_db *db, const char *sql)
{
	if (!db->has_failed && lib.exec(db->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail(db, sql);
}

static size_t count_columns(const char *columns)
{
	size_t n = 1;
	for (; *columns; columns++)
		n += *columns == ',';
	return n;
}

static void create(struct sqlite_db *db, const struct sqlite_table *t, struct sqlite3_stmt **insert)
{
	char sql[SQL_BYTES];
	snprintf(sql, sizeof(sql), "create table %s (%s)", t->name, t->columns);
	execute(db, sql);
	int used = snprintf(sql, sizeof(sql), "insert into %s values (?", t->name);
	for (size_t i = count_columns(t->columns); i > 1; i--)
		used += snprintf(sql + used, sizeof(sql) - (size_t)used, ",?");
	snprintf(sql + used, sizeof(sql) - (size_t)used, ")");
	if (!db->has_failed && lib.prepare_v2(db->db, sql, -1, insert, NULL) != SQLITE_OK)
		fail(db, sql);
}

int sqlite_db_open(struct sqlite_db **to, const char *path, const struct sqlite_table *tables,
		   size_t n, struct err *e)
{
	int error = sqlite_load(&lib, e);
	if (error)
		return error;
	struct sqlite_db *db = mem_zero(sizeof(*db));
	db->n = n;
	db->inserts = mem_zero(n * sizeof(*db->inserts));
	if (lib.open(path, &db->db) != SQLITE_OK)
		fail(db, path);
	/* the file gets its name only when it is complete, so a crash leaves nothing to repair */
	execute(db, "pragma journal_mode = off");
	execute(db, "pragma synchronous = off");
	execute(db, "begin");
	for (size_t i = 0; i < n; i++)
		create(db, &tables[i], &db->inserts[i]);
	*to = db;
	return db->has_failed ? sqlite_db_close(db, e) : 0;
}

void sqlite_db_row(struct sqlite_db *db, size_t table, const char *types, ...)
{
	struct sqlite3_stmt *s = db->inserts[table];
	va_list values;
	if (db->has_failed)
		return;
	va_start(values, types);
	for (int i = 1; *types; types++, i++)
		switch (*types) {
		case 'i':
			lib.bind_int64(s, i, va_arg(values, int64_t));
			break;
		case 't': /* NULL as the last argument: the text stays valid during step() */
			lib.bind_text(s, i, va_arg(values, const char *), -1, NULL);
			break;
		default:
			lib.bind_null(s, i);
			break;
		}
	va_end(values);
	if (lib.step(s) != SQLITE_DONE)
		fail(db, "insert");
	lib.reset(s);
	lib.clear_bindings(s);
}

int sqlite_db_close(struct sqlite_db *db, struct err *e)
{
	execute(db, "commit");
	for (size_t i = 0; i < db->n; i++)
		lib.finalize(db->inserts[i]);
	if (lib.close(db->db) != SQLITE_OK)
		fail(db, "close");
	int error = db->has_failed ? -EIO : 0;
	*e = db->trouble;
	free(db->inserts);
	free(db);
	return error;
}
