/* See capture.h. */
#include "core/source/journal/capture.h"

void capture_note(struct capture *c, const struct dict *d, const struct rec_call *call)
{
	const struct hook_entry *hook = &d->hooks.at[call->hook];
	if (hook->begins_capture && !call->status)
		*c = (struct capture){ call->stream, true };
	else if (hook->ends_capture && call->stream == c->stream)
		c->is_on = false;
}

struct capture capture_at_first(const struct dict *d, const struct rec_call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (dict_category(d, calls[i].hook) != CAT_CAPTURE)
			continue;
		const struct hook_entry *hook = &d->hooks.at[calls[i].hook];
		if (hook->begins_capture)
			break;
		if (hook->ends_capture && !calls[i].status)
			return (struct capture){ calls[i].stream, true };
	}
	return (struct capture){ 0 };
}
