/* See report_file.h. */
#include "export/report_file.h"

#include "export/json_text.h"
#include "export/outfile.h"
#include "export/report_html.h"
#include "export/report_json.h"
#include "export/report_text.h"
#include "export/runfile.h"

#include <errno.h>
#include <string.h>

void report_read_run(struct report *r, const char *folder)
{
	int64_t n_silent = r->run.silent_processes;
	json_t *runfile = runfile_load(folder);
	fields_read(&report_run_fields, &r->run, json_object_get(runfile, "run"), &r->arena);
	r->run.silent_processes = n_silent;
	json_decref(runfile);
}

static int save(const char *folder, const char *name, const char *text, struct err *e)
{
	char path[PATH_MAX];
	struct outfile out;
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return err_set(e, -ENAMETOOLONG, "%.100s...: the path is too long", folder);
	int error = outfile_open(&out, path, 0, e);
	if (error)
		return error;
	outfile_write(&out, text, strlen(text));
	return outfile_refresh(&out, e);
}

static int save_text(const char *folder, const struct report *r, struct err *e)
{
	char *text = NULL;
	size_t bytes;
	struct textout o = { .to = open_memstream(&text, &bytes) };
	if (!o.to)
		return err_set(e, -errno, "%.180s/report.txt: %s", folder, strerror(errno));
	report_text_all(&o, r, REPORT_TOP, NULL);
	fclose(o.to);
	int error = save(folder, "report.txt", text, e);
	free(text);
	return error;
}

int report_save(const char *folder, const struct report *r, struct err *e)
{
	json_t *root = report_to_json(r);
	char *text = json_text(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	json_decref(root);
	if (!text)
		return err_set(e, -EINVAL, "%.180s/report.json: cannot be written as JSON", folder);
	int error = save(folder, "report.json", text, e);
	free(text);
	return error ? error : save_text(folder, r, e);
}

int report_save_html(const char *folder, const struct report *r, struct err *e)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s/report.html", folder) >= (int)sizeof(path))
		return err_set(e, -ENAMETOOLONG, "%.100s...: the path is too long", folder);
	json_t *runfile = runfile_load(folder);
	int error = report_html_save(path, r, runfile, e);
	json_decref(runfile);
	return error;
}

bool report_load(struct report *r, const char *folder)
{
	char path[PATH_MAX];
	json_t *root = NULL;
	if (snprintf(path, sizeof(path), "%s/report.json", folder) < (int)sizeof(path))
		root = json_load_file(path, 0, NULL);
	bool is_one = report_from_json(r, root);
	json_decref(root);
	return is_one;
}
