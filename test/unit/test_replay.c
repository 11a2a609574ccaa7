/*
 * The replay against machines whose times are exact: unchanged it gives the recorded time, changed
 * the fixed program's time.
 */
#include "core/whatif/whatif.h"
#include "test/unit/line_frames.h"
#include "test/unit/twin_programs.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Tests ---- */

static struct twin *record_steps(twin_step step, int steps)
{
	static struct twin *tw;
	free(tw);
	tw = mem_zero(sizeof(*tw));
	make_frames();
	twin_record(tw, step, steps);
	return tw;
}

static struct twin *record(twin_step step)
{
	return record_steps(step, 6);
}

static struct whatif_result play(struct twin *tw, const struct whatif_change *changes, size_t n)
{
	struct whatif_result result;
	struct err e;
	assert_int_equal(whatif_run(&tw->a.timeline, changes, n, &result, &e), 0);
	return result;
}

static void assert_near(double value, double truth, double share, double least)
{
	if (fabs(value - truth) > fmax(share * fabs(truth), least))
		fail_msg("%.3f is not near %.3f", value, truth);
}

static void unchanged_is_measured(void **state)
{
	static const twin_step programs[] = {
		device_bound, disturbed,   host_bound,	      hidden,	  blocking_copy,
		allocating,   two_streams, free_running,      queue_full, launch_bound,
		slow_input,   two_threads, slow_input_behind, prefetching
	};
	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct twin *tw = record(programs[i]);
		struct whatif_result r = play(tw, NULL, 0);
		double truth = twin_measure(programs[i], false) / 1e3;
		assert_near(r.measured_ms, truth, 0.01, 0);
		assert_near(r.replayed_ms, truth, 0.01, 0);
		twin_free(tw);
	}
}

/* An odd number of steps of a program that takes two buffers in turn. */
static void steps_are_played_in_whole_iterations(void **state)
{
	(void)state;
	for (int steps = 5; steps <= 7; steps++) {
		struct twin *tw = record_steps(prefetching, steps);
		struct whatif_result r = play(tw, NULL, 0);
		double truth = twin_measure(prefetching, false) / 1e3;
		assert_near(r.replayed_ms, truth, 0.01, 0);
		twin_free(tw);
	}
}

static const struct fix {
	const char *name;
	twin_step step;
	struct whatif_change change;
} fixes[] = {
	{ "waits, device bound", device_bound, { .kind = WHATIF_WAIT, .site = WAIT } },
	{ "waits, host bound", host_bound, { .kind = WHATIF_WAIT, .site = WAIT } },
	{ "waits, disturbed", disturbed, { .kind = WHATIF_WAIT, .site = WAIT } },
	{ "line of waits", host_bound, { .kind = WHATIF_LINE, .site = WAIT } },
	{ "by file and line",
	  host_bound,
	  { .kind = WHATIF_WAIT, .file = "train.py", .line = WAIT } },
	{ "hidden wait", hidden, { .kind = WHATIF_WAIT, .site = WAIT } },
	{ "all waits", hidden_both, { .kind = WHATIF_FREE, .what = WHATIF_FREE_SYNC } },
	{ "blocking copy", blocking_copy, { .kind = WHATIF_WAIT, .site = COPY } },
	{ "copy from pageable memory", pageable_batch, { .kind = WHATIF_WAIT, .site = COPY } },
	{ "polling", polling, { .kind = WHATIF_WAIT, .site = WAIT } },
	{ "launches as one", one_launch, { .kind = WHATIF_ONE_LAUNCH } },
	{ "allocation", allocating, { .kind = WHATIF_FREE, .what = WHATIF_FREE_ALLOC } },
	{ "event of a stream", two_streams, { .kind = WHATIF_WAIT, .site = WAIT } },
	{ "waits, legacy stream",
	  legacy_between,
	  { .kind = WHATIF_FREE, .what = WHATIF_FREE_SYNC } },
	{ "kernel, legacy stream",
	  legacy_kernels,
	  { .kind = WHATIF_KERNEL, .pattern = "conv|pool", .factor = 0.5 } },
	{ "launch into the legacy stream", legacy_moved, { .kind = WHATIF_OWN_STREAM, .site = 3 } },
	{ "kernel", free_running, { .kind = WHATIF_KERNEL, .pattern = "^gem+$", .factor = 0.5 } },
	{ "kernel, queue full",
	  queue_full,
	  { .kind = WHATIF_KERNEL, .pattern = "^gem+$", .factor = 0.5 } },
	{ "input", slow_input, { .kind = WHATIF_FREE, .what = WHATIF_FREE_INPUT } },
	{ "captured line", slow_node, { .kind = WHATIF_LINE, .site = SLOW_NODE } },
	{ "captured line by file and line",
	  slow_node,
	  { .kind = WHATIF_LINE, .file = "train.py", .line = SLOW_NODE } },
	{ "captured line, first node",
	  slow_first_node,
	  { .kind = WHATIF_LINE, .site = SLOW_NODE } },
	{ "kernels of a graph",
	  faster_nodes,
	  { .kind = WHATIF_KERNEL, .pattern = "^node$", .factor = 0.5 } },
	{ "host node", host_node, { .kind = WHATIF_HOST_NODES } },
	{ "host node of a line", host_node, { .kind = WHATIF_HOST_NODES, .site = HOST_NODE } },
	{ "pinned copy out of a graph",
	  pinned_out_node,
	  { .kind = WHATIF_ASIDE, .site = COPY_NODE } },
	{ "input behind the copy",
	  slow_loader,
	  { .kind = WHATIF_FREE, .what = WHATIF_FREE_INPUT } },
	{ "input, cut in front of the copy",
	  slow_input_asked,
	  { .kind = WHATIF_FREE, .what = WHATIF_FREE_INPUT } },
};

static void gain_is_what_the_fix_saves(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fixes) / sizeof(*fixes); i++) {
		const struct fix *m = &fixes[i];
		struct twin *tw = record(m->step);
		double truth = (twin_measure(m->step, false) - twin_measure(m->step, true)) / 1e3;
		struct whatif_result r = play(tw, &m->change, 1);
		assert_near(r.gain_ms, truth, 0.02, 0.02 * r.measured_ms);
		assert_true(r.calls + r.works > 0);
		twin_free(tw);
	}
}

/* The line has no wait, and no CPU work before it in the recorded steps. */
static void a_captured_line_waits_for_nothing(void **state)
{
	static const struct whatif_change changes[] = {
		{ .kind = WHATIF_WAIT, .site = SLOW_NODE },
		{ .kind = WHATIF_BEFORE, .site = SLOW_NODE },
		{ .kind = WHATIF_HOST_NODES, .site = SLOW_NODE },
	};
	(void)state;
	struct twin *tw = record(slow_node);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct whatif_result r = play(tw, &changes[i], 1);
		assert_near(r.gain_ms, 0, 0, 1e-6);
		assert_near(r.works, 0, 0, 1e-6);
	}
	twin_free(tw);
}

/* Every call takes longer in the recorded steps; what is promised is of those that are not. */
static void recording_is_not_promised(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fixes) / sizeof(*fixes); i++) {
		const struct fix *m = &fixes[i];
		struct twin *tw = mem_zero(sizeof(*tw));
		tw->recording = 2;
		make_frames();
		twin_record(tw, m->step, 6);
		double plain = twin_measure(m->step, false) / 1e3;
		tw->a.timeline.recording_ratio = play(tw, NULL, 0).measured_ms / plain;
		double truth = plain - twin_measure(m->step, true) / 1e3;
		struct whatif_result r = play(tw, &m->change, 1);
		assert_near(r.mean_ms, plain, 0.01, 0);
		assert_near(r.gain_ms, truth, 0.02, 0.02 * plain);
		twin_free(tw);
		free(tw);
	}
}

static void saved_now_and_then(struct twin *tw)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 2, "layer", 1);
	}
	if (tw->steps_made++ % 4 == 3)
		twin_host(tw, 5000);
	twin_wait_stream(tw, 1, WAIT);
}

/* One of four steps takes many times as long. Recording costs per call, of which it has no more. */
static void a_long_step_costs_no_more_to_record(void **state)
{
	(void)state;
	struct twin *tw = record_steps(saved_now_and_then, 8);
	tw->a.timeline.recording_ratio = 1.25;
	struct whatif_result r = play(tw, NULL, 0);
	assert_true(r.measured_ms > 2 * r.recorded_ms);
	assert_near(r.step_ms, r.recorded_ms / 1.25, 0.05, 0);
	assert_near(r.measured_ms - r.mean_ms, r.recorded_ms - r.step_ms, 0.05, 0);
	twin_free(tw);
}

/* Without its waits the host runs ahead of the device, which is what a step takes then. */
static void steps_end_where_their_work_does(void **state)
{
	static const struct whatif_change change = { .kind = WHATIF_WAIT, .site = WAIT };
	(void)state;
	struct twin *tw = record(device_bound);
	struct whatif w;
	struct whatif_result result;
	struct err e;
	double ns[6], truth = twin_measure(device_bound, true) * 1e3;
	assert_int_equal(whatif_open(&w, &tw->a.timeline, &e), 0);
	assert_int_equal(w.replay.n_steps, 6);
	assert_int_equal(whatif_play(&w, &change, 1, &result, &e), 0);
	replay_step_lengths(&w.replay, ns);
	for (int i = 0; i < 6; i++)
		assert_near(ns[i], truth, 0.02, 0);
	whatif_close(&w);
	twin_free(tw);
}

static void two_changes_at_once(void **state)
{
	static const struct whatif_change both[] = { { .kind = WHATIF_WAIT, .site = WAIT },
						     { .kind = WHATIF_WAIT, .site = OTHER_WAIT } };
	(void)state;
	struct twin *tw = record(hidden_both);
	double truth = (twin_measure(hidden_both, false) - twin_measure(hidden_both, true)) / 1e3;
	double one = play(tw, &both[0], 1).gain_ms, other = play(tw, &both[1], 1).gain_ms;
	assert_true(one < 0.1 * truth && other < 0.1 * truth);
	assert_near(play(tw, both, 2).gain_ms, truth, 0.02, 0);
	twin_free(tw);
}

static void less_is_never_slower(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fixes) / sizeof(*fixes); i++) {
		struct twin *tw = record(fixes[i].step);
		for (uint8_t what = 0; what < WHATIF_FREES_N; what++) {
			const struct whatif_change change = { .kind = WHATIF_FREE, .what = what };
			struct whatif_result r = play(tw, &change, 1);
			assert_true(r.gain_ms > -0.005 * r.measured_ms);
			assert_true(r.changed_ms > 0);
		}
		twin_free(tw);
	}
}

/* However few steps were recorded, each has its pause, wherever the steps were cut. */
static void a_pause_at_the_cut_counts(void **state)
{
	static const struct whatif_change input = { .kind = WHATIF_FREE,
						    .what = WHATIF_FREE_INPUT };
	(void)state;
	struct twin *tw = record_steps(slow_input_behind, 3);
	double truth =
		(twin_measure(slow_input_behind, false) - twin_measure(slow_input_behind, true)) /
		1e3;
	assert_near(play(tw, &input, 1).gain_ms, truth, 0.05, 0);
	twin_free(tw);
}

static void free_launches_save_what_they_cost(void **state)
{
	static const struct whatif_change change = { .kind = WHATIF_FREE,
						     .what = WHATIF_FREE_LAUNCH };
	(void)state;
	struct twin *tw = record(launch_bound);
	struct whatif_result r = play(tw, &change, 1);
	assert_near(r.gain_ms, LAYERS * 4 * TWIN_ISSUE_US / 1e3, 0.02, 0);
	twin_free(tw);
}

/* A graph of a long and a short kernel. The host waits for the graph before, and the wait returns
 * when its last kernel begins. */
static void paced_graph(struct twin *tw)
{
	const struct twin_node nodes[] = { { CAT_LAUNCH, 300, 1 }, { CAT_LAUNCH, 80, 2 } };
	twin_graph(tw, 1, nodes, 2, 3);
	twin_record_event(tw, 1, 1, 4);
	tw->event[1] -= 75;
	twin_wait_event(tw, 2, WAIT);
	twin_graph(tw, 1, nodes, 2, 3);
	twin_record_event(tw, 1, 2, 4);
	tw->event[2] -= 75;
	twin_wait_event(tw, 1, WAIT);
}

static void a_wait_for_a_graph_may_return_early(void **state)
{
	static const struct whatif_change change = { .kind = WHATIF_TWICE,
						     .what = WHATIF_TWICE_GPU };
	(void)state;
	struct twin *tw = record(paced_graph);
	struct whatif_result r = play(tw, &change, 1);
	assert_near(r.replayed_ms, 0.762, 0.01, 0);
	assert_near(r.gain_ms, 0.380, 0.05, 0);
	twin_free(tw);
}

static void what_is_missing_is_refused(void **state)
{
	struct whatif_change line = { .kind = WHATIF_WAIT, .file = "train.py", .line = 700 };
	static const struct whatif_change kernel = { .kind = WHATIF_KERNEL, .pattern = "winograd" };
	struct whatif_result r;
	struct err e;
	(void)state;
	struct twin *tw = record(host_bound);
	assert_int_equal(whatif_run(&tw->a.timeline, &line, 1, &r, &e), -ENOENT);
	assert_non_null(strstr(e.text, "train.py:700 in the recorded steps"));
	/* a line of the run's that no recorded step comes to is not the nearest to itself */
	line.line = 45;
	assert_int_equal(whatif_run(&tw->a.timeline, &line, 1, &r, &e), -ENOENT);
	assert_null(strstr(e.text, "line with a call: 45"));
	assert_int_equal(whatif_run(&tw->a.timeline, &kernel, 1, &r, &e), -ENOENT);
	assert_non_null(strstr(e.text, "winograd"));
	twin_free(tw);
	struct timeline nothing = { 0 };
	assert_int_equal(whatif_run(&nothing, NULL, 0, &r, &e), -ENODATA);
}

/* A data loader's line makes no call; samples show it in most of the gap before the first call, and
 * another line of the same loader in the rest. */
static void a_line_without_calls_is_removed_by_samples(void **state)
{
	enum { READS = 57, DECODES, NOTHING };
	struct whatif_change line = { .kind = WHATIF_WAIT, .file = "train.py", .line = READS };
	struct whatif_result r;
	struct err e;
	(void)state;
	struct twin *tw = record(slow_input);
	struct timeline *t = &tw->a.timeline;
	double all_ms =
		play(tw, &(struct whatif_change){ .kind = WHATIF_FREE, .what = WHATIF_FREE_INPUT },
		     1)
			.gain_ms;
	assert_int_equal(whatif_run(t, &line, 1, &r, &e), -ENOENT);
	vec_push(&t->host.at, (struct host_sum){ .stack = READS, .kind = HOST_LOADER, .ns = 900 });
	vec_push(&t->host.at,
		 (struct host_sum){ .stack = DECODES, .kind = HOST_LOADER, .ns = 900 });
	for (size_t i = 0; i < t->steps.n; i++) {
		struct timeline_call *c = &t->calls.at[t->steps.at[i].first_call];
		c->before_kind = HOST_LOADER;
		c->before_site = READS;
	}
	r = play(tw, &line, 1);
	assert_true(r.is_sampled);
	assert_near(r.gain_ms, all_ms, 0.02, 0);
	line.line = DECODES; /* it was sampled, but before no call it was sampled most */
	assert_near(play(tw, &line, 1).gain_ms, 0, 0, 1e-9);
	line.line = NOTHING;
	assert_int_equal(whatif_run(t, &line, 1, &r, &e), -ENOENT);
	t->host.n = t->host.at.n = 0;
	twin_free(tw);
}

static void options_are_parsed(void **state)
{
	struct whatif_change c;
	struct err e;
	(void)state;
	assert_int_equal(whatif_parse_without("a/train.py:42", &c, &e), 0);
	assert_string_equal(c.file, "a/train.py");
	assert_int_equal(c.line, 42);
	assert_int_equal(whatif_parse_kernel("gemm.*=x=0.5", &c, &e), 0);
	assert_string_equal(c.pattern, "gemm.*=x");
	assert_true(c.factor > 0.49 && c.factor < 0.51);
	assert_int_equal(whatif_parse_free("copy", &c, &e), 0);
	assert_int_equal(c.what, WHATIF_FREE_COPY);
	static const char *const bad_lines[] = { "train.py", "train.py:", ":4",
						 "a:0",	     "a:-1",	  "a:4x" };
	for (size_t i = 0; i < sizeof(bad_lines) / sizeof(*bad_lines); i++)
		assert_int_equal(whatif_parse_without(bad_lines[i], &c, &e), -EINVAL);
	static const char *const bad_kernels[] = { "gemm",    "=2",	  "gemm=",
						   "gemm=-1", "gemm=nan", "(=2" };
	for (size_t i = 0; i < sizeof(bad_kernels) / sizeof(*bad_kernels); i++)
		assert_int_equal(whatif_parse_kernel(bad_kernels[i], &c, &e), -EINVAL);
	assert_int_equal(whatif_parse_free("everything", &c, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unchanged_is_measured),
		cmocka_unit_test(steps_are_played_in_whole_iterations),
		cmocka_unit_test(gain_is_what_the_fix_saves),
		cmocka_unit_test(a_captured_line_waits_for_nothing),
		cmocka_unit_test(recording_is_not_promised),
		cmocka_unit_test(a_long_step_costs_no_more_to_record),
		cmocka_unit_test(steps_end_where_their_work_does),
		cmocka_unit_test(two_changes_at_once),
		cmocka_unit_test(less_is_never_slower),
		cmocka_unit_test(a_pause_at_the_cut_counts),
		cmocka_unit_test(free_launches_save_what_they_cost),
		cmocka_unit_test(a_wait_for_a_graph_may_return_early),
		cmocka_unit_test(what_is_missing_is_refused),
		cmocka_unit_test(a_line_without_calls_is_removed_by_samples),
		cmocka_unit_test(options_are_parsed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
