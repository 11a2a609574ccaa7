/* See files_words.h. */
#include "export/files_words.h"

#include <stdio.h>
#include <string.h>

char *files_count(char *to, size_t bytes, const struct process_facts *p)
{
	size_t used = 0, n_said = 0;
	for (size_t i = 0; i < p->files.n && used < bytes; i++) {
		const struct facts_file *file = &p->files.at[i];
		const struct exporter *x = exporter_find(file->format);
		if (!x)
			continue;
		used += (size_t)snprintf(to + used, bytes - used, "%s%lld %s%s",
					 n_said++ ? " and " : "", (long long)file->n, x->noun,
					 file->n == 1 ? "" : "s");
	}
	if (!n_said)
		snprintf(to, bytes, "0 traces");
	return to;
}

char *files_emptiness(char *to, size_t bytes, const struct process_facts *p)
{
	to[0] = 0;
	for (size_t i = 0; i < p->files.n; i++) {
		const struct facts_file *file = &p->files.at[i];
		const struct exporter *x = exporter_find(file->format);
		if (x && x->why_empty && file->n && file->n_empty == file->n)
			snprintf(to, bytes, "its %ss are empty: %s", x->noun, x->why_empty);
	}
	return to;
}

int64_t files_of(const struct process_facts *p, const struct exporter *x)
{
	int64_t sum = 0;
	for (size_t i = 0; i < p->files.n; i++)
		if (!strcmp(p->files.at[i].format, x->name))
			sum += p->files.at[i].n;
	return sum;
}
