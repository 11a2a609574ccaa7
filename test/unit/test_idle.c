/*
 * Every gap of a device has its cause: one hand-made step per cause, and random ones whose sums
 * must agree.
 */
#include "core/analysis/idle.h"
#include "core/analysis/lanes.h"
#include "core/analysis/summary.h"
#include "test/unit/findings_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int set_up(void **state)
{
	struct fixture *f = fixture_begin(NULL);
	fake_add(1, "train.py", 10, "train", "", "");
	fake_add(2, "train.py", 20, "train", "", "");
	fake_add(3, "train.py", 30, "train", "", "");
	fake_add(4, "torch/utils/data/dataloader.py", 40, "__next__", "", "");
	fake_add(5, "train.py", 50, "train", "libnccl.so.2", "");
	fake_add(6, "", 0, "c10d::ProcessGroupGloo::runLoop", "libtorch_cpu.so", "");
	fake_add(7, "clip_grad.h", 60, "torch::nn::utils::clip_grad_norm_", "", "");
	fake_add(8, "linear.h", 70, "torch::nn::LinearImpl::forward", "", "");
	fake_add(9, "adam.h", 80, "torch::optim::Adam::step", "", "");
	fake_add(11, "helper.py", 9, "log_metrics", "", "");
	fake_add(12, "helper.py", 15, "load", "", "");
	fake_add(13, "helper.py", 21, "Disk.__next__", "", "");
	fake_add(10, "engine.h", 90, "torch::autograd::Engine::evaluate_function", "", "");
	sb_step(&f->b, 5, 0, 1000);
	*state = f;
	return 0;
}

static const char *find_gap(const struct fixture *f, const char *what)
{
	for (size_t i = 0; i < f->f.unavailable.n; i++)
		if (!strcmp(f->f.unavailable.at[i].what, what))
			return f->f.unavailable.at[i].why;
	return NULL;
}

/* What device 0 stood idle for this cause, us over all steps; checks the books on the way. */
static double idle_us(const struct fixture *f, uint8_t cause)
{
	uint64_t sum_ns = 0;
	double us = 0;
	for (size_t i = 0; i < f->f.idle.n; i++) {
		sum_ns += f->f.idle.at[i].ns;
		if (f->f.idle.at[i].cause == cause)
			us = (double)f->f.idle.at[i].ns / 1000;
	}
	assert_int_equal(f->f.gpus.n, 1);
	assert_int_equal(sum_ns, f->f.gpus.at[0].idle_ns);
	assert_int_equal(f->f.gpus.at[0].busy_ns + f->f.gpus.at[0].idle_ns,
			 f->f.gpus.at[0].span_ns);
	assert_null(find_gap(f, "idle"));
	return us;
}

static uint32_t site_of(const struct fixture *f, uint8_t cause)
{
	for (size_t i = 0; i < f->f.idle.n; i++)
		if (f->f.idle.at[i].cause == cause)
			return frames_site_at(NULL, f->f.idle.at[i].site)->line;
	return 0;
}

/* The newest step's spans are in order, overlap no work, and add up to its sums. */
static void check_spans(const struct fixture *f)
{
	const struct timeline *t = &f->a.timeline;
	const struct idle_step *idle = f->a.step.idle;
	uint64_t sums[IDLE_CAUSES_N] = { 0 };
	for (size_t i = 0; i < idle->spans.n; i++) {
		const struct idle_span *s = &idle->spans.at[i];
		assert_true(s->end_ns > s->begin_ns);
		assert_true(!i || s[-1].device != s->device || s[-1].end_ns <= s->begin_ns);
		for (size_t k = 0; k < t->works.n; k++) {
			const struct timeline_work *w = &t->works.at[k];
			assert_true(w->device != s->device || w->end_ns == w->begin_ns ||
				    w->end_ns <= s->begin_ns || w->begin_ns >= s->end_ns);
		}
		sums[s->cause] += s->end_ns - s->begin_ns;
	}
	for (size_t i = 0; i < t->idle.steps.n; i++)
		for (int cause = 0; cause < IDLE_CAUSES_N; cause++)
			if (t->idle.steps.at[i].step + 1 == t->steps.n)
				sums[cause] -= t->idle.steps.at[i].idle_ns[cause];
	for (int i = 0; i < IDLE_CAUSES_N; i++)
		assert_int_equal(sums[i], 0);
}

static void end_step(struct fixture *f)
{
	sb_end(&f->b, &f->a);
	check_spans(f);
}

static void finish(struct fixture *f)
{
	end_step(f);
	summary_fill(&f->f, &f->a.timeline);
}

static void call(struct fixture *f, const char *name, uint8_t category, double begin, double end,
		 uint32_t stack)
{
	sb_call(&f->b, (struct sb_call){ .name = name,
					 .category = category,
					 .begin_us = begin,
					 .end_us = end,
					 .stack = stack,
					 .handle = 0x7000,
					 .space = SPACE_DEVICE });
}

static void copy(struct fixture *f, const char *name, uint8_t kind, double begin, double end,
		 double gpu_begin, double gpu_end, uint64_t bytes, uint32_t stack)
{
	bool is_in = kind == COPY_H2D;
	uint32_t number = sb_call(&f->b, (struct sb_call){ .name = name,
							   .category = CAT_MEMCPY,
							   .begin_us = begin,
							   .end_us = end,
							   .copy = kind,
							   .bytes = bytes,
							   .stack = stack });
	sb_work(&f->b, (struct sb_work){ .name = is_in ? "Memcpy HtoD (Pageable -> Device)"
						       : "Memcpy DtoH (Device -> Pageable)",
					 .kind = WORK_MEMCPY,
					 .begin_us = gpu_begin,
					 .end_us = gpu_end,
					 .call = number,
					 .stream = 7,
					 .bytes = bytes,
					 .source = is_in ? 1 : 3,
					 .target = is_in ? 3 : 1 });
}

/* Busy to 300; the wait for it blocks from 20 to 305; the next kernel runs from 340 to the end. */
static void cause_sync(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 20, 305, 2);
	sb_launch(&f->b, 330, 340, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 40, 1e-6);
	assert_int_equal(site_of(f, IDLE_SYNC), 20);
	assert_int_equal(f->f.syncs.n, 1);
	assert_float_equal(f->f.syncs.at[0].gpu_idle_ms, 0.040, 1e-9);
	assert_float_equal(f->f.syncs.at[0].blocked_ms, 0.285, 1e-9);
	assert_int_equal(f->f.syncs.at[0].kind, SYNC_EXPLICIT);
}

/*
 * The wait held the host up for only 15 us; the device would have waited for the rest of the 100 in
 * any case.
 */
static void no_more_than_it_blocked(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 290, 305, 2);
	sb_launch(&f->b, 390, 400, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 15, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 85, 1e-6);
	assert_int_equal(site_of(f, IDLE_LAUNCH), 30);
}

/* The device was idle before anybody waited. */
static void sync_of_an_idle_device(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 200, 204, 2);
	sb_launch(&f->b, 390, 400, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 4, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 296, 1e-6);
}

/* The second wait comes for free behind the first. */
static void hidden_sync(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 20, 305, 2);
	call(f, "cudaDeviceSynchronize", CAT_SYNC, 310, 312, 3);
	sb_launch(&f->b, 330, 340, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 40, 1e-6);
	assert_int_equal(f->f.syncs.n, 2);
	assert_float_equal(f->f.syncs.at[0].gpu_idle_ms, 0.038, 1e-9);
	assert_float_equal(f->f.syncs.at[1].gpu_idle_ms, 0.002, 1e-9);
}

static void cause_launch(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 10; i++)
		sb_launch(&f->b, i * 100, i * 100 + 10, i * 100 + 40, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 700, 1e-6);
	assert_int_equal(site_of(f, IDLE_LAUNCH), 30);
}

/* Kernels wait in the queue: their gaps are the device's own, whatever wait came before. */
static void between_queued_kernels(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 99, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 4, 100, 2);
	for (int i = 0; i < 5; i++)
		sb_launch(&f->b, 100 + i * 4, 110 + i * 178, 286 + i * 178, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 11 + 2, 1e-6); /* the last 2: the step's end */
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 4 * 2, 1e-6);
}

/* Behind a long pause 4 kB are copied to the device by that stack. */
static void copy_behind_a_pause(struct fixture *f, uint32_t stack)
{
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 20, 305, 2);
	for (int i = 0; i < 4; i++)
		call(f, "cudaEventRecord", CAT_EVENT, 306 + i, 306.5 + i, 2);
	call(f, "cudaMalloc", CAT_ALLOC, 700, 705, 3);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 706, 709, 715, 800, 4096, stack);
	sb_launch(&f->b, 712, 800, 1000, 3);
	finish(f);
}

static void cause_input_by_copy(void **state)
{
	struct fixture *f = *state;
	copy_behind_a_pause(f, 3);
	assert_float_equal(idle_us(f, IDLE_INPUT), 700 - 309.5, 1e-6);
	assert_float_equal(idle_us(f, IDLE_ALLOC), 5, 1e-6);
	assert_float_equal(idle_us(f, IDLE_SYNC), 415 - 390.5 - 5, 1e-6);
	assert_int_equal(site_of(f, IDLE_INPUT), 30);
}

/*
 * Clipping copies a list of the gradients' addresses, a module copies its masks: these are no
 * batches, however long the host took before them.
 */
static void no_input_by_copies_of(struct fixture *f, uint32_t stack)
{
	copy_behind_a_pause(f, stack);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
	assert_true(idle_us(f, IDLE_LAUNCH) > 100);
}

static void no_input_by_clipping(void **state)
{
	no_input_by_copies_of(*state, 7);
}

static void no_input_by_a_module(void **state)
{
	no_input_by_copies_of(*state, 8);
}

static void no_input_by_an_optimizer(void **state)
{
	no_input_by_copies_of(*state, 9);
}

static void no_input_by_a_backward_pass(void **state)
{
	no_input_by_copies_of(*state, 10);
}

/*
 * The next batch is made after the last recorded call. Its copy is the next step's first call, as
 * in this step.
 */
static void cause_input_after_the_last_call(void **state)
{
	struct fixture *f = *state;
	copy(f, "cudaMemcpyAsync", COPY_H2D, 2, 5, 6, 10, 4096, 3);
	for (int i = 0; i < 4; i++)
		call(f, "cudaEventRecord", CAT_EVENT, 6 + i, 6.5 + i, 2);
	sb_launch(&f->b, 10, 15, 300, 1);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 700, 1e-6);
}

/*
 * The same holds if the last recorded call comes between the batch and its copy: a query, an event.
 */
static void cause_input_before_the_last_call(void **state)
{
	struct fixture *f = *state;
	copy(f, "cudaMemcpyAsync", COPY_H2D, 2, 5, 6, 10, 4096, 3);
	for (int i = 0; i < 4; i++)
		call(f, "cudaEventRecord", CAT_EVENT, 6 + i, 6.5 + i, 2);
	sb_launch(&f->b, 10, 15, 300, 1);
	call(f, "cudaEventQuery", CAT_QUERY, 960, 961, 2);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 660, 1e-6);
}

/* The same without a batch: the host's own time. */
static void no_input_after_the_last_call(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 4; i++)
		call(f, "cudaEventRecord", CAT_EVENT, 6 + i, 6.5 + i, 2);
	sb_launch(&f->b, 10, 15, 300, 1);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
}

static void cause_input_by_frames(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	call(f, "cudaEventRecord", CAT_EVENT, 101, 102, 1);
	call(f, "cudaEventRecord", CAT_EVENT, 103, 104, 1);
	call(f, "cudaEventRecord", CAT_EVENT, 600, 601, 4);
	sb_launch(&f->b, 602, 610, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 600 - 104, 1e-6);
}

/* ---- Samples ---- */

/* A kernel to 100, then 497 us in which the CPU was sampled, then the copy of a batch. */
static void sampled_pause(struct fixture *f)
{
	sb_launch(&f->b, 0, 0, 100, 1);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 600, 603, 605, 610, 4096, 3);
	sb_launch(&f->b, 604, 610, 1000, 3);
}

/* The copy of a batch alone does not make it data loading: the sampled line does the work. */
static void cause_host(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 200, 0, SAMPLE_RUNNING, 11);
	sb_sample(&f->b, 500, 0, SAMPLE_RUNNING, 11);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_HOST), 500, 1e-6);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
	assert_int_equal(site_of(f, IDLE_HOST), 9);
	assert_int_equal(f->a.timeline.calls.at[1].before_kind, HOST_PYTHON);
	assert_int_equal(frames_site_at(NULL, f->a.timeline.calls.at[1].before_site)->line, 9);
}

static void cause_input_by_samples(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 300, 0, SAMPLE_POLL, 4);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 500, 1e-6);
	assert_int_equal(site_of(f, IDLE_INPUT), 40);
}

/* Fetching the next item of a loop is data loading only if the copy of a batch follows. */
static void cause_input_by_an_iterator(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 200, 0, SAMPLE_RUNNING, 11);
	sb_sample(&f->b, 500, 0, SAMPLE_SLEEP, 13);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_HOST), 250, 1e-6);
	assert_float_equal(idle_us(f, IDLE_INPUT), 250, 1e-6);
	assert_int_equal(site_of(f, IDLE_INPUT), 21);
}

static void no_input_by_an_iterator_alone(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	sb_launch(&f->b, 600, 610, 1000, 3);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 700, 703, 705, 710, 4096, 3);
	sb_sample(&f->b, 200, 0, SAMPLE_RUNNING, 13);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
	assert_true(idle_us(f, IDLE_HOST) > 490);
}

/* The next batch is fetched after the step's last call: its copy is the next step's first call. */
static void cause_input_by_an_iterator_at_the_end(void **state)
{
	struct fixture *f = *state;
	copy(f, "cudaMemcpyAsync", COPY_H2D, 2, 5, 6, 10, 4096, 3);
	sb_launch(&f->b, 10, 15, 300, 1);
	sb_sample(&f->b, 600, 0, SAMPLE_RUNNING, 13);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 700, 1e-6);
}

/* Each sample stands for the time around it. */
static void causes_of_what_blocks(void **state)
{
	static const struct {
		uint8_t state, cause;
	} blocks[] = {
		{ SAMPLE_SLEEP, IDLE_SLEEP }, { SAMPLE_LOCK, IDLE_LOCK }, { SAMPLE_GIL, IDLE_LOCK },
		{ SAMPLE_IO, IDLE_IO },	      { SAMPLE_POLL, IDLE_IO },
	};
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		struct fixture *f = *state;
		sampled_pause(f);
		sb_sample(&f->b, 200, 0, SAMPLE_RUNNING, 11);
		sb_sample(&f->b, 500, 0, blocks[i].state, 12);
		finish(f);
		assert_float_equal(idle_us(f, IDLE_HOST), 250, 1e-6);
		assert_float_equal(idle_us(f, blocks[i].cause), 250, 1e-6);
		assert_int_equal(site_of(f, blocks[i].cause), 15);
		tear_down(state);
		set_up(state);
	}
}

static void cause_gc(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 300, 0, SAMPLE_RUNNING, 11);
	f->b.m.samples.at[0].flags = SAMPLE_COLLECTING;
	finish(f);
	assert_float_equal(idle_us(f, IDLE_GC), 500, 1e-6);
	assert_int_equal(site_of(f, IDLE_GC), 9);
}

/* The main thread waits for its worker, which works without Python frames: its time, at the line
 * that waits. */
static void host_code_of_a_worker(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_call(&f->b, (struct sb_call){ .name = "cudaEventRecord",
					 .category = CAT_LAUNCH,
					 .begin_us = 620,
					 .end_us = 621,
					 .tid = 2 });
	sb_sample(&f->b, 300, 1, SAMPLE_LOCK, 11);
	sb_sample(&f->b, 300.02, 2, SAMPLE_RUNNING, 0);
	sb_sample(&f->b, 400, 2, SAMPLE_LOCK, 0); /* another moment: both wait */
	sb_sample(&f->b, 400.02, 1, SAMPLE_LOCK, 11);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_HOST), 250, 0.1);
	assert_int_equal(site_of(f, IDLE_HOST), 9);
	assert_float_equal(idle_us(f, IDLE_LOCK), 250, 0.1);
	assert_int_equal(site_of(f, IDLE_LOCK), 9);
	assert_int_equal(f->a.timeline.host.n, 2);
}

/* A sample counts only while no thread of the lane is in a call. */
static void a_sample_beside_a_call(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_call(&f->b, (struct sb_call){ .name = "cudaMalloc",
					 .category = CAT_ALLOC,
					 .begin_us = 200,
					 .end_us = 400,
					 .tid = 2 });
	sb_sample(&f->b, 300, 1, SAMPLE_LOCK, 11);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_LOCK), 0, 1e-6);
	assert_float_equal(idle_us(f, IDLE_ALLOC), 200, 1e-6);
	assert_int_equal(f->a.timeline.host.n, 0);
}

/* What was sampled between two calls once is assumed there where no sample was taken. A short time
 * between two calls is the way to the next call. */
static void causes_where_no_sample_was_taken(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 300, 0, SAMPLE_SLEEP, 11);
	end_step(f);
	sb_step(&f->b, 6, 1000, 2000);
	sb_launch(&f->b, 1000, 1000, 1100, 1);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 1600, 1603, 1605, 1610, 4096, 3);
	sb_launch(&f->b, 1604, 1610, 1700, 3);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 1740, 1743, 1745, 2000, 4096, 2);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SLEEP), 1000, 1e-6);
	assert_float_equal(idle_us(f, IDLE_HOST), 0, 1e-6);
}

/* A batch's copy makes data loading only where no samples are taken at all. */
static void no_input_by_copy_among_samples(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 300, 0, SAMPLE_RUNNING, 11);
	end_step(f);
	sb_step(&f->b, 6, 1000, 2000);
	sb_launch(&f->b, 1000, 1000, 1100, 2);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 1600, 1603, 1605, 2000, 4096, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
	assert_true(idle_us(f, IDLE_LAUNCH) > 490);
}

/* The rows of the CPU time between calls: their samples share that time. */
static void time_between_calls(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	for (int i = 0; i < 3; i++)
		sb_sample(&f->b, 100 + i * 100, 0, SAMPLE_RUNNING, 11);
	sb_sample(&f->b, 400, 0, SAMPLE_SLEEP, 12);
	sb_sample(&f->b, 601, 0, SAMPLE_RUNNING, 12); /* in a call */
	finish(f);
	/* Before the first sample it is not known what the CPU did. From there on, the calls take 6
	 * us of 900. Until 350 the samples of line 9 are nearer. */
	assert_float_equal(f->f.between_ms, 0.894, 1e-9);
	assert_int_equal(f->f.n_host_samples, 4);
	assert_int_equal(f->f.host.n, 2);
	const struct finding_host *h = f->f.host.at;
	assert_int_equal(h[1].line, 9);
	assert_int_equal(h[1].kind, HOST_PYTHON);
	assert_float_equal(h[1].self_ms, 0.250, 1e-9);
	assert_float_equal(h[1].total_ms, h[1].self_ms, 1e-9);
	assert_int_equal(h[1].samples, 3);
	assert_int_equal(h[0].line, 15);
	assert_int_equal(h[0].kind, HOST_SLEEP);
	assert_float_equal(h[0].self_ms, 0.894 - 0.250, 1e-9);
}

/*
 * Gloo's exchange: a copy to the host, a wait for it, the exchange with other ranks, and a copy
 * back, which is no batch.
 */
static void cause_exchange(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	copy(f, "cudaMemcpyAsync", COPY_D2H, 10, 13, 100, 110, 4096, 6);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 14, 112, 6);
	call(f, "cudaEventRecord", CAT_EVENT, 115, 116, 6);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 616, 619, 620, 630, 4096, 6);
	sb_launch(&f->b, 622, 630, 1000, 3);
	finish(f);
	assert_true(idle_us(f, IDLE_COLLECTIVE) >= 616 - 116);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
}

static void cause_alloc_that_waits(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaFree", CAT_FREE, 20, 310, 2);
	sb_launch(&f->b, 330, 340, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_ALLOC), 40, 1e-6);
	assert_int_equal(f->f.syncs.at[0].kind, SYNC_ALLOC);
}

static void cause_alloc_that_takes_its_time(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	call(f, "cudaMalloc", CAT_ALLOC, 150, 300, 2);
	sb_launch(&f->b, 330, 340, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_ALLOC), 150, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 90, 1e-6);
}

static void cause_copy(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	copy(f, "cudaMemcpy", COPY_D2H, 20, 505, 100, 500, 1 << 20, 2);
	sb_launch(&f->b, 530, 540, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_COPY), 40, 1e-6);
	assert_int_equal(f->f.syncs.at[0].kind, SYNC_COPY);
}

/* From pinned memory it would not have waited at all. */
static void cause_copy_from_pageable_memory(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 490, 1);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 20, 505, 490, 500, 1 << 20, 2);
	sb_launch(&f->b, 530, 540, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_COPY), 40, 1e-6);
}

/* Four bytes are not what took so long: the work before them was waited for. */
static void reading_a_value(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 498, 1);
	copy(f, "cudaMemcpyAsync", COPY_D2H, 20, 503, 498, 500, 4, 2);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 504, 506, 2);
	sb_launch(&f->b, 530, 540, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 40, 1e-6);
	assert_int_equal(f->f.syncs.n, 1);
	assert_int_equal(f->f.syncs.at[0].kind, SYNC_ITEM);
	assert_float_equal(f->f.syncs.at[0].per_step, 1, 1e-9);
	assert_float_equal(f->f.syncs.at[0].blocked_ms, 0.485, 1e-9);
	assert_string_equal(f->f.syncs.at[0].api, "cudaStreamSynchronize");
}

static void cause_module_by_a_long_launch(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	uint32_t number = sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
							   .category = CAT_LAUNCH,
							   .begin_us = 120,
							   .end_us = 620,
							   .stack = 2 });
	sb_work(&f->b, (struct sb_work){ .name = "k",
					 .begin_us = 625,
					 .end_us = 1000,
					 .call = number,
					 .stream = 7 });
	finish(f);
	assert_float_equal(idle_us(f, IDLE_MODULE), 500, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 25, 1e-6);
}

static void overhead(struct fixture *f, double begin, double end, uint16_t what)
{
	vec_push(&f->b.m.overheads, (struct model_overhead){ (uint64_t)(begin * 1000),
							     (uint64_t)(end * 1000), 1, what });
}

static void causes_by_overheads(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	overhead(f, 90, 150, 1);
	overhead(f, 200, 300, 5);
	overhead(f, 400, 420, 6);
	sb_launch(&f->b, 490, 500, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_PROFILER), 50, 1e-6);
	assert_float_equal(idle_us(f, IDLE_MODULE), 100, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 250, 1e-6);
}

static void cause_collective(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 20, 400, 5);
	sb_launch(&f->b, 410, 420, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_COLLECTIVE), 120, 1e-6);
}

/* Launched long ago, and still it does not start: something that is not on this device keeps it. */
static void cause_unknown(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	sb_launch(&f->b, 10, 600, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_UNKNOWN), 500, 1e-6);
	assert_int_equal(site_of(f, IDLE_UNKNOWN), 30);
}

/*
 * The main thread waits, the other one continues to launch: there are two lanes, and the launch's
 * own lane explains it.
 */
static void the_launching_thread_counts(void **state)
{
	struct fixture *f = *state;
	uint32_t number = 0;
	call(f, "cudaEventSynchronize", CAT_SYNC, 0, 900, 2);
	for (int i = 0; i < 9; i++) {
		number = sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
							  .category = CAT_LAUNCH,
							  .begin_us = i * 100,
							  .end_us = i * 100 + 4,
							  .tid = 2,
							  .stack = 3 });
		sb_work(&f->b, (struct sb_work){ .name = "k",
						 .begin_us = i * 100 + 10,
						 .end_us = i * 100 + 50,
						 .call = number,
						 .stream = 7 });
	}
	finish(f);
	assert_true(idle_us(f, IDLE_LAUNCH) > 500);
	assert_float_equal(idle_us(f, IDLE_SYNC), 0, 1e-6);
}

/*
 * Forward on one thread, backward on another, as in PyTorch: the thread that waited is charged to
 * the one it waited for.
 */
static void threads_that_take_turns(void **state)
{
	struct fixture *f = *state;
	struct lanes lanes;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 20, 305, 2);
	uint32_t number = sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
							   .category = CAT_LAUNCH,
							   .begin_us = 330,
							   .end_us = 333,
							   .tid = 2,
							   .stack = 3 });
	sb_work(&f->b, (struct sb_work){ .name = "k",
					 .begin_us = 340,
					 .end_us = 1000,
					 .call = number,
					 .stream = 7 });
	finish(f);
	lanes_find(&lanes, &f->a.timeline);
	assert_int_equal(lanes.n, 1);
	lanes_free(&lanes);
	assert_float_equal(idle_us(f, IDLE_SYNC), 40, 1e-6);
}

/*
 * A loader's thread pins batches ahead, and queries whether the last one has arrived, while the
 * main thread is between two launches.
 */
static void a_thread_alongside(void **state)
{
	struct fixture *f = *state;
	struct lanes lanes;
	sb_launch(&f->b, 0, 0, 300, 1);
	const char *names[] = { "cudaEventQuery", "cudaHostAlloc" };
	const uint8_t categories[] = { CAT_QUERY, CAT_ALLOC };
	for (int i = 0; i < 2; i++)
		sb_call(&f->b, (struct sb_call){ .name = names[i],
						 .category = categories[i],
						 .begin_us = 400 + i * 100,
						 .end_us = 401 + i * 100,
						 .tid = 2,
						 .stack = 4 });
	sb_launch(&f->b, 690, 700, 1000, 3);
	finish(f);
	lanes_find(&lanes, &f->a.timeline);
	assert_int_equal(lanes.n, 2);
	lanes_free(&lanes);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 400, 1e-6);
}

/* A step's work that runs in the next one keeps that busy. */
static void work_across_a_boundary(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 1500, 1);
	end_step(f);
	sb_step(&f->b, 6, 1000, 2000);
	sb_launch(&f->b, 1490, 1510, 2500, 1);
	finish(f);
	assert_int_equal(f->f.gpus.at[0].span_ns, 2000000);
	assert_int_equal(f->f.gpus.at[0].idle_ns, 10000);
	assert_float_equal(f->f.gpus.at[0].idle_ms, 0.005, 1e-9);
	idle_us(f, IDLE_LAUNCH);
}

/* So does work of a step that was not recorded. */
static void work_from_before(void **state)
{
	struct fixture *f = *state;
	vec_push(&f->b.m.earlier, (struct model_earlier){ 0, 200000, 0 });
	vec_push(&f->b.m.earlier, (struct model_earlier){ 210000, 390000, 0 });
	sb_launch(&f->b, 10, 400, 1000, 1);
	finish(f);
	assert_int_equal(f->f.gpus.at[0].idle_ns, 20000);
	assert_int_equal(f->f.gpus.at[0].span_ns, 1000000);
	assert_float_equal(f->f.gpus.at[0].kernels, 1, 1e-9);
	idle_us(f, IDLE_LAUNCH);
}

/*
 * The queue was full of unrecorded work when these steps began: none of their own work runs in
 * them.
 */
static void work_from_long_before(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 10, 5000, 7000, 1);
	finish(f);
	assert_int_equal(f->f.gpus.at[0].idle_ns, 0);
	assert_int_equal(f->f.gpus.at[0].busy_ns, 1000000);
	assert_float_equal(f->f.gpus.at[0].before_ms, 1, 1e-9); /* what a step gives is the rest */
	assert_float_equal(f->f.gpus.at[0].late_ms, 2, 1e-9);
}

/*
 * Work launched in two consecutive steps that runs in the second one and after it; and the same for
 * two steps that are not consecutive.
 */
static void work_after_the_steps(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 10, 900, 1500, 1);
	end_step(f);
	sb_step(&f->b, 6, 1000, 2000);
	sb_launch(&f->b, 1010, 1500, 5000, 1);
	finish(f);
	assert_float_equal(f->f.gpus.at[0].late_ms, 3.0 / 2, 1e-9);
	assert_float_equal(f->f.gpus.at[0].busy_ms, 1.1 / 2, 1e-9);
	assert_float_equal(f->f.gpus.at[0].before_ms, 0, 1e-9);
}

/* ---- At random ---- */

static unsigned seed;

static unsigned pick(unsigned n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void random_call(struct fixture *f, double at, double length)
{
	static const struct sb_call kinds[] = {
		{ .name = "cudaStreamSynchronize", .category = CAT_SYNC },
		{ .name = "cudaEventSynchronize", .category = CAT_SYNC },
		{ .name = "cudaMalloc", .category = CAT_ALLOC, .space = SPACE_DEVICE },
		{ .name = "cudaFree", .category = CAT_FREE, .space = SPACE_DEVICE, .handle = 1 },
		{ .name = "cudaEventRecord", .category = CAT_EVENT },
		{ .name = "cuModuleGetFunction", .category = CAT_CONTROL },
		{ .name = "cudaMemcpy", .category = CAT_MEMCPY, .copy = COPY_D2H, .bytes = 4 },
		{ .name = "cudaMemcpyAsync",
		  .category = CAT_MEMCPY,
		  .copy = COPY_H2D,
		  .bytes = 9999 },
		{ .name = "cudaLaunchKernel", .category = CAT_LAUNCH },
	};
	unsigned kind = pick(14);
	struct sb_call c = kinds[kind < 8 ? kind : 8];
	c.begin_us = at;
	c.end_us = at + length;
	c.tid = 1 + pick(3);
	c.stack = pick(6);
	uint32_t number = sb_call(&f->b, c);
	if (!category_has_work(c.category))
		return;
	for (unsigned i = 0; i < 1 + pick(2); i++) {
		double begin = at + pick(200);
		sb_work(&f->b, (struct sb_work){ .name = pick(9) ? "k" : "ncclKernel",
						 .kind = c.category == CAT_MEMCPY ? WORK_MEMCPY
										  : WORK_KERNEL,
						 .begin_us = begin,
						 .end_us = begin + pick(150),
						 .call = pick(20) ? number : MODEL_NO_CALL,
						 .stream = 7 + pick(3),
						 .device = pick(2),
						 .bytes = c.bytes,
						 .source = (uint8_t)pick(4),
						 .target = (uint8_t)pick(4) });
	}
}

static void random_step(struct fixture *f, uint64_t number)
{
	double begin = (double)number * 10000, at = begin;
	sb_step(&f->b, number, begin, begin + 10000);
	for (unsigned i = 0; i < 200 && at < begin + 9900; i++) {
		double length = pick(27);
		random_call(f, at, length);
		at += pick(3) ? length + pick(30) : pick(20);
	}
	for (unsigned i = 0; i < pick(6); i++) {
		double from = begin + pick(10000);
		overhead(f, from, from + pick(400), (uint16_t)pick(9));
	}
	for (unsigned i = 0; f->b.m.calls.n && i < pick(60); i++)
		sb_sample(&f->b, begin + pick(10000), 1 + pick(4), pick(SAMPLE_STATES), pick(6));
	end_step(f);
}

/* Busy time counted the slow way, microsecond by microsecond. */
static uint64_t slow_busy_ns(const struct timeline *t, uint32_t device)
{
	uint64_t busy_ns = 0;
	for (size_t s = 0; s < t->steps.n; s++) {
		size_t n = t->steps.at[s].end_ns - t->steps.at[s].begin_ns;
		uint8_t *is_busy = mem_zero(n / 1000);
		for (size_t i = 0; i < t->works.n && t->steps.at[s].has_gpu; i++) {
			const struct timeline_work *w = &t->works.at[i];
			for (uint64_t at = w->begin_ns; at < w->end_ns && w->device == device;
			     at += 1000)
				if (at >= t->steps.at[s].begin_ns && at < t->steps.at[s].end_ns)
					is_busy[(at - t->steps.at[s].begin_ns) / 1000] = 1;
		}
		for (size_t i = 0; i < n / 1000; i++)
			busy_ns += is_busy[i] ? 1000 : 0;
		free(is_busy);
	}
	return busy_ns;
}

static void books_balance(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		struct fixture *f = mem_zero(sizeof(*f));
		seed = round * 7919 + 1;
		analyzer_start(&f->a, &f->b.tables, NULL);
		for (uint64_t step = 0; step < 1 + pick(3); step++)
			random_step(f, step);
		summary_fill(&f->f, &f->a.timeline);
		assert_null(find_gap(f, "idle"));
		double sync_idle_ms = 0;
		for (size_t i = 0; i < f->f.gpus.n; i++) {
			const struct finding_gpu *gpu = &f->f.gpus.at[i];
			uint64_t sum_ns = 0;
			for (size_t k = 0; k < f->f.idle.n; k++)
				if (f->f.idle.at[k].device == gpu->device)
					sum_ns += f->f.idle.at[k].ns;
			assert_int_equal(sum_ns, gpu->idle_ns);
			assert_int_equal(gpu->busy_ns + gpu->idle_ns, gpu->span_ns);
			assert_int_equal(gpu->busy_ns, slow_busy_ns(&f->a.timeline, gpu->device));
			sync_idle_ms += gpu->idle_ms;
		}
		for (size_t i = 0; i < f->f.syncs.n; i++)
			sync_idle_ms -= f->f.syncs.at[i].gpu_idle_ms;
		assert_true(sync_idle_ms > -1e-6);
		findings_free(&f->f);
		analyzer_free(&f->a);
		sb_free(&f->b);
		free(f);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void causes_are_found_by_name(void **state)
{
	(void)state;
	for (int cause = 0; cause < IDLE_CAUSES_N; cause++) {
		const struct idle_cause_row *row = &idle_causes[cause];
		assert_ptr_equal(idle_cause_find(row->name), row);
		assert_true(*row->name && *row->noun && *row->meaning);
	}
	assert_string_equal(idle_causes[IDLE_SYNC].name, "sync");
	assert_string_equal(idle_causes[IDLE_UNKNOWN].name, "unknown");
	assert_null(idle_cause_find("syn"));
	assert_null(idle_cause_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(causes_are_found_by_name),
		TEST(cause_sync),
		TEST(no_more_than_it_blocked),
		TEST(sync_of_an_idle_device),
		TEST(hidden_sync),
		TEST(cause_launch),
		TEST(between_queued_kernels),
		TEST(cause_input_by_copy),
		TEST(no_input_by_clipping),
		TEST(no_input_by_a_module),
		TEST(no_input_by_an_optimizer),
		TEST(no_input_by_a_backward_pass),
		TEST(cause_input_after_the_last_call),
		TEST(cause_input_before_the_last_call),
		TEST(no_input_after_the_last_call),
		TEST(cause_input_by_frames),
		TEST(cause_host),
		TEST(cause_input_by_samples),
		TEST(cause_input_by_an_iterator),
		TEST(no_input_by_an_iterator_alone),
		TEST(cause_input_by_an_iterator_at_the_end),
		TEST(causes_of_what_blocks),
		TEST(cause_gc),
		TEST(host_code_of_a_worker),
		TEST(a_sample_beside_a_call),
		TEST(causes_where_no_sample_was_taken),
		TEST(no_input_by_copy_among_samples),
		TEST(time_between_calls),
		TEST(cause_exchange),
		TEST(cause_alloc_that_waits),
		TEST(cause_alloc_that_takes_its_time),
		TEST(cause_copy),
		TEST(cause_copy_from_pageable_memory),
		TEST(reading_a_value),
		TEST(cause_module_by_a_long_launch),
		TEST(causes_by_overheads),
		TEST(cause_collective),
		TEST(cause_unknown),
		TEST(the_launching_thread_counts),
		TEST(threads_that_take_turns),
		TEST(a_thread_alongside),
		TEST(work_across_a_boundary),
		TEST(work_from_before),
		TEST(work_from_long_before),
		TEST(work_after_the_steps),
		cmocka_unit_test(books_balance),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
