/* See flow_object.h. */
#include "test/unit/flow_object.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t *bytes_at(void *context, uint64_t address, size_t n)
{
	const struct object *o = context;
	size_t n_headers, file_bytes;
	const char *file = elf_rawfile(o->elf, &file_bytes);
	assert_int_equal(elf_getphdrnum(o->elf, &n_headers), 0);
	for (size_t i = 0; i < n_headers; i++) {
		GElf_Phdr p;
		assert_non_null(gelf_getphdr(o->elf, (int)i, &p));
		if (p.p_type == PT_LOAD && address >= p.p_vaddr &&
		    address + n <= p.p_vaddr + p.p_filesz)
			return (const uint8_t *)file + p.p_offset + (address - p.p_vaddr);
	}
	return NULL;
}

bool open_object(struct object *o, const char *name)
{
	GElf_Ehdr header;
	ssize_t length = readlink("/proc/self/exe", o->path, sizeof(o->path) - 64);
	assert_true(length > 0);
	o->path[length] = 0;
	snprintf(strrchr(o->path, '/'), 64, "/flow/%s", name);
	elf_version(EV_CURRENT);
	o->fd = open(o->path, O_RDONLY | O_CLOEXEC);
	if (o->fd < 0)
		return false;
	o->elf = elf_begin(o->fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(gelf_getehdr(o->elf, &header));
	o->machine = header.e_machine == EM_AARCH64 ? FLOW_AARCH64 : FLOW_X86_64;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s));) {
		assert_non_null(gelf_getshdr(s, &o->symbols_header));
		if (o->symbols_header.sh_type == SHT_SYMTAB) {
			o->symbols = elf_getdata(s, NULL);
			return true;
		}
	}
	fail();
	return false;
}

bool open_object_or_skip(struct object *o, const char *name)
{
	if (open_object(o, name))
		return true;
	assert_true(strstr(name, "aarch64") || strchr(name, '/'));
	skip();
	return false;
}

void close_object(struct object *o)
{
	elf_end(o->elf);
	close(o->fd);
}

static const char *symbol_name(const struct object *o, size_t i, GElf_Sym *symbol)
{
	assert_non_null(gelf_getsym(o->symbols, (int)i, symbol));
	return elf_strptr(o->elf, o->symbols_header.sh_link, symbol->st_name);
}

GElf_Sym find_symbol(const struct object *o, const char *function)
{
	size_t n = o->symbols_header.sh_size / o->symbols_header.sh_entsize;
	for (size_t i = 0; i < n; i++) {
		GElf_Sym symbol;
		if (!strcmp(symbol_name(o, i, &symbol), function))
			return symbol;
	}
	fail_msg("no function %s", function);
	return (GElf_Sym){ 0 };
}

struct flow *flow_of(struct object *o, const char *function, bool with_constants)
{
	GElf_Sym symbol = find_symbol(o, function);
	struct flow_code code = {
		.machine = o->machine,
		.at = bytes_at(o, symbol.st_value, symbol.st_size),
		.bytes = symbol.st_size,
		.address = symbol.st_value,
		.constants = with_constants ? bytes_at : NULL,
		.context = o,
	};
	struct flow *f = flow_of_machine_code(&code, false);
	assert_non_null(f);
	return f;
}

size_t places(const struct object *o, const char *function, const char *called,
	      uint64_t out[static PLACES_MOST])
{
	GElf_Sym within = find_symbol(o, function);
	size_t n = 0;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s));) {
		GElf_Shdr header;
		assert_non_null(gelf_getshdr(s, &header));
		for (size_t i = 0;
		     header.sh_type == SHT_RELA && i * header.sh_entsize < header.sh_size; i++) {
			GElf_Rela r;
			GElf_Sym symbol;
			assert_non_null(gelf_getrela(elf_getdata(s, NULL), (int)i, &r));
			if (r.r_offset - within.st_value >= within.st_size ||
			    strcmp(symbol_name(o, GELF_R_SYM(r.r_info), &symbol), called))
				continue;
			assert_true(n < PLACES_MOST);
			out[n++] = r.r_offset;
		}
	}
	assert_true(n > 0);
	return n;
}

bool is_jump(struct object *o, uint64_t at)
{
	/* on x86-64, the relocation is of the bytes after the operation */
	bool is_x86 = o->machine == FLOW_X86_64;
	const uint8_t *code = bytes_at(o, is_x86 ? at - 1 : at, 4);
	assert_non_null(code);
	return is_x86 ? code[0] == 0xe9 : (code[3] & 0xfc) == 0x14;
}

/* Compilers that unit.mk looks for. The objects of each are in a folder with its name. */
static const char *const others[] = { "gcc-13", "gcc-14", "gcc-15", "clang", "clang-19" };

static void is_missing(void **state)
{
	(void)state;
	skip();
}

static void add(struct CMUnitTest *to, size_t room, size_t *n, void (*test)(void **), char *name)
{
	assert_true(*n < room);
	to[(*n)++] = (struct CMUnitTest){ name, test, NULL, NULL, name };
}

static bool is_there(const char *compiler)
{
	struct object o;
	char name[64];
	snprintf(name, sizeof(name), "%s/O2.so", compiler);
	bool is = open_object(&o, name);
	if (is)
		close_object(&o);
	return is;
}

size_t flow_object_tests(struct CMUnitTest *to, size_t room, void (*test)(void **),
			 const char *const *names, size_t n)
{
	static char all[1024][64]; /* names of tests must outlive them */
	static size_t n_all, n_lists;
	size_t added = 0, is_first = !n_lists++;
	for (size_t i = 0; i < n; i++)
		add(to, room, &added, test, (char *)names[i]);
	for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++) {
		bool is = is_there(others[k]);
		for (size_t i = 0; i < (is ? n : is_first); i++) {
			if (is && strstr(names[i], "aarch64"))
				continue;
			assert_true(n_all < sizeof(all) / sizeof(*all));
			snprintf(all[n_all], sizeof(*all), is ? "%s/%s" : "%s", others[k],
				 names[i]);
			add(to, room, &added, is ? test : is_missing, all[n_all++]);
		}
	}
	return added;
}
