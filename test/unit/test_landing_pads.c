/* Where the exceptions of test/unit/flow/throws.cpp lead, and damaged tables. */
#include "core/flow/landing_pads.h"

#include "core/flow/flow.h"
#include "core/source/journal/object.h"
#include "core/util/vec.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct opened {
	struct object object;
	enum flow_machine machine;
	struct landing_pads *pads;
	size_t n_calls, n_handled; /* of the function that was read last */
	GElf_Sym cold;		   /* its moved part; `st_size` 0: none */
};

static const uint8_t *bytes_from(void *context, uint64_t address, size_t *n)
{
	const struct opened *x = context;
	return object_bytes_from(&x->object, address, n);
}

static struct landing_image image_of(struct opened *x)
{
	struct landing_image image = { .bytes_from = bytes_from, .context = x };
	image.frames_address = object_section_address(&x->object, ".eh_frame", &image.frames_bytes);
	image.frames = object_bytes(&x->object, image.frames_address, image.frames_bytes);
	assert_non_null(image.frames);
	return image;
}

static bool open_it(struct opened *x, const char *name)
{
	char path[PATH_MAX];
	GElf_Ehdr header;
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	assert_true(length > 0);
	path[length] = 0;
	snprintf(strrchr(path, '/'), 64, "/flow/%s", name);
	elf_version(EV_CURRENT);
	*x = (struct opened){ 0 };
	x->object.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (x->object.fd < 0)
		return false;
	x->object.elf = elf_begin(x->object.fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(gelf_getehdr(x->object.elf, &header));
	x->machine = header.e_machine == EM_AARCH64 ? FLOW_AARCH64 : FLOW_X86_64;
	const struct landing_image image = image_of(x);
	x->pads = landing_pads_new(&image);
	return true;
}

static void close_it(struct opened *x)
{
	landing_pads_free(x->pads);
	object_close(&x->object);
}

static GElf_Sym find_symbol(const struct opened *x, const char *function)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(x->object.elf, s));) {
		GElf_Shdr header;
		GElf_Sym symbol;
		assert_non_null(gelf_getshdr(s, &header));
		if (header.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(elf_getdata(s, NULL), i, &symbol); i++)
			if (!strcmp(elf_strptr(x->object.elf, header.sh_link, symbol.st_name),
				    function))
				return symbol;
	}
	return (GElf_Sym){ 0 };
}

static uint64_t handler(void *context, uint64_t address)
{
	struct opened *x = context;
	uint64_t pad = landing_pads_find(x->pads, address);
	x->n_calls++;
	x->n_handled += pad != 0;
	return pad;
}

static bool moved(void *context, uint64_t address, struct flow_part *out)
{
	struct opened *x = context;
	*out = (struct flow_part){ object_bytes(&x->object, x->cold.st_value, x->cold.st_size),
				   x->cold.st_size, x->cold.st_value };
	return address - x->cold.st_value < x->cold.st_size;
}

static struct flow *flow_of(struct opened *x, const char *function)
{
	char cold[64];
	snprintf(cold, sizeof(cold), "%s.cold", function);
	GElf_Sym symbol = find_symbol(x, function);
	x->cold = find_symbol(x, cold);
	x->n_calls = x->n_handled = 0;
	const struct flow_code code = {
		.machine = x->machine,
		.at = object_bytes(&x->object, symbol.st_value, symbol.st_size),
		.bytes = symbol.st_size,
		.address = symbol.st_value,
		.handler = handler,
		.moved = moved,
		.context = x,
	};
	assert_non_null(code.at);
	struct flow *f = flow_of_machine_code(&code, false);
	assert_non_null(f);
	return f;
}

static void exceptions_lead_into_the_loops(void **state)
{
	struct opened x;
	if (!open_it(&x, *state)) {
		/* of a compiler that is not installed */
		assert_true(strstr(*state, "aarch64") || strstr(*state, "clang"));
		skip();
	}
	struct flow *f = flow_of(&x, "retry");
	assert_int_equal(flow_n_loops(f), 2);
	assert_true(flow_is_retry(f, 0));
	assert_false(flow_is_retry(f, 1));
	assert_true(x.n_handled >= 1 && x.n_handled < x.n_calls);
	flow_free(f);
	f = flow_of(&x, "skip");
	assert_int_equal(flow_n_loops(f), 1);
	assert_false(flow_is_retry(f, 0));
	assert_true(x.n_handled >= 1 && x.n_handled < x.n_calls);
	flow_free(f);
	f = flow_of(&x, "plain");
	assert_int_equal(flow_n_loops(f), 1);
	assert_int_equal(x.n_handled, 0);
	flow_free(f);
	close_it(&x);
}

/* Asks for all addresses of the file. */
static size_t ask_all(const struct landing_image *image)
{
	size_t n = 0;
	struct landing_pads *p = landing_pads_new(image);
	for (uint64_t address = 0; address < 0x3000; address++)
		n += landing_pads_find(p, address) != 0;
	landing_pads_free(p);
	return n;
}

/* What was read before the damage stays, and nothing outside the bytes is read. */
static void damaged_frames_are_harmless(void **state)
{
	(void)state;
	struct opened x;
	assert_true(open_it(&x, "throws-O2.so"));
	struct landing_image image = image_of(&x);
	size_t all = ask_all(&image), bytes = image.frames_bytes;
	uint8_t *copy = mem_resize(NULL, bytes);
	assert_true(all > 0);
	for (size_t n = 0; n < bytes; n++) {
		uint8_t *cut = mem_resize(NULL, n); /* so that a sanitizer sees its end */
		memcpy(cut, image.frames, n);
		struct landing_image part = image;
		part.frames = cut;
		part.frames_bytes = n;
		assert_true(ask_all(&part) <= all);
		free(cut);
	}
	memcpy(copy, image.frames, bytes);
	struct landing_image changed = image;
	changed.frames = copy;
	for (size_t i = 0; i < bytes; i++) {
		copy[i] ^= 0xff;
		ask_all(&changed);
		copy[i] ^= 0xff;
	}
	assert_int_equal(ask_all(&changed), all);
	free(copy);
	close_it(&x);
}

struct table {
	const uint8_t *at;
	size_t n;
};

static const uint8_t *from_table(void *context, uint64_t address, size_t *n)
{
	const struct table *t = context;
	(void)address;
	*n = t->n;
	return t->n ? t->at : NULL;
}

/* Every beginning of a function's table, and every byte changed. */
static void damaged_tables_are_harmless(void **state)
{
	(void)state;
	struct opened x;
	assert_true(open_it(&x, "throws-O2.so"));
	struct landing_image image = image_of(&x);
	size_t bytes;
	uint64_t at = object_section_address(&x.object, ".gcc_except_table", &bytes);
	uint8_t *copy = mem_resize(NULL, bytes);
	memcpy(copy, object_bytes(&x.object, at, bytes), bytes);
	struct table table = { copy, 0 };
	image.bytes_from = from_table;
	image.context = &table;
	for (table.n = 0; table.n < bytes; table.n++)
		ask_all(&image);
	for (size_t i = 0; i < bytes; i++) {
		copy[i] ^= 0xff;
		ask_all(&image);
		copy[i] ^= 0xff;
	}
	free(copy);
	close_it(&x);
}

int main(void)
{
#define test(function, object)                                                \
	{                                                                     \
#function " in " object, function, NULL, NULL, (void *)object \
	}
	const struct CMUnitTest tests[] = {
		test(exceptions_lead_into_the_loops, "throws-O0.so"),
		test(exceptions_lead_into_the_loops, "throws-O2.so"),
		test(exceptions_lead_into_the_loops, "throws-Os.so"),
		test(exceptions_lead_into_the_loops, "throws-clang.so"),
		test(exceptions_lead_into_the_loops, "throws-aarch64.so"),
		cmocka_unit_test(damaged_frames_are_harmless),
		cmocka_unit_test(damaged_tables_are_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
