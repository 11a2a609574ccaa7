/* Checks UTF-8. Texts from the profiled program may contain any bytes. */
#ifndef CORE_UTF8_H
#define CORE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Returns the length in bytes of the first character of `text`. Returns 0 if the character is not
 * valid UTF-8 or not complete. `text` ends with a 0 byte. */
static inline size_t utf8_valid_bytes(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t n = at[0] < 0x80	  ? 1
		   : at[0] < 0xc2 ? 0
		   : at[0] < 0xe0 ? 2
		   : at[0] < 0xf0 ? 3
		   : at[0] < 0xf5 ? 4
				  : 0;
	for (size_t i = 1; i < n; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return n;
}

#endif
