/* The words of the status line, and how launcher and collector exchange them. */
#include "export/progress_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct made {
	struct process_facts facts;
	struct facts_records records;
	struct sample_summary times;
	struct report_process report;
	struct report_gpu gpu;
	int64_t recorded[3];
	struct progress_state state;
};

/* Makes the state of a process that has used CUDA and has no steps yet. */
static void make(struct made *m)
{
	*m = (struct made){ .records = { .launches = 1234567 },
			    .times = { .n = 10, .p50 = 12.4 },
			    .gpu = { .busy_pct = 42.7 },
			    .recorded = { 12, 13, 14 } };
	m->facts = (struct process_facts){ .pid = 77,
					   .rank = "",
					   .records = &m->records,
					   .steps = { .last = -1, .action = FACTS_SKIPS } };
	m->state = (struct progress_state){ .facts = &m->facts, .n_processes = 1 };
}

static void assert_words(const struct made *m, const char *expected)
{
	char to[PROGRESS_BYTES];
	assert_string_equal(progress_words(to, sizeof(to), &m->state), expected);
}

static void before_the_first_step(void **state)
{
	struct made m;
	(void)state;
	make(&m);
	assert_words(&m, "detecting steps; 1,234,567 launches; 0 dropped");
	m.state.facts = NULL;
	assert_words(&m, "no CUDA call yet");
}

static void steps_in_their_order(void **state)
{
	struct made m;
	(void)state;
	make(&m);
	m.facts.steps.last = 9;
	m.facts.steps.step_ms = &m.times;
	m.facts.steps.first_scheduled = 12;
	assert_words(&m, "recording starts at step 12; step 9; 12.40 ms; 0 dropped");
	m.facts.steps.action = FACTS_WARMS_UP;
	assert_words(&m, "warming up; step 9; 12.40 ms; 0 dropped");
	m.facts.steps.action = FACTS_RECORDS;
	m.facts.losses.dropped = 1000;
	m.facts.losses.dropped_by_cupti = 5;
	assert_words(&m, "recording; step 9; 12.40 ms; 1,005 dropped");
	m.facts.steps.action = FACTS_SKIPS;
	m.facts.steps.last = 15;
	assert_words(&m, "not recording; step 15; 12.40 ms; 1,005 dropped");
	m.facts.steps.recorded.at = m.recorded;
	m.facts.steps.recorded.n = 3;
	m.report.gpu.at = &m.gpu;
	m.report.gpu.n = 1;
	m.state.report = &m.report;
	assert_words(&m, "recorded 12-14; step 15; 12.40 ms; GPU utilization 43 %; 1,005 dropped");
}

static void one_of_several_processes(void **state)
{
	struct made m;
	(void)state;
	make(&m);
	m.state.n_processes = 2;
	assert_words(&m, "process 77: detecting steps; 1,234,567 launches; 0 dropped");
	m.facts.rank = "3";
	assert_words(&m, "rank 3: detecting steps; 1,234,567 launches; 0 dropped");
}

static void an_answer_is_one_line(void **state)
{
	char line[PROGRESS_BYTES];
	struct made m;
	(void)state;
	make(&m);
	progress_answer_make(line, &m.state);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	line[strlen(line) - 1] = 0;
	assert_string_equal(progress_answer(line),
			    "detecting steps; 1,234,567 launches; 0 dropped");
	assert_string_equal(progress_answer("settled 0"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_the_first_step),
		cmocka_unit_test(steps_in_their_order),
		cmocka_unit_test(one_of_several_processes),
		cmocka_unit_test(an_answer_is_one_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
