/*
 * Which steps get traces: the first ones, and later ones at growing distances, within limits of
 * number and size. Steps that somebody asked for always do, and the oldest later trace is deleted.
 */
#include "export/trace_keep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/profrun-keep-XXXXXX";

static void write_file(const char *name, size_t bytes)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	for (size_t i = 0; i < bytes; i++)
		fputc('x', f);
	fclose(f);
}

static bool is_there(const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return !access(path, F_OK);
}

/*
 * Adds `n` files of `bytes` each. Returns the numbers of those that are kept, as text; checks that
 * exactly those exist.
 */
static const char *kept(const struct trace_limits *limits, unsigned n, size_t bytes,
			struct trace_keep *k)
{
	static char text[1024];
	text[0] = 0;
	for (unsigned i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%u", i);
		write_file(name, bytes);
		trace_keep_add(k, limits, folder, name);
	}
	json_t *list = trace_keep_list(k);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		assert_true(is_there(name));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 name);
	}
	unsigned n_there = 0;
	for (unsigned i = 0; i < n; i++) {
		char name[32], path[256];
		snprintf(name, sizeof(name), "%u", i);
		n_there += is_there(name);
		snprintf(path, sizeof(path), "%s/%s", folder, name);
		unlink(path);
	}
	assert_int_equal(n_there, json_array_size(list));
	assert_int_equal(n_there + k->n_removed, n);
	json_decref(list);
	return text;
}

static void check(struct trace_limits limits, unsigned n, size_t bytes, const char *expected)
{
	struct trace_keep k = { 0 };
	assert_string_equal(kept(&limits, n, bytes, &k), expected);
	assert_int_equal(k.bytes_removed, k.n_removed * bytes);
	trace_keep_free(&k);
}

static void few(void **state)
{
	(void)state;
	check((struct trace_limits){ 0 }, 5, 10, "0 1 2 3 4");
	check((struct trace_limits){ .files = 5 }, 5, 10, "0 1 2 3 4");
	check((struct trace_limits){ .bytes = 50 }, 5, 10, "0 1 2 3 4");
}

static void too_many(void **state)
{
	(void)state;
	check((struct trace_limits){ .files = 4 }, 9, 10, "0 1 7 8");
	check((struct trace_limits){ .files = 5 }, 9, 10, "0 1 6 7 8");
	check((struct trace_limits){ .files = 2 }, 9, 10, "0 8");
}

static void too_large(void **state)
{
	(void)state;
	check((struct trace_limits){ .bytes = 65 }, 9, 10, "0 1 2 6 7 8");
	check((struct trace_limits){ .bytes = 65, .files = 4 }, 9, 10, "0 1 7 8");
	check((struct trace_limits){ .bytes = 5 }, 3, 10,
	      "2"); /* the newest stays, however large */
}

/* Returns the numbers of the steps of `n` that get a trace of 10 bytes. None is ever removed. */
static const char *written(struct trace_limits limits, unsigned n)
{
	static char text[1024];
	struct trace_keep k = { 0 };
	unsigned n_written = 0;
	text[0] = 0;
	for (unsigned i = 0; i < n; i++) {
		char name[32];
		if (!trace_keep_wants(&k, &limits, 1, false))
			continue;
		snprintf(name, sizeof(name), "%u", i);
		write_file(name, 10);
		trace_keep_add(&k, &limits, folder, name);
		if (n_written++ < 20)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u",
				 n_written > 1 ? " " : "", i);
	}
	for (unsigned i = 0; i < n; i++) {
		char path[256];
		snprintf(path, sizeof(path), "%s/%u", folder, i);
		unlink(path);
	}
	assert_int_equal(k.n_removed, 0);
	assert_int_equal(k.n_left_out + n_written, n);
	trace_keep_free(&k);
	return text;
}

static void none_is_written_to_be_removed(void **state)
{
	(void)state;
	assert_string_equal(written((struct trace_limits){ 0 }, 4), "0 1 2 3");
	assert_string_equal(written((struct trace_limits){ .files = 6 }, 100), "0 1 2 3 7 15");
	assert_string_equal(written((struct trace_limits){ .bytes = 65 }, 100), "0 1 2 3 7 15");
	assert_string_equal(written((struct trace_limits){ .files = 2 }, 100), "0 1");
}

/* With many traces, the newest is close to the end however long the run is. */
static void the_newest_trace_is_near_the_end(void **state)
{
	const struct trace_limits limits = { .files = 1000 };
	struct trace_keep k = { 0 };
	unsigned newest = 0, n_written = 0;
	(void)state;
	for (unsigned i = 0; i < 10000000; i++) {
		if (!trace_keep_wants(&k, &limits, 1, false))
			continue;
		newest = i;
		n_written++;
		trace_keep_add(&k, &limits, folder, "none");
		assert_true(i < 500 || (double)k.next < 1.03 * i + 2);
	}
	assert_in_range(newest, 9700000, 10000000);
	assert_in_range(n_written, 500, 1000);
	assert_int_equal(k.n_removed, 0);
	trace_keep_free(&k);
}

static void without_limits_names_are_bounded(void **state)
{
	struct trace_keep k = { 0 };
	const struct trace_limits none = { 0 };
	(void)state;
	for (int i = 0; i < 10000; i++)
		trace_keep_add(&k, &none, folder, "nothing");
	assert_int_equal(k.first.n, 4096);
	assert_int_equal(k.n_removed, 0);
	trace_keep_free(&k);
}

static int make_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

/* A folder in a trace's place: nobody removes that, root neither. */
static void what_stays_is_not_counted_as_removed(void **state)
{
	const struct trace_limits limits = { .files = 4 };
	struct trace_keep k = { 0 };
	char path[256];
	(void)state;
	snprintf(path, sizeof(path), "%s/2", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	for (unsigned i = 0; i < 6; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%u", i);
		if (i != 2)
			write_file(name, 10);
		trace_keep_add(&k, &limits, folder, name);
	}
	json_t *list = trace_keep_list(&k);
	bool is_listed = false;
	for (size_t i = 0; i < json_array_size(list); i++)
		is_listed |= !strcmp(json_string_value(json_array_get(list, i)), "2");
	assert_true(is_listed);
	assert_int_equal(json_array_size(list) + k.n_removed, 6);
	assert_int_equal(k.bytes_removed, 10 * k.n_removed);
	json_decref(list);
	trace_keep_free(&k);
	assert_int_equal(rmdir(path), 0);
	for (unsigned i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/%u", folder, i);
		unlink(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stays_is_not_counted_as_removed),
		cmocka_unit_test(few),
		cmocka_unit_test(too_many),
		cmocka_unit_test(too_large),
		cmocka_unit_test(without_limits_names_are_bounded),
		cmocka_unit_test(none_is_written_to_be_removed),
		cmocka_unit_test(the_newest_trace_is_near_the_end),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
