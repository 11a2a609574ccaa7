/* Describes in words the files that were written for a process. */
#ifndef EXPORT_FILES_WORDS_H
#define EXPORT_FILES_WORDS_H

#include "export/exporter.h"
#include "export/process_facts.h"

/* Writes "3 traces and 1 memory snapshot", or "0 traces". Returns `to`. */
char *files_count(char *to, size_t bytes, const struct process_facts *p);

/* Writes "its memory snapshots are empty: PyTorch's ..." if all files of a format are empty, else
 * "". Returns `to`. */
char *files_emptiness(char *to, size_t bytes, const struct process_facts *p);

/* Returns how many files of the format the process wrote. */
int64_t files_of(const struct process_facts *p, const struct exporter *x);

#endif
