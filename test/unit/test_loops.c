/*
 * Loops from the stacks of calls: loop_stacks.h, loop_tree.h, loop_choice.h. A
 * function is a text: '.' is a call, '[' and ']' are a loop, '(' and ')' an `if`. Its control flow
 * is a real one.
 */
#include "core/runtime/token.h"
#include "core/steps/learn.h"
#include "core/steps/loop_anchor.h"
#include "core/steps/loop_births.h"
#include "core/steps/loop_choice.h"
#include "core/steps/loop_repair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { LAUNCH = 1, SYNC, COPY, GRAPH, QUERY, EVENT }; /* ids of hooks */
enum { MAIN, HELPER, STEP, FUNCTIONS };

struct fixture {
	struct dict dict;
	struct loop_tree tree;
	struct flow *flows[FUNCTIONS];
	uint64_t now;
};

static void add_hook(struct dict *d, uint16_t id, uint8_t category)
{
	union {
		struct dict_hook h;
		char bytes[64];
	} u = { .h = { .head = { DICT_MARK, DICT_HOOK, 24 }, .id = id, .category = category } };
	strcpy(u.h.name, "f");
	dict_add(d, &u.h.head);
}

static struct flow *flow_of(const char *text)
{
	struct flow_instruction at[64];
	size_t open[16], n_open = 0, n = strlen(text);
	for (size_t i = 0; i < n; i++) {
		at[i] = (struct flow_instruction){ .at = i,
						   .target = FLOW_NO_TARGET,
						   .falls_through = true };
		if (text[i] == '[' || text[i] == '(')
			open[n_open++] = i;
		if (text[i] == ']')
			at[i].target = open[--n_open];
		if (text[i] == ')')
			at[open[--n_open]].target = i;
	}
	at[n] = (struct flow_instruction){ .at = n, .target = FLOW_NO_TARGET };
	return flow_new(at, n + 1, false);
}

static void start(struct fixture *f, const char *main, const char *helper)
{
	*f = (struct fixture){ .now = 1000 };
	add_hook(&f->dict, LAUNCH, CAT_LAUNCH);
	add_hook(&f->dict, SYNC, CAT_SYNC);
	add_hook(&f->dict, COPY, CAT_MEMCPY);
	add_hook(&f->dict, GRAPH, CAT_GRAPH);
	add_hook(&f->dict, QUERY, CAT_QUERY);
	add_hook(&f->dict, EVENT, CAT_EVENT);
	loop_tree_start(&f->tree, &f->dict);
	f->flows[MAIN] = flow_of(main);
	f->flows[HELPER] = flow_of(helper);
	f->flows[STEP] = flow_of(".");
}

static void stop(struct fixture *f)
{
	loop_tree_stop(&f->tree);
	for (int i = 0; i < FUNCTIONS; i++)
		flow_free(f->flows[i]);
	dict_free(&f->dict);
}

/* Adds the frame of a function at a place as if it had been read from the dictionary. */
static uint64_t frame(struct fixture *f, uint32_t function, uint32_t at)
{
	struct loop_stacks *s = &f->tree.stacks;
	uint64_t raw = frame_python(function + 1, at);
	bool is_new;
	uint64_t *index = map_at(&s->frame_of_raw, raw, &is_new);
	if (!is_new)
		return raw;
	*index = s->frames.n;
	vec_push(&s->frames,
		 ((struct loop_frame){ .raw = raw,
				       .at = at,
				       .flow = f->flows[function],
				       .function = function,
				       .is = LOOP_FRAME_PYTHON |
					     (function == STEP ? LOOP_FRAME_STEP : 0) }));
	return raw;
}

static uint32_t stack(struct fixture *f, const uint64_t *innermost_first, uint16_t n)
{
	union {
		struct dict_stack s;
		uint64_t words[8];
	} u = { .s = { .head = { DICT_MARK, DICT_STACK, 0 }, .n = n } };
	u.s.id = 1;
	for (uint16_t i = 0; i < n; i++) {
		u.s.frames[i] = innermost_first[i];
		u.s.id = u.s.id * 131 + (uint32_t)(innermost_first[i] >> 32) * 31 +
			 (uint32_t)innermost_first[i];
	}
	u.s.head.bytes = (uint32_t)(sizeof(u.s) + n * sizeof(uint64_t));
	if (!map_find(&f->dict.stack_of_id, u.s.id))
		dict_add(&f->dict, &u.s.head);
	return u.s.id;
}

/* A call that takes 1 us, by thread `slot`. Launches and copies complete a trigram, `hash`. */
static void call(struct fixture *f, uint32_t slot, uint16_t hook, uint32_t stack_id, uint64_t hash)
{
	struct rec_call c = { .kind = REC_CALL,
			      .hook = hook,
			      .stack = stack_id,
			      .begin_ticks = f->now,
			      .arg = hash };
	if (hook == COPY)
		c.detail = COPY_D2H;
	f->now += 1000;
	loop_tree_feed(&f->tree, slot, &c, (struct token_hashes){ hash, 0 });
}

/* A launch from a place of main, and one from a place of the function that main calls there. */
static void launch(struct fixture *f, uint32_t at)
{
	uint64_t frames[] = { frame(f, MAIN, at) };
	call(f, 1, LAUNCH, stack(f, frames, 1), 100 + at);
}

static void launch_in(struct fixture *f, uint32_t at, uint32_t function, uint32_t inner)
{
	uint64_t frames[] = { frame(f, function, inner), frame(f, MAIN, at) };
	call(f, 1, LAUNCH, stack(f, frames, 2), 1000 * function + 100 * at + inner);
}

static void wait(struct fixture *f, uint32_t at)
{
	uint64_t frames[] = { frame(f, MAIN, at) };
	call(f, 1, SYNC, stack(f, frames, 1), 0);
}

/* A captured call from a place of main, or of the function that main calls there. */
static void capture(struct fixture *f, uint64_t graph, uint32_t at, uint32_t function)
{
	uint64_t main = frame(f, MAIN, at), frames[] = { frame(f, function, 0), main };
	uint64_t token = function == MAIN ? 100 + at : 1000 * function + 100 * at;
	struct rec_node n = {
		.kind = REC_NODE,
		.hook = LAUNCH,
		.type = NODE_KERNEL,
		.stack = function == MAIN ? stack(f, &main, 1) : stack(f, frames, 2),
		.begin_ticks = f->now,
		.ticks = 1000,
		.graph = graph,
		.arg = token,
	};
	f->now += 1000;
	loop_tree_feed_graph(&f->tree, 1, (const struct rec_head *)&n);
}

static void change(struct fixture *f, enum graph_event event, uint64_t graph, uint64_t of)
{
	struct rec_graph r = { .kind = REC_GRAPH,
			       .event = (uint16_t)event,
			       .ticks = f->now++,
			       .graph = graph,
			       .of = of };
	loop_tree_feed_graph(&f->tree, 1, (const struct rec_head *)&r);
}

static void replay(struct fixture *f, uint32_t at, uint64_t exec)
{
	uint64_t frames[] = { frame(f, MAIN, at) };
	call(f, 1, GRAPH, stack(f, frames, 1), exec);
}

static const struct loop *loop_of(const struct fixture *f, size_t iterations)
{
	for (size_t i = 0; i < f->tree.loops.n; i++)
		if (loop_goes_round(&f->tree.loops.at[i]) &&
		    f->tree.loops.at[i].iterations.n == iterations)
			return &f->tree.loops.at[i];
	return NULL;
}

/* ---- Iterations ---- */

static void test_each_iteration_is_counted(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, ".[..].", ".");
	launch(&f, 0);
	for (int i = 0; i < 5; i++) {
		launch(&f, 2);
		launch(&f, 3);
	}
	launch(&f, 5);
	loop_tree_end(&f.tree);
	const struct loop *l = loop_of(&f, 5);
	assert_non_null(l);
	assert_int_equal(l->n_runs, 1);
	assert_int_equal(l->n_calls, 10);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(l->iterations.at[i].n.launches, 2);
		assert_int_equal(l->iterations.at[i].launch, 1 + 2 * i);
	}
	stop(&f);
}

static void test_equal_places_begin_an_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.]", ".");
	for (int i = 0; i < 7; i++)
		launch(&f, 1);
	loop_tree_end(&f.tree);
	assert_non_null(loop_of(&f, 7));
	stop(&f);
}

/* Each iteration waits at 2 and launches at 3. The last call at 2 finds that the loop is over. */
static void test_the_test_that_ends_a_loop_is_no_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, ".[..].", ".");
	for (int run = 0; run < 2; run++) {
		launch(&f, 0);
		for (int i = 0; i < 5; i++) {
			wait(&f, 2);
			launch(&f, 3);
		}
		wait(&f, 2);
		launch(&f, 5);
	}
	const struct loop *l = loop_of(&f, 10);
	assert_non_null(l);
	assert_int_equal(l->n_runs, 2);
	assert_int_equal(l->n_calls, 22);
	assert_int_equal(l->iterations.at[4].n.calls, 3);
	assert_int_equal(l->iterations.at[5].n.calls, 2);
	stop(&f);
}

/* The program may have failed in the middle of its last iteration, or have left the loop there. */
static void test_a_last_iteration_that_does_work_counts(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, ".[..].", ".");
	for (int run = 0; run < 2; run++) {
		launch(&f, 0);
		for (int i = 0; i < 5; i++) {
			launch(&f, 2);
			wait(&f, 3);
		}
		launch(&f, 2);
		if (!run)
			launch(&f, 5);
	}
	loop_tree_end(&f.tree);
	assert_non_null(loop_of(&f, 12));
	stop(&f);
}

static void test_a_function_called_again_is_in_the_callers_loop(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.]", "..");
	for (int i = 0; i < 4; i++) {
		launch_in(&f, 1, HELPER, 0);
		launch_in(&f, 1, HELPER, 1);
	}
	loop_tree_end(&f.tree);
	const struct loop *l = loop_of(&f, 4);
	assert_non_null(l);
	assert_int_equal(l->n_calls, 8);
	stop(&f);
}

static void test_nested_loops_have_their_own_iterations(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[.].]", ".");
	for (int i = 0; i < 6; i++) {
		launch(&f, 1);
		for (int k = 0; k < 4; k++)
			launch(&f, 3);
		wait(&f, 5);
	}
	loop_tree_end(&f.tree);
	const struct loop *outer = loop_of(&f, 6), *inner = loop_of(&f, 24);
	assert_non_null(outer);
	assert_non_null(inner);
	assert_int_equal(inner->n_runs, 6);
	assert_ptr_equal(loop_tree_parent(&f.tree, inner), outer);
	assert_null(loop_tree_parent(&f.tree, outer));
	stop(&f);
}

static void test_a_missing_stack_is_skipped(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[..]", ".");
	call(&f, 1, LAUNCH, 0, 5);
	for (int i = 0; i < 6; i++) {
		launch(&f, 1);
		if (i == 2)
			call(&f, 1, LAUNCH, 0, 5);
		launch(&f, 2);
	}
	loop_tree_end(&f.tree);
	assert_non_null(loop_of(&f, 6));
	stop(&f);
}

static void test_a_tree_with_many_missing_stacks_is_not_whole(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.]", ".");
	for (int i = 0; i < 200; i++)
		launch(&f, 1);
	assert_true(loop_tree_is_whole(&f.tree));
	call(&f, 1, LAUNCH, 0, 5);
	assert_true(loop_tree_is_whole(&f.tree));
	for (int i = 0; i < 2; i++)
		call(&f, 1, LAUNCH, 0, 5);
	assert_false(loop_tree_is_whole(&f.tree));
	stop(&f);
}

/* Adds the calls of a step of main, "[...]", in which sum() at 2 launches `n` times. */
static void step_with_sum(struct fixture *f, int n)
{
	launch(f, 1);
	for (int i = 0; i < n; i++)
		launch(f, 2);
	launch(f, 3);
}

static void test_c_code_that_calls_again_is_no_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[...]", "...");
	for (int i = 0; i < 20; i++)
		step_with_sum(&f, 5);
	loop_tree_end(&f.tree);
	assert_non_null(loop_of(&f, 20));
	stop(&f);
	/* and a function that it calls */
	start(&f, "[...]", "...");
	for (int i = 0; i < 20; i++) {
		launch(&f, 1);
		for (int k = 0; k < 5; k++) {
			launch_in(&f, 2, HELPER, 0);
			launch_in(&f, 2, HELPER, 2);
		}
	}
	loop_tree_end(&f.tree);
	assert_non_null(loop_of(&f, 20));
	stop(&f);
}

/* Like step_with_sum(), but a function that main calls first has the sum(). */
static void test_c_code_that_calls_again_before_all_else_is_no_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[..]", "..");
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 5; k++)
			launch_in(&f, 1, HELPER, 1);
		if (!i)
			loop_repair(&f.tree); /* at this time, nothing can be known */
		launch(&f, 2);
	}
	loop_tree_end(&f.tree);
	loop_repair(&f.tree);
	const struct loop *l = loop_of(&f, 20);
	assert_non_null(l);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(l->iterations.at[i].n.launches, 6);
		assert_int_equal(l->iterations.at[i].launch, 6 * i);
	}
	stop(&f);
}

/* A call that a function of a native library makes, which main calls at a place. */
static void call_library(struct fixture *f, uint32_t at, uint16_t hook, uint32_t function)
{
	struct loop_stacks *s = &f->tree.stacks;
	uint64_t raw = frame_native(1, function), frames[] = { raw, frame(f, MAIN, at) };
	bool is_new;
	uint64_t *index = map_at(&s->frame_of_raw, raw, &is_new);
	if (is_new) {
		*index = s->frames.n;
		vec_push(&s->frames, ((struct loop_frame){ .raw = raw,
							   .at = function,
							   .function = FUNCTIONS + function,
							   .is = LOOP_FRAME_LIBRARY }));
	}
	call(f, 1, hook, stack(f, frames, 2), hook == COPY ? 200 + at : 0);
}

/*
 * PyTorch's pin_memory() looks at events only now and then, and the destructor of a pinned tensor
 * records one, at the place of the copy. Each copy is in an iteration of its own.
 */
static void test_upkeep_that_is_missing_hides_no_iteration(void **state)
{
	enum { PIN = 1, UPLOAD, DESTROY };
	struct fixture f;
	(void)state;
	start(&f, "[..]", ".");
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < i % 3; k++)
			call_library(&f, 1, QUERY, PIN);
		call_library(&f, 2, COPY, UPLOAD);
		call_library(&f, 2, EVENT, DESTROY);
	}
	loop_tree_end(&f.tree);
	loop_repair(&f.tree);
	const struct loop *l = loop_of(&f, 40);
	assert_non_null(l);
	for (int i = 0; i < 40; i++)
		assert_int_equal(l->iterations.at[i].n.launches, 1);
	stop(&f);
}

/* Destructors of several tensors record an event each, one after the other. */
static void test_upkeep_that_is_repeated_is_no_iteration(void **state)
{
	enum { PIN = 1, UPLOAD, DESTROY };
	struct fixture f;
	(void)state;
	start(&f, "[..]", ".");
	for (int i = 0; i < 40; i++) {
		call_library(&f, 1, QUERY, PIN);
		call_library(&f, 2, COPY, UPLOAD);
		for (int k = 0; k < 3; k++)
			call_library(&f, 2, EVENT, DESTROY);
	}
	loop_tree_end(&f.tree);
	loop_repair(&f.tree);
	assert_non_null(loop_of(&f, 40));
	stop(&f);
}

/* ---- Graphs ---- */

enum { GRAPH_A = 1, GRAPH_B, EXEC = 10, OUTER_EXEC };

static void test_a_launch_of_a_graph_counts_what_was_captured(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "...[.]", ".");
	change(&f, GRAPH_MADE, GRAPH_A, 0);
	capture(&f, GRAPH_A, 0, MAIN);
	capture(&f, GRAPH_A, 1, MAIN);
	capture(&f, GRAPH_A, 2, STEP);
	change(&f, GRAPH_INSTANTIATED, GRAPH_A, EXEC);
	change(&f, GRAPH_GONE, GRAPH_A, 0);
	for (int i = 0; i < 5; i++)
		replay(&f, 4, EXEC);
	loop_tree_end(&f.tree);
	const struct loop *l = loop_of(&f, 5);
	assert_non_null(l);
	assert_int_equal(l->n_calls, 5 * (1 + 3));
	assert_int_equal(l->n_steps, 5);
	assert_int_equal(l->n_others, 5 * (1 + 2));
	assert_int_equal(l->n_replayed, 5 * 3);
	/* the fixture's last call has no length */
	assert_int_equal(l->ticks, 5 * (1000 + 3 * 1000) - 1000);
	stop(&f);
}

static void test_a_graph_counts_the_graphs_in_it(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "...[.]", ".");
	change(&f, GRAPH_MADE, GRAPH_A, 0);
	capture(&f, GRAPH_A, 2, STEP);
	change(&f, GRAPH_MADE, GRAPH_B, 0);
	capture(&f, GRAPH_B, 0, MAIN);
	struct rec_node child = { .kind = REC_NODE,
				  .type = NODE_CHILD,
				  .begin_ticks = f.now,
				  .graph = GRAPH_B,
				  .arg = GRAPH_A };
	loop_tree_feed_graph(&f.tree, 1, (const struct rec_head *)&child);
	change(&f, GRAPH_INSTANTIATED, GRAPH_B, OUTER_EXEC);
	change(&f, GRAPH_MADE, GRAPH_A, 0); /* another graph at the same address */
	change(&f, GRAPH_INSTANTIATED, GRAPH_A, EXEC);
	for (int i = 0; i < 3; i++)
		replay(&f, 4, OUTER_EXEC);
	for (int i = 0; i < 3; i++)
		replay(&f, 4, EXEC);
	loop_tree_end(&f.tree);
	const struct loop *l = loop_of(&f, 6);
	assert_non_null(l);
	assert_int_equal(l->n_steps, 3);
	assert_int_equal(l->n_replayed, 3 * 3);
	stop(&f);
}

static void check_choice(struct fixture *f, size_t steps, double least, double most);

/*
 * A program that warms up a step `n` times, captures and replays it. The first warm-up takes long.
 * The captured step has the same launches. With `is_other`, the loop before launches other kernels.
 */
static void warm_up_and_replay(struct fixture *f, int n, bool is_other)
{
	start(f, "[.........]..[..].........", ".");
	uint32_t shift = is_other ? 16 : 0;
	for (int i = 0; i < n; i++) {
		for (uint32_t at = 1; at < 9; at++) {
			uint64_t frames[] = { frame(f, MAIN, at) };
			call(f, 1, LAUNCH, stack(f, frames, 1), 100 + shift + at);
		}
		launch_in(f, 9, STEP, 0);
		f->now += i ? 100000 : 10000000;
	}
	change(f, GRAPH_MADE, GRAPH_A, 0);
	for (uint32_t at = 1; at < 9; at++)
		capture(f, GRAPH_A, at, MAIN);
	capture(f, GRAPH_A, 9, STEP);
	change(f, GRAPH_INSTANTIATED, GRAPH_A, EXEC);
	for (int i = 0; i < 40; i++) {
		replay(f, 14, EXEC);
		wait(f, 15);
	}
}

static void test_replayed_steps_are_the_steps_and_not_the_warm_up(void **state)
{
	struct fixture f;
	(void)state;
	warm_up_and_replay(&f, 3, false);
	check_choice(&f, 40, 0.95, 1);
	stop(&f);
}

static void test_training_of_other_kernels_before_the_replays_counts_too(void **state)
{
	struct fixture f;
	(void)state;
	warm_up_and_replay(&f, 3, true);
	check_choice(&f, 43, 0.95, 1);
	stop(&f);
}

static void test_a_loop_of_replays_outweighs_a_longer_warm_up(void **state)
{
	struct fixture f;
	(void)state;
	/* without an optimizer: the warm-up takes 20 us, the replays 8 us on the CPU */
	start(&f, "[..]....[.].", ".");
	for (int i = 0; i < 10; i++) {
		launch(&f, 1);
		launch(&f, 2);
	}
	change(&f, GRAPH_MADE, GRAPH_A, 0);
	capture(&f, GRAPH_A, 4, MAIN);
	capture(&f, GRAPH_A, 5, MAIN);
	capture(&f, GRAPH_A, 6, MAIN);
	change(&f, GRAPH_INSTANTIATED, GRAPH_A, EXEC);
	for (int i = 0; i < 8; i++)
		replay(&f, 9, EXEC);
	wait(&f, 11);
	check_choice(&f, 8, 0.5, 1);
	stop(&f);
}

/* ---- The choice ---- */

static void check_choice(struct fixture *f, size_t steps, double least, double most)
{
	struct loop_choice c;
	loop_tree_end(&f->tree);
	assert_true(loop_choose(&f->tree, &c));
	assert_int_equal(c.begins.n, steps);
	assert_in_range((long)(c.confidence * 1000), (long)(least * 1000), (long)(most * 1000));
	loop_choice_free(&c);
}

static void test_a_plain_loop_is_the_step(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[...]", ".");
	for (int i = 0; i < 20; i++) {
		launch(&f, 1);
		launch(&f, 2);
		wait(&f, 3);
	}
	check_choice(&f, 20, 0.95, 1);
	stop(&f);
}

static void test_epochs_are_not_steps(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[..]]", ".");
	for (int i = 0; i < 3; i++) {
		launch(&f, 1);
		for (int k = 0; k < 30; k++) {
			launch(&f, 3);
			wait(&f, 4);
		}
	}
	check_choice(&f, 90, 0.3, 0.99);
	stop(&f);
}

/* Many rounds of many launches: the inner loop is a loop of batches for sure only if it talks to
 * the host. Without that, its iterations may be cells of one step. */
static void test_many_rounds_of_launches_alone_are_unclear(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[.].]", ".");
	for (int i = 0; i < 40; i++) {
		launch(&f, 1);
		for (int k = 0; k < 100; k++)
			launch(&f, 3);
		launch(&f, 5);
	}
	check_choice(&f, 4000, 0.4, 0.69);
	stop(&f);
}

static void test_many_rounds_of_batches_are_steps(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[..]]", ".");
	for (int i = 0; i < 40; i++) {
		launch(&f, 1);
		for (int k = 0; k < 100; k++) {
			launch(&f, 3);
			wait(&f, 4);
		}
	}
	check_choice(&f, 4000, 0.8, 0.99);
	stop(&f);
}

static void test_a_step_of_four_stages(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[[..].]", ".");
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 4; k++) {
			launch(&f, 2);
			launch(&f, 3);
		}
		wait(&f, 5);
	}
	check_choice(&f, 100, 0.9, 1);
	stop(&f);
}

static void test_the_loop_around_the_optimizer_is_the_step(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[..].]", ".");
	for (int i = 0; i < 2; i++) {
		launch(&f, 1);
		for (int k = 0; k < 12; k++) {
			launch(&f, 3);
			launch_in(&f, 4, STEP, 0);
		}
		wait(&f, 6);
	}
	check_choice(&f, 24, 0.95, 1);
	stop(&f);
}

static void test_micro_batches_make_one_step(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, "[..]", ".");
	for (int i = 0; i < 40; i++) {
		launch(&f, 1);
		if (i % 4 == 3)
			launch_in(&f, 2, STEP, 0);
	}
	loop_tree_end(&f.tree);
	assert_true(loop_choose(&f.tree, &c));
	assert_true(c.is_grouped);
	assert_int_equal(c.begins.n, 10);
	loop_choice_free(&c);
	stop(&f);
}

static void test_an_outer_loop_that_no_call_shows_lowers_the_confidence(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[[.]]", ".");
	for (int i = 0; i < 50; i++)
		launch(&f, 2);
	check_choice(&f, 50, 0.3, 0.69);
	stop(&f);
}

/* The loop around shows in each fourth of its iterations only. */
static void test_a_loop_that_calls_show_now_and_then_is_unclear(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.([.])]", "[.]");
	for (int i = 0; i < 120; i++) {
		for (int k = 0; k < 4; k++)
			launch_in(&f, 1, HELPER, 1);
		for (int k = 0; k < 3 && i % 4 == 3; k++)
			wait(&f, 4);
	}
	check_choice(&f, 480, 0.3, 0.69);
	assert_true(loop_is_hidden(&f.tree, loop_of(&f, 30)->place));
	assert_true(loop_is_hidden(&f.tree, loop_of(&f, 480)->place));
	stop(&f);
}

/* The same in each iteration: two inner loops in turn show it. */
static void test_two_loops_in_turn_show_the_loop_around(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[.]]", "[.]");
	for (int i = 0; i < 120; i++) {
		for (int k = 0; k < 4; k++)
			launch_in(&f, 1, HELPER, 1);
		for (int k = 0; k < 3; k++)
			wait(&f, 3);
	}
	check_choice(&f, 120, 0.7, 1);
	assert_false(loop_is_hidden(&f.tree, loop_of(&f, 120)->place));
	stop(&f);
}

/* A loop over hooks, one of which steps: the step is what calls the hooks. */
static void test_a_loop_with_one_optimizer_step_is_a_part(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, "[.[..]]", ".");
	for (int i = 0; i < 20; i++) {
		launch(&f, 1);
		for (int hook = 0; hook < 3; hook++) {
			launch(&f, 3);
			if (hook == 0)
				launch_in(&f, 4, STEP, 0);
		}
	}
	loop_tree_end(&f.tree);
	assert_true(loop_choose(&f.tree, &c));
	assert_false(c.is_grouped);
	assert_int_equal(f.tree.loops.at[c.loop].iterations.n, 20);
	loop_choice_free(&c);
	stop(&f);
}

/* A launch of `slot`, in the function that main calls at 1; its place 2 is an optimizer's step. */
static void train_on(struct fixture *f, uint32_t slot, uint32_t at)
{
	uint64_t frames[] = { frame(f, STEP, 0), frame(f, HELPER, at), frame(f, MAIN, 1) };
	uint16_t skipped = at != 2;
	call(f, slot, LAUNCH, stack(f, frames + skipped, 3 - skipped), at);
}

/* A training loop in a function that main calls at `at`, `n` times. */
static void train_at(struct fixture *f, uint32_t at, int n)
{
	for (int i = 0; i < n; i++)
		for (uint32_t inner = 1; inner < 3; inner++) {
			uint64_t frames[] = { frame(f, STEP, 0), frame(f, HELPER, inner),
					      frame(f, MAIN, at) };
			uint16_t skipped = inner != 2;
			call(f, 1, LAUNCH, stack(f, frames + skipped, 3 - skipped), inner);
		}
}

/* One model after the other, by the same function. */
static void test_two_trainings_count_once(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, "..", "[..]");
	train_at(&f, 0, 60);
	train_at(&f, 1, 120);
	loop_tree_end(&f.tree);
	assert_true(loop_choose(&f.tree, &c));
	assert_int_equal(c.begins.n, 180);
	loop_choice_free(&c);
	stop(&f);
}

/* Two threads take jobs, and their jobs overlap. All optimizer steps are in the jobs' loop. */
static void test_jobs_on_several_threads_do_not_step_themselves(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, "[.]", "[..].");
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 4; k++)
			for (uint32_t slot = 1; slot < 4; slot++) {
				train_on(&f, slot, 1);
				train_on(&f, slot, 2);
			}
		for (uint32_t slot = 1; slot < 4; slot++)
			train_on(&f, slot, 4);
	}
	loop_tree_end(&f.tree);
	assert_true(loop_choose(&f.tree, &c));
	assert_int_equal(c.begins.n, 120);
	loop_choice_free(&c);
	stop(&f);
}

/*
 * Returns the anchor that the library gets in the opening of a training, whose steps end with
 * launch 2. Launches have shown steps that end with launch 1.
 */
static uint64_t anchor_told(enum step_state state, uint64_t by_launches)
{
	struct fixture f;
	struct journal_header header = { 0 };
	struct ingest in = { .reader.header = &header, .opening.is_any = true };
	struct learn l = { .state = state,
			   .choice = { .anchor = by_launches, .calls_per_step = 2 } };
	start(&f, ".", "[..]");
	train_at(&f, 0, 40);
	l.loops.is_started = true;
	l.loops.tree = f.tree;
	header.steps.anchor = by_launches;
	learn_compare(&l, &in);
	assert_int_equal(l.state, STEP_STATE_CONFIRMED);
	assert_true(l.choice.boundary == LEVEL_BY_LOOP || l.choice.anchor == by_launches);
	loop_choice_free(&l.loops.choice);
	f.tree = l.loops.tree;
	stop(&f);
	return header.steps.anchor;
}

/* The library takes no other anchor once it has a confirmed one. */
static void test_a_clear_loop_decides_until_steps_are_confirmed(void **state)
{
	(void)state;
	assert_int_equal(anchor_told(STEP_STATE_PROVISIONAL, 1), 2);
	assert_int_equal(anchor_told(STEP_STATE_PROVISIONAL, 77), 2);
	assert_int_equal(anchor_told(STEP_STATE_CONFIRMED, 1), 1);
	assert_int_equal(anchor_told(STEP_STATE_CONFIRMED, 77), 77);
}

static void test_nothing_repeats(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, "....", ".");
	for (uint32_t i = 0; i < 4; i++)
		launch(&f, i);
	loop_tree_end(&f.tree);
	assert_false(loop_choose(&f.tree, &c));
	stop(&f);
}

/* ---- Anchors ---- */

/*
 * A step of main, "[....[.]...]": it launches `inner` times inside, then at `last`. The trigrams
 * differ for different places, and from the third launch inside on they are the same.
 */
static void step(struct fixture *f, int inner, uint32_t last)
{
	launch(f, 1);
	for (int i = 0; i < inner; i++)
		launch(f, 6);
	launch(f, last);
}

/* Searches the anchor of the loop that has `n` iterations. Returns whether there is one. */
static bool find_anchor_of(struct fixture *f, size_t n, bool by_optimizer, struct loop_anchor *out)
{
	struct loop_choice c;
	const struct loop *l = loop_of(f, n);
	assert_non_null(l);
	assert_true(loop_choose_this(&f->tree, l->place, &c));
	c.by_optimizer = by_optimizer;
	bool found = loop_anchor_find(&f->tree, &c, out);
	loop_choice_free(&c);
	return found;
}

static bool find_anchor(struct fixture *f, size_t n, struct loop_anchor *out)
{
	return find_anchor_of(f, n, false, out);
}

static void test_the_anchor_is_the_last_launch_of_each_step(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[....[.]...]", ".");
	for (int i = 0; i < 31; i++)
		step(&f, 2 + i % 3, 8);
	assert_true(find_anchor(&f, 30, &a));
	assert_int_equal(a.hash, 108);
	assert_int_equal(a.every, 0);
	assert_int_equal(a.n, 31);
	assert_int_equal(a.n_missed, 0);
	stop(&f);
}

/* The ends of the steps differ, so the only common launch is the first one. */
static void test_an_anchor_at_the_begin_ends_the_step_before(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[....[.]...]", ".");
	for (uint32_t i = 0; i < 31; i++)
		step(&f, 5, 8 + i % 3);
	assert_true(find_anchor(&f, 30, &a));
	assert_int_equal(a.hash, 101);
	assert_int_equal(a.n_missed, -1);
	stop(&f);
}

/* The trigrams of all steps differ, but each has one launch of a kind. */
static void test_a_single_launch_is_an_anchor(void **state)
{
	enum { STEPS = 31, KIND = 42 };
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[....[.]...]", ".");
	for (uint32_t i = 0; i < STEPS; i++)
		step(&f, 2, 8);
	struct loop_thread *t = &f.tree.threads.at[0];
	for (size_t k = 0; k < t->hashes.n; k++)
		t->hashes.at[k] = (struct token_hashes){ 1001 + 2 * k, k % 4 ? 4 : KIND };
	assert_true(find_anchor(&f, STEPS - 1, &a));
	assert_int_equal(a.hash, KIND);
	assert_int_equal(a.every, 0);
	assert_int_equal(a.n, STEPS);
	/* but not if it occurs elsewhere, too */
	t->hashes.at[21].single = KIND;
	assert_false(find_anchor(&f, STEPS - 1, &a) && a.hash == KIND);
	stop(&f);
}

/* What happens in the first step says nothing about the number of steps. */
static void test_steps_are_counted_by_the_loop(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[....[.]...]", ".");
	for (int i = 0; i < 31; i++)
		step(&f, 2, 8);
	struct loop_thread *t = &f.tree.threads.at[0];
	t->hashes.at[1] = t->hashes.at[3];
	assert_true(find_anchor(&f, 30, &a));
	assert_int_equal(a.hash, 108);
	assert_int_equal(a.n, 32);
	assert_int_equal(a.n_ended, 31);
	stop(&f);
}

enum { LONG_STEP = 24, BACKUP_APART = 12 };

/* Makes a step with a launch at each place. Trigrams after the first `unique` occur twice. */
static void long_step(struct fixture *f, uint32_t unique)
{
	for (uint32_t at = 1; at <= LONG_STEP; at++)
		launch(f, at);
	struct loop_thread *t = &f->tree.threads.at[0];
	for (size_t k = t->hashes.n - LONG_STEP + unique; k < t->hashes.n; k++)
		t->hashes.at[k] = (struct token_hashes){ 1000 + k % 2, 2000 };
}

static void test_a_step_without_its_anchor_ends_by_the_backup(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[........................]", ".");
	for (int i = 0; i < 31; i++)
		long_step(&f, LONG_STEP);
	assert_true(find_anchor(&f, 30, &a));
	assert_int_equal(a.hash, 100 + LONG_STEP);
	assert_int_equal(a.distance, 0);
	assert_int_equal(a.backup, 100 + LONG_STEP - BACKUP_APART);
	assert_int_equal(a.backup_within, BACKUP_APART);
	/* an evaluation after the training of an epoch may launch the backup, too */
	assert_true(find_anchor_of(&f, 30, true, &a));
	assert_int_equal(a.hash, 100 + LONG_STEP);
	assert_int_equal(a.backup, 0);
	stop(&f);
}

/* As with two evaluations after the optimizer, whose launches are the same. */
static void test_an_anchor_far_from_the_end_says_so(void **state)
{
	enum { SAME = 6 };
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[........................]", ".");
	for (int i = 0; i < 31; i++)
		long_step(&f, LONG_STEP - SAME);
	assert_true(find_anchor(&f, 30, &a));
	assert_int_equal(a.hash, 100 + LONG_STEP - SAME);
	assert_int_equal(a.distance, SAME);
	stop(&f);
}

static void test_few_steps_have_no_anchor(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[....[.]...]", ".");
	for (int i = 0; i < 16; i++)
		step(&f, 2, 8);
	assert_false(find_anchor(&f, 15, &a));
	stop(&f);
}

/* Makes `n` steps of `rounds` launches that complete the same trigram; the first has one less. */
static void equal_rounds(struct fixture *f, int n, int rounds)
{
	for (int i = 0; i < n; i++) {
		for (int k = i ? 0 : 1; k < rounds; k++)
			launch(f, 2);
		wait(f, 4);
	}
}

static void test_one_anchor_in_several_ends_a_step(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[[.].]", ".");
	equal_rounds(&f, 40, 4);
	assert_true(find_anchor(&f, 39, &a));
	assert_int_equal(a.hash, 102);
	assert_int_equal(a.every, 4);
	/* three launches end step 0, and then four end each step */
	assert_int_equal(a.lead, 3);
	assert_int_equal(a.n_missed, 0);
	stop(&f);
}

/* With one round more in one step, all later steps would end in the middle of an iteration. */
static void test_rounds_that_differ_are_no_anchor(void **state)
{
	struct fixture f;
	struct loop_anchor a;
	(void)state;
	start(&f, "[[.].]", ".");
	equal_rounds(&f, 20, 4);
	launch(&f, 2);
	launch(&f, 2);
	equal_rounds(&f, 20, 4);
	assert_false(find_anchor(&f, 39, &a));
	stop(&f);
}

/* ---- Anchors of launches ---- */

/* Two loops with equal counts, of which the first one takes more time. */
static void test_an_anchor_counts_the_loop_that_has_it_in_each_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[..][..]", ".");
	for (int i = 0; i < 20; i++) {
		launch(&f, 1);
		launch(&f, 2);
		f.now += 5000;
	}
	for (int i = 0; i < 20; i++) {
		launch(&f, 5);
		launch(&f, 6);
	}
	loop_tree_end(&f.tree);
	struct learn_loops x = { .tree = f.tree, .is_started = true };
	for (uint32_t at = 1; at < 7; at += at == 2 ? 3 : 1) {
		int64_t match =
			learn_loops_match(&x, &(struct anchor_counts){ .anchor = 100 + at });
		assert_true(match >= 0);
		const struct loop_place *p = &f.tree.stacks.places.at[match];
		assert_int_equal(p->sites.at[0].at < 3, at < 3);
	}
	stop(&f);
}

/* A server's iterations have only the copies in common: to the device, and of the result back. */
static void test_exchanges_count_a_loop(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[...]", ".");
	for (uint64_t i = 0; i < 20; i++)
		for (uint32_t at = 1; at < 4; at++) {
			uint64_t frames[] = { frame(&f, MAIN, at) };
			struct rec_call c = { .kind = REC_CALL,
					      .hook = at == 2 ? LAUNCH : COPY,
					      .stack = stack(&f, frames, 1),
					      .detail = at == 1 ? COPY_H2D : COPY_D2H,
					      .begin_ticks = f.now += 1000,
					      .arg = 1000 + i };
			c.detail = at == 2 ? 0 : c.detail;
			loop_tree_feed(&f.tree, 1, &c,
				       (struct token_hashes){ 5001 + 10 * i + 2 * at, 0 });
		}
	loop_tree_end(&f.tree);
	struct learn_loops x = { .tree = f.tree, .is_started = true };
	int64_t match = learn_loops_match(&x, &(struct anchor_counts){ .anchor = TOKEN_EXCHANGE });
	assert_true(match >= 0);
	assert_int_equal(f.tree.loops.at[match].iterations.n, 20);
	stop(&f);
}

/* As many as a loop has iterations, but all of them in its first half. */
static void test_an_anchor_of_some_iterations_counts_no_loop(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[..]", ".");
	for (int i = 0; i < 20; i++) {
		launch(&f, 1);
		if (i < 10)
			launch(&f, 1 + 1);
	}
	loop_tree_end(&f.tree);
	for (size_t k = 0; k < 20; k++)
		f.tree.threads.at[0].hashes.at[k].trigram = 9;
	struct learn_loops x = { .tree = f.tree, .is_started = true };
	assert_int_equal(learn_loops_match(&x, &(struct anchor_counts){ .anchor = 9 }), -1);
	assert_true(learn_loops_match(&x, &(struct anchor_counts){ .anchor = 101 }) < 0);
	stop(&f);
}

/* ---- Threads that the program creates ---- */

static void thread_event(struct fixture *f, uint32_t slot, enum thread_event event, uint32_t at)
{
	uint64_t frames[] = { frame(f, MAIN, at) };
	const struct rec_thread r = { .event = (uint16_t)event,
				      .stack = stack(f, frames, 1),
				      .ticks = f->now,
				      .creator = 1 };
	loop_tree_feed_thread(&f->tree, slot, &r);
	f->now += event != THREAD_BEGINS;
}

static void launch_on_thread(struct fixture *f, uint32_t slot)
{
	uint64_t frames[] = { frame(f, HELPER, 1) };
	call(f, slot, LAUNCH, stack(f, frames, 1), 7);
}

/* Three threads per iteration, in slots that threads of the iteration before have used. */
static void test_threads_belong_to_the_loop_that_joins_them(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[[.].]", "[.]");
	for (int i = 0; i < 10; i++) {
		for (uint32_t slot = 2; slot < 5; slot++) {
			thread_event(&f, 1, THREAD_CREATES, 2);
			thread_event(&f, slot, THREAD_BEGINS, 2);
		}
		for (uint32_t slot = 2; slot < 5; slot++) {
			launch_on_thread(&f, slot);
			launch_on_thread(&f, slot);
		}
		thread_event(&f, 1, THREAD_JOINS, 4);
	}
	loop_tree_end(&f.tree);
	for (int again = 0; again < 2; again++) {
		loop_births_link(&f.tree);
		const struct loop *outer = loop_of(&f, 10), *inner = loop_of(&f, 60);
		assert_int_equal(outer->n_calls, 60);
		assert_int_equal(outer->n_others, 60);
		assert_int_equal(inner->n_calls, 60);
		assert_ptr_equal(loop_tree_parent(&f.tree, inner), outer);
	}
	struct loop_choice c;
	assert_true(loop_choose(&f.tree, &c));
	assert_int_equal(c.begins.n, 10);
	loop_choice_free(&c);
	stop(&f);
}

/* When the loader's loop finds that there is no further batch, it ends its helper threads, one of
 * which it has to start for this. */
static void test_the_last_look_for_a_batch_is_no_iteration(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.[..]]", "[.]");
	for (int epoch = 0; epoch < 4; epoch++) {
		uint64_t created = f.now;
		thread_event(&f, 1, THREAD_CREATES, 1);
		f.now = created; /* both records have the same time */
		thread_event(&f, 2, THREAD_BEGINS, 1);
		f.now = created + 1;
		for (int batch = 0; batch < 30; batch++) {
			launch(&f, 3);
			wait(&f, 4);
		}
		thread_event(&f, 1, THREAD_CREATES, 3);
		thread_event(&f, 1, THREAD_JOINS, 4);
	}
	loop_tree_end(&f.tree);
	for (int again = 0; again < 2; again++) {
		loop_births_link(&f.tree);
		struct loop_choice c;
		assert_true(loop_choose(&f.tree, &c));
		assert_int_equal(c.begins.n, 120);
		loop_choice_free(&c);
	}
	stop(&f);
}

/* Threads that go on after the iteration that created them belong to none. */
static void test_threads_of_a_pool_belong_to_no_loop(void **state)
{
	struct fixture f;
	(void)state;
	start(&f, "[.]", "[.]");
	for (uint32_t slot = 2; slot < 5; slot++) {
		thread_event(&f, 1, THREAD_CREATES, 1);
		thread_event(&f, slot, THREAD_BEGINS, 1);
	}
	for (uint32_t i = 0; i < 30; i++)
		launch_on_thread(&f, 2 + i % 3);
	loop_tree_end(&f.tree);
	loop_births_link(&f.tree);
	const struct loop *requests = loop_of(&f, 30);
	assert_null(loop_tree_parent(&f.tree, requests));
	assert_int_equal(requests->n_calls, 30);
	assert_null(loop_of(&f, 3));
	struct loop_choice c;
	assert_true(loop_choose(&f.tree, &c));
	assert_int_equal(c.begins.n, 30);
	loop_choice_free(&c);
	stop(&f);
}

/* A thread that does most of each step has the same steps. One with two iterations per step could
 * be meant instead. */
static void test_a_thread_that_takes_turns_is_no_other_step(void **state)
{
	(void)state;
	for (int per_step = 1; per_step <= 2; per_step++) {
		struct fixture f;
		struct loop_choice c;
		start(&f, "[..]", "[..]");
		for (int i = 0; i < 20; i++) {
			launch(&f, 1);
			for (int k = 0; k < 16; k++) {
				bool begins = k % (16 / per_step) == 0;
				uint64_t frames[] = { frame(&f, HELPER, begins ? 1 : 2) };
				call(&f, 2, LAUNCH, stack(&f, frames, 1), 300 + begins);
			}
			launch(&f, 2);
		}
		loop_tree_end(&f.tree);
		assert_true(loop_choose(&f.tree, &c));
		assert_int_equal(c.other == LOOP_NONE, per_step == 1);
		loop_choice_free(&c);
		stop(&f);
	}
}

/*
 * A thread makes what another one uses, up to four iterations ahead. They have the same steps, and
 * those of the thread that makes most calls count.
 */
static void test_a_thread_that_feeds_another_is_no_other_step(void **state)
{
	(void)state;
	for (int is_fed = 0; is_fed < 2; is_fed++) {
		struct fixture f;
		struct loop_choice c;
		start(&f, "[....]", "[..]");
		for (int i = 0; i < 80; i++) {
			for (int k = 0; i % 4 == 0 && k < (is_fed ? 4 : 12); k++) {
				uint64_t frames[] = { frame(&f, HELPER, 1) };
				call(&f, 2, COPY, stack(&f, frames, 1), 300);
				f.now += 2000;
			}
			for (uint32_t at = 1; at <= 4; at++)
				launch(&f, at);
		}
		loop_tree_end(&f.tree);
		assert_true(loop_choose(&f.tree, &c));
		assert_int_equal(c.other == LOOP_NONE, is_fed);
		if (is_fed) {
			assert_int_equal(c.begins.n, 80);
			assert_int_equal(c.begins.at[0].slot, 1);
			assert_true(c.confidence > 0.9);
		}
		loop_choice_free(&c);
		stop(&f);
	}
}

/*
 * A function launches in a loop, and reads a result in each third call of it. Between the other
 * calls, nothing shows the loop that calls the function. If it reads one each time, all is seen.
 */
static void test_a_read_now_and_then_does_not_show_each_step(void **state)
{
	(void)state;
	for (uint32_t every = 1; every <= 3; every += 2) {
		struct fixture f;
		struct loop_choice c;
		start(&f, "[.]", every == 1 ? "[.] . " : "[.](.)");
		for (uint32_t i = 0; i < 60; i++) {
			for (int k = 0; k < 5; k++)
				launch_in(&f, 1, HELPER, 1);
			if (i % every == 0)
				launch_in(&f, 1, HELPER, 4);
		}
		loop_tree_end(&f.tree);
		assert_true(loop_choose(&f.tree, &c));
		assert_int_equal(c.is_seen, every == 1);
		assert_int_equal(c.confidence > 0.7, every == 1);
		loop_choice_free(&c);
		stop(&f);
	}
}

/* Two threads run the same loop of the source for a part of each step, as with OpenMP. That both go
 * round as often does not make one of them the step. */
static void test_a_loop_that_threads_share_stays_unclear(void **state)
{
	struct fixture f;
	struct loop_choice c;
	(void)state;
	start(&f, ".", "[..]");
	for (int i = 0; i < 80; i++)
		for (uint32_t at = 1; at <= 2; at++) {
			uint64_t frames[] = { frame(&f, HELPER, at), frame(&f, MAIN, 0) };
			bool is_main = i / 4 % 2;
			uint16_t n = is_main ? 2 : 1;
			call(&f, is_main ? 1 : 2, LAUNCH, stack(&f, frames, n), 300 + at);
		}
	loop_tree_end(&f.tree);
	assert_true(loop_choose(&f.tree, &c));
	assert_true(c.confidence < 0.7);
	loop_choice_free(&c);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_read_now_and_then_does_not_show_each_step),
		cmocka_unit_test(test_a_loop_that_threads_share_stays_unclear),
		cmocka_unit_test(test_upkeep_that_is_missing_hides_no_iteration),
		cmocka_unit_test(test_upkeep_that_is_repeated_is_no_iteration),
		cmocka_unit_test(test_a_thread_that_feeds_another_is_no_other_step),
		cmocka_unit_test(test_a_thread_that_takes_turns_is_no_other_step),
		cmocka_unit_test(test_each_iteration_is_counted),
		cmocka_unit_test(test_equal_places_begin_an_iteration),
		cmocka_unit_test(test_the_test_that_ends_a_loop_is_no_iteration),
		cmocka_unit_test(test_a_last_iteration_that_does_work_counts),
		cmocka_unit_test(test_a_function_called_again_is_in_the_callers_loop),
		cmocka_unit_test(test_nested_loops_have_their_own_iterations),
		cmocka_unit_test(test_a_missing_stack_is_skipped),
		cmocka_unit_test(test_a_tree_with_many_missing_stacks_is_not_whole),
		cmocka_unit_test(test_c_code_that_calls_again_is_no_iteration),
		cmocka_unit_test(test_c_code_that_calls_again_before_all_else_is_no_iteration),
		cmocka_unit_test(test_a_launch_of_a_graph_counts_what_was_captured),
		cmocka_unit_test(test_a_graph_counts_the_graphs_in_it),
		cmocka_unit_test(test_replayed_steps_are_the_steps_and_not_the_warm_up),
		cmocka_unit_test(test_training_of_other_kernels_before_the_replays_counts_too),
		cmocka_unit_test(test_a_loop_of_replays_outweighs_a_longer_warm_up),
		cmocka_unit_test(test_a_plain_loop_is_the_step),
		cmocka_unit_test(test_epochs_are_not_steps),
		cmocka_unit_test(test_many_rounds_of_launches_alone_are_unclear),
		cmocka_unit_test(test_many_rounds_of_batches_are_steps),
		cmocka_unit_test(test_a_step_of_four_stages),
		cmocka_unit_test(test_the_loop_around_the_optimizer_is_the_step),
		cmocka_unit_test(test_micro_batches_make_one_step),
		cmocka_unit_test(test_an_outer_loop_that_no_call_shows_lowers_the_confidence),
		cmocka_unit_test(test_a_loop_that_calls_show_now_and_then_is_unclear),
		cmocka_unit_test(test_two_loops_in_turn_show_the_loop_around),
		cmocka_unit_test(test_a_loop_with_one_optimizer_step_is_a_part),
		cmocka_unit_test(test_two_trainings_count_once),
		cmocka_unit_test(test_a_clear_loop_decides_until_steps_are_confirmed),
		cmocka_unit_test(test_jobs_on_several_threads_do_not_step_themselves),
		cmocka_unit_test(test_nothing_repeats),
		cmocka_unit_test(test_the_anchor_is_the_last_launch_of_each_step),
		cmocka_unit_test(test_an_anchor_at_the_begin_ends_the_step_before),
		cmocka_unit_test(test_a_single_launch_is_an_anchor),
		cmocka_unit_test(test_steps_are_counted_by_the_loop),
		cmocka_unit_test(test_a_step_without_its_anchor_ends_by_the_backup),
		cmocka_unit_test(test_an_anchor_far_from_the_end_says_so),
		cmocka_unit_test(test_few_steps_have_no_anchor),
		cmocka_unit_test(test_one_anchor_in_several_ends_a_step),
		cmocka_unit_test(test_rounds_that_differ_are_no_anchor),
		cmocka_unit_test(test_an_anchor_counts_the_loop_that_has_it_in_each_iteration),
		cmocka_unit_test(test_exchanges_count_a_loop),
		cmocka_unit_test(test_an_anchor_of_some_iterations_counts_no_loop),
		cmocka_unit_test(test_threads_belong_to_the_loop_that_joins_them),
		cmocka_unit_test(test_threads_of_a_pool_belong_to_no_loop),
		cmocka_unit_test(test_the_last_look_for_a_batch_is_no_iteration),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
