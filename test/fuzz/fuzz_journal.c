/*
 * Journals, read as the commands report, whatif and export read them, and as the collector does.
 * Traces are written to a folder in memory.
 */
#include "core/runtime/record.h"
#include "core/whatif/whatif.h"
#include "export/process.h"
#include "export/report_json.h"
#include "export/report_make.h"
#include "export/report_text.h"
#include "export/trace_count.h"
#include "test/fuzz/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 64 << 20 /* bytes of the traces of one journal that are kept */ };

static int null_fd(void)
{
	static int fd = -1;
	if (fd < 0)
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return fd;
}

/* Stops the fuzzer: the input has made the tool write something wrong. */
static void require(bool is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static void write_at(int fd, const uint8_t *data, size_t size, off_t at)
{
	require(pwrite(fd, data, size, at) == (ssize_t)size, "the input could not be written");
}

/* ---- report ---- */

static void print_report(const struct report *r)
{
	FILE *to = fdopen(dup(null_fd()), "w");
	struct textout o = { .to = to };
	report_text_all(&o, r, 10, NULL);
	fclose(to);
	json_t *json = report_to_json(r);
	char *text = json_dumps(json, JSON_COMPACT);
	require(text, "the report is no JSON");
	free(text);
	json_decref(json);
}

void fuzz_report(const uint8_t *data, size_t size)
{
	struct report_made made;
	struct err e;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	write_at(fd, data, size, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!report_make_from_journal(path, NULL, &made, &e)) {
		print_report(&made.report);
		report_made_free(&made);
	} else {
		require(!strchr(e.text, '\n'), "an error of several lines");
	}
	close(fd);
}

/* ---- A folder in memory ---- */

static const char *folder(void)
{
	static char path[64];
	if (!*path)
		snprintf(path, sizeof(path), "/dev/shm/profrun-fuzz-%d", (int)getpid());
	mkdir(path, 0700);
	return path;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status;
	(void)kind;
	(void)at;
	return remove(path);
}

static int check_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	struct trace_count count;
	struct err e;
	size_t n = strlen(path), suffix = strlen(".pftrace.gz");
	(void)status;
	(void)at;
	if (kind == FTW_F && n > suffix && !strcmp(path + n - suffix, ".pftrace.gz"))
		require(!trace_count_file(path, &count, &e), "a trace cannot be read");
	return 0;
}

/* Checks the traces, and removes everything. */
static void clear_folder(void)
{
	nftw(folder(), check_one, 8, FTW_PHYS);
	nftw(folder(), remove_one, 8, FTW_PHYS | FTW_DEPTH);
}

static struct output all_formats(void)
{
	struct output out = { .analyses = true, .limits = { .files = 1000, .bytes = FILES_MOST } };
	snprintf(out.folder, sizeof(out.folder), "%s", folder());
	for (const struct exporter *x; (x = exporter_at((size_t)out.n_formats));)
		out.formats[out.n_formats++] = x;
	return out;
}

/* ---- export and whatif ---- */

static void ask_whatif(struct process *p)
{
	static const uint8_t kinds[] = { WHATIF_FREE, WHATIF_PAUSE, WHATIF_TWICE,
					 WHATIF_ONE_LAUNCH };
	struct timeline *t = analysis_timeline(p->analysis);
	struct whatif_result result;
	struct err e;
	for (size_t i = 0; i < sizeof(kinds); i++) {
		const struct whatif_change change = { .kind = kinds[i],
						      .what = (uint8_t)(t->steps.n % 3) };
		whatif_run(t, &change, 1, &result, &e);
	}
}

void fuzz_export(const uint8_t *data, size_t size)
{
	struct output out = all_formats();
	struct process p;
	struct err e;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	write_at(fd, data, size, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!process_export(&p, &out, path, &e)) {
		ask_whatif(&p);
		json_decref(process_to_json(&p));
		process_close(&p);
	}
	output_free(&out);
	close(fd);
	clear_folder();
}

/* ---- collect ---- */

/* What happens to the file while the collector has it open, chosen by the input. */
static void disturb(int fd, const uint8_t *data, size_t size)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	size_t at = (sum >> 4) % (size + 1);
	switch (sum % 8) {
	case 0:
		require(!ftruncate(fd, (off_t)at), "ftruncate");
		break;
	case 1:
		require(!ftruncate(fd, 0) && !ftruncate(fd, (off_t)size), "ftruncate");
		break;
	case 2: /* a wild store of the application */
		write_at(fd, data, size - at, (off_t)at);
		break;
	default:
		break;
	}
}

static void describe(const struct process *p)
{
	struct report_process *report = report_process_new();
	process_describe(p, &report->facts, &report->arena);
	analysis_report(p->analysis, report);
	report_process_drop(report);
}

/* Writes the journal as it was when only the first half of its chunks was claimed. */
static void write_half(int fd, const uint8_t *data, size_t size)
{
	const size_t at = offsetof(struct journal_header, chunk_claims);
	uint64_t claims;
	write_at(fd, data, size, 0);
	if (size < at + sizeof(claims))
		return;
	memcpy(&claims, data + at, sizeof(claims));
	claims /= 2;
	write_at(fd, (const uint8_t *)&claims, sizeof(claims), (off_t)at);
}

void fuzz_collect(const uint8_t *data, size_t size)
{
	struct output out = all_formats();
	struct process p;
	struct err e;
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/1.journal", out.folder);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	write_half(fd, data, size);
	if (!process_open(&p, &out, path, true, &e)) {
		process_poll(&p);
		write_at(fd, data, size, 0);
		disturb(fd, data, size);
		process_poll(&p);
		process_finish(&p);
		describe(&p);
		process_close(&p);
	}
	output_free(&out);
	close(fd);
	clear_folder();
}
