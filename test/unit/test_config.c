/*
 * Every setting with good and bad values, environments with other variables in them, and names that
 * are nearly right.
 */
#include "core/runtime/config.h"
#include "core/runtime/record.h"
#include "core/runtime/spelling.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *name, *text;
	bool good;
} values[] = {
	{ "PROF_SCHEDULE", "always", true },
	{ "PROF_SCHEDULE", "off", true },
	{ "PROF_SCHEDULE", "skip_first=1,wait=2,warmup=3,active=4,repeat=5", true },
	{ "PROF_SCHEDULE", "active=1", true },
	{ "PROF_SCHEDULE", "active=0", false },
	{ "PROF_SCHEDULE", "active=-1", false },
	{ "PROF_SCHEDULE", "active", false },
	{ "PROF_SCHEDULE", "wait=x,active=1", false },
	{ "PROF_SCHEDULE", "sometimes", false },
	{ "PROF_STEP", "auto", true },
	{ "PROF_STEP", "kernel:soft.*max", true },
	{ "PROF_STEP", "kernel:", false },
	{ "PROF_STEP", "kernel:(", false },
	{ "PROF_STEP", "graph", true },
	{ "PROF_STEP", "graphs", false },
	{ "PROF_STEP", "sync", true },
	{ "PROF_STEP", "api", true },
	{ "PROF_STEP", "time:1.5", true },
	{ "PROF_STEP", "time:", false },
	{ "PROF_STEP", "time:0", false },
	{ "PROF_STEP", "time:5ms", false },
	{ "PROF_STEP", "time:nan", false },
	{ "PROF_SCHEDULE", "flight=10", true },
	{ "PROF_SCHEDULE", "flight=0", false },
	{ "PROF_TRIGGER", "file", true },
	{ "PROF_TRIGGER", "none", true },
	{ "PROF_TRIGGER", "signal, slow:2.5,file", true },
	{ "PROF_TRIGGER", "signal ,file ", true },
	{ "PROF_TRIGGER", "slow:2,slow:3", false },
	{ "PROF_TRIGGER", "slow", false },
	{ "PROF_TRIGGER", "slow:", false },
	{ "PROF_TRIGGER", "slow:1", false },
	{ "PROF_TRIGGER", "slow:nan", false },
	{ "PROF_TRIGGER", "file,", false },
	{ "PROF_TRIGGER", "none,file", false },
	{ "PROF_TRIGGER", "sgnal", false },
	{ "PROF_OUT", "/some where/else", true },
	{ "PROF_FORMAT", "perfetto", true },
	{ "PROF_FORMAT", "perfetto,memory", true },
	{ "PROF_FORMAT", "perfetto,", false },
	{ "PROF_FORMAT", "tarot", false },
	{ "PROF_OPENING", "off", true },
	{ "PROF_OPENING", "10s", true },
	{ "PROF_OPENING", "64MB", true },
	{ "PROF_OPENING", "64MB,0.5s", true },
	{ "PROF_OPENING", "on", false },
	{ "PROF_OPENING", "", false },
	{ "PROF_OPENING", "10", false },
	{ "PROF_OPENING", "0s", false },
	{ "PROF_OPENING", "-1s", false },
	{ "PROF_OPENING", "10s,", false },
	{ "PROF_OPENING", "10s,5s", false },
	{ "PROF_OPENING", "10s,64GB", false },
	{ "PROF_OPENING", "off,10s", false },
	{ "PROF_LEARN_S", "1", true },
	{ "PROF_LEARN_S", "0", false },
	{ "PROF_KEEP_TRACES", "2", true },
	{ "PROF_KEEP_TRACES", "1", false },
	{ "PROF_KEEP_MB", "1", true },
	{ "PROF_KEEP_MB", "0", false },
	{ "PROF_RANKS", "0,3-5", true },
	{ "PROF_RANKS", "all", true },
	{ "PROF_RANKS", "0, 3-5 ,7", true },
	{ "PROF_RANKS", "0,3 -5", false },
	{ "PROF_RANKS", "0, ", false },
	{ "PROF_RANKS", "0,", false },
	{ "PROF_BUFFER_MB", "8", true },
	{ "PROF_BUFFER_MB", "65536", true },
	{ "PROF_BUFFER_MB", "7", false },
	{ "PROF_BUFFER_MB", "65537", false },
	{ "PROF_BUFFER_MB", "8M", false },
	{ "PROF_BUFFER_MB", "99999999999999999999", false },
	{ "PROF_CUPTI", "off", true },
	{ "PROF_CUPTI", "libcupti.so.12", true },
	{ "PROF_CUPTI", "on", false },
	{ "PROF_CUPTI", "path", false },
	{ "PROF_CUPTI", "/opt/libcupti.so", true },
	{ "PROF_PAIRING", "order", true },
	{ "PROF_PAIRING", "external", true },
	{ "PROF_PAIRING", "interval", true },
	{ "PROF_PAIRING", "inter", false },
	{ "PROF_PAIRING", "external|interval", false },
	{ "PROF_MEMORY", "off", true },
	{ "PROF_MEMORY", "no", false },
	{ "PROF_NVTX", "off", true },
	{ "PROF_NVTX", "no", false },
	{ "PROF_COLLECTOR_MB", "512", true },
	{ "PROF_COLLECTOR_MB", "0", false },
	{ "PROF_PROGRESS", "off", true },
	{ "PROF_PROGRESS", "no", false },
	{ "PROF_NCCL", "off", true },
	{ "PROF_NCCL", "none", false },
	{ "PROF_BLAS", "off", true },
	{ "PROF_BLAS", "no", false },
	{ "PROF_STACKS", "sync", true },
	{ "PROF_STACKS", "some", false },
	{ "PROF_STACK_DEPTH", "512", true },
	{ "PROF_STACK_DEPTH", "513", false },
	{ "PROF_PYTHON", "off", true },
	{ "PROF_PYTHON", "on", false },
	{ "PROF_HOST", "off", true },
	{ "PROF_HOST", "10", true },
	{ "PROF_HOST", "10000", true },
	{ "PROF_HOST", "9", false },
	{ "PROF_HOST", "10001", false },
	{ "PROF_HOST", "1kHz", false },
	{ "PROF_HOST", "on", false },
	{ "PROF_HOST", "", false },
	{ "PROF_LOG", "debug", true },
	{ "PROF_LOG", "DEBUG", false },
	{ "PROF_SIM", "1", true },
	{ "PROF_SIM", "2", false },
};

enum { N_VALUES = sizeof(values) / sizeof(*values) };

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_VALUES; i++) {
		struct err e = { "" };
		int result = config_check(values[i].name, values[i].text, &e);
		if (result != (values[i].good ? 0 : -EINVAL))
			fail_msg("%s=%s gives %d, %s", values[i].name, values[i].text, result,
				 e.text);
		/* one line, which names what was wrong */
		assert_int_equal(!values[i].good, e.text[0] != 0);
		assert_null(strchr(e.text, '\n'));
	}
}

static void test_every_row_is_tested_above(void **state)
{
	(void)state;
	for (size_t row = 0; row < config_n_rows; row++) {
		int good = 0, bad = 0;
		for (size_t i = 0; i < N_VALUES; i++)
			if (!strcmp(values[i].name, config_rows[row].name))
				values[i].good ? good++ : bad++;
		if (!good || (!bad && config_rows[row].type != CONFIG_TEXT))
			fail_msg("%s has %d good and %d bad values here", config_rows[row].name,
				 good, bad);
	}
}

static void test_defaults_are_valid(void **state)
{
	(void)state;
	for (size_t row = 0; row < config_n_rows; row++) {
		struct err e;
		assert_int_equal(config_check(config_rows[row].name, config_rows[row].fallback, &e),
				 0);
		assert_true(config_rows[row].meaning[0] && config_rows[row].range[0]);
	}
}

static void test_texts_that_are_too_long(void **state)
{
	(void)state;
	static char text[CONFIG_TEXT_BYTES + 1];
	struct err e;
	memset(text, 'x', CONFIG_TEXT_BYTES - 1);
	assert_int_equal(config_check("PROF_OUT", text, &e), 0);
	text[CONFIG_TEXT_BYTES - 1] = 'x';
	assert_int_equal(config_check("PROF_OUT", text, &e), -EINVAL);
}

static void test_no_such_setting(void **state)
{
	(void)state;
	struct err e;
	assert_int_equal(config_check("PROF_MOON", "full", &e), -ENOENT);
	assert_non_null(strstr(e.text, "PROF_MOON"));
}

static void test_nearest(void **state)
{
	(void)state;
	static const char *const pairs[][2] = { { "PROF_SHEDULE", "PROF_SCHEDULE" },
						{ "PROF_BUFFER", "PROF_BUFFER_MB" },
						{ "PROF_STEPS", "PROF_STEP" },
						{ "PROF_OUTPUT", "PROF_OUT" },
						{ "PROF_LGO", "PROF_LOG" } };
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		const struct config_row *row = config_nearest(pairs[i][0]);
		assert_non_null(row);
		assert_string_equal(row->name, pairs[i][1]);
	}
	assert_null(config_nearest("PROF_BOGUS"));
	assert_null(config_nearest("PROF_"));
	assert_null(config_nearest("PROF_SOMETHING_ALTOGETHER_DIFFERENT"));
}

static void test_did_you_mean(void **state)
{
	static const char *const rows[][3] = { { "synch", "all|sync|none",
						 " (did you mean sync?)" },
					       { "moon", "all|sync|none", "" },
					       { "x", "on|off", "" },
					       { "", "on|off", "" } };
	static const char *const refused[][3] = {
		{ "PROF_FORMAT", "perfetto,memroy", "(did you mean memory?)" },
		{ "PROF_SCHEDULE", "skip_first=1,wiat=3", "\"wiat\" (did you mean wait?)" },
		{ "PROF_SCHEDULE", "activ=3", "\"activ\" (did you mean active?)" },
		{ "PROF_SCHEDULE", "alwyas", "\"alwyas\" (did you mean always?)" },
		{ "PROF_TRIGGER", "slow", "slow:FACTOR, for example slow:3" },
		{ "PROF_TRIGGER", "file,slow:", "slow:FACTOR, for example slow:3" },
		{ "PROF_TRIGGER", "slwo:3", "(did you mean slow:FACTOR?)" },
		{ "PROF_CUPTI", "auot", "(did you mean auto?)" },
		{ "PROF_NVTX", "of", "(did you mean o" },
	};
	char meant[SPELLING_MEANT_BYTES];
	struct config_step step;
	struct err e;
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(spelling_did_you_mean(meant, sizeof(meant), rows[i][0],
							  rows[i][1]),
				    rows[i][2]);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		assert_true(config_check(refused[i][0], refused[i][1], &e));
		assert_non_null(strstr(e.text, refused[i][2]));
	}
	assert_true(config_parse_step("kernal:gemm", &step, &e));
	assert_non_null(strstr(e.text, "|api (did you mean kernel:?)"));
}

struct complaints {
	int n;
	char last[600];
};

static void note(void *context, const char *line)
{
	struct complaints *c = context;
	c->n++;
	snprintf(c->last, sizeof(c->last), "%s", line);
}

static void test_reading_an_environment(void **state)
{
	(void)state;
	struct complaints c = { 0 };
	struct config config;
	char *environment[] = {
		"HOME=/",	   "PROF_OUT=/there=here", "PROF_STEP=", "PROF_BUFFER_MB=16",
		"PROF_LAUNCHED=1", "PROFILE=no",	   NULL
	};
	config_read(&config, environment, note, &c);
	assert_int_equal(c.n, 0);
	assert_string_equal(config.out.text, "/there=here");
	assert_true(config.out.set);
	assert_string_equal(config.step.text, "auto");
	assert_false(config.step.set);
	assert_int_equal(config_number(&config.buffer_mb), 16);
	assert_string_equal(config.log.text, "warn");
}

static void test_bad_entries_are_named_once_and_the_default_stands(void **state)
{
	(void)state;
	static const struct {
		char *entry;
		const char *words[2];
	} bad[] = {
		{ "PROF_STEP=moon", { "PROF_STEP", "auto" } },
		{ "PROF_SCHEDULE=active=0", { "PROF_SCHEDULE", "skip_first=10" } },
		{ "PROF_BUFFER_MB=1", { "PROF_BUFFER_MB", "256" } },
		{ "PROF_LOG=loud", { "PROF_LOG", "error|warn|info|debug" } },
		{ "PROF_SHEDULE=off", { "PROF_SHEDULE", "PROF_SCHEDULE" } },
		{ "PROF_SHEDULE", { "PROF_SHEDULE", "PROF_SCHEDULE" } },
		{ "PROF_", { "unknown", "PROF_" } },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct complaints c = { 0 };
		struct config config, plain;
		char *none[] = { NULL }, *environment[] = { bad[i].entry, NULL };
		config_read(&config, environment, note, &c);
		config_read(&plain, none, NULL, NULL);
		assert_int_equal(c.n, 1);
		assert_non_null(strstr(c.last, bad[i].words[0]));
		assert_non_null(strstr(c.last, bad[i].words[1]));
		assert_string_equal(config.step.text, plain.step.text);
		assert_string_equal(config.schedule.text, plain.schedule.text);
		assert_string_equal(config.buffer_mb.text, plain.buffer_mb.text);
		assert_string_equal(config.log.text, plain.log.text);
	}
}

static void test_parsed_steps(void **state)
{
	(void)state;
	struct config_step step;
	assert_int_equal(config_parse_step("kernel:a|b", &step, NULL), 0);
	assert_int_equal(step.mode, STEP_MODE_KERNEL);
	assert_string_equal(step.pattern, "a|b");
	assert_int_equal(config_parse_step("auto", &step, NULL), 0);
	assert_false(step.wants_optimizer);
	assert_int_equal(config_parse_step("optimizer", &step, NULL), 0);
	assert_int_equal(step.mode, STEP_MODE_AUTO);
	assert_true(step.wants_optimizer);
	assert_int_equal(config_parse_step("optimizers", &step, NULL), -EINVAL);
	assert_int_equal(config_parse_step("python:src/train.py:Trainer.step", &step, NULL), 0);
	assert_int_equal(step.mode, STEP_MODE_AUTO);
	assert_true(step.wants_function);
	assert_string_equal(step.pattern, "src/train.py:Trainer.step");
	assert_int_equal(config_parse_step("python:train.py", &step, NULL), -EINVAL);
	assert_int_equal(config_parse_step("nvtx:train step@loop", &step, NULL), 0);
	assert_int_equal(step.mode, STEP_MODE_NVTX);
	assert_string_equal(step.pattern, "train step@loop");
	assert_int_equal(config_parse_step("nvtx:", &step, NULL), -EINVAL);
	assert_int_equal(config_parse_step("time:2.5", &step, NULL), 0);
	assert_int_equal(step.mode, STEP_MODE_TIME);
	assert_int_equal(step.slice_ns, 2500000);
	assert_int_equal(config_parse_step("api", &step, NULL), 0);
	assert_int_equal(step.mode, STEP_MODE_API);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_every_row_is_tested_above),
		cmocka_unit_test(test_defaults_are_valid),
		cmocka_unit_test(test_texts_that_are_too_long),
		cmocka_unit_test(test_no_such_setting),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_did_you_mean),
		cmocka_unit_test(test_reading_an_environment),
		cmocka_unit_test(test_bad_entries_are_named_once_and_the_default_stands),
		cmocka_unit_test(test_parsed_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
