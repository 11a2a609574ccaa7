/* See native.h. Opens the object of a DICT_MODULE when its first frame is resolved. */
#include "core/source/journal/native.h"

#include "core/source/journal/lines.h"
#include "core/source/journal/symbols.h"
#include "core/symbols/operators.h"
#include "core/symbols/origin.h"
#include "core/util/demangle.h"
#include "core/util/path.h"

#include <stdio.h>

/*
 * In names longer than this, template arguments are replaced by "<...>". Otherwise they would make
 * every trace larger.
 */
static const size_t name_most_bytes = 160;

struct module {
	const char *path, *name; /* `name`: last component of `path` */
	struct object object;
	struct symbols *symbols;
	struct lines *lines; /* NULL for libraries, and for code without debug information */
	enum object_state state;
	bool is_known, is_library, is_profrun;
};

struct native {
	const struct dict *dict;
	struct strtab *texts;
	VEC(struct module) modules; /* by id */
	VEC(const char *) diagnostics;
};

struct native *native_new(const struct dict *dict, struct strtab *texts)
{
	struct native *n = mem_zero(sizeof(*n));
	n->dict = dict;
	n->texts = texts;
	return n;
}

void native_free(struct native *n)
{
	for (size_t i = 0; i < n->modules.n; i++) {
		symbols_free(n->modules.at[i].symbols);
		lines_free(n->modules.at[i].lines);
		if (n->modules.at[i].is_known && n->modules.at[i].state == OBJECT_OPEN)
			object_close(&n->modules.at[i].object);
	}
	vec_free(&n->modules);
	vec_free(&n->diagnostics);
	free(n);
}

const char *native_diagnostic(const struct native *n, size_t i)
{
	return i < n->diagnostics.n ? n->diagnostics.at[i] : NULL;
}

static const char *keep(struct native *n, const char *text)
{
	return strtab_text(n->texts, strtab_intern(n->texts, text));
}

static void diagnostic(struct native *n, const struct module *m, const char *what)
{
	char text[4352];
	snprintf(text, sizeof(text), "%s: %s", m->path, what);
	vec_push(&n->diagnostics, keep(n, text));
}

static void open_object(struct native *n, struct module *m, const struct module_entry *entry)
{
	m->state = object_open(&m->object, m->path, entry);
	if (m->state == OBJECT_CHANGED)
		diagnostic(n, m, "the file has changed since the run: no function names");
	if (m->state == OBJECT_DAMAGED)
		diagnostic(n, m, "damaged ELF file: no function names");
	if (m->state != OBJECT_OPEN)
		return;
	m->symbols = symbols_new(&m->object);
	if (!m->is_library && lines_open(&m->object, &m->lines) == LINES_TOO_BIG)
		diagnostic(n, m,
			   "more than 200 MB of debug information without an index: source lines "
			   "are not read");
}

static void open_module(struct native *n, struct module *m, const struct module_entry *entry)
{
	char *path = mem_text(strtab_text(&n->dict->t.names, entry->path));
	path[object_path_length(path)] = 0;
	*m = (struct module){
		.path = keep(n, path),
		.is_known = true,
		.is_profrun = origin_is_profrun(path),
		.is_library = origin_is_native_library(path),
	};
	m->name = path_base(m->path);
	open_object(n, m, entry);
	free(path);
}

static const struct module *module_of(struct native *n, uint32_t id)
{
	const struct module_entry *entry = dict_module(n->dict, id);
	if (!entry)
		return NULL;
	vec_at_id(&n->modules, id);
	if (!n->modules.at[id].is_known)
		open_module(n, &n->modules.at[id], entry);
	return &n->modules.at[id];
}

/*
 * Returns whether the frame's code is the code that a signal handler returns to. Some libraries
 * have no symbol for that code, so the instructions are compared.
 */
static bool is_signal_return(const struct module *m, uint64_t offset)
{
	static const uint8_t rt_sigreturn[] = {
#if defined(__x86_64__)
		0x48,
		0xc7,
		0xc0,
		0x0f,
		0x00,
		0x00,
		0x00,
		0x0f,
		0x05, /* mov $15, %rax; syscall */
#elif defined(__aarch64__)
		0x68,
		0x11,
		0x80,
		0xd2,
		0x01,
		0x00,
		0x00,
		0xd4, /* mov x8, #139; svc #0 */
#endif
	};
	const uint8_t *code = m->state == OBJECT_OPEN
				      ? object_bytes(&m->object, offset, sizeof(rt_sigreturn))
				      : NULL;
	return code && !memcmp(code, rt_sigreturn, sizeof(rt_sigreturn));
}

static const char *unnamed(struct native *n, const char *module, uint64_t offset)
{
	char text[320];
	snprintf(text, sizeof(text), "%.255s+0x%llx", module, (unsigned long long)offset);
	return keep(n, text);
}

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Sets the function's name and everything that follows from it: operator, role and kernel. */
static void name_frame(struct native *n, struct source_frame *to, const char *mangled)
{
	static const char stub[] = "__device_stub__";
	char operator[256];
	char *name = demangle_function(mangled);
	to->operator= operator_name(name, operator, sizeof(operator)) ? keep(n, operator) : "";
	if (!strcmp(name, "_PyEval_EvalFrameDefault")) {
		to->role = FRAME_EVALUATOR;
	} else if (begins_with(name, stub)) {
		to->role = FRAME_KERNEL_STUB;
		char *kernel = demangle_function(name + sizeof(stub) - 2);
		to->stub_of = keep(n, kernel);
		to->frame.is_library = true;
		free(kernel);
		/* the stub of a template kernel */
	} else if (begins_with(name, "__wrapper__device_stub_")) {
		to->frame.is_library = true;
	}
	demangle_shorten(name, name_most_bytes);
	to->frame.function = keep(n, name);
	free(name);
}

static struct source_frame blank(const struct module *m)
{
	return (struct source_frame){
		.frame = { .function = "",
			   .file = "",
			   .module = m->name,
			   .kind = FRAME_KIND_NATIVE,
			   .is_library = m->is_library },
		.operator= "",
		.stub_of = "",
		.role = m->is_profrun ? FRAME_OWN : FRAME_PLAIN,
	};
}

static size_t outside_objects(struct native *n, uint64_t address, struct source_frame *out)
{
	static const struct module nowhere = { .name = "[code without a file]",
					       .is_library = true };
	char text[32];
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	*out = blank(&nowhere);
	out->frame.function = keep(n, text);
	return 1;
}

/* Removes "./" and "x/../" from a path, in place. */
static void tidy(char *path)
{
	char *out = path;
	for (const char *p = path; *p;) {
		if (!strncmp(p, "/./", 3)) {
			p += 2;
		} else if (!strncmp(p, "/../", 4) && out > path) {
			while (out > path && *--out != '/')
				;
			p += 3;
		} else {
			*out++ = *p++;
		}
	}
	*out = 0;
}

static const char *file_of(struct native *n, const struct line_place *place)
{
	if (!place->file)
		return "";
	bool is_absolute = place->file[0] == '/' || !place->folder;
	const char *folder = is_absolute ? "" : place->folder;
	size_t room = strlen(folder) + strlen(place->file) + 2;
	char *path = mem_resize(NULL, room);
	snprintf(path, room, "%s%s%s", folder, is_absolute ? "" : "/", place->file);
	tidy(path);
	const char *kept = keep(n, path);
	free(path);
	return kept;
}

/*
 * Fills in the source lines. Puts frames of inlined functions before the frame in `out`. Returns
 * how many frames `out` contains then.
 */
static size_t add_lines(struct native *n, const struct module *m, uint64_t address,
			struct source_frame *out)
{
	struct line_place places[STACK_INLINED_MOST];
	size_t count = lines_find(m->lines, address, places, STACK_INLINED_MOST);
	if (!count)
		return 1;
	struct source_frame compiled = *out;
	for (size_t i = 0; i < count; i++) {
		bool is_last = i + 1 == count;
		out[i] = is_last ? compiled : blank(m);
		out[i].frame.line = places[i].line;
		out[i].frame.file = file_of(n, &places[i]);
		out[i].frame.is_inlined = !is_last;
		out[i].frame.is_library |= origin_is_library_source(out[i].frame.file);
		if (!is_last)
			name_frame(n, &out[i], places[i].function ? places[i].function : "?");
	}
	return count;
}

size_t native_find(struct native *n, uint64_t frame, bool is_return,
		   struct source_frame out[static STACK_INLINED_MOST])
{
	uint64_t offset = frame & 0xffffffffffffull;
	const struct module *m = module_of(n, frame >> 48 & FRAME_MODULE_MOST);
	if (!m)
		return outside_objects(n, offset, out);
	*out = blank(m);
	if (is_signal_return(m, offset)) {
		out->role = FRAME_SIGNAL;
		out->frame.function = "<signal handler called>";
		return 1;
	}
	/*
	 * A call may be the last instruction of its function. Then the return address lies in the
	 * next function.
	 */
	uint64_t address = is_return && offset ? offset - 1 : offset;
	struct symbol symbol;
	if (m->symbols && symbols_find(m->symbols, address, &symbol))
		name_frame(n, out, symbol.name);
	else
		out->frame.function = unnamed(n, m->name, offset);
	return m->lines ? add_lines(n, m, address, out) : 1;
}
