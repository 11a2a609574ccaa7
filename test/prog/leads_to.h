/* Where an object's calls of a function go: what the linker filled its slot for it with. */
#ifndef TEST_PROG_LEADS_TO_H
#define TEST_PROG_LEADS_TO_H

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/* NULL: the object has none. */
static inline void *const *slot_of(const struct link_map *object, const char *name)
{
	const ElfW(Sym) *symbols = NULL;
	const ElfW(Rela) *relocations = NULL;
	const char *strings = NULL;
	size_t n = 0;
	for (const ElfW(Dyn) *d = object->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_JMPREL)
			relocations = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_PLTRELSZ)
			n = d->d_un.d_val / sizeof(*relocations);
		else if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	}
	for (size_t i = 0; relocations && i < n; i++)
		if (!strcmp(strings + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name, name))
			return (void *const *)(object->l_addr + relocations[i].r_offset);
	return NULL;
}

/* "hook": to libprofrun.so, "cuda": elsewhere, "none": the object has no such slot. */
static inline const char *leads_to(const struct link_map *object, const char *name)
{
	void *const *slot = slot_of(object, name);
	Dl_info where;
	if (!slot || !dladdr(*slot, &where))
		return "none";
	return strstr(where.dli_fname, "libprofrun") ? "hook" : "cuda";
}

#endif
