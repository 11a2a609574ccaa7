/*
 * The report in words: nothing is wider than the screen, nothing from the profiled program reaches
 * the terminal raw.
 */
#include "test/unit/report_made.h"

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

/* A wait for the GIL is named with the line of the thread that has it. */
static void test_who_has_the_gil(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *bound = json_object_get(p, "bound");
	(void)state;
	json_object_set_new(bound, "verdict", json_string("host"));
	json_object_set_new(p, "idle",
			    json_pack("[{s:s, s:i, s:f, s:f, s:s, s:s, s:i, s:s}]", "cause", "gil",
				      "device", 0, "ms_per_step", 1.7, "pct", 33.0, "where",
				      "train.py:42", "file", "/home/me/job/train.py", "line", 42,
				      "function", "step"));
	json_object_set_new(bound, "gil_holder",
			    json_pack("{s:s, s:i, s:s}", "file", "/home/me/job/metrics.py", "line",
				      9, "function", "histogram"));
	char *text = print(root, true, false, NULL);
	assert_says(text, "Python's GIL before train.py:42; metrics.py:9 has it\n");
	free(text);
	json_decref(root);
}

/* A wait that costs more than the GPU's idle time keeps work from running at the same time. */
static void test_waits_that_keep_work_apart(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *bound = json_object_get(p, "bound");
	(void)state;
	json_object_set_new(bound, "savings",
			    json_pack("[{s:s, s:f, s:[f, f]}]", "resource", "sync", "ms_per_step",
				      2.4, "interval_ms", 2.2, 2.6));
	char *text = print(root, true, false, NULL);
	assert_says(text, "(confidence 86 %): after each sync, work starts that");
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
							      "(the program's status) after 1234 "
							      "s\n" },
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

/* The reason of advice may name more lines at its end, so the report prints all of it. */
static void test_a_long_reason_is_whole(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0);
	(void)state;
	json_object_set_new(
		json_array_get(json_object_get(p, "advice"), 0), "why",
		json_string("launch overhead: the CPU takes longer to launch this work than the "
			    "GPU to run it; the launches that could be merged into one take 0.893 "
			    "ms of CPU time per step at this line, including 0.481 ms in its "
			    "backward pass; train_with_callbacks.py:31 0.368 ms"));
	char *text = print(root, false, false, NULL);
	assert_fits(text);
	assert_says(text, "train_with_callbacks.py:31 0.368 ms\n");
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
	json_object_set_new(p, "command",
			    json_string("python -c from multiprocessing.spawn import spawn_main; "
					"spawn_main() --multiprocessing-fork"));
	text = print(root, true, false, NULL);
	assert_says(text, "python train.py, process 7, 80 steps of ");
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
	assert_says(text, "0.800 to 1.400 ms, data loading 0.900 to 1.600)\n");
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
		json_pack("[{s:s, s:i, s:s, s:s, s:f, s:f, s:f, s:i}, {s:s, s:i, s:s, s:s, s:f, "
			  "s:f, s:f, s:i}, {s:s, s:i, s:s, s:s, s:f, s:f, s:f, s:i}]",
			  "file", "/home/me/job/load.py", "line", 7, "function", "read", "kind",
			  "loader", "self_ms_per_step", 3.0, "total_ms_per_step", 3.0,
			  "user_ms_per_step", 3.0, "samples", 80, "file", "/usr/lib/json.py",
			  "line", 5, "function", "dump", "kind", "python", "self_ms_per_step", 2.5,
			  "total_ms_per_step", 2.5, "user_ms_per_step", 0.0, "samples", 1012,
			  "file", "/home/me/job/train.py", "line", 9, "function", "log", "kind",
			  "python", "self_ms_per_step", 0.0, "total_ms_per_step", 2.5,
			  "user_ms_per_step", 2.5, "samples", 1012));
	char *text = print(root, true, false, NULL);
	assert_null(strstr(text, "samples"));
	free(text);
	json_object_set_new(bound, "verdict", json_string("host"));
	text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "2.500 ms  train.py:9  python, 1,012 samples\n");
	assert_null(strstr(text, "load.py"));
	assert_null(strstr(text, "json.py"));
	free(text);
	json_object_set_new(bound, "verdict", json_string("input"));
	text = print(root, true, false, NULL);
	assert_says(text, "3.000 ms  load.py:7  loader, 80 samples\n");
	assert_null(strstr(text, "1,012 samples"));
	free(text);
	json_object_set_new(bound, "verdict", json_string("host"));
	json_object_set_new(json_array_get(json_object_get(p, "host"), 2), "kind",
			    json_string("framework"));
	text = print(root, true, false, NULL);
	assert_null(strstr(text, "samples"));
	free(text);
	json_decref(root);
}

static json_t *idle_row(const char *cause, double ms, int line)
{
	return json_pack("{s:s, s:i, s:f, s:f, s:s, s:s, s:i}", "cause", cause, "device", 0,
			 "ms_per_step", ms, "pct", ms, "where", "train.py", "file",
			 "/home/me/job/train.py", "line", line);
}

/* If the CPU does not work between its calls, the headline says what it does instead. */
static void test_what_the_host_does(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0);
	(void)state;
	json_object_set_new(json_object_get(p, "bound"), "verdict", json_string("host"));
	json_object_set_new(p, "host",
			    json_pack("[{s:s, s:i, s:s, s:s, s:f, s:f, s:i}]", "file",
				      "/home/me/job/train.py", "line", 12, "function", "step",
				      "kind", "sleep", "self_ms_per_step", 3.0, "total_ms_per_step",
				      3.0, "samples", 80));
	json_object_set_new(p, "idle",
			    json_pack("[o, o, o]", idle_row("launch", 9.0, 8),
				      idle_row("sleep", 3.0, 12), idle_row("host", 1.0, 14)));
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "Limited by: CPU code between CUDA calls (confidence 86 %): mostly "
			  "sleeping at\n            train.py:12\n");
	free(text);
	json_object_set_new(
		p, "idle", json_pack("[o, o]", idle_row("host", 3.0, 14), idle_row("gc", 1.0, 12)));
	text = print(root, true, false, NULL);
	assert_says(text, "(confidence 86 %): mostly before\n            train.py:14\n");
	free(text);
	json_object_set_new(p, "idle", json_array());
	text = print(root, true, false, NULL);
	assert_says(text, "the GPU waits for CPU\n");
	free(text);
	json_decref(root);
}

static json_t *loop_row(int line, int iterations)
{
	return json_pack("{s:s, s:i, s:s, s:i}", "file",
			 "/home/me/a/folder/with/a/long/name/two_streams_in_turn_and_again.cu",
			 "line", line, "function", "main", "iterations", iterations);
}

static void test_the_option_for_another_loop_is_whole(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *loop = loop_row(14, 80);
	(void)state;
	json_object_set_new(loop, "outer", json_array());
	json_object_set_new(loop, "inner", json_array());
	json_object_set_new(loop, "instead", loop_row(13, 40));
	json_object_set_new(json_object_get(p, "steps"), "loop", loop);
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "loop:two_streams_in_turn_and_again.cu:13\n");
	free(text);
	json_decref(root);
}

/* A long path loses its head, not the line at its end. */
static void test_the_line_of_a_loop_is_shown(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *loop = loop_row(14, 80);
	(void)state;
	json_object_set_new(loop, "outer", json_pack("[o]", loop_row(7, 2)));
	json_object_set_new(loop, "inner", json_pack("[o]", loop_row(21, 800)));
	json_object_set_new(json_object_get(p, "steps"), "loop", loop);
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "...e/two_streams_in_turn_and_again.cu:14\n");
	assert_says(text, "in the loop at ...me/two_streams_in_turn_and_again.cu:7 (2\n");
	assert_says(text, "...e/two_streams_in_turn_and_again.cu:21 (10 iterations per step)\n");
	free(text);
	json_decref(root);
}

/* Inner loops that say nothing about how a step is built: of another file's other steps, of one
 * iteration per step, or of a line that is named already. */
static void test_inner_loops_that_are_not_shown(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *loop = loop_row(14, 80), *other = loop_row(31, 15), *generator = loop_row(41, 81);
	(void)state;
	json_object_set_new(other, "file", json_string("/usr/lib/grid.py"));
	json_object_set_new(generator, "file", json_string("/usr/lib/loader.py"));
	json_object_set_new(loop, "outer", json_array());
	json_object_set_new(loop, "inner",
			    json_pack("[o, o, o, o]", other, generator, loop_row(21, 800),
				      loop_row(21, 160)));
	json_object_set_new(json_object_get(p, "steps"), "loop", loop);
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "it contains the loop at");
	assert_says(text, ":21 (10\n         iterations per step)\n");
	assert_null(strstr(text, "grid.py"));
	assert_null(strstr(text, "loader.py"));
	assert_null(strstr(text, " and the loop"));
	free(text);
	json_decref(root);
}

static void test_loops_apart_from_the_steps(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *loop = loop_row(14, 80), *before = loop_row(7, 30), *after = loop_row(31, 20);
	(void)state;
	json_object_set_new(before, "share", json_real(0.25));
	json_object_set_new(after, "share", json_real(0.074));
	json_object_set_new(loop, "others", json_pack("[o, o]", before, after));
	json_object_set_new(json_object_get(p, "steps"), "loop", loop);
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "apart from these steps: the loop at\n");
	assert_says(text, "again.cu:7 (30 iterations, 25 % of the\n");
	assert_says(text, "again.cu:31 (20\n         iterations, 7 % of the time)\n");
	free(text);
	json_decref(root);
}

static void test_steps_that_were_lost(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0);
	(void)state;
	for (int is_lost = 0; is_lost < 2; is_lost++) {
		if (is_lost)
			json_object_set_new(json_object_get(p, "steps"), "lost_after",
					    json_integer(79));
		char *text = print(root, true, false, NULL);
		assert_fits(text);
		assert_int_equal(strstr(text, "after step 79, no step ended") != NULL, is_lost);
		free(text);
	}
	json_decref(root);
}

/* A loop that ran in few steps, as an evaluation does, has no average that says something. */
static void test_a_loop_of_few_steps(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *loop = loop_row(14, 80);
	(void)state;
	json_object_set_new(loop, "outer", json_array());
	json_object_set_new(loop, "inner", json_pack("[o]", loop_row(21, 15)));
	json_object_set_new(json_object_get(p, "steps"), "loop", loop);
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "two_streams_in_turn_and_again.cu:21 (15\n         iterations in all)\n");
	free(text);
	/* stacks count iterations, and only the opening has the stack of every call */
	json_object_set_new(json_object_get(p, "steps"), "opening_s", json_real(10));
	json_object_set_new(loop, "outer", json_pack("[o]", loop_row(7, 4)));
	text = print(root, true, false, NULL);
	assert_says(text, "two_streams_in_turn_and_again.cu:7 (4\n         iterations in the "
			  "opening)");
	assert_says(text, "two_streams_in_turn_and_again.cu:21 (15 iterations in the "
			  "opening)\n");
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

static void test_an_empty_queue(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *bound = json_object_get(p, "bound");
	(void)state;
	json_object_set_new(bound, "verdict", json_string("input"));
	char *text = print(root, true, false, NULL);
	assert_says(text, "data loading (confidence 86 %): steps wait for their data\n");
	free(text);
	json_object_set_new(bound, "input_source", json_string("queue"));
	text = print(root, true, false, NULL);
	assert_says(text, "data loading (confidence 86 %): an empty queue; a server waits");
	free(text);
	json_decref(root);
}

static void test_little_confidence(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *bound = json_object_get(p, "bound"), *replay = json_object_get(p, "replay");
	double measured_ms = json_number_value(json_object_get(replay, "measured_ms"));
	(void)state;
	json_object_set_new(bound, "confidence", json_real(0.07));
	char *text = print(root, true, false, NULL);
	assert_says(text, "Limited by: unclear: probably synchronization (confidence 7 %): ");
	assert_null(strstr(text, "to settle it"));
	free(text);
	json_object_set_new(replay, "contention_ms", json_real(0.96 * measured_ms));
	text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "(confidence 7 %; other load had\n            the CPUs for 96 %");
	assert_says(text, "- to settle it, run again while nothing else loads the machine\n");
	free(text);
	json_object_set_new(bound, "confidence", json_real(0.45)); /* as from one step */
	text = print(root, true, false, NULL);
	assert_says(text, "Limited by: synchronization (confidence 45 %; ");
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
	assert_says(text, "total += loss.item()   in step < main   waits in "
			  "cudaStreamSynchronize\n");
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

/* The time in graphs takes the place of an operator's average CPU time. */
static void test_time_in_graphs(void **state)
{
	json_t *root = load(), *process = json_array_get(json_object_get(root, "processes"), 0);
	json_t *phase = json_array_get(json_object_get(process, "phases"), 0);
	(void)state;
	json_array_append_new(json_object_get(process, "operators"),
			      json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:f}", "name",
					"aten::linear", "per_step", 4, "gpu_ms_per_step", 1.5,
					"host_ms_per_step", 0.5, "self_gpu_ms_per_step", 1.25,
					"self_host_ms_per_step", 0.25, "graph_gpu_ms_per_step",
					1.125));
	json_object_set_new(phase, "graph_gpu_ms_per_step", json_real(1.375));
	char *text = print(root, false, false, NULL);
	assert_fits(text);
	assert_says(text,
		    "  operator      calls  self GPU  total    avg  self CPU  total  in graphs\n"
		    "  aten::linear      4     1.250  1.500  0.375     0.250  0.500      1.125\n");
	assert_says(text, "  phase        CPU ms  GPU ms  in graphs\n");
	assert_says(text, "  backward      2.500   1.500      1.375\n");
	assert_says(text, "    recompute   0.500   0.250          -\n");
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
	assert_string_equal(report_numbers(text, sizeof(text),
					   (int64_t[]){ 12, 13, 14, 513, 514, 600 }, 6),
			    "12-14, 513-514, 600");
	assert_string_equal(report_numbers(text, sizeof(text), (int64_t[]){ 1, 3, 5, 7, 9, 11, 13 },
					   7),
			    "1, 3, 5, 7, 9, 11 ...");
	assert_string_equal(report_numbers(text, 16, (int64_t[]){ 1000, 1001, 2000, 2001 }, 4),
			    "1000-1001 ...");
	assert_string_equal(report_ms(text, sizeof(text), 0.00123), "0.001");
	assert_string_equal(report_ms(text, sizeof(text), 123.456), "123.5");
	assert_string_equal(report_bytes(text, sizeof(text), 1536), "1.5 KiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_little_confidence),
		cmocka_unit_test(test_an_empty_queue),
		cmocka_unit_test(test_who_has_the_gil),
		cmocka_unit_test(test_waits_that_keep_work_apart),
		cmocka_unit_test(test_first_screen),
		cmocka_unit_test(test_idle_time_of_two_gpus),
		cmocka_unit_test(test_how_the_run_ended),
		cmocka_unit_test(test_captured_launches),
		cmocka_unit_test(test_a_screen_that_must_fit),
		cmocka_unit_test(test_collectives_have_their_line),
		cmocka_unit_test(test_memory_that_grows),
		cmocka_unit_test(test_what_the_verdict_rests_on_has_a_row),
		cmocka_unit_test(test_lines_of_a_library),
		cmocka_unit_test(test_a_long_reason_is_whole),
		cmocka_unit_test(test_command_of_a_process),
		cmocka_unit_test(test_verdict_unknown),
		cmocka_unit_test(test_verdict_unclear),
		cmocka_unit_test(test_lines_of_the_host),
		cmocka_unit_test(test_what_the_host_does),
		cmocka_unit_test(test_the_option_for_another_loop_is_whole),
		cmocka_unit_test(test_the_line_of_a_loop_is_shown),
		cmocka_unit_test(test_loops_apart_from_the_steps),
		cmocka_unit_test(test_steps_that_were_lost),
		cmocka_unit_test(test_a_loop_of_few_steps),
		cmocka_unit_test(test_inner_loops_that_are_not_shown),
		cmocka_unit_test(test_the_largest_stall_has_a_line),
		cmocka_unit_test(test_long_figures),
		cmocka_unit_test(test_whole_report),
		cmocka_unit_test(test_legends),
		cmocka_unit_test(test_time_in_graphs),
		cmocka_unit_test(test_modules_only_where_there_are_some),
		cmocka_unit_test(test_colour_does_not_count_as_width),
		cmocka_unit_test(test_screen_of_the_slowest),
		cmocka_unit_test(test_nothing_recorded),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
