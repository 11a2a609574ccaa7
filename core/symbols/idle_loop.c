/* See idle_loop.h. */
#include "core/symbols/idle_loop.h"

#include <string.h>

static bool is_of_file(const struct frame *frame, const char *file)
{
	return frame->kind == FRAME_KIND_PYTHON && strstr(frame->file, file);
}

static bool is_function(const struct frame *frame, const char *name)
{
	size_t n = strlen(frame->function), n_name = strlen(name);
	return n >= n_name && !strcmp(frame->function + n - n_name, name);
}

bool idle_loop_is_on(const struct frame_list *list)
{
	size_t i = 0;
	while (i < list->n && list->at[i]->kind != FRAME_KIND_PYTHON) {
		if (strstr(list->at[i]->module, "/uvloop/"))
			return true;
		i++;
	}
	return i + 1 < list->n && is_of_file(list->at[i], "/selectors.py") &&
	       is_function(list->at[i], "select") &&
	       is_of_file(list->at[i + 1], "/asyncio/base_events.py");
}
