/*
 * A run that was read from a text file goes through analysis, report, what-if and Perfetto export.
 * This program links no reader of journals; test/check/test_sources.py looks.
 */
#include "core/analysis/analyzer.h"
#include "core/analysis/summary.h"
#include "core/analysis/summary_run.h"
#include "core/verdict/judge.h"
#include "core/whatif/whatif.h"
#include "export/exporter.h"
#include "export/report_fill.h"
#include "export/report_text.h"
#include "export/step_file.h"
#include "export/trace_count.h"
#include "test/unit/text_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS = 6, STEP_US = 1000 };

struct fixture {
	char path[64], trace[80];
	struct text_source source;
	struct analyzer analyzer;
	struct findings findings;
};

/* Each step launches 300 us of work at once and waits for it, then works 600 us on the CPU. */
static void write_text(const char *path)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "# a run as text\n");
	fprintf(f, "device 0 Text GPU\nstack 1 train.py:10 train\nstack 2 train.py:20 train\n");
	for (int i = 0; i < STEPS; i++) {
		double at = i * STEP_US;
		fprintf(f, "step %d %f %f\n", i, at, at + STEP_US);
		fprintf(f, "launch %f %f 1 forward %f %f 7\n", at, at + 5, at + 10, at + 110);
		fprintf(f, "launch %f %f 1 backward %f %f 7\n", at + 5, at + 10, at + 110,
			at + 310);
		fprintf(f, "sync %f %f 2 7\n", at + 12, at + 320);
	}
	assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	snprintf(f->path, sizeof(f->path), "/tmp/test-text-%d.txt", (int)getpid());
	snprintf(f->trace, sizeof(f->trace), "%s.pftrace.gz", f->path);
	write_text(f->path);
	assert_true(text_source_read(&f->source, f->path));
	analyzer_start(&f->analyzer, &f->source.tables, f->source.run.frames);
	for (size_t i = 0; i < f->source.steps.n; i++)
		analyzer_add(&f->analyzer, &f->source.steps.at[i], true);
	summary_fill(&f->findings, &f->analyzer.timeline);
	summary_fill_run(&f->findings, &f->source.run);
	replay_fill(&f->findings);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	findings_free(&f->findings);
	analyzer_free(&f->analyzer);
	text_source_free(&f->source);
	unlink(f->path);
	unlink(f->trace);
	free(f);
	return 0;
}

static void a_line_that_is_not_understood_is_refused(void **state)
{
	struct fixture *f = *state;
	struct text_source other;
	FILE *file = fopen(f->path, "we");
	fprintf(file, "launch 1 2 3\n");
	fclose(file);
	assert_false(text_source_read(&other, f->path));
	text_source_free(&other);
}

static void analysis(void **state)
{
	struct fixture *f = *state;
	const struct findings *found = &f->findings;
	assert_int_equal(f->analyzer.timeline.steps.n, STEPS);
	assert_int_equal(found->gpus.n, 1);
	assert_float_equal(found->gpus.at[0].busy_ms, 0.3, 1e-9);
	assert_int_equal(found->gpus.at[0].busy_ns + found->gpus.at[0].idle_ns,
			 found->gpus.at[0].span_ns);
	assert_int_equal(found->syncs.n, 1);
	assert_int_equal(frames_site_at(f->source.run.frames, found->syncs.at[0].site)->line, 20);
	assert_int_equal(found->kernels.n, 2);
	assert_string_equal(found->kernels.at[0].name, "backward");
}

static void report(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;
	size_t bytes;
	struct report_process *process = report_process_new();
	struct report whole;
	report_start(&whole);
	process->facts.command = "text";
	report_fill(process, &f->findings);
	report_add(&whole, process);
	FILE *to = open_memstream(&text, &bytes);
	struct textout out = { .to = to };
	report_text_all(&out, &whole, 10, NULL);
	fclose(to);
	assert_non_null(strstr(text, "utilization 30 %"));
	assert_non_null(strstr(text, "train.py:20"));
	assert_non_null(strstr(text, "backward"));
	free(text);
	report_free(&whole);
}

/* Without the wait the next step's launches come 308 us earlier. */
static void what_if(void **state)
{
	struct fixture *f = *state;
	const struct whatif_change change = { .kind = WHATIF_WAIT,
					      .site = f->findings.syncs.at[0].site };
	struct whatif_result result;
	assert_int_equal(whatif_run(&f->analyzer.timeline, &change, 1, &result, NULL), 0);
	assert_true(result.gain_ms > 0.25 && result.gain_ms < 0.35);
}

static void perfetto(void **state)
{
	struct fixture *f = *state;
	struct err e = { "" };
	struct trace_count count;
	struct analyzer alone;
	analyzer_start(&alone, &f->source.tables, f->source.run.frames);
	const struct analyzed_step *step = analyzer_add(&alone, &f->source.steps.at[0], false);
	assert_int_equal(step_file_write(&exporter_perfetto, step, f->trace, &e), 0);
	analyzer_free(&alone);
	assert_int_equal(trace_count_file(f->trace, &count, &e), 0);
	assert_int_equal(count.flows, 2);
	/* calls, kernels, the step, and the idle time after the kernels */
	assert_true(count.slices >= 3 + 2 + 1 + 1);
	assert_int_equal(count.threads, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_that_is_not_understood_is_refused),
		TEST(analysis),
		TEST(report),
		TEST(what_if),
		TEST(perfetto),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
