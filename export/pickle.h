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

/* Starts as all zero except `out`. */
struct pickle {
	struct outfile *out;
	struct map known; /* key of a written value -> its number in the pickle */
	uint32_t n_known;
	uint8_t buffer[1 << 16];
	size_t used;
};

void pickle_begin(struct pickle *p);
/* Ends the pickle, writes what is buffered and frees the map. */
void pickle_end(struct pickle *p);

void pickle_list(struct pickle *p);
void pickle_append(struct pickle *p);
void pickle_dict(struct pickle *p);
void pickle_set(struct pickle *p);

void pickle_int(struct pickle *p, uint64_t value);
void pickle_bool(struct pickle *p, bool value);
/*
 * Writes at most 4096 bytes of `text`; bytes that are not UTF-8 become '?'. Each text is written
 * once: its address identifies it, so it must not move or change before the end.
 */
void pickle_text(struct pickle *p, const char *text);
void pickle_pair(struct pickle *p, uint64_t a, uint64_t b); /* a tuple */

/*
 * For values that occur more than once. Writes a reference to the value of that key if there is
 * one, else returns false: then write the value and call pickle_keep() with the key right after it.
 * The caller chooses keys above 0 that are not addresses of texts.
 */
bool pickle_again(struct pickle *p, uint64_t key);
void pickle_keep(struct pickle *p, uint64_t key);

#endif
