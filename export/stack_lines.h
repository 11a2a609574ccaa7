/* A stack as a person reads it: the user's own frames and the operators' in full, long runs of library frames as one line. */
#ifndef EXPORT_STACK_LINES_H
#define EXPORT_STACK_LINES_H

#include "core/symbols/frames.h"

struct stack_line {
	size_t first; /* frame in the list; of several the innermost */
	size_t n;     /* 1: that frame; more: so many frames, folded */
};

/* Innermost first. `out` has room for list->n; how many. */
size_t stack_lines(const struct frame_list *list, struct stack_line *out);

enum { STACK_LINE_BYTES = 256 };

/* "forward (model.py:31)", "at::native::add (libtorch_cpu.so)", "... 12 frames in torch, libtorch_cpu.so". */
void stack_line_text(const struct frame_list *list, const struct stack_line *line,
		     char to[STACK_LINE_BYTES]);

/* "model.py:31"; "" where neither is known. */
void stack_place_text(const char *file, uint32_t line, char to[STACK_LINE_BYTES]);

#endif
