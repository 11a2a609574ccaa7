/* One user line calls a library that does everything: the library's lines distinguish its waits. */
#include "core/analysis/inner_line.h"
#include "core/analysis/summary.h"
#include "core/verdict/judge.h"
#include "core/whatif/whatif.h"
#include "test/unit/frame_facts.h"
#include "test/unit/twin.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Stacks: PyTorch's frame, a package's line with the stack's number, the user's line ---- */

enum { STACKS = 16, FRAMES = 3, TRAIN_LINE = 17, TRAIN = 1, OWN = 2 /* sites */ };
enum { STEP = 1, CHECK = 2, LOG = 3, OF_USER = 8, OF_TORCH = 9 };

static struct frame frames[STACKS][FRAMES];
static const struct frame *lists[STACKS][FRAMES];
static struct site sites[] = {
	{ "", "", 0, false, 0 },
	{ "/home/me/train.py", "<module>", TRAIN_LINE, true, 0 },
	{ "/home/me/train.py", "log", 30, true, 0 },
};

#include "test/unit/frame_stubs.h"

static struct frame library(const char *file, uint32_t line)
{
	return (struct frame){ .function = "Trainer.inner",
			       .file = file,
			       .module = "",
			       .line = line,
			       .kind = FRAME_KIND_PYTHON,
			       .is_library = true };
}

static void make_frames(void)
{
	for (uint32_t s = 0; s < STACKS; s++) {
		frames[s][0] = library("/v/site-packages/torch/_tensor.py", 100);
		frames[s][1] = library("/v/site-packages/transformers/trainer.py", s);
		frames[s][2] = library("/home/me/train.py", TRAIN_LINE);
		frames[s][2].is_library = false;
		for (size_t i = 0; i < FRAMES; i++)
			lists[s][i] = &frames[s][i];
	}
	frames[OF_USER][0] = frames[OF_USER][2]; /* a callback of the user's */
	frames[OF_TORCH][1] = frames[OF_TORCH][0];
}

struct frame_list frames_of(struct frames *f, uint32_t stack)
{
	(void)f;
	return (struct frame_list){ .at = lists[stack % STACKS], .n = stack ? FRAMES : 0 };
}

uint32_t frames_site(struct frames *f, uint32_t stack)
{
	(void)f;
	return stack == OF_USER ? OWN : TRAIN;
}

/* ---- A trainer that checks the loss, and logs it ---- */

static void training(struct twin *tw)
{
	for (int i = 0; i < 6; i++) {
		twin_host(tw, 40);
		twin_launch(tw, 1, 50, "layer", STEP);
		if (i == 2 && !tw->is_fixed)
			twin_wait_stream(tw, 1, CHECK);
	}
	twin_wait_stream(tw, 1, LOG);
}

static void own_loop(struct twin *tw)
{
	for (int i = 0; i < 6; i++)
		twin_launch(tw, 1, 50, "layer", i % 2 ? STEP : OF_USER);
}

static struct twin *record(twin_step step)
{
	struct twin *tw = mem_zero(sizeof(*tw));
	make_frames();
	twin_record(tw, step, 5);
	return tw;
}

static void forget(struct twin *tw)
{
	twin_free(tw);
	free(tw);
}

static void which_line_it_is(void **state)
{
	(void)state;
	make_frames();
	assert_ptr_equal(inner_line_of(NULL, CHECK), &frames[CHECK][1]);
	assert_null(inner_line_of(NULL, OF_USER));
	assert_null(inner_line_of(NULL, OF_TORCH));
	assert_null(inner_line_of(NULL, 0));
	assert_true(inner_line_same(&frames[CHECK][0], &frames[LOG][0]));
	assert_false(inner_line_same(&frames[CHECK][1], &frames[LOG][1]));
	assert_false(inner_line_same(&frames[CHECK][1], NULL));
	assert_true(inner_line_same(NULL, NULL));
}

static void only_where_one_line_makes_most_launches(void **state)
{
	struct twin *tw = record(training);
	(void)state;
	assert_int_equal(inner_line_site(&tw->a.timeline), TRAIN);
	forget(tw);
	tw = record(own_loop);
	assert_int_equal(inner_line_site(&tw->a.timeline), 0);
	forget(tw);
}

static void waits_of_different_lines_are_different(void **state)
{
	struct twin *tw = record(training);
	struct findings f = { 0 };
	(void)state;
	summary_fill(&f, &tw->a.timeline);
	replay_fill(&f);
	assert_int_equal(f.syncs.n, 2);
	assert_true(f.syncs.at[0].site == TRAIN && f.syncs.at[1].site == TRAIN);
	assert_int_equal(f.syncs.at[0].inner->line + f.syncs.at[1].inner->line, CHECK + LOG);
	for (size_t i = 0; i < 2; i++)
		assert_true(f.syncs.at[i].per_step > 0.9 && f.syncs.at[i].per_step < 1.1);
	assert_true(f.advice.n >= 1);
	assert_non_null(strstr(f.advice.at[0].what, "synchronization"));
	assert_non_null(f.advice.at[0].inner);
	findings_free(&f);
	forget(tw);
}

static void what_if_takes_a_librarys_line(void **state)
{
	struct twin *tw = record(training);
	struct whatif_change change = { .kind = WHATIF_WAIT, .file = "trainer.py", .line = CHECK };
	struct whatif_result r;
	struct err e;
	double truth = (twin_measure(training, false) - twin_measure(training, true)) / 1e3;
	(void)state;
	assert_int_equal(whatif_run(&tw->a.timeline, &change, 1, &r, &e), 0);
	assert_float_equal(r.gain_ms, truth, 0.1 * truth);
	assert_float_equal(r.calls, 1, 1e-9);
	change.line = TRAIN_LINE;
	assert_int_equal(whatif_run(&tw->a.timeline, &change, 1, &r, &e), -ENOENT);
	forget(tw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_line_it_is),
		cmocka_unit_test(only_where_one_line_makes_most_launches),
		cmocka_unit_test(waits_of_different_lines_are_different),
		cmocka_unit_test(what_if_takes_a_librarys_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
