/* The replay against machines whose times are exact: unchanged it gives what was recorded, changed what the mended program takes. */
#include "core/whatif.h"
#include "test/unit/twin.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Stacks: one frame each, the line is the stack's number ---- */

enum { STACKS = 64 };

static struct frame frames[STACKS];
static const struct frame *frame_lists[STACKS][1];
static struct site sites[STACKS];

static void make_frames(void)
{
	for (uint32_t i = 0; i < STACKS; i++) {
		frames[i] = (struct frame){ .function = "step",
					    .file = "/home/me/train.py",
					    .module = "",
					    .line = i,
					    .kind = FRAME_KIND_PYTHON };
		sites[i] = (struct site){ "/home/me/train.py", "step", i, true };
		frame_lists[i][0] = &frames[i];
	}
}

struct frame_list frames_of(struct frames *f, uint32_t stack)
{
	(void)f;
	return (struct frame_list){ .at = frame_lists[stack % STACKS], .n = stack ? 1 : 0 };
}

uint32_t frames_site(struct frames *f, uint32_t stack)
{
	(void)f;
	return stack;
}

const struct site *frames_site_at(const struct frames *f, uint32_t site)
{
	(void)f;
	return &sites[site % STACKS];
}

uint32_t frames_n_sites(const struct frames *f)
{
	(void)f;
	return STACKS - 1;
}

const char *frames_operator(struct frames *f, uint32_t stack, bool outermost)
{
	(void)f;
	(void)stack;
	(void)outermost;
	return "";
}

size_t frames_operators(struct frames *f, uint32_t stack, const char **out, size_t most)
{
	(void)f;
	(void)stack;
	(void)out;
	(void)most;
	return 0;
}

/* ---- Programs ---- */

enum { LAYERS = 6, WAIT = 40, OTHER_WAIT = 41, COPY = 42, MALLOC = 43, FREE = 44, NEXT = 50 };

/* A wait in every layer; the device has more to do than the host. */
static void device_bound(struct twin *tw)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 20);
		twin_launch(tw, 1, 60, "layer", 1 + (uint32_t)i);
		if (!tw->is_mended)
			twin_wait_stream(tw, 1, WAIT);
	}
	twin_host(tw, 15);
	twin_launch(tw, 1, 10, "update", NEXT);
}

/* The same with a host that has more to do. */
static void host_bound(struct twin *tw)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 50);
		twin_launch(tw, 1, 15, "layer", 1 + (uint32_t)i);
		if (!tw->is_mended)
			twin_wait_stream(tw, 1, WAIT);
	}
	twin_host(tw, 30);
	twin_launch(tw, 1, 10, "update", NEXT);
}

/* Two waits, one behind the other: without the first alone nothing is won. */
static void hidden(struct twin *tw)
{
	twin_host(tw, 300);
	twin_launch(tw, 1, 400, "long", 1);
	twin_record_event(tw, 1, 3, 2);
	if (!tw->is_mended)
		twin_wait_event(tw, 3, WAIT);
	twin_wait_device(tw, OTHER_WAIT);
}

static void hidden_both(struct twin *tw)
{
	twin_host(tw, 300);
	twin_launch(tw, 1, 400, "long", 1);
	twin_record_event(tw, 1, 3, 2);
	if (!tw->is_mended) {
		twin_wait_event(tw, 3, WAIT);
		twin_wait_device(tw, OTHER_WAIT);
	}
}

/* A batch is copied from pageable memory; mended: from pinned memory, beside the kernels of the step before. */
static void blocking_copy(struct twin *tw)
{
	twin_host(tw, 40);
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 90, !tw->is_mended, COPY);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
}

static void allocating(struct twin *tw)
{
	if (!tw->is_mended)
		twin_malloc(tw, 60, MALLOC);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 25);
		twin_launch(tw, 1, 35, "layer", 1 + (uint32_t)i);
	}
	if (!tw->is_mended)
		twin_free_memory(tw, 40, FREE);
}

/* Two streams that go side by side but for the events between them; the wait belongs to neither. */
static void two_streams(struct twin *tw)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 10);
		twin_launch(tw, 1, 70, "left", 1);
		twin_record_event(tw, 1, 1, 2);
		twin_launch(tw, 2, 20, "right", 3);
		if (!tw->is_mended)
			twin_stream_wait(tw, 2, 1, WAIT);
		twin_launch(tw, 2, 60, "joined", 4);
		twin_record_event(tw, 2, 2, 5);
		twin_stream_wait(tw, 1, 2, 6);
	}
}

/* Kernels without any wait, host far ahead. */
static void free_running(struct twin *tw)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 5);
		twin_launch(tw, 1, tw->is_mended ? 20 : 40, "gemm", 1);
		twin_launch(tw, 1, 10, "relu", 2);
	}
}

static void launch_bound(struct twin *tw)
{
	for (int i = 0; i < LAYERS * 4; i++) {
		twin_host(tw, 4);
		twin_launch(tw, 1, 1, "tiny", 1);
	}
}

/* Each step reads its batch for a long time, then copies it. */
static void slow_input(struct twin *tw)
{
	if (!tw->is_mended)
		twin_host(tw, 500);
	twin_host(tw, 10);
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 40, false, COPY);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 10);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
	twin_wait_device(tw, WAIT);
}

/* A second thread waits for its own stream while the first goes on. */
static void two_threads(struct twin *tw)
{
	double begin = tw->now[0];
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 60);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
	tw->thread = 1;
	tw->now[1] = fmax(tw->now[1], begin + 30);
	for (int i = 0; i < 3; i++) {
		twin_launch(tw, 2, 40, "beside", 20);
		twin_wait_stream(tw, 2, OTHER_WAIT);
	}
	tw->thread = 0;
}

/* ---- Tests ---- */

static struct twin *record(twin_step step)
{
	static struct twin *tw;
	free(tw);
	tw = mem_zero(sizeof(*tw));
	make_frames();
	twin_record(tw, step, 5);
	return tw;
}

static struct whatif_result play(struct twin *tw, const struct whatif_change *changes, size_t n)
{
	struct whatif_result result;
	struct err e;
	assert_int_equal(whatif_run(&tw->t, changes, n, &result, &e), 0);
	return result;
}

static void assert_near(double value, double truth, double share, double least)
{
	if (fabs(value - truth) > fmax(share * fabs(truth), least))
		fail_msg("%.3f is not near %.3f", value, truth);
}

static void unchanged_is_measured(void **state)
{
	static const twin_step programs[] = { device_bound,  host_bound,   hidden,
					      blocking_copy, allocating,   two_streams,
					      free_running,  launch_bound, slow_input,
					      two_threads };
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

static const struct mending {
	const char *name;
	twin_step step;
	struct whatif_change change;
} mendings[] = {
	{ "waits, device bound", device_bound, { .kind = WHATIF_WAIT, .site = WAIT } },
	{ "waits, host bound", host_bound, { .kind = WHATIF_WAIT, .site = WAIT } },
	{ "line of waits", host_bound, { .kind = WHATIF_LINE, .site = WAIT } },
	{ "by file and line",
	  host_bound,
	  { .kind = WHATIF_WAIT, .file = "train.py", .line = WAIT } },
	{ "hidden wait", hidden, { .kind = WHATIF_WAIT, .site = WAIT } },
	{ "all waits", hidden_both, { .kind = WHATIF_FREE, .what = WHATIF_FREE_SYNC } },
	{ "blocking copy", blocking_copy, { .kind = WHATIF_WAIT, .site = COPY } },
	{ "allocation", allocating, { .kind = WHATIF_FREE, .what = WHATIF_FREE_ALLOC } },
	{ "event of a stream", two_streams, { .kind = WHATIF_WAIT, .site = WAIT } },
	{ "kernel", free_running, { .kind = WHATIF_KERNEL, .pattern = "^gem+$", .factor = 0.5 } },
	{ "input", slow_input, { .kind = WHATIF_FREE, .what = WHATIF_FREE_INPUT } },
};

static void gain_is_what_mending_wins(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(mendings) / sizeof(*mendings); i++) {
		const struct mending *m = &mendings[i];
		struct twin *tw = record(m->step);
		double truth = (twin_measure(m->step, false) - twin_measure(m->step, true)) / 1e3;
		struct whatif_result r = play(tw, &m->change, 1);
		assert_near(r.gain_ms, truth, 0.02, 0.02 * r.measured_ms);
		assert_true(r.calls + r.works > 0);
		twin_free(tw);
	}
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
	for (size_t i = 0; i < sizeof(mendings) / sizeof(*mendings); i++) {
		struct twin *tw = record(mendings[i].step);
		for (uint8_t what = 0; what < WHATIF_FREES_N; what++) {
			const struct whatif_change change = { .kind = WHATIF_FREE, .what = what };
			struct whatif_result r = play(tw, &change, 1);
			assert_true(r.gain_ms > -0.005 * r.measured_ms);
			assert_true(r.changed_ms > 0);
		}
		twin_free(tw);
	}
}

static void free_launches_win_what_they_cost(void **state)
{
	static const struct whatif_change change = { .kind = WHATIF_FREE,
						     .what = WHATIF_FREE_LAUNCH };
	(void)state;
	struct twin *tw = record(launch_bound);
	struct whatif_result r = play(tw, &change, 1);
	assert_near(r.gain_ms, LAYERS * 4 * TWIN_ISSUE_US / 1e3, 0.02, 0);
	twin_free(tw);
}

static void what_is_not_there_is_refused(void **state)
{
	static const struct whatif_change line = { .kind = WHATIF_WAIT,
						   .file = "train.py",
						   .line = 700 };
	static const struct whatif_change kernel = { .kind = WHATIF_KERNEL, .pattern = "winograd" };
	struct whatif_result r;
	struct err e;
	(void)state;
	struct twin *tw = record(host_bound);
	assert_int_equal(whatif_run(&tw->t, &line, 1, &r, &e), -ENOENT);
	assert_non_null(strstr(e.text, "train.py:700"));
	assert_int_equal(whatif_run(&tw->t, &kernel, 1, &r, &e), -ENOENT);
	assert_non_null(strstr(e.text, "winograd"));
	twin_free(tw);
	struct timeline nothing = { 0 };
	assert_int_equal(whatif_run(&nothing, NULL, 0, &r, &e), -ENODATA);
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
		cmocka_unit_test(gain_is_what_mending_wins),
		cmocka_unit_test(two_changes_at_once),
		cmocka_unit_test(less_is_never_slower),
		cmocka_unit_test(free_launches_win_what_they_cost),
		cmocka_unit_test(what_is_not_there_is_refused),
		cmocka_unit_test(options_are_parsed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
