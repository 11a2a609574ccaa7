/* See report_file.h. */
#include "export/report_file.h"

#include "export/outfile.h"
#include "export/report_json.h"
#include "export/report_meetings.h"
#include "export/report_ranks.h"
#include "export/report_text.h"
#include "export/runfile.h"

#include <errno.h>
#include <string.h>

static const json_t *run_of(const char *folder, json_t **root)
{
	*root = runfile_load(folder);
	return json_object_get(*root, "run");
}

static void copy_run(json_t *to, const json_t *from)
{
	static const char *const kept[] = { "command", "host",		"start", "wall_s", "cwd",
					    "version", "simulated_gpu", "pid",	 "signal" };
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (json_object_get(from, kept[i]))
			json_object_set(to, kept[i], json_object_get(from, kept[i]));
}

json_t *report_root(const char *folder, json_t *processes)
{
	json_t *runfile, *root = json_object(), *run = json_object();
	copy_run(run, run_of(folder, &runfile));
	json_decref(runfile);
	json_object_set_new(root, "schema", json_integer(REPORT_SCHEMA));
	json_object_set_new(root, "run", run);
	processes = report_meetings_join(processes);
	json_object_set_new(root, "processes", processes);
	json_t *ranks = report_ranks(processes);
	if (ranks)
		json_object_set_new(root, "ranks", ranks);
	return root;
}

static int save(const char *folder, const char *name, const char *text, struct err *e)
{
	char path[PATH_MAX];
	struct outfile out;
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return err_set(e, -ENAMETOOLONG, "%.100s...: the name is too long", folder);
	int error = outfile_open(&out, path, 0, e);
	if (error)
		return error;
	outfile_write(&out, text, strlen(text));
	return outfile_refresh(&out, e);
}

static int save_text(const char *folder, const json_t *root, struct err *e)
{
	char *text = NULL;
	size_t bytes;
	struct textout o = { .to = open_memstream(&text, &bytes) };
	if (!o.to)
		return err_set(e, -errno, "%.180s/report.txt: %s", folder, strerror(errno));
	report_text_all(&o, root, REPORT_TOP);
	fclose(o.to);
	int error = save(folder, "report.txt", text, e);
	free(text);
	return error;
}

int report_save(const char *folder, const json_t *root, struct err *e)
{
	char *text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	if (!text)
		return err_set(e, -EINVAL, "%.180s/report.json: cannot be put into JSON", folder);
	int error = save(folder, "report.json", text, e);
	free(text);
	return error ? error : save_text(folder, root, e);
}

void report_reread_run(const char *folder, json_t *root)
{
	json_t *runfile;
	copy_run(json_object_get(root, "run"), run_of(folder, &runfile));
	json_decref(runfile);
}

json_t *report_load(const char *folder)
{
	char path[PATH_MAX];
	json_t *root = NULL;
	if (snprintf(path, sizeof(path), "%s/report.json", folder) < (int)sizeof(path))
		root = json_load_file(path, 0, NULL);
	if (json_integer_value(json_object_get(root, "schema")) == REPORT_SCHEMA)
		return root;
	json_decref(root);
	return NULL;
}

json_t *report_find(const json_t *root, const char *journal)
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
