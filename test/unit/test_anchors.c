/* core/steps/anchors.h: how many steps there were where none was known while they were made. */
#include "core/runtime/token.h"
#include "core/steps/anchors.h"
#include "core/steps/launch_log.h"
#include "test/unit/journal_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS = 5, LAUNCHES = 6 };

/* A step launches kernels 1 to 6; one that sets the program up, `n_before` of the last of them. */
static uint64_t token_of_kernel(uint64_t kernel)
{
	return kernel * 0x9e3779b97f4a7c15ull | 1;
}

static uint64_t trigram_behind(uint64_t last)
{
	uint64_t before = last > 1 ? last - 1 : LAUNCHES,
		 first = before > 1 ? before - 1 : LAUNCHES;
	return token_trigram(token_of_kernel(first), token_of_kernel(before),
			     token_of_kernel(last));
}

/* Launches of the last step that come; the steps that are counted by `a`. */
static uint64_t count_steps(const struct anchor *a, uint32_t n_before, uint32_t n_of_last)
{
	char path[64];
	struct journal_builder *b = jb_new(16, 4096);
	struct launch_log log;
	struct ingest f;
	struct err e;
	const struct ingest_sink sink = { .context = NULL };
	uint32_t n = n_before + (STEPS - 1) * LAUNCHES + n_of_last;
	snprintf(path, sizeof(path), "/tmp/test-anchors-%d.journal", (int)getpid());
	b->header->steps.mode = STEP_MODE_AUTO;
	jb_thread(b, 1, 100, "main");
	for (uint32_t i = 0; i < n; i++) {
		uint64_t kernel = 1 + (i + LAUNCHES - n_before) % LAUNCHES;
		jb_call(b, 1, JB_LAUNCH, 100 + 100ull * i, 50, i + 1, token_of_kernel(kernel));
	}
	jb_end(b, 200 + 100ull * n);
	jb_write(b, path);
	jb_free(b);
	assert_int_equal(ingest_open(&f, path, false, &sink, &e), 0);
	assert_int_equal(launch_log_read(&log, path, NULL, &e), 0);
	anchors_mark(&f, &log, a);
	launch_log_free(&log);
	ingest_read(&f);
	ingest_finish(&f, false);
	uint64_t count = ingest_count_steps(&f);
	ingest_close(&f);
	unlink(path);
	return count;
}

static void an_anchor_that_ends_its_step(void **state)
{
	(void)state;
	struct anchor a = { .anchor = trigram_behind(LAUNCHES) };
	assert_int_equal(count_steps(&a, 0, LAUNCHES), STEPS);
	/* a step that is cut short does not count */
	assert_int_equal(count_steps(&a, 0, LAUNCHES - 1), STEPS - 1);
}

/*
 * The anchor's last launch is the next step's first, which does not follow the last step. That step
 * is whole if the anchor's other two launches came.
 */
static void an_anchor_that_the_next_step_completes(void **state)
{
	(void)state;
	struct anchor a = { .anchor = trigram_behind(1),
			    .end = token_pair_hash(token_of_kernel(LAUNCHES - 1),
						   token_of_kernel(LAUNCHES)) };
	assert_int_equal(count_steps(&a, 0, LAUNCHES), STEPS);
	assert_int_equal(count_steps(&a, 0, LAUNCHES - 1), STEPS - 1);
	a.end = 0; /* not known */
	assert_int_equal(count_steps(&a, 0, LAUNCHES), STEPS - 1);
}

/*
 * The program's set-up ends like a step: the anchor came before the first step was over, and does
 * not come after the last one.
 */
static void an_anchor_that_came_too_soon(void **state)
{
	(void)state;
	struct anchor a = { .anchor = trigram_behind(1), .n_missed = -1, .is_late = true };
	assert_int_equal(count_steps(&a, 2, LAUNCHES), STEPS);
	assert_int_equal(count_steps(&a, 2, LAUNCHES / 2), STEPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_anchor_that_ends_its_step),
		cmocka_unit_test(an_anchor_that_the_next_step_completes),
		cmocka_unit_test(an_anchor_that_came_too_soon),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
