/*
 * Writes a Python pickle (protocol 2): what pickle.load() and PyTorch's MemoryViz.js read. Values are written in order, containers by
 * putting items into them one by one: pickle_list(), then for each item the item and pickle_append(); pickle_dict(), then
 * for each one pickle_text(key), the value and pickle_set().
 */
#ifndef EXPORT_PICKLE_H
#define EXPORT_PICKLE_H

#include "core/util/map.h"
#include "export/outfile.h"

/* All zero but `out` is a good start. */
struct pickle {
	struct outfile *out;
	struct map known; /* what was written and can be referred to -> its number */
	uint32_t n_known;
	uint8_t buffer[1 << 16];
	size_t used;
};

void pickle_begin(struct pickle *p);
/* The pickle is whole. */
void pickle_end(struct pickle *p);

void pickle_list(struct pickle *p);
void pickle_append(struct pickle *p);
void pickle_dict(struct pickle *p);
void pickle_set(struct pickle *p);

void pickle_int(struct pickle *p, uint64_t value);
void pickle_bool(struct pickle *p, bool value);
/* UTF-8; what is not is replaced. `text` stays where it is until the end: a text is written once. */
void pickle_text(struct pickle *p, const char *text);
void pickle_pair(struct pickle *p, uint64_t a, uint64_t b); /* a tuple of two */

/* For what is referred to more than once: false if it is not there yet, then it has to be written, and pickle_keep called with
 * the same key right after it. Keys are of the caller's choice, above 0, and no addresses of texts. */
bool pickle_again(struct pickle *p, uint64_t key);
void pickle_keep(struct pickle *p, uint64_t key);

#endif
