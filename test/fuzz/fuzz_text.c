/* Texts and small files that users, programs and earlier versions write. */
#include "core/runtime/config.h"
#include "core/runtime/schedule.h"
#include "core/source/process/last_words.h"
#include "core/util/demangle.h"
#include "core/util/kernel_name.h"
#include "core/util/vec.h"
#include "core/whatif/whatif.h"
#include "export/collected.h"
#include "export/report_file.h"
#include "export/report_make.h"
#include "export/trace_count.h"
#include "test/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the input as a text that the caller frees. */
static char *text_of(const uint8_t *data, size_t size)
{
	char *text = mem_zero(size + 1);
	return memcpy(text, data, size);
}

static void ask_schedule(const char *text)
{
	struct schedule s;
	struct err e;
	if (schedule_parse(text, &s, &e))
		return;
	for (uint64_t step = 0; step < 100; step++)
		schedule_action(&s, step);
	schedule_action(&s, UINT64_MAX);
	schedule_first_recorded(&s);
	schedule_first_active(&s);
	schedule_done(&s, UINT64_MAX / 2);
}

/* Each line is a variable of the environment: NAME=VALUE. */
void fuzz_settings(const uint8_t *data, size_t size)
{
	struct config *c = mem_zero(sizeof(*c));
	struct config_step step;
	struct err e;
	VEC(char *) environment = { 0 };
	char *text = text_of(data, size), *next = text;
	for (char *line; (line = strsep(&next, "\n"));) {
		const char *value = strchr(line, '=');
		vec_push(&environment, line);
		value = value ? value + 1 : line;
		ask_schedule(value);
		config_parse_step(value, &step, &e);
		config_parse_host(value, &e);
		config_nearest(line);
		for (size_t i = 0; i < config_n_rows; i++)
			config_check(config_rows[i].name, value, &e);
	}
	vec_push(&environment, NULL);
	config_read(c, environment.at, NULL, NULL);
	vec_free(&environment);
	free(text);
	free(c);
}

/* The changes that the command whatif accepts. */
void fuzz_changes(const uint8_t *data, size_t size)
{
	struct whatif_change change;
	struct err e;
	char *text = text_of(data, size);
	whatif_parse_without(text, &change, &e);
	whatif_parse_kernel(text, &change, &e);
	whatif_parse_free(text, &change, &e);
	free(text);
}

/* Names of kernels and functions. */
void fuzz_names(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size), *readable = demangle(text),
	     *function = demangle_function(text);
	kernel_uses_tensor_cores(text);
	kernel_is_optimizers(text);
	demangle_shorten(readable, 40);
	free(readable);
	free(function);
	free(text);
}

/* What a program wrote to stderr last. */
void fuzz_words(const uint8_t *data, size_t size)
{
	struct last_words words;
	char *text = text_of(data, size);
	last_words_find(text, &words);
	free(text);
}

/* Returns a descriptor of a file in memory with the input, and its path. */
static int file_of(const uint8_t *data, size_t size, char path[64])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* A run's folder whose run.json and report.json are both the input. */
void fuzz_stored(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "run.json", "report.json" };
	char folder[64], path[128];
	struct collected collected;
	struct report r;
	snprintf(folder, sizeof(folder), "/dev/shm/profrun-fuzz-stored-%d", (int)getpid());
	mkdir(folder, 0700);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (write(fd, data, size) != (ssize_t)size)
			abort();
		close(fd);
	}
	collected_load(&collected, folder);
	collected_free(&collected);
	report_start(&r);
	report_read_run(&r, folder);
	report_free(&r);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

/* A trace that `info` counts. */
void fuzz_trace(const uint8_t *data, size_t size)
{
	struct trace_count count;
	struct err e;
	char path[64];
	int fd = file_of(data, size, path);
	trace_count_file(path, &count, &e);
	close(fd);
}
