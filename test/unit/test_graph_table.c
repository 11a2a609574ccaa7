/* Which call made the node of a piece of GPU work: core/source/journal/graph_table.h. */
#include "core/source/journal/graph_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { GRAPH = 0x100, OTHER = 0x200, EXEC = 0x10, EXEC_2 = 0x20, CHILD = 0x300, STREAM = 7 };
enum { KERNELS = 8, WORKS = 64 };

/* Kernel k has the token k + 1, the name "k<k>" and one block. */
struct setting {
	struct graph_table table;
	struct dict dict;
	struct rec_gpu gpu[WORKS];
	struct graph_work works[WORKS];
	size_t n;
	uint64_t now;
	uint32_t n_nodes, correlation;
	uint8_t flags; /* of the nodes */
};

static void add_text(struct dict *d, uint32_t id, const char *text)
{
	struct {
		struct dict_string head;
		char room[24];
	} r = { .head = { { DICT_MARK, DICT_STRING, sizeof(r) }, id } };
	strcpy((char *)&r + offsetof(struct dict_string, text), text);
	dict_add(d, &r.head.head);
}

static int set_up(void **state)
{
	struct setting *s = mem_zero(sizeof(*s));
	for (uint32_t k = 0; k < KERNELS; k++) {
		char name[] = "k0";
		name[1] = (char)('0' + k);
		add_text(&s->dict, k + 1, name);
		struct dict_launch launch = { .head = { DICT_MARK, DICT_LAUNCH, sizeof(launch) },
					      .token = k + 1,
					      .name = k + 1,
					      .grid = { 1, 1, 1 },
					      .block = { 32, 1, 1 } };
		struct dict_kernel kernel = { .head = { DICT_MARK, DICT_KERNEL, sizeof(kernel) },
					      .id = k,
					      .name = k + 1,
					      .block = { 32, 1, 1 } };
		dict_add(&s->dict, &launch.head);
		dict_add(&s->dict, &kernel.head);
	}
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct setting *s = *state;
	graph_table_free(&s->table);
	assert_int_equal(s->table.n_nodes, 0);
	dict_free(&s->dict);
	free(s);
	return 0;
}

static void event(struct setting *s, enum graph_event what, uint64_t graph, uint64_t of)
{
	const struct rec_graph r = { .event = what, .ticks = ++s->now, .graph = graph, .of = of };
	s->n_nodes = what == GRAPH_MADE ? 0 : s->n_nodes;
	graph_table_event(&s->table, &r);
}

/* A node whose call has the stack `line`. */
static void node_of(struct setting *s, uint64_t graph, enum node_type type, uint64_t arg,
		    uint32_t line)
{
	const struct rec_node r = { .stack = line,
				    .begin_ticks = ++s->now,
				    .graph = graph,
				    .node = graph * 1000 + s->n_nodes,
				    .stream = STREAM,
				    .arg = arg,
				    .type = (uint8_t)type,
				    .flags = s->flags,
				    .local = s->n_nodes };
	s->n_nodes++;
	graph_table_node(&s->table, &r);
}

static void node(struct setting *s, uint32_t kernel, uint32_t line)
{
	node_of(s, GRAPH, NODE_KERNEL, kernel + 1, line);
}

/* A graph of the kernels 0, 1, 2 on the lines 10, 11, 12. */
static void capture(struct setting *s)
{
	event(s, GRAPH_MADE, GRAPH, 0);
	for (uint32_t k = 0; k < 3; k++)
		node(s, k, 10 + k);
}

static void launch(struct setting *s)
{
	s->correlation++;
	s->now += 100;
}

/* Work of the newest launch. `graph`: CUPTI's number of the executable graph. */
static struct graph_work *work_in(struct setting *s, uint64_t exec, uint32_t graph, uint32_t upper,
				  uint32_t id, uint32_t kernel)
{
	struct rec_gpu *g = &s->gpu[s->n];
	struct graph_work *w = &s->works[s->n++];
	*g = (struct rec_gpu){ .kind = REC_KERNEL,
			       .name = kernel,
			       .begin_ticks = ++s->now,
			       .correlation = s->correlation,
			       .grid = { 1, 1, 1 },
			       .node = (uint64_t)upper << 32 | id,
			       .graph = graph };
	*w = (struct graph_work){ .gpu = g, .exec = exec, .launch_ticks = s->now };
	return w;
}

static struct graph_work *work(struct setting *s, uint32_t id, uint32_t kernel)
{
	return work_in(s, EXEC, 5, 5, id, kernel);
}

static void resolve(struct setting *s)
{
	graph_table_settle(&s->table, s->now);
	graph_table_resolve(&s->table, &s->dict, s->works, s->n);
	s->n = 0;
}

static void assert_line(const struct graph_work *w, uint32_t line)
{
	assert_non_null(w->node);
	assert_int_equal(w->node->call.stack, line);
}

static void assert_lacks(const struct graph_work *w, enum graph_lack lack)
{
	assert_null(w->node);
	assert_int_equal(w->lack, lack);
}

static void replay_from(struct setting *s, uint32_t first)
{
	struct graph_work *w[3];
	launch(s);
	for (uint32_t k = 0; k < 3; k++)
		w[k] = work(s, first + k, k);
	resolve(s);
	for (uint32_t k = 0; k < 3; k++)
		assert_line(w[k], 10 + k);
}

static void test_ids_from_0(void **state)
{
	struct setting *s = *state;
	capture(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	replay_from(s, 0);
	replay_from(s, 0);
}

static void test_ids_from_1(void **state)
{
	struct setting *s = *state;
	capture(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	event(s, GRAPH_GONE, GRAPH, 0);
	replay_from(s, 1);
}

static void test_kernels_that_disagree_get_no_call(void **state)
{
	struct setting *s = *state;
	capture(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	launch(s);
	struct graph_work *first = work(s, 1, 0), *second = work(s, 0, 1), *third = work(s, 2, 2);
	resolve(s);
	assert_lacks(first, GRAPH_LACK_IDS);
	assert_lacks(second, GRAPH_LACK_IDS);
	assert_lacks(third, GRAPH_LACK_IDS);
	/* for good */
	launch(s);
	third = work(s, 2, 2);
	resolve(s);
	assert_lacks(third, GRAPH_LACK_IDS);
}

static void test_equal_kernels_must_run_in_order(void **state)
{
	static const uint32_t ids[2][3] = { { 0, 1, 2 }, { 1, 0, 2 } };
	struct setting *s = *state;
	for (int i = 0; i < 2; i++) {
		struct graph_work *w[3];
		event(s, GRAPH_MADE, GRAPH, 0);
		for (uint32_t k = 0; k < 3; k++)
			node(s, 4, 20 + k);
		event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
		launch(s);
		for (uint32_t k = 0; k < 3; k++)
			w[k] = work_in(s, EXEC, 5u + (uint32_t)i, 5u + (uint32_t)i, ids[i][k], 4);
		resolve(s);
		for (uint32_t k = 0; k < 3; k++) {
			if (!i)
				assert_line(w[k], 20 + k);
			else
				assert_lacks(w[k], GRAPH_LACK_IDS);
		}
	}
}

/* The first node is of a call that is not recorded. Without other graphs, the numbers could begin
 * with 0 or with 1. */
static void test_one_graph_shows_how_another_is_numbered(void **state)
{
	struct setting *s = *state;
	struct graph_work *w;
	event(s, GRAPH_MADE, OTHER, 0);
	s->n_nodes = 1;
	for (uint32_t k = 1; k < 3; k++)
		node_of(s, OTHER, NODE_KERNEL, 4 + 1, 30 + k);
	event(s, GRAPH_INSTANTIATED, OTHER, EXEC_2);
	launch(s);
	w = work_in(s, EXEC_2, 6, 6, 1, 4);
	resolve(s);
	assert_lacks(w, GRAPH_LACK_IDS);
	capture(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	replay_from(s, 0);
	launch(s);
	w = work_in(s, EXEC_2, 6, 6, 1, 4);
	resolve(s);
	assert_line(w, 31);
}

static void test_the_drivers_numbers_need_no_order(void **state)
{
	struct setting *s = *state;
	s->flags = NODE_ID_IS_EXACT;
	event(s, GRAPH_MADE, GRAPH, 0);
	for (uint32_t k = 0; k < 3; k++) {
		s->n_nodes = 2 * (k ^ 1); /* 2, 0, 6 */
		node(s, k, 10 + k);
	}
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	launch(s);
	struct graph_work *a = work(s, 2, 0), *b = work(s, 0, 1), *c = work(s, 6, 2),
			  *unknown = work(s, 4, 3);
	resolve(s);
	assert_line(a, 10);
	assert_line(b, 11);
	assert_line(c, 12);
	assert_lacks(unknown, GRAPH_LACK_NODE);
}

static void test_handles_are_used_again(void **state)
{
	struct setting *s = *state;
	capture(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	event(s, GRAPH_GONE, GRAPH, 0);
	launch(s);
	struct graph_work *before = work(s, 0, 0);
	event(s, GRAPH_EXEC_GONE, 0, EXEC);
	event(s, GRAPH_MADE, GRAPH, 0);
	for (uint32_t k = 0; k < 3; k++)
		node(s, k, 40 + k);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	launch(s);
	struct graph_work *after = work_in(s, EXEC, 6, 6, 0, 0);
	resolve(s);
	assert_line(before, 10);
	assert_line(after, 40);
	graph_table_forget(&s->table, s->now);
	assert_int_equal(s->table.n_nodes, 3);
}

static void test_records_come_in_any_order(void **state)
{
	struct setting *s = *state;
	const struct rec_graph made = { .event = GRAPH_MADE, .ticks = 1, .graph = GRAPH };
	s->now = 1;
	for (uint32_t k = 0; k < 3; k++)
		node(s, k, 10 + k);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	graph_table_settle(&s->table, 0);
	graph_table_event(&s->table, &made);
	replay_from(s, 0);
}

/* Only the launch tells which version of the graph ran. */
static void test_an_update_brings_other_calls(void **state)
{
	struct setting *s = *state;
	capture(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	launch(s);
	struct graph_work *before = work(s, 1, 1);
	event(s, GRAPH_MADE, OTHER, 0);
	for (uint32_t k = 0; k < 3; k++)
		node_of(s, OTHER, NODE_KERNEL, k + 1, 50 + k);
	event(s, GRAPH_UPDATED, OTHER, EXEC);
	launch(s);
	struct graph_work *after = work(s, 1, 1), *unpaired = work_in(s, 0, 5, 5, 1, 1);
	resolve(s);
	assert_line(before, 11);
	assert_line(after, 51);
	assert_lacks(unpaired, GRAPH_LACK_LAUNCH);
}

static void test_work_without_a_launch(void **state)
{
	struct setting *s = *state;
	capture(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	launch(s);
	struct graph_work *unknown = work_in(s, 0, 5, 5, 0, 0);
	resolve(s);
	assert_lacks(unknown, GRAPH_LACK_LAUNCH);
	replay_from(s, 0);
	launch(s);
	struct graph_work *known = work_in(s, 0, 5, 5, 0, 0);
	resolve(s);
	assert_line(known, 10);
}

static void test_a_graph_within_a_graph(void **state)
{
	struct setting *s = *state;
	capture(s);
	event(s, GRAPH_MADE, OTHER, 0);
	node_of(s, OTHER, NODE_KERNEL, 1, 60);
	node_of(s, OTHER, NODE_CHILD, GRAPH, 61);
	event(s, GRAPH_INSTANTIATED, OTHER, EXEC);
	event(s, GRAPH_GONE, GRAPH, 0);
	launch(s);
	struct graph_work *root = work(s, 0, 0), *inner = work_in(s, EXEC, 5, 9, 0, 0);
	resolve(s);
	assert_line(root, 60);
	assert_line(inner, 10);
}

/* Each of the two graphs contains a copy of the other one. */
static void test_graphs_within_each_other(void **state)
{
	struct setting *s = *state;
	capture(s);
	event(s, GRAPH_MADE, OTHER, 0);
	node_of(s, OTHER, NODE_CHILD, GRAPH, 60);
	s->n_nodes = 3;
	node_of(s, GRAPH, NODE_CHILD, OTHER, 61);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	event(s, GRAPH_GONE, GRAPH, 0);
	event(s, GRAPH_GONE, OTHER, 0);
	replay_from(s, 0);
}

static void test_an_unknown_graph(void **state)
{
	struct setting *s = *state;
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	launch(s);
	struct graph_work *w = work(s, 0, 0), *other = work_in(s, EXEC_2, 6, 6, 0, 0);
	resolve(s);
	assert_lacks(w, GRAPH_LACK_MADE);
	assert_lacks(other, GRAPH_LACK_MADE);
}

/* Two threads captured at the same moment, and both counted the nodes afterwards. */
static void test_a_number_of_two_nodes_is_not_used(void **state)
{
	struct setting *s = *state;
	event(s, GRAPH_MADE, GRAPH, 0);
	node(s, 0, 10);
	const struct rec_node twin = { .stack = 70,
				       .begin_ticks = ++s->now,
				       .graph = GRAPH,
				       .node = 1,
				       .stream = STREAM + 1,
				       .arg = 1,
				       .type = NODE_KERNEL,
				       .local = 0 };
	graph_table_node(&s->table, &twin);
	node(s, 1, 11);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	launch(s);
	struct graph_work *first = work(s, 0, 0), *second = work(s, 1, 1);
	resolve(s);
	assert_lacks(first, GRAPH_LACK_NODE);
	assert_line(second, 11);
}

/* Captures four equal kernels, destroys the second node and adds a node. */
static void capture_with_a_destroyed_node(struct setting *s)
{
	event(s, GRAPH_MADE, GRAPH, 0);
	for (uint32_t line = 10; line < 14; line++)
		node(s, 0, line);
	event(s, GRAPH_NODE_GONE, 0, GRAPH * 1000 + 1);
	const struct rec_node added = { .stack = 14,
					.begin_ticks = ++s->now,
					.graph = GRAPH,
					.node = GRAPH * 1000 + 1, /* handles are used again */
					.arg = 1,
					.type = NODE_KERNEL,
					.local = 3 };
	graph_table_node(&s->table, &added);
}

static void expect_no_destroyed_node(struct setting *s, uint32_t graph)
{
	struct graph_work *w[4];
	const uint32_t ids[] = { 0, 2, 3, 4 }, lines[] = { 10, 12, 13, 14 };
	launch(s);
	for (uint32_t i = 0; i < 4; i++)
		w[i] = work_in(s, EXEC, graph, graph, ids[i], 0);
	resolve(s);
	for (uint32_t i = 0; i < 4; i++)
		assert_line(w[i], lines[i]);
}

static void test_a_destroyed_node_leaves_its_number(void **state)
{
	struct setting *s = *state;
	capture_with_a_destroyed_node(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	expect_no_destroyed_node(s, 5);
	event(s, GRAPH_CLONED, OTHER, GRAPH);
	event(s, GRAPH_EXEC_GONE, 0, EXEC);
	event(s, GRAPH_INSTANTIATED, OTHER, EXEC);
	expect_no_destroyed_node(s, 6);
}

/* If work has the number of a destroyed node, the numbers follow another rule. */
static void test_numbers_that_close_up_are_not_used(void **state)
{
	struct setting *s = *state;
	struct graph_work *w[4];
	capture_with_a_destroyed_node(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	launch(s);
	for (uint32_t i = 0; i < 4; i++)
		w[i] = work(s, i, 0);
	resolve(s);
	for (uint32_t i = 0; i < 4; i++)
		assert_lacks(w[i], GRAPH_LACK_IDS);
}

static void test_new_parameters(void **state)
{
	struct setting *s = *state;
	capture(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	event(s, GRAPH_EXEC_CHANGED, GRAPH * 1000 + 1, EXEC);
	launch(s);
	struct graph_work *first = work(s, 0, 0), *changed = work(s, 1, 6), *last = work(s, 2, 2);
	resolve(s);
	assert_line(first, 10);
	assert_lacks(changed, GRAPH_LACK_CHANGED);
	assert_line(last, 12);
	launch(s);
	struct graph_work *wider = work(s, 1, 1);
	s->gpu[0].grid[0] = 2;
	resolve(s);
	assert_line(wider, 11);
}

/* Returns the processor time of a program that makes a graph of one node in each of n steps, if all
 * steps are read before the first one is passed on. */
static double seconds_of(size_t n)
{
	struct graph_table t = { 0 };
	clock_t began = clock();
	for (size_t i = 1; i <= n; i++) {
		graph_table_event(&t, &(struct rec_graph){ .event = GRAPH_MADE,
							   .ticks = 4 * i,
							   .graph = GRAPH });
		graph_table_node(&t, &(struct rec_node){ .type = NODE_KERNEL,
							 .begin_ticks = 4 * i + 1,
							 .graph = GRAPH,
							 .node = i });
	}
	for (size_t i = 1; i <= n; i++)
		graph_table_settle(&t, 4 * i + 2);
	assert_int_equal(t.n_nodes, 1);
	graph_table_free(&t);
	return (double)(clock() - began) / CLOCKS_PER_SEC;
}

static bool is_first(struct setting *s, uint64_t unseen_ticks)
{
	graph_table_settle(&s->table, ++s->now);
	return graph_table_launch(&s->table, EXEC, s->now, unseen_ticks);
}

static void test_the_first_launch_of_a_graph(void **state)
{
	struct setting *s = *state;
	assert_false(is_first(s, 0)); /* an unknown graph may have been launched before */
	capture(s);
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	assert_true(is_first(s, 0));
	assert_false(is_first(s, 0));
	event(s, GRAPH_UPDATED, GRAPH, EXEC);
	assert_false(is_first(s, 0));
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	assert_true(is_first(s, 0));
	/* launches after the recording ended are not seen */
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	assert_false(is_first(s, s->now + 1));
	uint64_t unseen_ticks = s->now++;
	event(s, GRAPH_INSTANTIATED, GRAPH, EXEC);
	assert_true(is_first(s, unseen_ticks));
}

static void test_steps_that_were_read_ahead_cost_no_more(void **state)
{
	(void)state;
	double few = seconds_of(2000), many = seconds_of(32000);
	assert_true(many < 64 * few); /* 16 times the steps; quadratic: 256 times the time */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_ids_from_0),
		TEST(test_ids_from_1),
		TEST(test_kernels_that_disagree_get_no_call),
		TEST(test_equal_kernels_must_run_in_order),
		TEST(test_one_graph_shows_how_another_is_numbered),
		TEST(test_the_drivers_numbers_need_no_order),
		TEST(test_handles_are_used_again),
		TEST(test_records_come_in_any_order),
		TEST(test_an_update_brings_other_calls),
		TEST(test_work_without_a_launch),
		TEST(test_a_graph_within_a_graph),
		TEST(test_graphs_within_each_other),
		TEST(test_an_unknown_graph),
		TEST(test_a_number_of_two_nodes_is_not_used),
		TEST(test_a_destroyed_node_leaves_its_number),
		TEST(test_numbers_that_close_up_are_not_used),
		TEST(test_new_parameters),
		TEST(test_the_first_launch_of_a_graph),
		TEST(test_steps_that_were_read_ahead_cost_no_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
