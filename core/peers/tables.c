/* See tables.h. */
#include "core/peers/tables.h"

#include <math.h>

struct peer_table *peer_table_add(struct peer_tables *t, const char *name,
				  const char *const *columns, unsigned n_columns)
{
	struct peer_table *table = mem_zero(sizeof(*table));
	table->name = name;
	table->columns = columns;
	table->n_columns = n_columns;
	vec_push(&t->list, table);
	return table;
}

void peer_tables_free(struct peer_tables *t)
{
	for (size_t i = 0; i < t->list.n; i++) {
		vec_free(&t->list.at[i]->cells);
		free(t->list.at[i]);
	}
	vec_free(&t->list);
	arena_free(&t->arena);
}

void peer_number(struct peer_table *t, double number)
{
	vec_push(&t->cells, (struct peer_cell){ NULL, number });
}

void peer_word(struct peer_tables *all, struct peer_table *t, const char *text)
{
	vec_push(&t->cells, (struct peer_cell){ arena_text(&all->arena, text), NAN });
}
