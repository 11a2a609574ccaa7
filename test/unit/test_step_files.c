/* Which steps go to which file. */
#include "export/outfile.h"
#include "export/step_files.h"
#include "test/unit/step_builder.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t RECORDED[] = { 10, 11, 12, 20, 21 };

struct result {
	char written[2048], failed[512];
};

static void on_written(void *context, int format, const char *relative, bool is_empty)
{
	struct result *r = context;
	size_t n = strlen(r->written);
	(void)is_empty;
	snprintf(r->written + n, sizeof(r->written) - n, "%d %s\n", format, relative);
}

static void on_failed(void *context, const struct err *e)
{
	struct result *r = context;
	snprintf(r->failed, sizeof(r->failed), "%s", e->text);
}

/* A format that writes the numbers of its steps. */
struct numbers {
	exporter_sink *sink;
	void *context;
};

static void *begin(exporter_sink *sink, void *context)
{
	struct numbers *f = mem_zero(sizeof(*f));
	*f = (struct numbers){ sink, context };
	return f;
}

static void add(void *file, const struct analyzed_step *step)
{
	struct numbers *f = file;
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu ", (unsigned long long)step->model->number);
	f->sink(f->context, text, (size_t)n);
}

static int write_step(const struct analyzed_step *step, const char *path, struct err *e)
{
	struct outfile out;
	(void)step;
	int error = outfile_open(&out, path, 0, e);
	return error ? error : outfile_close(&out, e);
}

static void name_file(const struct model_step *first, char *to, size_t bytes)
{
	snprintf(to, bytes, "host.%llu.json", (unsigned long long)first->number);
}

static const struct exporter each = { .name = "each",
				      .folder = "each",
				      .suffix = ".each",
				      .is_plain = true,
				      .begin = begin,
				      .add = add,
				      .end = free };
static const struct exporter windows = { .name = "windows",
					 .folder = "windows",
					 .suffix = ".window",
					 .has_windows = true,
					 .is_plain = true,
					 .begin = begin,
					 .add = add,
					 .end = free };
static const struct exporter named = { .name = "named",
				       .folder = "named",
				       .suffix = ".json",
				       .has_windows = true,
				       .is_plain = true,
				       .name_file = name_file,
				       .begin = begin,
				       .add = add,
				       .end = free };
static const struct exporter alone = {
	.name = "alone", .folder = "alone", .suffix = ".alone", .write_step = write_step
};

static char folder[] = "/tmp/test-step-files-XXXXXX";

/* Writes RECORDED; the schedule saves after step 11 if `saves`. */
static void write_all(struct step_files *f, bool saves)
{
	static const struct exporter *const formats[] = { &each, &windows, &named, &alone };
	struct step_builder b = { 0 };
	struct analyzer a;
	f->formats = formats;
	f->n_formats = 4;
	f->folder = folder;
	f->name = "3";
	f->written = on_written;
	f->failed = on_failed;
	analyzer_start(&a, &b.tables, NULL);
	for (size_t i = 0; i < sizeof(RECORDED) / sizeof(*RECORDED); i++) {
		sb_step(&b, RECORDED[i], RECORDED[i] * 1000, RECORDED[i] * 1000 + 1000);
		b.m.action = saves && RECORDED[i] == 11 ? SCHED_RECORD_AND_SAVE : SCHED_RECORD;
		step_files_add(f, sb_analyze(&b, &a));
		model_free(&b.m);
	}
	step_files_end(f);
	analyzer_free(&a);
	sb_free(&b);
}

static void check_content(const char *name, const char *expected)
{
	char path[200], text[200];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	size_t n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	fclose(file);
	assert_string_equal(text, expected);
}

static void test_a_window_is_one_file(void **state)
{
	struct result r = { "", "" };
	struct step_files f = { .context = &r };
	(void)state;
	write_all(&f, true);
	assert_string_equal(r.failed, "");
	assert_string_equal(r.written, "0 each/3/step-10.each\n"
				       "3 alone/3/step-10.alone\n"
				       "0 each/3/step-11.each\n"
				       "1 windows/3/steps-10-11.window\n"
				       "2 named/host.10.json\n"
				       "3 alone/3/step-11.alone\n"
				       "0 each/3/step-12.each\n"
				       "3 alone/3/step-12.alone\n"
				       "0 each/3/step-20.each\n"
				       "1 windows/3/step-12.window\n"
				       "2 named/host.12.json\n"
				       "3 alone/3/step-20.alone\n"
				       "0 each/3/step-21.each\n"
				       "3 alone/3/step-21.alone\n"
				       "1 windows/3/steps-20-21.window\n"
				       "2 named/host.20.json\n");
	check_content("each/3/step-20.each", "20 ");
	check_content("windows/3/steps-10-11.window", "10 11 ");
	check_content("named/host.20.json", "20 21 ");
}

static void test_chosen_steps_are_one_file(void **state)
{
	struct result r = { "", "" };
	struct step_files f = { .context = &r,
				.is_plain = true,
				.choice = { .is_set = true, .first = 11, .last = 20 } };
	(void)state;
	write_all(&f, true);
	assert_string_equal(r.failed, "");
	assert_string_equal(r.written, "3 3/step-11.alone\n"
				       "3 3/step-12.alone\n"
				       "0 3/steps-11-20.each\n"
				       "1 3/steps-11-20.window\n"
				       "2 host.11.json\n"
				       "3 3/step-20.alone\n");
	check_content("3/steps-11-20.each", "11 12 20 ");
}

static void test_abandoned_files_leave_nothing(void **state)
{
	static const struct exporter *const formats[] = { &windows };
	struct result r = { "", "" };
	struct step_files f = { .context = &r, .formats = formats, .n_formats = 1, .name = "gone" };
	struct step_builder b = { 0 };
	struct analyzer a;
	(void)state;
	f.folder = folder;
	analyzer_start(&a, &b.tables, NULL);
	sb_step(&b, 1, 0, 1000);
	step_files_add(&f, sb_analyze(&b, &a));
	step_files_abandon(&f);
	step_files_end(&f);
	assert_string_equal(r.written, "");
	char path[200];
	snprintf(path, sizeof(path), "%s/windows/gone", folder);
	assert_int_equal(rmdir(path), 0); /* it is empty */
	model_free(&b.m);
	analyzer_free(&a);
	sb_free(&b);
}

static void test_ranges(void **state)
{
	static const char *const bad[] = { "",	  "x",	 "3-",
					   "-3",  "5-3", "1-2-3",
					   "1,2", "+1",	 "99999999999999999999" };
	struct step_choice c;
	struct err e;
	(void)state;
	assert_int_equal(step_choice_parse(&c, "10-20", &e), 0);
	assert_true(c.is_set && c.first == 10 && c.last == 20);
	assert_true(step_choice_has(&c, 10) && step_choice_has(&c, 20));
	assert_false(step_choice_has(&c, 9) || step_choice_has(&c, 21));
	assert_int_equal(step_choice_parse(&c, "7", &e), 0);
	assert_true(c.first == 7 && c.last == 7);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_not_equal(step_choice_parse(&c, bad[i], &e), 0);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[80];
	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_is_one_file),
		cmocka_unit_test(test_chosen_steps_are_one_file),
		cmocka_unit_test(test_abandoned_files_leave_nothing),
		cmocka_unit_test(test_ranges),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
