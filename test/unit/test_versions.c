/* Versions, by lines like those of /proc/PID/maps. */
#include "core/util/path.h"
#include "export/versions.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct versions take(const char *maps)
{
	struct versions v = { .torch = "" };
	FILE *f = fmemopen((void *)(size_t)maps, strlen(maps), "r");
	assert_non_null(f);
	versions_take(&v, f);
	fclose(f);
	return v;
}

static void test_numbers_are_those_of_the_files(void **state)
{
	(void)state;
	struct versions v =
		take("7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/libcuda.so.580.65.06\n"
		     "7f01-7f02 r-xp 00000000 08:01 13 /usr/local/cuda/lib64/libcudart.so.13.0.48\n"
		     "7f02-7f03 r-xp 00000000 08:01 13 /opt/other/libcudart.so.12\n"
		     "7f03-7f04 r-xp 00000000 08:01 14 /usr/lib/libcupti.so.2025.3.1\n"
		     "7f04-7f05 rw-p 00000000 00:00 0 \n"
		     "7f05-7f06 rw-p 00000000 00:00 0 [heap]");
	assert_string_equal(v.driver, "580.65.06");
	assert_string_equal(v.cuda_runtime, "13.0.48");
	assert_string_equal(v.cupti, "2025.3.1");
	assert_string_equal(v.torch, "");
}

static void test_what_is_not_known_is_left_out(void **state)
{
	(void)state;
	struct versions v = take("7f00-7f01 r-xp 0 0 0 /usr/lib/libcuda.so.1\n"
				 "7f00-7f01 r-xp 0 0 0 /usr/lib/libcudart.so.13.old\n"
				 "7f00-7f01 r-xp 0 0 0 /no/such/torch/lib/libtorch_cpu.so\n"
				 "7f00-7f01 r-xp 0 0 0 /usr/lib/libcudadebugger.so.580.65.06\n");
	assert_null(versions_describe(&v, NULL));
	json_t *o = versions_describe(&v, "3.12.3: the interpreter's frames do not match the known "
					  "layout of "
					  "this version");
	assert_int_equal(json_object_size(o), 1);
	assert_string_equal(json_string_value(json_object_get(o, "python")), "3.12.3");
	json_decref(o);
}

static void test_torch_version_next_to_its_libraries(void **state)
{
	char folder[] = "/tmp/test-versions-XXXXXX", path[PATH_MAX], maps[PATH_MAX];
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/torch", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/torch/version.py", folder);
	FILE *f = fopen(path, "w");
	fputs("from typing import Optional\n\n__all__ = ['__version__']\n__version__ = "
	      "'2.9.0+cu130'\n",
	      f);
	fclose(f);
	snprintf(maps, sizeof(maps), "7f00-7f01 r-xp 0 0 0 %s/torch/lib/libtorch_python.so\n",
		 folder);
	struct versions v = take(maps);
	assert_string_equal(v.torch, "2.9.0+cu130");
	unlink(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_those_of_the_files),
		cmocka_unit_test(test_what_is_not_known_is_left_out),
		cmocka_unit_test(test_torch_version_next_to_its_libraries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
