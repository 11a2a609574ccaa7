/*
 * The bytes of a trace file, plain or gzip, in blocks. A thread of its own reads and inflates
 * ahead, so that the caller can parse one block while the next one is inflated.
 */
#ifndef CORE_KINETO_BYTES_H
#define CORE_KINETO_BYTES_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;

/* Opens the file. Returns 0, or -errno with one line in `e`. Free `*to` with bytes_close(). */
int bytes_open(struct bytes **to, const char *path, struct err *e);
void bytes_close(struct bytes *b);

/* Returns the next block and its size in `*n`, NULL at the end. The block is valid until the next
 * call. */
const char *bytes_next(struct bytes *b, size_t *n);

/* After the end: returns why the file ended early, such as "the gzip data is cut"; "" if it did
 * not. */
const char *bytes_trouble(const struct bytes *b);

#endif
