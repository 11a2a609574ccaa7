/* What all views use: their tables, and rounding. */
#include "core/peers/plugin_parts.h"

#include <string.h>

struct peer_table *plugin_table(const struct plugin_view *v, const char *name,
				const char *const *columns, unsigned n)
{
	for (size_t i = 0; i < v->to->list.n; i++)
		if (!strcmp(v->to->list.at[i]->name, name))
			return v->to->list.at[i];
	return peer_table_add(v->to, name, columns, n);
}

double plugin_round(double value, unsigned digits)
{
	char text[400];
	if (!isfinite(value))
		return NAN;
	snprintf(text, sizeof(text), "%.*f", (int)digits, value); /* exact, halves to even */
	return strtod(text, NULL);
}
