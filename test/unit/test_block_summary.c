/* core/analysis/block_summary.h: the phase that a block ends in. */
#include "core/analysis/block_summary.h"
#include "core/analysis/phases.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { TID = 100, BLOCK = 0x1000, OTHER_BLOCK = 0x2000 };

static void make(struct model_step *m, uint64_t ns, uint64_t address)
{
	vec_push(&m->blocks,
		 ((struct model_block){
			 .ns = ns, .address = address, .bytes = 64, .event = BLOCK_MADE }));
}

/*
 * The block is made at 50. One call is made at `call_ns`, another block at `other_ns` (0: none).
 * Then the block is freed.
 */
static enum phase ends_in(uint64_t call_ns, uint8_t part, uint64_t other_ns)
{
	struct model_step m = { .end_ns = 1000 };
	struct phases phases = { 0 };
	struct block_summary l = { 0 };
	vec_push(&m.threads, ((struct model_thread){ .tid = TID, .n = 1 }));
	vec_push(&m.calls, ((struct model_call){ .begin_ns = call_ns, .end_ns = call_ns + 10 }));
	vec_push(&phases.part_of_call, part);
	make(&m, 50, BLOCK);
	if (other_ns)
		make(&m, other_ns, OTHER_BLOCK);
	vec_push(&m.blocks,
		 ((struct model_block){
			 .ns = 500, .address = BLOCK, .bytes = 64, .event = BLOCK_FREED }));
	block_summary_add(&l, &m, &phases, NULL);
	enum phase phase = (enum phase)l.lives.at[0].end_phase;
	assert_int_equal(l.lives.at[0].address, BLOCK);
	block_summary_free(&l);
	vec_free(&phases.part_of_call);
	vec_free(&m.threads);
	vec_free(&m.calls);
	vec_free(&m.blocks);
	return phase;
}

/* Without a stack, and where no time tells, a block is made in no phase. */
static void the_last_call_or_block_before_decides(void **state)
{
	(void)state;
	assert_int_equal(ends_in(100, PART_OPTIMIZER, 0), PHASE_OPTIMIZER);
	assert_int_equal(ends_in(100, PART_OPTIMIZER, 80), PHASE_OPTIMIZER);
	assert_int_equal(ends_in(100, PART_OPTIMIZER, 200), PHASE_OTHER);
	/* made before both, and behind the free */
	assert_int_equal(ends_in(20, PART_OPTIMIZER, 0), PHASE_OTHER);
	assert_int_equal(ends_in(600, PART_OPTIMIZER, 0), PHASE_OTHER);
	/* a call of the user's own line says nothing */
	assert_int_equal(ends_in(100, PART_USER, 0), PHASE_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		the_last_call_or_block_before_decides) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
