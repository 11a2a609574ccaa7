/* The files that were written for a process, in words. */
#ifndef EXPORT_FILES_WORDS_H
#define EXPORT_FILES_WORDS_H

#include "export/exporter.h"
#include "export/process_facts.h"

/* "3 traces and 1 memory snapshot", "0 traces". Returns `to`. */
char *files_count(char *to, size_t bytes, const struct process_facts *p);

/* "its memory snapshots are empty: PyTorch's ...", "" where each format has something to show. Returns `to`. */
char *files_emptiness(char *to, size_t bytes, const struct process_facts *p);

/* How many files of that format the process wrote. */
int64_t files_of(const struct process_facts *p, const struct exporter *x);

#endif
