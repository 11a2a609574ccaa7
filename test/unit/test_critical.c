/* The critical path of programs whose times are exact: what is on it, and for how long. */
#include "core/verdict/judge_parts.h"
#include "core/whatif/critical_spans.h"
#include "test/unit/line_frames.h"
#include "test/unit/twin_programs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The host of a full queue is TWIN_QUEUE launches ahead, less than four steps. */
enum { STEPS = 6, OTHER_STREAM = 2, AHEAD_LAUNCHES = 60 };

/* Microseconds per step of each kind. */
struct truth {
	double us[CRITICAL_KINDS_N];
};

static struct twin *record(twin_step step)
{
	struct twin *tw = mem_zero(sizeof(*tw));
	make_frames();
	tw->between = 1;
	twin_record(tw, step, STEPS);
	return tw;
}

static void forget(struct twin *tw)
{
	twin_free(tw);
	free(tw);
}

static void assert_us(double value, double truth, const char *what)
{
	if (fabs(value - truth) > 0.01)
		fail_msg("%s: %.3f is not %.3f", what, value, truth);
}

/* Checks that the links follow each other, cover the run and lie in the timeline. */
static void assert_whole(const struct critical_path *p, const struct replay *r, size_t run)
{
	uint64_t at_ns = r->runs.at[run].begin_ns;
	for (size_t i = 0; i < p->links.n; i++) {
		assert_int_equal(p->links.at[i].begin_ns, at_ns);
		assert_true(p->links.at[i].end_ns > at_ns);
		at_ns = p->links.at[i].end_ns;
	}
	assert_true(at_ns >= r->runs.at[run].end_ns);
}

static void assert_path(twin_step step, struct truth truth)
{
	struct twin *tw = record(step);
	struct findings f = { .timeline = &tw->a.timeline };
	struct critical_path path = { 0 };
	struct replay r;
	double all = 0, sum = 0, rows = 0;
	replay_build(&r, &tw->a.timeline);
	assert_int_equal(r.runs.n, 1);
	critical_find(&path, &r, 0, NULL);
	assert_whole(&path, &r, 0);
	judge_fill_critical(&f, &r);
	for (int kind = 0; kind < CRITICAL_KINDS_N; kind++) {
		double us = 0;
		for (size_t i = 0; i < f.critical_kinds.n; i++)
			if (!strcmp(f.critical_kinds.at[i].kind, critical_kinds[kind].name))
				us = f.critical_kinds.at[i].ms * 1e3;
		assert_us(us, truth.us[kind], critical_kinds[kind].name);
		all += us;
	}
	for (uint32_t i = 0; i < r.runs.at[0].n_steps; i++)
		sum += (double)(tw->a.timeline.steps.at[i].end_ns -
				tw->a.timeline.steps.at[i].begin_ns) /
		       1e3;
	for (size_t i = 0; i < f.critical.n; i++)
		rows += f.critical.at[i].ms * 1e3;
	assert_us(all, sum / r.n_steps, "the step");
	assert_us(rows, all, "the rows");
	critical_free(&path);
	findings_free(&f);
	replay_free(&r);
	forget(tw);
}

/* ---- Programs ---- */

static void host_makes_the_step(struct twin *tw)
{
	for (int i = 0; i < 3; i++) {
		twin_host(tw, 100);
		twin_launch(tw, 1, 20, "gemm", 1);
	}
	twin_wait_stream(tw, 1, WAIT);
}

static void gpu_makes_the_step(struct twin *tw)
{
	for (int i = 0; i < 5; i++) {
		twin_host(tw, 10);
		twin_launch(tw, 1, 200, "gemm", 1);
	}
	twin_wait_stream(tw, 1, WAIT);
}

/* The second stream's work waits for that of the first, which is longer than its own. */
static void event_between(struct twin *tw)
{
	twin_launch(tw, 1, 500, "long", 1);
	twin_record_event(tw, 1, 1, 2);
	twin_launch(tw, OTHER_STREAM, 30, "short", 3);
	twin_stream_wait(tw, OTHER_STREAM, 1, 4);
	twin_launch(tw, OTHER_STREAM, 70, "last", 5);
	twin_wait_stream(tw, OTHER_STREAM, WAIT);
}

static void wait_in_the_middle(struct twin *tw)
{
	twin_host(tw, 10);
	twin_launch(tw, 1, 300, "first", 1);
	twin_wait_stream(tw, 1, WAIT);
	twin_host(tw, 400);
	twin_launch(tw, 1, 100, "second", 2);
	twin_wait_stream(tw, 1, OTHER_WAIT);
}

static void copy_overlapped(struct twin *tw)
{
	twin_host(tw, 10);
	twin_copy(tw, OTHER_STREAM, COPY_H2D, 4096, 200, false, COPY);
	twin_launch(tw, 1, 600, "gemm", 1);
	twin_wait_device(tw, WAIT);
}

static void copy_waited_for(struct twin *tw)
{
	twin_host(tw, 10);
	twin_launch(tw, 1, 600, "gemm", 1);
	twin_copy(tw, 1, COPY_D2H, 4096, 200, true, COPY);
}

/* Nodes of a graph follow each other by TWIN_NODE_US. */
static void graph_of_kernels(struct twin *tw)
{
	static const struct twin_node nodes[] = { { CAT_LAUNCH, 100, NODE },
						  { CAT_LAUNCH, 200, NODE },
						  { CAT_LAUNCH, 50, NODE } };
	twin_host(tw, 30);
	twin_graph(tw, 1, nodes, 3, REPLAY);
	twin_wait_stream(tw, 1, WAIT);
}

/* A kernel waits 300 us until another stream's kernel leaves the multiprocessors: nothing says it,
 * because that kernel still runs. */
static void no_room(struct twin *tw)
{
	twin_host(tw, 10);
	twin_launch(tw, OTHER_STREAM, 500, "large", 1);
	tw->stream[1] = tw->stream[OTHER_STREAM] - 200;
	twin_launch(tw, 1, 400, "late", 2);
	twin_wait_device(tw, WAIT);
}

/* Each step waits for the kernel of the step before. */
static void one_step_behind(struct twin *tw)
{
	twin_wait_stream(tw, 1, WAIT);
	twin_host(tw, 50);
	twin_launch(tw, 1, 300, "gemm", 1);
}

/* The host is never waited for: the queue is full. */
static void host_runs_ahead(struct twin *tw)
{
	tw->has_queue = true;
	for (int i = 0; i < AHEAD_LAUNCHES; i++) {
		twin_host(tw, 2);
		twin_launch(tw, 1, 99, "gemm", 1);
	}
}

/* ---- Tests ---- */

static void host_bound_steps_are_cpu_code(void **state)
{
	(void)state;
	assert_path(host_makes_the_step, (struct truth){ {
						 [CRITICAL_CPU] = 3 * 100,
						 [CRITICAL_CALL] = 3 * TWIN_ISSUE_US,
						 [CRITICAL_LAUNCH] = TWIN_LATENCY_US,
						 [CRITICAL_KERNEL] = 20,
						 [CRITICAL_WAIT] = TWIN_EXIT_US,
					 } });
}

static void gpu_bound_steps_are_kernels(void **state)
{
	(void)state;
	assert_path(gpu_makes_the_step, (struct truth){ {
						[CRITICAL_CPU] = 10,
						[CRITICAL_CALL] = TWIN_ISSUE_US,
						[CRITICAL_LAUNCH] = TWIN_LATENCY_US,
						[CRITICAL_KERNEL] = 5 * 200,
						[CRITICAL_DELAY] = 4 * 1,
						[CRITICAL_WAIT] = TWIN_EXIT_US,
					} });
}

static void the_path_crosses_streams_at_an_event(void **state)
{
	(void)state;
	assert_path(event_between, (struct truth){ {
					   [CRITICAL_CALL] = TWIN_ISSUE_US,
					   [CRITICAL_LAUNCH] = TWIN_LATENCY_US,
					   [CRITICAL_KERNEL] = 500 + 70,
					   [CRITICAL_DELAY] = 1,
					   [CRITICAL_WAIT] = TWIN_EXIT_US,
				   } });
}

static void a_wait_in_the_middle_returns_to_the_host(void **state)
{
	(void)state;
	assert_path(wait_in_the_middle, (struct truth){ {
						[CRITICAL_CPU] = 10 + 400,
						[CRITICAL_CALL] = 2 * TWIN_ISSUE_US,
						[CRITICAL_LAUNCH] = 2 * TWIN_LATENCY_US,
						[CRITICAL_KERNEL] = 300 + 100,
						[CRITICAL_WAIT] = 2 * TWIN_EXIT_US,
					} });
}

/* The copy's call comes before the launch, so the call is on the path, but not the copy. */
static void an_overlapped_copy_is_not_on_the_path(void **state)
{
	(void)state;
	assert_path(copy_overlapped, (struct truth){ {
					     [CRITICAL_CPU] = 10,
					     [CRITICAL_CALL] = 2 * TWIN_ISSUE_US,
					     [CRITICAL_LAUNCH] = TWIN_LATENCY_US,
					     [CRITICAL_KERNEL] = 600,
					     [CRITICAL_WAIT] = TWIN_EXIT_US,
				     } });
}

static void a_copy_that_blocks_is_on_the_path(void **state)
{
	(void)state;
	assert_path(copy_waited_for, (struct truth){ {
					     [CRITICAL_CPU] = 10,
					     [CRITICAL_CALL] = TWIN_ISSUE_US,
					     [CRITICAL_LAUNCH] = TWIN_LATENCY_US,
					     [CRITICAL_KERNEL] = 600,
					     [CRITICAL_DELAY] = 1,
					     [CRITICAL_COPY] = 200,
					     [CRITICAL_WAIT] = TWIN_EXIT_US,
				     } });
}

static void kernels_of_a_graph_are_on_the_path(void **state)
{
	(void)state;
	assert_path(graph_of_kernels, (struct truth){ {
					      [CRITICAL_CPU] = 30,
					      [CRITICAL_CALL] = TWIN_ISSUE_US,
					      [CRITICAL_LAUNCH] = TWIN_LATENCY_US,
					      [CRITICAL_KERNEL] = 100 + 200 + 50,
					      [CRITICAL_DELAY] = 2 * TWIN_NODE_US,
					      [CRITICAL_WAIT] = TWIN_EXIT_US,
				      } });
}

static void a_delay_without_a_reason_is_unknown(void **state)
{
	(void)state;
	/* from the end of its launch, 3 us after that of the other, to 1 us after `- 200` */
	double unknown = TWIN_LATENCY_US + 500 - 200 - TWIN_ISSUE_US + 1;
	assert_path(no_room, (struct truth){ {
				     [CRITICAL_CPU] = 10,
				     [CRITICAL_CALL] = 2 * TWIN_ISSUE_US,
				     [CRITICAL_UNKNOWN] = unknown,
				     [CRITICAL_KERNEL] = 400,
				     [CRITICAL_WAIT] = TWIN_EXIT_US,
			     } });
}

static double share(const struct critical_path *p, enum critical_kind kind, uint64_t begin_ns,
		    uint64_t end_ns)
{
	double ns = 0;
	for (size_t i = 0; i < p->links.n; i++) {
		const struct critical_link *l = &p->links.at[i];
		uint64_t from = l->begin_ns > begin_ns ? l->begin_ns : begin_ns,
			 to = l->end_ns < end_ns ? l->end_ns : end_ns;
		if (l->kind == kind && to > from)
			ns += (double)(to - from);
	}
	return ns / (double)(end_ns - begin_ns);
}

/* The CPU is blocked in launches, and nobody waits for it: the GPU makes the step. */
static void a_host_that_runs_ahead_is_not_on_the_path(void **state)
{
	(void)state;
	struct twin *tw = record(host_runs_ahead);
	const struct timeline_step *steps = tw->a.timeline.steps.at;
	struct critical_path path = { 0 };
	struct replay r;
	replay_build(&r, &tw->a.timeline);
	critical_find(&path, &r, 0, NULL);
	assert_whole(&path, &r, 0);
	double last =
		share(&path, CRITICAL_KERNEL, steps[STEPS - 1].begin_ns, steps[STEPS - 1].end_ns);
	assert_us(last, 0.99, "kernels of 99 us, 1 us apart");
	/* this recording does not say that the first work waited for earlier work */
	assert_true(share(&path, CRITICAL_UNKNOWN, steps[0].begin_ns, steps[2].end_ns) > 0.98);
	critical_free(&path);
	replay_free(&r);
	forget(tw);
}

/* ---- One step ---- */

struct steps_alone {
	struct critical_spans spans;
	double of_step[STEPS][CRITICAL_KINDS_N];
	uint64_t end_ns[STEPS];
};

/* Replays the recording: each step is the newest of the timeline once. */
static void find_alone(struct steps_alone *s, struct timeline *t)
{
	size_t n = t->steps.n;
	for (t->steps.n = 1; t->steps.n <= n; t->steps.n++) {
		size_t i = t->steps.n - 1;
		const struct critical_path *path = &s->spans.path;
		critical_spans_find(&s->spans, t);
		assert_true(path->links.n > 0);
		assert_int_equal(path->links.at[0].begin_ns, t->steps.at[i].begin_ns);
		s->end_ns[i] = path->links.at[path->links.n - 1].end_ns;
		for (int kind = 0; kind < CRITICAL_KINDS_N; kind++)
			s->of_step[i][kind] = share(path, (enum critical_kind)kind,
						    t->steps.at[i].begin_ns, s->end_ns[i]);
	}
	t->steps.n = n;
	critical_spans_free(&s->spans);
}

static void a_step_alone_is_like_the_others(void **state)
{
	(void)state;
	struct twin *tw = record(wait_in_the_middle);
	struct timeline *t = &tw->a.timeline;
	struct steps_alone s = { 0 };
	double all = 10 + 400 + 2 * TWIN_ISSUE_US + 2 * TWIN_LATENCY_US + 400 + 2 * TWIN_EXIT_US;
	find_alone(&s, t);
	for (size_t i = 0; i < STEPS; i++) {
		assert_int_equal(s.end_ns[i], t->steps.at[i].end_ns);
		assert_us(s.of_step[i][CRITICAL_KERNEL] * all, 400, "kernels");
		assert_us(s.of_step[i][CRITICAL_CPU] * all, 410, "CPU code");
	}
	forget(tw);
}

/* Its work waits for that of the steps before it, and ends after the step. */
static void a_step_alone_knows_the_work_of_earlier_steps(void **state)
{
	(void)state;
	struct twin *tw = record(host_runs_ahead);
	struct timeline *t = &tw->a.timeline;
	struct steps_alone s = { 0 };
	find_alone(&s, t);
	for (size_t i = 1; i < STEPS; i++) {
		double all = (double)(s.end_ns[i] - t->steps.at[i].begin_ns) / 1e3;
		assert_true(s.end_ns[i] > t->steps.at[i].end_ns);
		assert_us(s.of_step[i][CRITICAL_KERNEL] * all, AHEAD_LAUNCHES * 99, "kernels");
		assert_us(s.of_step[i][CRITICAL_DELAY] * all, AHEAD_LAUNCHES, "delays");
		assert_us(s.of_step[i][CRITICAL_EARLIER] * all, all - 100 * AHEAD_LAUNCHES,
			  "earlier work");
	}
	forget(tw);
}

static void a_step_alone_may_wait_for_the_step_before(void **state)
{
	(void)state;
	struct twin *tw = record(one_step_behind);
	struct timeline *t = &tw->a.timeline;
	struct steps_alone s = { 0 };
	find_alone(&s, t);
	for (size_t i = 1; i < STEPS; i++) {
		double all = (double)(s.end_ns[i] - t->steps.at[i].begin_ns) / 1e3;
		assert_us(s.of_step[i][CRITICAL_EARLIER] * all, TWIN_LATENCY_US + 300, "before");
		assert_us(s.of_step[i][CRITICAL_WAIT] * all, TWIN_EXIT_US, "return of the wait");
		assert_us(s.of_step[i][CRITICAL_CPU] * all, 50, "CPU code");
		assert_us(s.of_step[i][CRITICAL_KERNEL] * all, 300, "its own kernel");
	}
	forget(tw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_bound_steps_are_cpu_code),
		cmocka_unit_test(gpu_bound_steps_are_kernels),
		cmocka_unit_test(the_path_crosses_streams_at_an_event),
		cmocka_unit_test(a_wait_in_the_middle_returns_to_the_host),
		cmocka_unit_test(an_overlapped_copy_is_not_on_the_path),
		cmocka_unit_test(a_copy_that_blocks_is_on_the_path),
		cmocka_unit_test(kernels_of_a_graph_are_on_the_path),
		cmocka_unit_test(a_delay_without_a_reason_is_unknown),
		cmocka_unit_test(a_host_that_runs_ahead_is_not_on_the_path),
		cmocka_unit_test(a_step_alone_is_like_the_others),
		cmocka_unit_test(a_step_alone_may_wait_for_the_step_before),
		cmocka_unit_test(a_step_alone_knows_the_work_of_earlier_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
