/* The schedule against torch's own answers (test/steps/torch_schedule.tsv), and what the parser
 * takes. */
#include "core/runtime/schedule.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TABLE "test/steps/torch_schedule.tsv"

static const char action_letters[] = {
	[SCHED_NONE] = 'N',
	[SCHED_WARMUP] = 'W',
	[SCHED_RECORD] = 'R',
	[SCHED_RECORD_AND_SAVE] = 'S',
};

static struct schedule parsed(const char *text)
{
	struct schedule s;
	struct err e = { "" };
	if (schedule_parse(text, &s, &e))
		fail_msg("%s: %s", text, e.text);
	return s;
}

/* schedule_first_recorded() and schedule_done() must say what the action sequence itself shows. */
static void check_summary(const struct schedule *s, const char *actions)
{
	size_t n = strlen(actions), first = strspn(actions, "N"), last = n;
	while (last > 0 && actions[last - 1] == 'N')
		last--;
	if (first < n)
		assert_int_equal(schedule_first_recorded(s), first);
	else
		assert_true(schedule_first_recorded(s) >= n);
	uint64_t left_out = s->skip_first_wait ? s->wait : 0;
	uint64_t whole = s->skip_first + s->repeat * (s->wait + s->warmup + s->active) - left_out;
	bool seen_whole = s->repeat && whole <= n;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(schedule_done(s, i), seen_whole && i >= last);
}

static void test_torch_table(void **state)
{
	(void)state;
	const char *other = getenv("PROFRUN_SCHEDULE_TABLE"); /* test/torch draws its own */
	FILE *f = fopen(other ? other : TABLE, "r");
	if (!f)
		fail_msg("%s cannot be opened: run from the top of the repository",
			 other ? other : TABLE);
	char line[256];
	int rows = 0;
	while (fgets(line, sizeof(line), f)) {
		unsigned long long v[6];
		char want[64], got[64], text[160];
		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%llu %llu %llu %llu %llu %llu %63s", &v[0], &v[1],
					&v[2], &v[3], &v[4], &v[5], want),
				 7);
		snprintf(text, sizeof(text),
			 "repeat=%llu,active=%llu,wait=%llu,skip_first=%llu,warmup=%llu,skip_first_"
			 "wait=%llu",
			 v[4], v[3], v[1], v[0], v[2], v[5]);
		struct schedule s = parsed(text);
		size_t n = strlen(want);
		for (size_t i = 0; i < n; i++)
			got[i] = action_letters[schedule_action(&s, i)];
		got[n] = '\0';
		if (strcmp(got, want))
			fail_msg("%s\n torch %s\n here  %s", text, want, got);
		check_summary(&s, want);
		rows++;
	}
	fclose(f);
	assert_true(rows >= 60);
}

static void test_default(void **state)
{
	(void)state;
	struct schedule s = parsed(SCHEDULE_DEFAULT);
	assert_int_equal(schedule_first_recorded(&s), 10);
	assert_int_equal(schedule_action(&s, 14), SCHED_RECORD_AND_SAVE);
	assert_false(schedule_done(&s, 14));
	assert_true(schedule_done(&s, 15));
}

static void test_omitted_keys(void **state)
{
	(void)state;
	struct schedule s = parsed(" skip_first = 2 ");
	assert_int_equal(s.wait, 0);
	assert_int_equal(s.warmup, 0);
	assert_int_equal(s.active, 1);
	assert_int_equal(s.repeat, 0);
	assert_int_equal(schedule_action(&s, 1), SCHED_NONE);
	assert_int_equal(schedule_action(&s, 2), SCHED_RECORD_AND_SAVE);
	assert_false(schedule_done(&s, 1000000000));
}

static void test_words(void **state)
{
	(void)state;
	struct schedule s = parsed("always");
	assert_int_equal(schedule_action(&s, 0), SCHED_RECORD);
	assert_int_equal(schedule_first_recorded(&s), 0);
	assert_false(schedule_done(&s, UINT64_MAX));
	s = parsed("off");
	assert_int_equal(schedule_action(&s, 0), SCHED_NONE);
	assert_true(schedule_first_recorded(&s) == SCHEDULE_NEVER);
	assert_true(schedule_done(&s, 0));
}

/* Numbers that a job of years could reach do not wrap. */
static void test_large_numbers(void **state)
{
	(void)state;
	struct schedule s = parsed("skip_first=1000000000000,wait=1000000000000,active="
				   "1000000000000,repeat=1000000000000");
	assert_int_equal(schedule_action(&s, 1999999999999), SCHED_NONE);
	assert_int_equal(schedule_action(&s, 2000000000000), SCHED_RECORD);
	assert_int_equal(schedule_action(&s, 2999999999999), SCHED_RECORD_AND_SAVE);
	assert_false(schedule_done(&s, UINT64_MAX / 2));
}

/* Every step from the first one on, for ever; wait and warmup come once. */
static void test_flight(void **state)
{
	(void)state;
	struct schedule s = parsed("flight=5");
	assert_true(s.always);
	assert_int_equal(s.flight, 5);
	assert_int_equal(s.active, 0);
	assert_int_equal(schedule_action(&s, 0), SCHED_RECORD);
	s = parsed("skip_first=3,flight=5,wait=1,warmup=2,active=4");
	assert_false(s.always);
	assert_int_equal(s.active, 4);
	assert_int_equal(schedule_first_recorded(&s), 4);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(schedule_action(&s, i), i < 4	 ? SCHED_NONE
							 : i < 6 ? SCHED_WARMUP
								 : SCHED_RECORD);
	assert_false(schedule_done(&s, UINT64_MAX));
}

static void test_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text, *named; /* a word that the message must hold */
	} cases[] = {
		{ "", "empty" },
		{ "  ", "empty" },
		{ "active", "active" },
		{ "active=0", "active=0" },
		{ "active=", "active=" },
		{ "active=-1", "active=-1" },
		{ "active=1.5", "1.5" },
		{ "active=3 steps", "3 steps" },
		{ "activ=3", "activ" },
		{ "active=3,", "entry between commas is empty" },
		{ ",active=3", "entry between commas is empty" },
		{ "active=3,,wait=1", "entry between commas is empty" },
		{ "active=3,active=4", "twice" },
		{ "always,active=3", "always" },
		{ "flight=0", "flight=0" },
		{ "flight=1000001", "flight=1000001: expected a whole number from 1 to 10^6" },
		{ "flight=99999999999", "from 1 to 10^6" },
		{ "flight=5,flight=6", "twice" },
		{ "repeat=1,flight=5", "repeat=1 cannot be combined with flight" },
		{ "wait=99999999999999999999", "wait=" },
		{ "=3", "unknown key" },
		{ "ALWAYS", "ALWAYS" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct schedule s = { .active = 77 };
		struct err e = { "" };
		assert_int_equal(schedule_parse(cases[i].text, &s, &e), -EINVAL);
		if (!strstr(e.text, cases[i].named) || strchr(e.text, '\n'))
			fail_msg("\"%s\" gave: %s", cases[i].text, e.text);
		assert_int_equal(s.active, 77);
		assert_int_equal(schedule_parse(cases[i].text, &s, NULL), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_torch_table),   cmocka_unit_test(test_default),
		cmocka_unit_test(test_omitted_keys),  cmocka_unit_test(test_words),
		cmocka_unit_test(test_large_numbers), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_flight),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
