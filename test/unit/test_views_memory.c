/* Memory over time in bounded space: every span is as long as the others, and no peak is lost. */
#include "export/views_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char name[] = "memory";

/* Adds a step with one point for each `every_ns`, which is 100 bytes or, at `peak_ns`, 900. */
static void add_step(struct views_memory *v, uint64_t begin_ns, uint64_t ns, uint64_t every_ns,
		     uint64_t peak_ns)
{
	struct model_step m = { .begin_ns = begin_ns, .end_ns = begin_ns + ns };
	struct model_counter *c = model_counter_of(&m, name, 0);
	for (uint64_t at = begin_ns; at < begin_ns + ns; at += every_ns) {
		int64_t bytes = at <= peak_ns && peak_ns < at + every_ns ? 900 : 100;
		vec_push(&c->points, (struct model_point){ at, bytes });
	}
	views_memory_add(v, &m);
	model_free(&m);
}

static json_int_t at(const json_t *series, const char *list, size_t i)
{
	return json_integer_value(json_array_get(json_object_get(series, list), i));
}

static void a_long_run_is_even(void **state)
{
	(void)state;
	struct views_memory v = { 0 };
	const uint64_t begin_ns = 5000, step_ns = 1000000, peak_ns = begin_ns + 1500000;
	for (uint64_t i = 0; i < 50; i++)
		add_step(&v, begin_ns + i * step_ns, step_ns, 1000, peak_ns);
	json_t *root = views_memory_json(&v),
	       *series = json_array_get(json_object_get(root, "series"), 0);
	size_t span_ns = (size_t)json_integer_value(json_object_get(series, "span_ns")),
	       n = json_array_size(json_object_get(series, "high")), peak = 1500000 / span_ns;
	assert_in_range(n, VIEWS_MEMORY_SPANS / 2, VIEWS_MEMORY_SPANS);
	assert_int_equal(n, 50 * step_ns / span_ns + 1);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(at(series, "low", i), 100);
		assert_int_equal(at(series, "high", i), i == peak ? 900 : 100);
	}
	assert_int_equal(json_array_size(json_object_get(root, "windows")), 2);
	json_decref(root);
	views_memory_free(&v);
}

static void what_is_held_lasts_until_the_next_change(void **state)
{
	(void)state;
	struct views_memory v = { 0 };
	add_step(&v, 0, 100000, 100000, 0);
	add_step(&v, 300000, 100000, 100000, 1);
	json_t *root = views_memory_json(&v),
	       *series = json_array_get(json_object_get(root, "series"), 0);
	assert_int_equal(at(series, "high", 0), 900);
	assert_int_equal(at(series, "low", 100), 900);
	size_t n = json_array_size(json_object_get(series, "high"));
	assert_int_equal(at(series, "low", n - 1), 100);
	assert_int_equal(json_array_size(json_object_get(root, "windows")), 4);
	json_decref(root);
	views_memory_free(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_run_is_even),
		cmocka_unit_test(what_is_held_lasts_until_the_next_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
