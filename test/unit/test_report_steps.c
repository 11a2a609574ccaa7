/* What the report says about the steps, and what savings refer to. */
#include "test/unit/report_made.h"

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
	json_object_set_new(gpu, "typical_busy_ms", json_real(12.32)); /* too much for one line */
	json_object_set_new(gpu, "typical_idle_ms", json_real(53.72));
	json_object_set_new(gpu, "typical_kernels", json_real(205));
	text = print(root, true, false, NULL);
	assert_fits(text);
	assert_says(text, "(12.32 ms per typical step), idle 53.72 ms, 205\n         kernels\n");
	free(text);
	text = print(root, false, false, NULL);
	assert_says(text, "\nGPU utilization, per step, mean of all 3 recorded steps\n");
	assert_says(text, "\nPhases, per step, mean of all 3 recorded steps\n");
	free(text);
	json_object_set_new(json_object_get(p, "baseline"), "recorded_warm_up_steps",
			    json_integer(2));
	text = print(root, false, false, NULL);
	assert_says(text, "\nPhases, per step, mean of 3 recorded steps (2 warm-up)\n");
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
	assert_says(text, "recorded steps take 0.030 ms (0.01x the median)");
	free(text);
	json_object_set_new(json_array_get(json_object_get(p, "gpu"), 0), "late_ms_per_step",
			    json_real(3));
	text = print(root, true, false, NULL);
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

/* Many short steps were launched, and then the CPU waited: the pace is the GPU's, and a pause of
 * the CPU delays nothing. */
static void test_launches_far_ahead(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *gpu = json_array_get(json_object_get(p, "gpu"), 0);
	(void)state;
	json_object_set_new(json_object_get(p, "replay"), "measured_ms", json_real(200));
	for (int is_ahead = 0; is_ahead < 2; is_ahead++) {
		json_object_set_new(gpu, "late_ms_per_step", json_real(is_ahead ? 198 : 1));
		char *text = print(root, true, false, NULL);
		assert_fits(text);
		assert_int_equal(strstr(text, "80 steps of 200.0 ms on the GPU\n") != NULL,
				 is_ahead);
		assert_int_equal(strstr(text, "80 steps of 5.200 ms (median") != NULL, !is_ahead);
		assert_int_equal(strstr(text, "the CPU launches a step in 5.200 ms and runs "
					      "ahead") != NULL,
				 is_ahead);
		free(text);
	}
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

/* Of two pieces of advice on one line, the screen shows the second only if it adds something. */
static void test_a_line_is_advised_on_once(void **state)
{
	static const struct {
		double together_ms;
		int line;
		bool is_said;
	} cases[] = { { 1.25, 42, false }, { 1.5, 42, true }, { 1.25, 43, true } };
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *advice = json_object_get(p, "advice"),
	       *second = json_deep_copy(json_array_get(advice, 0));
	char where[60];
	(void)state;
	json_array_append_new(advice, second);
	json_object_set_new(json_array_get(advice, 0), "together_ms_per_step", json_real(1.2));
	json_object_set_new(second, "cause", json_string("launch"));
	json_object_set_new(second, "what", json_string("another fix"));
	json_object_set_new(second, "interval_ms", json_pack("[f, f]", 1.0, 1.4));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_object_set_new(second, "together_ms_per_step",
				    json_real(cases[i].together_ms));
		snprintf(where, sizeof(where), "/home/me/job/train.py:%d", cases[i].line);
		json_object_set_new(second, "where", json_string(where));
		json_object_set_new(second, "line", json_integer(cases[i].line));
		char *text = print(root, true, false, NULL);
		assert_int_equal(strstr(text, "another fix") != NULL, cases[i].is_said);
		free(text);
		text = print(root, false, false, NULL);
		assert_says(text, "another fix");
		free(text);
	}
	json_decref(root);
}

/* Causes of no time that can be shown have no row. */
static void test_idle_time_of_zero(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0);
	(void)state;
	json_array_append_new(json_object_get(p, "idle"),
			      json_pack("{s:s, s:i, s:f, s:f, s:n}", "cause", "lock", "device", 0,
					"ms_per_step", 0.0004, "pct", 0.01, "where"));
	char *text = print(root, false, false, NULL);
	assert_says(text, "  launch overhead  0.300");
	assert_null(strstr(text, "waits for a lock"));
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
	assert_says(text, "recorded steps launch 1.8 times as much work as the median step\n"
			  "         (20.80 ms per step); other figures refer to recorded steps\n");
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

/* Rare steps that are most of the time: it is said, and which of them the figures are of. */
static void test_slow_steps(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *baseline = json_object_get(p, "baseline"), *bound = json_object_get(p, "bound"),
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
	assert_says(text, "Limited by: synchronization (confidence 86 %; without the slow steps, "
			  "which take\n            70 % of the time): the GPU idles after each "
			  "sync\n");
	json_t *replay = json_object_get(p, "replay"); /* other load lowers the confidence, too */
	double measured_ms = json_number_value(json_object_get(replay, "measured_ms"));
	json_object_set_new(replay, "contention_ms", json_real(0.4 * measured_ms));
	char *loaded = print(root, true, false, NULL);
	assert_null(strstr(loaded, "other load"));
	free(loaded);
	json_object_set_new(replay, "contention_ms", json_real(0.8 * measured_ms));
	loaded = print(root, true, false, NULL);
	assert_fits(loaded);
	assert_says(loaded, "70 % of the time; other load had the CPUs for 80 % of the time): ");
	free(loaded);
	json_object_set_new(slow, "n_recorded", json_integer(3));
	json_object_set_new(slow, "n_of_load", json_integer(2));
	loaded = print(root, true, false, NULL);
	assert_fits(loaded);
	assert_says(loaded,
		    "(70 % of the total time),\n         mostly while other load had the CPUs;");
	/* slow steps were recorded, and the verdict leaves out at most some of them */
	assert_null(strstr(loaded, "without the slow steps"));
	free(loaded);
	json_object_set_new(bound, "left_out_pct", json_real(66));
	loaded = print(root, true, false, NULL);
	assert_says(loaded, "without the slow steps, which take\n            70 % of the time");
	free(loaded);
	json_incref(slow);
	json_object_del(baseline, "slow_steps"); /* too many to be pauses */
	loaded = print(root, true, false, NULL);
	assert_says(loaded, "without the slow steps, which take\n            66 % of the time");
	free(loaded);
	json_object_set_new(baseline, "slow_steps", slow);
	json_object_set_new(slow, "n_recorded", json_integer(0));
	json_object_set_new(slow, "n_of_load", json_integer(0));
	json_object_del(bound, "left_out_pct");
	json_object_del(replay, "contention_ms");
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

/* A rollout before some of the steps is a loop of its own, and takes the slow steps' time. */
static void test_slow_steps_of_another_loop(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0);
	(void)state;
	json_object_set_new(json_object_get(p, "baseline"), "slow_steps",
			    json_pack("{s:i, s:i, s:f, s:f, s:f, s:i, s:[i]}", "n", 30, "of", 300,
				      "times", 9.0, "time_pct", 55.0, "least_ms", 30.0,
				      "n_recorded", 1, "recorded", 23));
	json_object_set_new(json_object_get(p, "steps"), "loop",
			    json_pack("{s:s, s:i, s:s, s:i, s:[], s:[], s:[{s:s, s:i, s:s, s:i, "
				      "s:f}]}",
				      "file", "/home/me/job/ppo.py", "line", 75, "function", "main",
				      "iterations", 300, "outer", "inner", "others", "file",
				      "/home/me/job/ppo.py", "line", 49, "function", "main",
				      "iterations", 800, "share", 0.43));
	char *text = print(root, true, false, NULL);
	assert_says(text, "(55 % of the total time),\n         mostly for the loop at ppo.py:49;");
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
	assert_says(text,
		    "step 231: 700.0 ms, longest gap before train.py:12; step 120: 810.0 ms\n");
	assert_says(text, "Limited by: synchronization (confidence 86 %): ");
	free(text);
	json_object_set_new(json_array_get(json_object_get(baseline, "pauses"), 1), "cause",
			    json_string("sleep"));
	text = print(root, true, false, NULL);
	assert_says(text, "step 231: 700.0 ms, sleep at train.py:12; step 120: 810.0 ms\n");
	free(text);
	json_decref(root);
}

/* The loops around and within the step's make way for the rest of the screen. */
static void test_a_full_screen(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *baseline = json_object_get(p, "baseline"), *advice = json_object_get(p, "advice"),
	       *rare = json_deep_copy(json_array_get(advice, 0));
	const char *loop =
		"{s:s, s:i, s:s, s:i, s:[], s:[{s:s, s:i, s:s, s:i}, {s:s, s:i, s:s, s:i}, "
		"{s:s, s:i, s:s, s:i}]}";
	size_t n_lines = 0;
	(void)state;
	json_object_set_new(baseline, "slow_steps",
			    json_pack("{s:i, s:i, s:f, s:f, s:f, s:i, s:[i]}", "n", 2, "of", 300,
				      "times", 150.0, "time_pct", 78.3, "least_ms", 700.0,
				      "n_recorded", 1, "recorded", 231));
	json_object_set_new(json_object_get(p, "bound"), "left_out_pct", json_real(78.3));
	json_object_set_new(baseline, "pauses",
			    json_pack("[{s:i, s:f}, {s:i, s:f, s:b, s:s, s:i}]", "step", 120, "ms",
				      810.0, "step", 231, "ms", 700.0, "before", 1, "file",
				      "/home/me/job/a/long/path/to/the/program/train.py", "line",
				      12));
	json_object_set_new(baseline, "recorded_ms", json_pack("{s:i, s:f}", "n", 3, "p50", 20.8));
	json_object_set_new(json_object_get(p, "steps"), "loop",
			    json_pack(loop, "file", "/home/me/job/train.py", "line", 31, "function",
				      "main", "iterations", 80, "outer", "inner", "file",
				      "/home/me/job/train.py", "line", 20, "function", "save",
				      "iterations", 36, "file", "/home/me/job/models/blocks.py",
				      "line", 24, "function", "forward", "iterations", 960, "file",
				      "/home/me/job/models/decoder.py", "line", 24, "function",
				      "forward", "iterations", 480));
	json_array_append_new(advice, rare);
	json_object_set_new(rare, "rare_steps", json_integer(2));
	json_object_set_new(json_object_get(p, "replay"), "mean_ms", json_real(12));
	json_object_set_new(json_object_get(p, "bound"), "steps", json_integer(24));
	json_object_set_new(json_object_get(p, "bound"), "typical_steps", json_integer(22));
	json_array_append_new(json_object_get(p, "gpu"),
			      json_deep_copy(json_array_get(json_object_get(p, "gpu"), 0)));
	json_array_append_new(json_object_get(p, "gpu"),
			      json_deep_copy(json_array_get(json_object_get(p, "gpu"), 0)));
	char *text = print(root, true, false, NULL);
	assert_fits(text);
	for (const char *c = text; *c; c++)
		n_lines += *c == '\n';
	assert_true(n_lines <= REPORT_SCREEN_LINES);
	assert_says(text, "step = iteration of the loop at train.py:31\n");
	assert_null(strstr(text, "it contains"));
	assert_says(text, "train.py:42  total += loss.item()\n");
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

/* If few steps save time, other runs may have no such step: the interval would hold 0. */
static void test_wide_intervals_of_few_steps_are_left_out(void **state)
{
	json_t *root = load(), *p = json_array_get(json_object_get(root, "processes"), 0),
	       *first = json_array_get(json_object_get(p, "advice"), 0);
	(void)state;
	json_object_set_new(first, "interval_ms", json_pack("[f, f]", 0.0, 4.0));
	json_object_set_new(first, "rare_steps", json_integer(3));
	char *text = print(root, true, false, NULL);
	assert_null(strstr(text, "1.200 ms ±"));
	free(text);
	json_object_set_new(first, "interval_ms", json_pack("[f, f]", 0.9, 1.5));
	text = print(root, true, false, NULL);
	assert_says(text, "1.200 ms ±0.3 ");
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

/* If the work of steps runs after them, they say little about the GPU. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_typical_steps),
		cmocka_unit_test(test_host_that_ran_ahead),
		cmocka_unit_test(test_launches_far_ahead),
		cmocka_unit_test(test_recorded_steps_apart),
		cmocka_unit_test(test_what_gains_refer_to),
		cmocka_unit_test(test_what_disturbed_steps_are_compared_with),
		cmocka_unit_test(test_gains_that_overlap),
		cmocka_unit_test(test_a_line_is_advised_on_once),
		cmocka_unit_test(test_idle_time_of_zero),
		cmocka_unit_test(test_corrected_steps),
		cmocka_unit_test(test_what_recording_cost),
		cmocka_unit_test(test_work_after_the_steps),
		cmocka_unit_test(test_no_step_recorded),
		cmocka_unit_test(test_slow_steps),
		cmocka_unit_test(test_slow_steps_of_another_loop),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_a_full_screen),
		cmocka_unit_test(test_run_without_steps),
		cmocka_unit_test(test_savings_have_their_interval),
		cmocka_unit_test(test_wide_intervals_of_few_steps_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
