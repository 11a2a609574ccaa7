/* Traces of torch.profiler, read as the commands report and export read them. */
#include "export/foreign.h"
#include "export/report_json.h"
#include "export/report_make.h"
#include "export/report_text.h"
#include "test/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void print_report(const struct report *r)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);
	struct textout o = { .to = to };
	report_text_all(&o, r, 10, NULL);
	fclose(to);
	free(text);
	json_t *json = report_to_json(r);
	text = json_dumps(json, JSON_COMPACT);
	if (!text) {
		fprintf(stderr, "fuzz: the report is no JSON\n");
		abort();
	}
	free(text);
	json_decref(json);
}

void fuzz_kineto(const uint8_t *data, size_t size)
{
	struct report_made made;
	struct err e;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!report_make_from_traces(path, &made, &e)) {
		print_report(&made.report);
		report_made_free(&made);
	}
	close(fd);
}
