/*
 * See stack_lines.h. A call of PyTorch has 25 native frames, of which two or three are informative.
 */
#include "export/stack_lines.h"

#include "core/util/path.h"

#include <stdio.h>
#include <string.h>

enum {
	FOLD_FROM = 3,	 /* least frames to fold; folding fewer saves too little */
	HOMES_NAMED = 2, /* number of packages or files named in a folded line */
};

/* Marks the frames that are never folded. If several frames in a row have the same operator's name,
 * only the outermost is marked. */
static void mark(const struct frame_list *list, bool *is_kept)
{
	const char *last = "";
	for (size_t i = list->n; i-- > 0;) {
		const char *operator= frame_operator(list->at[i]);
		is_kept[i] = !list->at[i]->is_library || i == 0 ||
			     (*operator&& strcmp(operator, last) != 0);
		if (*operator)
			last = operator;
	}
}

size_t stack_lines(const struct frame_list *list, struct stack_line *out)
{
	bool *is_kept = mem_zero(list->n);
	size_t n = 0;
	mark(list, is_kept);
	for (size_t i = 0; i < list->n;) {
		size_t run = 0;
		while (i + run < list->n && !is_kept[i + run])
			run++;
		if (run >= FOLD_FROM) {
			out[n++] = (struct stack_line){ i, run };
			i += run;
		} else {
			out[n++] = (struct stack_line){ i++, 1 };
		}
	}
	free(is_kept);
	return n;
}

/* Returns the Python package, file or shared object that the frame's code belongs to. The text may
 * be part of a path, so its length is in `length`. */
static const char *home(const struct frame *f, size_t *length)
{
	static const char *const folders[] = { "site-packages/", "dist-packages/" };
	if (f->kind == FRAME_KIND_NATIVE) {
		*length = strlen(f->module);
		return f->module;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		const char *at = strstr(f->file, folders[i]);
		if (!at)
			continue;
		at += strlen(folders[i]);
		*length = strcspn(at, "/");
		return at;
	}
	*length = strlen(path_base(f->file));
	return path_base(f->file);
}

static void fold_text(const struct frame_list *list, const struct stack_line *line, char *to)
{
	size_t used = (size_t)snprintf(to, STACK_LINE_BYTES, "... %zu frames", line->n);
	const char *seen[HOMES_NAMED] = { NULL };
	size_t lengths[HOMES_NAMED] = { 0 }, n = 0;
	for (size_t i = line->first + line->n; i-- > line->first && used < STACK_LINE_BYTES;) {
		size_t length, k = 0;
		const char *text = home(list->at[i], &length);
		while (k < n && (lengths[k] != length || memcmp(seen[k], text, length) != 0))
			k++;
		if (k < n || !length)
			continue;
		if (n == HOMES_NAMED) {
			snprintf(to + used, STACK_LINE_BYTES - used, ", ...");
			return;
		}
		used += (size_t)snprintf(to + used, STACK_LINE_BYTES - used, "%s%.*s",
					 n ? ", " : " in ", (int)(length < 60 ? length : 60), text);
		seen[n] = text;
		lengths[n++] = length;
	}
}

void stack_place_text(const char *file, uint32_t line, char to[STACK_LINE_BYTES])
{
	if (line)
		snprintf(to, STACK_LINE_BYTES, "%.200s:%u", path_base(file), line);
	else
		snprintf(to, STACK_LINE_BYTES, "%.200s", path_base(file));
}

void stack_line_text(const struct frame_list *list, const struct stack_line *line,
		     char to[STACK_LINE_BYTES])
{
	const struct frame *f = list->at[line->first];
	char place[STACK_LINE_BYTES];
	if (line->n > 1) {
		fold_text(list, line, to);
		return;
	}
	stack_place_text(*f->file ? f->file : f->module, *f->file ? f->line : 0, place);
	if (*place)
		snprintf(to, STACK_LINE_BYTES, "%.150s (%.90s)", f->function, place);
	else
		snprintf(to, STACK_LINE_BYTES, "%.150s", f->function);
}
