#include "core/source/process/last_words.h"

#include "core/symbols/origin.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

char *last_words_text(const struct journal_header *h)
{
	uint64_t written = atomic_load_explicit(&h->words_written, memory_order_relaxed);
	size_t begin = written % JOURNAL_WORDS_BYTES;
	char *text = mem_zero(JOURNAL_WORDS_BYTES + 1);
	if (written <= JOURNAL_WORDS_BYTES) {
		memcpy(text, h->words, (size_t)written);
	} else {
		memcpy(text, h->words + begin, JOURNAL_WORDS_BYTES - begin);
		memcpy(text + JOURNAL_WORDS_BYTES - begin, h->words, begin);
	}
	for (size_t i = 0; i < JOURNAL_WORDS_BYTES; i++)
		if (!text[i] && i < written)
			text[i] = ' '; /* a part that another thread has not written yet */
	return text;
}

/* Removes the escape sequences with which Python colours a traceback. */
static char *without_colours(const char *text)
{
	char *plain = mem_zero(strlen(text) + 1), *to = plain;
	while (*text) {
		if (text[0] == 27 && text[1] == '[') {
			text += 2;
			text += strspn(text, "0123456789;");
			text += *text != 0;
		} else {
			*to++ = *text++;
		}
	}
	return plain;
}

/* Returns the text after the last line that begins with `head`; NULL: there is no such line. */
static const char *after_last(const char *text, const char *head)
{
	const char *found = NULL;
	size_t n = strlen(head);
	for (const char *at = text; (at = strstr(at, head)) != NULL; at += n)
		if (at == text || at[-1] == '\n')
			found = at + n;
	return found;
}

/* Reads a frame's line, `  File "train.py", line 3, in main`. */
static void take_frame(const char *line, struct last_words *to)
{
	char file[sizeof(to->file)];
	unsigned number;
	if (sscanf(line, "  File \"%1023[^\"\n]\", line %u", file, &number) != 2 ||
	    (to->line && origin_is_python_library(file)))
		return;
	snprintf(to->file, sizeof(to->file), "%s", file);
	to->line = number;
}

/* Returns the text after the head of the last traceback; NULL: there is none. PyTorch raises an
 * exception of a data loader's worker again, with the worker's traceback in the message. */
static const char *last_traceback(const char *text)
{
	const char *own = after_last(text, "Traceback (most recent call last):"),
		   *original = after_last(text, "Original Traceback (most recent call last):");
	return !own || (original && original > own) ? original : own;
}

/* The frames are indented. The first line after them is the exception. */
void last_words_find(const char *text, struct last_words *to)
{
	char *plain = without_colours(text);
	const char *at = last_traceback(plain);
	memset(to, 0, sizeof(*to));
	if (!at) /* the traceback is longer than what is kept */
		at = strstr(plain, "\n  File \"");
	at = at ? strchr(at, '\n') : NULL;
	for (; at && (at[1] == ' ' || at[1] == '\n'); at = strchr(at + 1, '\n'))
		take_frame(at + 1, to);
	if (at)
		snprintf(to->exception, sizeof(to->exception), "%.*s", (int)strcspn(at + 1, "\r\n"),
			 at + 1);
	if (!*to->exception)
		to->line = 0;
	free(plain);
}
