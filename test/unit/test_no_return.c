/* Which calls of test/unit/flow/stops.c never return, in every form that compilers give calls. */
#include "core/source/journal/no_return.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const objects[] = {
	"stops-lazy.so",	   "stops-now.so", "stops-cet.so",
	"stops-no-plt.so",	   "stops-O0.so",  "stops-aarch64.so",
	"stops-aarch64-no-plt.so",
};

struct opened {
	struct object object;
	struct symbols *symbols;
	struct no_return *no_return;
	enum flow_machine machine;
	size_t n_calls, n_never; /* of the function that was read last */
};

static bool open_it(struct opened *x, const char *name)
{
	char path[PATH_MAX];
	GElf_Ehdr header;
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	assert_true(length > 0);
	path[length] = 0;
	snprintf(strrchr(path, '/'), 64, "/flow/%s", name);
	elf_version(EV_CURRENT);
	x->object.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (x->object.fd < 0)
		return false;
	x->object.elf = elf_begin(x->object.fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(gelf_getehdr(x->object.elf, &header));
	x->machine = header.e_machine == EM_AARCH64 ? FLOW_AARCH64 : FLOW_X86_64;
	x->symbols = symbols_new(&x->object);
	assert_non_null(x->symbols);
	x->no_return = no_return_new(&x->object, x->symbols, x->machine);
	return true;
}

static void close_it(struct opened *x)
{
	no_return_free(x->no_return);
	symbols_free(x->symbols);
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
	fail_msg("no function %s", function);
	return (GElf_Sym){ 0 };
}

static bool count_call(void *context, struct flow_callee callee)
{
	struct opened *x = context;
	bool never = no_return_is(x->no_return, callee);
	assert_true(no_return_is(x->no_return, callee) == never);
	x->n_calls++;
	x->n_never += never;
	return never;
}

/* Checks how many calls of a function there are, and how many of them never return. */
static void check(struct opened *x, const char *function, size_t calls, size_t never)
{
	GElf_Sym symbol = find_symbol(x, function);
	struct flow_code code = {
		.machine = x->machine,
		.at = object_bytes(&x->object, symbol.st_value, symbol.st_size),
		.bytes = symbol.st_size,
		.address = symbol.st_value,
		.never_returns = count_call,
		.context = x,
	};
	x->n_calls = x->n_never = 0;
	struct flow *f = flow_of_machine_code(&code, false);
	assert_non_null(f);
	flow_free(f);
	if (x->n_calls != calls || x->n_never != never)
		fail_msg("%s: %zu of %zu calls never return", function, x->n_never, x->n_calls);
}

static void calls_that_never_return_are_found(void **state)
{
	struct opened x = { 0 };
	if (!open_it(&x, *state)) {
		assert_non_null(strstr(*state, "aarch64"));
		skip();
	}
	check(&x, "stops", 7, 5);
	check(&x, "stops_shown", 3, 1);
	check(&x, "goes_on", 5, 0);
	close_it(&x);
}

int main(void)
{
	enum { N = sizeof(objects) / sizeof(*objects) };
	struct CMUnitTest tests[N];
	for (size_t i = 0; i < N; i++)
		tests[i] = (struct CMUnitTest){ objects[i], calls_that_never_return_are_found, NULL,
						NULL, (void *)objects[i] };
	return _cmocka_run_group_tests("test_no_return", tests, N, NULL, NULL);
}
