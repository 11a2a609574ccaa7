/* See stacks.h. */
#include "core/source/kineto/stacks.h"

#include "core/symbols/origin.h"

#include <stdio.h>
#include <string.h>

enum { FRAME_BYTES = 1024 }; /* a longer name of a frame is cut */

void stacks_start(struct stacks *s, const struct strtab *names)
{
	memset(s, 0, sizeof(*s));
	s->names = names;
	vec_push(&s->nodes, (struct stack_node){ 0 });
}

void stacks_free(struct stacks *s)
{
	strtab_free(&s->texts);
	vec_free(&s->frames);
	vec_free(&s->nodes);
	map_free(&s->frame_of);
	map_free(&s->child_of);
}

/* ---- Building ---- */

static uint32_t frame_of(struct stacks *s, const struct stack_frame *frame)
{
	bool is_new;
	/* a line has fewer than 2^24 values in practice; a longer one only loses its own entry */
	uint64_t key = (uint64_t)frame->text << 32 | (frame->line & 0xffffff) << 8 |
		       frame->category;
	uint64_t *at = map_at(&s->frame_of, key, &is_new);
	if (is_new) {
		*at = s->frames.n;
		vec_push(&s->frames, *frame);
	}
	return (uint32_t)*at;
}

uint32_t stacks_push(struct stacks *s, uint32_t parent, const struct stack_frame *frame)
{
	bool is_new;
	uint32_t number = frame_of(s, frame);
	uint64_t *at = map_at(&s->child_of, (uint64_t)parent << 32 | number, &is_new);
	if (is_new) {
		*at = s->nodes.n;
		vec_push(&s->nodes, (struct stack_node){ parent, number });
	}
	return (uint32_t)*at;
}

uint32_t stacks_at_line(struct stacks *s, uint32_t stack, uint32_t line)
{
	struct stack_node node = s->nodes.at[stack];
	if (!stack)
		return 0;
	struct stack_frame frame = s->frames.at[node.frame];
	frame.line = line;
	return stacks_push(s, node.parent, &frame);
}

/* The code of torch.profiler itself, which begins an annotation. */
static const char *without_profiler(const char *text)
{
	static const char file[] = "torch/autograd/profiler.py(";
	for (;;) {
		const char *end = strchr(text, ';'), *at = strstr(text, file);
		if (!end || !at || at > end)
			return text;
		text = end + 1;
	}
}

uint32_t stacks_of_text(struct stacks *s, struct strtab *names, uint32_t text)
{
	const char *all = without_profiler(strtab_text(names, text));
	uint32_t stack = 0;
	for (size_t end = strlen(all); end;) {
		size_t begin = end;
		char one[FRAME_BYTES];
		while (begin && all[begin - 1] != ';')
			begin--;
		snprintf(one, sizeof(one), "%.*s",
			 (int)(end - begin < sizeof(one) ? end - begin : sizeof(one)), all + begin);
		struct stack_frame frame = { .text = strtab_intern(names, one),
					     .category = EVENT_PYTHON };
		if (frame.text)
			stack = stacks_push(s, stack, &frame);
		end = begin ? begin - 1 : 0;
	}
	return stack;
}

/* ---- Resolving ---- */

static struct stack_shape shape_of(void *context, uint32_t stack,
				   uint64_t keys[static STACK_KEYS_MOST])
{
	const struct stacks *s = context;
	struct stack_shape shape = { 0 };
	while (stack && stack < s->nodes.n && shape.n < STACK_KEYS_MOST) {
		keys[shape.n++] = s->nodes.at[stack].frame;
		stack = s->nodes.at[stack].parent;
	}
	shape.is_truncated = stack;
	return shape;
}

static const char *keep(struct stacks *s, const char *text, size_t n)
{
	char *copy = mem_resize(NULL, n + 1);
	memcpy(copy, text, n);
	copy[n] = 0;
	const char *kept = strtab_text(&s->texts, strtab_intern(&s->texts, copy));
	free(copy);
	return kept;
}

/*
 * torch.profiler leaves out the folder in which Python found a file. So an installed package begins
 * with its own name, as in "torch/nn/modules/module.py".
 */
static const char *whole_path(struct stacks *s, const char *file, size_t n)
{
	static const char installed[] = ".../site-packages/";
	if (*file == '/' || *file == '<' || !memchr(file, '/', n))
		return keep(s, file, n);
	char *path = mem_resize(NULL, n + sizeof(installed));
	snprintf(path, n + sizeof(installed), "%s%.*s", installed, (int)n, file);
	const char *kept = origin_is_framework(path) ? keep(s, path, strlen(path))
						     : keep(s, file, n);
	free(path);
	return kept;
}

/* Modules of the standard library that call back what they were given. */
static bool is_standard_library(const char *file)
{
	static const char *const files[] = { "threading.py",   "contextlib.py", "functools.py",
					     "runpy.py",       "queue.py",	"selectors.py",
					     "socketserver.py" };
	static const char *const folders[] = { "asyncio/", "concurrent/", "multiprocessing/",
					       "importlib/" };
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(file, files[i]))
			return true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (!strncmp(file, folders[i], strlen(folders[i])))
			return true;
	return false;
}

/* Splits "FILE(LINE): FUNCTION". Returns false for a text of another form. */
static bool split(struct stacks *s, const char *text, struct source_frame *to)
{
	const char *colon = strstr(text, "): "), *open = colon;
	char *end;
	while (open && open > text && *open != '(')
		open--;
	if (!open || open == text)
		return false;
	unsigned long line = strtoul(open + 1, &end, 10);
	if (end != colon || end == open + 1)
		return false;
	to->frame.file = whole_path(s, text, (size_t)(open - text));
	to->frame.line = line <= UINT32_MAX ? (uint32_t)line : 0;
	to->frame.function = keep(s, colon + 3, strlen(colon + 3));
	to->first_line = to->frame.line;
	return true;
}

static size_t resolve_python(struct stacks *s, const char *text, uint32_t line,
			     struct source_frame *out)
{
	static const char module[] = "nn.Module: ",
			  module_file[] = ".../site-packages/torch/nn/modules/module.py";
	size_t n = sizeof(module) - 1;
	out->frame.kind = FRAME_KIND_PYTHON;
	if (!strncmp(text, module, n)) {
		/* the call of a module: its forward() within __call__() */
		char function[256];
		snprintf(function, sizeof(function), "%.200s.forward", text + n);
		out[1] = *out;
		out->frame.function = keep(s, function, strlen(function));
		out->frame.is_library = out[1].frame.is_library = true;
		out->first_line = 1;
		out[1].frame.function = "__call__";
		out[1].frame.file = module_file;
		return 2;
	}
	if (!split(s, text, out)) { /* such as "<built-in method item of Tensor object>" */
		out->frame.kind = FRAME_KIND_NATIVE;
		out->frame.function = text;
		out->frame.is_library = true;
		return 1;
	}
	out->frame.line = line ? line : out->frame.line;
	out->frame.is_library = origin_is_python_library(out->frame.file) ||
				is_standard_library(out->frame.file);
	return 1;
}

const char *stacks_operator(const char *name)
{
	static const char node[] = "autograd::engine::evaluate_function: ";
	return strncmp(name, node, sizeof(node) - 1) ? name : name + sizeof(node) - 1;
}

/* The annotations that PyTorch makes itself, and the file whose code makes them. */
static const struct {
	const char *begin, *file;
} annotations[] = {
	{ "Optimizer.", ".../site-packages/torch/optim/optimizer.py" },
	{ "enumerate(DataLoader)#", ".../site-packages/torch/utils/data/dataloader.py" },
	{ "enumerate(DataPipe)#", ".../site-packages/torch/utils/data/datapipes/"
				  "_hook_iterator.py" },
	{ "DistributedDataParallel.forward", ".../site-packages/torch/nn/parallel/distributed.py" },
};

bool stacks_is_frame(const char *annotation)
{
	for (size_t i = 0; i < sizeof(annotations) / sizeof(*annotations); i++)
		if (!strncmp(annotation, annotations[i].begin, strlen(annotations[i].begin)))
			return true;
	return false;
}

static void resolve_annotation(const char *text, struct source_frame *out)
{
	out->frame.kind = FRAME_KIND_PYTHON;
	out->frame.function = text;
	out->frame.is_library = true;
	for (size_t i = 0; i < sizeof(annotations) / sizeof(*annotations); i++)
		if (!strncmp(text, annotations[i].begin, strlen(annotations[i].begin)))
			out->frame.file = annotations[i].file;
}

static size_t resolve(void *context, uint64_t key, bool is_return,
		      struct source_frame out[static STACK_INLINED_MOST])
{
	struct stacks *s = context;
	const struct stack_frame *frame = &s->frames.at[key];
	const char *text = strtab_text(s->names, frame->text);
	(void)is_return;
	*out = (struct source_frame){ .frame = { .function = "?", .file = "", .module = "" },
				      .operator= "",
				      .stub_of = "" };
	if (frame->category == EVENT_PYTHON)
		return resolve_python(s, text, frame->line, out);
	if (frame->category == EVENT_ANNOTATION) {
		resolve_annotation(text, out);
		return 1;
	}
	if (frame->category == EVENT_OPERATOR)
		out->operator= stacks_operator(text);
	out->frame.function = text;
	out->frame.is_library = true;
	return 1;
}

static const char *diagnostic(void *context, size_t i)
{
	(void)context;
	(void)i;
	return NULL;
}

static void free_nothing(void *context)
{
	(void)context;
}

struct stack_source stacks_source(struct stacks *s)
{
	return (struct stack_source){ .context = s,
				      .stack = shape_of,
				      .resolve = resolve,
				      .diagnostic = diagnostic,
				      .free = free_nothing };
}
