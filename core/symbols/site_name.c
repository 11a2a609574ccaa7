/* See site_name.h. */
#include "core/symbols/site_name.h"

#include "core/util/path.h"

#include <stdio.h>

char *site_name(const struct site *s, char to[static SITE_NAME_BYTES])
{
	if (*s->file && s->line)
		snprintf(to, SITE_NAME_BYTES, "%.100s:%u", path_base(s->file), s->line);
	else
		snprintf(to, SITE_NAME_BYTES, "%.119s", s->function);
	return to;
}
