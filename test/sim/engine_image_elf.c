/*
 * Cubins: ELF files for NVIDIA's GPUs. Reads their symbol tables, and writes cubins that have
 * nothing else. See engine_image_formats.h.
 */
#include "test/sim/engine_image_formats.h"

#include <elf.h>

#define MACHINE_CUDA	190
#define ABI_NEW		8      /* from CUDA 13 on; the architecture's place depends on it */
#define NOTE_CUINFO	1000   /* type of the note .note.nv.cuinfo */
#define SYMBOL_IS_ENTRY 0x10   /* in st_other: a kernel, not a device function */
#define IDENT_PARTIAL	EI_PAD /* in e_ident: image_write() did not have all symbols */
#define FLAGS_NEW(arch) (0x06000004u | (unsigned)(arch) << 8)

bool image_is_elf(const void *code)
{
	const Elf64_Ehdr *h = code;
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_machine == MACHINE_CUDA;
}

/* Returns the architecture of the PTX from which the code was compiled, or 0. */
static int note_ptx(const char *note, size_t bytes)
{
	uint32_t head[3];
	uint16_t values[2];
	size_t at;
	if (bytes < sizeof(head))
		return 0;
	memcpy(head, note, sizeof(head));
	at = sizeof(head) + ((head[0] + 3) & ~3u);
	if (head[2] != NOTE_CUINFO || at + sizeof(values) > bytes)
		return 0;
	memcpy(values, note + at, sizeof(values));
	return values[1];
}

static void symbols_read(const char *base, const Elf64_Shdr *table, const Elf64_Shdr *strings,
			 struct image *out)
{
	const Elf64_Sym *s = (const Elf64_Sym *)(base + table->sh_offset);
	const Elf64_Sym *end = s + table->sh_size / sizeof(*s);
	for (; s < end; s++) {
		const char *name = base + strings->sh_offset + s->st_name;
		int type = ELF64_ST_TYPE(s->st_info);
		if (s->st_shndx == SHN_UNDEF || s->st_name >= strings->sh_size || *name == '.')
			continue;
		if (type == STT_FUNC && s->st_other & SYMBOL_IS_ENTRY)
			image_add(out, name, 0, true);
		else if (type == STT_OBJECT && s->st_size)
			image_add(out, name, s->st_size, false);
	}
}

bool image_read_elf(const void *code, size_t bytes, struct image *out)
{
	const char *base = code;
	const Elf64_Ehdr *h = code;
	if (bytes < sizeof(*h) || !image_is_elf(code))
		return false;
	bool is_new = h->e_ident[EI_ABIVERSION] >= ABI_NEW;
	out->binary_version = (int)(is_new ? h->e_flags >> 8 : h->e_flags) & 255;
	out->ptx_version = out->binary_version;
	bool has_table = false;
	for (int i = 0; i < h->e_shnum; i++) {
		const Elf64_Shdr *s = (const Elf64_Shdr *)(base + h->e_shoff) + i;
		if (s->sh_type == SHT_SYMTAB && s->sh_link < h->e_shnum) {
			symbols_read(base, s, s - i + s->sh_link, out);
			has_table = true;
		}
		int ptx = s->sh_type == SHT_NOTE ? note_ptx(base + s->sh_offset, s->sh_size) : 0;
		out->ptx_version = ptx ?: out->ptx_version;
	}
	return has_table && !h->e_ident[IDENT_PARTIAL];
}

/* ---- writing ---- */

struct cubin {
	Elf64_Ehdr head;
	Elf64_Shdr sections[4];
	uint32_t note[3];
	char owner[12];
	uint16_t values[4];
};

enum { SECTION_SYMBOLS = 1, SECTION_STRINGS, SECTION_NOTE };

static void symbol_write(Elf64_Sym *to, const struct image_symbol *s, size_t name)
{
	to->st_name = (Elf64_Word)name;
	to->st_info = ELF64_ST_INFO(STB_GLOBAL, s->is_kernel ? STT_FUNC : STT_OBJECT);
	to->st_other = s->is_kernel ? SYMBOL_IS_ENTRY : 0;
	to->st_shndx = SHN_ABS;
	to->st_size = s->bytes;
}

void *image_write(const struct image *image, size_t *bytes)
{
	size_t names = 1, count = (size_t)image->count + 1;
	for (int i = 0; i < image->count; i++)
		names += strlen(image->symbols[i].name) + 1;
	*bytes = sizeof(struct cubin) + count * sizeof(Elf64_Sym) + names;
	struct cubin *c = calloc(1, *bytes);
	Elf64_Sym *symbols = (Elf64_Sym *)(c + 1);
	char *strings = (char *)(symbols + count);
	size_t at = 1;
	for (int i = 0; i < image->count; i++) {
		symbol_write(&symbols[i + 1], &image->symbols[i], at);
		at += strlen(strcpy(strings + at, image->symbols[i].name)) + 1;
	}
	memcpy(c->head.e_ident, ELFMAG "\2\1\1\x41\x08", 9);
	c->head.e_ident[IDENT_PARTIAL] = !image->has_all;
	c->head.e_type = ET_EXEC;
	c->head.e_machine = MACHINE_CUDA;
	c->head.e_version = 1;
	c->head.e_flags = FLAGS_NEW(image_device());
	c->head.e_ehsize = sizeof(c->head);
	c->head.e_shoff = offsetof(struct cubin, sections);
	c->head.e_shentsize = sizeof(c->sections[0]);
	c->head.e_shnum = 4;
	c->head.e_shstrndx = SECTION_STRINGS;
	c->sections[SECTION_SYMBOLS] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
						     .sh_offset = sizeof(*c),
						     .sh_size = count * sizeof(Elf64_Sym),
						     .sh_link = SECTION_STRINGS,
						     .sh_entsize = sizeof(Elf64_Sym) };
	c->sections[SECTION_STRINGS] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
						     .sh_offset = (size_t)(strings - (char *)c),
						     .sh_size = names };
	c->sections[SECTION_NOTE] =
		(Elf64_Shdr){ .sh_type = SHT_NOTE,
			      .sh_offset = offsetof(struct cubin, note),
			      .sh_size = sizeof(c->note) + sizeof(c->owner) + sizeof(c->values) };
	memcpy(c->note, (uint32_t[]){ sizeof(c->owner), sizeof(c->values), NOTE_CUINFO },
	       sizeof(c->note));
	memcpy(c->owner, "NVIDIA Corp", sizeof(c->owner));
	c->values[0] = 2;
	c->values[1] = (uint16_t)image->ptx_version;
	return c;
}
