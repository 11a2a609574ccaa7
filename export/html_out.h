/* Builds an HTML document in memory. Texts of the profiled program are inert: escaped, and without
 * control characters and characters that change the direction of writing. */
#ifndef EXPORT_HTML_OUT_H
#define EXPORT_HTML_OUT_H

#include "core/util/vec.h"

#include <jansson.h>

/* All zeros is an empty document. */
struct html_out {
	VEC(char) text; /* not ended by a 0 byte */
};

/* Appends HTML as it is: only for literals of this program. */
void html_raw(struct html_out *o, const char *html);
__attribute__((format(printf, 2, 3))) void html_rawf(struct html_out *o, const char *format, ...);

/*
 * Appends a text, for an element's content or for an attribute in double quotes. Replaces each
 * deceptive character (utf8_is_deceptive) and each byte that is not UTF-8 by U+FFFD; tabs and
 * newlines become blanks.
 */
void html_text(struct html_out *o, const char *text);
__attribute__((format(printf, 2, 3))) void html_textf(struct html_out *o, const char *format, ...);

/* Appends JSON for the content of a script element. The result is ASCII without '<', '>' and '&'.
 */
void html_json(struct html_out *o, const json_t *value);

/* Appends another document. */
void html_append(struct html_out *o, const struct html_out *other);

void html_free(struct html_out *o);

#endif
