/*
 * Threads that launch the same kernel on one stream and lose the CPU inside a call, before or after
 * the call took its id. Nothing is missing, so each call has work.
 */
#include "test/unit/made_order.h"

enum { LAUNCHES = 100, ROUNDS = 150, MOST_IN_A_ROW = 120, HALF_CALL = 500, WORK = 4000 };

static struct machine {
	unsigned seed;
	uint64_t now, gpu_free;
	struct {
		uint32_t n_made;
		bool is_open, has_id; /* of its last call */
	} threads[THREADS];
	uint32_t n_left; /* threads with calls to make */
} machine;

static void take_id(uint32_t thread)
{
	bool is_copy = machine.threads[thread].n_made == 1;
	uint64_t at = machine.now + LATENCY;
	machine.gpu_free = WORK + (machine.gpu_free > at ? machine.gpu_free : at);
	work(is_copy ? REC_MEMCPY : REC_KERNEL, (uint32_t)m.works.n + 1, machine.gpu_free - WORK,
	     is_copy ? 64 : 1)
		->end_ticks = machine.gpu_free;
	machine.threads[thread].has_id = true;
}

/* Continues the thread's call, or makes the next one. `loses_cpu`: it does not end. */
static void go_on(uint32_t thread, bool loses_cpu)
{
	__typeof__(&machine.threads[0]) t = &machine.threads[thread];
	if (!t->is_open) {
		t->is_open = true;
		t->has_id = false;
		call_on(thread, t->n_made ? HOOK_LAUNCH : HOOK_MEMCPY, machine.now,
			t->n_made ? 1 : 64, 0);
		t->n_made++;
		machine.now += HALF_CALL;
	}
	if (loses_cpu && rand_r(&machine.seed) % 2)
		return;
	if (!t->has_id)
		take_id(thread);
	machine.now += HALF_CALL;
	if (loses_cpu)
		return;
	struct rec_call *c = &m.threads[thread].calls.at[t->n_made - 1];
	c->duration = machine.now - c->begin_ticks;
	machine.now += HALF_CALL;
	t->is_open = false;
	machine.n_left -= t->n_made == LAUNCHES + 1;
}

static void run(unsigned seed)
{
	machine = (struct machine){ .seed = seed, .n_left = THREADS };
	while (machine.n_left) {
		uint32_t thread = (uint32_t)rand_r(&machine.seed) % THREADS;
		int n = rand_r(&machine.seed) % MOST_IN_A_ROW;
		for (; n >= 0 && (machine.threads[thread].is_open ||
				  machine.threads[thread].n_made <= LAUNCHES);
		     n--)
			go_on(thread, !n && rand_r(&machine.seed) % 2);
	}
}

static void test_each_call_has_work(void **state)
{
	unsigned n_whole = 0;
	for (unsigned seed = 0; seed < ROUNDS; seed++) {
		tear_down(state);
		set_up(state);
		run(seed);
		pair_all();
		assert_int_equal(m.works.n, THREADS * (LAUNCHES + 1));
		n_whole += m.n_answers == m.works.n;
	}
	print_message("all paired in %u of %d rounds\n", n_whole, ROUNDS);
	assert_in_range(n_whole, 140, ROUNDS); /* measured: 148; 118 without pair_repair.c */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_call_has_work, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
