/*
 * Gaps between the nodes of a graph. Each step launches one graph with stack 1. Its nodes were
 * captured at lines 20 and 30; a host function at line 50. Times are microseconds.
 */
#include "test/unit/idle_made.h"

enum { LAUNCH = 1, FIRST = 2, SECOND = 3, HOST = 5 };

static uint32_t graph_call;

static uint32_t captured(struct fixture *f, uint8_t category, double at, uint32_t stack)
{
	return sb_captured(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
						    .category = category,
						    .begin_us = at,
						    .end_us = at + 2,
						    .stack = stack });
}

static void launch_graph(struct fixture *f, double at)
{
	graph_call = sb_call(&f->b, (struct sb_call){ .name = "cudaGraphLaunch",
						      .category = CAT_GRAPH,
						      .begin_us = at,
						      .end_us = at + 10,
						      .stack = LAUNCH });
}

static void node(struct fixture *f, double begin, double end, uint32_t stream, uint32_t origin)
{
	sb_work(&f->b, (struct sb_work){ .name = "kernel",
					 .begin_us = begin,
					 .end_us = end,
					 .call = graph_call,
					 .stream = stream,
					 .graph = 5,
					 .origin = origin });
}

static const struct finding_idle *row_of(const struct fixture *f, uint8_t cause)
{
	for (size_t i = 0; i < f->f.idle.n; i++)
		if (f->f.idle.at[i].cause == cause)
			return &f->f.idle.at[i];
	return NULL;
}

static void expect(const struct fixture *f, uint8_t cause, double us, uint32_t line,
		   uint32_t before_line)
{
	const struct finding_idle *row = row_of(f, cause);
	assert_float_equal(idle_us(f, cause), us, 1e-6);
	assert_non_null(row);
	assert_int_equal(frames_site_at(NULL, row->site)->line, line);
	assert_int_equal(frames_site_at(NULL, row->before_site)->line, before_line);
}

/* The gap before the graph's first node is not inside the graph. */
static void small_kernels(void **state)
{
	struct fixture *f = *state;
	uint32_t first = captured(f, CAT_LAUNCH, 1, FIRST),
		 second = captured(f, CAT_LAUNCH, 5, SECOND);
	launch_graph(f, 0);
	node(f, 14, 100, 7, first);
	node(f, 101, 200, 7, second);
	node(f, 202, 1000, 7, first);
	finish(f);
	expect(f, IDLE_GRAPH_KERNELS, 3, 20, 30);
	assert_null(row_of(f, IDLE_GRAPH_DEPENDENCY));
	assert_null(row_of(f, IDLE_GRAPH_HOST));
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 14, 1e-6);
}

static void dependency_on_another_branch(void **state)
{
	struct fixture *f = *state;
	uint32_t first = captured(f, CAT_LAUNCH, 1, FIRST),
		 second = captured(f, CAT_LAUNCH, 5, SECOND);
	launch_graph(f, 0);
	node(f, 14, 100, 7, first);
	node(f, 103, 200, 8, second);
	node(f, 200, 1000, 7, first);
	finish(f);
	expect(f, IDLE_GRAPH_DEPENDENCY, 3, 30, 20);
	assert_null(row_of(f, IDLE_GRAPH_KERNELS));
}

/* What the node waited for cannot be seen, but no device needs this long between two kernels. */
static void a_long_gap_is_a_dependency(void **state)
{
	struct fixture *f = *state;
	uint32_t first = captured(f, CAT_LAUNCH, 1, FIRST),
		 second = captured(f, CAT_LAUNCH, 5, SECOND);
	launch_graph(f, 0);
	node(f, 14, 100, 7, first);
	node(f, 150, 1000, 7, second);
	finish(f);
	expect(f, IDLE_GRAPH_DEPENDENCY, 50, 30, 20);
}

/* The host function was captured between the two nodes. That of another graph, captured later, is
 * not the cause. */
static void host_node(void **state)
{
	struct fixture *f = *state;
	uint32_t first = captured(f, CAT_LAUNCH, 1, FIRST);
	captured(f, CAT_HOSTFUNC, 3, HOST);
	uint32_t second = captured(f, CAT_LAUNCH, 5, SECOND),
		 third = captured(f, CAT_LAUNCH, 8, FIRST);
	captured(f, CAT_HOSTFUNC, 20, HOST);
	launch_graph(f, 0);
	node(f, 14, 100, 7, first);
	node(f, 170, 200, 7, second);
	node(f, 201, 1000, 7, third);
	finish(f);
	expect(f, IDLE_GRAPH_HOST, 70, 50, 20);
	expect(f, IDLE_GRAPH_KERNELS, 1, 20, 30);
}

/* The lines of captured calls are not known: the launch is named. */
static void unknown_nodes(void **state)
{
	struct fixture *f = *state;
	launch_graph(f, 0);
	node(f, 14, 100, 7, 0);
	node(f, 101, 1000, 7, 0);
	finish(f);
	expect(f, IDLE_GRAPH_KERNELS, 1, 10, 0);
}

/* Between two launches of the same graph, the CPU is the cause. */
static void between_two_launches(void **state)
{
	struct fixture *f = *state;
	uint32_t first = captured(f, CAT_LAUNCH, 1, FIRST);
	launch_graph(f, 0);
	node(f, 14, 100, 7, first);
	launch_graph(f, 300);
	node(f, 314, 1000, 7, first);
	finish(f);
	assert_null(row_of(f, IDLE_GRAPH_KERNELS));
	assert_null(row_of(f, IDLE_GRAPH_DEPENDENCY));
	assert_float_equal(idle_us(f, IDLE_LAUNCH) + idle_us(f, IDLE_HOST), 228, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(small_kernels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(dependency_on_another_branch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_long_gap_is_a_dependency, set_up, tear_down),
		cmocka_unit_test_setup_teardown(host_node, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unknown_nodes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(between_two_launches, set_up, tear_down),
	};
	return cmocka_run_group_tests_name("gaps in graphs", tests, NULL, NULL);
}
