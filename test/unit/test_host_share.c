/*
 * Host time in a call's own frames is removed with the call; what the program does between its
 * calls is not.
 */
#include "core/analysis/host_kinds.h"
#include "core/analysis/summary.h"
#include "core/verdict/judge.h"
#include "core/whatif/whatif.h"
#include "test/unit/frame_facts.h"
#include "test/unit/twin.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/*
 * ---- Stacks: below the user's line, which has the stack's number, come 2 to 12 frames of a
 * library ----
 */

enum {
	STACKS = 64,
	DEPTH_MOST = 13,
	WAIT = 40,
	SAVING = 45,
	ONE_LINE = 30,
	OPTIMIZER = 50,
	BEFORE_STEP = 55,
	STEP = 56,
	CLIP = 57,
	BATCH = 58
};

static const char *between = ""; /* the text of all lines between BEFORE_STEP's and STEP's */

static struct frame frames[STACKS][DEPTH_MOST];
static const struct frame *lists[STACKS][DEPTH_MOST];
static struct site sites[STACKS];

#define FRAMES_HAVE_SOURCES
#include "test/unit/frame_stubs.h"

static size_t depth(uint32_t stack)
{
	return 3 + stack % 6 * 2;
}

/* The line calls a library: its frames below that are the file's. */
static void call_library(uint32_t stack, uint32_t line, const char *file, const char *function)
{
	frames[stack][depth(stack) - 1].line = sites[stack].line = line;
	frames[stack][depth(stack) - 2] = (struct frame){ .function = function,
							  .file = file,
							  .module = "",
							  .line = 7,
							  .kind = FRAME_KIND_PYTHON,
							  .is_library = true };
}

static void make_frames(void)
{
	for (uint32_t s = 0; s < STACKS; s++) {
		sites[s] = (struct site){ "/home/me/train.py", "step", s, true, 0 };
		for (uint32_t i = 0; i < depth(s); i++) {
			bool is_line = i + 1 == depth(s);
			frames[s][i] = (struct frame){
				.function = is_line ? "step" : "inner",
				.file = is_line ? "/home/me/train.py" : "",
				.module = is_line ? "" : "libtorch.so",
				.line = is_line ? s : s * 100 + i,
				.kind = is_line ? FRAME_KIND_PYTHON : FRAME_KIND_NATIVE,
				.is_library = !is_line,
			};
			lists[s][i] = &frames[s][i];
		}
	}
	/* one line of the user's calls the library, which makes both calls */
	for (uint32_t i = 0; i < 2; i++) {
		call_library(OPTIMIZER + i, OPTIMIZER, "/opt/torch/optim/adam.py", "step");
		call_library(SAVING + i, SAVING, "/opt/torch/serialization.py", "save");
	}
	/* and one makes both itself */
	frames[ONE_LINE + 1][depth(ONE_LINE + 1) - 1].line = sites[ONE_LINE + 1].line = ONE_LINE;
	call_library(STEP, BEFORE_STEP + 3, "/opt/torch/optim/adam.py", "step");
	call_library(BATCH, BATCH, "/opt/torch/utils/data/dataset.py", "__getitem__");
	call_library(CLIP, CLIP, "/opt/torch/nn/utils/clip_grad.py", "clip_grad_norm_");
}

struct frame_list frames_of(struct frames *f, uint32_t stack)
{
	(void)f;
	return (struct frame_list){ .at = lists[stack % STACKS], .n = stack ? depth(stack) : 0 };
}

uint32_t frames_site(struct frames *f, uint32_t stack)
{
	(void)f;
	bool is_second = stack == OPTIMIZER + 1 || stack == SAVING + 1 || stack == ONE_LINE + 1;
	return is_second ? stack - 1 : stack;
}

const char *frames_source(struct frames *f, const char *file, uint32_t line)
{
	(void)f;
	(void)file;
	return line > BEFORE_STEP && line < BEFORE_STEP + 3 ? between : "loss.backward()";
}

/* ---- Programs: a frame takes 1.5 us to enter, half of that to leave ---- */

static void enter(struct twin *tw, uint32_t stack)
{
	twin_host(tw, 1.5 * (double)depth(stack));
}

static void leave(struct twin *tw, uint32_t stack)
{
	twin_host(tw, 0.75 * (double)depth(stack));
}

static void launch(struct twin *tw, uint32_t stack)
{
	enter(tw, stack);
	twin_launch(tw, 1, 2, "kernel", stack);
	leave(tw, stack);
}

static void wait(struct twin *tw)
{
	if (tw->is_fixed)
		return;
	enter(tw, WAIT);
	twin_wait_stream(tw, 1, WAIT);
	leave(tw, WAIT);
}

static void plain(struct twin *tw)
{
	for (uint32_t stack = 1; stack < 12; stack++) {
		launch(tw, stack);
		if (stack % 3 == 0)
			wait(tw);
	}
}

/* The host computes before it waits: that stays. */
static void computing(struct twin *tw)
{
	for (uint32_t stack = 1; stack < 12; stack++) {
		launch(tw, stack);
		if (stack % 3 == 0) {
			twin_host(tw, 300);
			wait(tw);
		}
	}
}

static double gain_ms(twin_step step, struct whatif_change change)
{
	struct twin *tw = mem_zero(sizeof(*tw));
	struct whatif_result r;
	make_frames();
	twin_record(tw, step, 5);
	assert_int_equal(whatif_run(&tw->a.timeline, &change, 1, &r, NULL), 0);
	twin_free(tw);
	free(tw);
	return r.gain_ms;
}

static void check(twin_step step, struct whatif_change change)
{
	struct twin *tw = mem_zero(sizeof(*tw));
	struct whatif_result r;
	make_frames();
	twin_record(tw, step, 5);
	double truth = (twin_measure(step, false) - twin_measure(step, true)) / 1e3;
	assert_int_equal(whatif_run(&tw->a.timeline, &change, 1, &r, NULL), 0);
	if (fabs(r.gain_ms - truth) > 0.15 * truth)
		fail_msg("gain %.4f, true %.4f", r.gain_ms, truth);
	twin_free(tw);
	free(tw);
}

static const struct whatif_change without_wait = { .kind = WHATIF_WAIT, .site = WAIT };

static void frames_are_removed_with_their_call(void **state)
{
	(void)state;
	check(plain, without_wait);
}

static void work_between_calls_stays(void **state)
{
	(void)state;
	check(computing, without_wait);
}

static void sleeping(struct twin *tw)
{
	for (uint32_t stack = 1; stack < 12; stack++) {
		if (stack % 3)
			twin_host(tw, 3000);
		launch(tw, stack);
	}
}

/* The CPU sleeps, or computes on another line, before most calls: that is not what their frames
 * take. */
static void sampled_work_is_not_of_the_frames(void **state)
{
	const struct whatif_change launches = { .kind = WHATIF_TWICE, .what = WHATIF_TWICE_LAUNCH },
				   host = { .kind = WHATIF_TWICE, .what = WHATIF_TWICE_HOST };
	const struct {
		uint8_t kind;
		double host_ms;
	} rows[] = { { HOST_SLEEP, 24 }, { HOST_PYTHON, 12 } };
	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		struct twin *tw = mem_zero(sizeof(*tw));
		struct whatif_result r;
		make_frames();
		twin_record(tw, sleeping, 5);
		for (size_t i = 0; i < tw->a.timeline.calls.n; i++) {
			struct timeline_call *c = &tw->a.timeline.calls.at[i];
			c->before_kind = c->site % 3 ? rows[k].kind : HOST_UNKNOWN;
			c->before_site = c->site % 3 ? STACKS - 1 : 0;
		}
		assert_int_equal(whatif_run(&tw->a.timeline, &launches, 1, &r, NULL), 0);
		assert_true(r.gain_ms < 0.3);
		assert_int_equal(whatif_run(&tw->a.timeline, &host, 1, &r, NULL), 0);
		assert_true(fabs(r.gain_ms - rows[k].host_ms) < 0.3);
		twin_free(tw);
		free(tw);
	}
}

static void saving(struct twin *tw)
{
	for (uint32_t stack = 1; stack < 12; stack++)
		launch(tw, stack);
	for (uint32_t i = 0; i < 4 && !tw->is_fixed; i++) {
		enter(tw, SAVING + i % 2);
		twin_wait_stream(tw, 1, SAVING + i % 2);
		leave(tw, SAVING + i % 2);
		twin_host(tw, 300);
	}
	launch(tw, 12);
}

/*
 * A library that pickles between its calls does so for the line that called it, but not because of
 * the waits.
 */
static void a_librarys_work_is_removed_with_the_line(void **state)
{
	(void)state;
	assert_true(gain_ms(saving, (struct whatif_change){ .kind = WHATIF_LINE, .site = SAVING }) >
		    0.9);
	assert_true(gain_ms(saving, (struct whatif_change){ .kind = WHATIF_WAIT, .site = SAVING }) <
		    0.3);
}

enum { RUNS = 3 };

/* The line works 300 us between its two calls; from one run of it to the next 100 us pass. */
static void running_a_line(struct twin *tw)
{
	for (uint32_t stack = 1; stack < 12; stack++)
		launch(tw, stack);
	for (int i = 0; i < RUNS; i++) {
		if (!tw->is_fixed) {
			launch(tw, ONE_LINE);
			twin_host(tw, 300);
			launch(tw, ONE_LINE + 1);
		}
		twin_host(tw, 100);
	}
}

/*
 * The line's own work is removed with it, that of the loop around it stays. Advice for a part of
 * the line saves no more.
 */
static void a_lines_work_is_removed_with_the_line(void **state)
{
	struct twin *tw = mem_zero(sizeof(*tw));
	struct findings f = { 0 };
	const struct finding_advice *part = NULL;
	(void)state;
	check(running_a_line, (struct whatif_change){ .kind = WHATIF_LINE, .site = ONE_LINE });
	twin_record(tw, running_a_line, 5);
	summary_fill(&f, &tw->a.timeline);
	replay_fill(&f);
	for (size_t i = 0; i < f.advice.n; i++)
		if (strstr(f.advice.at[i].what, "less CPU time in this line"))
			part = &f.advice.at[i];
	assert_non_null(part);
	assert_int_equal(part->site, ONE_LINE);
	assert_true(part->expected_ms <=
		    gain_ms(running_a_line,
			    (struct whatif_change){ .kind = WHATIF_LINE, .site = ONE_LINE }));
	findings_free(&f);
	twin_free(tw);
	free(tw);
}

static void launch_twice(struct twin *tw, uint32_t first)
{
	for (uint32_t stack = 1; stack < 12; stack++)
		launch(tw, stack);
	launch(tw, first);
	twin_host(tw, 300);
	launch(tw, first + 1);
}

static void library_between(struct twin *tw)
{
	launch_twice(tw, OPTIMIZER);
}

static void user_between(struct twin *tw)
{
	launch_twice(tw, 20);
}

static void into_an_optimizer(struct twin *tw)
{
	for (uint32_t stack = 1; stack < 12; stack++)
		launch(tw, stack);
	launch(tw, BEFORE_STEP);
	twin_host(tw, 300);
	launch(tw, STEP);
}

static double pause_ms(twin_step step)
{
	return gain_ms(step, (struct whatif_change){ .kind = WHATIF_PAUSE });
}

static void copy_behind_a_pause(struct twin *tw, uint32_t stack)
{
	for (uint32_t other = 1; other < 12; other++)
		launch(tw, other);
	twin_host(tw, 300);
	enter(tw, stack);
	twin_copy(tw, 1, COPY_H2D, 4096, 2, false, stack);
	leave(tw, stack);
}

static void copying_a_batch(struct twin *tw)
{
	copy_behind_a_pause(tw, BATCH);
}

static void clipping(struct twin *tw)
{
	copy_behind_a_pause(tw, CLIP);
}

/* Clipping copies the addresses of the gradients to the device. */
static void what_clipping_copies_is_no_input(void **state)
{
	static const struct whatif_change input = { .kind = WHATIF_FREE,
						    .what = WHATIF_FREE_INPUT };
	(void)state;
	assert_true(gain_ms(copying_a_batch, input) > 0.25);
	assert_true(gain_ms(clipping, input) < 0.01);
}

/* What a library does between its own calls is nothing that the user could move elsewhere. */
static void a_library_makes_no_pause(void **state)
{
	(void)state;
	assert_true(pause_ms(user_between) > 0.25);
	assert_true(pause_ms(library_between) < 0.05);
}

static double before_ms(twin_step step, uint32_t site)
{
	return gain_ms(step, (struct whatif_change){ .kind = WHATIF_BEFORE, .site = site });
}

/* Input or not: what the report advises for a line one can ask for by that line. */
static void work_before_a_line_is_removed(void **state)
{
	(void)state;
	assert_true(before_ms(user_between, 21) > 0.25);
	assert_true(before_ms(user_between, 20) < 0.05);
	assert_true(before_ms(copying_a_batch, BATCH) > 0.25);
	assert_true(before_ms(library_between, OPTIMIZER + 1) < 0.05);
}

/* Work without CUDA calls has no line: it is identified by the line after which it begins. */
static void host_work_is_located(void **state)
{
	static const struct {
		twin_step step;
		uint32_t site;
		const char *why;
	} programs[] = {
		{ user_between, 21, "between train.py:20 and this line the CPU works" },
		{ copying_a_batch, BATCH, "between train.py:11 and this line the step waits" },
	};
	(void)state;
	make_frames();
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct twin *tw = mem_zero(sizeof(*tw));
		struct findings f = { 0 };
		const struct finding_advice *told = NULL;
		twin_record(tw, programs[i].step, 5);
		summary_fill(&f, &tw->a.timeline);
		replay_fill(&f);
		for (size_t k = 0; k < f.advice.n; k++)
			if (strstr(f.advice.at[k].why, programs[i].why))
				told = &f.advice.at[k];
		assert_non_null(told);
		assert_int_equal(told->site, programs[i].site);
		findings_free(&f);
		twin_free(tw);
		free(tw);
	}
}

/*
 * But it may be called less often, if it works long before its calls, and is not a pass or an
 * optimizer, which are needed.
 */
static void a_library_that_works_long_is_advised(void **state)
{
	struct twin *tw = mem_zero(sizeof(*tw));
	struct findings f = { 0 };
	(void)state;
	make_frames();
	twin_record(tw, saving, 5);
	summary_fill(&f, &tw->a.timeline);
	replay_fill(&f);
	assert_true(f.advice.n >= 1);
	assert_int_equal(f.advice.at[0].site, SAVING);
	assert_non_null(strstr(f.advice.at[0].what, "less CPU time in the library that this line "
						    "calls"));
	assert_true(f.advice.at[0].expected_ms > 0.8);
	findings_free(&f);
	twin_free(tw);
	free(tw);
}

/*
 * An optimizer that is called on the next line works by itself until its first launch, as far as
 * can be detected. With code of the user's on the way, that code may be what takes the time.
 */
static void the_way_into_an_optimizer(void **state)
{
	(void)state;
	between = "";
	assert_true(pause_ms(into_an_optimizer) < 0.05);
	between = "# every step";
	assert_true(pause_ms(into_an_optimizer) < 0.05);
	between = "accuracy = score(outputs)";
	assert_true(pause_ms(into_an_optimizer) > 0.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_removed_with_their_call),
		cmocka_unit_test(work_between_calls_stays),
		cmocka_unit_test(sampled_work_is_not_of_the_frames),
		cmocka_unit_test(what_clipping_copies_is_no_input),
		cmocka_unit_test(a_librarys_work_is_removed_with_the_line),
		cmocka_unit_test(a_lines_work_is_removed_with_the_line),
		cmocka_unit_test(a_library_makes_no_pause),
		cmocka_unit_test(work_before_a_line_is_removed),
		cmocka_unit_test(host_work_is_located),
		cmocka_unit_test(a_library_that_works_long_is_advised),
		cmocka_unit_test(the_way_into_an_optimizer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
