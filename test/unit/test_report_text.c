/*
 * The report in words: nothing is wider than the screen, nothing from the profiled program reaches
 * the terminal raw.
 */
#include "export/report_json.h"
#include "export/report_text.h"
#include "export/report_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct textout open_text(char **text, size_t *bytes)
{
	struct textout o = { .to = open_memstream(text, bytes) };
	assert_non_null(o.to);
	return o;
}

/* ---- Fitting ---- */

static const char *fit(const char *text, size_t columns, enum text_cut cut)
{
	static char to[TEXT_BYTES];
	return text_fit(to, sizeof(to), text, columns, cut);
}

static void test_what_fits_stays(void **state)
{
	(void)state;
	assert_string_equal(fit("train.py:42", 11, CUT_HEAD), "train.py:42");
	assert_string_equal(fit("", 4, CUT_TAIL), "");
}

static void test_cut_where_it_hurts_least(void **state)
{
	(void)state;
	assert_string_equal(fit("a long sentence here", 12, CUT_TAIL), "a long se...");
	assert_string_equal(fit("some/deep/folder/train.py:42", 14, CUT_HEAD), "...train.py:42");
	assert_string_equal(fit("void kernel<float, 4>(int)", 13, CUT_MIDDLE), "void ...(int)");
}

static void test_columns_are_counted_not_bytes(void **state)
{
	(void)state;
	assert_int_equal(text_width("größe"), 5);
	assert_int_equal(text_width("損失"), 4);
	assert_string_equal(fit("größer als der Schirm", 9, CUT_TAIL), "größer...");
	assert_int_equal(text_width(fit("損失損失損失損失損失", 9, CUT_MIDDLE)) <= 9, 1);
	assert_int_equal(text_width(fit("損失損失損失損失損失", 9, CUT_HEAD)) <= 9, 1);
}

static void test_control_characters_are_cleaned(void **state)
{
	(void)state;
	assert_string_equal(fit("a\tb\033[31mred\xff", 40, CUT_TAIL), "a b?[31mred?");
}

static void test_wrapped_words(void **state)
{
	char *text;
	size_t bytes;
	(void)state;
	struct textout o = open_text(&text, &bytes);
	text_wrap(&o, TEXT_PLAIN, "  - ",
		  "the first line of this text ends before the screen does, and what is behind it "
		  "comes below, as far in",
		  3);
	fclose(o.to);
	assert_string_equal(text, "  - the first line of this text ends before the screen does, "
				  "and what is behind\n"
				  "    it comes below, as far in\n");
	assert_int_equal(o.n_lines, 2);
	free(text);
}

static void test_table_gives_way_where_it_may(void **state)
{
	static const struct text_column columns[] = {
		{ "kernel", COLUMN_NAME },
		{ "ms", COLUMN_NUMBER },
	};
	char *text, name[200];
	size_t bytes;
	struct text_table t;
	(void)state;
	memset(name, 'k', sizeof(name));
	name[sizeof(name) - 1] = 0;
	struct textout o = open_text(&text, &bytes);
	table_start(&t, columns, 2);
	table_cell(&t, "%s", name);
	table_cell(&t, "1.234");
	table_end(&t, &o);
	fclose(o.to);
	const char *row = strchr(text, '\n') + 1;
	assert_int_equal(strlen(row), 81); /* with its line's end */
	assert_non_null(strstr(row, "1.234\n"));
	free(text);
}

/* What is cut from a name is not what tells it from the others. */
static void test_names_that_differ_look_different(void **state)
{
	static const struct text_column columns[] = {
		{ "kernel", COLUMN_NAME },
		{ "ms", COLUMN_NUMBER },
	};
	static const char *const functors[] = { "MulFunctor", "AddFunctor", "größter" };
	char *text, *lines[4];
	size_t bytes;
	struct text_table t;
	(void)state;
	struct textout o = open_text(&text, &bytes);
	table_start(&t, columns, 2);
	for (int i = 0; i < 3; i++) {
		table_cell(&t,
			   "vectorized_elementwise_kernel<4, BinaryFunctor<float, float, float, "
			   "%s<float> >, TrivialOffsetCalculator<1, unsigned int>, array<char*> >",
			   functors[i]);
		table_cell(&t, "1.234");
	}
	table_end(&t, &o);
	fclose(o.to);
	for (int i = 0; i < 4; i++)
		lines[i] = strtok(i ? NULL : text, "\n");
	for (int i = 0; i < 3; i++) {
		assert_non_null(strstr(lines[i + 1], functors[i]));
		assert_int_equal(text_width(lines[i + 1]), 80);
	}
	free(text);
}

/* ---- The report ---- */

static const char report[] =
	"{'schema': 2, 'run': {'command': ['/usr/bin/python', '/home/me/job/train.py'], 'cwd': "
	"'/home/me/job'},"
	" 'processes': [{'pid': 7, 'rank': null, 'devices': [{'id': 0, 'name': 'NVIDIA H100'}],"
	"  'steps': {'count': 80, 'detector': 'auto', 'confidence': 0.77, 'recorded': [12, 13, "
	"14]},"
	"  'baseline': {'step_ms': {'n': 76, 'mean': 5.2, 'std': 0.1, 'cv': 0.019, 'min': 5.0,"
	"    'p50': 5.2, 'p95': 5.4, 'p99': 5.6, 'max': 5.9}, 'warm_up_ms': {'n': 3, 'mean': 20,"
	"    'std': 10, 'cv': 0.5, 'min': 9, 'p50': 20, 'p95': 40, 'p99': 48, 'max': 48.12},"
	"    'recorded_ms': null},"
	"  'bound': {'verdict': 'sync', 'confidence': 0.86, 'evidence': ['38 % idle']},"
	"  'gpu': [{'device': 0, 'busy_pct': 62, 'busy_ms_per_step': 3.2, 'idle_ms_per_step': 2.0,"
	"    'kernels_per_step': 41, 'tensor_core_pct': null}],"
	"  'idle': [{'cause': 'sync', 'device': 0, 'ms_per_step': 1.4, 'pct': 27,"
	"     'where': '/home/me/job/train.py:42', 'file': '/home/me/job/train.py', 'line': 42},"
	"    {'cause': 'launch', 'device': 0, 'ms_per_step': 0.3, 'pct': 5, 'where': null},"
	"    {'cause': 'sync', 'device': 0, 'ms_per_step': 0.3, 'pct': 5, 'where': null}],"
	"  'syncs': [{'file': '/home/me/job/train.py', 'line': 42, 'function': 'step',"
	"    'source': 'total += loss.item()', 'api': 'cudaStreamSynchronize', 'kind': 'item',"
	"    'per_step': 1, 'blocked_ms_per_step': 2.1, 'gpu_idle_ms_per_step': 1.4,"
	"    'recoverable_ms_per_step': 1.2, 'line_ms_per_step': 1.3, 'stack': ["
	"     {'function': 'at::native::item', 'module': 'libtorch.so', 'is_library': true},"
	"     {'function': 'step', 'file': '/home/me/job/train.py', 'line': 42},"
	"     {'function': 'main', 'file': '/home/me/job/train.py', 'line': 80}]}],"
	"  'operators': [], 'kernels': [], 'copies': [], 'once': [],"
	"  'phases': [{'name': 'backward', 'host_ms_per_step': 2.5, 'gpu_ms_per_step': 1.5,"
	"     'parts': [{'name': 'recompute', 'host_ms_per_step': 0.5, 'gpu_ms_per_step': 0.25}]},"
	"    {'name': 'forward', 'host_ms_per_step': 1.25, 'gpu_ms_per_step': 1, 'parts': []}],"
	"  'lines': [{'file': '/home/me/job/model.py', 'line': 9, 'function': 'forward',"
	"    'source': 'x = self.a(x)', 'gpu_ms_per_step': 2, 'host_ms_per_step': 0.5,"
	"    'launches_per_step': 20}],"
	"  'modules': [{'name': 'Net', 'per_step': 1, 'gpu_ms_per_step': 2,"
	"     'backward_gpu_ms_per_step': 4.25, 'host_ms_per_step': 0.75},"
	"    {'name': 'Net.Block.Linear', 'per_step': 12, 'gpu_ms_per_step': 1.5,"
	"     'backward_gpu_ms_per_step': 3, 'host_ms_per_step': 0.5}],"
	"  'backward': {'gpu_ms_per_step': 4.5, 'tied_gpu_ms_per_step': 4.25},"
	"  'memory': {'device_peak_bytes': 1048576, 'at_peak': [], 'leaks': [], 'retries': 0},"
	"  'replay': {'measured_ms': 5.2, 'replayed_ms': 5.25, 'error_pct': 1, 'recorded_ms': 5.2, "
	"'step_ms': 5.2,"
	"    'mean_ms': 5.2},"
	"  'advice': [{'what': 'keep the value on the GPU', 'where': '/home/me/job/train.py:42',"
	"    'file': '/home/me/job/train.py', 'line': 42, 'source': 'total += loss.item()',"
	"    'expected_ms_per_step': 1.2, 'together_ms_per_step': 1.2, 'why': 'the GPU runs dry "
	"behind it'}],"
	"  'self': {'overhead_pct': 1.2, 'overhead_ci': [-0.5, 2.9], 'left_pct': 30.2,"
	"    'left_ci': [25.1, 35.3], 'dropped': 0,"
	"    'losses': {'late': 0}, 'cupti': {'state': 'used', 'own_ms_per_step': 0.01}},"
	"  'unavailable': [{'what': 'phases', 'why': 'not yet'}]}]}";

/* JSON above has single quotes, so that C can hold it. */
static json_t *load(void)
{
	char text[sizeof(report)];
	json_error_t error;
	for (size_t i = 0; i < sizeof(report); i++)
		text[i] = report[i] == '\'' ? '"' : report[i];
	json_t *root = json_loads(text, 0, &error);
	if (!root)
		fail_msg("%s at %d", error.text, error.position);
	return root;
}

static char *print(const json_t *root, bool is_screen, bool has_colour, unsigned *n_lines)
{
	char *text;
	size_t bytes;
	struct textout o = open_text(&text, &bytes);
	struct report r;
	assert_true(report_from_json(&r, root));
	o.has_colour = has_colour;
	if (is_screen)
		report_text_screen(&o, &r, REPORT_SCREEN_LINES);
	else
		report_text_all(&o, &r, REPORT_TOP);
	report_free(&r);
	fclose(o.to);
	if (n_lines)
		*n_lines = o.n_lines;
	return text;
}

static void assert_fits(const char *text)
{
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
		if (end - line > TEXT_COLUMNS)
			fail_msg("%ld columns: %.*s", (long)(end - line), (int)(end - line), line);
}

static void assert_says(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("'%s' is not in:\n%s", what, text);
}

/* The sum over two GPUs may be more than the step. */
static void test_idle_time_of_two_gpus(void **state)
{
	unsigned n_lines;
	json_t *root = load(), *process = json_array_get(json_object_get(root, "processes"), 0),
	       *gpus = json_object_get(process, "gpu");
	(void)state;
	json_array_append_new(gpus, json_deep_copy(json_array_get(gpus, 0)));
	char *text = print(root, true, false, &n_lines);
	assert_says(text, "GPU idle time by cause, sum over 2 GPUs: synchronization 1.700, launch "
			  "overhead\n         0.300 ms\n");
	free(text);
	json_decref(root);
}

static void test_first_screen(void **state)
{
	unsigned n_lines;
	json_t *root = load();
	char *text = print(root, true, false, &n_lines);
	(void)state;
	assert_fits(text);
	assert_in_range(n_lines, 8, REPORT_SCREEN_LINES);
	assert_says(text, "python train.py, 80 steps of 5.200 ms (median; p95 5.400)\n"
			  "steps    auto-detected (77 %); recorded: 12-14\n");
	assert_says(text, "without the 3 warm-up steps (up to 48.12 ms each)\n");
	assert_says(text, "Limited by: synchronization (confidence 86 %): the GPU idles after each "
			  "sync\n");
	assert_says(text,
		    "GPU 0    utilization 62 % (3.200 ms per step), idle 2.000 ms, 41 kernels\n");
	assert_says(text,
		    "GPU idle time by cause: synchronization 1.700, launch overhead 0.300 ms\n");
	/* two places, one cause */
	assert_says(text, "phases   backward 2.500, forward 1.250 ms");
	assert_says(text, "  1.200 ms  23 %  train.py:42  total += loss.item()");
	assert_says(text, "    keep the value on the GPU\n");
	assert_says(text, "Estimated savings per step of 5.200 ms\n");
	assert_says(text, "Time by line, per step\n");
	assert_says(text, "model.py:9");
	assert_says(text, "\nRecording overhead +1.2 % (95 % CI: -0.5 to +2.9); nothing dropped; "
			  "model error\n1.0 %; not available: phases\n");
	assert_null(strchr(text, '\033'));
	free(text);
	json_decref(root);
}

/* Prints the first screen of a run that ended as `run` says, in the launcher's margins. */
static char *print_ended(json_t *root, const char *run)
{
	char *text;
	size_t bytes;
	struct textout o = open_text(&text, &bytes);
	struct report r;
	json_t *more = json_loads(run, 0, NULL);
	assert_non_null(more);
	json_object_update(json_object_get(root, "run"), more);
	json_decref(more);
	assert_true(report_from_json(&r, root));
	o.margin = "  ";
	o.title_margin = "profrun: ";
	report_text_screen(&o, &r, REPORT_SCREEN_LINES);
	report_free(&r);
	fclose(o.to);
	assert_fits(text);
	return text;
}

static void test_how_the_run_ended(void **state)
{
	static const struct {
		const char *run, *head;
	} cases[] = {
		{ "{\"exit_status\": 0, \"wall_s\": 12.34}",
		  "profrun: python train.py: exit 0 after 12.3 s\n"
		  "  80 steps of 5.200 ms (median; p95 5.400)\n" },
		{ "{\"exit_status\": 1, \"wall_s\": 1234.5}", "profrun: python train.py: exit 1 "
							      "(its own) after 1234 s\n" },
		{ "{\"signal\": 9, \"wall_s\": 2}", "profrun: python train.py: signal 9 after 2.0 "
						    "s\n" },
		{ "{\"command\": [\"a\"], \"exit_status\": 0, \"wall_s\": 1}",
		  "profrun: a: exit 0 after 1.0 s, 80 steps of 5.200 ms (median; p95 5.400)\n" },
		{ "{\"command\": [\"a\", \"a long argument that does not fit into the line, and "
		  "more "
		  "of it\"], \"exit_status\": 0, \"wall_s\": 1}",
		  "profrun: a a long argument that d...the line, and more of it: exit 0 after "
		  "1.0 s\n" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *root = load();
		char *text = print_ended(root, cases[i].run);
		if (strncmp(text, cases[i].head, strlen(cases[i].head)) != 0)
			fail_msg("not at the start: %s of: %s", cases[i].head, text);
		assert_null(strstr(text + 1, "profrun: "));
		free(text);
		json_decref(root);
	}
}

static void set_completeness(json_t *root, const char *completeness)
{
	json_t *value = json_loads(completeness, 0, NULL);
	assert_non_null(value);
	json_object_set_new(json_array_get(json_object_get(root, "processes"), 0), "completeness",
			    value);
}

static void test_captured_launches(void **state)
{
	json_t *root = load();
	(void)state;
	set_completeness(root,
			 "{\"launches\": 12340, \"captured\": 12340, \"pct\": 100, \"windows\": "
			 "[{\"steps\": [12, 13], \"launches\": 12340, \"captured\": 12340, "
			 "\"why\": null}]}");
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "\nCaptured 12,340 of 12,340 launches (100 %); recording overhead");
	assert_null(strstr(text, "launches have GPU times"));
	free(text);
	set_completeness(
		root, "{\"launches\": 300000, \"captured\": 299997, \"pct\": 99.999, \"windows\": "
		      "[{\"steps\": [12, 13], \"launches\": 100000, \"captured\": 99999, \"why\": "
		      "\"X; do Y\"}, {\"steps\": [20], \"launches\": 100000, \"captured\": 99999, "
		      "\"why\": \"Z\"}, {\"steps\": [30], \"launches\": 100000, \"captured\": "
		      "99999, \"why\": \"Z\"}, {\"steps\": [40], \"launches\": 0, \"captured\": 0, "
		      "\"why\": null}]}");
	text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "\nCaptured 299,997 of 300,000 launches (99.9 %); ");
	assert_says(text,
		    "\n         steps 12-13: 99,999 of 100,000 launches have GPU times: X; do Y\n"
		    "         step 20: 99,999 of 100,000 launches have GPU times: Z\n"
		    "         and in 1 more window\n");
	free(text);
	json_object_set_new(json_object_get(json_array_get(json_object_get(root, "processes"), 0),
					    "steps"),
			    "recorded", json_array());
	text = print(root, true, false, NULL);
	assert_says(text,
		    "\n         whole run: 99,999 of 100,000 launches have GPU times: X; do Y\n");
	free(text);
	set_completeness(root,
			 "{\"launches\": 0, \"captured\": 0, \"pct\": null, \"windows\": []}");
	text = print(root, true, false, NULL);
	assert_says(text, "\nNothing captured; recording overhead");
	free(text);
	json_decref(root);
}

/* What a long screen leaves out is of the least use. */
static void test_a_screen_that_must_fit(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *evidence = json_object_get(json_object_get(p, "bound"), "evidence"),
	       *advice = json_object_get(p, "advice");
	(void)state;
	for (int i = 0; i < 3; i++) {
		json_array_append_new(evidence, json_string("more evidence, so much of it that it "
							    "takes another line of the screen"));
		json_array_append(advice, json_array_get(advice, 0));
	}
	for (unsigned most = 22; most >= 14; most -= 4) {
		char *text;
		size_t bytes;
		struct textout o = open_text(&text, &bytes);
		struct report r;
		assert_true(report_from_json(&r, root));
		report_text_screen(&o, &r, most);
		report_free(&r);
		fclose(o.to);
		assert_fits(text);
		if (o.n_lines > most)
			fail_msg("%u lines, at most %u: %s", o.n_lines, most, text);
		assert_says(text, "python train.py, 80 steps of 5.200 ms");
		assert_says(text, "Limited by: synchronization");
		assert_says(text, "  1.200 ms  23 %  train.py:42  total += loss.item()");
		assert_says(text, "not available: phases");
		free(text);
	}
	json_decref(root);
}

/* Busy and idle are of the steps that the verdict is of. */
static void test_typical_steps(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *gpu = json_array_get(json_object_get(p, "gpu"), 0), *idle, *bound;
	size_t i;
	(void)state;
	bound = json_object_get(p, "bound");
	json_object_set_new(bound, "typical_steps", json_integer(2));
	json_object_set_new(bound, "steps", json_integer(3));
	json_object_set_new(gpu, "typical_busy_ms", json_real(3));
	json_object_set_new(gpu, "typical_idle_ms", json_real(1));
	json_object_set_new(gpu, "typical_kernels", json_real(30));
	json_object_set_new(json_array_get(json_object_get(p, "phases"), 0), "typical_host_ms",
			    json_real(1.2)); /* of the mean it is the longer one */
	json_array_foreach(json_object_get(p, "idle"), i, idle)
		json_object_set_new(idle, "typical_ms", json_real(i ? 0.1 : 0.8));
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text,
		    "utilization 75 % (3.000 ms per typical step), idle 1.000 ms, 30 kernels\n");
	assert_says(text, "by cause: synchronization 0.900, launch overhead 0.100 ms\n");
	assert_says(text, "phases   forward 1.250, backward 1.200 ms\n");
	assert_says(text, "Time by line, per step, mean of all 3 recorded steps\n");
	free(text);
	text = print(root, false, false, NULL);
	assert_says(text, "\nGPU utilization, per step, mean of all 3 recorded steps\n");
	assert_says(text, "\nPhases, per step, mean of all 3 recorded steps\n");
	free(text);
	json_decref(root);
}

/* However long their names and waits: where they are called stands below. */
static void test_collectives_have_their_line(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0);
	(void)state;
	json_object_set_new(p, "collectives",
			    json_pack("[{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:i, s:s, s:i, s:s}, "
				      "{s:s, s:i}]",
				      "name", "ncclReduceScatter", "ranks", 8, "per_step", 1.5,
				      "bytes_per_step", 524.25 * 1024, "gpu_ms_per_step", 19.654,
				      "bus_gb_per_s", 89.3, "wait_ms_per_step", 19.63, "last_rank",
				      1, "file", "/home/me/job/train.py", "line", 31, "source",
				      "loss.backward()", "name", "ncclBcast", "ranks", 8));
	char *text = print(root, false, false, NULL);
	assert_fits(text);
	assert_null(strstr(text, "(unknown)")); /* no line is said of a call without stacks */
	assert_says(text, "  19.63 for rank 1\n");
	assert_says(text, "    train.py:31  loss.backward()\n");
	free(text);
	json_decref(root);
}

/* A leak is on the first screen, with its line, where the device is going to be full. */
static void test_memory_that_grows(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *memory = json_object_get(p, "memory"), *growth;
	(void)state;
	growth = json_pack("{s:f, s:I, s:f}", "bytes_per_step", 12.5 * 1048576, "device_bytes",
			   (json_int_t)80 << 30, "steps_left", 6541.0);
	json_object_set_new(memory, "growth", growth);
	json_object_set_new(memory, "leaks",
			    json_pack("[{s:s, s:i, s:f}, {s:s, s:f}]", "file",
				      "/home/me/job/train.py", "line", 31, "bytes_per_step",
				      12.0 * 1048576, "what", "before recording began",
				      "bytes_per_step", 0.5 * 1048576));
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text,
		    "memory   grows by 12.5 MiB per step: the GPU's 80.0 GiB will be full after\n"
		    "         another 6500 steps (34 s)\n"
		    "         allocated at train.py:31 (12.0 MiB), before recording "
		    "began (512.0 KiB)\n");
	free(text);
	json_object_set_new(growth, "steps_left", json_real(1e12));
	text = print(root, true, false, NULL);
	assert_null(strstr(text, "grows by"));
	free(text);
	json_object_set_new(growth, "steps_left", json_null());
	text = print(root, true, false, NULL);
	assert_says(text, "memory   grows by 12.5 MiB per step\n");
	free(text);
	json_decref(root);
}

/*
 * Recorded while the device's queue filled up again: the device's pace is that of the other steps.
 */
static void test_host_that_ran_ahead(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *replay = json_object_get(p, "replay");
	(void)state;
	json_object_set_new(json_object_get(p, "baseline"), "recorded_ms",
			    json_pack("{s:i, s:f}", "n", 3, "p50", 0.03));
	json_object_set_new(replay, "measured_ms", json_real(5.3));
	char *text = print(root, true, false, NULL);
	assert_says(text, "in recorded steps the CPU ran ahead of the GPU (0.030 ms per step)\n");
	free(text);
	json_object_set_new(replay, "measured_ms", json_real(0.03)); /* so it is not */
	text = print(root, true, false, NULL);
	assert_says(text,
		    "recorded steps take 0.030 ms (0.01x the median); other figures refer to\n"
		    "         recorded steps\n");
	free(text);
	json_decref(root);
}

/*
 * One length of a step on a screen; where the recorded ones were not like the others, it is said.
 */
static void test_what_gains_refer_to(void **state)
{
	static const struct {
		double step_ms, recorded_ms;
		const char *heading, *gain;
	} rows[] = {
		{ 5.2, 5.2, " per step of 5.200 ms\n", "    1.200 ms  23 %  " },
		{ 4.8, 5.2, " per step of 4.800 ms (without recording overhead)\n",
		  "    1.200 ms  25 %  " },
		{ 12, 13, " per recorded step (12.00 ms; a typical step takes 5.200 ms)\n",
		  "    1.200 ms  10 %  " },
		{ 2.4, 2.4, " per recorded step (2.400 ms; a typical step takes 5.200 ms)\n",
		  "    1.200 ms  50 %  " },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) * 2; i++) {
		json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
		       *replay = json_object_get(p, "replay");
		json_object_set_new(replay, "step_ms", json_real(rows[i / 2].step_ms));
		json_object_set_new(replay, "recorded_ms", json_real(rows[i / 2].recorded_ms));
		char *text = print(root, i % 2, false, NULL);
		assert_fits(text);
		assert_says(text, rows[i / 2].heading);
		assert_says(text, rows[i / 2].gain);
		assert_null(strstr(text, "overlap"));
		free(text);
		json_decref(root);
	}
}

static void test_what_disturbed_steps_are_compared_with(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *replay = json_object_get(p, "replay");
	(void)state;
	json_object_set_new(replay, "disturbed_times", json_real(2));
	json_object_set_new(replay, "step_ms", json_real(2.6));
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "Estimated savings per step, scaled to unrecorded steps of 2.600 ms\n");
	free(text);
	json_decref(root);
}

/* However little it saves compared with others. */
static void test_what_the_verdict_rests_on_has_a_row(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *advice = json_object_get(p, "advice");
	(void)state;
	json_object_set_new(json_object_get(p, "bound"), "verdict", json_string("input"));
	for (int i = 1; i < 5; i++) {
		json_t *more = json_deep_copy(json_array_get(advice, 0));
		json_object_set_new(more, "line", json_integer(70 + i));
		json_object_set_new(more, "cause", json_string(i < 4 ? "launch" : "input"));
		json_array_append_new(advice, more);
	}
	char *text = print(root, true, false, NULL);
	assert_says(text, "train.py:71");
	assert_says(text, "train.py:74");
	assert_null(strstr(text, "train.py:73"));
	free(text);
	json_object_set_new(json_object_get(p, "bound"), "verdict", json_string("launch"));
	text = print(root, true, false, NULL);
	assert_null(strstr(text, "train.py:74"));
	free(text);
	json_decref(root);
}

/*
 * By what the replay says they win together. What few steps win is a share of the mean step, and
 * adds to nothing.
 */
static void test_gains_that_overlap(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *advice = json_object_get(p, "advice"),
	       *second = json_deep_copy(json_array_get(advice, 0));
	(void)state;
	json_array_append_new(advice, second);
	json_object_set_new(second, "together_ms_per_step", json_real(2.4));
	for (int is_screen = 0; is_screen < 2; is_screen++) {
		char *text = print(root, is_screen, false, NULL);
		assert_null(strstr(text, "overlap"));
		free(text);
	}
	json_object_set_new(second, "together_ms_per_step", json_real(1.5));
	for (int is_screen = 0; is_screen < 2; is_screen++) {
		char *text = print(root, is_screen, false, NULL);
		assert_says(text, "\n    1.500 ms combined savings (the savings above overlap)\n");
		free(text);
	}
	json_object_del(second, "together_ms_per_step");
	json_object_set_new(second, "rare_steps", json_integer(2));
	json_object_set_new(json_object_get(p, "replay"), "mean_ms", json_real(12));
	json_object_set_new(json_object_get(p, "bound"), "steps", json_integer(24));
	json_object_set_new(json_object_get(p, "bound"), "typical_steps", json_integer(22));
	for (int is_screen = 0; is_screen < 2; is_screen++) {
		char *text = print(root, is_screen, false, NULL);
		assert_null(strstr(text, "overlap"));
		assert_says(text, "\n  in a few steps only, averaged over all 24 recorded steps "
				  "(12.00 ms each):\n"
				  "    1.200 ms  10 %  ");
		free(text);
	}
	/* whatever wins most: those of usual steps stand together */
	json_array_insert(advice, 0, second);
	json_array_remove(advice, 2);
	char *text = print(root, true, false, NULL);
	assert_says(text, "\n  in a few steps only");
	assert_true(strstr(text, " 23 %") < strstr(text, "in a few steps only"));
	free(text);
	json_decref(root);
}

/* Steps that were numbered anew. */
static void test_corrected_steps(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *steps = json_object_get(p, "steps");
	(void)state;
	json_object_set_new(steps, "period", json_integer(12));
	json_object_set_new(steps, "corrected",
			    json_pack("{s:i, s:i}", "times", 1, "period_before", 12));
	char *text = print(root, true, false, NULL);
	assert_says(text,
		    "the step boundary was corrected during the run; steps before that are\n");
	free(text);
	json_decref(root);
}

static void test_what_recording_cost(void **state)
{
	static const struct {
		double pct, low, high;
		const char *text;
	} cases[] = {
		{ 1.2, -0.5, 2.9, "recording overhead +1.2 % (95 % CI: -0.5 to +2.9)" },
		{ 46.2, 25.4, 67.9, "recording overhead +46 % (95 % CI: +25 to +68)" },
		{ 20, -5, 45, "recording overhead unknown: step time varies too much" },
		{ -3, -6, -0.1, "no measurable recording overhead" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[120];
		const struct facts_overhead cost = { .pct = cases[i].pct,
						     .ci = { cases[i].low, cases[i].high } };
		assert_string_equal(report_overhead(text, sizeof(text), &cost), cases[i].text);
	}
}

/* Recorded steps that are none like the others: in the warm-up, and anywhere. */
static void test_recorded_steps_apart(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *baseline = json_object_get(p, "baseline");
	(void)state;
	json_object_set_new(baseline, "recorded_ms", json_pack("{s:i, s:f}", "n", 3, "p50", 20.8));
	json_object_set_new(json_object_get(p, "replay"), "error_pct", json_real(-0.01));
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "recorded steps take 20.80 ms (4.0x the median); other figures refer to\n"
			  "         recorded steps\n");
	assert_says(text, "model error\n0.0 %");
	free(text);
	json_object_set_new(baseline, "recorded_work_times", json_real(1.84));
	text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "recorded steps launch 1.8 times as much work as the median step "
			  "(20.80\n         ms per step); other figures refer to recorded steps\n");
	assert_null(strstr(text, "recorded steps take"));
	free(text);
	json_object_set_new(baseline, "recorded_work_times", json_real(1.1));
	json_object_set_new(baseline, "recorded_in_warm_up", json_true());
	text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "recorded steps (20.80 ms) are warm-up steps: set skip_first=10 in\n"
			  "         PROF_SCHEDULE\n");
	free(text);
	json_object_set_new(baseline, "recorded_ms", json_pack("{s:i, s:f}", "n", 3, "p50", 5.9));
	text = print(root, true, false, NULL);
	assert_null(strstr(text, "recorded steps take"));
	free(text);
	json_decref(root);
}

/* Under a line that calls a library for everything stands the library's own. */
static void test_lines_of_a_library(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *inner = json_pack("{s:s, s:i, s:s}", "file",
				  "/v/site-packages/transformers/trainer.py", "line", 1911,
				  "function", "Trainer._run_epoch");
	(void)state;
	json_object_set(json_array_get(json_object_get(p, "syncs"), 0), "inner", inner);
	json_object_set_new(json_array_get(json_object_get(p, "advice"), 0), "inner", inner);
	char *text = print(root, false, false, NULL);
	assert_fits(text);
	assert_says(text, "    in trainer.py:1911 Trainer._run_epoch < total += loss.item()");
	assert_says(text, "      in trainer.py:1911 Trainer._run_epoch\n");
	free(text);
	text = print(root, true, false, NULL);
	assert_says(text, "train.py:42  in trainer.py:1911 Trainer._run_epoch\n");
	free(text);
	json_decref(root);
}

/* Rare steps that are most of the time: it is said, and which of them the figures are of. */
static void test_slow_steps(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *baseline = json_object_get(p, "baseline"),
	       *slow = json_pack("{s:i, s:i, s:f, s:f, s:f, s:i, s:[]}", "n", 39, "of", 396,
				 "times", 18.04, "time_pct", 70.2, "least_ms", 42.0, "n_recorded",
				 0, "recorded");
	(void)state;
	json_object_set_new(baseline, "slow_steps", slow);
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text,
		    "1 in 10 steps takes 18x as long as the others (70 % of the total time);\n"
		    "         to record slow ones, set");
	/* between 5.2 ms and 42 ms, not just below the shortest slow step */
	assert_says(text, "PROF_TRIGGER=slow:2\n");
	free(text);
	json_object_set_new(slow, "other_most_ms", json_real(12));
	text = print(root, true, false, NULL);
	assert_says(text, "PROF_TRIGGER=slow:4\n");
	free(text);
	json_object_set_new(slow, "other_most_ms", json_real(40));
	text = print(root, true, false, NULL);
	assert_says(text, "PROF_TRIGGER=slow:4\n");
	free(text);
	json_object_set_new(slow, "recorded", json_pack("[i, i]", 29, 39));
	json_object_set_new(slow, "n_recorded", json_integer(3));
	text = print(root, true, false, NULL);
	assert_says(text, "time);\n         recorded: 29, 39 and 1 more\n");
	assert_null(strstr(text, "PROF_TRIGGER"));
	free(text);
	json_decref(root);
}

/* Two steps of the whole run are named, with their line if they were recorded. */
static void test_pauses(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *baseline = json_object_get(p, "baseline");
	(void)state;
	json_object_set_new(baseline, "slow_steps",
			    json_pack("{s:i, s:i, s:f, s:f, s:f, s:i, s:[i]}", "n", 2, "of", 300,
				      "times", 150.0, "time_pct", 48.3, "least_ms", 700.0,
				      "n_recorded", 1, "recorded", 231));
	json_object_set_new(baseline, "pauses",
			    json_pack("[{s:i, s:f}, {s:i, s:f, s:b, s:s, s:i}]", "step", 120, "ms",
				      810.0, "step", 231, "ms", 700.0, "before", 1, "file",
				      "/home/me/job/train.py", "line", 12));
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "2 of 300 steps took 150x as long as the others (48 % of the total\n"
			  "         time); recorded: 231\n");
	assert_says(text, "step 231: 700.0 ms, longest before train.py:12; step 120: 810.0 ms\n");
	free(text);
	json_decref(root);
}

static void test_drift(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *baseline = json_object_get(p, "baseline");
	(void)state;
	json_object_set_new(baseline, "drift",
			    json_pack("{s:f, s:f}", "first_ms", 1.2, "last_ms", 2.6));
	char *text = print(root, true, false, NULL);
	assert_says(text, "steps grow during the run: from 1.200 to 2.600 ms\n");
	free(text);
	json_object_set_new(baseline, "drift",
			    json_pack("{s:f, s:f}", "first_ms", 9.5, "last_ms", 4.5));
	text = print(root, true, false, NULL);
	assert_says(text,
		    "the warm-up does not end: steps still shorten, from 9.500 to 4.500 ms\n");
	free(text);
	json_decref(root);
}

/* Several processes that are no ranks may be several programs. */
static void test_command_of_a_process(void **state)
{
	json_t *root = load(), *processes = json_object_get(root, "processes"),
	       *p = json_array_get(processes, 0), *other = json_deep_copy(p);
	(void)state;
	json_object_set_new(p, "command", json_string("/opt/a b/solve --in /data/x"));
	json_array_append_new(processes, other);
	json_object_del(other, "gpu");
	char *text = print(root, true, false, NULL);
	assert_says(text, "a b/solve --in /data/x, process 7, 80 steps of ");
	free(text);
	json_object_set_new(p, "command", json_string("/usr/bin/solve --in /data/x"));
	text = print(root, true, false, NULL);
	assert_says(text, "solve --in /data/x, process 7, 80 steps of ");
	free(text);
	json_object_set_new(p, "rank", json_integer(3));
	text = print(root, true, false, NULL);
	assert_says(text, "python train.py, rank 3, 80 steps of ");
	free(text);
	json_decref(root);
}

/* Nothing binds that could be told: the reason stands there, and not that no line was worth it. */
static void test_verdict_unknown(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0);
	(void)state;
	json_object_set_new(json_object_get(p, "bound"), "verdict", json_string("unknown"));
	json_array_append_new(json_object_get(p, "unavailable"),
			      json_pack("{s:s, s:s}", "what", "bottleneck", "why",
					"only one step was recorded"));
	json_array_clear(json_object_get(p, "advice"));
	char *text = print(root, true, false, NULL);
	assert_says(text, "Bottleneck unclear\n         - only one step was "
			  "recorded\n");
	assert_null(strstr(text, "No change to a single"));
	free(text);
	json_object_set_new(json_object_get(p, "bound"), "verdict", json_string("gpu"));
	text = print(root, true, false, NULL);
	assert_says(text, "No change to a single line would save much.");
	free(text);
	json_decref(root);
}

/* A run without steps is one unit: nothing is per step. Start-up that takes most of the process's
 * time comes first. */
static void test_run_without_steps(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *steps = json_object_get(p, "steps");
	(void)state;
	json_object_set_new(steps, "detector", json_string("none"));
	json_object_set_new(steps, "start_up_s", json_real(3.5));
	json_object_set_new(steps, "after_last_s", json_real(1.25));
	json_object_set_new(json_object_get(p, "baseline"), "step_ms", json_null());
	char *text = print(root, false, false, NULL);
	assert_says(text, "steps    none detected: the run counts as one unit of ");
	assert_says(text, "3.50 s before its first CUDA call (start-up), 1.25 s after the last\n");
	assert_says(text, "Limited by: start-up: 74 % of the time passes before the first CUDA");
	assert_says(text, "After it: ");
	assert_says(text, "GPU utilization, in the whole run");
	assert_says(text, "Estimated savings in the whole run of 5.200 ms\n");
	free(text);
	json_object_set_new(steps, "after_last_s", json_real(3.51));
	text = print(root, false, false, NULL);
	assert_null(strstr(text, "Limited by: start-up"));
	free(text);
	json_object_del(steps, "start_up_s");
	text = print(root, false, false, NULL);
	assert_null(strstr(text, "start-up"));
	free(text);
	json_decref(root);
}

/* Savings stand with half the width of their interval. */
static void test_savings_have_their_interval(void **state)
{
	static const struct {
		double low, high;
		const char *said;
	} rows[] = {
		{ 0.9, 1.5, "    1.200 ms ±0.3   23 %  train.py:42" },
		{ 1.19, 1.25, "    1.200 ms ±0.03  23 %  train.py:42" },
		{ 1.198, 1.202, "    1.200 ms ±0.002  23 %  train.py:42" },
		{ 0, 40, "    1.200 ms ±20    23 %  train.py:42" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
		       *first = json_array_get(json_object_get(p, "advice"), 0);
		json_object_set_new(first, "interval_ms",
				    json_pack("[f, f]", rows[i].low, rows[i].high));
		char *text = print(root, true, false, NULL);
		assert_says(text, rows[i].said);
		free(text);
		json_decref(root);
	}
}

static json_t *saving(const char *resource, double low, double high)
{
	return json_pack("{s:s, s:f, s:[f, f]}", "resource", resource, "ms_per_step",
			 (low + high) / 2, "interval_ms", low, high);
}

/* Both resources are named, with the savings between which the verdict cannot decide. */
static void test_verdict_unclear(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *bound = json_object_get(p, "bound");
	(void)state;
	json_object_set_new(bound, "verdict", json_string("unclear"));
	json_object_set_new(bound, "between", json_pack("[s, s]", "launch", "input"));
	json_object_set_new(bound, "savings",
			    json_pack("[o, o, o]", saving("input", 0.9, 1.6),
				      saving("launch", 0.8, 1.4), saving("gpu", 0, 0.1)));
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "Limited by: unclear: launch overhead or data loading (launch overhead");
	assert_says(text, "to 1.40 ms, data loading 0.90 to 1.60)\n");
	assert_says(text, "- 38 % idle");
	free(text);
	json_array_append_new(json_object_get(bound, "between"), json_string("gpu"));
	text = print(root, true, false, NULL);
	assert_says(text, "unclear: launch overhead, data loading or GPU (");
	free(text);
	json_decref(root);
}

/* CPU code limits the steps: the lines that the samples show are on the first screen. */
static void test_lines_of_the_host(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *bound = json_object_get(p, "bound");
	(void)state;
	json_object_set_new(
		p, "host",
		json_pack("[{s:s, s:i, s:s, s:s, s:f, s:f, s:i}, {s:s, s:i, s:s, s:s, s:f, s:f, "
			  "s:i}]",
			  "file", "/home/me/job/load.py", "line", 7, "function", "read", "kind",
			  "loader", "self_ms_per_step", 3.0, "total_ms_per_step", 3.0, "samples",
			  80, "file", "/home/me/job/train.py", "line", 9, "function", "log", "kind",
			  "python", "self_ms_per_step", 2.5, "total_ms_per_step", 2.5, "samples",
			  1012));
	char *text = print(root, true, false, NULL);
	assert_null(strstr(text, "samples"));
	free(text);
	json_object_set_new(bound, "verdict", json_string("host"));
	text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "2.500 ms  train.py:9  python, 1,012 samples\n");
	assert_null(strstr(text, "load.py"));
	free(text);
	json_decref(root);
}

/* It has a line of its own, whatever limits the step. */
static void test_the_largest_stall_has_a_line(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *bound = json_object_get(p, "bound");
	(void)state;
	char *text = print(root, true, false, NULL);
	assert_null(strstr(text, "Largest fixable stall"));
	free(text);
	json_object_set_new(bound, "verdict", json_string("gpu"));
	json_object_set_new(bound, "stall",
			    json_pack("{s:s, s:f, s:s, s:i}", "cause", "sync", "ms_per_step", 1.2,
				      "file", "/home/me/job/train.py", "line", 42));
	text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "Limited by: GPU (confidence 86 %): a faster GPU would save most\n");
	assert_says(text,
		    "Largest fixable stall: synchronization at train.py:42, 1.200 ms (23 %)\n");
	free(text);
	json_decref(root);
}

/* Steps were detected, but none of them was recorded. */
static void test_no_step_recorded(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0);
	(void)state;
	json_array_clear(json_object_get(json_object_get(p, "steps"), "recorded"));
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text,
		    "steps    auto-detected (77 %); none recorded: figures cover the whole run\n");
	assert_says(text, "Time by line, in the whole run\n");
	free(text);
	json_decref(root);
}

/* Steps whose work ran behind them say little of the GPU. */
static void test_work_after_the_steps(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *gpu = json_array_get(json_object_get(p, "gpu"), 0);
	(void)state;
	json_object_set_new(gpu, "late_ms_per_step", json_real(3.2));
	char *text = print(root, true, false, NULL);
	assert_null(strstr(text, "after they had ended"));
	free(text);
	json_object_set_new(gpu, "busy_ms_per_step", json_real(0.01));
	text = print(root, true, false, NULL);
	assert_says(text, "3.200 ms per step of the GPU work launched in the recorded steps ran");
	free(text);
	json_decref(root);
}

/*
 * With a margin, as at a run's end: a figure that does not fit goes on a line of its own, and is
 * not cut.
 */
static void test_long_figures(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *steps = json_object_get(p, "steps");
	json_t *lengths = json_object_get(json_object_get(p, "baseline"), "step_ms");
	char *text;
	size_t bytes;
	struct textout o = open_text(&text, &bytes);
	(void)state;
	json_object_set_new(lengths, "cv", json_real(0.14));
	json_object_set_new(lengths, "n", json_integer(1234567890));
	json_object_set_new(lengths, "max", json_real(12345.6));
	json_object_set_new(steps, "count", json_integer(12346));
	json_object_set_new(steps, "detector", json_string("python:train.py:train"));
	for (int i = 0; i < 3; i++)
		json_array_append_new(json_object_get(p, "phases"),
				      json_pack("{s:s, s:f}", "name", "optimizer",
						"host_ms_per_step", 12.5));
	o.margin = "  ";
	struct report r;
	assert_true(report_from_json(&r, root));
	report_text_screen(&o, &r, REPORT_SCREEN_LINES);
	report_free(&r);
	fclose(o.to);
	assert_fits(text);
	assert_says(text, "  python train.py, 12,346 steps of 5.200 ms (median; p95 5.400)\n"
			  "  steps    PROF_STEP=python:train.py:train; recorded: 12-14\n");
	assert_says(text, "backward 2.500,\n           forward 1.250 ms\n");
	free(text);
	json_decref(root);
}

static void test_whole_report(void **state)
{
	json_t *root = load();
	char *text = print(root, false, false, NULL);
	(void)state;
	assert_fits(text);
	assert_says(text, "Synchronization, ms per step");
	const char *lines = strstr(text, "Time by line");
	assert_non_null(lines);
	assert_null(strstr(lines + 1, "Time by line")); /* that of the screen is left out */
	const char *gains = strstr(text, "Estimated savings");
	assert_non_null(gains);
	assert_null(strstr(gains + 1, "Estimated savings"));
	assert_says(text, "total += loss.item()   in step < main\n");
	assert_says(text, "NVIDIA H100");
	assert_says(text, "  backward      2.500   1.500\n    recompute   0.500   0.250\n");
	assert_says(text, "Modules, per step\n"
			  "  module            calls  GPU ms  backward GPU  CPU ms\n"
			  "  Net                   1   2.000         4.250   0.750\n"
			  "  Net.Block.Linear     12   1.500         3.000   0.500\n"
			  "  0.250 of 4.500 ms of backward GPU time could not be assigned to a "
			  "module\n");
	assert_says(text, "Peak device memory: 1.0 MiB\n");
	assert_says(text, "Not available\n  phases: not yet\n");
	assert_null(strstr(text, "Copies")); /* a part without rows is not there */
	assert_says(text, "  steps take 30.2 % longer after the first recording (95 % CI: +25.1 to "
			  "+35.3)\n");
	free(text);
	json_decref(root);
}

/* What stands below a table is not cut off. */
static void test_legends(void **state)
{
	json_t *root = load(), *process = json_array_get(json_object_get(root, "processes"), 0);
	(void)state;
	json_array_append_new(json_object_get(process, "operators"),
			      json_pack("{s:s, s:i, s:f, s:f, s:f, s:f}", "name", "aten::linear",
					"per_step", 4, "gpu_ms_per_step", 1.5, "host_ms_per_step",
					0.5, "self_gpu_ms_per_step", 1.25, "self_host_ms_per_step",
					0.25));
	json_object_set_new(process, "backward",
			    json_pack("{s:f, s:f}", "gpu_ms_per_step", 12345.6,
				      "tied_gpu_ms_per_step", 12000.0));
	char *text = print(root, false, false, NULL);
	assert_fits(text);
	assert_says(text,
		    "  345.6 of 12346 ms of backward GPU time could not be assigned to a module\n");
	assert_says(text, "  operator      calls  self GPU  total    avg  self CPU  total    avg\n"
			  "  aten::linear      4     1.250  1.500  0.375     0.250  0.500  0.125\n"
			  "  total: includes nested operators; avg: total per call. ");
	free(text);
	json_decref(root);
}

static void test_modules_only_where_there_are_some(void **state)
{
	json_t *root = load(), *process = json_array_get(json_object_get(root, "processes"), 0);
	json_t *backward = json_object_get(process, "backward");
	char *screen = print(root, true, false, NULL);
	(void)state;
	assert_null(strstr(screen, "Net.Block"));
	json_object_set_new(backward, "tied_gpu_ms_per_step", json_real(4.5));
	char *all_known = print(root, false, false, NULL);
	assert_says(all_known, "Net.Block");
	assert_null(strstr(all_known, "backward GPU time"));
	json_object_set_new(backward, "tied_gpu_ms_per_step", json_real(0));
	json_array_clear(json_object_get(process, "modules"));
	char *none = print(root, false, false, NULL);
	assert_null(strstr(none, "Modules"));
	assert_null(strstr(none, "backward GPU time"));
	free(screen);
	free(all_known);
	free(none);
	json_decref(root);
}

static void test_colour_does_not_count_as_width(void **state)
{
	json_t *root = load();
	char *plain = print(root, false, false, NULL), *coloured = print(root, false, true, NULL);
	char *to = coloured;
	(void)state;
	assert_non_null(strchr(coloured, '\033'));
	for (const char *from = coloured; *from; from++)
		if (*from == '\033')
			from = strchr(from, 'm');
		else
			*to++ = *from;
	*to = 0;
	assert_string_equal(coloured, plain);
	free(plain);
	free(coloured);
	json_decref(root);
}

static void test_screen_of_the_slowest(void **state)
{
	json_t *root = load(), *processes = json_object_get(root, "processes");
	json_t *slow = json_deep_copy(json_array_get(processes, 0));
	(void)state;
	json_object_set_new(slow, "rank", json_integer(3));
	json_object_set_new(json_object_get(json_object_get(slow, "baseline"), "step_ms"), "p50",
			    json_real(9.5));
	json_array_append_new(processes, slow);
	char *text = print(root, false, false, NULL);
	assert_fits(text);
	assert_says(text, "python train.py, rank 3, 80 steps of 9.500 ms");
	assert_says(text, "All 2 processes; the details below are for rank 3");
	free(text);
	json_decref(root);
}

static void test_nothing_recorded(void **state)
{
	json_t *root = json_loads("{\"schema\": 2, \"processes\": [{\"pid\": 1}]}", 0, NULL);
	char *text = print(root, false, false, NULL);
	(void)state;
	assert_says(text, "no process of this run has steps");
	free(text);
	json_decref(root);
}

/* ---- Words ---- */

static void test_paths(void **state)
{
	(void)state;
	assert_string_equal(report_short_path("/home/me/job/a/b.py", "/home/me/job"), "a/b.py");
	assert_string_equal(report_short_path("/home/me/jobs/b.py", "/home/me/job"),
			    "/home/me/jobs/b.py");
	assert_string_equal(report_short_path("/v/lib/site-packages/torch/nn.py", "/v"),
			    "torch/nn.py");
	assert_string_equal(report_short_path("/a/b.py", NULL), "/a/b.py");
}

static void test_numbers(void **state)
{
	char text[40];
	(void)state;
	assert_string_equal(report_numbers(text, sizeof(text), (int64_t[]){ 12, 15, 18 }, 3),
			    "12, 15, 18");
	assert_string_equal(report_ms(text, sizeof(text), 0.00123), "0.001");
	assert_string_equal(report_ms(text, sizeof(text), 123.456), "123.5");
	assert_string_equal(report_bytes(text, sizeof(text), 1536), "1.5 KiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fits_stays),
		cmocka_unit_test(test_cut_where_it_hurts_least),
		cmocka_unit_test(test_columns_are_counted_not_bytes),
		cmocka_unit_test(test_control_characters_are_cleaned),
		cmocka_unit_test(test_wrapped_words),
		cmocka_unit_test(test_table_gives_way_where_it_may),
		cmocka_unit_test(test_first_screen),
		cmocka_unit_test(test_idle_time_of_two_gpus),
		cmocka_unit_test(test_how_the_run_ended),
		cmocka_unit_test(test_captured_launches),
		cmocka_unit_test(test_a_screen_that_must_fit),
		cmocka_unit_test(test_names_that_differ_look_different),
		cmocka_unit_test(test_typical_steps),
		cmocka_unit_test(test_collectives_have_their_line),
		cmocka_unit_test(test_memory_that_grows),
		cmocka_unit_test(test_host_that_ran_ahead),
		cmocka_unit_test(test_recorded_steps_apart),
		cmocka_unit_test(test_what_gains_refer_to),
		cmocka_unit_test(test_what_disturbed_steps_are_compared_with),
		cmocka_unit_test(test_gains_that_overlap),
		cmocka_unit_test(test_what_the_verdict_rests_on_has_a_row),
		cmocka_unit_test(test_corrected_steps),
		cmocka_unit_test(test_what_recording_cost),
		cmocka_unit_test(test_work_after_the_steps),
		cmocka_unit_test(test_no_step_recorded),
		cmocka_unit_test(test_lines_of_a_library),
		cmocka_unit_test(test_slow_steps),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_command_of_a_process),
		cmocka_unit_test(test_verdict_unknown),
		cmocka_unit_test(test_run_without_steps),
		cmocka_unit_test(test_savings_have_their_interval),
		cmocka_unit_test(test_verdict_unclear),
		cmocka_unit_test(test_lines_of_the_host),
		cmocka_unit_test(test_the_largest_stall_has_a_line),
		cmocka_unit_test(test_long_figures),
		cmocka_unit_test(test_whole_report),
		cmocka_unit_test(test_legends),
		cmocka_unit_test(test_modules_only_where_there_are_some),
		cmocka_unit_test(test_colour_does_not_count_as_width),
		cmocka_unit_test(test_screen_of_the_slowest),
		cmocka_unit_test(test_nothing_recorded),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
