/* See await_site.h. */
#include "core/symbols/await_site.h"

#include <string.h>

enum { LINES_MOST = 200 }; /* from an await to the call that follows it */

static bool is_of_file(const struct frame *frame, const char *file)
{
	return frame->kind == FRAME_KIND_PYTHON && strstr(frame->file, file);
}

/* Returns the outermost user's frame that the event loop has called; NULL: there is none. */
static const struct frame *coroutine_of(const struct frame_list *list)
{
	size_t i = 0;
	while (i < list->n && !is_of_file(list->at[i], "/asyncio/events.py"))
		i++;
	if (i == list->n)
		return NULL;
	while (i-- > 0)
		if (list->at[i]->kind == FRAME_KIND_PYTHON && !list->at[i]->is_library)
			return list->at[i];
	return NULL;
}

static bool awaits(const char *text)
{
	return strstr(text, "await ") || strstr(text, "async for ") || strstr(text, "async with ");
}

uint32_t await_site(struct frames *f, uint32_t stack)
{
	struct frame_list list = frames_of(f, stack);
	const struct frame *at = coroutine_of(&list);
	if (!at)
		return 0;
	for (uint32_t n = 0; n < LINES_MOST && n < at->line; n++) {
		const char *text = frames_source(f, at->file, at->line - n);
		if (awaits(text))
			return frames_site_in(f, at, at->line - n);
		if (!strncmp(text, "async def ", 10) || !strncmp(text, "def ", 4))
			break;
	}
	return frames_site_of(f, at);
}
