/*
 * Writes a Python pickle (protocol 2), which pickle.load() and PyTorch's MemoryViz.js read. Items
 * are added to a container one by one:
 *   list: pickle_list(), then for each item the item and pickle_append()
 *   dict: pickle_dict(), then for each entry pickle_text(key), the value and pickle_set()
 */
#ifndef EXPORT_PICKLE_H
#define EXPORT_PICKLE_H

#include "core/util/map.h"
#include "export/outfile.h"

/* Initialize with zeros and set `out`. */
struct pickle {
	struct outfile *out;
	struct map known; /* key of a value that was written -> its memo number in the pickle */
	uint32_t n_known;
	uint8_t buffer[1 << 16];
	size_t used;
};

void pickle_begin(struct pickle *p);
/* Ends the pickle, writes the buffered bytes and frees the map. */
void pickle_end(struct pickle *p);

void pickle_list(struct pickle *p);
void pickle_append(struct pickle *p);
void pickle_dict(struct pickle *p);
void pickle_set(struct pickle *p);

void pickle_int(struct pickle *p, uint64_t value);
void pickle_bool(struct pickle *p, bool value);
/*
 * Writes at most 4096 bytes of `text`, with '?' in place of bytes that are not UTF-8. The address
 * identifies the text: if a text was written before, only a reference to it is written. So a text
 * must not move or change before pickle_end().
 */
void pickle_text(struct pickle *p, const char *text);
void pickle_pair(struct pickle *p, uint64_t a, uint64_t b); /* writes a tuple of two numbers */

/*
 * For a value that occurs more than once. If a value was kept under `key`, pickle_again() writes a
 * reference to that value and returns true. Otherwise it returns false; then the caller writes the
 * value and calls pickle_keep() with `key` right after it. Keys are above 0 and differ from the
 * addresses of all texts.
 */
bool pickle_again(struct pickle *p, uint64_t key);
void pickle_keep(struct pickle *p, uint64_t key);

#endif
