/*
 * What calls of libraries amount to: operations, bytes, the work that belongs to them, and the
 * shares of lines and collectives.
 */
#include "core/analysis/peak.h"
#include "core/analysis/summary.h"
#include "core/model/library.h"
#include "test/unit/findings_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int set_up(void **state)
{
	struct fixture *f = fixture_begin(NULL);
	fake_add(1, "train.py", 10, "train", "", "aten::addmm");
	fake_add(2, "train.py", 20, "train", "", "aten::mm");
	*state = f;
	return 0;
}

static uint64_t ns(double us)
{
	return (uint64_t)(us * 1000);
}

static struct model_library *call(struct fixture *f, const char *name, uint8_t facts,
				  double begin_us, double end_us)
{
	vec_push(&f->b.m.libraries,
		 (struct model_library){ .begin_ns = ns(begin_us),
					 .end_ns = ns(end_us),
					 .name = strtab_intern(&f->b.tables.names, name),
					 .facts = facts,
					 .work = MODEL_NO_WORK,
					 .peer = -1 });
	return &f->b.m.libraries.at[f->b.m.libraries.n - 1];
}

static void gemm(struct fixture *f, double begin_us, double end_us, uint64_t m, uint64_t n,
		 uint64_t k, uint8_t type)
{
	struct model_library *l = call(f, "cublasGemmEx", FACTS_GEMM, begin_us, end_us);
	l->m = m;
	l->n = n;
	l->k = k;
	l->batch = 1;
	l->type = type;
}

static struct model_library *moves(struct fixture *f, const char *name, double begin_us,
				   double end_us, uint64_t count, uint16_t n_ranks)
{
	struct model_library *l = call(f, name, FACTS_COLLECTIVE, begin_us, end_us);
	l->count = count;
	l->type = 7; /* ncclFloat32 */
	l->n_ranks = n_ranks;
	return l;
}

/* ---- Facts ---- */

static void operations(void **state)
{
	(void)state;
	struct model_library l = { .facts = FACTS_GEMM, .m = 3, .n = 5, .k = 7, .batch = 2 };
	assert_float_equal(library_flops(&l), 2 * 3 * 5 * 7 * 2, 0);
	l.type = LIBRARY_C32;
	assert_float_equal(library_flops(&l), 8 * 3 * 5 * 7 * 2, 0);
	l.status = 13;
	assert_float_equal(library_flops(&l), 0, 0);
	l = (struct model_library){ .facts = FACTS_COLLECTIVE, .m = 3, .n = 5, .k = 7, .batch = 2 };
	assert_float_equal(library_flops(&l), 0, 0);
}

/* nccl-tests, doc/PERFORMANCE.md, by hand for four ranks and 1,000 floats. */
static void bytes_and_bandwidth(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *name;
		double bytes, factor;
	} rows[] = {
		{ "ncclAllReduce", 4000, 1.5 },
		{ "ncclAllGather", 16000, 0.75 },
		{ "ncclReduceScatter", 16000, 0.75 },
		{ "ncclBroadcast", 4000, 1 },
		{ "ncclReduce", 4000, 1 },
		{ "ncclAlltoAll", 16000, 0.75 },
		{ "ncclSend", 4000, 1 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct model_library *l = moves(f, rows[i].name, 0, 1, 1000, 4);
		assert_float_equal(library_bytes(l, &f->b.tables), rows[i].bytes, 1e-9);
		assert_float_equal(library_bus_factor(l, &f->b.tables), rows[i].factor, 1e-9);
	}
	struct model_library *l = moves(f, "ncclOfTomorrow", 0, 1, 1000, 4);
	assert_float_equal(library_bus_factor(l, &f->b.tables), 0, 0);
	l = moves(f, "ncclAllReduce", 0, 1, 1000, 0);
	assert_float_equal(library_bus_factor(l, &f->b.tables), 0, 0);
	vec_free(&f->b.m.libraries);
}

static void types(void **state)
{
	(void)state;
	assert_string_equal(library_type_name(FACTS_GEMM, LIBRARY_BF16), "bf16");
	assert_string_equal(library_type_name(FACTS_GEMM, 200), "");
	assert_string_equal(library_type_name(FACTS_COLLECTIVE, 7), "f32");
	assert_string_equal(library_type_name(FACTS_COLLECTIVE, 200), "");
	assert_string_equal(library_type_name(FACTS_NONE, 0), "");
}

/* ---- What was launched ---- */

static void kernel(struct fixture *f, double at_us, const char *name, double begin_us,
		   double end_us)
{
	uint32_t made = sb_call(&f->b, (struct sb_call){ .name = "cuLaunchKernel",
							 .category = CAT_LAUNCH,
							 .begin_us = at_us,
							 .end_us = at_us + 3,
							 .stack = 1 });
	sb_work(&f->b, (struct sb_work){ .name = name,
					 .begin_us = begin_us,
					 .end_us = end_us,
					 .call = made,
					 .stream = 7 });
}

static void work_inside_belongs_to_the_call(void **state)
{
	struct fixture *f = *state;
	sb_step(&f->b, 1, 0, 1000);
	kernel(f, 50, "before", 60, 100);
	kernel(f, 102, "product", 200, 230);
	kernel(f, 106, "splitK_reduce", 230, 240);
	kernel(f, 120, "after", 240, 300);
	gemm(f, 101, 112, 10, 20, 30, LIBRARY_F32);
	sb_end(&f->b, &f->a);
	assert_int_equal(f->a.timeline.libraries.n, 1);
	const struct timeline_library *l = &f->a.timeline.libraries.at[0];
	assert_int_equal(l->gpu_ns, ns(40));
	assert_int_equal(l->gpu_begin_ns, ns(200));
	assert_int_equal(l->gpu_end_ns, ns(240));
	assert_string_equal(strtab_text(&f->b.tables.names, l->kernel),
			    "product"); /* the longest */
	assert_int_equal(frames_site_at(NULL, l->site)->line, 10);
}

static void a_group_launches_for_its_members(void **state)
{
	struct fixture *f = *state;
	sb_step(&f->b, 1, 0, 1000);
	kernel(f, 42, "ncclDevKernel", 100, 140);
	call(f, "ncclGroupStart", FACTS_GROUP_START, 10, 11);
	moves(f, "ncclAllReduce", 20, 21, 3000, 2);
	moves(f, "ncclBroadcast", 30, 31, 1000, 2);
	call(f, "ncclGroupEnd", FACTS_GROUP_END, 40, 50);
	moves(f, "ncclAllReduce", 60, 61, 1000, 2); /* of a group that has no end here */
	sb_end(&f->b, &f->a);
	assert_int_equal(f->a.timeline.libraries.n, 2);
	const struct timeline_library *l = f->a.timeline.libraries.at;
	assert_int_equal(l[0].gpu_ns, ns(30)); /* by bytes */
	assert_int_equal(l[1].gpu_ns, ns(10));
	assert_int_equal(l[0].gpu_begin_ns, ns(100));
	assert_int_equal(l[1].gpu_end_ns, ns(140));
}

/* ---- Lines and kernels ---- */

static void fill(struct fixture *f, uint32_t multiprocessors, uint8_t type)
{
	vec_push(&f->b.tables.devices, (struct run_device){ .id = 0,
							    .multiprocessors = multiprocessors,
							    .compute_major = 9,
							    .name = "NVIDIA H100 80GB HBM3" });
	for (int step = 0; step < 2; step++) {
		double at = step * 1000;
		sb_step(&f->b, (uint64_t)step, at, at + 1000);
		sb_launch(&f->b, at + 102, at + 200, at + 300, 1);
		sb_launch(&f->b, at + 122, at + 300, at + 500, 2);
		gemm(f, at + 101, at + 112, 1000, 1000, 1000, type);
		gemm(f, at + 121, at + 132, 1000, 1000, 1000, type);
		sb_end(&f->b, &f->a);
	}
	summary_fill(&f->f, &f->a.timeline);
}

static const struct finding_arithmetic *of_line(const struct fixture *f, uint32_t line)
{
	for (size_t i = 0; i < f->f.lines.n; i++)
		if (frames_site_at(NULL, f->f.lines.at[i].site)->line == line)
			return &f->f.lines.at[i].arithmetic;
	fail_msg("no line %u", line);
	return NULL;
}

/* Returns why something is unavailable, or NULL if it is not. */
static const char *why_not(const struct findings *f, const char *what)
{
	for (size_t i = 0; i < f->unavailable.n; i++)
		if (!strcmp(f->unavailable.at[i].what, what))
			return f->unavailable.at[i].why;
	return NULL;
}

static void lines_have_their_arithmetic(void **state)
{
	struct fixture *f = *state;
	fill(f, 132, LIBRARY_BF16);
	const struct finding_arithmetic *a = of_line(f, 10);
	assert_float_equal(a->flops, 2e9, 1);
	assert_float_equal(a->tflops, 20, 1e-9); /* 2e9 in 100 us */
	assert_float_equal(a->peak_pct, 100 * 20 / 989.4, 1e-3);
	assert_float_equal(of_line(f, 20)->tflops, 10, 1e-9);
	assert_float_equal(f->f.kernels.at[0].arithmetic.flops, 4e9, 1);
	assert_float_equal(f->f.kernels.at[0].arithmetic.tflops, 4e9 / 300e3 / 1e3, 1e-9);
	assert_null(why_not(&f->f, "% of peak"));
}

static void an_unknown_device_has_no_peak(void **state)
{
	struct fixture *f = *state;
	fill(f, 16, LIBRARY_BF16); /* a slice of one */
	assert_float_equal(of_line(f, 10)->tflops, 20, 1e-9);
	assert_float_equal(of_line(f, 10)->peak_pct, 0, 0);
	assert_string_equal(why_not(&f->f, "% of peak"),
			    "profrun's table of peak TFLOP/s has no entry for NVIDIA H100 80GB "
			    "HBM3 (compute capability 9.0, 16 multiprocessors)");
}

static void a_type_without_a_peak_is_named(void **state)
{
	struct fixture *f = *state;
	fill(f, 132, LIBRARY_I8);
	assert_float_equal(of_line(f, 10)->peak_pct, 0, 0);
	assert_string_equal(why_not(&f->f, "% of peak"),
			    "profrun's table has no peak TFLOP/s of NVIDIA H100 80GB HBM3 for i8 "
			    "matrix products");
}

static void a_type_without_a_name_has_no_peak(void **state)
{
	struct fixture *f = *state;
	fill(f, 132, 200);
	assert_string_equal(why_not(&f->f, "% of peak"),
			    "profrun's table has no peak TFLOP/s of NVIDIA H100 80GB HBM3 for at "
			    "least one data type of matrix products");
}

static double peak_of(const char *name, uint32_t multiprocessors, uint8_t type, bool tensor)
{
	struct run_device d = { .multiprocessors = multiprocessors };
	snprintf(d.name, sizeof(d.name), "%s", name);
	return peak_tflops(&d, type, tensor);
}

static void peaks_by_type(void **state)
{
	(void)state;
	static const char h200[] = "NVIDIA H200";
	assert_float_equal(peak_of(h200, 132, LIBRARY_F32, false), 66.9, 1e-3);
	assert_float_equal(peak_of(h200, 132, LIBRARY_F32, true), 494.7, 1e-3);
	assert_float_equal(peak_of(h200, 132, LIBRARY_C32, true), 494.7, 1e-3);
	assert_float_equal(peak_of(h200, 132, LIBRARY_F64, false), 33.5, 1e-3);
	assert_float_equal(peak_of(h200, 132, LIBRARY_F64, true), 66.9, 1e-3);
	assert_float_equal(peak_of(h200, 132, LIBRARY_BF16, true), 989.4, 1e-3);
	assert_float_equal(peak_of(h200, 132, LIBRARY_F8_E5M2, true), 1978.9, 1e-3);
	assert_float_equal(peak_of(h200, 132, LIBRARY_I8, true), 0, 0);
	assert_float_equal(peak_of("Tesla T4", 40, LIBRARY_F16, true), 65, 1e-3);
	assert_float_equal(peak_of("Tesla T4", 40, LIBRARY_F64, false), 0, 0); /* not printed */
}

/* The names that drivers give, and relatives that must not pass for them. */
static void peaks_by_product(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t multiprocessors;
		double f16;
	} products[] = {
		{ "Tesla V100-SXM2-32GB", 80, 125 },
		{ "Tesla V100-PCIE-16GB", 80, 0 },
		{ "NVIDIA TITAN V", 80, 0 },
		{ "NVIDIA A100-SXM4-40GB", 108, 312 },
		{ "NVIDIA A100 80GB PCIe", 108, 312 },
		{ "NVIDIA A100-SXM4-40GB MIG 3g.20gb", 42, 0 },
		{ "NVIDIA A10", 72, 125 },
		{ "NVIDIA A10G", 80, 0 },
		{ "NVIDIA A40", 84, 149.7 },
		{ "NVIDIA RTX A6000", 84, 154.8 },
		{ "NVIDIA GeForce RTX 3090", 82, 71 },
		{ "NVIDIA L4", 58, 121 },
		{ "NVIDIA L40S", 142, 362 },
		{ "NVIDIA L40", 142, 0 },
		{ "NVIDIA GeForce RTX 4090", 128, 165.2 },
		{ "NVIDIA H100 80GB HBM3", 132, 989.4 },
		{ "NVIDIA H800", 132, 0 },
		{ "NVIDIA GH200 480GB", 132, 989.4 },
		{ "NVIDIA H200 NVL", 132, 0 },
		{ "NVIDIA H100 NVL", 132, 835 },
		{ "NVIDIA H100 PCIe", 114, 756 },
		{ "NVIDIA B200", 148, 2250 },
		{ "NVIDIA GB200", 148, 0 },
	};
	for (size_t i = 0; i < sizeof(products) / sizeof(*products); i++)
		assert_float_equal(peak_of(products[i].name, products[i].multiprocessors,
					   LIBRARY_F16, true),
				   products[i].f16, 1e-3);
	assert_float_equal(peak_tflops(NULL, LIBRARY_F16, true), 0, 0);
}

static void collectives_are_summed_by_line(void **state)
{
	struct fixture *f = *state;
	sb_step(&f->b, 1, 0, 1000);
	sb_launch(&f->b, 11, 100, 110, 1);
	sb_launch(&f->b, 31, 110, 130, 1);
	for (int i = 0; i < 2; i++) {
		struct model_library *l =
			moves(f, "ncclAllReduce", 10 + i * 20, 19 + i * 20, 2500, 4);
		l->comm = 77;
		l->sequence = (uint32_t)i + 1;
	}
	sb_end(&f->b, &f->a);
	summary_fill(&f->f, &f->a.timeline);
	assert_int_equal(f->f.collectives.n, 1);
	const struct finding_collective *c = &f->f.collectives.at[0];
	assert_string_equal(c->name, "ncclAllReduce");
	assert_float_equal(c->per_step, 2, 1e-9);
	assert_float_equal(c->bytes, 20000, 1e-9);
	assert_float_equal(c->gpu_ms, 0.03, 1e-9);
	assert_float_equal(c->gb_per_s, 20000 / 30e3, 1e-9);
	assert_float_equal(c->bus_gb_per_s, 1.5 * 20000 / 30e3, 1e-9);
	assert_int_equal(f->f.arrivals.n, 2);
	assert_int_equal(f->f.arrivals.at[1].sequence, 2);
	assert_int_equal(f->f.arrivals.at[1].begin_ns, ns(110));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations),
		cmocka_unit_test_setup_teardown(bytes_and_bandwidth, set_up, tear_down),
		cmocka_unit_test(types),
		cmocka_unit_test_setup_teardown(work_inside_belongs_to_the_call, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_group_launches_for_its_members, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(lines_have_their_arithmetic, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_unknown_device_has_no_peak, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_type_without_a_peak_is_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_type_without_a_name_has_no_peak, set_up,
						tear_down),
		cmocka_unit_test(peaks_by_type),
		cmocka_unit_test(peaks_by_product),
		cmocka_unit_test_setup_teardown(collectives_are_summed_by_line, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
