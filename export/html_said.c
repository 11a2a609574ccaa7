/* See html_said.h. */
#include "export/html_said.h"

#include <string.h>

enum { CONTINUED_BLANKS = 9 }; /* an indent of this many blanks continues a line */

static char *print(void (*say)(struct textout *to, const struct html_said_of *of),
		   const struct html_said_of *of)
{
	char *text = NULL;
	size_t bytes;
	struct textout to = { .to = open_memstream(&text, &bytes) };
	if (!to.to)
		return NULL;
	say(&to, of);
	fclose(to.to);
	return text;
}

static bool continues(const char *line)
{
	size_t blanks = strspn(line, " ");
	return blanks >= CONTINUED_BLANKS && strncmp(line + blanks, "- ", 2) != 0;
}

bool html_said(struct html_out *o, const char *class,
	       void (*say)(struct textout *to, const struct html_said_of *of),
	       const struct html_said_of *of)
{
	char *text = print(say, of), *rest = text;
	bool is_open = false;
	for (char *line; (line = strsep(&rest, "\n"));) {
		if (!*line)
			continue;
		if (!is_open || !continues(line))
			html_rawf(o, "%s<p class=\"%s\">", is_open ? "</p>\n" : "", class);
		else
			html_raw(o, " ");
		is_open = true;
		html_text(o, line + strspn(line, " "));
	}
	html_raw(o, is_open ? "</p>\n" : "");
	free(text);
	return is_open;
}
