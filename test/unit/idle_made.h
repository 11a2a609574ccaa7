/* A device whose gaps are explained, and the calls around them. Included by the files that are test
 * programs. */
#ifndef TEST_UNIT_IDLE_MADE_H
#define TEST_UNIT_IDLE_MADE_H

#include "core/analysis/idle.h"
#include "core/analysis/lanes.h"
#include "core/analysis/summary.h"
#include "test/unit/findings_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

__attribute__((unused)) static int set_up(void **state)
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
	fake_add(14, "/usr/lib/python3/site-packages/torch/nn/functional.py", 99, "linear", "", "");
	sb_step(&f->b, 5, 0, 1000);
	*state = f;
	return 0;
}

__attribute__((unused)) static const char *find_gap(const struct fixture *f, const char *what)
{
	for (size_t i = 0; i < f->f.unavailable.n; i++)
		if (!strcmp(f->f.unavailable.at[i].what, what))
			return f->f.unavailable.at[i].why;
	return NULL;
}

/* What device 0 stood idle for this cause, us over all steps; checks the books on the way. */
__attribute__((unused)) static double idle_us(const struct fixture *f, uint8_t cause)
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

__attribute__((unused)) static uint32_t site_of(const struct fixture *f, uint8_t cause)
{
	for (size_t i = 0; i < f->f.idle.n; i++)
		if (f->f.idle.at[i].cause == cause)
			return frames_site_at(NULL, f->f.idle.at[i].site)->line;
	return 0;
}

/* The newest step's spans are in order, overlap no work, and add up to its sums. */
__attribute__((unused)) static void check_spans(const struct fixture *f)
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

__attribute__((unused)) static void end_step(struct fixture *f)
{
	sb_end(&f->b, &f->a);
	check_spans(f);
}

__attribute__((unused)) static void finish(struct fixture *f)
{
	end_step(f);
	summary_fill(&f->f, &f->a.timeline);
}

__attribute__((unused)) static void call(struct fixture *f, const char *name, uint8_t category,
					 double begin, double end, uint32_t stack)
{
	sb_call(&f->b, (struct sb_call){ .name = name,
					 .category = category,
					 .begin_us = begin,
					 .end_us = end,
					 .stack = stack,
					 .handle = 0x7000,
					 .space = SPACE_DEVICE });
}

__attribute__((unused)) static void copy(struct fixture *f, const char *name, uint8_t kind,
					 double begin, double end, double gpu_begin, double gpu_end,
					 uint64_t bytes, uint32_t stack)
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
