/*
 * Writes a SQLite database. The library libsqlite3.so.0 is loaded when the first database is
 * written, so that profrun builds and runs without it. For one thread.
 */
#ifndef EXPORT_SQLITE_DB_H
#define EXPORT_SQLITE_DB_H

#include "core/runtime/err.h"

#include <stddef.h>
#include <stdint.h>

struct sqlite_db;

/* A table: its name, and the definitions of its columns as in CREATE TABLE. */
struct sqlite_table {
	const char *name, *columns;
};

/* Opens an empty database in an empty file and creates the tables, of which there are `n`. Returns
 * 0, or -errno with one line in `e`. `tables` must outlive the database. */
int sqlite_db_open(struct sqlite_db **to, const char *path, const struct sqlite_table *tables,
		   size_t n, struct err *e);

/*
 * Inserts a row into the table with this index. `types` has one letter per column: 'i' int64_t, 't'
 * const char * (NULL: NULL), 'n' NULL without an argument. Columns after the last letter are NULL.
 * After an error, does nothing.
 */
void sqlite_db_row(struct sqlite_db *db, size_t table, const char *types, ...);

/* Completes and closes the database. Returns 0, or -errno with one line in `e` about the first
 * error. */
int sqlite_db_close(struct sqlite_db *db, struct err *e);

#endif
