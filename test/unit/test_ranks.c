/* Which process of a job this one is, and which of them PROF_RANKS names. */
#include "core/runtime/ranks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* An environment: name, value, name, value, ..., NULL. */
static const char *in_list(void *context, const char *name)
{
	for (const char *const *at = context; *at; at += 2)
		if (!strcmp(*at, name))
			return at[1];
	return NULL;
}

static const char *own(const char **environment)
{
	return ranks_own(in_list, environment, NULL);
}

static void whose_word_counts(void **state)
{
	(void)state;
	const char *below_slurm[] = { "SLURM_PROCID", "0", "LOCAL_RANK", "3", "RANK", "11", NULL };
	const char *mpi[] = { "PMI_RANK", "4", "OMPI_COMM_WORLD_RANK", "5", NULL };
	const char *one_machine[] = { "LOCAL_RANK", "2", "RANK", "", NULL };
	const char *none[] = { "RANKS", "1", NULL };
	const char *variable;
	assert_string_equal(own(below_slurm), "11");
	assert_string_equal(own(mpi), "5");
	assert_string_equal(ranks_own(in_list, one_machine, &variable), "2");
	assert_string_equal(variable, "LOCAL_RANK");
	assert_null(own(none));
}

static void how_many_there_are_here(void **state)
{
	(void)state;
	const char *two_machines[] = { "WORLD_SIZE", "16", "LOCAL_WORLD_SIZE", "8", NULL };
	const char *by_hand[] = { "WORLD_SIZE", "4", NULL };
	const char *slurm[] = { "SLURM_NTASKS", "64", "SLURM_NTASKS_PER_NODE", "4", NULL };
	const char *odd[] = { "LOCAL_WORLD_SIZE", "many", "WORLD_SIZE", "2", NULL };
	const char *none[] = { NULL };
	assert_int_equal(ranks_local_size(in_list, two_machines), 8);
	assert_int_equal(ranks_local_size(in_list, by_hand), 4);
	assert_int_equal(ranks_local_size(in_list, slurm), 4);
	assert_int_equal(ranks_local_size(in_list, odd), 2);
	assert_int_equal(ranks_local_size(in_list, none), 0);
	assert_string_equal(ranks_size_variable(0), "LOCAL_WORLD_SIZE");
}

static void numbers(void **state)
{
	(void)state;
	assert_int_equal(ranks_number("0"), 0);
	assert_int_equal(ranks_number("007"), 7);
	assert_int_equal(ranks_number("999999999"), 999999999);
	static const char *const bad[] = { "", "-1", "1.5", "1 ", "0x1", "1000000000", "node1" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(ranks_number(bad[i]), -1);
	assert_int_equal(ranks_number(NULL), -1);
}

static void lists(void **state)
{
	(void)state;
	static const struct {
		const char *list, *named; /* the ranks of 0 to 9 that it names */
	} cases[] = {
		{ "all", "0123456789" }, { "0", "0" },
		{ "0,3-5", "0345" },	 { "7-7,2", "27" },
		{ "3-5,4-6", "3456" },	 { "10,20-30", "" },
		{ "00-001", "01" },	 { " 0, 3-5 ,7", "03457" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char got[16] = "";
		assert_int_equal(ranks_check(cases[i].list, NULL), 0);
		for (long rank = 0; rank < 10; rank++)
			if (ranks_has(cases[i].list, rank))
				got[strlen(got)] = (char)('0' + rank);
		assert_string_equal(got, cases[i].named);
	}
	assert_true(ranks_has("10,20-30", 25));
}

static void refused(void **state)
{
	(void)state;
	static const struct {
		const char *list, *named; /* what the line says is wrong */
	} cases[] = {
		{ "", "''" },		{ "0,", "''" },		{ ",1", "''" },
		{ "0;3", "'0;3'" },	{ "5-3", "'5-3'" },	{ "-3", "'-3'" },
		{ "3-", "'3-'" },	{ "1,two,3", "'two'" }, { "ALL", "'ALL'" },
		{ "1-2-3", "'1-2-3'" }, { "all,1", "'all'" },	{ "9999999999", "'9999999999'" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct err e = { "" };
		assert_int_equal(ranks_check(cases[i].list, &e), -EINVAL);
		if (!strstr(e.text, cases[i].named) || strchr(e.text, '\n'))
			fail_msg("\"%s\" gave: %s", cases[i].list, e.text);
		assert_int_equal(ranks_check(cases[i].list, NULL), -EINVAL);
	}
}

static void patience(void **state)
{
	(void)state;
	assert_float_equal(ranks_patience_s(0.01, 10), 20, 1e-9);
	assert_float_equal(ranks_patience_s(60, 6), 80, 1e-9);
	assert_float_equal(ranks_patience_s(60, 0), 20, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_word_counts), cmocka_unit_test(how_many_there_are_here),
		cmocka_unit_test(numbers),	     cmocka_unit_test(lists),
		cmocka_unit_test(refused),	     cmocka_unit_test(patience),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
