/* See functions.h. */
#include "core/source/journal/functions.h"

#include "core/flow/landing_pads.h"
#include "core/source/journal/no_return.h"
#include "core/symbols/origin.h"
#include "core/util/map.h"

#include <gelf.h>
#include <string.h>

/* Longer functions are generated code, and take longer to read than all others together. */
enum { FUNCTION_MOST_BYTES = 256 << 10 };

struct file {
	struct object object;
	struct symbols *symbols;
	struct no_return *no_return; /* NULL: no symbols, or a library */
	struct landing_pads *pads;   /* NULL: no exceptions, no symbols, or a library */
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
	landing_pads_free(file->pads);
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

static const uint8_t *bytes_from(void *context, uint64_t address, size_t *n)
{
	const struct file *file = context;
	return object_bytes_from(&file->object, address, n);
}

static struct landing_pads *open_pads(struct file *file)
{
	size_t bytes = 0;
	uint64_t address = object_section_address(&file->object, ".eh_frame", &bytes);
	const struct landing_image image = {
		.frames = address ? object_bytes(&file->object, address, bytes) : NULL,
		.frames_bytes = bytes,
		.frames_address = address,
		.bytes_from = bytes_from,
		.context = file,
	};
	return image.frames ? landing_pads_new(&image) : NULL;
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
	if (file->symbols && !file->is_library) {
		file->no_return = no_return_new(&file->object, file->symbols, file->machine);
		file->pads = open_pads(file);
	}
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

/* A function that is being read. */
struct reading {
	struct file *file;
	struct symbol symbol, moved; /* `moved.name` NULL: it has no such part */
};

static const uint8_t *constants(void *context, uint64_t address, size_t bytes)
{
	const struct reading *r = context;
	return object_bytes(&r->file->object, address, bytes);
}

static bool never_returns(void *context, struct flow_callee callee)
{
	const struct reading *r = context;
	return no_return_is(r->file->no_return, callee);
}

static uint64_t handler(void *context, uint64_t address)
{
	const struct reading *r = context;
	return landing_pads_find(r->file->pads, address);
}

/*
 * Returns the length of the name of the function that the symbol is a moved part of: NAME.cold or
 * NAME.cold.NUMBER. Returns 0 if it is a function of its own.
 */
static size_t is_part_of(const char *name)
{
	static const char word[] = ".cold";
	const char *found = strstr(name, word);
	char after = found ? found[sizeof(word) - 1] : 0;
	return found && (!after || after == '.') ? (size_t)(found - name) : 0;
}

static bool moved(void *context, uint64_t address, struct flow_part *out)
{
	struct reading *r = context;
	struct symbol part;
	if (!symbols_find(r->file->symbols, address, &part))
		return false;
	size_t length = is_part_of(part.name), bytes = part.end - part.begin;
	if (!length || bytes > FUNCTION_MOST_BYTES || strlen(r->symbol.name) != length ||
	    strncmp(part.name, r->symbol.name, length))
		return false;
	*out = (struct flow_part){ object_bytes(&r->file->object, part.begin, bytes), bytes,
				   part.begin };
	if (out->at)
		r->moved = part;
	return out->at;
}

static struct flow *read_flow(struct reading *r)
{
	struct file *file = r->file;
	size_t bytes = r->symbol.end - r->symbol.begin;
	struct flow_code code = {
		.machine = file->machine,
		.bytes = bytes,
		.address = r->symbol.begin,
		.constants = constants,
		.never_returns = file->no_return ? never_returns : NULL,
		.handler = file->pads ? handler : NULL,
		.moved = file->is_library ? NULL : moved,
		.context = r,
	};
	if (bytes <= FUNCTION_MOST_BYTES)
		code.at = object_bytes(&file->object, r->symbol.begin, bytes);
	return code.at ? flow_of_machine_code(&code, file->is_library) : NULL;
}

static bool is_dispatcher(const char *name)
{
	return strstr(name, "8pybind1112cpp_function10dispatcher") ||
	       (strstr(name, "8nanobind6detail") && strstr(name, "nb_func_vectorcall"));
}

/* Returns a place within the call instruction, as an address of the file. */
static uint64_t place_of(uint64_t frame)
{
	return (frame & 0xffffffffffffull) - 1;
}

/* Reads a function. Returns its index in f->all, plus 1; 0: it cannot be read. */
static uint64_t read_function(struct functions *f, struct file *file, const struct symbol *symbol)
{
	bool is_new;
	uint64_t *index = map_at(&file->functions, symbol->begin, &is_new);
	if (!is_new)
		return *index;
	*index = 0;
	struct reading r = { .file = file, .symbol = *symbol };
	struct flow *flow = read_flow(&r);
	if (!flow)
		return 0;
	vec_push(&f->all, (struct function){ .flow = flow,
					     .begin = symbol->begin,
					     .is_library = file->is_library,
					     .is_dispatcher = is_dispatcher(symbol->name) });
	*map_at(&file->functions, symbol->begin, NULL) = f->all.n;
	if (r.moved.name)
		*map_at(&file->functions, r.moved.begin, NULL) = f->all.n;
	return f->all.n;
}

struct wanted {
	struct functions *functions;
	struct file *file;
	uint64_t part; /* begin of the moved part */
};

/* Reads a function that may be the one of the part. Returns whether it is. */
static bool has_part(void *context, const struct symbol *symbol)
{
	struct wanted *w = context;
	read_function(w->functions, w->file, symbol);
	return map_find(&w->file->functions, w->part);
}

/* Returns the index of the function in f->all, plus 1; 0: none is known. */
static uint64_t find(struct functions *f, uint64_t frame)
{
	struct symbol symbol;
	uint64_t address = place_of(frame);
	struct file *file = file_of(f, frame >> 48 & FRAME_MODULE_MOST);
	if (!file || !symbols_find(file->symbols, address, &symbol))
		return 0;
	size_t length = file->is_library ? 0 : is_part_of(symbol.name);
	if (length && !map_find(&file->functions, symbol.begin))
		symbols_named(file->symbols, symbol.name, length, has_part,
			      &(struct wanted){ f, file, symbol.begin });
	return read_function(f, file, &symbol);
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
	out->at = flow_place(out->flow, place_of(frame));
	return true;
}
