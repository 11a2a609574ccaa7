/* Uses libelf on a mapped file. libelf checks offsets and sizes against the file's length. */
#include "core/source/journal/object.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Tolerance for image sizes, because page sizes differ and loaders round the ends of a mapping
 * differently.
 */
static const uint64_t page_slack_bytes = 65536;

static int open_regular(const char *path)
{
	struct stat st;
	int fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -1;
}

static uint64_t image_end(Elf *elf)
{
	size_t n;
	uint64_t end = 0;
	if (elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD &&
		    p.p_vaddr + p.p_memsz > end)
			end = p.p_vaddr + p.p_memsz;
	}
	return end;
}

/*
 * Returns whether the file is the build that was mapped. Compares the build-ids. If neither has one
 * (clang's default), compares the sizes of the images.
 */
static bool is_same(Elf *elf, const struct module_entry *m)
{
	const void *id;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
	if (bytes > (ssize_t)sizeof(m->build_id))
		bytes = sizeof(m->build_id); /* the journal stores no more bytes of a build-id */
	if (bytes > 0 || m->build_id_bytes)
		return bytes == (ssize_t)m->build_id_bytes &&
		       !memcmp(id, m->build_id, m->build_id_bytes);
	uint64_t end = m->end - m->base, expected = image_end(elf);
	return expected && (end > expected ? end - expected : expected - end) < page_slack_bytes;
}

size_t object_path_length(const char *path)
{
	static const char gone[] = " (deleted)";
	size_t length = strlen(path), more = sizeof(gone) - 1;
	return length > more && !strcmp(path + length - more, gone) ? length - more : length;
}

enum object_state object_open(struct object *o, const char *path, const struct module_entry *m)
{
	o->fd = open_regular(path);
	if (o->fd < 0)
		return OBJECT_NO_FILE;
	elf_version(EV_CURRENT);
	o->elf = elf_begin(o->fd, ELF_C_READ_MMAP, NULL);
	enum object_state state = OBJECT_OPEN;
	GElf_Ehdr header;
	if (!o->elf || elf_kind(o->elf) != ELF_K_ELF || !gelf_getehdr(o->elf, &header))
		state = OBJECT_DAMAGED;
	else if (!is_same(o->elf, m))
		state = OBJECT_CHANGED;
	if (state != OBJECT_OPEN)
		object_close(o);
	return state;
}

void object_close(struct object *o)
{
	elf_end(o->elf);
	close(o->fd);
	*o = (struct object){ .fd = -1 };
}

const uint8_t *object_bytes_from(const struct object *o, uint64_t address, size_t *n)
{
	size_t n_headers, file_bytes;
	const char *file = elf_rawfile(o->elf, &file_bytes);
	if (!file || elf_getphdrnum(o->elf, &n_headers))
		return NULL;
	for (size_t i = 0; i < n_headers; i++) {
		GElf_Phdr p;
		if (!gelf_getphdr(o->elf, (int)i, &p) || p.p_type != PT_LOAD ||
		    address < p.p_vaddr || address - p.p_vaddr >= p.p_filesz)
			continue;
		uint64_t at = p.p_offset + (address - p.p_vaddr),
			 left = p.p_filesz - (address - p.p_vaddr);
		if (at >= file_bytes)
			return NULL;
		*n = left < file_bytes - at ? left : file_bytes - at;
		return (const uint8_t *)file + at;
	}
	return NULL;
}

const uint8_t *object_bytes(const struct object *o, uint64_t address, size_t n)
{
	size_t left;
	const uint8_t *at = object_bytes_from(o, address, &left);
	return at && n <= left ? at : NULL;
}

static Elf_Scn *find_section(const struct object *o, const char *name, GElf_Shdr *header)
{
	size_t names;
	if (elf_getshdrstrndx(o->elf, &names))
		return NULL;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s));) {
		if (!gelf_getshdr(s, header) || header->sh_type == SHT_NOBITS)
			continue;
		const char *is = elf_strptr(o->elf, names, header->sh_name);
		if (is && !strcmp(is, name))
			return s;
	}
	return NULL;
}

uint64_t object_section_address(const struct object *o, const char *name, size_t *bytes)
{
	GElf_Shdr header;
	if (!find_section(o, name, &header) || !(header.sh_flags & SHF_ALLOC))
		return 0;
	*bytes = header.sh_size;
	return header.sh_addr;
}

uint64_t object_section_bytes(const struct object *o, const char *name)
{
	GElf_Shdr header;
	GElf_Chdr packed;
	Elf_Scn *s = find_section(o, name, &header);
	if (!s)
		return 0;
	return gelf_getchdr(s, &packed) ? packed.ch_size : header.sh_size;
}

bool object_section_is_packed(const struct object *o, const char *name)
{
	GElf_Shdr header;
	return find_section(o, name, &header) && header.sh_flags & SHF_COMPRESSED;
}
