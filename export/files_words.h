/* What was written of a process, in words, from what run.json says of it (`files`). */
#ifndef EXPORT_FILES_WORDS_H
#define EXPORT_FILES_WORDS_H

#include "export/exporter.h"

#include <jansson.h>

/* "3 traces and 1 memory snapshot", "0 traces". Returns `to`. */
char *files_count(char *to, size_t bytes, const json_t *process);

/* "memory snapshots hold nothing: PyTorch's ...", "" where all formats have something to show. Returns `to`. */
char *files_emptiness(char *to, size_t bytes, const json_t *process);

/* How many files of that format `processes` wrote. */
json_int_t files_of(const json_t *processes, const struct exporter *x);

#endif
