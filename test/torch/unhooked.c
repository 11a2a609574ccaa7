/*
 * Switches profrun's wrappers in and out of the calls of one process. Every place in the loaded
 * objects that the linker filled with one of the preloaded library's functions is set to the
 * function that it wraps, and back. The cost of being preloaded is then the difference between
 * neighbouring blocks of steps; two runs of a program differ by more. For bench_loop.py:
 * bench_switch(1) with wrappers, (0) without.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLACES_MOST = 20000 };

static struct place {
	uintptr_t *at;
	uintptr_t hooked, real;
} places[PLACES_MOST];
static size_t n_places;

static struct {
	uintptr_t from, to;
} library;

typedef void *dlsym_function(void *handle, const char *name);
static dlsym_function *libc_dlsym; /* the one that gives out no wrappers */

static bool is_hooked(uintptr_t address)
{
	return address >= library.from && address < library.to;
}

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	if (!strstr(info->dlpi_name, "/libprofrun.so"))
		return 0;
	library.from = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		library.from = from < library.from ? from : library.from;
		library.to = from + p->p_memsz;
	}
	return 1;
}

struct object {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
};

struct search {
	const char *name;
	uintptr_t found;
};

/*
 * The first object after the library that has the function. The simulated GPU's libraries are
 * preloaded, too, and come before those that an object was linked with.
 */
static int find_real(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *s = context;
	Dl_info where;
	(void)size;
	if (strstr(info->dlpi_name, "/libprofrun.so"))
		return 0;
	void *handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	void *found = handle ? libc_dlsym(handle, s->name) : NULL;
	if (handle)
		dlclose(handle);
	if (!found || !dladdr(found, &where) || (uintptr_t)where.dli_fbase != info->dlpi_addr)
		return 0; /* one of its dependencies has it */
	s->found = (uintptr_t)found;
	return 1;
}

static void take_places(const struct object *o, const ElfW(Rela) * relocation, size_t bytes)
{
	for (const ElfW(Rela) *r = relocation; r < relocation + bytes / sizeof(*r); r++) {
		unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64)
			continue;
		uintptr_t *at = (uintptr_t *)(o->base + r->r_offset);
		if (!is_hooked(*at) || n_places == PLACES_MOST)
			continue;
		struct search real = { o->strings + o->symbols[ELF64_R_SYM(r->r_info)].st_name, 0 };
		dl_iterate_phdr(find_real, &real);
		if (real.found)
			places[n_places++] = (struct place){ at, *at, real.found };
	}
}

static int scan(struct dl_phdr_info *info, size_t size, void *unused)
{
	const ElfW(Dyn) *dynamic = NULL;
	(void)size, (void)unused;
	struct object o = { .base = info->dlpi_addr };
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(o.base + info->dlpi_phdr[i].p_vaddr);
	if (!dynamic || strstr(info->dlpi_name, "/libprofrun.so"))
		return 0;
	const ElfW(Rela) * tables[2] = { NULL, NULL };
	size_t bytes[2] = { 0, 0 };
	for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			o.symbols = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			o.strings = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_JMPREL || d->d_tag == DT_RELA)
			tables[d->d_tag == DT_RELA] = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_PLTRELSZ || d->d_tag == DT_RELASZ)
			bytes[d->d_tag == DT_RELASZ] = d->d_un.d_val;
	}
	for (int i = 0; i < 2 && o.symbols && o.strings; i++)
		if (tables[i])
			take_places(&o, tables[i], bytes[i]);
	return 0;
}

static bool make_writable(const struct place *p)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	return !mprotect((void *)((uintptr_t)p->at & -page), page, PROT_READ | PROT_WRITE);
}

/* 0, or 1: there is no library of profrun's here, or nothing calls it. */
__attribute__((visibility("default"))) int bench_switch(int on);
int bench_switch(int on)
{
	if (!n_places) {
		void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
		libc_dlsym = (dlsym_function *)dlvsym(libc, "dlsym", "GLIBC_2.34");
		if (!libc_dlsym || !dl_iterate_phdr(find_library, NULL))
			return 1;
		dl_iterate_phdr(scan, NULL);
		for (size_t i = 0; i < n_places; i++)
			if (!make_writable(&places[i]))
				return 1;
	}
	for (size_t i = 0; i < n_places; i++)
		__atomic_store_n(places[i].at, on ? places[i].hooked : places[i].real,
				 __ATOMIC_RELAXED);
	return !n_places;
}
