/*
 * NCCL communicators by handle: names that are the same in all ranks, counts, and which functions
 * of the library are called.
 */
#include "preload/comms.h"
#include "preload/libs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* ---- In place of NCCL ---- */

static unsigned n_asked;

static int tell_seven(void *comm, int *to)
{
	(void)comm;
	*to = 7;
	n_asked++;
	return 0;
}

/* In place of preload/libs_real.c's, which this program leaves in its archive. */
void *libs_helper(const char *symbol, enum record_library family, void *return_address)
{
	(void)symbol;
	(void)return_address;
	assert_int_equal(family, LIB_NCCL);
	return (void *)tell_seven;
}

/* ---- Tests ---- */

static char places[600];

static void *comm(unsigned i)
{
	return &places[i];
}

static struct rec_library filled(void *handle)
{
	struct rec_library l = { 0 };
	comms_fill(&l, handle);
	return l;
}

static void learn(void *handle, char id, int rank)
{
	struct nccl_id name = { .bytes = { id } };
	comms_learn(0, &handle, &name, rank, 4);
}

static void test_named_by_id_and_counted(void **state)
{
	(void)state;
	learn(comm(0), 'a', 3);
	learn(comm(1), 'a', 2); /* another rank of it, as a thread of this process */
	learn(comm(2), 'b', 0);
	assert_int_equal(filled(comm(0)).nccl.sequence, 0);
	comms_count(comm(0));
	comms_count(comm(0));
	struct rec_library l = filled(comm(0));
	assert_int_equal(l.nccl.sequence, 2);
	assert_int_equal(l.nccl.rank, 3);
	assert_int_equal(l.nccl.n_ranks, 4);
	assert_true(l.nccl.comm && l.nccl.comm == filled(comm(1)).nccl.comm);
	assert_true(filled(comm(2)).nccl.comm != l.nccl.comm);
	assert_int_equal(filled(comm(1)).nccl.sequence, 0);
	assert_int_equal(n_asked, 0);
}

static void test_an_unknown_communicator_is_asked_once(void **state)
{
	(void)state;
	n_asked = 0;
	comms_count(comm(10));
	comms_count(comm(10));
	assert_int_equal(n_asked, 2); /* its rank and its size */
	struct rec_library l = filled(comm(10));
	assert_int_equal(l.nccl.rank, 7);
	assert_int_equal(l.nccl.sequence, 2);
	assert_int_equal(l.nccl.comm, 0);
}

static void test_no_communicator_is_not_asked(void **state)
{
	(void)state;
	n_asked = 0;
	comms_count(NULL);
	assert_int_equal(n_asked, 0);
	assert_int_equal(filled(NULL).nccl.rank, UINT16_MAX);
}

static void test_a_split_is_named_by_its_parent(void **state)
{
	(void)state;
	void *made[] = { comm(20), comm(21), comm(22), NULL };
	learn(comm(0), 'a', 0);
	learn(comm(1), 'a', 1);
	comms_learn_split(0, comm(0), 5, &made[0]);
	comms_learn_split(0, comm(1), 5, &made[1]);
	comms_learn_split(0, comm(1), 5, &made[2]);
	comms_learn_split(0, comm(1), -1, &made[3]); /* takes no part, but counts */
	assert_true(filled(comm(20)).nccl.comm == filled(comm(21)).nccl.comm);
	assert_true(filled(comm(22)).nccl.comm != filled(comm(21)).nccl.comm);
	assert_int_equal(filled(comm(20)).nccl.n_ranks, 7);
}

static void test_places_are_reused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(places); i++) {
		learn(comm(i), 'c', (int)i);
		assert_int_equal(filled(comm(i)).nccl.rank, i);
		comms_forget(comm(i));
		assert_int_equal(filled(comm(i)).nccl.rank, UINT16_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_by_id_and_counted),
		cmocka_unit_test(test_an_unknown_communicator_is_asked_once),
		cmocka_unit_test(test_no_communicator_is_not_asked),
		cmocka_unit_test(test_a_split_is_named_by_its_parent),
		cmocka_unit_test(test_places_are_reused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
