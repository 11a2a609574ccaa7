/* Whose line a call's site is. See timeline.h. */
#include "core/analysis/timeline.h"

bool timeline_is_user_line(struct timeline *t, uint32_t site)
{
	const struct site *s = frames_site_at(t->frames, site);
	return s->is_user && s->line;
}

bool timeline_calls_backward(struct timeline *t, uint32_t site, uint32_t about)
{
	return about & ABOUT_BACKWARD && timeline_is_user_line(t, site);
}

bool timeline_lacks_line(struct timeline *t, uint32_t site, uint32_t about)
{
	return about & ABOUT_WORKER && !timeline_is_user_line(t, site);
}
