/* See libc_find.h. */
#include "preload/libc_find.h"

#include "core/runtime/at_start.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

/* Set in an entry of the version table if the symbol is an older version of its function. */
enum { VERSION_IS_OLD = 0x8000 };

/* The tables of one library. GNU_HASH: the loader's index of names. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash;
	const ElfW(Half) * versions;
};

/* strcmp() may be another preloaded library's; AddressSanitizer's crashes before its own start. */
AT_START static bool is_same_text(const char *a, const char *b)
{
	for (; *a && *a == *b; a++)
		b++;
	return *a == *b;
}

/* glibc's libraries. Since glibc 2.34 all functions are in the first one. */
AT_START static bool is_glibc(const char *path)
{
	static const char *const files[] = { "libc.so.6", "libdl.so.2", "libpthread.so.0",
					     "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1" };
	const char *file = path;
	for (const char *p = path; *p; p++)
		if (*p == '/')
			file = p + 1;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (is_same_text(file, files[i]))
			return true;
	return false;
}

AT_START static struct tables tables_of(const struct link_map *object)
{
	struct tables t = { 0 };
	for (const ElfW(Dyn) *d = object->l_ld; d && d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)d->d_un.d_ptr;
		if (d->d_tag == DT_SYMTAB)
			t.symbols = at;
		else if (d->d_tag == DT_STRTAB)
			t.strings = at;
		else if (d->d_tag == DT_GNU_HASH)
			t.hash = at;
		else if (d->d_tag == DT_VERSYM)
			t.versions = at;
	}
	return t;
}

AT_START static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;
	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* Returns the symbol's number in the table; 0: the library does not define it. */
AT_START static uint32_t symbol_of(const struct tables *t, const char *name)
{
	uint32_t n_buckets = t->hash[0], first = t->hash[1], n_words = t->hash[2];
	const uint32_t *buckets = t->hash + 4 + n_words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = buckets + n_buckets;
	uint32_t wanted = hash_of(name), at = n_buckets ? buckets[wanted % n_buckets] : 0;
	for (; at >= first && at; at++) {
		uint32_t h = chain[at - first];
		bool is_same = (h | 1) == (wanted | 1) && t->symbols[at].st_shndx != SHN_UNDEF &&
			       !(t->versions[at] & VERSION_IS_OLD) &&
			       is_same_text(t->strings + t->symbols[at].st_name, name);
		if (is_same)
			return at;
		if (h & 1)
			break;
	}
	return 0;
}

AT_START static void *search_object(const struct link_map *object, const char *name)
{
	struct tables t = tables_of(object);
	if (!t.symbols || !t.strings || !t.hash || !t.versions)
		return NULL;
	uint32_t at = symbol_of(&t, name);
	if (!at || ELF64_ST_TYPE(t.symbols[at].st_info) != STT_FUNC)
		return NULL;
	return (void *)(object->l_addr + t.symbols[at].st_value);
}

/*
 * Returns the loader's list of objects, which a debugger also finds in this way: the program's
 * dynamic section points to it. The functions that return the list, such as dl_iterate_phdr(), may
 * be another preloaded library's.
 */
AT_START static const struct link_map *objects(void)
{
	const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR), *dynamic = NULL;
	uintptr_t base = 0;
	for (unsigned long i = 0; headers && i < getauxval(AT_PHNUM); i++) {
		if (headers[i].p_type == PT_PHDR)
			base = (uintptr_t)headers - headers[i].p_vaddr;
		else if (headers[i].p_type == PT_DYNAMIC)
			dynamic = &headers[i];
	}
	const ElfW(Dyn) *d = dynamic ? (const void *)(base + dynamic->p_vaddr) : NULL;
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG && d->d_un.d_ptr)
			return ((const struct r_debug *)d->d_un.d_ptr)->r_map;
	return NULL;
}

AT_START void *libc_find(const char *name)
{
	void *found = NULL;
	for (const struct link_map *o = objects(); o && !found; o = o->l_next)
		if (o->l_name && is_glibc(o->l_name))
			found = search_object(o, name);
	return found;
}

int libc_find_object(void *address, struct dl_find_object *result)
{
	static _Atomic(void *) cached;
	static atomic_bool is_searched;
	if (!atomic_load_explicit(&is_searched, memory_order_acquire)) {
		atomic_store(&cached, libc_find("_dl_find_object"));
		atomic_store_explicit(&is_searched, true, memory_order_release);
	}
	int (*find)(void *, struct dl_find_object *) =
		(__typeof__(find))atomic_load_explicit(&cached, memory_order_relaxed);
	return find ? find(address, result) : LIBC_TOO_OLD;
}
