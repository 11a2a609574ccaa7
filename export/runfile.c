/* Reads and replaces run.json. */
#include "export/runfile.h"

#include "export/json_text.h"
#include "export/outfile.h"
#include "export/report_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/runfile.def"

void runfile_read(struct runfile *r, const json_t *root)
{
	memset(r, 0, sizeof(*r));
	fields_read(&runfile_fields, r, root, &r->arena);
}

void runfile_free(struct runfile *r)
{
	arena_free(&r->arena);
}

json_t *runfile_load(const char *folder)
{
	char path[PATH_MAX], host[256] = "";
	json_t *root = NULL;
	if (snprintf(path, sizeof(path), "%s/run.json", folder) < (int)sizeof(path))
		root = json_load_file(path, 0, NULL);
	if (json_is_object(root) && json_is_object(json_object_get(root, "run")))
		return root;
	json_decref(root);
	gethostname(host, sizeof(host) - 1);
	return json_pack("{s:i, s:{s:s}, s:[]}", "schema", 1, "run", "host", host, "processes");
}

int runfile_save(const char *folder, json_t *root, struct err *e)
{
	char path[PATH_MAX];
	struct outfile out;
	if (snprintf(path, sizeof(path), "%s/run.json", folder) >= (int)sizeof(path))
		return err_set(e, -ENAMETOOLONG, "%.100s...: the path is too long", folder);
	char *text = json_text(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	if (!text)
		return err_set(e, -EINVAL, "%.180s: cannot be written as JSON", path);
	int error = outfile_open(&out, path, 0, e);
	if (!error) {
		outfile_write(&out, text, strlen(text));
		outfile_write(&out, "\n", 1);
		error = outfile_refresh(&out, e);
	}
	free(text);
	return error;
}

json_t *runfile_process(const json_t *root, const char *journal)
{
	const json_t *processes = json_object_get(root, "processes");
	for (size_t i = 0; i < json_array_size(processes); i++) {
		json_t *p = json_array_get(processes, i);
		const char *name = json_string_value(json_object_get(p, "journal"));
		if (name && !strcmp(name, journal))
			return p;
	}
	return NULL;
}
