/* See no_return.h. */
#include "core/source/journal/no_return.h"

#include "core/util/map.h"
#include "core/util/vec.h"

#include <gelf.h>
#include <string.h>

enum {
	/*
	 * Functions that end with a jump to another one, in a row. Compilers make one or two, of
	 * wrappers.
	 */
	JUMPS_MOST = 8,
	STUB_MOST_BYTES = 32, /* an entry of the Procedure Linkage Table has 16 or 24 */
	FUNCTION_MOST_BYTES = 64 << 10,
};

/* Values of `answers`. An answer that is still being looked for counts as RETURNS. */
enum { RETURNS = 1, NEVER_RETURNS };

struct no_return {
	const struct object *object;
	const struct symbols *symbols;
	enum flow_machine machine;
	/* of the symbols of relocations: address of the slot -> index in `names` plus 1 */
	struct map slots;
	VEC(struct import) names;
	struct map answers; /* address of a function -> the answer */
	unsigned depth;
};

struct import {
	const char *name;
	uint64_t address; /* 0: in another object */
};

/* ---- Names ---- */

static const char *const never[] = {
	/* C */
	"exit", "_exit", "_Exit", "quick_exit", "abort", "longjmp", "_longjmp", "siglongjmp",
	"__longjmp_chk", "pthread_exit", "thrd_exit", "err", "errx", "verr", "verrx",
	"__assert_fail", "__assert_perror_fail", "__assert", "__stack_chk_fail", "__chk_fail",
	"__fortify_fail",
	/* C++ */
	"_Unwind_Resume", "__cxa_throw", "__cxa_rethrow", "__cxa_bad_cast", "__cxa_bad_typeid",
	"__cxa_throw_bad_array_length", "__cxa_throw_bad_array_new_length", "__cxa_call_terminate",
	"__cxa_call_unexpected", "__cxa_pure_virtual", "__cxa_deleted_virtual", "_ZSt9terminatev",
	"_ZSt10unexpectedv", "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
	"_ZSt17rethrow_exceptionSt13exception_ptr", "_ZSt21__glibcxx_assert_failPKciS0_S0_",
	"_ZNSt3__122__libcpp_verbose_abortEPKcz",
	/* Fortran */
	"_gfortran_stop_numeric", "_gfortran_stop_string", "_gfortran_error_stop_numeric",
	"_gfortran_error_stop_string", "_gfortran_runtime_error", "_gfortran_runtime_error_at",
	"_gfortran_os_error_at",
	/* Python */
	"Py_Exit", "Py_FatalError", "_Py_FatalErrorFunc"
};

/* Several functions that differ in their parameters. */
static const char *const never_prefixes[] = {
	"_ZN3c106detail14torchCheckFail",
	"_ZN3c106detail23torchInternalAssertFail",
};

/*
 * Returns whether it is a function of the C++ library that throws: std::__throw_out_of_range() and
 * others, with the library's inline namespaces and classes.
 */
static bool is_throw(const char *name)
{
	static const char throws[] = "__throw_";
	bool is_std = !strncmp(name, "_ZSt", 4) || !strncmp(name, "_ZNSt", 5) ||
		      !strncmp(name, "_ZNKSt", 6);
	const char *found = is_std ? strstr(name, throws) : NULL;
	return found && found[-1] >= '0' && found[-1] <= '9';
}

static bool is_never(const char *name)
{
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (!strcmp(name, never[i]))
			return true;
	for (size_t i = 0; i < sizeof(never_prefixes) / sizeof(*never_prefixes); i++)
		if (!strncmp(name, never_prefixes[i], strlen(never_prefixes[i])))
			return true;
	return is_throw(name);
}

/* ---- Slots that the dynamic linker fills in ---- */

static bool is_of_function(const struct no_return *x, const GElf_Rela *r)
{
	uint64_t type = GELF_R_TYPE(r->r_info);
	return x->machine == FLOW_X86_64
		       ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT
		       : type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

static void add_slots(struct no_return *x, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	Elf_Scn *table = elf_getscn(x->object->elf, header->sh_link);
	Elf_Data *symbols = table ? elf_getdata(table, NULL) : NULL;
	GElf_Shdr of_table;
	if (!data || !symbols || !header->sh_entsize || !gelf_getshdr(table, &of_table))
		return;
	size_t n = data->d_size / header->sh_entsize;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Rela r;
		GElf_Sym symbol;
		if (!gelf_getrela(data, (int)i, &r) || !is_of_function(x, &r) ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(r.r_info), &symbol))
			continue;
		const char *name = elf_strptr(x->object->elf, of_table.sh_link, symbol.st_name);
		if (!name)
			continue;
		vec_push(&x->names, ((struct import){ name, symbol.st_value }));
		*map_at(&x->slots, r.r_offset, NULL) = x->names.n;
	}
}

struct no_return *no_return_new(const struct object *o, const struct symbols *s,
				enum flow_machine machine)
{
	struct no_return *x = mem_zero(sizeof(*x));
	x->object = o;
	x->symbols = s;
	x->machine = machine;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(o->elf, section));) {
		GElf_Shdr header;
		/* not those that --emit-relocs keeps of other code */
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
		    header.sh_flags & SHF_ALLOC)
			add_slots(x, section, &header);
	}
	return x;
}

void no_return_free(struct no_return *x)
{
	if (!x)
		return;
	map_free(&x->slots);
	map_free(&x->answers);
	vec_free(&x->names);
	free(x);
}

/* ---- Code ---- */

static const uint8_t *constants(void *context, uint64_t address, size_t bytes)
{
	const struct no_return *x = context;
	return object_bytes(x->object, address, bytes);
}

static bool is_callee(void *context, struct flow_callee callee)
{
	return no_return_is(context, callee);
}

static struct flow_code code_at(struct no_return *x, uint64_t address, size_t bytes)
{
	return (struct flow_code){
		.machine = x->machine,
		.at = object_bytes(x->object, address, bytes),
		.bytes = bytes,
		.address = address,
		.constants = constants,
		.never_returns = is_callee,
		.context = x,
	};
}

/* Returns the slot that the function's code jumps through at once, 0 if it does not. */
static uint64_t slot_of_stub(struct no_return *x, uint64_t address)
{
	for (size_t bytes = STUB_MOST_BYTES; bytes >= STUB_MOST_BYTES / 4; bytes /= 2) {
		struct flow_code code = code_at(x, address, bytes);
		if (code.at)
			return flow_stub_slot(&code);
	}
	return 0;
}

static bool find(struct no_return *x, uint64_t address)
{
	struct symbol symbol;
	uint64_t slot = slot_of_stub(x, address);
	if (slot)
		return no_return_is(x, (struct flow_callee){ slot, true });
	if (!symbols_find(x->symbols, address, &symbol) || symbol.begin != address)
		return false;
	/* of other names, the user may have a function of another kind */
	if (symbol.name[0] == '_' && is_never(symbol.name))
		return true;
	size_t bytes = symbol.end - symbol.begin;
	struct flow_code code = code_at(x, address, bytes);
	return symbol.is_sized && bytes <= FUNCTION_MOST_BYTES && code.at &&
	       !flow_may_return(&code);
}

static bool is_slot(struct no_return *x, uint64_t slot)
{
	const uint64_t *index = map_find(&x->slots, slot);
	const struct import *to = index ? &x->names.at[*index - 1] : NULL;
	if (!to)
		return false;
	return is_never(to->name) ||
	       (to->address && no_return_is(x, (struct flow_callee){ .address = to->address }));
}

bool no_return_is(struct no_return *x, struct flow_callee callee)
{
	if (callee.is_slot)
		return is_slot(x, callee.address);
	bool is_new;
	uint64_t *answer = map_at(&x->answers, callee.address, &is_new);
	if (!is_new)
		return *answer == NEVER_RETURNS;
	*answer = RETURNS;
	if (x->depth >= JUMPS_MOST)
		return false;
	x->depth++;
	bool is = find(x, callee.address);
	x->depth--;
	if (is)
		*map_at(&x->answers, callee.address, NULL) = NEVER_RETURNS;
	return is;
}
