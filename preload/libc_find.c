/* See libc_find.h. */
#include "preload/libc_find.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Set in an entry of the version table if the symbol is an older version of its function. */
enum { VERSION_IS_OLD = 0x8000 };

struct search {
	const char *name;
	void *found;
};

/* The tables of one library. GNU_HASH: the loader's index of names. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash;
	const ElfW(Half) * versions;
};

/* glibc's libraries. Since glibc 2.34 all functions are in the first one. */
static bool is_glibc(const char *path)
{
	static const char *const files[] = { "libc.so.6", "libdl.so.2", "libpthread.so.0" };
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(slash ? slash + 1 : path, files[i]))
			return true;
	return false;
}

static struct tables tables_of(const struct dl_phdr_info *object)
{
	struct tables t = { 0 };
	const ElfW(Dyn) *d = NULL;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
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

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;
	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* Returns the symbol's number in the table; 0: the library does not define it. */
static uint32_t symbol_of(const struct tables *t, const char *name)
{
	uint32_t n_buckets = t->hash[0], first = t->hash[1], n_words = t->hash[2];
	const uint32_t *buckets = t->hash + 4 + n_words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = buckets + n_buckets;
	uint32_t wanted = hash_of(name), at = n_buckets ? buckets[wanted % n_buckets] : 0;
	for (; at >= first && at; at++) {
		uint32_t h = chain[at - first];
		bool is_same = (h | 1) == (wanted | 1) && t->symbols[at].st_shndx != SHN_UNDEF &&
			       !(t->versions[at] & VERSION_IS_OLD) &&
			       !strcmp(t->strings + t->symbols[at].st_name, name);
		if (is_same)
			return at;
		if (h & 1)
			break;
	}
	return 0;
}

static int search_object(struct dl_phdr_info *object, size_t size, void *context)
{
	struct search *s = context;
	(void)size;
	if (!object->dlpi_name || !is_glibc(object->dlpi_name))
		return 0;
	struct tables t = tables_of(object);
	if (!t.symbols || !t.strings || !t.hash || !t.versions)
		return 0;
	uint32_t at = symbol_of(&t, s->name);
	if (at && ELF64_ST_TYPE(t.symbols[at].st_info) == STT_FUNC)
		s->found = (void *)(object->dlpi_addr + t.symbols[at].st_value);
	return s->found != NULL;
}

void *libc_find(const char *name)
{
	struct search s = { .name = name };
	dl_iterate_phdr(search_object, &s);
	return s.found;
}
