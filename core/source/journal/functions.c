/* See functions.h. */
#include "core/source/journal/functions.h"

#include "core/source/journal/no_return.h"
#include "core/symbols/origin.h"
#include "core/util/map.h"

#include <gelf.h>

/* Longer functions are generated code, and take longer to read than all others together. */
enum { FUNCTION_MOST_BYTES = 256 << 10 };

struct file {
	struct object object;
	struct symbols *symbols;
	struct no_return *no_return; /* NULL: no symbols, or a library */
	enum flow_machine machine;
	bool is_open, is_library;
	struct map functions; /* begin -> index in functions.all, plus 1 */
};

struct functions {
	const struct dict *dict;
	/* by the module's id; NULL: not used yet. Each file's no_return has the file's address. */
	VEC(struct file *) files;
	VEC(struct function) all;
	struct map frames; /* frame -> index in `all`, plus 1; 0: no function is known */
};

struct functions *functions_new(const struct dict *dict)
{
	struct functions *f = mem_zero(sizeof(*f));
	f->dict = dict;
	return f;
}

static void close_file(struct file *file)
{
	if (!file)
		return;
	no_return_free(file->no_return);
	symbols_free(file->symbols);
	map_free(&file->functions);
	if (file->is_open)
		object_close(&file->object);
	free(file);
}

void functions_free(struct functions *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->all.n; i++)
		flow_free((struct flow *)f->all.at[i].flow);
	for (size_t i = 0; i < f->files.n; i++)
		close_file(f->files.at[i]);
	vec_free(&f->files);
	vec_free(&f->all);
	map_free(&f->frames);
	free(f);
}

static bool find_machine(const struct object *o, enum flow_machine *out)
{
	GElf_Ehdr header;
	if (!gelf_getehdr(o->elf, &header))
		return false;
	*out = header.e_machine == EM_AARCH64 ? FLOW_AARCH64 : FLOW_X86_64;
	return header.e_machine == EM_AARCH64 || header.e_machine == EM_X86_64;
}

static struct file *open_file(const struct functions *f, const struct module_entry *entry)
{
	struct file *file = mem_zero(sizeof(*file));
	char *path = mem_text(strtab_text(&f->dict->t.names, entry->path));
	path[object_path_length(path)] = 0;
	file->is_library = origin_is_native_library(path);
	file->is_open = object_open(&file->object, path, entry) == OBJECT_OPEN;
	if (file->is_open && find_machine(&file->object, &file->machine))
		file->symbols = symbols_new(&file->object);
	/* Not for libraries, whose loops are coarse: for PyTorch, a report took 60 % longer. */
	if (file->symbols && !file->is_library)
		file->no_return = no_return_new(&file->object, file->symbols, file->machine);
	free(path);
	return file;
}

/* Returns NULL if the file has no symbols or cannot be read. */
static struct file *file_of(struct functions *f, uint32_t module)
{
	const struct module_entry *entry = dict_module(f->dict, module);
	if (!entry)
		return NULL;
	vec_at_id(&f->files, module);
	if (!f->files.at[module])
		f->files.at[module] = open_file(f, entry);
	struct file *file = f->files.at[module];
	return file->symbols ? file : NULL;
}

static const uint8_t *constants(void *context, uint64_t address, size_t bytes)
{
	const struct file *file = context;
	return object_bytes(&file->object, address, bytes);
}

static bool never_returns(void *context, struct flow_callee callee)
{
	const struct file *file = context;
	return no_return_is(file->no_return, callee);
}

static struct flow *read_flow(struct file *file, const struct symbol *symbol)
{
	size_t bytes = symbol->end - symbol->begin;
	struct flow_code code = {
		.machine = file->machine,
		.bytes = bytes,
		.address = symbol->begin,
		.constants = constants,
		.never_returns = file->no_return ? never_returns : NULL,
		.context = file,
	};
	if (bytes <= FUNCTION_MOST_BYTES)
		code.at = object_bytes(&file->object, symbol->begin, bytes);
	return code.at ? flow_of_machine_code(&code, file->is_library) : NULL;
}

/* Returns a place within the call instruction, as an address of the file. */
static uint64_t place_of(uint64_t frame)
{
	return (frame & 0xffffffffffffull) - 1;
}

/* Returns the index of the function in f->all, plus 1; 0: none is known. */
static uint64_t find(struct functions *f, uint64_t frame)
{
	struct symbol symbol;
	uint64_t address = place_of(frame);
	struct file *file = file_of(f, frame >> 48 & FRAME_MODULE_MOST);
	if (!file || !symbols_find(file->symbols, address, &symbol))
		return 0;
	bool is_new;
	uint64_t *index = map_at(&file->functions, symbol.begin, &is_new);
	if (!is_new)
		return *index;
	struct flow *flow = read_flow(file, &symbol);
	if (!flow)
		return 0;
	vec_push(&f->all, (struct function){ .flow = flow,
					     .begin = symbol.begin,
					     .is_library = file->is_library });
	return *index = f->all.n;
}

bool functions_find(struct functions *f, uint64_t frame, struct function *out)
{
	if (frame & FRAME_PYTHON)
		return false;
	bool is_new;
	uint64_t *index = map_at(&f->frames, frame, &is_new);
	if (is_new)
		*index = find(f, frame);
	if (!*index)
		return false;
	*out = f->all.at[*index - 1];
	out->at = place_of(frame);
	return true;
}
