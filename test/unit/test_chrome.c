/* The Chrome format: valid JSON whatever the names hold, nanoseconds kept, no thread 0. */
#include "export/exporter.h"
#include "export/step_file.h"
#include "test/unit/encoded.h"
#include "test/unit/fake_frames.h"
#include "test/unit/step_builder.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static struct step_builder builder;
static struct analyzer analyzer;

static void begin_step(void)
{
	memset(&builder, 0, sizeof(builder));
	analyzer_start(&analyzer, &builder.tables, NULL);
	sb_step(&builder, 7, 0, 1000);
	builder.m.pid = 42;
	builder.m.command = "program \xff";
	builder.m.detector = "auto";
}

static void end_step(void)
{
	model_free(&builder.m);
	analyzer_free(&analyzer);
	sb_free(&builder);
}

static json_t *encoded(void)
{
	struct encoded text = { 0 };
	json_error_t e;
	encoded_step(&exporter_chrome, sb_analyze(&builder, &analyzer), encoded_append, &text);
	json_t *trace = json_loadb((const char *)text.at, text.n, JSON_REJECT_DUPLICATES, &e);
	if (!trace)
		fail_msg("line %d: %s", e.line, e.text);
	vec_free(&text);
	return trace;
}

/* The first event with this phase and, if `name` is not NULL, this name. */
static const json_t *event(const json_t *trace, const char *phase, const char *name)
{
	size_t i;
	json_t *e;
	json_array_foreach(json_object_get(trace, "traceEvents"), i,
			   e) if (!strcmp(json_string_value(json_object_get(e, "ph")), phase) &&
				  (!name || !strcmp(json_string_value(json_object_get(e, "name")),
						    name))) return e;
	fail_msg("no event %s '%s'", phase, name ? name : "");
	return NULL;
}

static uint64_t ns_of(const json_t *event, const char *what)
{
	return (uint64_t)(json_number_value(json_object_get(event, what)) * 1000 + 0.5);
}

static void test_what_was_recorded_is_in_the_trace(void **state)
{
	(void)state;
	begin_step();
	sb_launch(&builder, 10.001, 20.5, 60.123, 0);
	json_t *trace = encoded();
	const json_t *call = event(trace, "X", "cudaLaunchKernel"),
		     *kernel = event(trace, "X", "kernel"), *out = event(trace, "s", NULL),
		     *in = event(trace, "f", NULL), *point = event(trace, "C", NULL);
	assert_string_equal(json_string_value(json_object_get(trace, "displayTimeUnit")), "ns");
	assert_int_equal(ns_of(call, "ts"), 10001);
	assert_int_equal(ns_of(call, "dur"), 3000);
	assert_int_equal(ns_of(kernel, "ts"), 20500);
	assert_int_equal(ns_of(kernel, "dur"), 39623);
	assert_int_equal(ns_of(out, "ts"), 10001);
	assert_int_equal(ns_of(in, "ts"), 20500);
	assert_string_equal(json_string_value(json_object_get(in, "bp")), "e");
	assert_true(json_equal(json_object_get(out, "id"), json_object_get(in, "id")));
	assert_true(json_equal(json_object_get(out, "cat"), json_object_get(in, "cat")));
	assert_int_equal(json_integer_value(json_object_get(call, "tid")), 1);
	assert_true(json_integer_value(json_object_get(kernel, "tid")) > 1 << 22);
	assert_string_equal(json_string_value(json_object_get(point, "name")),
			    "launches in flight");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(point, "args"), "count")), 1);
	json_decref(trace);
	end_step();
}

/* Every name is as in the program, or has U+FFFD for what is no UTF-8. */
static void test_names_are_escaped(void **state)
{
	static const struct {
		const char *name, *read;
	} names[] = {
		{ "plain<float, 4>(int*)", "plain<float, 4>(int*)" },
		{ "quote\" back\\slash /", "quote\" back\\slash /" },
		{ "tab\t line\n bell\a delete\x7f", "tab\t line\n bell\a delete\x7f" },
		{ "forw\xc3\xa4rts \xf0\x9f\x9a\x80", "forw\xc3\xa4rts \xf0\x9f\x9a\x80" },
		{ "lone \x80, cut \xe2\x82", "lone \xef\xbf\xbd, cut \xef\xbf\xbd\xef\xbf\xbd" },
		{ "long form \xc0\xaf", "long form \xef\xbf\xbd\xef\xbf\xbd" },
		{ "surrogate \xed\xa0\x80", "surrogate \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	};
	(void)state;
	begin_step();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct model_note note = { .ns = i * 1000 };
		snprintf(note.text, sizeof(note.text), "%s", names[i].name);
		vec_push(&builder.m.notes, note);
		sb_call(&builder, (struct sb_call){ .name = names[i].name,
						    .category = CAT_SYNC,
						    .begin_us = (double)i * 10,
						    .end_us = (double)i * 10 + 1 });
	}
	json_t *trace = encoded();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		event(trace, "X", names[i].read);
		event(trace, "i", names[i].read);
	}
	const json_t *process = event(trace, "M", "process_name");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(process, "args"), "name")),
		"program \xef\xbf\xbd");
	json_decref(trace);
	end_step();
}

/* Readers take numbers for doubles: an address comes as text, and loses nothing. */
static void test_addresses_keep_all_their_bits(void **state)
{
	(void)state;
	begin_step();
	sb_call(&builder, (struct sb_call){ .name = "cudaFree",
					    .category = CAT_FREE,
					    .begin_us = 1,
					    .end_us = 2,
					    .handle = 0xfedcba9876543211 });
	json_t *trace = encoded();
	const json_t *args = json_object_get(event(trace, "X", "cudaFree"), "args");
	assert_string_equal(json_string_value(json_object_get(args, "address")),
			    "0xfedcba9876543211");
	json_decref(trace);
	end_step();
}

static void test_no_thread_is_0(void **state)
{
	size_t i;
	json_t *e;
	(void)state;
	begin_step();
	sb_launch(&builder, 10, 20, 60, 0);
	json_t *trace = encoded();
	json_array_foreach(json_object_get(trace, "traceEvents"), i, e)
	{
		assert_true(json_integer_value(json_object_get(e, "tid")) > 0);
		assert_int_equal(json_integer_value(json_object_get(e, "pid")), 42);
	}
	json_decref(trace);
	end_step();
}

/* More than one piece is given to the sink, and none is large: memory does not grow with a step. */
static void note_largest(void *context, const void *bytes, size_t n)
{
	size_t *largest = context;
	(void)bytes;
	*largest = n > *largest ? n : *largest;
}

static void test_it_is_written_in_pieces(void **state)
{
	enum { NOTES = 100000 };
	size_t largest = 0;
	(void)state;
	begin_step();
	for (size_t i = 0; i < NOTES; i++)
		vec_push(&builder.m.notes, (struct model_note){ .ns = i, .text = "a note" });
	encoded_step(&exporter_chrome, sb_analyze(&builder, &analyzer), note_largest, &largest);
	assert_true(largest > 0 && largest < 2 << 20);
	end_step();
}

/* The file: counted by `profrun info`; a cut one and a foreign one are refused in words. */
static void test_file_can_be_counted(void **state)
{
	char path[80];
	struct trace_count count;
	struct err e = { "" };
	(void)state;
	snprintf(path, sizeof(path), "/tmp/test-chrome-%d.json.gz", (int)getpid());
	begin_step();
	sb_launch(&builder, 10, 20, 60, 0);
	assert_int_equal(
		step_file_write(&exporter_chrome, sb_analyze(&builder, &analyzer), path, &e), 0);
	assert_int_equal(exporter_chrome.count(path, &count, &e), 0);
	assert_int_equal(count.flows, 1);
	assert_int_equal(count.flow_ends, 1);
	assert_int_equal(count.threads, 1);
	assert_int_equal(count.counters, 1);
	assert_int_equal(count.counter_points, 2);
	assert_int_equal(truncate(path, 300), 0);
	assert_int_not_equal(exporter_chrome.count(path, &count, &e), 0);
	FILE *foreign = fopen(path, "w");
	fputs("[]\n", foreign);
	fclose(foreign);
	assert_int_not_equal(exporter_chrome.count(path, &count, &e), 0);
	assert_non_null(strstr(e.text, "not a Chrome trace"));
	unlink(path);
	end_step();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_recorded_is_in_the_trace),
		cmocka_unit_test(test_names_are_escaped),
		cmocka_unit_test(test_addresses_keep_all_their_bits),
		cmocka_unit_test(test_no_thread_is_0),
		cmocka_unit_test(test_it_is_written_in_pieces),
		cmocka_unit_test(test_file_can_be_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
