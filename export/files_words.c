/* See files_words.h. */
#include "export/files_words.h"

#include <stdio.h>
#include <string.h>

static json_int_t number(const json_t *file, const char *name)
{
	return json_integer_value(json_object_get(file, name));
}

static const struct exporter *exporter_of(const json_t *file)
{
	const char *name = json_string_value(json_object_get(file, "format"));
	return name ? exporter_find(name) : NULL;
}

char *files_count(char *to, size_t bytes, const json_t *process)
{
	const json_t *files = json_object_get(process, "files");
	size_t used = 0, n_said = 0;
	for (size_t i = 0; i < json_array_size(files) && used < bytes; i++) {
		const json_t *file = json_array_get(files, i);
		const struct exporter *x = exporter_of(file);
		if (!x)
			continue;
		used += (size_t)snprintf(to + used, bytes - used, "%s%lld %s%s",
					 n_said++ ? " and " : "", (long long)number(file, "n"),
					 x->noun, number(file, "n") == 1 ? "" : "s");
	}
	if (!n_said)
		snprintf(to, bytes, "0 traces");
	return to;
}

char *files_emptiness(char *to, size_t bytes, const json_t *process)
{
	const json_t *files = json_object_get(process, "files");
	to[0] = 0;
	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		const struct exporter *x = exporter_of(file);
		if (x && x->why_empty && number(file, "n") &&
		    number(file, "n_empty") == number(file, "n"))
			snprintf(to, bytes, "its %ss hold nothing: %s", x->noun, x->why_empty);
	}
	return to;
}

json_int_t files_of(const json_t *processes, const struct exporter *x)
{
	json_int_t sum = 0;
	for (size_t i = 0; i < json_array_size(processes); i++) {
		const json_t *files = json_object_get(json_array_get(processes, i), "files");
		for (size_t k = 0; k < json_array_size(files); k++)
			if (exporter_of(json_array_get(files, k)) == x)
				sum += number(json_array_get(files, k), "n");
	}
	return sum;
}
