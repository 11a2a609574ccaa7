/* See html_at.h. */
#include "export/html_at.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const json_t *html_at(const json_t *object, const char *path)
{
	char name[80];
	for (const char *at = path; object && *at;) {
		size_t n = strcspn(at, ".");
		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		object = json_object_get(object, name);
		at += n + (at[n] == '.');
	}
	return object;
}

const char *html_text_at(const json_t *object, const char *path)
{
	const char *text = json_string_value(html_at(object, path));
	return text ? text : "";
}

double html_number_at(const json_t *object, const char *path)
{
	const json_t *value = html_at(object, path);
	return json_is_number(value) ? json_number_value(value) : NAN;
}
