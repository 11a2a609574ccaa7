/*
 * Calls and GPU work as in a journal for which CUPTI records no calls, for the tests of pairing by
 * order.
 */
#ifndef UNIT_MADE_ORDER_H
#define UNIT_MADE_ORDER_H

#include "core/source/journal/pair_order.h"
#include "core/util/map.h"
#include "core/util/vec.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
	HOOK_LAUNCH = 1,
	HOOK_MEMCPY,
	HOOK_MEMSET,
	HOOK_GRAPH,
	HOOK_SYNC,
	HOOK_STREAM_SYNC,
	HOOK_STREAM,
	HOOK_LAUNCH_PTSZ,
	HOOKS
};
enum { KERNELS = 40, UNNAMED = 50, UNSHAPED = 60, NO_LAUNCH = 70, THREADS = 8 };
enum { LATENCY = 30, LENGTH = 50 };

static struct made {
	struct dict dict;
	struct made_thread {
		VEC(struct rec_call) calls;
		uint32_t seq;
	} threads[THREADS];
	VEC(struct rec_gpu) works;
	uint64_t off_begin, off_end; /* CUPTI is off between */
	VEC(struct pair_opening) opened;
	uint32_t gone_id; /* 0: none is */
	size_t n_gone, n_gone_calls;
	bool was_full;
	VEC(struct pair_dropped) dropped;
	pair_withouts without;
	uint32_t closed_seq;
	bool is_closed;
	struct rec_external *answers;
	size_t n_answers;
} m;

/*
 * All kernels have the grid 1 x 1 x 1, so only its name distinguishes kernel k. UNNAMED is a launch
 * with a made-up name.
 */
static int set_up(void **state)
{
	static const struct {
		const char *name;
		uint8_t category;
	} hooks[HOOKS] = {
		[0] = { "", CAT_COUNT },
		[HOOK_LAUNCH] = { "cudaLaunchKernel", CAT_LAUNCH },
		[HOOK_MEMCPY] = { "cudaMemcpyAsync", CAT_MEMCPY },
		[HOOK_MEMSET] = { "cudaMemsetAsync", CAT_MEMSET },
		[HOOK_GRAPH] = { "cudaGraphLaunch", CAT_GRAPH },
		[HOOK_SYNC] = { "cudaDeviceSynchronize", CAT_SYNC },
		[HOOK_STREAM_SYNC] = { "cudaStreamSynchronize", CAT_SYNC },
		[HOOK_STREAM] = { "cudaStreamCreate", CAT_STREAM },
		[HOOK_LAUNCH_PTSZ] = { "cudaLaunchKernel_ptsz", CAT_LAUNCH },
	};
	(void)state;
	m = (struct made){ 0 };
	for (size_t i = 0; i < HOOKS; i++)
		vec_push(&m.dict.hooks,
			 (struct hook_entry){
				 .category = hooks[i].category,
				 .name = strtab_intern(&m.dict.t.names, hooks[i].name) });
	for (uint32_t k = 0; k <= UNSHAPED; k++) {
		vec_push(&m.dict.t.kernels, (struct run_kernel){ .name = k,
								 .block = { 32, 1, 1 },
								 .is_known = k < UNSHAPED });
		*map_at(&m.dict.t.launch_of_token, k, NULL) = m.dict.t.launches.n;
		vec_push(&m.dict.t.launches, (struct run_launch){ .token = k,
								  .name = k,
								  .grid = { 1, 1, 1 },
								  .block = { 32, 1, 1 },
								  .is_named = k < UNNAMED });
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dict_free(&m.dict);
	for (size_t i = 0; i < THREADS; i++)
		vec_free(&m.threads[i].calls);
	vec_free(&m.works);
	vec_free(&m.opened);
	vec_free(&m.dropped);
	vec_free(&m.without);
	free(m.answers);
	return 0;
}

static bool has_work(uint16_t hook)
{
	return category_has_work(m.dict.hooks.at[hook].category);
}

/* Its number; calls of a thread come in order. */
static uint32_t call_on(uint32_t thread, uint16_t hook, uint64_t begin, uint64_t arg,
			uint64_t stream)
{
	struct made_thread *t = &m.threads[thread];
	vec_push(&t->calls, (struct rec_call){ .hook = hook,
					       .begin_ticks = begin,
					       .duration = LENGTH,
					       .seq = has_work(hook) ? ++t->seq : 0,
					       .stream = stream,
					       .arg = arg });
	return t->seq;
}

__attribute__((unused)) static uint32_t call(uint16_t hook, uint64_t begin, uint64_t arg)
{
	return call_on(0, hook, begin, arg, 0);
}

static struct rec_gpu *work(uint8_t kind, uint32_t correlation, uint64_t begin, uint32_t what)
{
	struct rec_gpu g = {
		.kind = kind, .correlation = correlation, .begin_ticks = begin, .stream = 7
	};
	if (kind == REC_KERNEL) {
		g.name = what;
		g.grid[0] = g.grid[1] = g.grid[2] = 1;
	} else {
		g.bytes_low = what;
	}
	vec_push(&m.works, g);
	return &m.works.at[m.works.n - 1];
}

static bool expects_work(const void *context, const struct rec_call *c)
{
	(void)context;
	return !c->status && has_work(c->hook) &&
	       !(c->begin_ticks >= m.off_begin && c->begin_ticks < m.off_end);
}

static void pair_all(void)
{
	struct pair_thread threads[THREADS];
	for (uint32_t i = 0; i < THREADS; i++)
		threads[i] = (struct pair_thread){ .slot = i + 1,
						   .calls = m.threads[i].calls.at,
						   .n_calls = m.threads[i].calls.n,
						   .closed_seq = m.closed_seq };
	const struct pair_input in = { .dict = &m.dict,
				       .threads = threads,
				       .n_threads = THREADS,
				       .works = m.works.at,
				       .n_works = m.works.n,
				       .expects_work = expects_work,
				       .openings = m.opened.at,
				       .n_openings = m.opened.n,
				       .has_gone = m.gone_id,
				       .gone_id = m.gone_id,
				       .n_gone = m.n_gone,
				       .was_full = m.was_full,
				       .is_full = m.was_full,
				       .dropped = m.dropped.at,
				       .n_dropped = m.dropped.n,
				       .n_gone_calls = m.n_gone_calls,
				       .is_closed = m.is_closed };
	m.answers = mem_resize(m.answers, m.works.n * sizeof(*m.answers));
	m.n_answers = pair_by_order(&in, m.answers, &m.without);
}

/* thread * 1e6 + the call's number in it; 0: none was found. */
__attribute__((unused)) static uint32_t found(uint32_t correlation)
{
	uint32_t answer = 0;
	for (size_t i = 0; i < m.n_answers; i++) {
		if (m.answers[i].correlation != correlation)
			continue;
		assert_int_equal(answer, 0);
		assert_int_equal(m.answers[i].kind, REC_EXTERNAL);
		answer = (m.answers[i].thread - 1) * 1000000 + m.answers[i].seq;
	}
	return answer;
}

#endif
