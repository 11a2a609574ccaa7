/* Archives beyond 4 GiB. test/e2e/test_merge.py reads ordinary ones with Python's zipfile. */
#include "export/zip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t far = 5ull << 30;

static uint64_t number(const uint8_t *at, unsigned n)
{
	uint64_t value = 0;
	for (unsigned i = n; i--;)
		value = value << 8 | at[i];
	return value;
}

/* Reads the last bytes of the file. Returns how many. */
static size_t read_tail(const char *path, uint8_t *to, size_t bytes)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	fseeko(file, -(off_t)bytes, SEEK_END);
	size_t n = fread(to, 1, bytes, file);
	fclose(file);
	return n;
}

static void an_entry_may_lie_beyond_4_gib(void **state)
{
	(void)state;
	char folder[] = "/tmp/profrun-zip-XXXXXX", path[64];
	uint8_t tail[300];
	struct zip z;
	struct err e;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.zip", folder);
	assert_int_equal(zip_open(&z, path, &e), 0);
	zip_begin(&z, "dropped");
	zip_write(&z, "xyz", 3);
	zip_drop(&z);
	assert_int_equal(z.out.bytes_out, 0);
	assert_int_equal(lseek(z.out.fd, (off_t)far, SEEK_SET), far); /* a hole */
	z.out.bytes_out = far;
	zip_begin(&z, "b");
	zip_write(&z, "hello", 5);
	zip_end(&z);
	assert_int_equal(zip_close(&z, &e), 0);

	size_t n = read_tail(path, tail, sizeof(tail));
	const uint8_t *end = tail + n - 22, *locator = end - 20, *end_64 = locator - 56,
		      *central = end_64 - (46 + 1 + 28);
	assert_int_equal(number(end, 4), 0x06054b50);
	assert_int_equal(number(end + 16, 4), UINT32_MAX);
	assert_int_equal(number(locator, 4), 0x07064b50);
	assert_int_equal(number(end_64, 4), 0x06064b50);
	assert_int_equal(number(end_64 + 32, 8), 1);
	assert_int_equal(number(central, 4), 0x02014b50);
	assert_int_equal(number(central + 42, 4), UINT32_MAX);
	assert_int_equal(number(central + 47, 2), 1);	     /* the field with the real values */
	assert_int_equal(number(central + 47 + 4, 8), 5);    /* bytes */
	assert_int_equal(number(central + 47 + 20, 8), far); /* where it is */
	assert_int_equal(number(end_64 + 48, 8), number(locator + 8, 8) - (46 + 1 + 28));
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_may_lie_beyond_4_gib),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
