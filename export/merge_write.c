/* Writes the traces of several ranks into one file. See merge.h. */
#include "export/merge.h"

#include "core/analysis/analyzer.h"
#include "export/json_text.h"
#include "export/outfile.h"
#include "export/perfetto_as.h"
#include "export/work_progress.h"
#include "export/zip.h"

#include <errno.h>
#include <string.h>

enum { GZIP_LEVEL = 1 };

static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), n_end = strlen(end);
	return n > n_end && !strcmp(path + n - n_end, end);
}

static bool is_archive(const char *path)
{
	return ends_with(path, ".zip");
}

bool merge_is_name(const char *path)
{
	return is_archive(path) || ends_with(path, ".pftrace.gz") || ends_with(path, ".pftrace");
}

/* Reads all ranks. Removes those that can't be read. `begin` and `end`: around each rank; NULL:
 * nothing to do. */
struct pass {
	const struct merge_sink *sink;
	void (*begin)(void *context, size_t rank);
	/* `is_kept`: the rank has steps. */
	void (*end)(void *context, bool is_kept);
};

static void remove_rank(struct merge *m, size_t i)
{
	free(m->ranks.at[i].path);
	vec_free(&m->ranks.at[i].arrivals);
	memmove(&m->ranks.at[i], &m->ranks.at[i + 1], (m->ranks.n - i - 1) * sizeof(*m->ranks.at));
	m->ranks.n--;
}

static void read_all(struct merge *m, const struct pass *pass, void (*complain)(const char *text))
{
	for (size_t i = 0; i < m->ranks.n;) {
		struct err e;
		if (pass->begin)
			pass->begin(pass->sink->context, i);
		work_progress_about(m->ranks.at[i].path, i, m->ranks.n);
		int error = merge_read(m, i, pass->sink, &e);
		if (pass->end)
			pass->end(pass->sink->context, !error);
		if (!error) {
			i++;
			continue;
		}
		complain(e.text);
		remove_rank(m, i);
	}
}

/* ---- An archive: each rank is a file, and a manifest has the offsets of their clocks ---- */

struct archive {
	struct merge *m;
	struct zip zip;
	struct perfetto_as as;
	size_t rank;
	bool is_begun;
};

static bool is_name_taken(const struct archive *a, const char *name)
{
	for (size_t i = 0; i < a->zip.entries.n; i++)
		if (!strcmp(a->zip.entries.at[i].name, name))
			return true;
	return false;
}

static void begin_rank(void *context, size_t rank)
{
	struct archive *a = context;
	a->rank = rank;
	a->is_begun = false;
	/* numbers of sequences differ between the files, so that their clocks do in any version */
	perfetto_shared_restart(&a->as.shared);
	a->as.is_first = true;
}

static void archive_bytes(void *context, const void *bytes, size_t n)
{
	zip_write(&((struct archive *)context)->zip, bytes, n);
}

static void begin_entry(struct archive *a, const struct model_step *m)
{
	char *name = a->m->ranks.at[a->rank].file;
	size_t bytes = sizeof(a->m->ranks.at[a->rank].file);
	const char *rank = tables_fact(m->tables, "rank");
	if (rank && *rank)
		snprintf(name, bytes, "rank-%.20s.pftrace", rank);
	else
		snprintf(name, bytes, "process-%u.pftrace", m->pid);
	if (is_name_taken(a, name))
		snprintf(name, bytes, "process-%u-%zu.pftrace", m->pid, a->rank);
	zip_begin(&a->zip, name);
	a->is_begun = true;
}

static void archive_step(void *context, const struct analyzed_step *step)
{
	struct archive *a = context;
	if (!a->is_begun)
		begin_entry(a, step->model);
	perfetto_encode_as(step, &a->as, archive_bytes, a);
	a->as.is_first = false;
}

static void archive_restart(void *context)
{
	struct archive *a = context;
	if (a->is_begun)
		zip_drop(&a->zip);
	begin_rank(a, a->rank);
}

static void end_rank(void *context, bool is_kept)
{
	struct archive *a = context;
	if (a->is_begun && is_kept)
		zip_end(&a->zip);
	else if (a->is_begun)
		zip_drop(&a->zip);
}

/* Says where the rank's clock stands in the middle of its steps. */
static int64_t offset_ns(const struct merge *m, const struct merge_rank *r)
{
	return merge_shift(m, r, r->first_ns + (r->last_ns - r->first_ns) / 2);
}

/* Returns the manifest's entry of a rank. All ranks are related to the one that begins first, so
 * that no event lies before the begin of the timeline. */
static json_t *manifest_entry(const struct merge *m, const struct merge_rank *r,
			      const struct merge_rank *first)
{
	json_t *entry = json_pack("{s:s, s:{s:s}}", "path", r->file, "machine", "name", r->name);
	if (r != first)
		json_object_set_new(entry, "clocks",
				    json_pack("{s:s, s:{s:s, s:s}, s:I}", "clock", "MONOTONIC",
					      "sync_to", "file", first->file, "clock", "MONOTONIC",
					      "offset_ns",
					      (json_int_t)(offset_ns(m, r) - offset_ns(m, first))));
	return entry;
}

static void write_manifest(struct archive *a)
{
	const struct merge *m = a->m;
	const struct merge_rank *first = &m->ranks.at[merge_earliest(m)];
	json_t *files = json_array();
	for (size_t i = 0; i < m->ranks.n; i++)
		json_array_append_new(files, manifest_entry(m, &m->ranks.at[i], first));
	json_t *root = json_pack("{s:{s:i, s:{s:s, s:s}, s:o}}", "perfetto_manifest", "version", 1,
				 "trace_time", "clock", "MONOTONIC", "file", first->file, "files",
				 files);
	char *text = json_text(root, JSON_COMPACT); /* begins as a reader of Perfetto expects */
	json_decref(root);
	zip_begin(&a->zip, "perfetto_manifest.json");
	if (text)
		zip_write(&a->zip, text, strlen(text));
	zip_end(&a->zip);
	free(text);
}

static int nothing_left(const char *path, struct err *e)
{
	return err_set(e, -ENODATA, "%.180s is not written: no rank has recorded steps", path);
}

static int write_archive(struct merge *m, const char *path, void (*complain)(const char *text),
			 struct err *e)
{
	struct archive a = { .m = m };
	const struct merge_sink sink = { &a, archive_step, archive_restart };
	int error = zip_open(&a.zip, path, e);
	if (error)
		return error;
	read_all(m, &(struct pass){ &sink, begin_rank, end_rank }, complain);
	perfetto_as_free(&a.as);
	if (!m->ranks.n) {
		zip_abandon(&a.zip);
		return nothing_left(path, e);
	}
	merge_sort(m);
	merge_align(m);
	write_manifest(&a);
	return zip_close(&a.zip, e);
}

/* ---- A plain trace: all times are those of the reference clock ---- */

struct plain {
	struct merge *m;
	struct outfile out;
	struct perfetto_as as;
	size_t rank;
	int64_t base_ns; /* is added, so that no time is negative */
};

static void plain_begin(void *context, size_t rank)
{
	struct plain *p = context;
	vec_free(&p->as.threads);
	p->rank = rank;
	p->as.number = p->as.salt = (uint32_t)rank + 1;
	p->as.name = p->m->ranks.at[rank].name;
}

static void plain_bytes(void *context, const void *bytes, size_t n)
{
	outfile_write(&((struct plain *)context)->out, bytes, n);
}

static void plain_step(void *context, const struct analyzed_step *step)
{
	struct plain *p = context;
	const struct model_step *m = step->model;
	uint64_t middle_ns = m->begin_ns + (m->end_ns - m->begin_ns) / 2;
	p->as.shift_ns = p->base_ns + merge_shift(p->m, &p->m->ranks.at[p->rank], middle_ns);
	perfetto_encode_as(step, &p->as, plain_bytes, p);
	p->as.is_first = false;
}

/* A journal that has ended is reread in the same way each time. */
static void plain_restart(void *context)
{
	struct plain *p = context;
	p->out.error = p->out.error ? p->out.error : -EAGAIN;
}

/* Returns what makes the first time not negative. */
static int64_t base_of(const struct merge *m)
{
	const struct merge_rank *r = &m->ranks.at[merge_earliest(m)];
	int64_t first_ns = (int64_t)r->first_ns + merge_shift(m, r, r->first_ns);
	return first_ns < 0 ? -first_ns : 0;
}

static int write_plain(struct merge *m, const char *path, void (*complain)(const char *text),
		       struct err *e)
{
	struct plain p = { .m = m, .as = { .is_first = true } };
	const struct merge_sink sink = { &p, plain_step, plain_restart };
	read_all(m, &(struct pass){ .sink = NULL }, complain);
	if (!m->ranks.n)
		return nothing_left(path, e);
	merge_sort(m);
	merge_align(m);
	p.base_ns = base_of(m);
	int error = outfile_open(&p.out, path, ends_with(path, ".gz") ? GZIP_LEVEL : 0, e);
	if (error)
		return error;
	read_all(m, &(struct pass){ &sink, plain_begin, NULL }, complain);
	perfetto_as_free(&p.as);
	return outfile_close(&p.out, e);
}

int merge_write(struct merge *m, const char *path, void (*complain)(const char *text),
		struct err *e)
{
	return is_archive(path) ? write_archive(m, path, complain, e)
				: write_plain(m, path, complain, e);
}
