/* Tables of results, as other tools compute them: named columns, and rows of numbers and texts. */
#ifndef CORE_PEERS_TABLES_H
#define CORE_PEERS_TABLES_H

#include "core/util/arena.h"
#include "core/util/vec.h"

#include <stdbool.h>

/* `text` NULL: the cell is a number. `number` NAN: there is no value. */
struct peer_cell {
	const char *text;
	double number;
};

struct peer_table {
	const char *name;
	const char *const *columns;
	unsigned n_columns;
	VEC(struct peer_cell) cells; /* row by row */
};

/* All zeros is a valid start. */
struct peer_tables {
	VEC(struct peer_table *) list;
	struct arena arena; /* owns the tables' texts */
};

/* Adds an empty table. The names must stay valid. The result is valid until peer_tables_free(). */
struct peer_table *peer_table_add(struct peer_tables *t, const char *name,
				  const char *const *columns, unsigned n_columns);
void peer_tables_free(struct peer_tables *t);

/* Adds the next cell. Rows are filled from left to right, one after the other. */
void peer_number(struct peer_table *t, double number);
/* The text is copied. */
void peer_word(struct peer_tables *all, struct peer_table *t, const char *text);

#define PEER_TABLE(all, name, columns) \
	peer_table_add(all, name, columns, sizeof(columns) / sizeof(*(columns)))

#endif
