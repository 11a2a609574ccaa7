/* JSON as text, for files and the terminal. */
#ifndef EXPORT_JSON_TEXT_H
#define EXPORT_JSON_TEXT_H

#include <jansson.h>

/*
 * Like json_dumps(), and escapes deceptive characters, too (utf8_is_deceptive), which a terminal
 * would act on. The strings stay the same. Returns NULL if `root` cannot be written. The caller
 * frees the text.
 */
char *json_text(const json_t *root, size_t flags);

#endif
