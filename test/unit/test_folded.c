/* Folded stacks: the lines that a step gives. */
#include "export/exporter.h"
#include "export/step_file.h"
#include "test/unit/fake_frames.h"
#include "test/unit/step_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static struct step_builder builder;
static struct analyzer analyzer;

static void check_lines(const char *expected)
{
	char path[] = "/tmp/test-folded-XXXXXX", text[2048] = "";
	struct err e;
	close(mkstemp(path));
	const struct analyzed_step *step = sb_analyze(&builder, &analyzer);
	assert_int_equal(step_file_write(exporter_find("folded"), step, path, &e), 0);
	FILE *file = fopen(path, "r");
	size_t n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	fclose(file);
	unlink(path);
	assert_string_equal(text, expected);
}

/*
 * Two kernels of one line, one of which no stack is known; a wait; samples of two functions, the
 * second of which slept. A semicolon in a name would divide it.
 */
static void test_lines(void **state)
{
	(void)state;
	analyzer_start(&analyzer, &builder.tables, NULL);
	sb_step(&builder, 7, 0, 1000);
	builder.m.frames = (struct frames *)fake_frames;
	fake_kind = FRAME_KIND_PYTHON;
	fake_add(1, "/home/me/train.py", 42, "train", "", "");
	fake_add(2, "/home/me/helper.py", 9, "log;metrics", "", "");
	fake_add(3, "/home/me/helper.py", 20, "load", "", "");
	sb_launch(&builder, 0, 10, 60, 1);
	sb_launch(&builder, 10, 60, 100, 1);
	sb_launch(&builder, 20, 100, 120, 0);
	sb_call(&builder, (struct sb_call){ .name = "cudaDeviceSynchronize",
					    .category = CAT_SYNC,
					    .begin_us = 30,
					    .end_us = 130,
					    .stack = 1 });
	sb_sample(&builder, 400, 1, SAMPLE_RUNNING, 2);
	sb_sample(&builder, 600, 1, SAMPLE_RUNNING, 2);
	sb_sample(&builder, 800, 1, SAMPLE_SLEEP, 3);
	check_lines("CPU;log,metrics (helper.py:9) 300\n"
		    "GPU;kernel 20\n"
		    "GPU;train (train.py:42);kernel 90\n"
		    "blocked;load (helper.py:20);sleeping 300\n"
		    "blocked;train (train.py:42);cudaDeviceSynchronize 100\n");
	fake_forget();
	model_free(&builder.m);
	analyzer_free(&analyzer);
	sb_free(&builder);
}

/* A graph's kernels: one with the stack of its capture, the other with that of the launch. */
static void test_graphs(void **state)
{
	(void)state;
	analyzer_start(&analyzer, &builder.tables, NULL);
	sb_step(&builder, 7, 0, 1000);
	builder.m.frames = (struct frames *)fake_frames;
	fake_kind = FRAME_KIND_PYTHON;
	fake_add(1, "/home/me/serve.py", 42, "generate", "", "");
	fake_add(2, "/home/me/model.py", 7, "forward", "", "");
	uint32_t captured = sb_captured(&builder, (struct sb_call){ .name = "cudaLaunchKernel",
								    .category = CAT_LAUNCH,
								    .stack = 2 });
	uint32_t call = sb_call(&builder, (struct sb_call){ .name = "cudaGraphLaunch",
							    .category = CAT_GRAPH,
							    .begin_us = 10,
							    .end_us = 20,
							    .stack = 1 });
	for (uint32_t i = 0; i < 2; i++)
		sb_work(&builder, (struct sb_work){ .name = "kernel",
						    .begin_us = 30 + i * 50.0,
						    .end_us = 70 + i * 30.0,
						    .call = call,
						    .graph = 5,
						    .origin = i ? 0 : captured });
	check_lines("GPU;forward (model.py:7);[CUDA graph];kernel 40\n"
		    "GPU;generate (serve.py:42);[CUDA graph];kernel 20\n");
	fake_forget();
	model_free(&builder.m);
	analyzer_free(&analyzer);
	sb_free(&builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_graphs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
