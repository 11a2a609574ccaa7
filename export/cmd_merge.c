/* `profrun merge DIR|TRACE... -o FILE`: puts several ranks on one clock, in one file. */
#include "export/command.h"
#include "export/merge.h"
#include "export/print.h"
#include "export/report_text.h"
#include "export/report_words.h"
#include "export/textout.h"
#include "export/work_progress.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
	VEC(const char *) paths;
	const char *file;
	unsigned top;
};

static int take_path(void *request, const char *word)
{
	struct request *r = request;
	vec_push(&r->paths, word);
	return 0;
}

static const struct command_option options[] = {
	{ .name = "-o",
	  .argument = "FILE",
	  .help = "write FILE.zip, an archive for Perfetto v58 or later, or\nFILE.pftrace.gz, a "
		  "plain trace for any version",
	  .offset = offsetof(struct request, file) },
	{ .name = "--top",
	  .argument = "N",
	  .help = "show N collectives",
	  .most = 1000000,
	  .offset = offsetof(struct request, top) },
	{ 0 },
};

static bool is_incomplete; /* a rank could not be read */

static void complain(const char *text)
{
	is_incomplete = true;
	print_err("profrun: left out: %s\n", text);
}

static void say_size(const char *path, const struct merge *m)
{
	struct stat status = { 0 };
	char size[32];
	if (!stat(path, &status))
		print_out("%s: %zu rank%s, %s\n", path, m->ranks.n, m->ranks.n == 1 ? "" : "s",
			  report_bytes(size, sizeof(size), (double)status.st_size));
}

static int merge(const struct request *r)
{
	struct merge m = { 0 };
	struct err e;
	int error = 0;
	is_incomplete = false;
	work_progress_start();
	for (size_t i = 0; i < r->paths.n && !error; i++)
		error = merge_add(&m, r->paths.at[i], &e);
	if (!error)
		error = merge_write(&m, r->file, complain, &e);
	work_progress_end();
	int status = error ? data_error("%s", e.text) : is_incomplete ? EXIT_DATA : EXIT_DONE;
	if (!error) {
		struct textout o = { .to = stdout, .has_colour = text_wants_colour(STDOUT_FILENO) };
		say_size(r->file, &m);
		merge_text(&o, &m, r->top);
	}
	merge_free(&m);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = { .top = REPORT_TOP };
	int status;
	if (command_parse(&command_merge, &r, argc, argv, NULL, &status)) {
		if (!r.file)
			status = usage_error("merge: into which file? (-o FILE) %s",
					     command_usage(&command_merge));
		else if (!merge_is_name(r.file))
			status = usage_error("merge: %s: the name must end with .zip, .pftrace.gz "
					     "or .pftrace",
					     r.file);
		else
			status = merge(&r);
	}
	vec_free(&r.paths);
	return status;
}

const struct command command_merge = {
	.name = "merge",
	.operands = "DIR|TRACE...",
	.summary = "put the traces of several ranks on one clock, and say who comes last",
	.options = options,
	.wanted = "which runs?",
	.operand = take_path,
	.run = run,
};
