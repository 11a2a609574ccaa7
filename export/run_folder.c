/* Chooses, makes and removes the run's folder, and writes the run's part of run.json. */
#include "core/runtime/config.h"
#include "core/runtime/run_files.h"
#include "core/runtime/version.h"
#include "core/util/path.h"
#include "export/outfile.h"
#include "export/print.h"
#include "export/report_json.h"
#include "export/run.h"
#include "export/runfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void default_name(const struct run *r, char *to, size_t bytes)
{
	char date[32];
	time_t now = time(NULL);
	struct tm broken;
	localtime_r(&now, &broken);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &broken);
	snprintf(to, bytes, "profrun-%s-%s-%d", path_base(r->command[0]), date, (int)getpid());
}

static int make_absolute(char *path, size_t bytes)
{
	char cwd[PATH_MAX], joined[2 * PATH_MAX];
	if (path[0] == '/')
		return 0;
	if (!getcwd(cwd, sizeof(cwd)))
		return -errno;
	snprintf(joined, sizeof(joined), "%s/%s", cwd, path);
	return snprintf(path, bytes, "%s", joined) < (int)bytes ? 0 : -ENAMETOOLONG;
}

/* The library reads the folder's path from PROF_OUT. step_aside() may append a suffix. */
enum { FOLDER_MOST = CONFIG_TEXT_BYTES - (int)sizeof("-99999") };

/* Returns the folder that the user has chosen; NULL: none. run_check_settings() has reported a bad
 * value of PROF_OUT in the environment. */
static const char *wanted_folder(const struct run *r)
{
	struct err e;
	const char *set = r->wanted_folder ? r->wanted_folder : run_setting(r, "PROF_OUT");
	bool is_good = set && *set && (r->wanted_folder || !config_check("PROF_OUT", set, &e));
	return is_good ? set : NULL;
}

static bool holds(const char *folder, const char *name)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return !access(path, F_OK);
}

static bool holds_a_run(const char *folder)
{
	return holds(folder, "run.json") || holds(folder, "journal");
}

/* Chooses DIR-2, DIR-3, ... if DIR contains another run. */
static void step_aside(struct run *r)
{
	char wanted[PATH_MAX];
	if (!holds_a_run(r->folder))
		return;
	snprintf(wanted, sizeof(wanted), "%s", r->folder);
	for (int i = 2; i < 100000 && holds_a_run(r->folder); i++)
		snprintf(r->folder, sizeof(r->folder), "%.4000s-%d", wanted, i);
	print_err("profrun: %s already contains a run; this run is written to %s\n", wanted,
		  r->folder);
}

/* Tests whether a file can be made in the folder, because the library must make its journal there.
 * The journal is a memory-mapped file. */
static int try_writing(const char *folder, struct err *e)
{
	char path[PATH_MAX + 32];
	struct outfile probe;
	snprintf(path, sizeof(path), "%s/.profrun", folder);
	int error = outfile_open(&probe, path, 0, e);
	if (error)
		return err_set(e, error, "cannot write into %.160s: %s", folder, strerror(-error));
	outfile_abandon(&probe);
	return 0;
}

void run_make_folder(struct run *r)
{
	struct err e;
	const char *wanted = wanted_folder(r);
	if (wanted)
		snprintf(r->folder, sizeof(r->folder), "%s", wanted);
	else
		default_name(r, r->folder, sizeof(r->folder));
	int error = make_absolute(r->folder, sizeof(r->folder));
	if (!error && strlen(r->folder) > FOLDER_MOST)
		error = -ENAMETOOLONG;
	if (error == -ENAMETOOLONG) {
		err_set(&e, error, "the path of the run's folder has more than %d bytes",
			FOLDER_MOST);
	} else if (error) {
		err_set(&e, error, "cannot make the path of the run's folder absolute: %s",
			strerror(-error));
	} else {
		step_aside(r);
		r->folder_was_there = !access(r->folder, F_OK);
		error = make_folders(r->folder, &e);
		if (!error && others_can_write(r->folder))
			error = err_set(&e, -EPERM, "other users can write to %.160s", r->folder);
		if (!error)
			error = try_writing(r->folder, &e);
	}
	if (!error)
		return;
	print_err("profrun: %s; the application runs without profiling (choose another folder with "
		  "-o DIR or PROF_OUT)\n",
		  e.text);
	r->profiles = false;
}

bool run_take_driver_mark(const struct run *r)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/" RUN_DRIVER_MARK, r->folder);
	return !unlink(path);
}

bool run_remove_folder(struct run *r, bool *was_used)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/journal", r->folder);
	*was_used = !access(path, F_OK);
	if (*was_used && rmdir(path))
		return false; /* DIR/journal is not empty: it contains a journal */
	snprintf(path, sizeof(path), "%s/run.json", r->folder);
	unlink(path);
	if (!r->folder_was_there)
		rmdir(r->folder);
	return true;
}

static json_t *text_or_null(const char *text)
{
	return text ? report_json_text(text) : json_null();
}

static json_t *describe_command(const struct run *r)
{
	json_t *list = json_array();
	for (char **word = r->command; *word; word++)
		json_array_append_new(list, text_or_null(*word));
	return list;
}

static json_t *describe_settings(const struct run *r)
{
	struct err e;
	json_t *o = json_object();
	for (size_t i = 0; i < config_n_rows; i++) {
		const char *name = config_rows[i].name, *value = run_setting(r, name);
		bool is_good = value && *value && !config_check(name, value, &e);
		json_object_set_new(o, name,
				    text_or_null(is_good ? value : config_rows[i].fallback));
	}
	json_object_set_new(o, "PROF_OUT", text_or_null(r->folder));
	return o;
}

static void save(const struct run *r, json_t *root)
{
	struct err e;
	if (runfile_save(r->folder, root, &e))
		print_err("profrun: %s\n", e.text);
	json_decref(root);
}

void run_describe(const struct run *r)
{
	char start[64], cwd[PATH_MAX] = "";
	time_t now = time(NULL);
	struct tm broken;
	json_t *root = runfile_load(r->folder), *run = json_object_get(root, "run");
	gmtime_r(&now, &broken);
	strftime(start, sizeof(start), "%Y-%m-%dT%H:%M:%SZ", &broken);
	json_object_set_new(run, "command", describe_command(r));
	json_object_set_new(run, "start", json_string(start));
	json_object_set_new(run, "version", json_string(PROFRUN_VERSION));
	json_object_set_new(run, "cwd", text_or_null(getcwd(cwd, sizeof(cwd))));
	json_object_set_new(run, "simulated_gpu", json_boolean(r->is_sim));
	json_object_set_new(run, "settings", describe_settings(r));
	save(r, root);
}

void run_describe_end(const struct run *r, int wait_status, double wall_s)
{
	json_t *root = runfile_load(r->folder), *run = json_object_get(root, "run");
	json_object_set_new(run, "wall_s", json_real(wall_s));
	json_object_set_new(run, "pid", json_integer(r->application));
	if (WIFSIGNALED(wait_status))
		json_object_set_new(run, "signal", json_integer(WTERMSIG(wait_status)));
	else
		json_object_set_new(run, "exit_status", json_integer(WEXITSTATUS(wait_status)));
	save(r, root);
}
