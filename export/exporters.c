/* See exporter.h: the table of all formats. */
#include "core/runtime/spelling.h"
#include "export/exporter.h"

#include <errno.h>
#include <string.h>

#define X(name, what) &exporter_##name,
static const struct exporter *const exporters[] = { FORMATS(X) };
#undef X
enum { N_EXPORTERS = sizeof(exporters) / sizeof(*exporters) };

static const struct exporter *find(const char *name, size_t n)
{
	for (size_t i = 0; i < N_EXPORTERS; i++)
		if (strlen(exporters[i]->name) == n && !memcmp(exporters[i]->name, name, n))
			return exporters[i];
	return NULL;
}

const struct exporter *exporter_find(const char *name)
{
	return find(name, strlen(name));
}

const struct exporter *exporter_at(size_t i)
{
	return i < N_EXPORTERS ? exporters[i] : NULL;
}

static int refuse(const char *name, size_t n, struct err *e)
{
	char known[160] = "", words[160] = "";
	for (size_t i = 0; i < N_EXPORTERS; i++) {
		size_t used = strlen(known);
		snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
			 exporters[i]->name);
		used = strlen(words);
		snprintf(words + used, sizeof(words) - used, "%s%s", i ? "|" : "",
			 exporters[i]->name);
	}
	char wrong[41], meant[SPELLING_MEANT_BYTES];
	snprintf(wrong, sizeof(wrong), "%.*s", (int)n, name);
	return err_set(e, -EINVAL, "unknown format '%s'%s; supported formats: %s", wrong,
		       spelling_did_you_mean(meant, sizeof(meant), wrong, words), known);
}

int exporters_parse(const char *list, const struct exporter *found[EXPORTERS_MOST], struct err *e)
{
	int n = 0;
	for (const char *at = list;; at++) {
		size_t length = strcspn(at, ",");
		const struct exporter *x = find(at, length);
		if (!x || n == EXPORTERS_MOST)
			return refuse(at, length, e);
		found[n++] = x;
		at += length;
		if (!*at)
			return n;
	}
}
