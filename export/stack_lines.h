/* Shows a stack as lines. The user's frames and operators get a line each; a long run of library
 * frames gets one line. */
#ifndef EXPORT_STACK_LINES_H
#define EXPORT_STACK_LINES_H

#include "core/symbols/frames.h"

struct stack_line {
	size_t first; /* index in the frame list; if folded: of the innermost frame */
	size_t n;     /* number of frames; more than 1: folded */
};

/*
 * Fills `out`, innermost line first; `out` has room for list->n lines. Returns the number of lines.
 */
size_t stack_lines(const struct frame_list *list, struct stack_line *out);

enum { STACK_LINE_BYTES = 256 };

/* Writes "forward (model.py:31)", "at::native::add (libtorch_cpu.so)", or, for folded frames, "...
 * 12 frames in torch, libtorch_cpu.so". */
void stack_line_text(const struct frame_list *list, const struct stack_line *line,
		     char to[STACK_LINE_BYTES]);

/* Writes "model.py:31", "model.py" without a line, or "" without a file. */
void stack_place_text(const char *file, uint32_t line, char to[STACK_LINE_BYTES]);

#endif
